"""What a measure's sums tell of withheld counts: held against SciPy's program over every code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.counts_beside_sums import (
    Required,
    close_counts,
    count_bounds,
    told_by_counts,
)
from sdcgate.methods.tables.counts_wide import wide_in_all
from sdcgate.methods.tables.joint_reduction import everything_of
from sdcgate.methods.tables.joint_sums import (
    LACKING,
    PART,
    ROOM,
    Amount,
    MeasureBoxes,
    Measured,
    P,
    Q,
    counts_beside,
    of_all_parts,
    of_part,
)
from sdcgate.methods.tables.joint_system import Counted, joint_system
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.told_shares import Share
from three_variables import CODES, FULL, box, boxes, inside, ratios, with_factors
from three_variables import bounds as bounds_by_counts

WIDTH = 3


def told(known, bounds, measured=None, floor=0):
    """Which uncounted boxes are told too closely, with the whole numbers that they lie between."""
    found = counts_beside(known, bounds, FULL)
    held = None if measured is None else found.held(measured)
    of = {*FULL, PART}, found.published, found.secrets, found.full
    system = joint_system(*of, room=ROOM, held=held, combined=found.combined)
    required, deadline = Required(WIDTH, floor, found.record), Deadline(20.0)
    close = close_counts(system, required, deadline, everything_of(system))
    explained = count_bounds(system, required, deadline, close.narrow)
    assert not close.unproved.any()
    assert not explained.unproved.any()
    # What is close is so by its very bounds, be they found with reasons or without.
    assert (explained.narrow == close.narrow).all()
    least, greatest = Counted(found.record).whole(explained.lowest, explained.highest)
    return {
        secret: (least[place], greatest[place])
        for place, secret in enumerate(found.secrets)
        if explained.narrow[place]
    }


def between(secret, known, bounds, floor):
    """The least and the greatest count of a box, by SciPy over records, sums and records without."""
    low, high = bounds
    zeros, eye = np.zeros((len(CODES), len(CODES))), np.eye(len(CODES))
    nothing = np.zeros(len(CODES))

    def of(cell):
        return inside(of_all_parts(cell)).astype(float)

    def counted(cell):
        parts = dict(cell).get(PART, P | Q | LACKING)
        return np.concatenate([of(cell), nothing, of(cell) if parts & LACKING else nothing])

    rows, right = [], []

    def tell(row, value):
        rows.append(row)
        right.append(value)

    for cell, amount in known.published.items():
        if cell not in known.only_sums or low == 0:
            tell(np.concatenate([nothing, of(cell), nothing]), amount.total)
        if cell not in known.only_sums:
            tell(np.concatenate([of(cell), nothing, nothing]), amount.records)
    for cell in known.complete:
        tell(np.concatenate([nothing, nothing, of(cell)]), 0)
    for cell, records in known.records.items():
        tell(counted(cell), records)
    for cell, records in known.having.items():
        tell(np.concatenate([of(cell), nothing, nothing]), records)
    nearly = [
        (np.concatenate([-one.less * with_factors(one), with_factors(one), nothing]), one)
        for one in known.combined
    ]
    nearly += [
        (np.concatenate([with_factors(one), nothing, with_factors(one)]), one) for one in known.counted
    ]
    within = np.block([[low * eye, -eye, zeros], [-high * eye, eye, zeros]])
    within = np.vstack([within, *(row for row, _ in nearly), *(-row for row, _ in nearly)])
    most = [0.0] * 2 * len(CODES)
    most += [one.total + one.room for _, one in nearly] + [one.room - one.total for _, one in nearly]
    somebody = [-counted(cell) for cell in known.uncounted] if floor else []
    ends = []
    for way in (1.0, -1.0):
        found = linprog(
            way * counted(secret), A_eq=np.array(rows), b_eq=right,
            A_ub=np.vstack([within, *somebody]), b_ub=most + [-floor] * len(somebody),
            bounds=[(0, None)] * len(CODES) + [(None, None)] * len(CODES) + [(0, None)] * len(CODES),
            options={"presolve": False},
        )  # fmt: skip
        if found.status == 3:
            ends.append(-np.inf)
            continue
        assert found.status == 0, found.message
        ends.append(found.fun)
    return ends[0], -ends[1]


VALUES = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=18, max_size=18)


def some_boxes(least, most):
    return st.lists(boxes(), min_size=least, max_size=most, unique=True)


def people_of(counts):
    """So many people of some boxes, each of one code, all of whom have a 9."""
    records = np.zeros(len(CODES))
    for cell, count in counts.items():
        records[np.flatnonzero(inside(cell))[0]] += count
    return Measured(Combinations(tuple(FULL), np.array(CODES)), records, records, 9.0 * records)


def test_all_that_shares_tell_of_one_count_holds_it():
    town, two, three = box(town=1), box(town=3), box(town=4)
    truth = people_of({town: 1_000, box(town=2): 1_000, three: 18_000})
    counted = {two: 2_000, box(): 20_000}
    shares = [Share(town, two, 0.4998, 0.5002, 2_000), Share(town, box(), 0.0495, 0.0505, 20_000)]
    for told_first in (shares, shares[::-1]):
        told_too = [share.of_counts(counted) for share in told_first]
        known = MeasureBoxes({}, {}, set(), uncounted={town}, counted=told_too)
        assert told(known, (0.0, 9.0), truth) == {town: (1_000.0, 1_000.0)}
        assert seen_wide([(known, truth)], [(0.0, 9.0)], 0) == ([True], set())


@pytest.mark.parametrize(("ends", "narrow"), [((0.5, 0.54), True), ((0.46, 0.5), False)])
def test_what_rounding_leaves_is_not_left_to_it_twice(ends, narrow):
    """Half of two towns' people are of the first, told as a little more or less than that."""
    town, other = box(town=1), box(town=2)
    truth = people_of({town: 100, other: 100})
    share = Share(town, box(town=3), *ends, 200).of_counts({})
    counts = {box(town=5): 100, other: 100}
    known = MeasureBoxes({}, {}, set(), records=counts, uncounted={town}, counted=[share])
    assert (town in told(known, (0.0, 9.0), truth)) == narrow
    _, wide = seen_wide([(known, truth)], [(0.0, 9.0)], 0)
    assert not (wide and narrow)


@pytest.mark.parametrize("floor", [0, 1])
@pytest.mark.parametrize("bounds", [(0.0, 9.0), (0.0, 90.0), (-6.0, 9.0), (-1.0, 9.0)])
@settings(max_examples=40, deadline=None)
@given(
    values=VALUES,
    lacking=st.lists(st.integers(0, 2), min_size=18, max_size=18),
    shown=some_boxes(1, 8),
    only_sums=some_boxes(0, 2),
    counted=some_boxes(0, 5),
    hidden=some_boxes(1, 4),
    averaged=some_boxes(0, 2),
    shared=st.lists(st.tuples(boxes(), boxes()), max_size=2, unique=True),
    half=st.sampled_from((1e-12, 0.01, 0.1)),
    aside=st.sampled_from((-0.9, 0.0, 0.6)),
)
def test_a_count_is_narrow_exactly_where_another_program_bounds_it_so_in_whole_numbers(
    bounds, floor, values, lacking, shown, only_sums, counted, hidden, averaged, shared, half, aside
):
    totals, records = np.array([sum(few) for few in values]), np.array([len(few) for few in values])

    def amount(cell):
        return Amount(float(totals @ inside(cell)), int(records @ inside(cell)))

    published = {cell: amount(cell) for cell in [*shown, *only_sums, box()]}
    complete = {cell for cell in shown if not np.array(lacking) @ inside(cell)}
    everybody = {cell: int((records + lacking) @ inside(cell)) for cell in [*shown, *counted]}
    having = {cell: int(records @ inside(cell)) for cell in counted[:2]}
    uncounted = {
        cell for cell in hidden if cell not in everybody and everybody_of(cell, records, lacking, floor)
    }
    uncounted |= {of_part(cell, P | Q) for cell in hidden[:2] if records @ inside(cell) >= floor}
    known = MeasureBoxes(
        published,
        {},
        complete,
        everybody,
        having,
        uncounted,
        {c for c in only_sums if c not in shown},
        [mean.of_sums() for mean in ratios([(cell, cell) for cell in averaged], totals, records)],
        [
            one.of_counts(everybody)
            for one in ratios(shared, records + lacking, records + lacking, half, aside)
        ],
    )
    truth = Measured(
        Combinations(tuple(FULL), np.array(CODES)), records + np.array(lacking), records, totals.astype(float)
    )
    narrow = told(known, bounds, truth, floor)
    assert told(known, bounds, None, floor).keys() == narrow.keys()
    for secret in known.uncounted:
        least, greatest = between(secret, known, bounds, floor)
        if any(
            abs(end - round(end)) > 1e-7 and abs(end - round(end)) < 1e-4
            for end in (least, greatest)
            if np.isfinite(end)
        ):
            continue
        whole = np.ceil(least - 1e-5), np.floor(greatest + 1e-5)
        assert (secret in narrow) == (whole[1] - whole[0] < WIDTH), (least, greatest)
        if secret in narrow:
            assert narrow[secret] == whole
    (agrees,), wide = seen_wide([(known, truth)], [bounds], floor)
    assert agrees
    assert not wide & {of_all_parts(cell) for cell in narrow}


def seen_wide(of_each, bounds, floor=0):
    """For which measures the truth agrees, and boxes whose counts are seen to be wide whatever any tells."""
    found = [
        (counts_beside(known, ends, FULL), truth)
        for (known, truth), ends in zip(of_each, bounds, strict=True)
    ]
    required = Required(WIDTH, floor, found[0][0].record)
    asked = sorted({of_all_parts(cell) for one, _ in found for cell in one.secrets})
    wide, agreeing = wide_in_all(found, asked, FULL, required, Deadline(20.0))
    return agreeing, {cell for cell, seen in zip(asked, wide, strict=True) if seen}


@pytest.mark.parametrize("floor", [0, 1])
@settings(max_examples=150, deadline=None)
@given(
    records=st.lists(st.integers(0, 8), min_size=18, max_size=18),
    tenths=st.lists(st.lists(st.integers(0, 10), min_size=18, max_size=18), min_size=2, max_size=2),
    shown=st.lists(some_boxes(1, 6), min_size=2, max_size=2),
    hidden=some_boxes(1, 4),
)
def test_a_count_that_is_seen_to_be_wide_is_so_beside_each_of_two_measures(
    floor, records, tenths, shown, hidden
):
    records, bounds = np.array(records), [(0.0, 10.0), (-2.0, 4.0)]
    of_each = []
    for (low, high), share, cells in zip(bounds, tenths, shown, strict=True):
        sums = records * (low + (high - low) * np.array(share) / 10)
        told_of = {cell: Amount(float(sums @ inside(cell)), int(records @ inside(cell))) for cell in cells}
        uncounted = {cell for cell in hidden if cell not in told_of and records @ inside(cell) >= floor}
        truth = Measured(Combinations(tuple(FULL), np.array(CODES)), records, records, sums)
        of_each.append((MeasureBoxes(told_of, {}, set(told_of), {}, {}, uncounted), truth))
    agreeing, wide = seen_wide(of_each, bounds, floor)
    for (known, truth), ends, agrees in zip(of_each, bounds, agreeing, strict=True):
        # Of a measure that is nearly nothing values far above all means are not looked at.
        if agrees:
            assert not wide & told(known, ends, truth, floor).keys()


def test_what_leaves_room_is_seen_to_be_wide_unless_what_is_true_is_not_what_is_known():
    records = np.full(18, 10)
    sums = records * 2.0
    truth = Measured(Combinations(tuple(FULL), np.array(CODES)), records, records, sums)
    old, town = box(age=4), box(town=1)
    both = box(age=4, town=1)
    shown = {cell: Amount(float(sums @ inside(cell)), int(records @ inside(cell))) for cell in (old, town)}
    known = MeasureBoxes(shown, {}, set(shown), {}, {}, {both})
    other = MeasureBoxes({**shown, old: Amount(shown[old].total, 1)}, {}, set(shown), {}, {}, {both})
    assert seen_wide([(known, truth)], [(0.0, 10.0)]) == ([True], {both})
    assert seen_wide([(known, truth), (other, truth)], [(0.0, 10.0)] * 2) == ([True, False], {both})
    # Nobody can have 2, where 1 is the most.
    assert seen_wide([(known, truth), (known, truth)], [(0.0, 10.0), (0.0, 1.0)]) == ([True, False], {both})
    assert seen_wide([(known, truth)], [(0.0, 1.0)]) == ([False], set())


def everybody_of(cell, records, lacking, floor):
    return (records + np.array(lacking)) @ inside(cell) >= floor


# Of ten people of an age, nine of them in one of two towns: the tenth stands in the other.
def of_two_kinds(of_town):
    """Ten old people with 20 each, ten people in a town with as much as is said, and twenty in all."""
    old, town = box(age=4), box(town=1)
    shown = {box(): Amount(310.0, 30), old: Amount(200.0, 10), town: Amount(of_town, 10)}
    return MeasureBoxes(shown, {}, set(shown), {}, {}, {box(age=4, town=1)})


def test_a_group_of_large_values_has_few_in_common_with_one_of_small_values():
    # All of the old are at the most: so many as are in the town it has, 20 each.
    assert told(of_two_kinds(40.0), (0.0, 20.0)) == {box(age=4, town=1): (0.0, 2.0)}
    assert told(of_two_kinds(60.0), (0.0, 20.0)) == {}
    assert told(of_two_kinds(40.0), (0.0, 2000.0)) == {}


def test_values_within_narrow_bounds_tell_as_much_though_all_means_are_alike():
    old, town = box(age=4), box(town=1)
    shown = {box(): Amount(520.0, 30), old: Amount(200.0, 10), town: Amount(161.0, 10)}
    known = MeasureBoxes(shown, {}, set(shown), {}, {}, {box(age=4, town=1)})
    # (161 - 10 x 15) / 5 = 2.2 of the town can have 20.
    assert told(known, (15.0, 20.0)) == {box(age=4, town=1): (0.0, 2.0)}
    assert told(known, (0.0, 20.0)) == {}


def test_bounds_are_those_of_whole_people():
    # 3.2 people at the most: three, which are 3 from nobody; of somebody they are 2.
    known = of_two_kinds(64.0)
    assert told(known, (0.0, 20.0)) == {}
    assert told(known, (0.0, 20.0), floor=1) == {box(age=4, town=1): (1.0, 3.0)}


def test_what_one_measure_tells_is_not_seen_to_be_wide_where_others_leave_it_open():
    both, atoms = box(age=4, town=1), np.arange(len(CODES))
    old, of_town = (inside(box(age=4)) > 0) & (inside(box(town=1)) == 0), inside(box(town=1)) > 0
    here = [atoms[old][0], atoms[of_town & (inside(both) == 0)][0], atoms[~old & ~of_town][0]]
    records, sums = np.zeros((2, len(CODES)))
    records[here], sums[here] = 10, [200.0, 40.0, 70.0]
    known = of_two_kinds(40.0)
    truth = Measured(Combinations(tuple(FULL), np.array(CODES)), records, records, sums)
    close, open_ = (0.0, 20.0), (0.0, 2000.0)
    assert seen_wide([(known, truth)], [open_]) == ([True], {both})
    assert seen_wide([(known, truth)] * 2, [open_, close]) == ([True, True], set())
    assert seen_wide([(known, truth)] * 2, [close, open_]) == ([True, True], set())


@pytest.mark.parametrize("floor", [0, 1])
@settings(max_examples=60, deadline=None)
@given(
    records=st.lists(st.integers(0, 4), min_size=18, max_size=18),
    shown=some_boxes(1, 8),
    asked=some_boxes(1, 4),
    marked=some_boxes(0, 2),
    given_too=st.booleans(),
)
def test_what_counts_alone_tell_is_what_another_program_bounds_by_them(
    floor, records, shown, asked, marked, given_too
):
    people = np.array(records) + floor
    counts = {cell: int(people @ inside(cell)) for cell in [*shown, box()]}
    boxes_asked = [cell for cell in asked if cell not in counts]
    required, deadline = Required(WIDTH, floor, 1.0), Deadline(20.0)
    held = Held(Combinations(tuple(FULL), np.array(CODES)), people.astype(float)) if given_too else None
    narrow = told_by_counts(counts, boxes_asked, marked, FULL, required, deadline, held)
    for secret, told_too_closely in zip(boxes_asked, narrow, strict=True):
        least, greatest = bounds_by_counts(counts, secret, floors=marked if floor else ())
        assert told_too_closely == (np.floor(greatest + 1e-6) - np.ceil(least - 1e-6) < WIDTH)
