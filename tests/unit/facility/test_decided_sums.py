"""What sums of weights tell of counts, where regions have weights of their own."""

from dataclasses import replace

import numpy as np
import pytest

from people_by_region import BY_REGION, FULL, MEN, NORTH, PEOPLE, SOUTH, WEST, WOMEN, knowing, released
from sdcgate.facility import joint_audit
from sdcgate.facility.decided_sums import DecidedTable, beside_decided, cell_of
from sdcgate.facility.joint_look import Extent, Width
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.leaving import Leaving
from sdcgate.methods.cells import MeasureFacts
from sdcgate.methods.tables.combined_sums import Decided
from sdcgate.methods.tables.joint_boxes import PERHAPS
from sdcgate.methods.tables.solver import Deadline

WEIGHTS = {NORTH: 10.0, SOUTH: 2.5, WEST: 4.0, 0b1000: 1.0}
DECIDED = Decided(
    tuple(((("region", code),), weight) for code, weight in WEIGHTS.items()), {"region": FULL["region"]}
)
BY_BOTH = {**BY_REGION, "sex": (WOMEN, MEN, 0b100, 0b111)}
BY_SEX = {"sex": (WOMEN, MEN, 0b100, 0b111)}
NARROW = Width(least=3, floor=0)


def weighed(axes, withheld=(), figures=None, **fixed):
    """A table of weights beside the one of counts."""
    counts = released(axes, withheld, **fixed)
    by_code = PEOPLE * np.array([*WEIGHTS.values()])[:, None]
    sums = np.array([by_code[np.ix_(*codes(box))].sum() for box in counts.boxes])
    return replace(counts, quantity="weight:", facts=with_sums(counts.facts, sums), figures=figures)


def codes(box):
    """The codes of region and sex that lie in a box."""
    masks = {**FULL, **dict(box)}
    return [[code for code in range(mask.bit_length()) if mask >> code & 1] for mask in masks.values()]


def with_sums(facts, sums):
    measure = MeasureFacts(
        name="weight:",
        sums=sums,
        valid_records=facts.records,
        valid_units=facts.units,
        largest=np.zeros((len(sums), 1)),
        absolute_sums=sums,
        minima=np.zeros(len(sums)),
        maxima=np.zeros(len(sums)),
        lower_bound=1.0,
        upper_bound=10.0,
    )
    return replace(facts, measures=(measure,))


def told(known, table, *sums, width=NARROW):
    leaving = Leaving(known, [table], [DecidedTable(one, DECIDED) for one in sums])
    return np.flatnonzero(joint_audit.telling(leaving, width, Extent(5_000, Deadline(10.0)))).tolist()


def knowing_of(*tables):
    """What has left of counts, with what weights that left tell of them."""
    known = Knowledge(0, {}, knowing()).grown(tables)
    return beside_decided(known.of("counts"), known.quantities, {"weight:": [DECIDED]})


WITHHELD = (0, 4)
"""The women of the north and of the south."""


def test_a_sum_of_weights_that_would_tell_two_withheld_counts_is_kept_back_with_its_cell():
    by_both, by_sex = released(BY_BOTH, withheld=(0, 4, 3, 7)), weighed(BY_SEX)
    assert told(knowing(), by_both) == []
    counts = released(BY_SEX)
    assert told(knowing(by_both), counts) == []
    # Women are the first.
    assert told(knowing(by_both), counts, by_sex) == [0]


def test_a_table_alone_tells_them_by_its_own_totals():
    # North and south are withheld among women, and so are both totals. What all women weigh, less what
    # those of other regions do, tells both; the smallest of these is withheld as well.
    hidden = released(BY_BOTH, withheld=(0, 4, 3, 7))
    assert told(knowing(), hidden) == []
    assert told(knowing(), hidden, weighed(BY_BOTH, withheld=(0, 4, 3, 7))) == [12]
    assert told(knowing(), released(BY_BOTH, (0, 4, 3, 7, 12)), weighed(BY_BOTH, (0, 4, 3, 7, 12))) != [12]


def test_what_left_before_tells_as_much():
    known = knowing_of(released(BY_SEX), weighed(BY_SEX))
    assert known.sure is None
    late = released({"region": (NORTH, SOUTH, WEST, 0b1000)}, withheld=(0, 1), sex=WOMEN)
    assert told(knowing(released(BY_SEX)), late) == []
    assert told(known, late) != []


def test_what_weights_told_perhaps_is_not_told_for_sure():
    perhaps = np.full(4, PERHAPS)
    known = knowing_of(released(BY_SEX), weighed(BY_SEX, figures=perhaps))
    assert len(known.boxes.combined) == 4
    assert not known.sure.combined


@pytest.mark.parametrize("axes", [BY_SEX, BY_BOTH])
def test_every_published_sum_is_named_by_its_cell(axes):
    table = weighed(axes, withheld=(1,))
    sums = list(DecidedTable(table, DECIDED).sums())
    assert {cell_of(one.told_by) for one in sums} == {box for box, _ in table.published()}
    assert len({one.told_by for one in sums}) == len(sums) == len(table.published())
    amounts = dict(table.amounts())
    for one in sums:
        assert one.total == amounts[cell_of(one.told_by)].total
        regions = codes(cell_of(one.told_by))[0]
        assert [factor for _, factor in one.parts] == [[10.0, 2.5, 4.0, 1.0][code] for code in regions]
