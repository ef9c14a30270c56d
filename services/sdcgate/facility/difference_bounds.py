"""Bounds of differences that need no data: nearly all are seen to be safe by what has left of both cells.

Whatever cannot be bounded is counted: no difference that could break a rule may be missed here.
"""

from dataclasses import replace

import numpy as np

from sdcgate.facility.inspector import Inspector
from sdcgate.methods.cells import BoolArray, Contributors, Facts, FloatArray, MeasureFacts
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.concentration import (
    excess,
    ranks_of,
    rules_on_contributions,
    sensitive,
    with_ranks,
)
from sdcgate.methods.tables.nesting import Nested
from sdcgate.methods.tables.released_cells import Near

ROOM = 1e-6
"""Share by which bounds of pairs are wider than those of candidates."""


def candidates(new: Facts, old: Facts, pairs: Nested, inspector: Inspector) -> BoolArray:
    """Pairs whose difference could break a rule, judged without the data; every other pair is safe."""
    rules, records = inspector.rules, pairs.difference_records
    some = records > 0
    possible = np.zeros(len(records), dtype=np.bool_)
    if rules.minimum_units:
        possible |= records < rules.minimum_units.units * inspector.records_per_respondent
    if rules.minimum_households and new.households is not None and old.households is not None:
        mine, theirs = _households(new)[:, pairs.new_cells], _households(old)[:, pairs.old_cells]
        # The larger box has at most the households of the smaller and of the difference together.
        least = np.where(pairs.new_inside_old, theirs[0] - mine[1], mine[0] - theirs[1])
        possible |= least < rules.minimum_households.households * (1 + 1e-9)
    for measure in new.measures:
        earlier = next((known for known in old.measures if known.name == measure.name), None)
        if earlier is not None:
            possible |= _could_be_dominated(measure, earlier, pairs, rules)
    return some & possible


def near_enough(new: Facts, old: Facts, inspector: Inspector) -> Near:
    """Bounds of the differences that `candidates` may find possible; all others need not be formed."""
    rules, records = inspector.rules, 0.0
    if rules.minimum_units:
        records = rules.minimum_units.units * inspector.records_per_respondent
    near = Near(records)
    if rules.minimum_households and new.households is not None and old.households is not None:
        wanted = rules.minimum_households.households * (1 + ROOM)
        near = replace(
            near, households=wanted, new_households=_households(new), old_households=_households(old)
        )
    if inspector.attrition and rules.minimum_units:
        near = replace(near, units=rules.minimum_units.units, new_units=new.units)
    for mine, theirs in zip(new.measures, old.measures, strict=False):
        sums = mine.absolute_sums, theirs.absolute_sums
        bounds = _dominated(mine, rules), _dominated(theirs, rules)
        return replace(near, new=bounds[0], old=bounds[1], new_sums=sums[0], old_sums=sums[1])
    return near


def _households(facts: Facts) -> FloatArray:
    """The least and the most households of each cell, shape (2, cells).

    No more are counted than it has units: where there are as many, units may have moved between households.
    """
    households = np.zeros(len(facts)) if facts.households is None else facts.households
    return np.stack([households, np.where(households < facts.units, households, facts.records)])


def _dominated(outer: MeasureFacts, rules: Rules) -> FloatArray:
    """Up to which sum a part of each cell could be dominated by the cell's largest contributors."""
    least = np.full(len(outer.absolute_sums), 0.0 if rules.equal_values else -np.inf)
    if not _bounded(outer, rules):
        return np.full(len(least), np.inf)
    for rule in rules_on_contributions(rules):
        largest = with_ranks(outer.largest, ranks_of(rule))
        contributors = Contributors(largest, largest.sum(axis=1))
        least = np.maximum(least, contributors.totals + excess(rule, contributors))
    return least * (1 + ROOM) + ROOM


def _bounded(measure: MeasureFacts, rules: Rules) -> bool:
    """Whether a unit's part of a difference is at most its part of the larger box: no value is negative.

    What a weighted contribution to an earlier release was is not kept.
    """
    low = measure.lower_bound
    return low is not None and low >= 0 and not rules.contributions.weighted


def _could_be_dominated(new: MeasureFacts, old: MeasureFacts, pairs: Nested, rules: Rules) -> BoolArray:
    """Whether the largest contributors of the larger box could dominate what is left; others cannot."""
    mine, theirs = new.absolute_sums[pairs.new_cells], old.absolute_sums[pairs.old_cells]
    total = np.where(pairs.new_inside_old, theirs - mine, mine - theirs)
    if not _bounded(new, rules):
        return np.ones(len(total), dtype=np.bool_)
    ranks = min(new.largest.shape[1], old.largest.shape[1])
    outer: FloatArray = np.where(
        pairs.new_inside_old[:, None],
        old.largest[pairs.old_cells, :ranks],
        new.largest[pairs.new_cells, :ranks],
    )
    possible = np.zeros(len(total), dtype=np.bool_)
    for rule in rules_on_contributions(rules):
        at_most = Contributors(with_ranks(outer, ranks_of(rule)), total)
        possible |= ~(total > 0) | sensitive(rule, at_most)
    if rules.equal_values:
        possible |= total <= 0
    return possible
