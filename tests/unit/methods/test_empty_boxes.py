"""Where boxes were published to be empty nobody is in what they cover together, and in no other box."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from people_by_region import BY_REGION, FULL, MEN, NORTH, PEOPLE, SOUTH, WEST, WOMEN, knowing, released
from sdcgate.methods.tables import empty_boxes
from sdcgate.methods.tables.boxes import EVERYBODY, make_box
from sdcgate.methods.tables.empty_boxes import BoxIndex, CoverUndecided
from sdcgate.methods.tables.modular import unhurried

BY_BOTH = {**BY_REGION, "sex": (WOMEN, MEN, 0b100, 0b111)}
CODES = {"a": 3, "b": 4, "c": 2, "d": 3}
WHOLE = {name: (1 << codes) - 1 for name, codes in CODES.items()}


def empty(**masks):
    return make_box(tuple(masks.items()), FULL)


def covered(box, others):
    return BoxIndex().grown(others).covers(box, FULL)


def atoms(box):
    """The joint codes of a box, one by one."""
    masks = dict(box)
    inside = [
        [code for code in range(codes) if masks.get(name, -1) >> code & 1] for name, codes in CODES.items()
    ]
    return set(product(*inside))


boxes = st.fixed_dictionaries({}, optional={name: st.integers(1, full) for name, full in WHOLE.items()}).map(
    lambda masks: make_box(tuple(masks.items()), WHOLE)
)


@pytest.mark.parametrize(
    ("others", "follows"),
    [
        ([empty(region=SOUTH)], True),
        ([empty(region=SOUTH | WEST, sex=WOMEN)], True),
        ([empty(sex=WOMEN)], True),
        ([empty(region=SOUTH, sex=MEN)], False),
        ([empty(region=NORTH, sex=WOMEN)], False),
        ([], False),
        ([EVERYBODY], True),
    ],
)
def test_nobody_is_in_a_box_within_an_empty_one(others, follows):
    assert covered(empty(region=SOUTH, sex=WOMEN), others) is follows


def test_boxes_that_contain_a_box_only_together_cover_it():
    by_sex = [empty(region=SOUTH, sex=mask) for mask in (WOMEN, MEN, 0b100)]
    assert covered(empty(region=SOUTH), by_sex)
    assert not covered(empty(region=SOUTH), by_sex[:2])
    assert not covered(empty(region=SOUTH | NORTH), by_sex)


@settings(max_examples=300, deadline=None)
@given(boxes, st.lists(boxes, max_size=9))
def test_boxes_cover_another_if_they_have_all_its_joint_codes(box, others):
    index = BoxIndex().grown(others)
    found = index.covering(box, WHOLE)
    missing = atoms(box).difference(*map(atoms, others))
    assert (found > 0) is index.covers(box, WHOLE) is (not missing)
    assert index.chosen(index.meeting(box)) == [one for one in index.boxes if atoms(one) & atoms(box)]
    # Those that are told cover it by themselves.
    assert not found or not atoms(box).difference(*map(atoms, index.chosen(found)))


@settings(max_examples=200, deadline=None)
@given(boxes, st.lists(st.lists(boxes, max_size=4), max_size=4))
def test_what_was_seen_of_a_box_before_changes_nothing_of_what_is_found(box, more):
    index, others = BoxIndex(), []
    for news in more:
        index, others = index.grown(news), [*others, *news]
        afresh = BoxIndex().grown(others)
        assert index.covering(box, WHOLE) == afresh.covering(box, WHOLE)
        old = afresh.everything >> len(afresh.boxes) // 2
        assert index.covering(box, WHOLE, among=old) == afresh.covering(box, WHOLE, among=old)


def test_a_part_that_no_empty_box_met_is_looked_at_first(monkeypatch):
    by_sex = [empty(region=SOUTH, sex=mask) for mask in (WOMEN, MEN)]
    first = BoxIndex().grown(by_sex)
    assert not first.covering(empty(region=SOUTH), FULL)
    later = first.grown([empty(region=NORTH, sex=WOMEN), empty(region=WEST)])
    monkeypatch.setattr(empty_boxes, "MOST_PARTS", 1)
    assert not later.covering(empty(region=SOUTH), FULL)
    monkeypatch.undo()
    assert later.grown([empty(sex=0b100)]).covering(empty(region=SOUTH), FULL)


@settings(max_examples=100, deadline=None)
@given(boxes, st.lists(boxes, max_size=5), st.lists(boxes, max_size=5))
def test_only_some_may_be_looked_at_and_some_are_taken_rather(box, first, later):
    index = BoxIndex().grown(first).grown(later)
    old = BoxIndex().grown(first).everything
    assert index.covering(box, WHOLE, among=old) == BoxIndex().grown(first).covering(box, WHOLE)
    taken = index.covering(box, WHOLE, rather=old) & ~old
    if any(not atoms(box) - atoms(one) for one in first):
        assert not taken
    assert len(index.boxes) == len({*first, *later})


def test_a_box_of_too_many_parts_is_undecided_and_not_taken_for_covered(monkeypatch):
    by_sex = [empty(region=SOUTH, sex=mask) for mask in (WOMEN, MEN, 0b100)]
    monkeypatch.setattr(empty_boxes, "MOST_PARTS", 3)
    index = BoxIndex().grown(by_sex)
    with pytest.raises(CoverUndecided):
        index.covering(empty(region=SOUTH), FULL)
    assert not index.covers(empty(region=SOUTH), FULL)


def test_what_follows_from_an_empty_cell_is_known_too():
    known = knowing(released(BY_REGION))
    new = released(BY_BOTH)
    nowhere = known.derivable(new, unhurried)
    assert nowhere.reshape(5, 4)[:, 3].all()
    assert not nowhere.reshape(5, 4)[:, :3].any()
    # Were no women and none of unknown sex in the south, its men would be all of its people.
    cells = [covered(box, [empty(region=SOUTH, sex=WOMEN | 0b100)]) for box in new.boxes]
    follows = known.derivable(new, unhurried, np.array(cells)).reshape(5, 4)
    assert follows[1].all()
    assert not follows[0, :3].any()


def test_only_boxes_that_were_published_to_be_empty_count():
    nobody = {"region": (NORTH, SOUTH), "sex": (WOMEN,)}
    assert not knowing(released(nobody)).empty_cells(released(BY_BOTH)).any()


def test_cells_that_several_tables_tell_together_to_be_empty_are_known():
    people = PEOPLE.copy()
    people[1] = 0
    by_sex = [released({"region": (SOUTH, 0b1111)}, people=people, sex=mask) for mask in (WOMEN, MEN, 0b100)]
    new = released(BY_REGION, people=people)
    assert not knowing(*by_sex[:2]).empty_cells(new).any()
    assert knowing(*by_sex).empty_cells(new).tolist() == [False, True, False, False, False]
