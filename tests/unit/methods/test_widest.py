"""A pattern is found where there is one, and none is said to exist only where none does."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from made_tables import at, counts, flags, rand_problem
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.bound_propagation import record_ranges
from sdcgate.methods.tables.intruder import Possibilities
from sdcgate.methods.tables.pattern import could_be_withheld
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.quantities import RECORDS
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.suppression import protect
from sdcgate.methods.tables.widest import widest
from sdcgate.methods.tables.witnesses import no_tables, verify


@st.composite
def half_known(draw):
    """A small table of which much is known, some of whose cells are unsafe, and the width required."""
    inner = draw(st.lists(st.integers(0, 12), min_size=6, max_size=6))
    width = draw(st.integers(1, 8))
    zeros = draw(st.booleans())
    of = counts(np.reshape(inner, (2, 3)), count_width=width, zeros_withheld=zeros)
    cells = list(range(len(of.facts)))
    unsafe = flags(of, *draw(st.lists(st.sampled_from(cells), min_size=1, max_size=2, unique=True)))
    # An empty cell cannot be marked as one that is not empty.
    assume(zeros or of.facts.records[unsafe].all())
    free = draw(st.lists(st.sampled_from(cells), min_size=3, max_size=7, unique=True))
    known = ~(unsafe | flags(of, *free))
    sums = draw(
        st.lists(
            st.lists(st.sampled_from([0, 1, 2, 4, 5, 6]), min_size=2, max_size=3, unique=True), max_size=1
        )
    )
    known_sums = tuple(np.array(sorted(cells)) for cells in sums)
    made = counts(
        np.reshape(inner, (2, 3)), count_width=width, zeros_withheld=zeros, known=known, known_sums=known_sums
    )
    return made, unsafe


def patterns(of, unsafe):
    """All that could be withheld with the unsafe cells."""
    beside = np.flatnonzero(could_be_withheld(of) & ~of.wholly_known & ~unsafe).tolist()
    some = chain.from_iterable(combinations(beside, size) for size in range(len(beside) + 1))
    return [unsafe | flags(of, *cells) for cells in some]


@settings(max_examples=60, deadline=None)
@given(half_known())
def test_a_pattern_is_found_if_and_only_if_there_is_one(case):
    of, unsafe = case
    there_is_one = any(audit(of, pattern, 20).proof is Proof.PROVED for pattern in patterns(of, unsafe))
    found = protect(of, unsafe, 20)
    assert found.proof is (Proof.PROVED if there_is_one else Proof.REFUTED)
    if there_is_one:
        assert not verify(of, found.withheld, found.witnesses).any()


def test_cells_that_are_too_narrow_whatever_is_withheld_are_shown():
    # Of the first two columns everything is told but who is where in a row; in the third nothing moves.
    of = counts([[20, 30, 4], [25, 40, 5]], count_width=6)
    known = flags(of, at(of, 0, 2), at(of, 0, 3), at(of, 2, 0), at(of, 2, 1), at(of, 2, 3))
    of = counts([[20, 30, 4], [25, 40, 5]], count_width=6, known=known)
    unsafe = flags(of, at(of, 0, 0))
    found = widest(of, unsafe, no_tables(of), Deadline(20))
    assert found.proved
    assert not found.impossible
    assert np.flatnonzero(found.withheld).tolist() == [
        at(of, *cell) for cell in ((0, 0), (0, 1), (1, 0), (1, 1))
    ]


def test_where_everything_else_is_known_no_pattern_is_possible():
    of = counts([[2, 60], [70, 80]])
    of = counts([[2, 60], [70, 80]], known=~flags(of, 0))
    found = widest(of, flags(of, 0), no_tables(of), Deadline(20))
    assert found.impossible
    assert not found.proved


def test_what_nobody_had_the_time_for_is_not_called_impossible():
    of = rand_problem(["site", "plan", "year"], units_additive=False)
    unsafe = of.facts.records == 1
    found = widest(of, unsafe, no_tables(of), Deadline(0))
    assert not found.impossible
    assert not found.proved


@pytest.mark.parametrize("variables", [["site", "plan"], ["site", "female", "year"]])
def test_no_possible_table_lies_outside_the_ranges(variables):
    of = rand_problem(variables, units_additive="year" not in variables)
    withheld = (of.facts.records < 60) & (of.facts.records > 0)
    lower, upper = record_ranges(of, withheld)
    model = Possibilities(of, withheld, (RECORDS,))
    for place, cell in enumerate(model.cells[:25]):
        for direction, end in ((1.0, upper[cell]), (-1.0, -lower[cell])):
            cost = np.zeros(model.size)
            cost[place] = direction
            found = model.maximise(cost, model.bounds(), Deadline(20))
            assert found is None or direction * found[place] <= end + 1e-6
    assert np.all((lower <= 0) & (upper >= 0))
    assert not np.any((lower[~withheld] < 0) | (upper[~withheld] > 0))


def test_ranges_of_a_row_are_those_of_frechet():
    # All but four cells are shown, of which none is empty: one can gain what the other can lose.
    of = counts([[7, 2, 50], [3, 9, 60], [40, 30, 20]])
    square = [at(of, *cell) for cell in ((0, 0), (0, 1), (1, 0), (1, 1))]
    lower, upper = record_ranges(of, flags(of, *square))
    assert lower[square].tolist() == [-6.0, -1.0, -1.0, -6.0]
    assert upper[square].tolist() == [1.0, 6.0, 6.0, 1.0]
