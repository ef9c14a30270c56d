"""Tables of groups apart are looked at apart, and that loses nothing."""

from itertools import product

import numpy as np
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables.boxes import make_box
from sdcgate.methods.tables.joint_boxes import Counts, JointBoxes
from sdcgate.methods.tables.joint_intervals import joint_bounds, joint_intervals
from sdcgate.methods.tables.joint_reduction import Question
from sdcgate.methods.tables.joint_scopes import scopes
from sdcgate.methods.tables.joint_system import joint_system
from sdcgate.methods.tables.solver import Deadline

FULL = {"age": 0b11, "sex": 0b11, "town": 0b1111}
CODES = list(product(range(2), range(2), range(4)))
DOMAIN = frozenset(FULL)


def box(**masks):
    return make_box(masks.items(), FULL)


def inside(cell):
    masks = {**FULL, **dict(cell)}
    return np.array([all(masks[n] >> c & 1 for n, c in zip(FULL, codes, strict=True)) for codes in CODES])


def table(town, **filters):
    """The cells of a table of age by sex in a town, totals and all."""
    cells = [box(town=town, age=a, sex=s, **filters) for a in (1, 2, 3) for s in (1, 2, 3)]
    return list(dict.fromkeys(cells))


def known(published, secret, limits=()):
    boxes = JointBoxes().grown(((cell, Counts(count, count)) for cell, count in published.items()), secret)
    for cell in limits:
        boxes = boxes.limited(cell, limits[cell])
    return boxes


def narrow(scope, fresh, width, floor):
    """Secrets that fresh boxes make narrow, within a scope."""
    of = scope.domain, scope.published, scope.secrets, scope.full
    system = joint_system(*of, told_apart=fresh, limits=scope.limits)
    question = Question(
        np.ones(len(scope.secrets), dtype=np.bool_),
        np.array([shown in fresh for shown in system.published], dtype=np.bool_),
        np.zeros(len(scope.secrets), dtype=np.bool_),
    )
    found = joint_bounds(system, width, floor, Deadline(10.0), question)
    assert not found.unproved.any()
    return {scope.secrets[place] for place in np.flatnonzero(found.narrow)}


def all_narrow(published, secrets, width, floor, limits):
    limits = {cell: most for cell, most in limits.items() if cell not in published}
    system = joint_system(DOMAIN, published, secrets, FULL, limits=limits)
    found = joint_intervals(system, width, floor, Deadline(10.0))
    return {secrets[place] for place in np.flatnonzero(found.narrow)}


some_towns = st.sampled_from([1, 2, 4, 8, 3, 6, 12, 7, 14])


@settings(max_examples=150, deadline=None)
@given(
    people=st.lists(st.integers(1, 5), min_size=16, max_size=16),
    towns=st.lists(some_towns, min_size=1, max_size=3),
    coarse=st.lists(some_towns, max_size=3),
    left_out=st.lists(st.integers(0, 8), max_size=4),
    everybody=st.booleans(),
    floor=st.integers(0, 1),
    small=st.dictionaries(st.tuples(some_towns, st.integers(1, 3)), st.integers(0, 2), max_size=2),
)
def test_what_a_table_of_a_group_tells_is_told_by_its_scopes(
    people, towns, coarse, left_out, everybody, floor, small
):
    *earlier, town = towns
    withheld = [cells[place] for cells in map(table, towns) for place in left_out if place < len(cells)]
    shown = [cell for asked in earlier for cell in table(asked)] + [box(town=mask) for mask in coarse]
    shown += [box()] if everybody else []
    old = {cell: int(np.array(people) @ inside(cell)) for cell in shown if cell not in withheld}
    published = old | {
        cell: int(np.array(people) @ inside(cell)) for cell in table(town) if cell not in withheld
    }
    fresh = published.keys() - old.keys()
    assume(fresh)
    limited = {box(town=where, age=age): more for (where, age), more in small.items()}
    limits = {cell: int(np.array(people) @ inside(cell)) + more for cell, more in limited.items()}
    secrets = known(published, withheld).secrets_within(DOMAIN)
    found = scopes(known(published, withheld, limits), DOMAIN, FULL, {"town": town}, fresh)
    event(f"{len(found)} scopes")
    told = {secret for scope in found for secret in narrow(scope, fresh, 4, floor)}
    before = all_narrow(old, secrets, 4, floor, limits)
    assert told - before == all_narrow(published, secrets, 4, floor, limits) - before


def of(published, group, fresh, secret=()):
    return scopes(known(dict.fromkeys(published, 20), secret), DOMAIN, FULL, group, set(fresh))


def test_of_groups_apart_only_the_new_one_is_looked_at_in_detail():
    new = table(2)
    inner, outer = of([*table(1), *new, box()], {"town": 2}, new, [box(town=1, age=1), box(town=2, sex=1)])
    assert set(inner.published) == set(new)
    assert inner.full["town"] == 2
    assert set(outer.published) == {box(), box(town=1), box(town=2)}
    assert outer.domain == {"town"}


def test_a_table_over_groups_is_looked_at_with_them():
    for across in (box(age=1), box(town=3, age=1)):
        assert len(of([*table(1), *table(2), across], {"town": 2}, table(2))) == 1


def test_a_group_whose_count_is_not_known_is_looked_at_with_the_others():
    new = [cell for cell in table(2) if cell != box(town=2)]
    assert len(of([*table(1), *new], {"town": 2}, new)) == 1
    assert len(of([*table(1), *table(2)], {"town": 2}, table(2))) == 2
    others = [cell for cell in table(1) if cell != box(town=1)]
    assert len(of([*others, *table(2)], {"town": 2}, table(2))) == 1


def test_a_group_that_counts_cut_or_that_is_new_itself_is_looked_at_with_the_others():
    assert len(of([*table(3), *table(4)], {"town": 4}, table(4))) == 2
    assert len(of([*table(3), *table(4), box(town=1)], {"town": 4}, table(4))) == 1
    assert len(of([*table(3), *table(4)], {"town": 4}, [*table(4), box(town=3)])) == 1
