"""Which cells of a table are kept back so that sums of measures tell no withheld count too closely."""

from dataclasses import replace

import numpy as np
import pytest

from income_by_region import NOWHERE, knowing, of_income
from people_by_region import BY_REGION, NORTH, SOUTH, WEST, WOMEN
from sdcgate.facility import counts_beside_sums
from sdcgate.facility.counts_beside_sums import OfMeasure, telling_counts
from sdcgate.facility.joint_look import Extent, JointlyUnproved, Width
from sdcgate.facility.leaving import Leaving
from sdcgate.methods.tables.joint_sums import of_all_parts
from sdcgate.methods.tables.solver import Deadline

CLOSE = Width(least=7, floor=0)
WOMEN_BY_REGION = of_income(BY_REGION, withheld=(2, 3), sex=WOMEN)
"""Thirteen women are in the west or in no region."""


def told(known, table, doubted=None):
    """Cells without which the sums of income, and of what is the same under another name, tell no count."""
    sums, counts = table
    measures = [
        OfMeasure(name, Leaving(known.of("income"), [replace(sums, quantity=name)]), (0.0, 1000.0), {})
        for name in ("income", "wages")
    ]
    extent = Extent(600, Deadline(10.0))
    found = telling_counts(measures, Leaving(known.of("counts"), [counts]), CLOSE, extent, doubted)
    return np.flatnonzero(found).tolist()


def test_what_counts_alone_told_before_is_asked_of_no_measure(monkeypatch):
    # With six people in no region 7 to 13 of the women are in the west.
    perhaps = tuple(table.perhaps() for table in of_income({"region": (NORTH,)}))
    known = knowing(WOMEN_BY_REGION, of_income(NOWHERE), perhaps)
    asked, close_counts = [], counts_beside_sums.close_counts

    def counted(*of):
        asked.append(of)
        return close_counts(*of)

    monkeypatch.setattr(counts_beside_sums, "close_counts", counted)
    assert told(known, of_income({"region": (SOUTH, WEST)})) == []
    # Once for each measure as though all was told, and never by what was for sure.
    assert len(asked) == 2


def test_what_was_told_before_is_noted_though_the_time_is_over_for_the_rest(monkeypatch):
    """Who asks the same again, or the next about the same variables, need not find it out once more."""
    known, close_counts = knowing(WOMEN_BY_REGION, of_income(NOWHERE)), counts_beside_sums.close_counts

    def late(*of):
        found = close_counts(*of)
        assert found.told_before.any()
        return replace(found, unproved=np.ones_like(found.narrow))

    monkeypatch.setattr(counts_beside_sums, "close_counts", late)
    with pytest.raises(JointlyUnproved):
        told(known, of_income({"region": (SOUTH, WEST)}))
    (noted,) = known.of("income").told.values()
    assert {of_all_parts(box) for box in noted} == {WOMEN_BY_REGION[1].boxes[2], WOMEN_BY_REGION[1].boxes[3]}


def test_what_a_new_count_tells_was_not_told_before():
    assert told(knowing(WOMEN_BY_REGION), of_income(NOWHERE)) == [0]


@pytest.mark.parametrize(
    ("regions", "in_doubt"),
    [
        ((SOUTH, WEST), True),  # Nothing is new.
        ((NORTH, WEST), True),  # What is new tells nothing of the west.
        ((NORTH, WEST, 0b1111), False),
    ],
)
def test_what_a_table_withholds_and_is_not_looked_at_is_in_doubt(regions, in_doubt):
    south, counts = of_income({"region": (SOUTH,)})
    known = knowing((south.perhaps(), counts.perhaps()))
    doubted, new = set(), of_income({"region": regions}, withheld=(1,))
    assert told(known, new, doubted) == []
    assert doubted == ({new[1].boxes[1]} if in_doubt else set())
