"""Who has less than the least value of a sensitive category, or more than the greatest, is in another one.

The least age of the healthy is 50: whoever is younger is ill. So a least value of a category leaves where
nobody of the same people has less, or where it does no harm to be known to be in one of those that have. That
it is withheld looks as though too few had it.
"""

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import CellQuery
from sdcgate.facility.boxes import codes_left, compressed
from sdcgate.facility.disclosed_groups import SensitiveCodes, sensitive_codes
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.methods.cells import TOTAL, Axis, BoolArray, FloatArray, shape_of
from sdcgate.methods.outputs.statistic_assessment import EXTREMES
from sdcgate.methods.rules import Finding, ReasonCode


def extremes_beyond(engine: Engine, plan: StatisticPlan, axes: tuple[Axis, ...]) -> tuple[Finding, ...]:
    """Groups of whose extremes it would be told that all beyond them have what it harms to have.

    Groups are numbered as the inner cells of `axes` that belong to groups.
    """
    rule, ends = plan.policy.rules.group_disclosure, EXTREMES.get(plan.statistic, ())
    if rule is None or not ends:
        return ()
    codes, groups = sensitive_codes(plan.dataset), axes[: len(plan.groups)]
    asked = {variable for variable, _ in plan.groups} | {one.variable for one in plan.filters}
    told = np.zeros([len(axis.codes) - 1 for axis in groups], dtype=np.bool_).reshape(-1)
    for name in sorted(asked & codes.keys()):
        told |= _told(engine, plan, groups, name, codes[name])
    found = tuple(np.flatnonzero(told).tolist())
    consequence = plan.rules.extremes.consequence if plan.rules.extremes is not None else rule.consequence
    # Which end it is would tell that others are beyond it: neither leaves.
    return (Finding(ReasonCode.EXTREME_VALUE, consequence, found),) if found else ()


def _told(
    engine: Engine, plan: StatisticPlan, groups: tuple[Axis, ...], name: str, codes: SensitiveCodes
) -> BoolArray:
    """The groups of which an extreme tells that of one sensitive variable, shape (groups,)."""
    dataset, finest = plan.dataset, plan.dataset.levels(name)[0]
    others = tuple(level for level in plan.groups if level[0] != name)
    conditions = tuple(one for one in plan.population if one.variable != name)
    of_codes = (*others, (name, finest.name))
    computed = engine.compute(dataset, CellQuery(of_codes, conditions, plan.measures, 1, valid=plan.measures))
    (measure,), shape = computed.facts.measures, shape_of(computed.axes)
    inner = tuple(slice(0, -1) for _ in computed.axes)
    there = measure.valid_records.reshape(shape)[inner]
    places = [finest.positions[code] for code in computed.axes[-1].codes if code != TOTAL]
    masks = _masks(plan, groups, name)
    found = np.zeros((*there.shape[:-1], len(masks)), dtype=np.bool_)
    for end in EXTREMES[plan.statistic]:
        values, sign = (measure.minima, 1.0) if end == "minimum" else (measure.maxima, -1.0)
        signed = np.where(there > 0, sign * values.reshape(shape)[inner], np.inf)
        for own, mask in enumerate(masks):
            if codes.restricted(compressed(dataset, name, mask)):
                inside = np.array([bool(mask >> place & 1) for place in places])
                found[..., own] |= _harm_beyond(dataset, name, codes, signed, inside, places)
    at = next((place for place, level in enumerate(plan.groups) if level[0] == name), None)
    return (found if at is None else np.moveaxis(found, -1, at)).reshape(-1)


def _masks(plan: StatisticPlan, groups: tuple[Axis, ...], name: str) -> list[int]:
    """The finest codes of a variable that each of a group's codes stands for, or the filter alone."""
    dataset, within = plan.dataset, codes_left(plan.dataset, name, plan.population)
    for axis in groups:
        if axis.variable == name:
            own = [code for code in axis.codes if code != TOTAL]
            return [dataset.mask(name, axis.level, [code]) & within for code in own]
    return [within]


def _harm_beyond(
    dataset: Dataset,
    name: str,
    codes: SensitiveCodes,
    signed: FloatArray,
    inside: BoolArray,
    places: list[int],
) -> BoolArray:
    """Where all who have less than those with some codes have codes that it harms to have.

    Args:
        dataset: whose variable it is.
        name: the sensitive variable.
        codes: its codes.
        signed: the least value of each code, shape (..., codes), infinite where nobody has any.
        inside: which codes those are, shape (codes,).
        places: the finest code that each is.
    """
    least = np.where(inside, signed, np.inf).min(axis=-1, keepdims=True)
    beyond = (signed < least) & ~inside & np.isfinite(least)
    harm = np.zeros(beyond.shape[:-1], dtype=np.bool_)
    for group in np.argwhere(beyond.any(axis=-1)).tolist():
        have = sum(1 << places[code] for code in np.flatnonzero(beyond[tuple(group)]).tolist())
        harm[tuple(group)] = codes.shared(compressed(dataset, name, have))
    return harm
