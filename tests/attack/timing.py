"""Waiting times: does a stopwatch tell two files apart that differ by one person in a withheld cell?

Each trial asks one new table of both, in random order: of files that were asked before, so that most cells
are known, or of files that were never asked, so that what to withhold has to be found and proved each time.
The classifier is the best that needs no model: of two answers the slower is said to come from the file with
the person more. AUC is the share of all pairs of answers, one of each file, in which that is right (Mann and
Whitney).
"""

import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import mannwhitneyu

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


def area_under_curve(
    apis: Callable[[int], tuple[Api, Api]], trials: int, seed: int = 11
) -> tuple[float, float]:
    """AUC of waiting times, and its standard error where nothing can be told; `apis` of each trial."""
    rng = random.Random(seed)
    seconds: tuple[list[float], list[float]] = ([], [])
    for trial, question in enumerate(itertools.islice(questions(seed), trials)):
        asked = apis(trial)
        for place in rng.sample((0, 1), 2):
            seconds[place].append(asked[place].ask(**question).seconds)
    without, with_one = (np.array(one) for one in seconds)
    statistic = mannwhitneyu(with_one, without).statistic
    return float(statistic / trials**2), float(np.sqrt((2 * trials + 1) / (12 * trials**2)))
