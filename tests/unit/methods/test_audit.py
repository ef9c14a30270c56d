"""The audit agrees with an intruder written apart from it, and fails closed."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intruder_by_scipy import Intruder
from made_tables import at, axis, counts, facts, flags, margins_absent, problem, rand_problem, with_margins
from sdcgate.methods.tables.audit import audit, verdict
from sdcgate.methods.tables.intruder import Possibilities
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.quantities import RECORDS
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.witnesses import no_tables, verify

SQUARE = counts([[5, 6, 9], [7, 8, 9]])
CORNERS = flags(SQUARE, at(SQUARE, 0, 0), at(SQUARE, 0, 1), at(SQUARE, 1, 0), at(SQUARE, 1, 1))


def test_a_square_of_withheld_cells_is_proved():
    found = audit(SQUARE, CORNERS, 5)
    assert found.proof is Proof.PROVED
    assert not found.unprotected.any()
    assert not verify(SQUARE, CORNERS, found.witnesses).any()


def test_a_lone_withheld_cell_is_refuted():
    alone = flags(SQUARE, at(SQUARE, 0, 0))
    found = audit(SQUARE, alone, 5)
    assert found.proof is Proof.REFUTED
    assert np.array_equal(found.unprotected, alone)


def test_nothing_withheld_is_proved():
    assert audit(SQUARE, np.zeros_like(CORNERS), 5).proof is Proof.PROVED


def test_a_square_too_small_to_move_by_the_width_is_refuted():
    # The upper left can only lie in [1, 10], the intruder knows that all four are at least 1.
    assert audit(counts([[5, 6, 9], [7, 8, 9]], count_width=9), CORNERS, 5).proof is Proof.PROVED
    assert audit(counts([[5, 6, 9], [7, 8, 9]], count_width=10), CORNERS, 5).proof is Proof.REFUTED


def test_two_ones_in_a_row_are_computable_because_withheld_cells_are_not_empty():
    of = counts([[1, 1], [1, 1]])
    withheld = flags(of, *(at(of, a, b) for a in (0, 1) for b in (0, 1)))
    assert audit(of, withheld, 5).proof is Proof.REFUTED
    of = counts([[1, 1], [1, 1]], zeros_withheld=True)
    assert audit(of, withheld, 5).proof is Proof.PROVED


def test_what_only_integers_exclude_is_refuted():
    # Three cells, each pair's sum known: u + v, v + w, u + w = 3, 3, 2 leave one real solution; two known
    # sums with a unit's coefficients leave half a record of room, which is none.
    axes = [axis("a", "0123")]
    pairs = (np.array([0, 1]), np.array([1, 2]), np.array([0, 2]))
    of = problem(axes, facts([2, 2, 2, 2, 8], [2, 2, 2, 2, 8]), known_sums=pairs)
    found = audit(of, flags(of, 0, 1, 2, 3), 5)
    assert found.proof is Proof.REFUTED


def test_a_known_cell_that_is_withheld_is_refuted():
    of = counts([[5, 6, 9], [7, 8, 9]], known=flags(SQUARE, 0))
    found = audit(of, CORNERS, 5)
    assert found.proof is Proof.REFUTED
    assert found.unprotected[0]


def test_a_known_sum_can_break_a_square():
    known = (np.array([at(SQUARE, 0, 0), at(SQUARE, 1, 1)]),)
    assert audit(counts([[5, 6, 9], [7, 8, 9]], known_sums=known), CORNERS, 5).proof is Proof.REFUTED


def test_absent_margins_protect():
    axes = [axis("a", "01"), axis("b", "01")]
    inner = with_margins(np.array([[5, 6], [7, 8]]))
    of = problem(axes, facts(inner, inner), absent=margins_absent(axes))
    alone = flags(of, 0)
    assert audit(of, alone, 5).proof is Proof.PROVED
    assert audit(replace_known(of), alone, 5).proof is Proof.REFUTED


def replace_known(of):
    return problem(of.axes, of.facts)


def test_without_time_nothing_is_proved():
    found = audit(SQUARE, CORNERS, 0)
    assert found.proof is Proof.UNPROVED
    assert np.array_equal(found.unprotected, CORNERS)


def test_a_pattern_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="withheld"):
        audit(SQUARE, CORNERS[:3], 5)


def test_a_measure_of_which_nothing_is_known_beforehand_is_unproved():
    sums = {"gain": with_margins(np.array([[50.0, 60, 90], [70, 80, 90]]))}
    of = problem(
        SQUARE.axes, facts(SQUARE.facts.units, SQUARE.facts.records, sums, bounds={"gain": (None, None)})
    )
    found = audit(of, CORNERS, 5)
    assert found.proof is Proof.UNPROVED
    assert np.array_equal(found.unprotected, CORNERS)


@pytest.mark.parametrize("bounds", [(0.0, None), (None, 100.0), (0.0, 100.0), (-50.0, 1e12), (0.0, 1e15)])
def test_a_measure_with_a_bound_is_proved(bounds):
    sums = {"gain": with_margins(np.array([[50.0, 60, 90], [70, 80, 90]]))}
    of = problem(SQUARE.axes, facts(SQUARE.facts.units, SQUARE.facts.records, sums, bounds={"gain": bounds}))
    assert audit(of, CORNERS, 5).proof is Proof.PROVED


def test_a_sum_that_is_pressed_between_its_bounds_is_refuted():
    # Everybody has 10, and 10 is the most that anybody can have: only a change of records moves the sums.
    sums = {"gain": with_margins(np.array([[50.0, 60, 90], [70, 80, 90]]))}
    of = problem(
        SQUARE.axes,
        facts(SQUARE.facts.units, SQUARE.facts.records, sums, bounds={"gain": (0.0, 10.0)}),
        sum_width=1.9,
    )
    found = audit(of, CORNERS, 5)
    assert found.proof is Proof.REFUTED
    wide_enough = problem(SQUARE.axes, of.facts, sum_width=1.0)
    assert audit(wide_enough, CORNERS, 5).proof is Proof.PROVED


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_the_unit_of_measurement_does_not_matter(size):
    sums = {"gain": size * with_margins(np.array([[50.0, 60, 90], [70, 80, 90]]))}
    of = problem(SQUARE.axes, facts(SQUARE.facts.units, SQUARE.facts.records, sums), sum_width=0.5)
    assert audit(of, CORNERS, 5).proof is Proof.PROVED


def test_units_that_do_not_add_up_are_proved_on_real_data():
    of = rand_problem(("site", "year"), ("meddol",), units_additive=False)
    square = flags(of, at(of, 0, 0), at(of, 0, 1), at(of, 1, 0), at(of, 1, 1))
    found = audit(of, square, 5)
    assert found.proof is Proof.PROVED
    assert not verify(of, square, found.witnesses).any()
    assert audit(of, flags(of, at(of, 0, 0), at(of, 0, 1)), 5).proof is Proof.REFUTED


def test_a_verdict_keeps_only_witnesses_that_are_needed():
    search = Search(SQUARE, CORNERS, no_tables(SQUARE))
    search.tables = audit_tables(SQUARE, (1, 2, -1, 3))
    assert len(verdict(search).witnesses) == 1


def audit_tables(of, steps):
    tables = no_tables(of)
    for step in steps:
        records = of.facts.records + with_margins(step * np.array([[1, -1, 0], [-1, 1, 0]]))
        one = replace(
            tables, records=records[None], units=records[None], sums=np.zeros((0, 1, len(of.facts)))
        )
        tables = tables.joined(one)
    return tables


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_the_audit_finds_what_an_independent_intruder_finds(data):
    shape = data.draw(st.sampled_from([(2, 2), (3, 3), (2, 4), (2, 2, 2), (2, 3, 2)]))
    size = int(np.prod(shape))
    inner = np.array(data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))).reshape(shape)
    zeros = data.draw(st.booleans())
    of = counts(inner, count_width=data.draw(st.integers(1, 3)), zeros_withheld=zeros)
    can = np.flatnonzero((of.facts.records > 0) | zeros)
    chosen = data.draw(st.lists(st.sampled_from(can.tolist()), max_size=9)) if len(can) else []
    withheld = flags(of, *chosen)
    found = audit(of, withheld, 10)
    intruder = Intruder(of, withheld)
    narrow = [c for c in np.flatnonzero(withheld) if intruder.width(0, c) < of.count_width - 1e-6]
    assert np.flatnonzero(found.unprotected).tolist() == narrow
    assert found.proof is (Proof.REFUTED if narrow else Proof.PROVED)


def leaks(found):
    return {(leak.cell, leak.quantity): (leak.lower, leak.upper) for leak in found.leaks}


def test_what_can_be_worked_out_of_a_cell_is_told():
    alone = flags(SQUARE, at(SQUARE, 0, 0))
    assert leaks(audit(SQUARE, alone, 5)) == {(0, 0): (5, 5)}
    square = counts([[5, 6, 9], [7, 8, 9]], count_width=10)
    assert leaks(audit(square, CORNERS, 5)) == {
        (at(SQUARE, 0, 0), 0): (1, 10),
        (at(SQUARE, 0, 1), 0): (1, 10),
        (at(SQUARE, 1, 0), 0): (2, 11),
        (at(SQUARE, 1, 1), 0): (4, 13),
    }
    assert audit(SQUARE, CORNERS, 5).leaks == ()


def test_what_is_known_from_elsewhere_leaks_all_that_it_has():
    axes, records = [axis("a", "01")], [3, 4, 7]
    of = problem(axes, facts(records, records, {"cost": [5.0, 6.0, 11.0]}), known=np.ones(3, dtype=np.bool_))
    assert leaks(audit(of, flags(of, 0), 5)) == {(0, 0): (3, 3), (0, 2): (5.0, 5.0)}


def test_sums_leak_in_their_own_units():
    axes, records = [axis("a", "012")], [30, 30, 40, 100]
    sums = {"cost": [1e6, 5e3, 4e8, 1e6 + 5e3 + 4e8]}
    of = problem(axes, facts(records, records, sums), known=np.ones(4, dtype=np.bool_),
                 known_measures=np.zeros((1, 4), dtype=np.bool_), sum_width=1.1)  # fmt: skip
    found = leaks(audit(of, flags(of, 0, 1), 5))
    assert found[0, 2] == pytest.approx((0, 1e6 + 5e3))
    assert (1, 2) not in found


def test_a_sum_that_is_open_above_is_not_refuted_because_the_search_ends_somewhere():
    loose = [replace(axis("a", "01"), parents=(-1, -1, -1))]
    known = {"known": np.ones(3, dtype=np.bool_), "known_measures": np.zeros((1, 3), dtype=np.bool_)}
    of = problem(loose, facts([3, 4, 7], [3, 4, 7], {"cost": [5.0, 6.0, 11.0]}), sum_width=1000.0, **known)
    found = audit(of, flags(of, 0), 5)
    assert (found.proof, found.leaks) == (Proof.UNPROVED, ())


def test_leaks_have_no_figure_in_their_repr():
    found = audit(SQUARE, flags(SQUARE, 0), 5)
    assert "5.0" not in repr(found.leaks)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=9, max_size=9), st.lists(st.booleans(), min_size=9, max_size=9))
def test_no_leak_is_told_that_an_intruder_does_not_find_as_wide(inner, withheld):
    of = counts(np.array(inner).reshape(3, 3), count_width=3, zeros_withheld=True)
    pattern = flags(of, *(at(of, cell // 3, cell % 3) for cell in range(9) if withheld[cell]))
    found = audit(of, pattern, 5)
    intruder = Intruder(of, pattern)
    for leak in found.leaks:
        lower, upper = intruder.interval(leak.quantity, leak.cell)
        assert leak.lower <= lower + 1e-6
        assert upper <= leak.upper + 1e-6
        assert leak.upper - leak.lower < 3
    narrow = {int(cell) for cell in np.flatnonzero(pattern) if intruder.width(0, int(cell)) < 3 - 1e-6}
    assert {leak.cell for leak in found.leaks} == narrow == set(np.flatnonzero(found.unprotected).tolist())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bounds", [(1e-320, None), (-5e-324, 5.0), (0.0, 1.7e308), (-1.7e308, 1e-310)])
def test_bounds_at_the_ends_of_floating_point_numbers_are_bounds_like_others(bounds):
    axes = [axis("a", "01"), axis("b", "01")]
    inner, sign = np.array([[5, 6], [7, 8]]), -1.0 if bounds[0] < -1 else 1.0
    records = with_margins(inner)
    of = problem(axes, facts(records, records, {"x": list(sign * records)}, bounds={"x": bounds}))
    assert audit(of, flags(of, 0, 1, 3, 4), 5).proof is Proof.PROVED
    assert audit(of, flags(of, 0), 5).proof is Proof.REFUTED
    of = replace(of, known_measures=np.ones((1, 9), dtype=np.bool_))
    assert audit(of, flags(of, 0), 5).proof is Proof.REFUTED


@pytest.mark.filterwarnings("error")
def test_what_need_not_move_earns_nothing_where_others_move_as_far_as_they_must():
    model = Possibilities(SQUARE, CORNERS, (RECORDS,))
    aims, widths = np.array([1.0, 0.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0, 0.0])
    moved = model.reach(aims, widths, model.bounds(), Deadline(5))
    assert moved is not None
    assert moved[0] >= 2
