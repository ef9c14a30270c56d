"""Why no pattern protects a table: which requirement of which unsafe cell cannot be met, and by how much."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from sdcgate.methods.tables.audit import Leak
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.quantities import SUMS
from sdcgate.methods.tables.search import MARGIN
from sdcgate.methods.tables.witnesses import required, true_sums


class Requirement(StrEnum):
    """What is required of a withheld cell, by the names that a problem has for it."""

    COUNT_WIDTH = "count_width"
    SUM_WIDTH = "sum_width"
    UPPER_LEVEL = "sum_levels.upper"
    LOWER_LEVEL = "sum_levels.lower"


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement that no pattern can meet: what is asked of a quantity of a cell, and what can be had."""

    cell: int
    quantity: int
    requirement: Requirement
    required: float
    possible: float = field(repr=False)


def unmet(problem: Problem, found: Protection) -> list[Unmet]:
    """Requirements of unsafe cells that not even withholding all that may be can meet; none unless REFUTED.

    Widths are distances of the least and the greatest possible value, levels those from the true one.
    """
    if found.proof is not Proof.REFUTED:
        return []
    return [one for leak in found.leaks for one in _of_leak(problem, found, leak)]


def _of_leak(problem: Problem, found: Protection, leak: Leak) -> Iterator[Unmet]:
    """What a quantity falls short of."""
    need, place = required(problem, found.withheld), (leak.quantity, leak.cell)
    truth = _truth(problem, leak)
    width = Requirement.COUNT_WIDTH if leak.quantity < SUMS else Requirement.SUM_WIDTH
    sides = [
        (width, need.widths, leak.upper - leak.lower),
        (Requirement.UPPER_LEVEL, need.above, leak.upper - truth),
        (Requirement.LOWER_LEVEL, need.below, truth - leak.lower),
    ]
    # As close as the audit comes: sums are met by what rounding leaves of a requirement.
    least = 1.0 if leak.quantity < SUMS else 1 - MARGIN
    for requirement, asked, possible in sides:
        if possible < float(asked[place]) * least:
            yield Unmet(leak.cell, leak.quantity, requirement, float(asked[place]), max(possible, 0.0))


def _truth(problem: Problem, leak: Leak) -> float:
    facts = problem.facts
    values = np.concatenate([[facts.records, facts.units], true_sums(problem)])
    return float(values[leak.quantity, leak.cell])
