"""What a joint system loses when it is made small: nothing that could tell more than was told before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables import joint_search as searching
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals
from sdcgate.methods.tables.joint_reduction import Question, everything_of, reduced, subtracted
from sdcgate.methods.tables.joint_system import joint_system
from sdcgate.methods.tables.solver import Deadline
from three_variables import FULL, box, boxes, inside


def narrow(system, width=3, floor=0):
    found = joint_intervals(system, width, floor, Deadline(10.0))
    assert not found.unproved.any()
    return found.narrow


def question(system, fresh, secrets, hidden=()):
    return Question(
        np.ones(len(secrets), dtype=np.bool_),
        np.array([shown in fresh for shown in system.published], dtype=np.bool_),
        np.array([secret in hidden for secret in secrets], dtype=np.bool_),
    )


@settings(max_examples=120, deadline=None)
@given(
    people=st.lists(st.integers(0, 4), min_size=18, max_size=18),
    old=st.lists(boxes(), min_size=1, max_size=8, unique=True),
    new=st.lists(boxes(), min_size=1, max_size=5, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=6, unique=True),
    floor=st.integers(0, 1),
)
def test_a_secret_that_fresh_sums_make_narrow_is_found_and_no_other_is(people, old, new, hidden, floor):
    people = np.array(people) + floor
    published = {cell: int(people @ inside(cell)) for cell in [*old, *new]}
    secrets = [cell for cell in hidden if cell not in published]
    fresh = set(new) - set(old)
    system = joint_system(set(FULL), published, secrets, FULL, told_apart=fresh)
    before = joint_system(set(FULL), {cell: published[cell] for cell in old}, secrets, FULL)
    found = joint_bounds(system, 3, floor, Deadline(10.0), question(system, fresh, secrets))
    assert not found.unproved.any()
    now, then = narrow(system, floor=floor), narrow(before, floor=floor)
    assert (found.narrow & ~then).tolist() == (now & ~then).tolist()
    # What was looked at and is not narrow is wide whatever is known.
    assert not now[found.looked_at & ~found.narrow].any()
    assert found.looked_at[found.narrow].all()
    assert not (found.narrow & ~now).any()
    assert not (found.told_before & ~(then & found.narrow)).any()


def test_what_old_sums_alone_tell_is_told_before_and_what_needs_a_fresh_one_is_not():
    published = {box(town=1, sex=1): 2, box(town=2): 40, box(age=1): 3, box(town=2, sex=1): 39}
    secrets = [box(town=1, sex=1, age=1), box(town=2, sex=2, age=2), box(town=4, age=1)]
    fresh = {box(age=1), box(town=2, sex=1)}
    system = joint_system(set(FULL), published, secrets, FULL)
    found = joint_bounds(system, 4, 0, Deadline(10.0), question(system, fresh, secrets))
    assert found.narrow.tolist() == [True, True, True]
    assert found.told_before.tolist() == [True, False, False]
    nothing_new = joint_bounds(system, 4, 0, Deadline(10.0), question(system, set(), secrets))
    assert not nothing_new.narrow.any()


def test_what_is_told_first_of_a_part_of_a_secret_was_not_told_before_though_old_sums_bound_the_rest():
    published = {box(town=2, age=1): 2, box(town=1, age=1, sex=1): 50}
    secrets = [box(town=3, age=1, sex=1)]
    for fresh in published:
        system = joint_system(set(FULL), published, secrets, FULL)
        found = joint_bounds(system, 4, 0, Deadline(10.0), question(system, {fresh}, secrets))
        assert (found.narrow.all(), found.told_before.any()) == (True, False)


@settings(max_examples=60, deadline=None)
@given(
    people=st.lists(st.integers(0, 9), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=12, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=6, unique=True),
    floor=st.integers(0, 1),
)
def test_interior_points_settle_what_corners_do(people, shown, hidden, floor):
    people = np.array(people) + floor
    published = {cell: int(people @ inside(cell)) for cell in [*shown, box()]}
    secrets = [cell for cell in hidden if cell not in published]
    system = joint_system(set(FULL), published, secrets, FULL)
    expected = narrow(system, floor=floor).tolist()
    with pytest.MonkeyPatch.context() as patch:
        for large, huge in ((1_000, 2_000), (1, 2_000), (1, 1)):
            patch.setattr(searching, "LARGE", large)
            patch.setattr(searching, "HUGE", huge)
            found = joint_bounds(system, 3, floor, Deadline(10.0))
            assert found.narrow.tolist() == expected
            assert not found.unproved.any()


@settings(max_examples=150, deadline=None)
@given(
    people=st.lists(st.integers(0, 9), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=15, unique=True),
)
def test_each_sum_is_what_it_was_less_others_that_lie_in_it_apart(people, shown):
    published = {cell: int(np.array(people) @ inside(cell)) for cell in [*shown, box()]}
    system = joint_system(set(FULL), published, [], FULL, told_apart=set(published))
    smaller = subtracted(system)
    dense, left = np.zeros((2, *system.known.shape))
    np.add.at(dense, (system.known.rows, system.known.columns), 1)
    np.add.at(left, (smaller.system.known.rows, smaller.system.known.columns), 1)
    expected, counts = dense.copy(), system.counts.copy()
    np.subtract.at(expected, smaller.rows, dense[smaller.less])
    np.subtract.at(counts, smaller.rows, system.counts[smaller.less])
    assert left.tolist() == expected.tolist()
    assert set(np.unique(left)) <= {0.0, 1.0}
    assert smaller.system.counts.tolist() == counts.tolist()
    # None is left of which another whole one, smaller or equal, could still be taken.
    for row, rest in enumerate(left):
        for other in dense[[place for place in range(len(dense)) if place != row]]:
            assert not other.any() or other.sum() > dense[row].sum() or (other > rest).any() or not rest.any()


def by_town(*towns):
    return {box(town=t, age=a): 10 + a + t for t in towns for a in (1, 2)} | {box(town=t): 40 for t in towns}


def test_tables_of_towns_apart_are_systems_of_their_own_though_everybody_is_known():
    secrets = [box(town=t, age=4, sex=1) for t in (1, 2)]
    system = joint_system(set(FULL), {**by_town(1, 2), box(): 130}, secrets, FULL)
    town = {cell for cell in system.published if cell in by_town(2)}
    left = reduced(system, question(system, town, secrets), floors=False)
    assert left.touched.tolist() == [False, True]
    assert set(left.system.published) <= town
    everything = reduced(system, everything_of(system), floors=False)
    assert everything.touched.tolist() == [True, True]


def test_a_fresh_total_touches_what_its_parts_leave_of_it():
    secrets = [box(town=4, age=1)]
    system = joint_system(set(FULL), {**by_town(1, 2), box(): 130}, secrets, FULL)
    assert reduced(system, question(system, {box(town=1)}, secrets), floors=False).touched.all()
    assert not reduced(system, question(system, {box(town=1, age=1)}, secrets), floors=False).touched.any()


def test_an_empty_fresh_box_touches_what_is_left_of_the_boxes_that_hold_it():
    published = {box(age=1): 12, box(age=1, sex=1): 0}
    secrets = [box(age=1, sex=2, town=1)]
    fresh = {box(age=1, sex=1)}
    system = joint_system(set(FULL), published, secrets, FULL, told_apart=fresh)
    assert reduced(system, question(system, fresh, secrets), floors=False).touched.all()


def test_a_secret_known_not_to_be_empty_links_what_it_reaches_over():
    published = {box(age=1, sex=1): 5, box(age=2, sex=1): 6}
    secrets = [box(age=3, sex=1, town=1), box(age=1, sex=1, town=2)]
    system = joint_system(set(FULL), published, secrets, FULL)
    asked = question(system, {box(age=2, sex=1)}, secrets)
    apart = Question(np.array([False, True]), asked.fresh, asked.fresh_secrets)
    assert not reduced(system, apart, floors=False).touched.any()
    assert reduced(system, apart, floors=True).touched.tolist() == [False, True]


def test_a_newly_withheld_box_that_is_not_empty_tells_of_its_neighbours():
    published = {box(age=1): 9}
    secrets = [box(age=1, sex=1), box(age=1, sex=2)]
    system = joint_system(set(FULL), published, secrets, FULL)
    asked = question(system, set(), secrets, hidden=secrets[:1])
    assert reduced(system, asked, floors=True).touched.all()
    assert not reduced(system, asked, floors=False).touched.any()


def test_what_contradicts_itself_is_unproved():
    system = joint_system(set(FULL), {box(): 9, box(age=1): 4, box(age=6): 6}, [box(sex=1)], FULL)
    assert joint_bounds(system, 3, 0, Deadline(10.0)).unproved.all()


def test_prices_of_sums_less_others_are_told_as_prices_of_the_sums():
    published = {box(): 30, box(age=1): 12, box(age=2): 8, box(age=4, sex=1): 7}
    system = joint_system(set(FULL), published, [box(age=4, sex=2)], FULL)
    smaller = subtracted(system)
    assert smaller.system.counts.tolist() == [3, 12, 8, 7]
    assert smaller.prices(np.array([1.0, 0.0, 0.0, 0.0])).tolist() == [1, -1, -1, -1]
    assert (system.counts @ smaller.prices(np.arange(4.0))) == smaller.system.counts @ np.arange(4.0)
