"""Which cells of a table are kept back so that no withheld sum is bounded too closely by all releases."""

from dataclasses import replace

import numpy as np
import pytest

from income_by_region import NOWHERE, knowing, of_income
from people_by_region import BY_REGION, SOUTH, WEST, WOMEN, released
from sdcgate.facility import joint_look
from sdcgate.facility.joint_look import Extent, JointlyUnproved
from sdcgate.facility.joint_sums import telling_sums
from sdcgate.facility.leaving import Leaving
from sdcgate.methods.tables.solver import Deadline


def told(known, table, share=0.1, seconds=10.0):
    sums, counts = table
    (income,) = sums.facts.measures
    bounds = income.lower_bound, income.upper_bound
    found = telling_sums(
        "income",
        Leaving(known.of("income"), [sums]),
        Leaving(known.of("counts"), [counts]),
        bounds,
        share,
        0,
        Extent(600, Deadline(seconds)),
    )
    return np.flatnonzero(found).tolist()


WOMEN_BY_REGION = of_income(BY_REGION, withheld=(2, 3), sex=WOMEN)
"""Withheld are the women in the west and in no region: 1030 together."""


def test_a_small_sum_around_one_of_two_withheld_ones_is_kept_back():
    known = knowing(WOMEN_BY_REGION)
    # People in no region have 50, so women in the west have 980 to 1030: less than a tenth is left.
    assert told(known, of_income(NOWHERE)) == [0]
    assert told(known, of_income(NOWHERE), share=0.04) == []


def test_what_bounds_no_sum_leaves_as_it_is():
    assert told(knowing(WOMEN_BY_REGION), of_income({"region": (SOUTH,)})) == []


def test_a_sum_that_was_bounded_before_is_no_reason_to_keep_anything_back():
    known = knowing(WOMEN_BY_REGION, of_income(NOWHERE))
    assert told(known, of_income({"region": (WEST,)})) == []


def test_the_count_of_few_people_with_a_low_upper_bound_tells_as_much():
    # Six people in no region have at most a hundred each, so the women in the west have 430 to 1030.
    known = knowing([released(NOWHERE)])
    asked = of_income(BY_REGION, withheld=(2, 3), bounds=(0.0, 100.0), sex=WOMEN)
    assert told(known, asked, share=0.7) == [1]
    assert told(known, asked, share=0.5) == []


def told_by_counts(known, counts, bounds, share):
    found = telling_sums(
        "income",
        Leaving(known.of("income")),
        Leaving(known.of("counts"), [counts]),
        bounds,
        share,
        0,
        Extent(600, Deadline(10.0)),
    )
    return np.flatnonzero(found).tolist()


def test_the_count_of_few_people_is_kept_back_where_sums_were_withheld_before():
    known = knowing(of_income(BY_REGION, withheld=(2, 3), bounds=(0.0, 100.0), sex=WOMEN))
    assert told_by_counts(known, released(NOWHERE), (0.0, 100.0), share=0.7) == [0]
    assert told_by_counts(known, released(NOWHERE), (0.0, 100.0), share=0.5) == []


def test_only_records_with_the_measure_add_to_a_sum():
    sums, counts = of_income(NOWHERE)
    having = {**sums.table.full, "measure:income": 3}
    table = replace(sums.table, fixed=(("measure:income", 1),), full=having)
    asked = replace(sums, table=table, boxes=tuple(table.boxes()))
    of_asked = replace(counts, table=table, boxes=tuple(table.boxes()))
    assert told(knowing(WOMEN_BY_REGION), (asked, of_asked)) == [0]


def test_a_first_table_and_a_measure_without_bounds_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(joint_look, "joint_bounds", None)
    assert told(knowing(), WOMEN_BY_REGION) == []
    unbounded = of_income(NOWHERE, bounds=(None, None))
    assert told(knowing(WOMEN_BY_REGION), unbounded) == []


def test_what_cannot_be_settled_in_time_is_unproved():
    with pytest.raises(JointlyUnproved):
        told(knowing(WOMEN_BY_REGION), of_income(NOWHERE), seconds=0.0)
