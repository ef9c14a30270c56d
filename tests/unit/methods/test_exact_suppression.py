"""The cheapest pattern and the bound of prices, against a search of every pattern and another intruder."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intruder_by_scipy import Intruder
from made_tables import at, axis, counts, facts, flags, problem, with_margins
from sdcgate.methods.tables.exact_suppression import protect_exactly
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.suppression import protect
from sdcgate.methods.tables.witnesses import verify

tables = st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3), min_size=2, max_size=4)


def holds(of, withheld):
    """Whether every withheld cell is wide enough for the other intruder."""
    intruder = Intruder(of, withheld)
    return all(intruder.width(0, int(cell)) >= of.count_width for cell in np.flatnonzero(withheld))


def cheapest_of_all(of, unsafe):
    """The least price of all patterns that hold, each looked at, the cheap ones first."""
    others = np.flatnonzero(~unsafe & (of.facts.records > 0))
    patterns = [
        (of.prices[list(beside)].sum(), beside)
        for size in range(len(others) + 1)
        for beside in combinations(others.tolist(), size)
        if size <= 4
    ]
    for price, beside in sorted(patterns):
        if holds(of, unsafe | flags(of, *beside)):
            return price
    raise AssertionError("no pattern of four cells beside the unsafe ones holds")


@pytest.mark.parametrize(
    ("inner", "width"),
    [([[1, 9, 7], [8, 6, 12]], 1), ([[2, 9, 4], [8, 3, 12]], 3), ([[1, 1, 7], [8, 6, 9]], 2)],
)
def test_no_pattern_at_all_is_cheaper_than_an_optimal_one(inner, width):
    of = counts(inner, count_width=width)
    unsafe = flags(of, 0)
    found = protect_exactly(of, unsafe, 20)
    assert found.proof is Proof.PROVED
    assert found.gap == 0
    assert found.price == cheapest_of_all(of, unsafe)


def test_a_cheaper_pattern_is_found_than_by_the_heuristic():
    rng = np.random.default_rng(101)
    inner = np.floor(np.exp(rng.normal(3.5, 1.0, size=(10, 10)))).astype(np.int64) + 4
    inner[rng.random((10, 10)) < 0.1] = 2
    of = counts(inner, count_width=10)
    unsafe = of.facts.records == 2
    first, found = protect(of, unsafe, 10), protect_exactly(of, unsafe, 10)
    assert found.proof is Proof.PROVED
    assert not verify(of, found.withheld, found.witnesses).any()
    assert found.least_price <= found.price < 0.9 * first.price


@settings(max_examples=10, deadline=None)
@given(inner=tables, width=st.integers(1, 4), zeros=st.booleans())
def test_every_pattern_holds_and_lies_between_its_bound_and_the_heuristic(inner, width, zeros):
    of = counts(inner, count_width=width, zeros_withheld=zeros)
    cells = with_margins(np.array(inner)).reshape(-1)
    unsafe = (cells > 0) & (cells < 4)
    first, found = protect(of, unsafe, 20), protect_exactly(of, unsafe, 20)
    assert found.proof is first.proof
    if found.proof is not Proof.PROVED:
        return
    assert found.least_price <= found.price <= first.price
    assert found.gap == 0
    assert not np.any(unsafe & ~found.withheld)
    assert holds(of, found.withheld)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), levels=st.booleans())
def test_sums_with_bounds_and_levels_hold_and_lie_between_bound_and_heuristic(seed, levels):
    rng = np.random.default_rng(seed)
    records = with_margins(rng.integers(1, 6, (3, 3)))
    sums = with_margins(rng.integers(1, 50, (3, 3)).astype(float))
    width = np.zeros((1, 16))
    width[0, :] = 0.3 * sums.reshape(-1)
    axes = [axis("a", "012"), axis("b", "012")]
    told = {"upper_levels": width, "lower_levels": width / 2} if levels else {}
    of = problem(axes, facts(records, records, {"x": sums.reshape(-1)}), sum_width=0.4, **told)
    unsafe = flags(of, int(rng.integers(0, 3)))
    first, found = protect(of, unsafe, 20), protect_exactly(of, unsafe, 20)
    if first.proof is Proof.PROVED:
        assert found.proof is Proof.PROVED
        assert found.least_price <= found.price <= first.price
        assert not verify(of, found.withheld, found.witnesses).any()


def test_a_bound_never_exceeds_the_price_of_a_pattern_that_holds():
    # Three dimensions, where real numbers leave much out: the bound is below, and is told as it is.
    rng = np.random.default_rng(5)
    inner = rng.integers(1, 40, (4, 4, 4))
    of = counts(inner)
    unsafe = np.zeros((5, 5, 5), dtype=np.bool_)
    unsafe[:4, :4, :4] = inner <= 3
    first = protect(of, unsafe.reshape(-1), 10, thorough=True)
    found = protect_exactly(of, unsafe.reshape(-1), 2)
    assert first.proof is found.proof is Proof.PROVED
    assert 0 < found.least_price <= min(found.price, first.price)
    assert found.gap == pytest.approx(1 - found.least_price / found.price)


def test_prices_that_are_no_whole_numbers_come_to_an_end_as_well():
    rng = np.random.default_rng(3)
    of = counts(rng.integers(1, 30, (5, 5)), count_width=3)
    of = replace(of, costs=rng.uniform(0.001, 0.1, len(of.facts)))
    found = protect_exactly(of, of.facts.records < 4, 60)
    assert (found.proof, found.gap) == (Proof.PROVED, 0)


def test_a_forced_cell_stays_and_a_forbidden_one_is_gone_around():
    inner = [[2, 60, 9], [70, 80, 5], [8, 90, 7]]
    of = counts(inner)
    dear, forbidden = at(of, 1, 1), at(of, 0, 2)
    of = counts(inner, known=flags(of, forbidden))
    found = protect_exactly(of, flags(of, 0, dear), 10)
    assert found.proof is Proof.PROVED
    assert found.gap == 0
    assert found.withheld[dear]
    assert not found.withheld[forbidden]


def test_what_nothing_can_protect_has_no_bound_and_is_told():
    inner = [[2, 60], [70, 80]]
    of = counts(inner, known=~flags(counts(inner), 0))
    found = protect_exactly(of, flags(of, 0), 5)
    assert found.proof is Proof.REFUTED
    assert np.flatnonzero(found.unprotected).tolist() == [0]


def test_nothing_unsafe_costs_nothing():
    of = counts([[5, 6], [7, 8]])
    found = protect_exactly(of, flags(of), 5)
    assert (found.price, found.least_price, found.gap) == (0, 0, 0)
    assert found.proof is Proof.PROVED


def test_without_time_there_is_no_bound():
    of = counts([[2, 60, 9], [70, 80, 5], [8, 90, 7]])
    found = protect_exactly(of, flags(of, 0), 0)
    assert found.proof is Proof.UNPROVED
    assert found.least_price == 0


def test_flags_of_another_table_are_refused():
    with pytest.raises(ValueError, match="flags for 9 cells"):
        protect_exactly(counts([[5, 6], [7, 8]]), np.zeros(3, dtype=np.bool_), 5)
