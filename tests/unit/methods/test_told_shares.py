"""Shares of groups whose size nobody knows: what they tell once something is counted."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdcgate.methods.tables.joint_boxes import RECORDS, UNITS, Counts, JointBoxes
from sdcgate.methods.tables.joint_domain import joint_domain
from sdcgate.methods.tables.joint_intervals import joint_bounds
from sdcgate.methods.tables.joint_scopes import scopes
from sdcgate.methods.tables.joint_system import joint_system
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.told_shares import Share, settled
from three_variables import CODES, FULL, box, boxes, inside

ILL, ANSWERING = box(sex=1, town=1), box(town=1)
DOMAIN = frozenset(FULL)


def share(part, whole, counts, half):
    """That part of a whole, told up to half a unit of its last digit."""
    told = counts[part] / counts[whole]
    return Share(part, whole, max(told - half, 0.0), told + half, counts[whole])


def known(counts, secret=(), told=RECORDS):
    shown = ((cell, Counts(count, count, told)) for cell, count in counts.items())
    return JointBoxes().grown(shown, secret)


def test_a_share_tells_the_part_of_a_whole_that_is_counted_and_the_whole_of_a_part():
    of_town = Share(ILL, ANSWERING, 0.2075, 0.2085, 24)
    assert settled({ANSWERING: 24}, [of_town]) == ({ILL: 5}, [])
    # 20.8% of 24 are 5; 5 are 20.8% of 24 only, and 10 of 48 only.
    assert settled({ILL: 5}, [of_town]) == ({ANSWERING: 24}, [])
    assert settled({ILL: 10}, [of_town]) == ({ANSWERING: 48}, [])
    assert settled({}, [of_town]) == ({}, [of_town])


def test_rounding_leaves_more_than_one_number_of_a_large_whole():
    of_all = Share(ILL, ANSWERING, 0.2075, 0.2085, 24_000)
    assert settled({ANSWERING: 24_000}, [of_all]) == ({}, [of_all])
    assert settled({ILL: 5_000}, [of_all]) == ({}, [of_all])


def test_a_share_of_nothing_tells_that_nobody_is_there_where_it_is_not_rounded():
    assert settled({}, [Share(ILL, ANSWERING, 0.0, 0.0, 24)])[0] == {ILL: 0}
    rounded = Share(ILL, ANSWERING, 0.0, 0.0005, 24)
    assert settled({}, [rounded]) == ({}, [rounded])
    assert settled({ANSWERING: 24}, [rounded])[0] == {ILL: 0}
    assert settled({ILL: 0}, [rounded]) == ({}, [rounded])


def test_what_a_share_tells_tells_others():
    young = box(age=1, town=1)
    shares = [Share(ILL, ANSWERING, 0.2075, 0.2085, 24), Share(young, ANSWERING, 0.4995, 0.5005, 24)]
    assert settled({ILL: 5}, shares) == ({ANSWERING: 24, young: 12}, [])


@settings(max_examples=200, deadline=None)
@given(
    whole=st.integers(1, 400),
    part=st.integers(0, 400),
    digits=st.integers(1, 4),
    of_part=st.booleans(),
)
def test_a_count_is_told_exactly_where_no_other_has_that_share(whole, part, digits, of_part):
    assume(part <= whole)
    half, exact = Fraction(1, 2 * 10**digits), Fraction(part, whole)
    middle = Fraction(round(exact * 10**digits), 10**digits)
    low, high = max(middle - half, Fraction(0)), middle + half
    told = Share(ILL, ANSWERING, float(low), float(high), whole)
    found, _ = settled({ILL: part} if of_part else {ANSWERING: whole}, [told])
    if of_part:
        # Wholes far above have another share of a part that is not nobody.
        fitting = [n for n in range(2_000) if low * n <= part <= high * n]
        one = part > 0 and low > 0 and part / low < 2_000 and len(fitting) == 1
        assert found == ({ANSWERING: whole} if one else {}) or (part and low and part / low >= 2_000)
    else:
        fitting = [n for n in range(whole + 2) if low * whole <= n <= high * whole]
        assert found == ({ILL: part} if len(fitting) == 1 else {})


def scipy_bounds(counts, shares, secret, floors=()):
    """The least and the greatest count of a box, by SciPy, every share as two inequalities."""
    equal = np.array([inside(cell) for cell in counts], dtype=float)
    most = [inside(one.part) - one.high * inside(one.whole) for one in shares]
    most += [one.low * inside(one.whole) - inside(one.part) for one in shares]
    most += [-inside(cell).astype(float) for cell in floors]
    right = np.concatenate([np.zeros(2 * len(shares)), -np.ones(len(floors))])
    ends = []
    for way in (1.0, -1.0):
        found = linprog(
            way * inside(secret), A_ub=np.array(most) if most else None, b_ub=right if most else None,
            A_eq=equal, b_eq=list(counts.values()), bounds=[(0, None)] * len(CODES),
            options={"presolve": False},
        )  # fmt: skip
        ends.append(-way * inf if found.status == 3 else found.fun * way)
        assert found.status in (0, 3), found.message
    return ends


@settings(max_examples=100, deadline=None)
@given(
    people=st.lists(st.integers(0, 6), min_size=18, max_size=18),
    shown=st.lists(boxes(), min_size=1, max_size=6, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=5, unique=True),
    pairs=st.lists(st.tuples(boxes(), boxes()), min_size=1, max_size=5, unique=True),
    data=st.data(),
)
def test_with_shares_a_count_is_narrow_exactly_where_another_program_bounds_it_so(
    people, shown, hidden, pairs, data
):
    people = np.array(people)
    counts = {
        cell: int(people @ inside(cell)) for cell in {*shown, box(), *(c for two in pairs for c in two)}
    }
    shares = [share(*pair, counts, 1e-9) for pair in pairs if counts[pair[1]] and pair[0] != pair[1]]
    published = {cell: counts[cell] for cell in [*shown, box()]}
    secret = [cell for cell in hidden if cell not in published]
    fresh = set(data.draw(st.lists(st.sampled_from(sorted(published)), max_size=2, unique=True)))
    both = known(published, secret).sharing(shares).with_shares(DOMAIN, fresh)
    assert all(count == int(people @ inside(cell)) for cell, count in both.within(DOMAIN).items())
    system = joint_system(DOMAIN, both.within(DOMAIN), secret, FULL, combined=both.combined_within(DOMAIN))
    found = joint_bounds(system, 3, 0, Deadline(10.0))
    assert not found.unproved.any()
    for place, cell in enumerate(secret):
        low, high = scipy_bounds(published, shares, cell)
        # Whole numbers that shares tell bound more than amounts do, never less.
        if np.floor(high + 1e-4) - np.ceil(low - 1e-4) < 3:
            assert found.narrow[place]
        elif not set(both.within(DOMAIN)) - set(published):
            assert not found.narrow[place]


def test_counts_that_shares_tell_are_told_by_records_and_not_by_units():
    seen_by_units = JointBoxes().grown([(ANSWERING, Counts(24, 20, UNITS))], ())
    of_town = Share(ILL, ANSWERING, 0.2075, 0.2085, 24)
    both = seen_by_units.grown([(ILL, Counts(5, 5, RECORDS))], ()).sharing([of_town])
    found = both.with_shares(DOMAIN, set())
    assert found.within(DOMAIN) == {ILL: 5, ANSWERING: 24}
    assert found.within(DOMAIN, units=True) == {ANSWERING: 20}
    assert not both.adding_up({"age"}, units=True).shares
    assert both.without({"sex"}).shares == {}


def test_what_is_fresh_tells_nothing_before():
    of_town = Share(ILL, ANSWERING, 0.2075, 0.2085, 24)
    boxes_with = known({box(): 100, ANSWERING: 24}, [ILL]).sharing([of_town])
    assert boxes_with.with_shares(DOMAIN, set()).within(DOMAIN)[ILL] == 5
    found = boxes_with.with_shares(DOMAIN, {ANSWERING})
    assert ILL not in found.within(DOMAIN)
    (one,) = found.combined_within(DOMAIN)
    assert one.parts == ((ILL, 1.0), (ANSWERING, pytest.approx(-0.208)))
    assert one.room == pytest.approx(0.0005 * 24)
    # Outside of what is looked at nothing of it is known.
    assert boxes_with.with_shares(frozenset({"town"}), set()) is boxes_with


ENDS = st.tuples(st.floats(0.1, 0.2), st.floats(0.2, 0.4))


@given(st.lists(ENDS, min_size=1, max_size=4))
def test_of_what_several_figures_told_of_the_same_two_boxes_nothing_is_forgotten(told):
    figures = [Share(ILL, ANSWERING, *ends, 24) for ends in told]
    at_once, one_by_one = JointBoxes().sharing(figures), JointBoxes()
    for figure in reversed(figures):
        one_by_one = one_by_one.sharing([figure])
    for found in (at_once, one_by_one):
        (kept,) = found.shares_within(DOMAIN)
        assert (kept.low, kept.high) == (max(low for low, _ in told), min(high for _, high in told))


def test_of_figures_that_rounding_sets_apart_the_closer_one_is_kept():
    close, loose = Share(ILL, ANSWERING, 0.2, 0.21, 24), Share(ILL, ANSWERING, 0.2101, 0.24, 24)
    for figures in ((close, loose), (loose, close)):
        assert JointBoxes().sharing(figures).shares_within(DOMAIN) == [close]


def test_variables_of_shares_are_looked_at():
    counted = known({box(): 100, box(age=1): 30}).sharing([Share(ILL, ANSWERING, 0.2, 0.3, 24)])
    assert joint_domain({"town"}, counted, FULL, 5_000) == {"town", "sex"}


@pytest.mark.parametrize("across", [False, True])
def test_shares_within_a_group_are_looked_at_with_it(across):
    here, there = [box(town=1, sex=1), box(town=1)], [box(town=2, sex=1), box(town=2)]
    counts = {box(): 100, here[1]: 24, there[1]: 30}
    part, whole = (here[0], box(sex=1)) if across else (here[0], box(town=1, age=1))
    elsewhere = Share(there[0], box(town=2, age=1), 0.3, 0.31, 15)
    shares = [Share(part, whole, 0.3, 0.31, 15), elsewhere]
    told = known(counts, [box(town=1, sex=2)]).sharing(shares).with_shares(DOMAIN, {here[0]})
    found = scopes(told, DOMAIN, FULL, {"town": 1}, {here[0]})
    if across:
        assert [len(scope.combined) for scope in found] == [2]
    else:
        inner, outer = found
        assert [one.parts[0][0] for one in inner.combined] == [part]
        assert outer.combined == []
