"""Recodings: measured by hand, and searched as a search of all finds them."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.risk.confidentiality_map import additive_noise, global_recoding
from sdcgate.methods.risk.recoding import best_recoding, lattice, measure, worst_table

ALL = np.zeros(12, dtype=np.int64)
HALVES = np.arange(12) // 6
PAIRS = np.arange(12) // 2


def file_of(records, seed, variables=3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 12, (records, variables))
    return codes, rng.uniform(5, 50, records), rng.normal(size=records) + codes[:, 0]


def test_a_recoding_is_measured_as_by_hand():
    codes = np.array([[0, 0], [1, 0], [1, 0], [2, 1]])
    file = lattice(codes, np.full(4, 10.0), [[np.array([0, 0, 1])], []], np.array([1.0, 2.0, 4.0, 9.0]))
    finest = measure(file, (0, 0))
    assert (finest.key_cells, finest.sample_uniques) == (3, 2)
    one = 0.1 / 0.9 * np.log(10)
    assert finest.expected_matches == pytest.approx(2 * one)
    assert finest.share == pytest.approx(one / 2)
    assert finest.entropy == pytest.approx(1.5)
    coarse = measure(file, (1, 0))
    assert (coarse.key_cells, coarse.sample_uniques) == (2, 1)
    assert coarse.entropy_share == pytest.approx((0.75 * np.log2(4 / 3) + 0.5) / 1.5)
    means = np.array([7 / 3, 7 / 3, 7 / 3, 9.0]) - 4
    fine = np.array([1.0, 3.0, 3.0, 9.0]) - 4
    assert coarse.between_share == pytest.approx((means @ means) / (fine @ fine))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(0.0, 0.2))
def test_the_best_recoding_is_the_one_that_a_search_of_all_finds(seed, bound):
    codes, weights, _ = file_of(60, seed)
    file = lattice(codes, weights, [[PAIRS, HALVES, ALL], [PAIRS, ALL], [HALVES, ALL]])
    every = [measure(file, recoding) for recoding in product(range(4), range(3), range(3))]
    safe = [one.entropy for one in every if one.share <= bound]
    found = best_recoding(file, bound)
    assert (found.entropy if found else None) == (pytest.approx(max(safe)) if safe else None)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_joining_codes_never_adds_risk_or_information(seed):
    codes, weights, interest = file_of(80, seed)
    file = lattice(codes, weights, [[PAIRS, HALVES, ALL]] * 3, interest)
    rng = np.random.default_rng(seed)
    recoding = tuple(int(level) for level in rng.integers(0, 3, 3))
    finer, coarser = measure(file, recoding), measure(file, (recoding[0] + 1, *recoding[1:]))
    assert coarser.expected_matches <= finer.expected_matches + 1e-12
    assert coarser.entropy <= finer.entropy + 1e-12
    assert coarser.between_share <= finer.between_share + 1e-12


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3))
def test_the_worst_table_is_the_one_that_a_search_of_all_finds(seed, dimensions):
    codes, weights, _ = file_of(50, seed, variables=5)
    file = lattice(codes, weights, [[]] * 5)
    taus = []
    for table in combinations(range(5), dimensions):
        part = lattice(codes[:, table], weights, [[]] * dimensions)
        taus.append(measure(part, (0,) * dimensions).expected_matches)
    assert worst_table(file, dimensions).expected_matches == pytest.approx(max(taus))


def test_nothing_is_found_where_nothing_is_safe():
    codes = np.arange(6)[:, None]
    assert best_recoding(lattice(codes, None, [[]]), 0.5) is None


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([[np.array([0])], []], "a code for every code"),
        ([[HALVES, PAIRS], []], "divides codes"),
        ([[]], "one list a variable"),
    ],
)
def test_levels_that_are_none_are_refused(levels, message):
    with pytest.raises(ValueError, match=message):
        lattice(np.array([[0, 1], [5, 2], [11, 1]]), None, levels)


def test_what_is_out_of_range_is_refused():
    file = lattice(np.array([[0, 1], [1, 0]]), None, [[], []])
    with pytest.raises(ValueError, match="has levels 0 to 0"):
        measure(file, (1, 0))
    with pytest.raises(ValueError, match="0 to 1"):
        best_recoding(file, float("nan"))
    with pytest.raises(ValueError, match="1 to 2"):
        worst_table(file, 3)
    with pytest.raises(ValueError, match="interest"):
        lattice(np.array([[0, 1], [1, 0]]), None, [[], []], np.array([1.0, np.inf]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-6, 6), min_size=1, max_size=12, unique=True), st.floats(-2, 2))
def test_recoding_is_riskier_by_one_than_noise_of_the_same_utility(cut_offs, theta):
    """R^c = R^a + 1 (Shlomo 2003, II), for arbitrary cut-offs."""
    cut_offs = np.sort(np.array(cut_offs))
    if np.any(np.diff(cut_offs) < 1e-6):
        return
    recoded = global_recoding(cut_offs, theta)
    if recoded.utility < 1e-9:
        return
    noise = additive_noise(1.0 / recoded.utility - 1.0)
    assert noise.utility == pytest.approx(recoded.utility)
    assert recoded.risk == pytest.approx(noise.risk + 1.0, rel=1e-9)


def test_two_halves_keep_two_over_pi_of_the_information():
    """The median as the only cut-off: 4 phi(0)^2 = 2/pi."""
    assert global_recoding(np.array([0.0])).utility == pytest.approx(2 / np.pi, rel=1e-14)


def test_cut_offs_beyond_all_people_add_nothing():
    with np.errstate(all="raise"):
        recoded = global_recoding(np.array([-1e200, 0.0, 1e200]))
    assert recoded.utility == pytest.approx(2 / np.pi, rel=1e-14)


@pytest.mark.parametrize("cut_offs", [[], [1.0, 1.0], [2.0, 1.0], [np.nan], [[0.0]]])
def test_cut_offs_that_do_not_increase_are_refused(cut_offs):
    with pytest.raises(ValueError, match="cut_offs"):
        global_recoding(np.array(cut_offs))


def test_tables_of_more_cells_than_64_bits_count_are_compared_as_others():
    # 3^41 cells are negative in 64 bits.
    codes = np.random.default_rng(4).integers(0, 3, (30, 42))
    codes[:3] = np.arange(3)[:, None]
    file = lattice(codes, np.full(30, 2.0), [[]] * 42)
    found = worst_table(file, 41)
    assert len(found.variables) == 41
    assert found.expected_matches == pytest.approx(measure(file, (0,) * 42).expected_matches)
    assert found.sample_uniques == 30
