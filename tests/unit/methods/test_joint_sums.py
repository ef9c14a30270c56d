"""What sums and counts tell of withheld sums: held against SciPy's program over every code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdcgate.methods.tables.combinations import Combinations
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_intervals import joint_bounds
from sdcgate.methods.tables.joint_sums import PART, ROOM, Amount, MeasureBoxes, Measured, amounts, as_array
from sdcgate.methods.tables.joint_system import joint_system
from sdcgate.methods.tables.solver import Deadline
from three_variables import CODES, FULL, box, boxes, inside, ratios, with_factors

SHARE = 0.25


def audited(known, bounds, measured=None):
    """Which withheld sums are told too closely; begun with what people have, where that is given."""
    found = amounts(known, bounds, FULL, SHARE)
    held = None if measured is None else found.held(measured)
    how = {"room": ROOM, "held": held, "combined": found.combined}
    system = joint_system({*FULL, PART}, found.published, found.secrets, found.full, **how)
    widths = as_array(found.widths, found.secrets)
    result = joint_bounds(system, widths, 0, Deadline(20.0))
    assert not result.unproved.any()
    return result.narrow


def room_for(secret, known, bounds):
    """How far apart a withheld sum can be, by SciPy over records, sums and records without the measure."""
    low, high = bounds
    zeros, eye = np.zeros((len(CODES), len(CODES))), np.eye(len(CODES))
    of = {cell: inside(cell).astype(float) for cell in [*known.published, *known.secrets, *known.records,
                                                       *known.having]}  # fmt: skip
    nothing = np.zeros(len(CODES))
    rows, right = [], []

    def tell(records, total, lacking, value):
        rows.append(np.concatenate([records, total, lacking]))
        right.append(value)

    for cell, amount in known.published.items():
        tell(nothing, of[cell], nothing, amount.total)
        tell(of[cell], nothing, nothing, amount.records)
    for cell in known.complete:
        tell(nothing, nothing, of[cell], 0)
    for cell, records in known.records.items():
        tell(of[cell], nothing, of[cell], records)
    for cell, records in known.having.items():
        tell(of[cell], nothing, nothing, records)
    for one in known.combined:
        tell(-one.less * with_factors(one), with_factors(one), nothing, one.total)
    for one in known.counted:
        tell(with_factors(one), nothing, with_factors(one), one.total)
    if low:
        for cell, amount in known.secrets.items():
            tell(of[cell], nothing, nothing, amount.records)
    within = np.block([[low * eye, -eye, zeros], [-high * eye, eye, zeros]])
    ends = []
    for way in (1.0, -1.0):
        aim = np.concatenate([nothing, way * of[secret], nothing])
        found = linprog(
            aim, A_eq=np.array(rows), b_eq=right, A_ub=within, b_ub=np.zeros(len(within)),
            bounds=[(0, None)] * len(CODES) + [(None, None)] * len(CODES) + [(0, None)] * len(CODES),
            options={"presolve": False},
        )  # fmt: skip
        if found.status == 3:
            return np.inf
        assert found.status == 0, found.message
        ends.append(found.fun)
    return -ends[1] - ends[0]


def test_the_order_of_amounts_is_the_same_in_every_process():
    # Sets of names are in another order in each; the order of sums may decide which of them is blamed.
    complete = {box(age=mask) for mask in range(1, 7)}
    shown = MeasureBoxes({}, {}, complete)
    of_complete = list(amounts(shown, (0.0, 9.0), FULL, 0.1).published)
    assert of_complete == sorted(of_complete)
    assert len(of_complete) == 6


VALUES = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=18, max_size=18)


def some_boxes(least, most):
    return st.lists(boxes(), min_size=least, max_size=most, unique=True)


EVERYBODY = Combinations(tuple(FULL), np.array(CODES))


def amounts_of(values):
    """Sums and records of every code, and what a box has of both."""
    totals, records = np.array([sum(few) for few in values]), np.array([len(few) for few in values])

    def amount(cell):
        return Amount(float(totals @ inside(cell)), int(records @ inside(cell)))

    return totals, records, amount


def assert_as_by_scipy(known, bounds, truth, off):
    """The same sums are narrow, begun with what is true or not, as SciPy says, but for rounding."""
    narrow = audited(known, bounds)
    assert audited(known, bounds, truth).tolist() == narrow.tolist()
    largest = max([abs(one.total) for one in known.secrets.values()], default=0)
    for told, (cell, one) in zip(narrow, known.secrets.items(), strict=True):
        width = max(SHARE * abs(one.total), 1e-6 * largest, 1e-7 * known.published[box()].total)
        room = room_for(cell, known, bounds)
        if abs(room - width) > off * max(1.0, width):
            assert told == (room < width), (room, width)


@pytest.mark.parametrize("bounds", [(0.0, 9.0), (0.0, 900.0), (-6.0, 9.0)])
@settings(max_examples=40, deadline=None)
@given(
    values=VALUES,
    lacking=st.lists(st.integers(0, 2), min_size=18, max_size=18),
    shown=some_boxes(1, 8),
    counted=some_boxes(0, 5),
    hidden=some_boxes(1, 4),
)
def test_a_sum_is_narrow_exactly_where_another_program_bounds_it_more_closely_than_its_width(
    bounds, values, lacking, shown, counted, hidden
):
    totals, records, amount = amounts_of(values)
    published = {cell: amount(cell) for cell in [*shown, box()]}
    complete = {cell for cell in shown if not np.array(lacking) @ inside(cell)}
    known = MeasureBoxes(
        published,
        {cell: amount(cell) for cell in hidden if cell not in published},
        complete,
        {cell: int((records + lacking) @ inside(cell)) for cell in [*shown, *counted]},
        {cell: int(records @ inside(cell)) for cell in counted[:2]},
    )
    truth = Measured(EVERYBODY, records + np.array(lacking), records, totals.astype(float))
    assert_as_by_scipy(known, bounds, truth, 1e-6)


FACTORS = st.sampled_from((1.0, 2.5, 4.0))


@pytest.mark.parametrize("bounds", [(0.0, 9.0), (-6.0, 9.0)])
@settings(max_examples=60, deadline=None)
@given(
    values=VALUES,
    shown=some_boxes(1, 6),
    hidden=some_boxes(1, 4),
    together=st.lists(st.lists(st.tuples(boxes(), FACTORS), min_size=1, max_size=3), min_size=1, max_size=4),
    averaged=some_boxes(0, 2),
    shared=st.lists(st.tuples(boxes(), boxes()), max_size=2, unique=True),
)
def test_so_it_is_where_sums_with_factors_shares_and_means_have_left(
    bounds, values, shown, hidden, together, averaged, shared
):
    totals, records, amount = amounts_of(values)
    weighted = [
        CombinedSum(
            (("told", number + 1),),
            tuple(parts),
            float(sum(factor * (totals @ inside(cell)) for cell, factor in parts)),
        )
        for number, parts in enumerate(together)
    ]
    published = {cell: amount(cell) for cell in [*shown, box()]}
    known = MeasureBoxes(
        published,
        {cell: amount(cell) for cell in hidden if cell not in published},
        set(published),
        combined=[
            *weighted,
            *(mean.of_sums() for mean in ratios([(cell, cell) for cell in averaged], totals, records)),
        ],
        counted=[share.of_counts({}) for share in ratios(shared, records, records)],
    )
    truth = Measured(EVERYBODY, records, records, totals.astype(float))
    assert_as_by_scipy(known, bounds, truth, 1e-5)


def test_a_small_sum_around_one_of_two_withheld_ones_tells_the_other():
    old, older = box(age=2, sex=1), box(age=4, sex=1)
    shown = {
        box(): Amount(5000.0, 90),
        box(sex=1): Amount(1030.0, 40),
        box(age=1, sex=1): Amount(0.0, 5),
        box(age=4): Amount(60.0, 25),
    }
    known = MeasureBoxes(
        dict(shown),
        {old: Amount(1000.0, 20), older: Amount(30.0, 15)},
        set(shown),
    )
    assert audited(known, (0.0, 1e5)).tolist() == [True, False]
    del known.published[box(age=4)]
    known.complete.discard(box(age=4))
    assert audited(known, (0.0, 1e5)).tolist() == [False, False]


def test_a_count_and_the_upper_bound_tell_as_much_as_a_small_sum():
    old, older = box(age=2, sex=1), box(age=4, sex=1)
    shown = {box(): Amount(3000.0, 90), box(sex=1): Amount(1030.0, 40), box(age=1, sex=1): Amount(0.0, 5)}
    secrets = {old: Amount(1000.0, 20), older: Amount(30.0, 2)}
    few = MeasureBoxes(shown, secrets, set(shown), {box(age=4): 2})
    assert audited(few, (0.0, 60.0)).tolist() == [True, False]
    assert audited(few, (0.0, 600.0)).tolist() == [False, False]


def test_a_count_that_is_the_rest_of_another_tells_as_much_where_nobody_lacks_the_measure():
    old, older = box(age=2, sex=1), box(age=4, sex=1)
    shown = {box(): Amount(3000.0, 90), box(sex=1): Amount(1030.0, 40), box(age=1, sex=1): Amount(0.0, 5)}
    secrets = {old: Amount(1000.0, 33), older: Amount(30.0, 2)}
    rest = {box(age=3, sex=1): 38}
    assert audited(MeasureBoxes(shown, secrets, set(shown), rest), (0.0, 60.0)).tolist() == [True, False]
    assert audited(MeasureBoxes(shown, secrets, set(), rest), (0.0, 60.0)).tolist() == [False, False]


def test_nobody_has_a_sum_of_nothing():
    old, older = box(age=2, sex=1), box(age=4, sex=1)
    shown = {box(): Amount(5000.0, 90), box(sex=1): Amount(1000.0, 40), box(age=1, sex=1): Amount(0.0, 5)}
    secrets = {old: Amount(1000.0, 20), older: Amount(0.0, 0)}
    assert audited(MeasureBoxes(shown, secrets, set(shown)), (0.0, 1e5)).tolist() == [False, False]
    empty = MeasureBoxes(shown, secrets, set(shown), {box(age=4): 0})
    assert audited(empty, (0.0, 1e5)).tolist() == [True, True]


def test_a_side_without_a_bound_is_closed_far_beyond_all_means():
    shown = {box(): Amount(5000.0, 90), box(sex=1): Amount(1000.0, 40)}
    known = MeasureBoxes(shown, {box(age=2, sex=1): Amount(600.0, 30)}, set(shown))
    assert audited(known, (None, 100.0)).tolist() == [False]
    assert audited(known, (-100.0, None)).tolist() == [False]
