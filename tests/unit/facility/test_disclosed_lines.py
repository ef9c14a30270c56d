"""Which classes of a sensitive variable a difference of two lines may tell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.engine.queries import Region
from sdcgate.facility.disclosed_groups import DisclosedGroups, Group, SensitiveCodes
from sdcgate.facility.disclosed_lines import LineDifference, perhaps_told

WELL, FLU, GOUT, SILENT = 0b0001, 0b0010, 0b0100, 0b1000
ILL = FLU | GOUT
ILLNESS = SensitiveCodes(valid=WELL | ILL, missing=SILENT, harmful=ILL, unions=(ILL,))
FAITH = SensitiveCodes(valid=0b1111, missing=0, harmful=0b1111, unions=(0b0011, 0b1100))
TOWN, YOUNG = (("town", 1),), (("age", 1), ("town", 1))


@pytest.mark.parametrize(
    ("mask", "told"),
    [
        (WELL, {ILL}),
        (FLU, {FLU, ILL}),
        (ILL, {ILL}),
        (ILL | SILENT, {ILL}),
        (WELL | FLU, {GOUT, ILL}),
        (WELL | ILL, set()),
        (SILENT, set()),
        (WELL | ILL | SILENT, set()),
    ],
)
def test_a_condition_tells_of_the_classes_that_it_bounds(mask, told):
    assert set(ILLNESS.told(mask)) == told


def test_without_harmless_codes_no_code_tells_of_all_others_together():
    assert set(FAITH.told(0b0001)) == {0b0001, 0b0011}
    assert set(FAITH.told(0b0111)) == {0b0111, 0b1000, 0b1100}
    assert set(FAITH.told(0b0011)) == {0b0011, 0b1100}


def groups_of(people, codes, share):
    """Judges by how many people of the town, who are not young, have each code."""

    def units(regions):
        masks = [dict(region.inside[0])["s"] for region in regions]
        return np.array([sum(n for at, n in enumerate(people) if mask >> at & 1) for mask in masks])

    return DisclosedGroups(share, {"s": codes}, units)


PEOPLE = st.lists(st.integers(0, 30), min_size=4, max_size=4)
MASKS = st.sets(st.integers(1, 14), max_size=5)


@given(people=PEOPLE, masks=MASKS, size_known=st.booleans(), share=st.sampled_from([0.5, 0.9, 1.0]))
def test_no_class_is_passed_over_that_nearly_all_have(people, masks, size_known, share):
    groups = groups_of(people, ILLNESS, share)
    records = {mask: int(groups.units([Region(((("s", mask),),))])[0]) for mask in masks}
    one = LineDifference("s", TOWN, YOUNG, records=records, classes={FLU, GOUT, ILL})
    found = perhaps_told(one, groups, lambda box: sum(people) * (box == TOWN) if size_known else None, 1)
    looked_at = {group.mask for group in found}
    for told in one.classes:
        if groups.disclosed([Group(Region((TOWN,), (YOUNG,)), "s", told, asked=False)])[0]:
            assert told in looked_at


def test_lines_with_enough_who_are_well_need_not_be_counted():
    one = LineDifference("s", TOWN, YOUNG, records={WELL: 10, FLU: 45, GOUT: 40}, classes={FLU, ILL})
    assert not list(perhaps_told(one, groups_of([], ILLNESS, 0.9), lambda _: None, 1))
    few = LineDifference("s", TOWN, YOUNG, records={WELL: 5, FLU: 45, GOUT: 45}, classes={FLU, ILL})
    assert [group.mask for group in perhaps_told(few, groups_of([], ILLNESS, 0.9), lambda _: None, 1)] == [
        ILL
    ]


def test_who_did_not_answer_is_not_counted_among_those_who_are_well():
    groups = groups_of([0, 20, 0, 20], ILLNESS, 0.9)
    assert groups.disclosed([Group(Region((TOWN,)), "s", FLU)]).tolist() == [True]
    assert groups_of([5, 20, 0, 20], ILLNESS, 0.9).unsafe([Region(((("s", FLU),),))]).tolist() == [False]
