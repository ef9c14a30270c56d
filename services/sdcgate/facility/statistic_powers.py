"""The sums of powers that a statistic tells of, as tables of quantities of their own.

A variance tells the sum of squares of its group, and so does a standard error, a t test or a correlation.
The group's count and sum leave with its table; the sum of squares leaves beside them, of the same boxes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.joint_look import JointlyUnproved
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.powers import Summed
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_records import Population
from sdcgate.methods.cells import TOTAL, Axis, BoolArray, Facts, FloatArray, IntArray, MeasureFacts, State
from sdcgate.methods.outputs.power_sums import PowerSums, power_sums
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.tables.boxes import MARK_MODULUS, BoxTable
from sdcgate.methods.tables.released_cells import RANKS

ORDERS: Mapping[Statistic, int] = {
    Statistic.VARIANCE: 2,
    Statistic.STANDARD_DEVIATION: 2,
    Statistic.SKEWNESS: 3,
    Statistic.KURTOSIS: 4,
    Statistic.HERFINDAHL: 2,
    Statistic.CORRELATIONS: 2,
    Statistic.PRINCIPAL_COMPONENTS: 2,
    Statistic.T_TEST: 2,
    Statistic.ANALYSIS_OF_VARIANCE: 2,
}
"""Statistics that tell sums of powers of all their measures, up to this one."""
ORDERS_OF_ERRORS: Mapping[Statistic, int] = {
    Statistic.MEAN: 2,
    Statistic.TOTAL: 2,
    Statistic.RATIO: 2,
    Statistic.GINI: 2,
    Statistic.VARIANCE: 4,
    Statistic.STANDARD_DEVIATION: 4,
    Statistic.SKEWNESS: 6,
    Statistic.KURTOSIS: 8,
    Statistic.LORENZ_CURVE: 2,
}
"""Statistics whose standard errors tell sums of powers, up to this one."""


@dataclass(frozen=True, slots=True, eq=False)
class ToldPower:
    """A sum of powers, or of a function, of each sample that a statistic tells of, and of all its records."""

    measure: str
    of_samples: PowerSums = field(repr=False)
    whole: PowerSums = field(repr=False)
    weighted: bool = False
    """Whether weights that variables decide are in what is told; the sums are without."""

    @property
    def summed(self) -> Summed:
        """What is summed."""
        return Summed(self.measure, self.of_samples.order, self.of_samples.function, self.weighted)

    @property
    def quantity(self) -> str:
        """What the sums are known as."""
        return self.summed.quantity


def highest_power(plan: StatisticPlan) -> int:
    """The highest power of which a statistic tells sums; 1 where it tells no more than sums."""
    if plan.errors and plan.statistic in ORDERS_OF_ERRORS:
        return ORDERS_OF_ERRORS[plan.statistic]
    return ORDERS.get(plan.statistic, 1)


def products_told(plan: StatisticPlan) -> bool:
    """Whether a statistic tells sums of products of its measures, beside their squares."""
    of_matrix = plan.statistic in (Statistic.CORRELATIONS, Statistic.PRINCIPAL_COMPONENTS)
    return of_matrix or (plan.statistic is Statistic.RATIO and plan.errors)


def samples_of(statistic: Statistic, people: Population) -> Sample:
    """The samples whose sums are told: groups, and of a t test both samples of each group."""
    sample = people.sample
    if statistic is not Statistic.T_TEST or people.columns.has is None:
        return sample
    return sample.divided((~people.columns.has).astype(np.int64), 2)


def told_powers(
    statistic: Statistic, people: Population, measures: Sequence[str], highest: int, coalition: int
) -> tuple[ToldPower, ...]:
    """The sums of powers of a statistic's population, from the second power to the highest."""
    if highest < 2:
        return ()
    samples = samples_of(statistic, people)
    together = Sample(samples.values, np.zeros_like(samples.groups), samples.units, 1)
    return tuple(
        ToldPower(
            measure,
            power_sums(samples.with_values(values), order, coalition),
            power_sums(together.with_values(values), order, coalition),
        )
        for measure, values in values_of(people, measures).items()
        for order in range(2, highest + 1)
    )


def values_of(people: Population, measures: Sequence[str]) -> dict[str, FloatArray]:
    """The values of each measure of a statistic, each shape (records,)."""
    columns = people.columns
    if columns.measures:
        return dict(columns.measures)
    found = [people.sample.values, *((columns.second,) if columns.second is not None else ())]
    return dict(zip(measures, found, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class PowerTable:
    """A told power over the boxes of its samples; all other cells of the product are absent."""

    told: ToldPower
    released: ReleasedTable = field(repr=False)
    cells: IntArray = field(repr=False)
    """The cell of each sample, shape (samples,)."""
    totals: FloatArray = field(repr=False)
    """Sums of the measure itself, shape (cells,)."""
    closeness: FloatArray = field(repr=False)
    """Shape (cells,); infinite where nothing is told."""

    def in_states(self, published: BoolArray, withheld: BoolArray) -> ReleasedTable:
        """The table with some cells published and others withheld."""
        states = np.full(len(self.released.boxes), State.ABSENT, dtype=np.int64)
        states[withheld] = State.WITHHELD
        states[published] = State.PUBLISHED
        return self.released.with_states(states)


def power_table(
    plan: StatisticPlan, axes: tuple[Axis, ...], sums: ReleasedTable, told: ToldPower
) -> PowerTable:
    """A told power as a table of boxes, those of the sums that left with it.

    Args:
        plan: the statistic.
        axes: of its table; none where the whole alone is told.
        sums: the released table of the measure's sums.
        told: the power's sums.

    Raises JointlyUnproved where one variable decides two of the axes, which are one axis of the boxes then.
    """
    if axes and len(sums.table.axes) != len(axes):
        raise JointlyUnproved
    boxes = _of_samples(plan, axes, sums.table)
    shape = boxes.shape
    every = np.arange(len(boxes)).reshape(shape)
    inner = every[tuple(slice(0, -1) for _ in shape)].reshape(-1)

    def placed(of_samples: FloatArray, whole: FloatArray, otherwise: float = 0.0) -> FloatArray:
        found = np.full(len(boxes), otherwise)
        found[-1] = whole[0]
        found[inner] = of_samples
        return found

    parts, whole = told.of_samples, told.whole
    units, records = (
        placed(*(getattr(one, name).astype(np.float64) for one in (parts, whole))).astype(np.int64)
        for name in ("units", "records")
    )
    # Of totals of some groups nothing is told.
    boxes = replace(boxes, records=records, marks=np.where(records > 0, boxes.marks, 0))
    lower, upper = _bounds(plan.dataset, told)
    nothing = np.zeros(len(boxes))
    measure = MeasureFacts(
        name=told.quantity,
        sums=placed(parts.sums, whole.sums),
        valid_records=boxes.records,
        valid_units=units,
        largest=np.column_stack([placed(parts.largest, whole.largest), *(nothing for _ in range(RANKS - 1))]),
        absolute_sums=placed(parts.absolute_sums, whole.absolute_sums),
        minima=nothing,
        maxima=nothing,
        lower_bound=lower,
        upper_bound=upper,
    )
    facts = Facts(units=units, records=boxes.records, measures=(measure,))
    return PowerTable(
        told,
        ReleasedTable(told.quantity, boxes, facts, tuple(boxes.boxes())).perhaps(),
        inner,
        placed(parts.totals, whole.totals),
        placed(parts.closeness, whole.closeness, np.inf),
    )


def _bounds(dataset: Dataset, told: ToldPower) -> tuple[float | None, float | None]:
    measure = dataset.measure(told.measure)
    return told.summed.bounds((measure.lower_bound, measure.upper_bound))


def _of_samples(plan: StatisticPlan, axes: tuple[Axis, ...], table: BoxTable) -> BoxTable:
    """The boxes of the groups, and of a t test those of both samples; what else is counted is added up."""
    groups, shape = len(plan.groups), table.shape
    records, marks = table.records.reshape(shape), table.marks.reshape(shape)
    own, others = table.axes[:groups], table.axes[groups:]
    fixed = list(table.fixed)
    if plan.statistic is Statistic.T_TEST and plan.having is not None and len(others) == 1:
        ((name, masks),), codes = others, axes[groups].codes
        places = [place for place, code in enumerate(codes) if code != TOTAL]
        first = [place for place in places if codes[place] in plan.having.codes]
        second = [place for place in places if codes[place] not in plan.having.codes]
        parts = [np.array(part, dtype=np.int64) for part in (first, second, [*first, *second])]
        united = tuple(reduce(or_, (masks[place] for place in part.tolist())) for part in parts)
        own = (*own, (name, united))
        records = np.stack([records[..., part].sum(axis=-1) for part in parts], axis=-1)
        marks = np.stack([marks[..., part].sum(axis=-1) % MARK_MODULUS for part in parts], axis=-1)
    else:
        for name, masks in reversed(others):
            records, marks = records[..., -1], marks[..., -1]
            if masks[-1] != table.full[name]:
                fixed.append((name, masks[-1]))
    return BoxTable(
        own,
        tuple(sorted(fixed)),
        table.full,
        np.full(records.size, State.ABSENT, dtype=np.int64),
        records.reshape(-1),
        marks.reshape(-1),
    )
