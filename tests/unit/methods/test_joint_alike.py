"""Withheld sums that can only move together: one is searched, and all are told alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdcgate.methods.tables import joint_search as searching
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.joint_alike import alike
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals
from sdcgate.methods.tables.joint_search import Explained
from sdcgate.methods.tables.joint_system import joint_system
from sdcgate.methods.tables.solver import Deadline
from three_variables import CODES, FULL, bounds, box, boxes, inside

PEOPLE = st.lists(st.integers(0, 6), min_size=18, max_size=18)
SHOWN = st.lists(boxes(), min_size=1, max_size=12, unique=True)
HIDDEN = st.lists(boxes(), min_size=5, max_size=14, unique=True)


def known(people, shown, hidden):
    """The system of some boxes with what is true, what is published, and its withheld boxes."""
    published = {cell: int(np.array(people) @ inside(cell)) for cell in [*shown, box()]}
    secret = [cell for cell in hidden if cell not in published]
    there = np.flatnonzero(people)
    held = Held(Combinations(tuple(FULL), np.array(CODES)[there].reshape(-1, 3)), np.array(people)[there])
    return joint_system(set(FULL), published, secret, FULL, held=held), published, secret


def square():
    """A square of which the margins are known, a cell beside it, and a cell that is told."""
    people = np.full(18, 9)
    margins = [box(age=1, town=1), box(age=2, town=1), box(age=3, sex=1, town=1), box(age=3, sex=2, town=1)]
    cells = [box(age=a, sex=s, town=1) for a in (1, 2) for s in (1, 2)]
    told = [*margins, box(age=3, town=1), box(age=4, town=2), box(age=2, sex=1, town=4), box(age=2, town=4)]
    return known(people, told, [*cells, box(age=4, sex=1, town=2), box(age=2, sex=2, town=4)])


def test_the_cells_of_a_square_move_together_another_by_itself_and_what_is_told_not_at_all():
    system, _, secret = square()
    found = alike(system)
    assert len(secret) == 6
    assert len(set(found.kind[:4].tolist())) == 1
    assert found.kind[4] not in found.kind[:4]
    assert (found.size > 0).tolist() == [True] * 5 + [False]
    assert found.size[:4] == pytest.approx(np.full(4, found.size[0]))


@settings(max_examples=150, deadline=None)
@given(PEOPLE, SHOWN, HIDDEN)
def test_ranges_of_those_alike_are_in_proportion_to_their_sizes(people, shown, hidden):
    system, _, _ = known(people, shown, hidden)
    found = alike(system)
    if not system.columns:
        assert not found.size.any()
        return
    matrix = np.zeros(system.known.shape)
    matrix[system.known.rows, system.known.columns] = 1.0
    sums = np.zeros(system.secret.shape)
    sums[system.secret.rows, system.secret.columns] = 1.0
    ranges = np.array(
        [sum(-linprog(way * one, A_eq=matrix, b_eq=system.counts).fun for way in (1, -1)) for one in sums]
    )
    for kind in np.unique(found.kind):
        those = np.flatnonzero(found.kind == kind)
        first = those[0]
        np.testing.assert_allclose(
            ranges[those] * found.size[first], ranges[first] * found.size[those], atol=1e-6
        )
    assert ranges[found.size == 0.0] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("width", [3, 8])
@settings(max_examples=120, deadline=None)
@given(PEOPLE, SHOWN, HIDDEN)
def test_the_same_boxes_are_narrow_whether_or_not_those_alike_are_told_at_once(width, people, shown, hidden):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(searching, "MANY", 0)
        system, published, secret = known(people, shown, hidden)
        each = joint_intervals(system, width, 0, Deadline(10.0))
        one = joint_intervals(system, width, 0, Deadline(10.0), explained=Explained.ONE_OF_ALIKE)
        none = joint_bounds(system, width, 0, Deadline(10.0))
    assert not each.unproved.any()
    for found in (one, none):
        assert found.narrow.tolist() == each.narrow.tolist()
        assert not found.unproved.any()
    for place in np.flatnonzero(each.narrow):
        low, high = bounds(published, secret[place])
        for found in (one, none):
            assert (found.lowest[place], found.highest[place]) == pytest.approx((low, high), abs=1e-6)


def test_of_those_alike_one_is_explained_and_each_where_each_is_asked_for(monkeypatch):
    monkeypatch.setattr(searching, "MANY", 0)
    system, _, _ = square()
    one = joint_intervals(system, 30, 0, Deadline(10.0), explained=Explained.ONE_OF_ALIKE)
    each = joint_intervals(system, 30, 0, Deadline(10.0))
    assert one.narrow.all()
    assert len(one.used) == 3
    assert each.narrow.all()
    assert len(each.used) == 6


def test_one_of_those_alike_is_searched(monkeypatch):
    monkeypatch.setattr(searching, "MANY", 0)
    asked = []
    settle = searching.Search.settle
    monkeypatch.setattr(searching.Search, "settle", lambda *args: asked.append(args[1]) or settle(*args))
    system, _, _ = square()
    assert joint_bounds(system, 30, 0, Deadline(10.0)).narrow.all()
    assert len(asked) <= 2


def test_one_of_those_alike_is_moved_from_what_is_true(monkeypatch):
    """The other two of each kind are seen to be wide by its moves."""
    monkeypatch.setattr(searching, "MANY", 0)
    asked, moved = [], searching.moved

    def spied(system, held, floor, which, *others):
        asked.append(int(which.sum()))
        return moved(system, held, floor, which, *others)

    monkeypatch.setattr(searching, "moved", spied)
    system, _, _ = square()
    found = joint_bounds(system, 3, 0, Deadline(10.0))
    assert asked == [2]
    assert found.narrow.tolist() == [False] * 5 + [True]
