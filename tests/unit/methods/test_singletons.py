"""Who is alone in a withheld cell knows it: two of them in one row give each other away, and must not."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from made_tables import at, axis, counts, facts, flags, problem, with_margins
from sdcgate.methods.cells import TOTAL, Axis
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.singletons import protect_from_singletons, single_respondents, singletons
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.suppression import protect


def magnitudes(units, values, **changed):
    """Sums of a measure that is not negative, in a table whose counts everybody knows."""
    units, values = np.asarray(units), np.asarray(values, dtype=float)
    axes = [axis("abc"[place], [*map(str, range(size))]) for place, size in enumerate(units.shape)]
    records = with_margins(units)
    of = facts(records, records, {"x": with_margins(values)})
    every, none = np.ones(len(records), dtype=np.bool_), np.zeros((1, len(records)), dtype=np.bool_)
    return problem(axes, of, known=every, known_measures=none, **changed)


def knowing(of, withheld):
    found = audit(of, withheld, 10)
    assert found.proof is Proof.PROVED
    told = singletons(of, withheld, found, Deadline(10))
    return {tuple(one.own.tolist()): (one.unprotected.tolist(), one.refuted) for one in told}


def test_two_respondents_who_are_alone_in_one_row_work_out_each_other():
    of = magnitudes([1, 1, 6], [50, 40, 30])
    assert knowing(of, flags(of, 0, 1)) == {(0,): ([1], True), (1,): ([0], True)}


def test_of_three_withheld_cells_of_a_row_none_is_worked_out():
    of = magnitudes([1, 1, 6], [50, 40, 30])
    assert knowing(of, flags(of, 0, 1, 2)) == {}


def test_one_respondent_works_out_all_of_a_square():
    of = magnitudes([[1, 5, 6], [7, 8, 9]], [[50, 40, 30], [35, 45, 25]])
    square = [at(of, 0, 0), at(of, 0, 1), at(of, 1, 0), at(of, 1, 1)]
    assert knowing(of, flags(of, *square)) == {(square[0],): (square[1:], True)}


def test_counts_are_worked_out_where_withheld_cells_may_be_empty():
    of = counts([[1, 1, 30], [40, 50, 20]], zeros_withheld=True)
    square = [at(of, 0, 0), at(of, 0, 1), at(of, 1, 0), at(of, 1, 1)]
    told = knowing(of, flags(of, *square))
    assert told == {(square[0],): (square[1:], True), (square[1],): ([square[0], *square[2:]], True)}


def test_a_total_of_one_respondent_is_known_to_him_with_its_part():
    regions = Axis("a", "a", (TOTAL, "n", "s", "n1", "n2"), (-1, 0, 0, 1, 1))
    units = np.array([9, 1, 8, 1, 0])
    of = facts(units, units, {"x": [90.0, 20.0, 70.0, 20.0, 0.0]})
    told = problem([regions], of, known=units == 0)
    assert [cells.tolist() for cells in single_respondents(told)] == [[1, 3]]


def test_a_respondent_knows_in_which_part_of_his_total_he_is_though_no_part_is_shown():
    of = counts([[1, 0], [5, 5]], absent=np.isin(np.arange(9), [0, 1]))
    total, other_total, others = at(of, 0, 2), at(of, 1, 2), [at(of, 1, 0), at(of, 1, 1)]
    told = knowing(of, flags(of, total, other_total, *others))
    assert told == {(at(of, 0, 0), total): ([*others, other_total], True)}


def test_who_is_alone_in_a_cell_that_is_not_shown_and_in_no_withheld_one_is_no_intruder():
    of = counts([[1, 6], [5, 5]], absent=np.isin(np.arange(9), [0]))
    assert knowing(of, flags(of, at(of, 0, 1), at(of, 1, 0), at(of, 1, 1))) == {}


def test_two_respondents_in_two_parts_of_one_total_are_two():
    of = counts([[1, 1], [4, 5]])
    assert [cells.tolist() for cells in single_respondents(of)] == [[0], [1]]


@pytest.mark.parametrize(
    ("of", "unsafe"),
    [
        (magnitudes([1, 1, 6], [50, 40, 30]), [0, 1]),
        (magnitudes([[1, 5, 6], [7, 8, 9]], [[50, 40, 30], [35, 45, 25]]), [0]),
        (magnitudes([[1, 1, 6], [7, 1, 9], [4, 5, 6]], [[50, 40, 30], [35, 45, 25], [60, 20, 10]]), [0, 1]),
        (counts([[1, 1, 30, 9], [40, 50, 20, 8], [7, 6, 5, 4]], zeros_withheld=True), [0, 1]),
    ],
    ids=["row", "square", "three-by-three", "counts"],
)
def test_what_is_protected_from_them_holds_against_each(of, unsafe):
    public = protect(of, flags(of, *unsafe), 10)
    assert knowing(of, public.withheld)
    found = protect_from_singletons(
        of, flags(of, *unsafe), Deadline(10), lambda of, unsafe: protect(of, unsafe, 10)
    )
    assert found.proof is Proof.PROVED
    assert found.price > public.price
    assert set(unsafe) < set(np.flatnonzero(found.withheld))
    assert audit(of, found.withheld, 10).proof is Proof.PROVED
    for own in single_respondents(of):
        others = found.withheld & ~flags(of, *own)
        assert audit(of, others, 10).proof is Proof.PROVED


def test_where_nothing_can_be_done_nothing_is_proved():
    of = magnitudes([1, 1], [50, 40])
    found = protect_from_singletons(
        of, flags(of, 0, 1), Deadline(10), lambda of, unsafe: protect(of, unsafe, 10)
    )
    assert found.proof is Proof.PROVED
    assert found.withheld.all()
    shown = magnitudes([1, 1], [50, 40], costs=np.array([1.0, 1.0, 1.0]))
    told = problem(
        shown.axes, shown.facts, known=shown.known, known_measures=np.array([[False, False, True]])
    )
    found = protect_from_singletons(
        told, flags(told, 0, 1), Deadline(10), lambda of, unsafe: protect(of, unsafe, 10)
    )
    assert found.proof is Proof.UNPROVED
    assert found.unprotected.tolist() == [False, True, False]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1_000_000))
def test_a_proof_against_them_stands_with_the_cells_of_each_told(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 5, rng.integers(1, 4)))
    units = rng.choice([0, 1, 1, 2, 5, 20], shape)
    values = np.where(units > 0, rng.uniform(1, 100, shape), 0.0).round(1)
    of = magnitudes(units, values)
    unsafe = (of.facts.units == 1) & (rng.random(len(of.facts)) < 0.7)
    assume(unsafe.any())
    found = protect_from_singletons(of, unsafe, Deadline(20), lambda of, unsafe: protect(of, unsafe, 10))
    if found.proof is Proof.PROVED:
        for own in single_respondents(of):
            others = found.withheld & ~flags(of, *own)
            assert audit(of, others, 10).proof is Proof.PROVED
