"""Whether a union of cells is safe, judged by what is known of its parts; what this leaves open is counted.

A unit may stand in several parts: the largest contributors of the union hold at most what those of all
parts hold together.
"""

from collections.abc import Iterable

import numpy as np

from sdcgate.methods.cells import Contributors, Facts, IntArray, MeasureFacts
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.concentration import (
    contributors_of,
    ranks_of,
    rules_on_contributions,
    sensitive,
    with_ranks,
)


def surely_safe(facts: Facts, parts: IntArray, measures: Iterable[MeasureFacts], rules: Rules) -> bool:
    """Whether the union of some cells passes the rules of cells for counts and the given measures.

    False says nothing: the union has to be counted.
    """
    return _enough(facts, parts, rules) and all(
        _spread_out(facts, measure, parts, rules) for measure in measures
    )


def _enough(facts: Facts, parts: IntArray, rules: Rules) -> bool:
    """A union has at least the units, holdings and households of its largest part."""
    if rules.minimum_units and not _reaches(facts.units, facts.holdings, parts, rules.minimum_units.units):
        return False
    if rules.minimum_households is None or facts.households is None:
        return True
    return bool(facts.households[parts].max() >= rules.minimum_households.households * (1 + 1e-9))


def _reaches(units: IntArray, holdings: IntArray | None, parts: IntArray, minimum: int) -> bool:
    respondents = units if holdings is None else np.minimum(units, holdings)
    return bool(respondents[parts].max() >= minimum)


def _spread_out(facts: Facts, measure: MeasureFacts, parts: IntArray, rules: Rules) -> bool:
    """No unit can dominate, and the values are not equal; bounds hold where no value is negative."""
    if measure.lower_bound is None or measure.lower_bound < 0:
        return False
    enough = rules.minimum_units
    if enough and not _reaches(measure.valid_units, measure.valid_holdings, parts, enough.units):
        return False
    if np.any(measure.valid_records[parts] < facts.records[parts]):
        return False
    contributors, absent = contributors_of(measure, rules.contributions)
    on_contributions = rules_on_contributions(rules)
    if absent and on_contributions:
        return False
    for rule in on_contributions:
        largest = with_ranks(contributors.largest, ranks_of(rule))[parts].sum(axis=0)
        # Whoever gave a waiver is taken for one who gave none: that finds more unsafe.
        at_most = Contributors(largest[None], contributors.totals[parts].sum(keepdims=True))
        if at_most.totals[0] <= 0 or sensitive(rule, at_most)[0]:
            return False
    return rules.equal_values is None or _differ(measure, parts, rules.equal_values.tolerance)


def _differ(measure: MeasureFacts, parts: IntArray, tolerance: float) -> bool:
    filled = parts[measure.valid_records[parts] > 0]
    if not len(filled):
        return False
    highest, lowest = measure.maxima[filled].max(), measure.minima[filled].min()
    return bool(highest - lowest > tolerance * max(abs(highest), abs(lowest)) * (1 + 1e-9))
