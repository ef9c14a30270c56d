"""Differences that are not counted are safe, and those that are asked for are told apart."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_people import SINGLE_RULES, breaks_a_rule, people
from sdcgate.facility.difference_bounds import candidates
from sdcgate.facility.differencing import differing_variables
from sdcgate.facility.inspector import Inspector
from sdcgate.methods.tables.nesting import Nested

CHECKED = {name: rules for name, rules in SINGLE_RULES.items() if name != "equal values"}
"""Equal values of a large difference are not searched for: see docs/limits.md."""


def pairs(inner_is_new: bool, records: int) -> Nested:
    return Nested(
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.array([inner_is_new]),
        np.array([records]),
        np.array([1]),
    )


@pytest.mark.parametrize("rules", CHECKED.values(), ids=CHECKED)
@settings(max_examples=150, deadline=None)
@given(population=people(), inner_is_new=st.booleans(), ranks=st.integers(1, 3))
def test_a_difference_that_is_no_candidate_breaks_no_rule(rules, population, inner_is_new, ranks):
    inner = population.cell <= 1
    small, large = population.facts([inner]), population.facts([np.ones_like(inner)])
    # Of an earlier table fewer of the largest contributors may be known than the rules look at.
    (income,) = large.measures
    large = replace(large, measures=(replace(income, largest=income.largest[:, :ranks]),))
    new, old = (small, large) if inner_is_new else (large, small)
    inspector = Inspector(rules, 3, lambda regions, measures: None, lambda facts: ())
    found = candidates(new, old, pairs(inner_is_new, int((~inner).sum())), inspector)
    if not found[0] and (~inner).any():
        assert not breaks_a_rule(population.facts([~inner]), rules)[0]


def test_boxes_differ_in_the_variables_that_only_one_of_them_restricts():
    assert differing_variables((("site", 1),), (("site", 1), ("year", 3))) == {"year"}
    assert differing_variables((("site", 1),), (("site", 2),)) == {"site"}
    assert differing_variables((), ()) == set()
