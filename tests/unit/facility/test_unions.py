"""What is judged safe without being counted is safe."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_people import SINGLE_RULES, People, breaks_a_rule, people
from sdcgate.facility.unions import surely_safe


@pytest.mark.parametrize(("name", "rules"), SINGLE_RULES.items(), ids=SINGLE_RULES)
@settings(max_examples=150, deadline=None)
@given(population=people(), cells=st.sets(st.integers(0, 3), min_size=1))
def test_a_union_that_is_surely_safe_breaks_no_rule(name, rules, population, cells):
    parts = np.array(sorted(cells))
    facts = population.facts([population.cell == cell for cell in range(4)])
    of_counts = "units" in name or "households" in name
    if surely_safe(facts, parts, () if of_counts else facts.measures, rules):
        union = population.facts([np.isin(population.cell, parts)])
        assert not breaks_a_rule(union, rules)[0]


@pytest.mark.parametrize("rules", SINGLE_RULES.values(), ids=SINGLE_RULES)
def test_a_union_with_many_persons_of_spread_out_incomes_need_not_be_counted(rules):
    rng = np.random.default_rng(5)
    population = People(np.arange(200), np.arange(200), np.arange(200) % 4, rng.uniform(50, 150, 200))
    facts = population.facts([population.cell == cell for cell in range(4)])
    assert surely_safe(facts, np.array([0, 2]), facts.measures, rules)
