"""Waiting times: does a stopwatch tell two files apart that differ by one person in a withheld cell?

Each trial asks one new table of both: of files that were asked before, so that most cells are known, or of
files that were never asked, so that what to withhold has to be found and proved each time. Of two answers the
slower is said to come from the file with the person more. AUC is the share of pairs in which that is right
and half of those that took as long: over all answers of one file and all of the other (Mann and Whitney),
and over the two answers of each trial, which are to the same question. Who bets the other way has the rest,
so that the greater of the two counts.

Whoever is asked second may find things warm. So each file is asked first in exactly half of the trials: were
the order drawn at random, one file would be first more often, and the stopwatch would measure that.
"""

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from attack.hearing import VERDICTS, Answer
from attack.populations import census, one_more
from attack.publishers import Api
from attack.world import World

FIGURES = (
    "UNITS", "RECORDS", "WEIGHTED_UNITS", "ROW_PERCENT", "COLUMN_PERCENT", "TOTAL_PERCENT",
    "SUM:income", "MEAN:income", "SUM:hours", "MEAN:hours",
)  # fmt: skip
POLICY = "paced"
"""A policy whose answers leave at whole steps of time."""
LARGEST_AUC = 0.55
FEWEST_TRIALS = 400
"""Below this chance alone goes beyond the largest AUC more often than one time in forty."""
LEAST_GIVEN = 0.05
"""Share of the answers that must have figures: after some questions most have all cells withheld."""
LEAKS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02)
"""Seconds that a careless house would need more for the person more."""
SEED = 11


def twins() -> tuple[World, World]:
    """Files that differ by one person in a cell of three, or four."""
    more = partial(one_more, id="newcomer", town="t2", trade="k3", branch="b3")
    return census(), more(census())


def questions(seed: int) -> Iterator[dict[str, Any]]:
    """More than two thousand different questions after the same cells."""
    rng = random.Random(seed)
    subsets = [s for size in range(1, 11) for s in itertools.combinations(FIGURES, size)]
    orders = ({"rows": ["town"], "columns": ["trade"]}, {"rows": ["trade"], "columns": ["town"]})
    asked = [{**order, "figures": list(figures)} for order in orders for figures in subsets]
    rng.shuffle(asked)
    yield from asked


def orders(trials: int, seed: int) -> list[int]:
    """Which file is asked first in each trial: each of the two in half of them, in an order that is drawn."""
    drawn = [trial % 2 for trial in range(trials)]
    random.Random(seed).shuffle(drawn)
    return drawn


@dataclass(frozen=True)
class Stopwatch:
    """Seconds until each answer, of the file without the person and of the one with him, trial by trial."""

    without: NDArray[np.float64] = field(repr=False)
    with_one: NDArray[np.float64] = field(repr=False)
    answers: tuple[Answer, ...] = field(repr=False)

    @property
    def trials(self) -> int:
        """Pairs of answers."""
        return len(self.without)

    def area(self, leak: float = 0.0) -> float:
        """The greater AUC over all answers, were the answers with the person so many seconds later."""
        statistic = mannwhitneyu(self.with_one + leak, self.without).statistic
        return _either_way(float(statistic) / self.trials**2)

    def paired_area(self, leak: float = 0.0) -> float:
        """The same over the two answers of each trial."""
        apart = self.with_one + leak - self.without
        return _either_way(float(np.mean((apart > 0) + 0.5 * (apart == 0))))

    @property
    def errors(self) -> tuple[float, float]:
        """Standard errors of both where nothing can be told."""
        trials = self.trials
        return float(np.sqrt((2 * trials + 1) / (12 * trials**2))), float(np.sqrt(0.25 / trials))

    @property
    def least_leak(self) -> float | None:
        """The least of some leaks, in seconds, that one of the two classifiers would find on this machine."""
        found = (leak for leak in LEAKS if max(self.area(leak), self.paired_area(leak)) > LARGEST_AUC)
        return next(found, None)

    @property
    def invalid(self) -> str:
        """Why these times say nothing: errors, hardly a figure, or too few trials; empty where they do."""
        errors = [one for one in self.answers if one.verdict not in VERDICTS]
        if errors:
            return f"{len(errors)} of {len(self.answers)} answers are errors, the first {errors[0].status}"
        given = sum(one.given for one in self.answers)
        if given < LEAST_GIVEN * len(self.answers):
            return f"only {given} of {len(self.answers)} answers had a figure"
        return "" if self.trials >= FEWEST_TRIALS else f"{self.trials} trials are fewer than {FEWEST_TRIALS}"

    @property
    def succeeds(self) -> bool:
        """Whether a classifier tells the files apart."""
        return max(self.area(), self.paired_area()) > LARGEST_AUC

    def found(self) -> dict[str, Any]:
        """What was measured, with intervals that hold 19 times of 20."""
        of_all, of_pairs = ([round(area, 3), round(1.96 * e, 3)] for area, e in self._areas())
        return {
            "area": of_all[0],
            "area_within": of_all[1],
            "paired_area": of_pairs[0],
            "paired_area_within": of_pairs[1],
            "trials": self.trials,
            "median_ms": round(1000 * float(np.median(np.concatenate([self.without, self.with_one]))), 1),
            "succeeds": self.succeeds,
            "invalid": self.invalid,
        }

    def _areas(self) -> Iterator[tuple[float, float]]:
        yield from zip((self.area(), self.paired_area()), self.errors, strict=True)


def _either_way(area: float) -> float:
    return max(area, 1.0 - area)


def stopwatch(apis: Callable[[int], tuple[Api, Api]], trials: int, seed: int = SEED) -> Stopwatch:
    """Waits for the answers of so many trials; `apis` of each. An even number of trials is balanced."""
    seconds: tuple[list[float], list[float]] = ([], [])
    answers = []
    first = orders(trials, seed)
    for trial, question in enumerate(itertools.islice(questions(seed), trials)):
        asked = apis(trial)
        for place in (first[trial], 1 - first[trial]):
            heard = asked[place].ask(**question)
            seconds[place].append(heard.seconds)
            answers.append(heard.answer)
    return Stopwatch(np.array(seconds[0]), np.array(seconds[1]), tuple(answers))
