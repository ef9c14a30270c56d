"""Which empty cells of a new table would tell that nobody is in a withheld box."""

import numpy as np
import pytest

from people_by_region import BY_REGION, MEN, NORTH, PEOPLE, SOUTH, WOMEN, knowing, released
from sdcgate.facility.emptying import emptying
from sdcgate.facility.joint_look import JointlyUnproved
from sdcgate.facility.leaving import Leaving
from sdcgate.methods.tables import empty_boxes

UNKNOWN = 0b100
NOBODY_IN_SOUTH = np.where(np.arange(4)[:, None] == 1, 0, PEOPLE)
HIDDEN = 1
"""The south in a table by region."""


def of(axes, *withheld, **fixed):
    return released(axes, withheld, NOBODY_IN_SOUTH, **fixed)


def kept_back(new, *before):
    return np.flatnonzero(emptying(Leaving(knowing(*before), [new]))).tolist()


MEN_AND_UNKNOWN = (of({"region": (NORTH, SOUTH)}, sex=MEN), of({"region": (NORTH, SOUTH)}, sex=UNKNOWN))
WOMEN_BY_REGION = of({"region": (NORTH, SOUTH)}, sex=WOMEN)


def test_the_last_empty_box_that_covers_a_withheld_one_is_kept_back():
    assert kept_back(WOMEN_BY_REGION, of(BY_REGION, HIDDEN), *MEN_AND_UNKNOWN) == [1]


def test_as_long_as_somebody_may_be_in_a_withheld_box_all_is_shown():
    assert kept_back(WOMEN_BY_REGION, of(BY_REGION, HIDDEN), MEN_AND_UNKNOWN[0]) == []
    assert kept_back(WOMEN_BY_REGION, *MEN_AND_UNKNOWN) == []


def test_of_a_box_that_was_covered_before_it_was_withheld_nothing_is_kept_back():
    again = of({"region": (SOUTH, 0b0100), "sex": (WOMEN, MEN)})
    before = (*MEN_AND_UNKNOWN, WOMEN_BY_REGION)
    assert kept_back(again, *before, of(BY_REGION, HIDDEN)) == []
    # Nor is it a hiding place where it is withheld now.
    assert knowing(*before).empty_cells(of(BY_REGION, HIDDEN)).tolist()[HIDDEN]


def test_a_table_that_withholds_a_box_does_not_cover_it_by_cells_of_its_own():
    new = of({"region": (NORTH, SOUTH, 0b1111), "sex": (WOMEN, MEN, UNKNOWN, 0b111)}, 7)
    assert new.boxes[7] == (("region", SOUTH),)
    (cell,) = kept_back(new, of({"sex": (WOMEN, MEN)}))
    assert cell in (4, 5, 6)


def test_of_several_withheld_boxes_few_cells_are_kept_back():
    hidden = (of(BY_REGION, HIDDEN), of({"region": (SOUTH,), "sex": (WOMEN | MEN, WOMEN | UNKNOWN)}, 0, 1))
    assert kept_back(WOMEN_BY_REGION, *hidden, *MEN_AND_UNKNOWN) == [1]


def test_what_takes_too_long_to_tell_is_not_proved(monkeypatch):
    monkeypatch.setattr(empty_boxes, "MOST_PARTS", 2)
    with pytest.raises(JointlyUnproved):
        kept_back(WOMEN_BY_REGION, of(BY_REGION, HIDDEN), *MEN_AND_UNKNOWN)
