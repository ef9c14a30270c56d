"""What judging a rule yields: a finding, or that a fact is absent without which it cannot be judged."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.rules import Consequence, Finding, ProtectionLevels, ReasonCode
from sdcgate.methods.tables.protection_levels import Levels


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A rule that could not be judged, or not of every cell and measure, for want of a fact."""

    rule: ReasonCode
    fact: str
    """As callers know it: `units`, `valid_units of income`."""


Judged = Finding | Unjudged


def found(
    rule: ReasonCode,
    consequence: Consequence,
    unsafe: BoolArray,
    measure: str = "",
    bound: float = 0.0,
    levels: Levels | None = None,
) -> Iterator[Finding]:
    """The finding on unsafe cells, if there are any; an unspecified consequence is read as refuse.

    `unsafe` and `levels` have shape (cells,).
    """
    if unsafe.any():
        cells = np.flatnonzero(unsafe)
        required = ProtectionLevels() if levels is None else levels.of(cells)
        positions = tuple(cells.tolist())
        yield Finding(
            rule, consequence or Consequence.REFUSE, positions, measure, bound=bound, levels=required
        )
