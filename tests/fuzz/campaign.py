"""How long inputs are made for a target: a fixed few in `make test`, FUZZ_SECONDS in `make fuzz`."""

import os
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
"""Seconds for each target; 0 for the few examples of `make test`, which are always the same."""
ROUND = 500
FUZZ_SEED = int(os.environ.get("FUZZ_SEED", "0")) or time.time_ns() % 2**32


class Campaign:
    """One target: makes inputs, counts them, stops at the first that fails and shows a small one."""

    def __init__(self) -> None:
        self.inputs = 0
        self.outcomes: dict[str, int] = {}

    def run(self, strategy: SearchStrategy[Any], check: Callable[[Any], str | None], examples: int) -> None:
        """Check inputs of a strategy. What `check` returns is counted: which answers were reached."""

        def counted(made: Any) -> None:
            self.inputs += 1
            self.reached(check(made))

        if not SECONDS:
            _hypothesis(strategy, counted, examples, None)
            return
        deadline = time.monotonic() + SECONDS
        number = 0
        while time.monotonic() < deadline:

            def in_time(made: Any) -> None:
                if time.monotonic() < deadline:
                    counted(made)

            _hypothesis(strategy, in_time, ROUND, FUZZ_SEED + number)
            number += 1

    def reached(self, outcome: str | None) -> None:
        """Count what came of an input."""
        if outcome is not None:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def walk(self, machine: Any, examples: int) -> None:
        """Take walks of a state machine, which counts its own inputs."""
        deadline = time.monotonic() + SECONDS
        while True:
            chosen = _settings(examples, derandomize=not SECONDS)
            machine.run(settings=settings(chosen, stateful_step_count=8))
            if time.monotonic() >= deadline:
                return

    def __str__(self) -> str:
        reached = ", ".join(f"{name} {count}" for name, count in sorted(self.outcomes.items()))
        return f"{self.inputs} inputs" + (f" ({reached})" if reached else "")


def _settings(examples: int, derandomize: bool) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=derandomize,
        print_blob=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


def _hypothesis(
    strategy: SearchStrategy[Any], check: Callable[[Any], None], examples: int, number: int | None
) -> None:
    """One run of Hypothesis: the same inputs every time where no seed is given."""
    chosen = _settings(examples, derandomize=number is None)

    def one(made: Any) -> None:
        check(made)

    test = given(strategy)(one)
    chosen(seed(number)(test) if number is not None else test)()
