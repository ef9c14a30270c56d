"""What released boxes tell together of withheld ones: held against another program over every single code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables import joint_search
from sdcgate.methods.tables.boxes import NOBODY
from sdcgate.methods.tables.joint_boxes import Counts, JointBoxes
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals, told_by
from sdcgate.methods.tables.joint_reduction import everything_of, reduced
from sdcgate.methods.tables.joint_system import joint_system
from sdcgate.methods.tables.solver import Deadline
from three_variables import FULL, bounds, box, boxes, inside


def audited(published, secret, width=3, floor=0, seconds=10.0, told_apart=frozenset(), limits=None):
    system = joint_system(set(FULL), published, secret, FULL, told_apart, limits=limits or {})
    return system, joint_intervals(system, width, floor, Deadline(seconds))


@settings(max_examples=120, deadline=None)
@given(
    people=st.lists(st.integers(0, 4), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=10, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=7, unique=True),
)
def test_a_box_is_narrow_exactly_where_another_program_bounds_it_more_closely_than_the_width(
    people, shown, hidden
):
    published = {cell: int(np.array(people) @ inside(cell)) for cell in [*shown, box()]}
    secret = [cell for cell in hidden if cell not in published]
    system, found = audited(published, secret)
    quicker = joint_bounds(system, 3, 0, Deadline(10.0))
    assert not found.unproved.any()
    assert quicker.narrow.tolist() == found.narrow.tolist()
    for place, cell in enumerate(secret):
        low, high = bounds(published, cell)
        assert found.narrow[place] == (np.floor(high + 1e-6) - np.ceil(low - 1e-6) < 3)
        for one in (found, quicker):
            assert low - 1e-6 <= one.lowest[place] <= one.highest[place] <= high + 1e-6


@settings(max_examples=120, deadline=None)
@given(
    people=st.lists(st.integers(0, 4), min_size=18, max_size=18),
    shown=st.lists(boxes(), max_size=8, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=6, unique=True),
    small=st.dictionaries(boxes(), st.integers(0, 3), min_size=1, max_size=4),
)
def test_so_it_is_where_of_some_boxes_only_a_most_is_known(people, shown, hidden, small):
    published = {cell: int(np.array(people) @ inside(cell)) for cell in [*shown, box()]}
    limits = {cell: int(np.array(people) @ inside(cell)) + more for cell, more in small.items()}
    limits = {cell: most for cell, most in limits.items() if cell not in published}
    secret = [cell for cell in hidden if cell not in published]
    system, found = audited(published, secret, limits=limits)
    quicker = joint_bounds(system, 3, 0, Deadline(10.0))
    assert quicker.narrow.tolist() == found.narrow.tolist()
    for place, cell in enumerate(secret):
        low, high = bounds(published, cell, limits=limits)
        assert found.narrow[place] == (np.floor(high + 1e-6) - np.ceil(low - 1e-6) < 3)


def test_two_margins_bound_a_cell_as_frechet_says():
    """max(0, r + c - n) <= x <= min(r, c): Frechet (1940), here with r = 28, c = 27, n = 30."""
    published = {box(): 30, box(age=1): 28, box(sex=1): 27}
    _, found = audited(published, [box(age=1, sex=1)])
    assert (found.lowest[0], found.highest[0], found.narrow[0]) == (25.0, 27.0, True)
    _, found = audited(published, [box(age=1, sex=1)], width=2)
    assert not found.narrow[0]


def test_two_tables_with_a_common_variable_bound_their_joint_cells_as_for_decomposable_models():
    """max(0, n_ab + n_bc - n_b) <= n_abc <= min(n_ab, n_bc): Dobra and Fienberg (2000), theorem 3."""
    published = {box(sex=1): 12, box(age=1, sex=1): 9, box(sex=1, town=2): 8}
    _, found = audited(published, [box(age=1, sex=1, town=2)])
    assert not found.narrow[0]
    _, found = audited({**published, box(sex=1, town=2): 11}, [box(age=1, sex=1, town=2)])
    assert (found.lowest[0], found.highest[0]) == (8.0, 9.0)


def test_a_published_zero_empties_all_that_lies_in_it():
    published = {
        box(): 40,
        box(age=0b011): 25,
        box(age=0b010, sex=1): 0,
        box(sex=1): 20,
        box(age=4, sex=1): 9,
    }
    _, found = audited(published, [box(age=1, sex=1)])
    assert (found.lowest[0], found.highest[0]) == (11.0, 11.0)


@settings(max_examples=60, deadline=None)
@given(
    people=st.lists(st.integers(1, 4), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=12, unique=True),
    hidden=st.lists(boxes(), min_size=2, max_size=6, unique=True),
)
def test_what_is_told_already_need_not_be_searched_though_nothing_withheld_is_empty(people, shown, hidden):
    published = {cell: int(np.array(people) @ inside(cell)) for cell in [*shown, box()]}
    secret = [cell for cell in hidden if cell not in published]
    system, found = audited(published, secret, floor=1)
    quicker = joint_bounds(system, 3, 1, Deadline(10.0))
    assert quicker.narrow.tolist() == found.narrow.tolist()
    assert not quicker.unproved.any()
    for place, cell in enumerate(secret):
        low, high = bounds(published, cell, secret)
        assert quicker.narrow[place] == (np.floor(high + 1e-6) - np.ceil(low - 1e-6) < 3)


def test_of_a_table_of_which_little_is_withheld_only_that_is_searched():
    published = {box(age=a, sex=s): 5 * a + s for a in (1, 2, 4) for s in (1, 2)}
    published |= {box(age=a): 10 * a + 3 for a in (1, 2, 4)} | {box(sex=s): 35 + 3 * s for s in (1, 2)}
    square = [box(age=a, sex=s) for a in (1, 2) for s in (1, 2)]
    for cell in square:
        del published[cell]
    system = joint_system({"age", "sex"}, published, square, FULL)
    assert (system.columns, reduced(system, everything_of(system), floors=False).system.columns) == (6, 4)
    assert not joint_bounds(system, 13, 0, Deadline(10.0)).narrow.any()
    found = joint_bounds(system, 14, 0, Deadline(10.0))
    assert found.narrow.all()
    assert found.lowest.tolist() == [0.0, 0.0, 4.0, 6.0]
    assert found.highest.tolist() == [13.0, 13.0, 17.0, 19.0]


def test_where_nobody_is_published_everything_is_known_to_be_empty():
    _, found = audited({box(): 0}, [box(age=1)])
    assert (found.lowest[0], found.highest[0], found.narrow[0]) == (0.0, 0.0, True)
    _, found = audited({box(): 0}, [box(age=1)], floor=1)
    assert found.unproved[0]


def test_what_everybody_knows_not_to_be_empty_bounds_its_neighbours():
    published = {box(sex=1): 4}
    secret = [box(sex=1, age=1), box(sex=1, age=2)]
    _, found = audited(published, secret, width=4)
    assert not found.narrow.any()
    _, found = audited(published, secret, width=4, floor=1)
    assert found.narrow.all()
    assert bounds(published, secret[0], secret) == (1.0, 3.0)


def test_three_overlapping_groupings_tell_one_category_and_which_boxes_do():
    published = {box(age=0b011): 20, box(age=0b110): 21, box(age=0b101): 31, box(): 36, box(sex=1): 17}
    system, found = audited(published, [box(age=1)])
    assert (found.lowest[0], found.highest[0]) == (15.0, 15.0)
    told = {system.published[row] for row in told_by(found, 0)}
    assert told <= {box(age=0b011), box(age=0b110), box(age=0b101), box()}
    assert len(told) >= 2


def test_an_empty_box_shows_among_those_that_tell_where_it_is_asked_for():
    published = {box(): 9, box(age=1): 7, box(age=2): 0}
    system, found = audited(published, [box(age=4)])
    assert box(age=2) not in system.published
    system, found = audited(published, [box(age=4)], told_apart={box(age=2)})
    assert box(age=2) in {system.published[row] for row in told_by(found, 0)}


def test_what_contradicts_itself_or_takes_too_long_is_unproved():
    _, found = audited({box(): 5, box(age=1): 7}, [box(age=2)])
    assert found.unproved.all()
    _, found = audited({box(): 5}, [box(age=2)], seconds=0.0)
    assert found.unproved.all()


def test_boxes_are_found_by_the_variables_that_they_restrict():
    first = JointBoxes().grown(
        [(box(age=1), Counts(4, 3)), (box(), Counts(9, 5))], [box(age=2), box(age=1, sex=1)]
    )
    known = first.grown([(box(age=2), Counts(3, 2)), (NOBODY, Counts(0, 0))], [box(town=1)])
    assert known.within({"age"}) == {box(age=1): 4, box(): 9, box(age=2): 3}
    assert known.within({"age"}, units=True) == {box(age=1): 3, box(): 5, box(age=2): 2}
    assert known.within(set()) == {box(): 9}
    assert known.secrets_within({"age", "sex"}) == [box(age=1, sex=1)]
    assert known.masks_within({"age", "town"}) == {"age": frozenset({1, 2}), "town": frozenset({1})}
    assert known.withheld(box(age=2))
    assert not known.withheld(box(age=1))
    assert first.secrets_within({"age"}) == [box(age=2)]
    without = known.without({"sex", "town"})
    assert without.secrets_within(set(FULL)) == []
    assert without.within(set(FULL)) == known.within({"age"})


@pytest.mark.parametrize(
    ("most", "expected"), [(1, {"age"}), (6, {"age", "sex"}), (9, {"age", "sex"}), (12, set(FULL))]
)
def test_a_domain_grows_by_what_adds_most_boxes_as_far_as_its_size_allows(most, expected):
    by_sex = [(box(age=a, sex=s), Counts(1, 1)) for a in (1, 2, 4) for s in (1, 2)]
    known = JointBoxes().grown([*by_sex, (box(age=1, town=1), Counts(1, 1))], [])
    assert joint_domain({"age"}, known, FULL, most) == expected


@pytest.mark.parametrize(("most", "expected"), [(5, set()), (6, {"age", "sex"}), (12, {"age", "sex"})])
def test_variables_that_come_together_come_as_a_whole_or_not_at_all(most, expected):
    """A total restricts none of the variables that decide what is summed, and joins them all the same."""
    by_sex = [(box(age=a, sex=s), Counts(1, 1)) for a in (1, 2, 4) for s in (1, 2)]
    known = JointBoxes().grown(by_sex, [])
    assert joint_domain(set(), known, FULL, most) == set()
    assert joint_domain(set(), known, FULL, most, [frozenset({"age", "sex"})]) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(boxes(), min_size=1, max_size=9, unique=True))
def test_masks_with_one_variable_more_are_those_within_all_of_them(shown):
    known = JointBoxes().grown([(cell, Counts(1, 1)) for cell in shown], [])
    for name in FULL:
        for others in ({}, {"age"}, {"age", "sex"}, set(FULL)):
            fewer = set(others) - {name}
            found = known.masks_with(known.masks_within(fewer), name)
            assert found == known.masks_within(fewer | {name})


@settings(max_examples=80, deadline=None)
@given(
    people=st.lists(st.integers(0, 9), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=8, unique=True),
    hidden=st.lists(boxes(), min_size=6, max_size=14, unique=True),
)
def test_sweeps_that_drop_what_is_settled_on_the_way_find_the_same_boxes_narrow(people, shown, hidden):
    published = {cell: int(np.array(people) @ inside(cell)) for cell in [*shown, box()]}
    secret = [cell for cell in hidden if cell not in published]
    with pytest.MonkeyPatch.context() as patched:
        # One pivot at a time, and sweeps for however few.
        patched.setattr(joint_search, "STRIDE", 1)
        patched.setattr(joint_search, "FEW", 0)
        system = joint_system(set(FULL), published, secret, FULL)
        found = joint_bounds(system, 6, 0, Deadline(10.0))
    assert not found.unproved.any()
    ends = [bounds(published, cell) for cell in secret]
    expected = [np.floor(high + 1e-6) - np.ceil(low - 1e-6) < 6 for low, high in ends]
    assert found.narrow.tolist() == expected
    for (low, high), least, most in zip(ends, found.lowest, found.highest, strict=True):
        assert low - 1e-6 <= least <= most <= high + 1e-6
