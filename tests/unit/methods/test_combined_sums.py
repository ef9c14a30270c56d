"""Sums of several boxes with factors: what they tell of withheld counts beside counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables import joint_whole
from sdcgate.methods.tables.boxes import NOBODY, intersection
from sdcgate.methods.tables.combined_sums import CombinedSum, whole_factors
from sdcgate.methods.tables.joint_boxes import Counts, JointBoxes
from sdcgate.methods.tables.joint_history import Standing, audit_history
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals, told_by
from sdcgate.methods.tables.joint_reduction import Question, subtracted
from sdcgate.methods.tables.joint_system import joint_system
from sdcgate.methods.tables.solver import Deadline
from three_variables import CODES, FULL, bounds, box, boxes, inside, whole_bounds, with_factors

FACTORS = (1.0, 1.5, 2.25, 0.5, -1.0, -0.25)


def sums(most):
    parts = st.lists(st.tuples(boxes(), st.sampled_from(FACTORS)), min_size=1, max_size=4)
    return st.lists(st.tuples(parts, st.sampled_from((0.0, 0.5, 2.0))), min_size=1, max_size=most)


def of(people, chosen):
    """The sums of people, off by their room at most."""
    found = []
    for number, (parts, room) in enumerate(chosen):
        one = CombinedSum((("told", number + 1),), tuple(parts), 0.0, room)
        found.append(
            CombinedSum(one.told_by, one.parts, float(people @ with_factors(one)) + room * 0.25, room)
        )
    return found


def held(people):
    from sdcgate.methods.tables.combinations import Combinations, Held

    return Held(Combinations(tuple(FULL), np.array(CODES)), people.astype(np.float64))


@settings(max_examples=100, deadline=None)
@given(
    people=st.lists(st.integers(0, 5), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=8, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=6, unique=True),
    chosen=sums(4),
    floor=st.integers(0, 1),
    begun=st.booleans(),
)
def test_a_count_is_narrow_exactly_where_whole_numbers_by_another_program_bound_it_so(
    people, shown, hidden, chosen, floor, begun
):
    people = np.array(people) + floor
    published = {cell: int(people @ inside(cell)) for cell in [*shown, box()]}
    secret, combined = [cell for cell in hidden if cell not in published], of(people, chosen)
    truth = held(people) if begun else None
    system = joint_system(set(FULL), published, secret, FULL, held=truth, combined=combined)
    quicker = joint_bounds(system, 3, floor, Deadline(10.0))
    found = joint_intervals(system, 3, floor, Deadline(10.0))
    assert not found.unproved.any()
    assert not quicker.unproved.any()
    for place, cell in enumerate(secret):
        low, high = bounds(published, cell, secret if floor else (), combined=combined)
        fewest, most = whole_bounds(published, cell, secret if floor else (), combined)
        assert found.narrow[place] == (most - fewest < 3)
        assert low - 1e-4 <= found.lowest[place] <= found.highest[place] <= high + 1e-4
        if not found.narrow[place]:
            assert fewest <= found.lowest[place] <= found.highest[place] - 3 <= most - 3
        # Parts that no sum with factors reaches are looked at as amounts.
        assert quicker.narrow[place] <= found.narrow[place]
        assert quicker.narrow[place] >= (np.floor(high + 1e-4) - np.ceil(low - 1e-4) < 3)
        assert low - 1e-4 <= quicker.lowest[place] <= quicker.highest[place] <= high + 1e-4


@settings(max_examples=60, deadline=None)
@given(
    people=st.lists(st.integers(0, 5), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=8, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=6, unique=True),
    chosen=sums(4),
    new=st.integers(1, 4),
)
def test_what_a_new_sum_makes_narrow_is_found_and_the_sum_is_blamed(people, shown, hidden, chosen, new):
    people = np.array(people)
    published = {cell: int(people @ inside(cell)) for cell in [*shown, box()]}
    secret, combined = [cell for cell in hidden if cell not in published], of(people, chosen)
    old, fresh = combined[:-new], {one.told_by for one in combined[-new:]}
    system = joint_system(set(FULL), published, secret, FULL, held=held(people), combined=combined)
    before = joint_intervals(
        joint_system(set(FULL), published, secret, FULL, combined=old), 3, 0, Deadline(10.0)
    )
    asked = np.ones(len(secret), dtype=np.bool_)
    told_first = np.array([row in fresh for row in system.published], dtype=np.bool_)
    found = joint_bounds(system, 3, 0, Deadline(10.0), Question(asked, told_first, ~asked))
    now = joint_intervals(system, 3, 0, Deadline(10.0))
    assert (found.narrow & ~before.narrow).tolist() == (now.narrow & ~before.narrow).tolist()
    assert not (found.told_before & ~before.narrow).any()
    for place in np.flatnonzero(now.narrow & ~before.narrow).tolist():
        assert fresh & {system.published[row] for row in told_by(now, place)}


WEIGHTS = {1: 103.37, 2: 117.91, 4: 131.05}
"""By town."""


def weighed(people, cells):
    """Sums of weights of some boxes, and the boxes of each weight with their counts."""
    sums, counts = [], {}
    for cell in cells:
        parts = [(intersection(cell, box(town=town)), weight) for town, weight in WEIGHTS.items()]
        parts = tuple((part, weight) for part, weight in parts if part != NOBODY)
        counts |= {part: int(people @ inside(part)) for part, _ in parts}
        total = sum(weight * counts[part] for part, weight in parts)
        sums.append(CombinedSum(tuple(sorted((*cell, ("weight", 1)))), parts, total, of="weight"))
    return sums, counts


@settings(max_examples=100, deadline=None)
@given(
    people=st.lists(st.integers(0, 5), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=8, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=6, unique=True),
    cells=st.lists(boxes(), min_size=1, max_size=5, unique=True),
    floor=st.integers(0, 1),
)
def test_sums_of_what_everybody_has_tell_how_many_have_each_where_what_is_true_is_known(
    people, shown, hidden, cells, floor
):
    people = np.array(people) + floor
    published = {cell: int(people @ inside(cell)) for cell in [*shown, box()]}
    sums, counts = weighed(people, cells)
    secret = [cell for cell in hidden if cell not in published and cell not in counts]
    truth = held(people)
    system = joint_system(set(FULL), published, secret, FULL, held=truth, combined=sums)
    counted = joint_system(set(FULL), {**counts, **published}, secret, FULL, held=truth)
    expected = joint_intervals(counted, 3, floor, Deadline(10.0))
    for found in (
        joint_bounds(system, 3, floor, Deadline(10.0)),
        joint_intervals(system, 3, floor, Deadline(10.0)),
    ):
        assert not found.unproved.any()
        assert found.narrow.tolist() == expected.narrow.tolist()
    told = {system.published[row] for place in found.used for row in told_by(found, place)}
    assert told <= {*published, *(one.told_by for one in sums)}


def test_a_sum_less_others_that_lie_in_it_is_of_what_is_left():
    people = np.arange(18)
    sums, _ = weighed(people, [box(), box(age=1), box(age=2)])
    system = joint_system(set(FULL), {box(): int(people.sum())}, [box(age=4)], FULL, combined=sums)
    smaller = subtracted(system)
    whole = system.published.index(sums[0].told_by)
    assert sorted(smaller.less[smaller.rows == whole].tolist()) == [whole + 1, whole + 2]
    left = sums[0].total - sums[1].total - sums[2].total
    assert smaller.system.counts[whole] * max(WEIGHTS.values()) == pytest.approx(left)
    prices = smaller.prices(np.eye(len(system.counts))[whole])
    assert prices.tolist() == [0, 1, -1, -1]


def test_the_sum_of_weights_of_two_towns_beside_their_count_tells_both():
    by_town = {box(town=1): 70, box(town=2): 50, box(town=4): 60}
    of_trade = {box(age=1): 12, box(age=1, town=4): 5}
    secret = [box(age=1, town=1), box(age=1, town=2)]
    weights = tuple((box(age=1, town=town), weight) for town, weight in ((1, 10.0), (2, 2.5), (4, 1.0)))
    told = CombinedSum(((("weights"), 1),), weights, 3 * 10.0 + 4 * 2.5 + 5 * 1.0)
    system = joint_system(set(FULL), {**by_town, **of_trade}, secret, FULL, combined=[told])
    found = joint_intervals(system, 3, 0, Deadline(10.0))
    assert found.narrow.tolist() == [True, True]
    assert found.lowest == pytest.approx([3, 4], abs=1e-4)
    assert found.highest == pytest.approx([3, 4], abs=1e-4)
    assert told.told_by in {system.published[row] for row in told_by(found, 0)}
    without = joint_system(set(FULL), {**by_town, **of_trade}, secret, FULL)
    assert not joint_intervals(without, 3, 0, Deadline(10.0)).narrow.any()


def test_the_audit_of_a_history_says_which_sums_of_weights_tell_a_count():
    people = np.array([1, 2, 3, 4, 5, 6] * 3)
    secret = [box(age=1, town=1), box(age=1, town=2)]
    counts = {cell: int(people @ inside(cell)) for cell in (box(), box(age=1), box(age=1, town=4))}
    published = [(cell, Counts(amount, amount)) for cell, amount in counts.items()]
    (told, _), _ = weighed(people, [box(age=1), box()])
    boxes_of_all = JointBoxes().grown(published, secret).combining([told])
    assert boxes_of_all.combined_within({"age", "town"}) == [told]
    assert boxes_of_all.combined_within({"age"}) == []
    assert not boxes_of_all.without({"town"}).combined
    found = audit_history(boxes_of_all, FULL, 3, 0, 5_000, Deadline(10.0))
    assert [one.standing for one in found] == [Standing.REFUTED, Standing.REFUTED]
    terms = {term.box: term for term in (*found[0].below, *found[0].above)}
    assert terms[told.told_by].amount == pytest.approx(told.total)
    assert sum(term.factor * term.amount for term in found[0].above) == pytest.approx(
        found[0].highest, abs=1e-4
    )
    without = JointBoxes().grown(published, secret)
    assert {one.standing for one in audit_history(without, FULL, 3, 0, 5_000, Deadline(10.0))} == {
        Standing.PROVED
    }


def test_what_was_only_not_found_in_whole_numbers_is_not_called_refuted(monkeypatch):
    people = np.array([3, 2, 3, 4, 5, 6] * 3)
    secret = [box(age=1, town=town) for town in (1, 2, 4)]
    counts = {cell: int(people @ inside(cell)) for cell in (box(), box(age=1))}
    published = [(cell, Counts(amount, amount)) for cell, amount in counts.items()]
    sums, _ = weighed(people, [box(age=1)])
    known = JointBoxes().grown(published, secret).combining(sums)
    found = audit_history(known, FULL, 3, 0, 5_000, Deadline(10.0))
    assert {one.standing for one in found} == {Standing.REFUTED}
    monkeypatch.setattr(joint_whole, "FEW", 0)
    found = audit_history(known, FULL, 3, 0, 5_000, Deadline(10.0))
    assert {one.standing for one in found} == {Standing.UNPROVED}


def test_of_three_towns_whole_numbers_are_told_though_amounts_are_not():
    secret = [box(age=1, town=town) for town in (1, 2, 4)]
    weights = tuple(zip(secret, (103.37, 117.91, 131.05), strict=True))
    told = CombinedSum(((("weights"), 1),), weights, 5 * 103.37 + 4 * 117.91 + 9 * 131.05)
    known = {box(age=1): 18, box(): 90}
    system = joint_system(set(FULL), known, secret, FULL, combined=[told])
    found = joint_intervals(system, 3, 0, Deadline(10.0))
    assert found.narrow.all()
    assert found.lowest.tolist() == found.highest.tolist() == [5, 4, 9]
    assert told.told_by in {system.published[row] for row in told_by(found, 0)}
    # Weights of whole tens leave others: one of 100 and one of 120 are two of 110.
    weights = tuple(zip(secret, (100.0, 110.0, 120.0), strict=True))
    told = CombinedSum(((("weights"), 1),), weights, 5 * 100 + 4 * 110 + 9 * 120)
    system = joint_system(set(FULL), known, secret, FULL, combined=[told])
    found = joint_intervals(system, 3, 0, Deadline(10.0))
    assert not found.narrow.any()
    assert not found.unproved.any()
    assert (found.highest - found.lowest >= 3).all()


def test_a_rounded_sum_tells_as_little_as_its_room_leaves():
    secret = [box(age=1, town=1), box(age=1, town=2)]
    weights = ((secret[0], 10.0), (secret[1], 2.5))
    for room, narrow in ((0.05, True), (20.0, False)):
        told = CombinedSum(((("weights"), 1),), weights, 10.0 * 10 + 2.5 * 9, room)
        system = joint_system(set(FULL), {box(age=1, town=3): 19}, secret, FULL, combined=[told])
        found = joint_intervals(system, 3, 0, Deadline(10.0))
        assert found.narrow.tolist() == [narrow, narrow]


def test_a_share_of_a_group_whose_size_nobody_knows_tells_once_its_size_is_told():
    ill, asked = box(sex=1, town=1), box(town=1)
    share = CombinedSum(((("share"), 1),), ((ill, 1.0), (asked, -5 / 24)), 0.0)
    before = joint_system(set(FULL), {box(): 100}, [ill], FULL, combined=[share])
    assert not joint_intervals(before, 3, 0, Deadline(10.0)).narrow.any()
    after = joint_system(set(FULL), {box(): 100, asked: 24}, [ill], FULL, combined=[share])
    found = joint_intervals(after, 3, 0, Deadline(10.0))
    assert found.narrow.all()
    assert found.lowest == pytest.approx([5], abs=1e-4)


def test_factors_are_whole_numbers_of_their_last_decimal_place():
    town, other = (("town", 1),), (("town", 2),)
    assert whole_factors([(town, 3.0), (other, 10.0)]) == ((town, 3), (other, 10))
    assert whole_factors([(town, 2.5), (other, 303.25)]) == ((town, 250), (other, 30325))
    assert whole_factors([(town, 1.0), (other, 1 / 3)]) == ()
