"""Differences that are not counted are safe, and those that are asked for are told apart."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from made_people import RULES, breaks_a_rule, people
from sdcgate.facility.differencing import Inspector, candidates, differing_variables
from sdcgate.methods.tables.nesting import Nested

INSPECTOR = Inspector(RULES, 3, lambda regions, measures: None, lambda facts: ())


def pairs(inner_is_new: bool, records: int) -> Nested:
    return Nested(
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.array([inner_is_new]),
        np.array([records]),
        np.array([1]),
    )


def check(population, inner_is_new: bool, measures: bool) -> None:
    inner = population.cell <= 1
    small = population.facts([inner])
    large = population.facts([np.ones_like(inner)])
    difference = population.facts([~inner])
    if not measures:
        small, large, difference = (replace(facts, measures=()) for facts in (small, large, difference))
    new, old = (small, large) if inner_is_new else (large, small)
    found = candidates(new, old, pairs(inner_is_new, int((~inner).sum())), INSPECTOR)
    if not found[0] and (~inner).any():
        assert not breaks_a_rule(difference)[0]


@settings(max_examples=300, deadline=None)
@given(people())
def test_a_difference_of_counts_that_is_no_candidate_breaks_no_rule(population):
    check(population, True, False)
    check(population, False, False)


@settings(max_examples=300, deadline=None)
@given(people())
def test_a_difference_of_sums_that_is_no_candidate_breaks_no_rule(population):
    check(population, True, True)
    check(population, False, True)


def test_boxes_differ_in_the_variables_that_only_one_of_them_restricts():
    assert differing_variables((("site", 1),), (("site", 1), ("year", 3))) == {"year"}
    assert differing_variables((("site", 1),), (("site", 2),)) == {"site"}
    assert differing_variables((), ()) == set()
