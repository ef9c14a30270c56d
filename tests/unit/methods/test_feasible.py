"""What can be told of true counts from counts that were changed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from made_tables import axis, facts, problem, with_margins
from sdcgate.methods.tables.cell_key import counts_behind_noise, noise_of_counts
from sdcgate.methods.tables.feasible import feasible_counts
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.ptable import NoiseParameters, ptable
from sdcgate.methods.tables.rounding import Intervals, behind_neighbours

AXES = (axis("a", "12"), axis("b", "12"))
ADDITIVE = problem(AXES, facts([0] * 9, [0] * 9)).equations
TABLE = ptable(NoiseParameters(3, 1.5, 1))


def counts(*inner):
    return with_margins(np.array(inner).reshape(2, 2)).reshape(-1)


def only(*cells):
    asked = np.zeros(9, dtype=np.bool_)
    asked[list(cells)] = True
    return asked


def test_a_count_that_may_move_is_proved_by_tables():
    true = counts(1, 8, 7, 2)
    known = behind_neighbours(3 * np.rint(true / 3), 3)
    found = feasible_counts(ADDITIVE, true, known, only(0, 4), 2, 10)
    assert found.proof is Proof.PROVED
    assert not found.unprotected.any()
    assert np.all(found.upper[[0, 4]] - found.lower[[0, 4]] >= 2)


def test_a_count_that_the_margins_give_away_is_refuted_though_its_interval_is_wide():
    # The whole row is known to be at its greatest: 1 to 3 and 8 to 10 make 13 in one way only.
    true = counts(3, 10, 7, 2)
    lower, upper = true - 2.0, true.astype(np.float64)
    upper[true == true[2]] = true[2]
    lower[2] = upper[2] = 13
    upper[[3, 4, 5, 6, 7, 8]] += 2
    found = feasible_counts(ADDITIVE, true, Intervals(lower, upper), only(0), 1, 10)
    assert found.proof is Proof.REFUTED
    assert np.flatnonzero(found.unprotected).tolist() == [0]


def test_without_time_nothing_is_proved():
    true = counts(1, 8, 7, 2)
    known = behind_neighbours(true.astype(np.float64), 3)
    totals = [2, 5, 6, 7, 8]
    known.lower[totals] = known.upper[totals] = true[totals]
    assert feasible_counts(ADDITIVE, true, known, only(0), 2, 10).proof is Proof.PROVED
    found = feasible_counts(ADDITIVE, true, known, only(0), 2, 0.0)
    assert found.proof is Proof.UNPROVED
    assert found.unprotected[0]


def test_true_counts_that_are_not_among_the_possible_are_an_error():
    true = counts(1, 8, 7, 2)
    with pytest.raises(ValueError, match="lie within"):
        feasible_counts(ADDITIVE, true, Intervals(true + 1.0, true + 2.0), only(0), 1, 1)
    with pytest.raises(ValueError, match="4 cells"):
        feasible_counts(ADDITIVE, true[:4], Intervals(true + 0.0, true + 0.0), only(0), 1, 1)


@settings(max_examples=30, deadline=None)
@given(arrays.arrays(np.int64, 4, elements=st.integers(0, 9)), st.integers(0, 2**32))
def test_noise_leaves_two_counts_possible_for_every_cell_or_says_which_it_does_not(inner, seed):
    true = counts(*inner)
    noisy = true + noise_of_counts(true, np.random.default_rng(seed).random(9), TABLE)
    lower, upper, _ = counts_behind_noise(true, noisy, TABLE)
    known = Intervals(lower.astype(np.float64), upper.astype(np.float64))
    found = feasible_counts(ADDITIVE, true, known, true > 0, 1, 10)
    assert found.proof in (Proof.PROVED, Proof.REFUTED)
    assert (found.proof is Proof.PROVED) == (not found.unprotected.any())
    # Whatever is shown possible is: the enumeration of all tables agrees on what is not.
    ranges = [np.arange(lower[cell], upper[cell] + 1) for cell in (0, 1, 3, 4)]
    grid = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 2, 2)
    every = np.array([with_margins(one).reshape(-1) for one in grid])
    possible = every[np.all((every >= lower) & (every <= upper), axis=1)]
    narrow = (true > 0) & (np.ptp(possible, axis=0) < 1)
    np.testing.assert_array_equal(found.unprotected, narrow)


@given(st.integers(0, 12), st.floats(0, 1, exclude_max=True))
def test_the_counts_behind_noise_hold_the_true_one_and_no_impossible_one(count, fraction):
    true = np.array([count])
    noisy = true + noise_of_counts(true, np.array([fraction]), TABLE)
    lower, upper, every = counts_behind_noise(true, noisy, TABLE)
    assert lower[0] <= count <= upper[0]
    assert every
    for other in range(lower[0], upper[0] + 1):
        rows = TABLE.block(other)
        assert noisy[0] - other in TABLE.noise[rows]


@settings(max_examples=40, deadline=None)
@given(
    arrays.arrays(np.int64, 4, elements=st.integers(0, 9)),
    arrays.arrays(np.int64, (2, 9), elements=st.integers(0, 3)),
)
def test_counts_that_are_said_to_be_possible_are(inner, rooms):
    true = counts(*inner)
    known = Intervals(np.maximum(0.0, true - rooms[0]), true + rooms[1].astype(np.float64))
    found = feasible_counts(ADDITIVE, true, known, true >= 0, 1, 10)
    ranges = [np.arange(known.lower[cell], known.upper[cell] + 1) for cell in (0, 1, 3, 4)]
    grid = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, 2, 2)
    every = np.array([with_margins(one).reshape(-1) for one in grid])
    possible = every[np.all((every >= known.lower) & (every <= known.upper), axis=1)]
    assert np.all(found.lower >= possible.min(axis=0))
    assert np.all(found.upper <= possible.max(axis=0))
    np.testing.assert_array_equal(found.unprotected, np.ptp(possible, axis=0) < 1)


def test_a_large_table_is_proved_without_any_program(monkeypatch):
    true = with_margins(np.random.default_rng(2).poisson(6, (60, 60)))
    axes = tuple(axis(name, list(map(str, range(60)))) for name in "ab")
    of = problem(axes, facts(true, true))
    monkeypatch.setattr("sdcgate.methods.tables.feasible.Program", None)
    known = Intervals(np.maximum(0.0, true - 2), true + 2.0)
    assert feasible_counts(of.equations, true, known, true == 1, 3, 0.0).proof is Proof.PROVED
