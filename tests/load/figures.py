"""What came of a load: throughput, goodput, latencies, errors, who was turned away and how."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

TURNED_AWAY = 429


@dataclass(frozen=True)
class Ended:
    """A request that ended; status 0 where nothing came back."""

    profile: str
    caller: str
    name: str
    at: float
    """Seconds after the first request of its step began."""
    milliseconds: float
    status: int
    retry_after: bool

    @property
    def answered(self) -> bool:
        """Whether it has what was asked for."""
        return 200 <= self.status < 300 or self.status == 304


@dataclass(frozen=True)
class Figures:
    """Of the requests of one kind: numbers, and milliseconds of those that were answered."""

    name: str
    requests: int
    per_second: float
    goodput: float
    """Answered requests a second."""
    p50: float | None
    p95: float | None
    p99: float | None
    turned_away: int
    without_retry_after: int
    """Of those turned away: not told when to come again."""
    errors: int
    """Neither answered nor turned away."""


def read(path: Path) -> list[Ended]:
    """What the load's process wrote, in the order in which requests ended."""
    ended = [Ended(**json.loads(line)) for line in path.read_text().splitlines()]
    began = min((one.at - one.milliseconds / 1000 for one in ended), default=0.0)
    return [replace(one, at=one.at - began) for one in ended]


def figures(name: str, ended: Iterable[Ended], seconds: float) -> Figures:
    """The figures of a step of so many seconds.

    What ends after them is no part of the rates, though of the latencies: it was waited for.
    """
    ended = list(ended)
    within = [one for one in ended if one.at <= seconds]
    answered = [one.milliseconds for one in ended if one.answered]
    turned_away = [one for one in ended if one.status == TURNED_AWAY]
    latencies = np.percentile(answered, (50, 95, 99)).tolist() if answered else [None] * 3
    return Figures(
        name,
        len(ended),
        len(within) / seconds,
        sum(one.answered for one in within) / seconds,
        *latencies,
        len(turned_away),
        sum(not one.retry_after for one in turned_away),
        len(ended) - len(answered) - len(turned_away),
    )


def by_kind(ended: list[Ended], seconds: float) -> list[Figures]:
    """A line for each kind of request of each profile, the frequent ones first."""
    kinds: defaultdict[str, list[Ended]] = defaultdict(list)
    for one in ended:
        kinds[f"{one.profile}: {one.name}"].append(one)
    return sorted((figures(*kind, seconds) for kind in kinds.items()), key=lambda kind: -kind.requests)


def shares(ended: Iterable[Ended]) -> dict[str, float]:
    """Of each caller's requests the share that was answered: alike where nobody is preferred."""
    asked: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    for one in ended:
        asked[one.caller] += 1
        answered[one.caller] += one.answered
    return {caller: answered[caller] / number for caller, number in sorted(asked.items())}
