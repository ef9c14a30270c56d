"""No two cells that are left tell, subtracted, how few units are in the larger one only."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.cells import State
from sdcgate.methods.tables.attrition import attrition_within, few_apart
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.nesting import nested_within

MINIMUM = 5
FULL = {"year": 0b111, "town": 0b11}
AXES = (("town", (0b1, 0b10, 0b11)), ("year", (0b1, 0b10, 0b100, 0b111)))


def counted(people):
    """Units by town and year; `people` are towns with the years in which each has a record, as masks."""
    units, records = [], []
    for _, town in enumerate(AXES[0][1]):
        for year in AXES[1][1]:
            here = [years & year for where, years in people if 1 << where & town]
            units.append(sum(years > 0 for years in here))
            records.append(sum(years.bit_count() for years in here))
    shape = np.full(len(units), State.PUBLISHED)
    # Marks that tell any two populations apart.
    marks = np.arange(len(units), dtype=np.int64)
    return BoxTable(AXES, (), FULL, shape, np.array(records), marks), np.array(units)


people = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 7)), max_size=40)


def test_three_who_left_after_the_first_year_are_not_told_by_what_is_left_of_the_others():
    table, units = counted([(0, 0b001)] * 3 + [(0, 0b111)] * 57 + [(1, 0b111)] * 60)
    kept_back = attrition_within(table, units, MINIMUM, {"year"}, np.zeros(len(table), dtype=bool))
    # Of all in the second year, and in the third, the same three are missing.
    assert np.flatnonzero(kept_back).tolist() == [1, 2, 9, 10]


def test_where_the_cells_differ_in_nothing_that_varies_within_units_the_difference_is_a_cell_of_its_own():
    table, units = counted([(0, 0b001)] * 3 + [(1, 0b001)] * 60)
    nothing = np.zeros(len(table), dtype=bool)
    assert not attrition_within(table, units, MINIMUM, set(), nothing).any()


def test_a_pair_of_which_a_cell_does_not_leave_tells_nothing():
    table, units = counted([(0, 0b001)] * 3 + [(0, 0b111)] * 57)
    held = np.zeros(len(table), dtype=bool)
    held[[3, 11]] = True
    assert not attrition_within(table, units, MINIMUM, {"year"}, held).any()


@settings(max_examples=300, deadline=None)
@given(people=people, held=st.sets(st.integers(0, 11)))
def test_no_pair_of_cells_that_are_left_tells_of_few(people, held):
    table, units = counted(people)
    gone = np.isin(np.arange(len(table)), list(held))
    gone |= attrition_within(table, units, MINIMUM, {"year"}, gone)
    pairs = nested_within(table, tuple(State))
    for inner, outer in zip(pairs.new_cells.tolist(), pairs.old_cells.tolist(), strict=True):
        if inner % 4 != outer % 4 and not gone[inner] and not gone[outer]:
            assert not 0 < units[outer] - units[inner] < MINIMUM


def test_nobody_apart_and_enough_apart_may_be_told():
    outer, inner = np.array([60, 60, 60, 60]), np.array([60, 59, 56, 55])
    assert few_apart(outer, inner, MINIMUM).tolist() == [False, True, True, False]
