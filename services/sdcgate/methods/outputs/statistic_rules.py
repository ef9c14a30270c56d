"""The rules on statistics beside those of tables, and from when on an estimate counts as unreliable."""

from dataclasses import dataclass

from sdcgate.methods.rules import Consequence, Rules

GRID = (0.5, 0.25, 0.75, 0.1, 0.9, 0.05, 0.95, 0.2, 0.8, 0.4, 0.6, 0.3, 0.7)
"""Percentiles that are released, the most wanted first: of a small group those further on may not be."""


@dataclass(frozen=True, slots=True)
class PercentileUnits:
    """A percentile is the mean of a window of units, with units enough on both sides and between windows."""

    window: int
    """Units whose values a percentile averages, at least."""
    side: int
    """Units below and above each window, and between two of one group, at least."""
    consequence: Consequence
    points: tuple[float, ...] = GRID
    """Percentiles that may be asked, the most wanted first. They are the policy's, never the caller's: close
    ones would tell single values as differences."""


@dataclass(frozen=True, slots=True)
class ExtremeValue:
    """A least or greatest value leaves only if at least so many units have exactly it."""

    units: int
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class ModalShare:
    """Unsafe if the most frequent category holds at least this share of the group's units."""

    share: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class ImpliedTable:
    """Fewer units than this in a cell of an implied table is unsafe; with `empty`, none is unsafe too."""

    units: int
    consequence: Consequence
    empty: bool = False


@dataclass(frozen=True, slots=True)
class MaximumResidualShare:
    """Unsafe if one unit holds more than this share of what a measure leaves unexplained of another.

    Without what a coalition knows as its own: as many units as for p%.
    """

    share: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class Reliability:
    """From when on an estimate is flagged as too uncertain to be used; it is a warning, no protection."""

    coefficient_of_variation: float = 0.3
    """Standard error as a share of the estimate; above it is unreliable."""
    units: int = 0
    """Fewer units than this are unreliable."""


@dataclass(frozen=True, slots=True)
class StatisticRules:
    """The rules by which statistics are judged; None is not judged.

    `table` are the rules on cells: each group is one. Of them minimum units, dominance, p%, (p,q), linear
    measures and equal values are judged.
    """

    table: Rules
    percentiles: PercentileUnits | None = None
    extremes: ExtremeValue | None = None
    modal_share: ModalShare | None = None
    implied: ImpliedTable | None = None
    residual_share: MaximumResidualShare | None = None
    reliability: Reliability = Reliability()


def usual_rules(table: Rules) -> StatisticRules:
    """The rules that follow from those of tables: the minimum number of units wherever units are counted.

    A modal share is limited where group disclosure is. Without a minimum number of units there is none here.
    """
    units, group = table.minimum_units, table.group_disclosure
    return StatisticRules(
        table=table,
        percentiles=None if units is None else PercentileUnits(units.units, units.units, units.consequence),
        extremes=None if units is None else ExtremeValue(units.units, units.consequence),
        modal_share=None if group is None else ModalShare(group.share, group.consequence),
        implied=None if units is None else ImpliedTable(units.units, units.consequence),
    )
