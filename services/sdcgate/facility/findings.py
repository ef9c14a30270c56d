"""Findings on the way of a query: what they make of a table, and what a researcher is told of them."""

from collections.abc import Sequence, Set

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.outputs.model_checks import ModelFinding
from sdcgate.methods.rules import Consequence, Finding, ReasonCode

OF_CELLS = frozenset(
    {
        ReasonCode.MINIMUM_UNITS,
        ReasonCode.MINIMUM_HOUSEHOLDS,
        ReasonCode.DOMINANCE,
        ReasonCode.P_PERCENT,
        ReasonCode.PRIOR_POSTERIOR,
        ReasonCode.LINEAR_SENSITIVITY,
        ReasonCode.GROUP_DISCLOSURE,
        ReasonCode.EQUAL_VALUES,
    }
)
"""Rules of cells; the others are about the whole table."""


def consequence_of(finding: Finding | ModelFinding) -> Consequence:
    """Unspecified is refuse, and so is protecting all of a table, a statistic or a model."""
    named = finding.columns if isinstance(finding, ModelFinding) else finding.cells
    unspecified = finding.consequence is Consequence.UNSPECIFIED
    if unspecified or (finding.consequence is Consequence.PROTECT and not named):
        return Consequence.REFUSE
    return finding.consequence


def told_codes(rules: Set[ReasonCode]) -> list[ReasonCode]:
    """What a researcher is told of the rules that failed: those of cells look alike, and the order is fixed.

    Which rule a cell breaks tells something of the figures in it.
    """
    return sorted({ReasonCode.MINIMUM_UNITS if rule in OF_CELLS else rule for rule in rules})


def unsafe_cells(findings: Sequence[Finding], cells: int) -> BoolArray:
    """Cells that some finding names, shape (cells,)."""
    unsafe = np.zeros(cells, dtype=np.bool_)
    for finding in findings:
        unsafe[list(finding.cells)] = True
    return unsafe


def unsafe_difference(cells: BoolArray, consequence: Consequence) -> Finding:
    """That differences with earlier releases are unsafe at these cells."""
    return Finding(
        rule=ReasonCode.DIFFERENCING,
        consequence=consequence,
        cells=tuple(int(cell) for cell in np.flatnonzero(cells)),
    )
