"""Witnesses are checked by addition alone; whatever is wrong with them proves nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_tables import at, axis, counts, facts, flags, problem, with_margins
from sdcgate.methods.tables.witnesses import Witnesses, no_witnesses, verify

SQUARE = counts([[5, 6, 9], [7, 8, 9]])
CORNERS = flags(SQUARE, at(SQUARE, 0, 0), at(SQUARE, 0, 1), at(SQUARE, 1, 0), at(SQUARE, 1, 1))


def swapped(of, step, sums=()):
    """The true table with `step` records moved around the square of CORNERS."""
    cells = np.flatnonzero(CORNERS)
    records = of.facts.records[cells] + step * np.array([1, -1, -1, 1])
    return Witnesses(cells, records[None], records[None], np.array(sums).reshape(len(sums), 1, 4))


def with_cost(bounds=(0.0, None), missing=None):
    inner = np.array([[50.0, 60, 90], [70, 80, 90]])
    records = SQUARE.facts.records
    valid = records - (0 if missing is None else missing)
    measures = {"cost": with_margins(inner)}
    of = facts(records, records, measures, {"cost": valid}, {"cost": bounds})
    return problem(SQUARE.axes, of)


def test_one_other_possible_table_proves_the_cells_in_which_it_differs():
    assert not verify(SQUARE, CORNERS, swapped(SQUARE, 2)).any()


def test_a_cell_is_not_proved_by_less_than_the_width():
    wide = counts([[5, 6, 9], [7, 8, 9]], count_width=3)
    assert np.array_equal(verify(wide, CORNERS, swapped(wide, 2)), CORNERS)
    both = Witnesses(
        np.flatnonzero(CORNERS),
        *(np.concatenate([swapped(wide, 2).records, swapped(wide, -1).records]),) * 2,
        np.zeros((0, 2, 4)),
    )
    assert not verify(wide, CORNERS, both).any()


def test_nothing_withheld_needs_no_proof():
    assert not verify(SQUARE, np.zeros_like(CORNERS), no_witnesses(SQUARE)).any()


def test_no_witnesses_prove_nothing():
    assert np.array_equal(verify(SQUARE, CORNERS, no_witnesses(SQUARE)), CORNERS)


def test_a_table_that_breaks_a_published_total_is_no_witness():
    forged = swapped(SQUARE, 2)
    forged.records[0, 0] += 1
    forged.units[0, 0] += 1
    assert np.array_equal(verify(SQUARE, CORNERS, forged), CORNERS)


def test_a_table_that_changes_a_published_cell_is_no_witness():
    cells = np.arange(len(SQUARE.facts))
    moved = SQUARE.facts.records + with_margins(np.array([[2, -2, 0], [-2, 2, 0]]))
    assert not verify(SQUARE, CORNERS, Witnesses(cells, moved[None], moved[None], np.zeros((0, 1, 12)))).any()
    moved = SQUARE.facts.records + with_margins(np.array([[2, -1, -1], [-2, 1, 1]]))
    forged = Witnesses(cells, moved[None], moved[None], np.zeros((0, 1, 12)))
    assert np.array_equal(verify(SQUARE, CORNERS, forged), CORNERS)


def test_a_withheld_cell_cannot_be_empty_unless_zeros_are_withheld():
    emptied = swapped(SQUARE, -5)
    assert np.array_equal(verify(SQUARE, CORNERS, emptied), CORNERS)
    allowed = counts([[5, 6, 9], [7, 8, 9]], zeros_withheld=True)
    assert not verify(allowed, CORNERS, emptied).any()


def test_an_empty_cell_withheld_against_the_convention_leaves_nothing_proved():
    of = counts([[0, 6, 9], [7, 8, 9]])
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2)), CORNERS)


def test_a_withheld_cell_that_is_known_is_never_proved_and_makes_its_square_known():
    of = counts([[5, 6, 9], [7, 8, 9]], known=flags(SQUARE, 0))
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2)), CORNERS)


def test_a_known_sum_must_be_kept():
    of = counts([[5, 6, 9], [7, 8, 9]], known_sums=(np.array([at(SQUARE, 0, 0), at(SQUARE, 1, 1)]),))
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2)), CORNERS)


def test_units_are_proved_apart_from_records_where_a_unit_may_have_several():
    axes, records = SQUARE.axes, SQUARE.facts.records * 2
    of = problem(axes, facts(SQUARE.facts.units, records), records_per_unit=3)
    cells = np.flatnonzero(CORNERS)
    turn = np.array([[1, -1, -1, 1]])
    records, units = of.facts.records[cells] + turn, of.facts.units[cells] + 0 * turn
    stays = Witnesses(cells, records, units, np.zeros((0, 1, 4)))
    assert np.array_equal(verify(of, CORNERS, stays), CORNERS)
    assert not verify(of, CORNERS, replace(stays, units=units + turn)).any()
    assert np.array_equal(verify(of, CORNERS, replace(stays, units=units - 3 * turn)), CORNERS)


def test_units_that_do_not_add_up_lie_between_the_largest_part_and_the_sum_of_the_parts():
    axes = [axis("year", "12")]
    of = problem(axes, facts([5, 6, 8], [5, 6, 11]), units_additive=False, records_per_unit=2)
    withheld = flags(of, 0, 1)
    fits = Witnesses(np.array([0, 1]), np.array([[6, 5]]), np.array([[6, 5]]), np.zeros((0, 1, 2)))
    assert not verify(of, withheld, fits).any()
    too_few = replace(fits, records=np.array([[9, 2]]), units=np.array([[5, 2]]))
    assert np.array_equal(verify(of, withheld, too_few), withheld)
    part_above_whole = replace(fits, records=np.array([[9, 2]]), units=np.array([[9, 2]]))
    assert np.array_equal(verify(of, withheld, part_above_whole), withheld)


def test_sums_need_a_witness_of_their_own():
    of = with_cost()
    truth = of.facts.measures[0].sums[CORNERS]
    turn = np.array([1, -1, -1, 1])
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2, [truth])), CORNERS)
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2, [truth + 7.9 * turn])), flags(of, at(of, 1, 1)))
    assert not verify(of, CORNERS, swapped(of, 2, [truth + 8 * turn])).any()


@pytest.mark.parametrize("error", [1.0, 1e-3, -1e-6])
def test_sums_that_break_a_published_total_are_no_witness(error):
    of = with_cost()
    moved = of.facts.measures[0].sums[CORNERS] + 8 * np.array([1, -1, -1, 1])
    moved[0] += error
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2, [moved])), CORNERS)


@pytest.mark.parametrize(
    ("bounds", "sums"),
    [
        ((0.0, None), [110.0, 0.0, 10.0, 140.0]),
        ((0.0, 12.0), [85.0, 25.0, 35.0, 115.0]),
        ((7.0, None), [85.0, 25.0, 35.0, 115.0]),
    ],
)
def test_sums_must_keep_the_bounds_of_their_records(bounds, sums):
    of = with_cost(bounds)
    # Two records less in the upper right: four are left, whose sum must lie within the bounds.
    assert (not verify(of, CORNERS, swapped(of, 2, [sums])).any()) == (bounds == (0.0, None))


def test_records_without_the_measure_are_known_and_a_sum_over_no_records_is_zero():
    missing = with_margins(np.array([[0, 5, 0], [0, 0, 0]]))
    of = with_cost(missing=missing)
    turn = np.array([1, -1, -1, 1])
    truth = of.facts.measures[0].sums[CORNERS]
    # Six records in the upper right, five of them without the measure: with one less its sum must be zero.
    assert np.array_equal(verify(of, CORNERS, swapped(of, 1, [truth + 8 * turn])), CORNERS)
    assert not verify(of, CORNERS, swapped(of, 1, [truth + 60 * turn])).any()
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2, [truth + 60 * turn])), CORNERS)


def test_a_measure_of_which_nothing_is_known_beforehand_is_never_proved():
    of = with_cost((None, None))
    truth = of.facts.measures[0].sums[CORNERS]
    turn = np.array([1, -1, -1, 1])
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2, [truth + 30 * turn])), CORNERS)


def test_rounding_room_is_too_small_to_prove_a_tiny_cell_beside_a_huge_one():
    inner = np.array([[5, 6], [7, 8]])
    sums = np.array([[1e-3, 1e9], [1e9, 1e9]])
    of = facts(with_margins(inner), with_margins(inner), {"cost": with_margins(sums)})
    of = problem([axis("a", "01"), axis("b", "01")], of)
    withheld = flags(of, *(at(of, a, b) for a in (0, 1) for b in (0, 1)))
    cells = np.flatnonzero(withheld)
    turn = np.array([1, -1, -1, 1])
    truth = of.facts.measures[0].sums[cells]
    records = (of.facts.records[cells] + turn)[None]
    unseen = truth + np.array([1e-3, 0, 0, 0])
    forged = Witnesses(cells, records, records, np.array([[unseen]]).reshape(1, 1, 4))
    assert at(of, 0, 0) in np.flatnonzero(verify(of, withheld, forged))


@pytest.mark.parametrize(
    "forged",
    [
        None,
        "witnesses",
        Witnesses(None, None, None, None),
        Witnesses(
            np.zeros(0, dtype=np.int64),
            np.zeros((3, 4), dtype=np.int64),
            np.zeros((3, 4)),
            np.zeros((0, 3, 4)),
        ),
        replace(swapped(SQUARE, 2), cells=np.array([0, 0, 1, 4])),
        replace(swapped(SQUARE, 2), cells=np.array([0, 1, 4, 400])),
        replace(swapped(SQUARE, 2), cells=np.array([-12, 1, 4, 5])),
        replace(swapped(SQUARE, 2), records=swapped(SQUARE, 2).records * 1.0),
        replace(swapped(SQUARE, 2), records=np.full((1, 4), 2**62)),
        replace(swapped(SQUARE, 2), units=np.zeros((1, 4), dtype=np.int64)),
        replace(swapped(SQUARE, 2), units=swapped(SQUARE, 2).units[:, :3]),
        replace(swapped(SQUARE, 2), sums=np.zeros((1, 1, 4))),
        replace(swapped(SQUARE, 2), records=np.array([[1, 2, 3, 4], [1]], dtype=object)),
    ],
)
def test_what_is_malformed_proves_nothing_and_raises_nothing(forged):
    assert np.array_equal(verify(SQUARE, CORNERS, forged), CORNERS)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e308, -1e308])
def test_sums_that_are_no_numbers_or_too_large_prove_nothing(value):
    of = with_cost()
    sums = of.facts.measures[0].sums[CORNERS].copy()
    sums[:2] = value, -value
    assert np.array_equal(verify(of, CORNERS, swapped(of, 2, [sums])), CORNERS)


@pytest.mark.parametrize("pattern", [None, np.zeros(3, dtype=bool), np.zeros(12), [True] * 12])
def test_a_pattern_that_cannot_be_read_is_unproved_everywhere(pattern):
    assert verify(SQUARE, pattern, swapped(SQUARE, 2)).tolist() == [True] * 12


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_witness_forged_at_random_never_proves_what_addition_refutes(data):
    moves = data.draw(st.lists(st.integers(-4, 4), min_size=4, max_size=4))
    cells = np.flatnonzero(CORNERS)
    records = (SQUARE.facts.records[cells] + np.array(moves))[None]
    found = verify(SQUARE, CORNERS, Witnesses(cells, records, records, np.zeros((0, 1, 4))))
    upper_left, upper_right, lower_left, lower_right = moves
    honest = upper_left == lower_right == -upper_right == -lower_left != 0
    assert (not found.any()) == honest
