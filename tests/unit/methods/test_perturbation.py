"""Whatever the method: what may be published hides the unsafe counts, or says which it does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from made_tables import axis, counts, facts, problem, with_margins
from sdcgate.methods.tables.controlled_rounding import Found
from sdcgate.methods.tables.perturbation import (
    CellKeys,
    Rounding,
    RoundingKind,
    with_cell_keys,
    with_rounding,
)
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.ptable import NoiseParameters, ptable
from sdcgate.methods.tables.ptable_checks import checked_ptable

KINDS = [kind for kind in RoundingKind if kind is not RoundingKind.UNSPECIFIED]
SHAPES = st.sampled_from([(2, 3), (3, 3), (2, 2, 2)])
INNER = SHAPES.flatmap(lambda shape: arrays.arrays(np.int64, shape, elements=st.integers(0, 8)))


def keyed(number, seed):
    return np.random.default_rng(seed).integers(0, 2**64, number, dtype=np.uint64)


@settings(max_examples=60, deadline=None)
@given(INNER, st.sampled_from(KINDS), st.integers(2, 6), st.integers(0, 999))
def test_rounding_of_any_kind_settles_every_unsafe_count(inner, kind, base, seed):
    of = counts(inner, count_width=1)
    records = of.facts.records
    unsafe = (records > 0) & (records < 3)
    keys = keyed(len(records), seed) if kind is RoundingKind.RANDOM else None
    found = with_rounding(of, unsafe, Rounding(kind, base, keys=keys), 10)
    assert found.proof in (Proof.PROVED, Proof.REFUTED)
    assert (found.proof is Proof.PROVED) == (not found.unprotected.any())
    assert not np.any(found.unprotected & ~unsafe)


def test_behind_a_margin_of_zero_is_a_small_count_too():
    # Small-count rounding lets no other count fall below the base: whoever knows it knows of 0 to 4.
    of = counts([[1, 0], [0, 0]], count_width=5)
    total = np.arange(9) == 8
    found = with_rounding(of, total, Rounding(RoundingKind.SMALL_COUNTS, 5), 10)
    assert found.facts[0].values[8] == 0
    assert found.proof is Proof.REFUTED
    assert found.unprotected[8]


def test_without_time_no_margin_falls_below_the_base_unnoticed():
    of = counts([[1, 1], [1, 2]])
    found = with_rounding(of, of.facts.records == 1, Rounding(RoundingKind.SMALL_COUNTS, 5), 0.0)
    assert (found.rounded.found, found.facts, found.proof) == (Found.UNKNOWN, (), Proof.UNPROVED)


def test_what_left_within_one_base_stays_known_to_within_one():
    # 6 left for 3, so that this table goes two steps; 3 left for 4 as in a table of one, and tells of 1 to 5.
    of = counts([[3, 4], [2, 2]], count_width=5)
    released = np.full(9, np.nan)
    released[[0, 1]] = 6.0, 3.0
    unsafe = np.arange(9) == 1
    found = with_rounding(of, unsafe, Rounding(RoundingKind.CONTROLLED, 3, released=released), 10)
    assert (found.rounded.steps, found.facts[0].values[1]) == (2, 3.0)
    assert found.proof is Proof.REFUTED
    np.testing.assert_array_equal(found.unprotected, unsafe)


def test_a_lone_cell_below_known_totals_is_not_hidden_by_any_noise():
    # Its column has one cell only, and the column's total is known from a register.
    of = counts([[1], [7]], known_sums=(np.array([0]),))
    method = CellKeys(keyed(6, 1), ptable(NoiseParameters(3, 1.5)))
    unsafe = of.facts.records == 1
    found = with_cell_keys(of, unsafe, method, 10)
    assert found.proof is Proof.REFUTED
    np.testing.assert_array_equal(found.unprotected, unsafe)


def test_noise_that_leaves_gaps_refutes_nothing():
    # Every count moves by one: behind 4 are 3 and 5, of which the intervals here know one only.
    steps = np.array([[0, 0, 1.0], [1, -1, 0.5], [1, 1, 0.5]])
    table = checked_ptable(steps[:, 0].astype(np.int64), steps[:, 1].astype(np.int64), steps[:, 2])
    of = counts([[1, 8], [7, 2]])
    found = with_cell_keys(of, of.facts.records < 3, CellKeys(keyed(9, 1), table), 10)
    assert found.proof is Proof.UNPROVED
    assert found.unprotected.any()


def test_intervals_of_sums_are_closed_at_both_ends():
    inner = with_margins(np.array([[10.0, 20.5], [30.0, 4.0]]))
    axes = [axis("a", "12"), axis("b", "12")]
    of = problem(axes, _with_sums(inner))
    found = with_rounding(of, np.zeros(9, dtype=np.bool_), Rounding(RoundingKind.INTERVALS, 10.0, 0), 10)
    intervals = found.facts[0].intervals
    assert (intervals.lower[0], intervals.upper[0]) == (10.0, 20.0)
    assert (found.facts[0].fact, found.proof, found.unchecked) == (
        "sums of x",
        Proof.UNPROVED,
        ("sums of x",),
    )


def _with_sums(sums):
    records = with_margins(np.full((2, 2), 5))
    return facts(records, records, {"x": sums})


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Rounding(RoundingKind.NEAREST, 2.5), "whole number"),
        (Rounding(RoundingKind.NEAREST, 1.0), "from 2 to"),
        (Rounding(RoundingKind.NEAREST, 1e-14, 0), "at least the largest sum over"),
        (Rounding(RoundingKind.RANDOM, 3.0), "needs keys"),
        (Rounding(RoundingKind.UNSPECIFIED, 3.0), "must be told"),
        (Rounding(RoundingKind.SMALL_COUNTS, 3.0, 0), "only counts"),
    ],
)
def test_a_rounding_that_makes_no_sense_is_an_error(method, message):
    of = problem([axis("a", "12"), axis("b", "12")], _with_sums(with_margins(np.ones((2, 2)))))
    with pytest.raises(ValueError, match=message):
        with_rounding(of, np.zeros(9, dtype=np.bool_), method, 1)
