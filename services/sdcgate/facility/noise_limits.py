"""Figures that a policy with cell keys has no noise for: they are refused before any data are touched."""

from collections.abc import Iterator

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.plan import MEASURED, PERCENTAGES, WEIGHTED, FigureAsked, Plan
from sdcgate_proto.sdcgate.types.v1 import table_pb2

OF_RECORDS = frozenset({table_pb2.STATISTIC_RECORDS, table_pb2.STATISTIC_MEAN, *PERCENTAGES})
EXACT_OUTPUT = (
    "Tables of this dataset leave with noise only, and an output that was computed elsewhere has none. Ask "
    "for the table instead."
)


def without_noise(plan: Plan, submitted: bool) -> Iterator[str]:
    """What is said of each figure that would have to leave as it is; nothing where cells are withheld.

    `submitted`: the figures come from elsewhere, as they are.
    """
    if plan.policy.cell_keys is None:
        return
    if submitted:
        yield EXACT_OUTPUT
        return
    sums = bool(plan.policy.cell_keys.sum_shares)
    for figure in plan.figures:
        name = table_pb2.Statistic.Name(figure.statistic).removeprefix("STATISTIC_")
        if figure.statistic in MEASURED and not sums:
            yield f"{name} of {figure.measure} has no noise under this policy; ask counts."
        if figure.statistic in OF_RECORDS and plan.dataset.records_per_unit > 1:
            yield f"{name} counts records, of which some have several; noise is by unit: ask UNITS or SUM."
        yield from _weights(plan.dataset, figure, name)
        yield from _without_zero(plan.dataset, figure)


def _weights(dataset: Dataset, figure: FigureAsked, name: str) -> Iterator[str]:
    lowest, highest = dataset.weight_bounds
    if figure.statistic in WEIGHTED and lowest < highest:
        yield f"{name} would tell the mean weight of a cell beside its count; ask figures without weights."


def _without_zero(dataset: Dataset, figure: FigureAsked) -> Iterator[str]:
    """A sum hides who is counted only if somebody may be counted without adding to it."""
    if not figure.measure:
        return
    measure = dataset.measure(figure.measure)
    low, high = measure.lower_bound, measure.upper_bound
    if (low is not None and low > 0) or (high is not None and high < 0):
        yield f"{figure.measure} cannot be 0, so that its sums would tell of the counts; ask counts."
