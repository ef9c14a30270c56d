"""The records of a statistic's population as samples of groups; they do not leave the house."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import CellQuery, Condition, Records, RecordsQuery
from sdcgate.facility.statistic_kinds import OF_MEASURES, OF_TWO_VARIABLES
from sdcgate.facility.statistic_plan import Level, StatisticPlan
from sdcgate.methods.cells import TOTAL, Axis, BoolArray, IntArray, shape_of
from sdcgate.methods.outputs.sample import Design, Sample
from sdcgate.methods.outputs.statistics import Columns, FactorColumn


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The records of a population: as a sample, with what is counted beside values."""

    sample: Sample = field(repr=False)
    columns: Columns = field(repr=False)
    categories: tuple[str, ...] = ()
    """Codes of the variable whose mode is wanted."""


def read_population(engine: Engine, plan: StatisticPlan, axes: tuple[Axis, ...]) -> Population | None:
    """Read it from the engine; None where nobody is in it.

    Groups are numbered as the inner cells of `axes` that belong to groups, row-major.
    """
    dataset = plan.dataset
    drawn = tuple((name, dataset.levels(name)[0].name) for name in _drawn(dataset))
    levels = tuple(dict.fromkeys((*plan.groups, *plan.counted, *drawn)))
    found = engine.records(dataset, RecordsQuery(levels, plan.measures, plan.population))
    if not len(found.unit):
        return None
    groups = axes[: len(plan.groups)]
    values = found.measures[plan.measures[0]] if plan.measures else np.ones(len(found.unit))
    sample = Sample(
        values,
        _numbered(dataset, plan, found, groups),
        found.unit,
        int(np.prod([len(axis.codes) - 1 for axis in groups], dtype=np.int64)),
        found.weights if plan.weighted else None,
        _design(engine, plan, found),
        found.households if plan.rules.table.minimum_households is not None else None,
    )
    categories = _codes(dataset, plan.mode_of)
    columns = Columns(
        second=found.measures[plan.measures[1]] if len(plan.measures) > 1 else None,
        has=_among(dataset, found, plan.having),
        exposed=_among(dataset, found, plan.exposed),
        categories=found.codes[plan.mode_of] if plan.mode_of is not None else None,
        number_of_categories=len(categories),
        measures=tuple(
            (name, found.measures[name]) for name in plan.measures if plan.statistic in OF_MEASURES
        ),
        factors=tuple(
            FactorColumn(level[0], found.codes[level], len(_codes(dataset, level))) for level in plan.factors
        ),
    )
    return Population(sample, columns, categories)


def _numbered(dataset: Dataset, plan: StatisticPlan, found: Records, groups: tuple[Axis, ...]) -> IntArray:
    number = np.zeros(len(found.unit), dtype=np.int64)
    for level, axis in zip(plan.groups, groups, strict=True):
        shown = {code: place for place, code in enumerate(code for code in axis.codes if code != TOTAL)}
        place = np.array([shown.get(code, -1) for code in dataset.level(*level).codes])
        number = number * len(shown) + place[found.codes[level]]
    return number


def _among(dataset: Dataset, found: Records, condition: Condition | None) -> BoolArray | None:
    """Who has one of a condition's codes."""
    if condition is None:
        return None
    listed = dataset.level(condition.variable, condition.level)
    wanted = [listed.positions[code] for code in condition.codes]
    return np.isin(found.codes[condition.variable, condition.level], wanted)


def _codes(dataset: Dataset, level: Level | None) -> tuple[str, ...]:
    return () if level is None else tuple(dataset.level(*level).codes)


def _drawn(dataset: Dataset) -> tuple[str, ...]:
    """Variables of the sampling design: stratum and first stage, as far as they are declared."""
    design = dataset.descriptor.design
    return tuple(name for name in (design.stratum, design.psu) if name)


def _design(engine: Engine, plan: StatisticPlan, found: Records) -> Design:
    """The design of the whole dataset, so that a group's errors reckon with clusters that are not in it."""
    dataset = plan.dataset
    stratum, psu = dataset.descriptor.design.stratum, dataset.descriptor.design.psu
    if not plan.errors and plan.statistic not in OF_TWO_VARIABLES:
        return Design()
    levels = {name: (name, dataset.levels(name)[0].name) for name in (stratum, psu) if name}
    dimensions = tuple(levels[name] for name in (stratum, psu) if name)
    computed = engine.compute(dataset, CellQuery(dimensions, (), (), 1))
    units = computed.facts.units.reshape(shape_of(computed.axes))
    inner = units[tuple(slice(0, -1) for _ in computed.axes)]
    drawn = np.atleast_1d(np.count_nonzero(inner, axis=-1) if psu else inner)
    return Design(
        strata=found.codes[levels[stratum]] if stratum else None,
        clusters=found.codes[levels[psu]] if psu else None,
        sampled=_of_strata(drawn, found, levels.get(stratum)),
    )


def _of_strata(drawn: IntArray, found: Records, stratum: Level | None) -> IntArray:
    """Clusters drawn by stratum, as many strata as the records' greatest code needs."""
    if stratum is None:
        return drawn[:1]
    return drawn[: int(found.codes[stratum].max()) + 1]
