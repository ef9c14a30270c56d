"""Whether a union of cells is safe, judged by what is known of its parts; what this leaves open is counted.

A unit may stand in several parts: the largest contributors of the union hold at most what those of all
parts hold together.
"""

from collections.abc import Iterable

import numpy as np

from sdcgate.methods.cells import Facts, IntArray, MeasureFacts
from sdcgate.methods.rules import Rules


def surely_safe(facts: Facts, parts: IntArray, measures: Iterable[MeasureFacts], rules: Rules) -> bool:
    """Whether the union of some cells passes the rules of cells for counts and the given measures.

    False says nothing: the union has to be counted.
    """
    return _enough(facts, parts, rules) and all(
        _spread_out(facts, measure, parts, rules) for measure in measures
    )


def _enough(facts: Facts, parts: IntArray, rules: Rules) -> bool:
    """A union has at least the units and households of its largest part."""
    if rules.minimum_units and facts.units[parts].max() < rules.minimum_units.units:
        return False
    if rules.minimum_households is None or facts.households is None:
        return True
    return bool(facts.households[parts].max() >= rules.minimum_households.households * (1 + 1e-9))


def _spread_out(facts: Facts, measure: MeasureFacts, parts: IntArray, rules: Rules) -> bool:
    """No unit can dominate, and the values are not equal; bounds hold where no value is negative."""
    if measure.lower_bound is None or measure.lower_bound < 0:
        return False
    if rules.minimum_units and measure.valid_units[parts].max() < rules.minimum_units.units:
        return False
    if np.any(measure.valid_records[parts] < facts.records[parts]):
        return False
    total = measure.absolute_sums[parts].sum()
    largest = measure.largest[parts].sum(axis=0)
    for rule in rules.dominance:
        if rule.largest > len(largest) or largest[: rule.largest].sum() >= rule.share * total * (1 - 1e-9):
            return False
    if rules.p_percent:
        remainder = total - largest[:2].sum()
        if len(largest) < 2 or remainder <= rules.p_percent.share * largest[0] * (1 + 1e-9):
            return False
    return rules.equal_values is None or _differ(measure, parts, rules.equal_values.tolerance)


def _differ(measure: MeasureFacts, parts: IntArray, tolerance: float) -> bool:
    filled = parts[measure.valid_records[parts] > 0]
    if not len(filled):
        return False
    highest, lowest = measure.maxima[filled].max(), measure.minima[filled].min()
    return bool(highest - lowest > tolerance * max(abs(highest), abs(lowest)) * (1 + 1e-9))
