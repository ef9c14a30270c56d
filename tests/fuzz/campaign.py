"""How long inputs are made for a target: a fixed few in `make test`, FUZZ_SECONDS in `make fuzz`.

Targets that call functions of this process are quick, and go on until each has its share of FUZZ_INPUTS.
"""

import faulthandler
import os
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from load.held import held as held_by

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
"""Seconds for each target; 0 for the few examples of `make test`, which are always the same."""
INPUTS = int(os.environ.get("FUZZ_INPUTS", "1000000"))
"""Inputs that all targets together should have made."""
SHARE = -(-INPUTS // 8) if SECONDS else 0
"""Of them, what each quick target makes at least; there are eight."""
ROUND = 500
HANGS = 600.0
"""Seconds after which an input that is still looked at ends the process, with what it is doing."""
LEAKED_MEGABYTES, LEAKED_FILES = 300.0, 40
"""What processes may add in the second half of a target; caches and the ledger under fire grow."""
FUZZ_SEED = int(os.environ.get("FUZZ_SEED", "0")) or time.time_ns() % 2**32


class Campaign:
    """One target: makes inputs, counts them, stops at the first that fails and shows a small one."""

    def __init__(self) -> None:
        self.inputs = 0
        self.outcomes: dict[str, int] = {}
        self.grown = ""
        """What the processes added in the second half."""
        self._processes: tuple[int, ...] = (os.getpid(),)
        self._held: tuple[float, int] | None = None

    def watch(self, processes: Iterable[int]) -> None:
        """Look for leaks in these processes, and not in the one that makes the inputs."""
        self._processes = tuple(processes)

    def seeded(self, check: Callable[[random.Random], str | None], examples: int) -> None:
        """Check what `check` makes of seeds; of the one that fails the seed is told. For quick targets."""
        begun, own = time.monotonic(), random.Random(FUZZ_SEED)
        while self.inputs < max(examples, SHARE) or time.monotonic() - begun < SECONDS:
            number = own.getrandbits(64) if SECONDS else self.inputs
            try:
                self._counted(check, random.Random(number))
            except BaseException as error:
                error.add_note(f"of random.Random({number})")
                raise
            if self.inputs == SHARE // 2:
                self._held = held(self._processes)
        self._no_leak()

    def _counted(self, check: Callable[[Any], str | None], made: Any) -> None:
        self.inputs += 1
        if SECONDS:
            faulthandler.dump_traceback_later(HANGS, exit=True)
        self.reached(check(made))

    def _no_leak(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        if self._held is not None:
            megabytes, files = (
                now - before for now, before in zip(held(self._processes), self._held, strict=True)
            )
            self.grown = f"; {megabytes:+.0f} MB, {files:+} files"
            assert megabytes < LEAKED_MEGABYTES, f"{megabytes:.0f} MB were added"
            assert files < LEAKED_FILES, f"{files} files were left open"

    def run(self, strategy: SearchStrategy[Any], check: Callable[[Any], str | None], examples: int) -> None:
        """Check inputs of a strategy. What `check` returns is counted: which answers were reached."""

        def counted(made: Any) -> None:
            self._counted(check, made)

        if not SECONDS:
            _hypothesis(strategy, counted, examples, None)
            return
        began = time.monotonic()
        deadline = began + SECONDS
        number = 0
        while time.monotonic() < deadline:

            def in_time(made: Any) -> None:
                if time.monotonic() < deadline:
                    counted(made)
                if self._held is None and time.monotonic() > began + SECONDS / 2:
                    self._held = held(self._processes)

            _hypothesis(strategy, in_time, ROUND, FUZZ_SEED + number)
            number += 1
        self._no_leak()

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
                break
            if self._held is None and time.monotonic() > deadline - SECONDS / 2:
                self._held = held(self._processes)
        self._no_leak()

    def __str__(self) -> str:
        reached = ", ".join(f"{name} {count}" for name, count in sorted(self.outcomes.items()))
        return f"{self.inputs} inputs" + (f" ({reached})" if reached else "") + self.grown


def held(processes: Iterable[int]) -> tuple[float, int]:
    """Megabytes in memory and open files of processes and of those that they started."""
    each = [held_by(process) for process in processes]
    return sum(megabytes for megabytes, _, _ in each), sum(files for _, files, _ in each)


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
