"""Which cells are the same, and which differences two tables give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import MARK_MODULUS, NOBODY, BoxTable, is_inside
from sdcgate.methods.tables.nesting import nested_pairs, nested_within, same_cells

SITE, YEAR, EDUCATION = 0b1111, 0b111, 0b1111
FULL = {"site": SITE, "year": YEAR, "education": EDUCATION, "measure:income": 0b11}


def population(people, seed=1):
    """People as tuples of codes by variable, with secret marks."""
    rng = np.random.default_rng(seed)
    return [
        (person, int(mark))
        for person, mark in zip(people, rng.integers(0, MARK_MODULUS, len(people)), strict=True)
    ]


def table(people, axes, fixed=(), full=FULL, withheld=()):
    """A table counted one person at a time."""
    empty = BoxTable(
        axes, fixed, full, *(np.zeros(int(np.prod([len(m) for _, m in axes])), dtype=np.int64),) * 3
    )
    records, marks = [], []
    for box in empty.boxes():
        inside = [
            mark
            for person, mark in people
            if box != NOBODY and all(mask >> person[name] & 1 for name, mask in box)
        ]
        records.append(len(inside))
        marks.append(sum(inside) % MARK_MODULUS)
    states = np.full(len(records), State.PUBLISHED)
    states[list(withheld)] = State.WITHHELD
    return BoxTable(axes, fixed, full, states, np.array(records), np.array(marks))


def crowd(size, seed=2):
    rng = np.random.default_rng(seed)
    people = [
        {
            "site": int(rng.integers(3)),
            "year": int(rng.integers(2)),
            "education": int(rng.integers(3)),
            "measure:income": 0,
        }
        for _ in range(size)
    ]
    people[0]["education"] = 3
    return population(people)


BY_SITE = (("site", (1, 2, 4, 8, SITE)),)
BY_YEAR = (("year", (1, 2, 4, YEAR)),)


def pairs(nested):
    return set(
        zip(nested.new_cells.tolist(), nested.old_cells.tolist(), nested.new_inside_old.tolist(), strict=True)
    )


def test_all_against_all_valid_codes_differ_by_the_one_who_is_missing():
    people = crowd(60)
    everyone = table(people, BY_SITE)
    valid = table(people, BY_SITE, fixed=(("education", 0b0111),))
    site = people[0][0]["site"]
    found = nested_pairs(valid, everyone)
    one = found.difference_records == 1
    assert pairs(found) == {(site, site, True), (site, 4, True), (4, 4, True)} | {
        (cell, 4, True) for cell in range(3)
    } | {(3, 4, True)}
    assert {(int(a), int(b)) for a, b in zip(found.new_cells[one], found.old_cells[one], strict=True)} == {
        (site, site),
        (4, 4),
    }
    # Both differences are the same single person: one population to count, not two.
    assert len(set(found.difference_marks[one].tolist())) == 1


def test_both_directions_are_found_whichever_table_came_first():
    people = crowd(60)
    everyone, valid = table(people, BY_SITE), table(people, BY_SITE, fixed=(("education", 0b0111),))
    forward, backward = nested_pairs(valid, everyone), nested_pairs(everyone, valid)
    assert pairs(backward) == {(old, new, not inside) for new, old, inside in pairs(forward)}
    assert sorted(forward.difference_marks.tolist()) == sorted(backward.difference_marks.tolist())


def test_withheld_cells_give_no_difference_unless_asked_for():
    people = crowd(60)
    new = table(people, BY_SITE, withheld=(0,))
    old = table(people, (), withheld=())
    assert 0 not in nested_pairs(new, old).new_cells
    assert 0 in nested_pairs(new, old, new_states=(State.WITHHELD,)).new_cells
    assert len(nested_pairs(old, new, old_states=(State.ABSENT,))) == 0


def test_a_row_total_and_a_cell_give_the_rest_of_the_row():
    people = crowd(60)
    crossed = table(people, (*BY_SITE, *BY_YEAR))
    found = nested_within(crossed)
    assert found.new_inside_old.all()
    rest = (found.new_cells == 0) & (found.old_cells == 3)
    assert found.difference_records[rest].tolist() == [crossed.records[1] + crossed.records[2]]
    # The rest of a row with two years that somebody is in is the other year.
    assert found.difference_marks[rest].tolist() == [crossed.marks[1]]


def test_a_filter_that_leaves_nobody_out_is_the_same_cell_by_its_population():
    people = [person for person in crowd(60) if person[0]["education"] < 3]
    everyone, valid = table(people, BY_SITE), table(people, BY_SITE, fixed=(("education", 0b0111),))
    assert same_cells(valid, everyone).tolist() == [[0, 0], [1, 1], [2, 2], [4, 4]]
    same = nested_pairs(valid, everyone)
    assert not set(zip(same.new_cells.tolist(), same.old_cells.tolist(), strict=True)) & {
        (i, i) for i in range(5)
    }


def test_empty_cells_are_the_same_only_by_their_box():
    people = crowd(30)
    by_site, by_year = table(people, BY_SITE), table(people, BY_YEAR)
    assert by_site.records[3] == by_year.records[2] == 0
    assert same_cells(by_site, by_year).tolist() == [[4, 3]]
    assert [3, 3] in same_cells(by_site, by_site).tolist()


def test_the_same_box_counted_again_is_the_same_cell_and_no_nested_pair():
    before, after = table(crowd(60), BY_SITE), table(crowd(61), BY_SITE)
    found = nested_pairs(after, before)
    assert not (found.new_cells == found.old_cells).any()
    assert [[cell, cell] for cell in range(5)] == same_cells(after, before).tolist()


def test_levels_of_a_variable_nest():
    ages = {"age": (1 << 67) - 1}
    people = population([{"age": age} for age in range(66) for _ in range(3)])
    tens = tuple(((1 << 10) - 1) << start for start in range(0, 60, 10))
    twenties = tuple(((1 << 20) - 1) << start for start in range(0, 60, 20))
    new = table(people, (("age", tens),), full=ages)
    old = table(people, (("age", twenties),), full=ages)
    assert pairs(nested_pairs(new, old)) == {(band, band // 2, True) for band in range(6)}


def test_tables_on_unlike_code_lists_are_not_compared():
    people = crowd(5)
    other = BoxTable(BY_YEAR, (), {"year": YEAR}, *(np.zeros(4, dtype=np.int64),) * 3)
    changed = BoxTable((("year", (1, 15)),), (), {"year": 15}, *(np.zeros(2, dtype=np.int64),) * 3)
    with pytest.raises(ValueError, match="variable year"):
        nested_pairs(changed, other)
    with pytest.raises(ValueError, match="variable year"):
        same_cells(changed, other)
    assert len(same_cells(table(people, BY_SITE), other)) == 1


def masks(full):
    return st.lists(st.integers(0, full), min_size=1, max_size=4).map(tuple)


@st.composite
def random_tables(draw, people):
    kinds = {name: draw(st.sampled_from(["axis", "fixed", "none"])) for name in ("site", "year", "education")}
    axes = tuple((name, draw(masks(FULL[name]))) for name, kind in kinds.items() if kind == "axis")
    fixed = tuple((name, draw(st.integers(0, FULL[name]))) for name, kind in kinds.items() if kind == "fixed")
    return table(people, axes, fixed)


CROWD = crowd(25, seed=5)


@settings(max_examples=80, deadline=None)
@given(random_tables(CROWD), random_tables(CROWD))
def test_pairs_are_those_that_comparing_every_two_boxes_finds(new, old):
    nested, same = set(), set()
    for i, mine in enumerate(new.boxes()):
        for j, theirs in enumerate(old.boxes()):
            alike = new.records[i] == old.records[j] and new.marks[i] == old.marks[j]
            if NOBODY not in (mine, theirs):
                if mine != theirs and not alike and is_inside(mine, theirs):
                    nested.add((i, j, True))
                if mine != theirs and not alike and is_inside(theirs, mine):
                    nested.add((i, j, False))
                if mine == theirs:
                    same.add((i, j))
            if alike and new.records[i] > 0:
                same.add((i, j))
    found = nested_pairs(new, old)
    assert pairs(found) == nested
    assert {tuple(pair) for pair in same_cells(new, old).tolist()} == same
    assert len(found) == len(nested)


@settings(max_examples=80, deadline=None)
@given(random_tables(CROWD), random_tables(CROWD))
def test_a_difference_has_the_records_and_the_mark_of_its_people(new, old):
    found = nested_pairs(new, old)
    for place in range(len(found)):
        mine, theirs = new.box(int(found.new_cells[place])), old.box(int(found.old_cells[place]))
        inner, outer = (mine, theirs) if found.new_inside_old[place] else (theirs, mine)

        def members(box):
            return {
                i
                for i, (person, _) in enumerate(CROWD)
                if all(mask >> person[name] & 1 for name, mask in box)
            }

        left = members(outer) - members(inner)
        assert found.difference_records[place] == len(left)
        assert found.difference_marks[place] == sum(CROWD[i][1] for i in left) % MARK_MODULUS
    keys = {(int(r), int(m)) for r, m in zip(found.difference_records, found.difference_marks, strict=True)}
    once = found.distinct()
    assert {(int(found.difference_records[i]), int(found.difference_marks[i])) for i in once} == keys
    assert len(once) == len(keys)
