"""Which cells of a table are kept back so that no withheld sum is bounded too closely by all releases."""

from dataclasses import replace

import numpy as np
import pytest

from people_by_region import BY_REGION, SOUTH, WEST, WOMEN, released
from sdcgate.facility import joint_look
from sdcgate.facility.joint_look import Extent, JointlyUnproved
from sdcgate.facility.joint_sums import telling_sums
from sdcgate.facility.knowledge import Knowledge, KnownQuantity
from sdcgate.methods.cells import MeasureFacts
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import Span

INCOME = np.array([[930, 510, 60], [150, 690, 30], [1000, 390, 90], [30, 20, 0]])
"""Of the people by region and sex; the women in the west have 1000, those in no region 30."""
NOWHERE = {"region": (0b1000,)}


def summed(table: BoxTable) -> np.ndarray:
    masks = [dict(box) for box in table.boxes()]
    inside = [
        [[m.get("region", 15) >> r & 1 and m.get("sex", 7) >> s & 1 for s in range(3)] for r in range(4)]
        for m in masks
    ]
    return np.array([(INCOME * np.array(one)).sum() for one in inside], dtype=float)


def of_income(axes, withheld=(), bounds=(0.0, 1000.0), **fixed):
    """A table of the people's income, and its counts."""
    counts = released(axes, withheld, **fixed)
    records, sums = counts.table.records, summed(counts.table)
    income = MeasureFacts(
        "income", sums, records, records, sums[:, None], sums, sums, sums, *bounds
    )  # fmt: skip
    return replace(counts, quantity="income", facts=replace(counts.facts, measures=(income,))), counts


def knowing(*tables):
    known = Knowledge(0, {}, KnownQuantity(Span({}, rng=np.random.default_rng(7))))
    return known.grown(one for table in tables for one in table)


def told(known, table, share=0.1, seconds=10.0):
    sums, counts = table
    (income,) = sums.facts.measures
    bounds = income.lower_bound, income.upper_bound
    found = telling_sums(
        "income",
        known.of("income"),
        known.of("counts"),
        [sums],
        [counts],
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
        known.of("income"),
        known.of("counts"),
        [],
        [counts],
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
