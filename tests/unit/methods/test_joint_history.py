"""What stands of every box that was ever withheld, with the arithmetic where it is told."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables import joint_history
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.joint_boxes import Counts, JointBoxes
from sdcgate.methods.tables.joint_history import Standing, audit_history
from sdcgate.methods.tables.joint_intervals import joint_intervals
from sdcgate.methods.tables.solver import Deadline
from three_variables import CODES, FULL, box, boxes, inside


def audited(published, secret, seconds=10.0, most=100):
    boxes = JointBoxes().grown(((cell, Counts(count, 0)) for cell, count in published.items()), secret)
    found = audit_history(boxes, FULL, 3, 0, most, Deadline(seconds))
    return {one.box: one for one in found}


def test_a_box_that_others_bound_is_refuted_with_sums_that_add_up_to_its_bounds():
    published = {box(): 30, box(age=1): 28, box(sex=1): 27}
    found = audited(published, [box(age=1, sex=1)])[box(age=1, sex=1)]
    assert (found.standing, found.lowest, found.highest) == (Standing.REFUTED, 25.0, 27.0)
    for terms, bound in ((found.below, 25), (found.above, 27)):
        assert sum(term.factor * term.amount for term in terms) == bound
    assert {term.box for term in found.below} == {box(), box(age=1), box(sex=1)}


def test_a_most_that_a_refusal_told_stands_in_the_arithmetic_as_such():
    known = [(box(), Counts(30, 30)), (box(age=1), Counts(28, 28))]
    boxes = JointBoxes().grown(known, [box(age=1, sex=1)]).limited(box(sex=2), 1)
    (found,) = audit_history(boxes, FULL, 3, 0, 100, Deadline(10.0))
    assert (found.standing, found.lowest, found.highest) == (Standing.REFUTED, 27.0, 28.0)
    assert {(term.box, term.factor, term.amount, term.at_most) for term in found.below} == {
        (box(age=1), 1.0, 28.0, False),
        (box(sex=2), -1.0, 1.0, True),
    }


def test_an_empty_box_stands_in_the_arithmetic():
    found = audited({box(): 9, box(age=1): 7, box(age=2): 0}, [box(age=4)])[box(age=4)]
    arithmetic = {box(): 1, box(age=1): -1, box(age=2): -1}
    assert {term.box: term.factor for term in found.above} == arithmetic
    assert {term.box: term.factor for term in found.below} == arithmetic
    assert (found.lowest, found.highest) == (2.0, 2.0)


def test_what_is_wide_with_all_that_touches_it_is_proved():
    published = {box(): 30, box(age=1): 15, box(sex=1): 14, box(town=1): 9}
    assert audited(published, [box(age=1, sex=1)])[box(age=1, sex=1)].standing is Standing.PROVED


def test_what_is_wide_within_some_variables_of_those_that_touch_it_is_only_that():
    published = {box(): 30, box(age=1): 15, box(sex=1): 14, box(town=1, sex=1): 9}
    found = audited(published, [box(age=1, sex=1)], most=4)[box(age=1, sex=1)]
    assert (found.standing, found.variables) == (Standing.WIDE, {"age", "sex"})


def test_what_more_variables_refute_is_refuted():
    published = {
        box(): 20,
        box(age=1): 15,
        box(sex=1): 15,
        box(age=1, town=1): 10,
        box(age=1, sex=1, town=1): 9,
    }
    published |= {box(age=1, sex=1, town=6): 1}
    found = audited(published, [box(age=1, sex=1)])[box(age=1, sex=1)]
    assert (found.standing, found.lowest, found.highest) == (Standing.REFUTED, 10.0, 10.0)


def test_without_time_everything_is_unproved():
    found = audited({box(): 30, box(age=1): 28}, [box(age=2)], seconds=0.0)
    assert found[box(age=2)].standing is Standing.UNPROVED


def test_a_box_that_left_later_is_withheld_no_more():
    assert audited({box(): 30, box(age=1): 28}, [box(age=1)]) == {}


def test_a_refuted_box_is_explained_once_however_many_variables_it_is_looked_at_with(monkeypatch):
    explained = []

    def counting(system, *rest):
        explained.append(system.secret.shape[0])
        return joint_intervals(system, *rest)

    monkeypatch.setattr(joint_history, "joint_intervals", counting)
    published = {box(): 90, box(age=1): 50, box(age=4): 38, box(sex=1): 40, box(town=1): 30}
    hidden = [box(age=2), box(age=1, sex=1), box(age=1, town=1)]
    found = audited(published, hidden, most=4)
    assert found[box(age=2)].standing is Standing.REFUTED
    assert found[box(age=2)].variables == {"age"}
    assert {found[one].variables for one in hidden[1:]} == {
        frozenset({"age", "sex"}),
        frozenset({"age", "town"}),
    }
    assert explained == [1]


def test_units_are_looked_at_where_they_are_asked_for():
    counts = {box(): Counts(60, 30), box(age=1): Counts(48, 28), box(sex=1): Counts(40, 27)}
    boxes = JointBoxes().grown(counts.items(), [box(age=1, sex=1)])
    (by_records,) = audit_history(boxes, FULL, 13, 0, 100, Deadline(10.0))
    (by_units,) = audit_history(boxes, FULL, 13, 0, 100, Deadline(10.0), units=True)
    assert by_records.standing is Standing.REFUTED
    assert (by_records.lowest, by_records.highest) == (28.0, 40.0)
    assert (by_units.lowest, by_units.highest) == (25.0, 27.0)


@settings(max_examples=60, deadline=None)
@given(
    people=st.lists(st.integers(0, 6), min_size=18, max_size=18).filter(any),
    shown=st.lists(boxes(), min_size=1, max_size=8, unique=True),
    hidden=st.lists(boxes(), min_size=1, max_size=6, unique=True),
    most=st.sampled_from([4, 100]),
)
def test_what_people_have_in_truth_helps_to_find_it_and_changes_nothing(people, shown, hidden, most):
    counts = {cell: int(np.array(people) @ inside(cell)) for cell in [*shown, box()]}
    history = JointBoxes().grown(((cell, Counts(count, 0)) for cell, count in counts.items()), hidden)
    asked = []

    def held(variables):
        asked.append(variables)
        names = sorted(variables)
        place = [list(FULL).index(name) for name in names]
        codes = np.array(CODES)[:, place].reshape(len(CODES), len(names))
        return Held(Combinations(tuple(names), codes), np.array(people, dtype=np.float64))

    found, begun = (
        audit_history(history, FULL, 3, 0, most, Deadline(10.0), held=truth)
        for truth in (lambda _: None, held)
    )
    assert [(one.box, one.standing, one.lowest, one.highest) for one in begun] == [
        (one.box, one.standing, one.lowest, one.highest) for one in found
    ]
    assert bool(asked) is bool(found)
