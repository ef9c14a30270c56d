"""Cells of many tables, each kept once, and the pairs of nested cells that they make with a new table's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from made_tables import facts
from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import MARK_MODULUS, NOBODY, BoxTable
from sdcgate.methods.tables.nesting import nested_pairs
from sdcgate.methods.tables.released_cells import Near, ReleasedCells

FULL = {"a": 0b1111, "b": 0b111, "c": 0b11}
LEVELS = {
    "a": [(0b1, 0b10, 0b100, 0b1000, 0b1111), (0b11, 0b1100, 0b1111), (0b1, 0b110, 0b111)],
    "b": [(0b1, 0b10, 0b100, 0b111), (0b11, 0b100, 0b111), (0, 0b11, 0b11)],
    "c": [(0b1, 0b10, 0b11)],
}
PEOPLE = np.random.default_rng(5).integers(0, [4, 3, 2], (40, 3))
MARKS = np.random.default_rng(6).integers(0, MARK_MODULUS, 40)
EVERYTHING = Near(np.inf)


def counted(axes, fixed=(), withheld=()):
    """A table counted one person at a time."""
    shape = [len(masks) for _, masks in axes]
    nothing = np.zeros(int(np.prod(shape)), dtype=np.int64)
    records, marks = [], []
    for box in BoxTable(axes, fixed, FULL, nothing, nothing, nothing).boxes():
        inside = np.ones(len(PEOPLE), dtype=bool) & (box != NOBODY)
        for name, mask in box if box != NOBODY else ():
            inside &= mask >> PEOPLE[:, "abc".index(name)] & 1 > 0
        records.append(int(inside.sum()))
        marks.append(sum(MARKS[inside].tolist()) % MARK_MODULUS)
    states = np.full(len(records), State.PUBLISHED)
    states[[cell for cell in withheld if cell < len(states)]] = State.WITHHELD
    return BoxTable(axes, fixed, FULL, states, np.array(records), np.array(marks))


def grown(cells, table):
    of = facts(table.records, table.records)
    return cells.grown(table, table.boxes(), of, table.of_state(State.PUBLISHED))


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))
    fixed = draw(
        st.lists(st.sampled_from([name for name in "abc" if name not in names] or ["a"]), unique=True)
    )
    return counted(
        tuple((name, draw(st.sampled_from(LEVELS[name]))) for name in names),
        tuple((name, draw(st.integers(1, FULL[name] - 1))) for name in sorted(fixed) if name not in names),
        draw(st.lists(st.integers(0, 30), max_size=4)),
    )


def differences(table, old_boxes, pairs):
    """Pairs as what a reader would write down; the order and how often a cell left do not matter."""
    boxes = table.boxes()
    return {
        (boxes[cell], old_boxes[old], bool(inside), int(records), int(mark))
        for cell, old, inside, records, mark in zip(
            pairs.new_cells,
            pairs.old_cells,
            pairs.new_inside_old,
            pairs.difference_records,
            pairs.difference_marks,
            strict=True,
        )
    }


@settings(max_examples=200, deadline=None)
@given(tables(), st.lists(tables(), max_size=5))
def test_the_nested_pairs_are_those_of_all_tables_one_by_one(new, old):
    cells, expected = ReleasedCells(), set()
    everybody = BoxTable(
        new.axes, new.fixed, FULL, np.full(len(new), State.PUBLISHED), new.records, new.marks
    )
    for table in old:
        cells = grown(cells, table)
        expected |= differences(new, table.boxes(), nested_pairs(everybody, table))
    found = cells.nested(new, EVERYTHING)
    assert differences(new, [cells.box(row) for row in range(len(cells))], found) == expected


@settings(max_examples=100, deadline=None)
@given(tables(), st.lists(tables(), min_size=1, max_size=4), st.integers(0, 20))
def test_near_pairs_are_those_that_differ_by_few_records(new, old, few):
    cells = ReleasedCells()
    for table in old:
        cells = grown(cells, table)
    boxes = [cells.box(row) for row in range(len(cells))]
    every = differences(new, boxes, cells.nested(new, EVERYTHING))
    near = differences(new, boxes, cells.nested(new, Near(few)))
    assert near == {pair for pair in every if pair[3] < few}


def test_near_pairs_by_sums_are_near_by_the_bound_of_the_outer_cell():
    axes = (("a", (0b1, 0b1111)),)
    cells = grown(ReleasedCells(), counted(axes))
    new = counted(((("a", (0b11, 0b1111))),))
    one, both, everybody = 30.0, 50.0, 100.0
    old_sums, new_sums = np.array([one, everybody]), np.array([both, everybody])

    def pairs(of_new, of_old):
        near = Near(0.0, np.array(of_new), np.array(of_old), new_sums, old_sums)
        found = cells.nested(new, near)
        return sorted(
            zip(found.new_cells.tolist(), cells_of(found), found.new_inside_old.tolist(), strict=True)
        )

    def cells_of(found):
        return [cells.box(row) for row in found.old_cells.tolist()]

    first = (("a", 0b1),)
    assert pairs([20.0, 69.0], [0.0, 0.0]) == [(0, first, False)]
    assert pairs([19.0, 70.0], [0.0, 0.0]) == [(1, first, False)]
    assert pairs([0.0, 0.0], [0.0, 50.0]) == [(0, (), True)]
    assert pairs([0.0, 0.0], [99.0, 49.0]) == []


def test_a_cell_is_kept_once_for_each_set_of_axes_that_is_not_wider():
    by_a, by_both = counted((("a", LEVELS["a"][0]),)), counted((("a", LEVELS["a"][0]), ("c", LEVELS["c"][0])))
    narrow_first = grown(grown(ReleasedCells(), by_a), by_both)
    wide_first = grown(grown(ReleasedCells(), by_both), by_a)
    assert len(narrow_first) == len(by_both)
    assert len(wide_first) == len(by_both) + len(by_a)
    assert len(grown(grown(wide_first, by_a), by_both)) == len(wide_first)
    axes = [wide_first.axes(row) for row in range(len(wide_first)) if wide_first.box(row) == (("a", 1),)]
    assert axes == [{"a", "c"}, {"a"}]


def test_what_grew_from_the_same_cells_in_two_ways_knows_nothing_of_each_other():
    start = grown(ReleasedCells(), counted((("a", LEVELS["a"][0]),)))
    one = grown(start, counted((("b", LEVELS["b"][0]),)))
    other = grown(start, counted((("c", LEVELS["c"][0]),)))
    later = grown(one, counted((("c", LEVELS["c"][0]),)))
    of_b, of_c = (("b", 1),), (("c", 1),)
    assert [box in cells for cells in (start, one, other, later) for box in (of_b, of_c)] == [
        *(False, False),
        *(True, False),
        *(False, True),
        *(True, True),
    ]
    new = counted((("b", (0b11, 0b111)),))
    for cells, inner in ((start, 0), (one, 2), (other, 0), (later, 2)):
        found = cells.nested(new, EVERYTHING)
        boxes = {cells.box(row) for row in found.old_cells[found.new_cells == 0].tolist()} - {()}
        assert len(boxes) == inner


def test_a_withheld_cell_is_not_among_the_cells_and_nobody_is_where_it_was_published():
    table = counted((("b", LEVELS["b"][2]),), withheld=(1,))
    cells = grown(ReleasedCells(), table)
    assert cells.among([NOBODY, (("b", 0b11),), ()]).tolist() == [True, True, False]
    assert len(cells) == 1
    assert NOBODY not in ReleasedCells()


def test_a_box_that_others_added_since_is_none_of_these():
    first = counted([("a", LEVELS["a"][0])])
    before = grown(ReleasedCells(), first)
    second = counted([("b", LEVELS["b"][0])])
    after = grown(before, second)
    added = second.boxes()[0]
    assert after.row(added) is not None
    assert before.row(added) is None
    assert before.row(first.boxes()[0]) == after.row(first.boxes()[0]) == 0
