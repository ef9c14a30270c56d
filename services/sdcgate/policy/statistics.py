"""Statistics in a policy: which may be asked, by which rules they are judged, and in what form they leave."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from sdcgate.methods.outputs import statistic_rules as r
from sdcgate.methods.outputs.model_rules import MaximumFit
from sdcgate.methods.rules import Rules
from sdcgate.policy.rule_set import Model

StatisticKindName = Literal[
    "MEAN",
    "TOTAL",
    "RATIO",
    "PROPORTION",
    "VARIANCE",
    "STANDARD_DEVIATION",
    "SKEWNESS",
    "KURTOSIS",
    "PERCENTILES",
    "MODE",
    "MINIMUM",
    "MAXIMUM",
    "RANGE",
    "GINI",
    "LORENZ_CURVE",
    "HERFINDAHL",
    "CONCENTRATION_RATIO",
    "ODDS_RATIO",
    "RISK_RATIO",
    "HISTOGRAM",
    "DENSITY",
    "BOX_PLOT",
    "HEXAGONAL_BINS",
    "KAPLAN_MEIER",
    "NELSON_AALEN",
    "CORRELATIONS",
    "PRINCIPAL_COMPONENTS",
    "CHI_SQUARED_TEST",
    "T_TEST",
    "MANN_WHITNEY_TEST",
    "KOLMOGOROV_SMIRNOV_TEST",
    "ANALYSIS_OF_VARIANCE",
]


class StatisticsSetting(Model):
    """Statistics: which may be asked, what they must fulfil beside the rules on cells, and their form."""

    kinds: frozenset[StatisticKindName] = frozenset()
    """The kinds of statistics that may be asked; none where it is empty."""
    significant_digits: int = Field(default=4, ge=1, le=17)
    """Significant digits of figures."""
    window_units: int | None = Field(default=None, ge=1, le=1_000_000)
    """Units whose values a percentile averages, at least; null: the minimum number of units."""
    side_units: int | None = Field(default=None, ge=0, le=1_000_000)
    """Units beside such a window, and between two, at least; null: the minimum number of units."""
    points: tuple[float, ...] = r.GRID
    """Percentiles as shares, the most wanted first; a small group has only the first ones."""
    extreme_units: int | None = Field(default=None, ge=1, le=1_000_000)
    """Units that have exactly the least or greatest value, at least; null: the minimum number of units."""
    implied_units: int | None = Field(default=None, ge=1, le=1_000_000)
    """Units in a cell that a statistic implies, at least; null: the minimum number of units."""
    modal_share: float | None = Field(default=None, gt=0, le=1)
    """From which share of the units on a mode is refused; null: as group disclosure says, or 0.9."""
    largest: int = Field(default=10, ge=1, le=1000)
    """Whose share of a total a concentration ratio is: the largest so many units."""
    unreliable_variation: float = Field(default=0.3, gt=0, le=10)
    """Coefficient of variation above which an estimate is flagged."""
    unreliable_units: int = Field(default=0, ge=0, le=1_000_000)
    """Units below which an estimate is flagged."""

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        if len(set(self.points)) != len(self.points) or not all(0 < point < 1 for point in self.points):
            message = "points must lie above 0 and below 1, each once"
            raise PydanticCustomError("points", "{wrong}", {"wrong": message})
        return self

    def effective(self) -> "StatisticLimits":
        """The same as an effective policy has it; where no statistic may be asked nothing else matters."""
        if not self.kinds:
            return NO_STATISTICS
        return StatisticLimits(**self.model_dump())


@dataclass(frozen=True, slots=True)
class StatisticLimits:
    """Which statistics may be asked, in what form they leave, and the figures of the rules on them."""

    kinds: frozenset[str] = frozenset()
    significant_digits: int = 4
    window_units: int | None = None
    side_units: int | None = None
    points: tuple[float, ...] = r.GRID
    extreme_units: int | None = None
    implied_units: int | None = None
    modal_share: float | None = None
    largest: int = 10
    unreliable_variation: float = 0.3
    unreliable_units: int = 0

    def rules(self, cells: Rules, fit: MaximumFit | None) -> r.StatisticRules:
        """The rules on statistics under those on cells; every policy has a minimum of units.

        What one unit may hold of squared residuals is what it may of a model, by the rule on its fit.
        """
        minimum = cells.minimum_units
        if minimum is None:
            raise ValueError("a policy on statistics needs a minimum number of units")
        units, what = minimum.units, minimum.consequence
        group = cells.group_disclosure
        share = self.modal_share or (group.share if group is not None else 0.9)
        side = units if self.side_units is None else self.side_units
        return r.StatisticRules(
            table=cells,
            percentiles=r.PercentileUnits(self.window_units or units, side, what, self.points),
            extremes=r.ExtremeValue(self.extreme_units or units, what),
            modal_share=r.ModalShare(share, what if group is None else group.consequence),
            implied=r.ImpliedTable(self.implied_units or units, what),
            residual_share=r.MaximumResidualShare(fit.residual_share, what)
            if fit is not None and fit.residual_share
            else None,
            reliability=r.Reliability(self.unreliable_variation, self.unreliable_units),
        )

    def written(self) -> dict[str, Any]:
        """As a policy's text has it: sorted kinds, points in their order."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**found, "kinds": sorted(self.kinds), "points": list(self.points)}

    def as_file(self) -> dict[str, Any]:
        """As a policy file has it."""
        return self.written()


NO_STATISTICS = StatisticLimits()
"""Of a policy that says nothing of statistics."""


def read(written: Mapping[str, Any]) -> StatisticLimits:
    """What `StatisticLimits.written` wrote."""
    return StatisticLimits(
        **{**written, "kinds": frozenset(written["kinds"]), "points": tuple(written["points"])}
    )


def sentences(limits: StatisticLimits) -> dict[str, str]:
    """A sentence for each setting, by its name in a policy file: `statistics.points`."""
    kinds = ", ".join(sorted(limits.kinds))
    points = ", ".join(f"{100 * point:g}" for point in limits.points)
    share = (
        "the share of group disclosure, or 0.9" if limits.modal_share is None else f"{limits.modal_share:g}"
    )
    said = {
        "kinds": f"Only the statistics {kinds}." if kinds else "No statistic may be asked.",
        "significant_digits": f"Figures of statistics have {limits.significant_digits} significant digits.",
        "window_units": f"A percentile is the mean over a window of {_units(limits.window_units)}.",
        "side_units": f"There are {_units(limits.side_units)} below and above each window, and between two.",
        "points": f"The percentiles {points}; of a small group only the first that have room.",
        "extreme_units": f"A least or greatest value leaves if {_units(limits.extreme_units)} have it.",
        "implied_units": f"Cells that a statistic implies have {_units(limits.implied_units)} or none.",
        "modal_share": f"A mode of a share from {share} on is not shown.",
        "largest": f"Concentration ratios are shares of the {limits.largest} largest units.",
        "unreliable_variation": (
            f"An estimate with a coefficient of variation above {limits.unreliable_variation:g} is flagged."
        ),
        "unreliable_units": f"An estimate from fewer than {limits.unreliable_units} units is flagged."
        if limits.unreliable_units
        else "No estimate is flagged for its units alone.",
    }
    return {f"statistics.{name}": sentence for name, sentence in said.items()}


def _units(units: int | None) -> str:
    return "at least the minimum number of units" if units is None else f"at least {units} units"
