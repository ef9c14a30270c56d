"""What is shown over all variables at once: held against another program over every single code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables.combinations import Combinations
from sdcgate.methods.tables.joint_boxes import Counts, JointBoxes
from sdcgate.methods.tables.joint_history import Standing, audit_history
from sdcgate.methods.tables.joint_witnesses import Everything, wide_over_everything
from sdcgate.methods.tables.solver import Deadline
from three_variables import CODES, FULL, bounds, box, boxes, inside


def combinations(people):
    """The joint codes that somebody has."""
    return Combinations(tuple(FULL), np.array(CODES)[np.array(people) > 0].reshape(-1, len(FULL)))


def shown_wide(published, secret, people, limits=None, width=3, floor=0, seconds=10.0, held=None):
    """`held` is how many are said to have each of the joint codes that somebody has, if anything is."""
    known = Everything(published, limits or {}, secret, np.full(len(secret), float(width)), floor)
    amounts = None if held is None else np.array(held, dtype=np.float64)[np.array(people) > 0]
    rng, until = np.random.default_rng(1), Deadline(seconds)
    return wide_over_everything(known, combinations(people), rng, until, amounts)


def apart(low, high):
    return np.floor(high + 1e-6) - np.ceil(low - 1e-6)


@settings(max_examples=80, deadline=None)
@given(
    people=st.lists(st.integers(0, 4), min_size=18, max_size=18).filter(any),
    shown=st.lists(boxes(), min_size=1, max_size=10, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=7, unique=True),
    small=st.dictionaries(boxes(), st.integers(0, 3), max_size=3),
    truth=st.sampled_from(["not known", "known", "wrong"]),
)
def test_only_what_another_program_finds_wide_is_shown_to_be_and_nearly_all_of_it(
    people, shown, hidden, small, truth
):
    published = {cell: int(np.array(people) @ inside(cell)) for cell in [*shown, box()]}
    limits = {cell: int(np.array(people) @ inside(cell)) + more for cell, more in small.items()}
    limits = {cell: most for cell, most in limits.items() if cell not in published}
    secret = [cell for cell in hidden if cell not in published]
    held = {"not known": None, "known": people, "wrong": [2 * many for many in people]}[truth]
    found = shown_wide(published, secret, people, limits, held=held)
    expected = np.array([apart(*bounds(published, cell, limits=limits)) >= 3 for cell in secret], dtype=bool)
    assert not (found & ~expected).any()
    # Codes are taken from other people: all can be reached where half of the joint codes occur.
    if np.count_nonzero(people) > 9:
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("known", [False, True])
def test_codes_that_nobody_has_are_taken_in_where_they_are_needed(known):
    # The only two who there are differ in everything: without others nothing could move.
    people = [0] * 18
    people[0], people[17] = 8, 8
    published, held = {box(): 16, box(age=1): 8, box(sex=1): 8}, people if known else None
    assert shown_wide(published, [box(age=1, sex=1)], people, held=held).tolist() == [True]


@pytest.mark.parametrize("known", [False, True])
def test_what_a_published_zero_forbids_stays_forbidden(known):
    people = [0] * 18
    people[0], people[17] = 8, 8
    published = {box(): 16, box(age=1): 8, box(sex=1): 8, box(age=1, sex=2): 0}
    held = people if known else None
    assert shown_wide(published, [box(age=1, sex=1)], people, held=held).tolist() == [False]


def test_what_is_known_not_to_be_empty_bounds_what_is_beside_it():
    people = [0] * 18
    people[0], people[3], people[6], people[9] = 2, 1, 1, 6
    published = {box(): 10, box(age=1): 3}
    secret = [box(age=1, sex=1), box(age=1, sex=2)]
    for held in (None, people):
        assert shown_wide(published, secret, people, width=2, floor=0, held=held).all()
        assert not shown_wide(published, secret, people, width=2, floor=1, held=held).any()


def test_without_time_nothing_is_shown():
    published = {box(): 30}
    for held in (None, [1] * 18):
        assert not shown_wide(published, [box(age=1)], [1] * 18, seconds=0.0, held=held).any()


@pytest.mark.parametrize("known", [False, True])
def test_of_codes_that_lie_in_no_box_nothing_is_shown(known):
    people = [0] * 18
    people[0] = 4
    held = people if known else None
    assert shown_wide({}, [box(age=2)], people, held=held).tolist() == [False]
    assert shown_wide({box(): 0}, [box(age=2)], people, held=held).tolist() == [False]
    assert shown_wide({box(): 4}, [box(age=2)], [0] * 18, held=[0] * 18 if known else None).tolist() == [
        False
    ]


def test_a_history_is_proved_over_all_variables_where_few_do_not_settle_it():
    people = [2] * 18
    published = {
        cell: int(np.array(people) @ inside(cell))
        for cell in (box(), box(age=1), box(sex=1), box(town=1, sex=1), box(age=1, town=1))
    }
    history = JointBoxes().grown(
        ((cell, Counts(count, 0)) for cell, count in published.items()), [box(age=1, sex=1)]
    )
    within = audit_history(history, FULL, 3, 0, 4, Deadline(10.0))
    assert [one.standing for one in within] == [Standing.WIDE]
    asked = []

    def occurring(variables):
        asked.append(variables)
        return combinations(people)

    over_all = audit_history(history, FULL, 3, 0, 4, Deadline(10.0), occurring=occurring)
    assert [(one.standing, one.variables) for one in over_all] == [(Standing.PROVED, set(FULL))]
    assert asked == [("age", "sex", "town")]
