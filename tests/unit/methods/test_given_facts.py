"""What can be protected of a table of which only some facts are given, and what is said to be unchecked."""

from dataclasses import replace

import numpy as np
import pytest

from made_tables import axis, with_margins
from sdcgate.methods.cells import Axis, Facts, MeasureFacts
from sdcgate.methods.positions import FactsError
from sdcgate.methods.tables.given_facts import protectable, with_stand_ins

AXES = (axis("region", "12"), axis("size", "ab"))
NO_COUNTS = np.zeros(0, dtype=np.int64)
NONE = np.zeros(0)
UNITS = with_margins(np.array([[2, 9], [5, 7]]))
RECORDS = with_margins(np.array([[4, 9], [5, 17]]))
SUMS = with_margins(np.array([[50.0, 0.0], [-3.0, 3.0]]))


def measure(**given):
    columns = {
        name: NO_COUNTS if name.startswith("valid") else NONE
        for name in ("sums", "valid_records", "valid_units", "largest", "absolute_sums", "minima", "maxima")
    }
    return MeasureFacts("cost", **(columns | {"lower_bound": 0.0} | given))


def facts(units=NO_COUNTS, records=NO_COUNTS, *measures):
    return Facts(units, records, measures=measures)


def given(of, units_additive=True, records_per_unit=5):
    return protectable(AXES, of, units_additive, records_per_unit)


def needed(of, **how):
    with pytest.raises(FactsError) as caught:
        given(of, **how)
    return [problem.path for problem in caught.value.problems]


def test_with_both_counts_everything_is_as_it_was_given():
    found = given(facts(UNITS, RECORDS), units_additive=False)
    assert (found.unchecked, found.counted, found.units_additive, found.records_per_unit) == (
        (),
        True,
        False,
        5,
    )
    assert found.facts.units is UNITS
    assert found.facts.records is RECORDS


def test_units_alone_have_one_record_each_and_the_records_are_unchecked_where_there_may_be_more():
    found = given(facts(UNITS), records_per_unit=1)
    assert (found.unchecked, found.records_per_unit) == ((), 1)
    assert np.array_equal(found.facts.records, UNITS)
    found = given(facts(UNITS))
    assert (found.unchecked, found.records_per_unit) == (("records",), 1)


def test_units_alone_that_do_not_add_up_need_their_records():
    assert needed(facts(UNITS), units_additive=False) == ["facts"]
    assert given(facts(UNITS), units_additive=False, records_per_unit=1).unchecked == ()


def test_records_alone_leave_units_unchecked_where_a_unit_may_have_more():
    found = given(facts(NO_COUNTS, RECORDS), units_additive=False)
    assert (found.unchecked, found.units_additive, found.records_per_unit) == (("units",), True, 1)
    assert np.array_equal(found.facts.units, RECORDS)
    assert given(facts(NO_COUNTS, RECORDS), records_per_unit=1).unchecked == ()


def test_sums_alone_stand_on_counts_that_are_made_up_and_not_to_be_protected():
    found = given(facts(NO_COUNTS, NO_COUNTS, measure(sums=SUMS)))
    assert (found.unchecked, found.counted) == (("units", "records"), False)
    # A cell whose sum is 0 is empty, a total has what its parts have, whatever its own sum.
    assert found.facts.records.reshape(3, 3).tolist() == [[1, 0, 1], [1, 1, 2], [2, 1, 3]]
    assert np.array_equal(found.facts.measures[0].valid_records, found.facts.records)


def test_made_up_counts_follow_a_hierarchy():
    deep = Axis("a", "a", ("_T", "n", "n1", "n2", "s"), (-1, 0, 1, 1, 0))
    sums = np.array([9.0, 4.0, 4.0, 0.0, 5.0])
    found = protectable((deep,), facts(NO_COUNTS, NO_COUNTS, measure(sums=sums)), True, 1)
    assert found.facts.records.tolist() == [2, 1, 1, 0, 1]


def test_sums_alone_with_their_records_keep_them():
    valid = with_margins(np.array([[3, 1], [2, 2]]))
    one = measure(sums=SUMS, valid_records=valid, upper_bound=100.0)
    other = replace(one, name="income", upper_bound=None, valid_records=NO_COUNTS)
    found = given(facts(NO_COUNTS, NO_COUNTS, one, other))
    assert np.array_equal(found.facts.measures[0].valid_records, valid)
    assert np.array_equal(found.facts.records, valid + found.facts.measures[1].valid_records)
    assert found.unchecked == ("units", "records")


def test_bounds_of_a_record_need_to_know_how_many_records_there_are():
    for bounds in ({"upper_bound": 9.0}, {"lower_bound": -1.0}):
        alone = facts(NO_COUNTS, NO_COUNTS, measure(sums=SUMS, **bounds))
        assert needed(alone) == ["facts.measures[0]"]
        counted = facts(UNITS, RECORDS, measure(sums=SUMS, **bounds))
        assert given(counted).unchecked == ("valid_records of cost",)
    assert given(facts(UNITS, RECORDS, measure(sums=SUMS))).unchecked == ()


def test_units_that_have_a_measure_stand_for_its_records_where_each_has_one():
    of = facts(UNITS, NO_COUNTS, measure(sums=SUMS, valid_units=UNITS, upper_bound=9.0))
    assert given(of, records_per_unit=1).unchecked == ()
    assert given(of).unchecked == ("records", "valid_records of cost")


def test_measures_without_sums_and_without_bounds_are_unchecked():
    of = facts(UNITS, RECORDS, measure(), measure(sums=SUMS, lower_bound=None))
    found = given(of)
    assert found.unchecked == ("sums of cost", "bounds of cost")
    assert [m.sums.size for m in found.facts.measures] == [9]


def test_something_must_be_given():
    assert needed(facts()) == ["facts"]
    assert needed(facts(NO_COUNTS, NO_COUNTS, measure())) == ["facts"]


def test_absolute_sums_are_the_sums_where_nothing_is_negative():
    for bound, stands in ((0.0, True), (2.0, True), (-1.0, False), (None, False)):
        (found,) = with_stand_ins(facts(UNITS, RECORDS, measure(sums=SUMS, lower_bound=bound))).measures
        assert np.array_equal(found.absolute_sums, SUMS) == stands
    own = np.abs(SUMS)
    (found,) = with_stand_ins(facts(UNITS, RECORDS, measure(sums=SUMS, absolute_sums=own))).measures
    assert found.absolute_sums is own


def test_one_record_each_goes_for_those_who_have_a_measure_too():
    of = with_stand_ins(facts(UNITS, NO_COUNTS, measure(valid_units=UNITS), measure(valid_records=UNITS)))
    assert all(m.valid_units is UNITS and m.valid_records is UNITS for m in of.measures)
    of = with_stand_ins(facts(UNITS, RECORDS, measure(valid_units=UNITS)))
    assert of.measures[0].valid_records.size == 0
