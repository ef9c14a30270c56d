"""What is judged safe without being counted is safe."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from made_people import RULES, People, breaks_a_rule, people
from sdcgate.facility.unions import surely_safe


@settings(max_examples=400, deadline=None)
@given(people(), st.sets(st.integers(0, 3), min_size=1))
def test_a_union_that_is_surely_safe_breaks_no_rule(population, cells):
    parts = np.array(sorted(cells))
    facts = population.facts([population.cell == cell for cell in range(4)])
    if surely_safe(facts, parts, facts.measures, RULES):
        union = population.facts([np.isin(population.cell, parts)])
        assert not breaks_a_rule(union)[0]


def test_a_union_with_many_persons_of_spread_out_incomes_is_not_counted():
    rng = np.random.default_rng(5)

    population = People(np.arange(200), np.arange(200), np.arange(200) % 4, rng.uniform(50, 150, 200))
    facts = population.facts([population.cell == cell for cell in range(4)])
    assert surely_safe(facts, np.array([0, 2]), facts.measures, RULES)
