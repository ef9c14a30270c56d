"""Groups of a statistic in which (nearly) all have one value, as the rule on equal values of sums sees them.

A statistic of sums has a table of these, which is judged. One of the order of values has a table of units:
that its test cannot be computed, or that all its percentiles are one, would tell the same.
"""

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import CellQuery
from sdcgate.facility.statistic_kinds import OF_ORDER, OF_TWO_SAMPLES
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.methods.cells import MISSING, TOTAL, BoolArray, FloatArray, IntArray, shape_of
from sdcgate.methods.rules import Finding, ReasonCode
from sdcgate.methods.tables.sensitivity import equal_values


def alike_groups(engine: Engine, plan: StatisticPlan) -> tuple[Finding, ...]:
    """What the rule finds in groups, and in the samples of a test; nothing in statistics of sums.

    Groups are numbered as the inner cells of their table.
    """
    rule = plan.policy.rules.equal_values
    if rule is None or plan.statistic not in OF_ORDER:
        return ()
    having = plan.having if plan.statistic in OF_TWO_SAMPLES else None
    samples = ((having.variable, having.level),) if having is not None else ()
    dimensions = (*plan.groups, *samples)
    computed = engine.compute(
        plan.dataset, CellQuery(dimensions, plan.population, plan.measures, 1, valid=plan.measures)
    )
    shape, inner = shape_of(computed.axes), tuple(slice(0, -1) for _ in plan.groups)
    parts = [[-1]]
    if having is not None:
        codes = [*enumerate(computed.axes[-1].codes)]
        parts.append([place for place, code in codes if code in having.codes])
        parts.append([place for place, code in codes if code not in (*having.codes, MISSING, TOTAL)])

    def by_group(values: FloatArray | IntArray) -> FloatArray:
        """Shape (groups, codes of the samples with their total)."""
        return values.reshape(shape)[inner].reshape(-1, shape[-1] if samples else 1).astype(np.float64)

    alike: BoolArray = np.zeros(len(by_group(computed.facts.records)), dtype=np.bool_)
    for measure in computed.facts.measures:
        records = by_group(measure.valid_records)
        least = np.where(records > 0, by_group(measure.minima), np.inf)
        greatest = np.where(records > 0, by_group(measure.maxima), -np.inf)
        for part in filter(None, parts):
            there = records[:, part].sum(axis=1).astype(np.int64)
            lowest = np.where(there > 0, least[:, part].min(axis=1), 0.0)
            highest = np.where(there > 0, greatest[:, part].max(axis=1), 0.0)
            alike |= equal_values(lowest, highest, there, rule.tolerance)
    groups = tuple(np.flatnonzero(alike).tolist())
    return (Finding(ReasonCode.EQUAL_VALUES, rule.consequence, groups),) if groups else ()
