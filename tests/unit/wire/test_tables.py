import dataclasses
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.cells import Axis, Contributors, Facts, MeasureFacts, number_of_cells
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.witnesses import Witnesses
from sdcgate.wire import protection, tables
from sdcgate.wire.dimensions import axes_from_messages, axes_to_messages
from sdcgate.wire.problems import InvalidMessageError
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb


def facts(count=6, ranks=2, **changes):
    each = np.arange(1, count + 1)
    measure = MeasureFacts(
        name="income",
        sums=each * 10.5,
        valid_records=each,
        valid_units=each,
        largest=np.ones((count, ranks)),
        absolute_sums=each * 10.5,
        minima=each * 1.0,
        maxima=each * 2.0,
        lower_bound=0.0,
        lacking_units=each - 1,
    )
    columns = {"units": each, "records": each * 2, "households": each * 0.5, "measures": (measure,)}
    return Facts(**{**columns, **changes})


def paths(caught):
    return {problem.path for problem in caught.value.problems}


def test_facts_come_back_as_they_went_and_secret_marks_stay():
    sent = facts(marks=np.arange(6))
    message = tables.facts_to_message(sent)
    read = tables.facts_from_message(message, 6)
    assert np.array_equal(read.units, sent.units)
    assert np.array_equal(read.records, sent.records)
    assert np.array_equal(read.households, sent.households)
    assert read.weight_sums is None
    assert read.marks is None
    (measure,) = read.measures
    assert measure.largest.shape == (6, 2)
    assert np.array_equal(measure.sums, sent.measures[0].sums)
    assert np.array_equal(measure.lacking_units, sent.measures[0].lacking_units)
    assert measure.lower_bound == 0.0
    assert measure.upper_bound is None


def test_contributions_of_all_kinds_come_back_as_they_went():
    rows = np.arange(12.0).reshape(6, 2)
    sent = facts()
    measure = dataclasses.replace(
        sent.measures[0],
        unwaived_largest=rows,
        shifted=Contributors(rows + 1, np.arange(6.0), rows + 2),
        weighted=Contributors(rows + 3, np.arange(6.0) + 1, variances=np.arange(6.0)),
        valid_holdings=np.arange(6),
    )
    zeros = np.array([False, True, False, False, False, True])
    sent = dataclasses.replace(sent, measures=(measure,), holdings=np.arange(6), structural_zeros=zeros)
    message = tables.facts_to_message(sent)
    read = tables.facts_from_message(message, 6)
    assert tables.facts_to_message(read) == message
    assert read.structural_zeros.tolist() == zeros.tolist()
    (again,) = read.measures
    assert again.shifted.unwaived.tolist() == (rows + 2).tolist()
    assert again.weighted.unwaived is None
    assert again.weighted.variances.tolist() == [0, 1, 2, 3, 4, 5]


def test_contributions_of_a_wrong_length_are_named_with_all_else():
    message = tables.facts_to_message(facts())
    message.structural_zeros.extend([1, 6])
    measure = message.measures[0]
    measure.unwaived_largest.extend([1.0] * 11)
    measure.shifted.totals.extend([1.0] * 5)
    measure.weighted.unwaived.extend([float("nan")] * 12)
    with pytest.raises(InvalidMessageError) as caught:
        tables.facts_from_message(message, 6)
    assert paths(caught) == {
        "facts.structural_zeros",
        "facts.measures[0].unwaived_largest",
        "facts.measures[0].shifted.totals",
        "facts.measures[0].weighted.unwaived",
    }


def test_columns_that_are_not_known_stay_unknown():
    message = tables.facts_to_message(facts())
    for name in ("largest", "absolute_sums", "minima", "maxima", "lacking_units"):
        message.measures[0].ClearField(name)
    message.measures[0].ranks = 0
    message.ClearField("households")
    read = tables.facts_from_message(message, 6)
    (measure,) = read.measures
    assert measure.largest.size == measure.absolute_sums.size == measure.minima.size == 0
    assert measure.lacking_units is None
    assert read.households is None
    again = tables.facts_to_message(read)
    assert again == message


def test_all_wrong_columns_are_named():
    message = tables.facts_to_message(facts())
    message.units[0] = -1
    message.records.append(3)
    message.households[2] = np.nan
    message.measures[0].sums.pop()
    message.measures[0].largest.append(1.0)
    message.measures[0].maxima[0] = np.inf
    message.measures[0].upper_bound = -1.0
    with pytest.raises(InvalidMessageError) as caught:
        tables.facts_from_message(message, 6)
    assert paths(caught) == {
        "facts.units",
        "facts.records",
        "facts.households",
        "facts.measures[0].sums",
        "facts.measures[0].largest",
        "facts.measures[0].maxima",
        "facts.measures[0].lower_bound",
    }


def test_problems_name_no_figure():
    message = tables.facts_to_message(facts(units=np.array([777001] * 6)))
    with pytest.raises(InvalidMessageError) as caught:
        tables.facts_from_message(message, 6)
    assert "777" not in str(caught.value)


def test_positions_must_be_cells_and_stand_once():
    assert tables.mask([1, 2], 4, "known").tolist() == [False, True, True, False]
    for wrong in ([4], [1, 1]):
        with pytest.raises(InvalidMessageError) as caught:
            tables.mask(wrong, 4, "known")
        assert paths(caught) == {"known"}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=0, max_size=3), st.booleans())
def test_any_shape_of_table_comes_back(sizes, with_cells):
    axes = tuple(
        Axis(f"v{i}", "l", tuple(f"{c}" for c in range(size)), (-1,) * size) for i, size in enumerate(sizes)
    )
    messages = axes_to_messages(axes, with_cells)
    assert axes_from_messages(messages)[0] == axes
    count = number_of_cells(axes)
    read = tables.facts_from_message(tables.facts_to_message(facts(count)), count)
    assert np.array_equal(read.records, facts(count).records)


def test_a_problem_and_its_witnesses_come_back_as_they_went():
    axes = (Axis("a", "a", ("1", "2", "_T"), (2, 2, -1)),)
    counts = np.array([2, 3, 5])
    problem = Problem(
        axes=axes,
        facts=Facts(units=counts, records=counts),
        units_additive=True,
        count_width=3,
        sum_width=0.1,
        zeros_withheld=False,
        records_per_unit=1,
        known=np.array([False, False, True]),
        absent=np.array([False, True, False]),
        known_sums=(np.array([0, 1]),),
        costs=np.array([1.5, 2.0, 9.0]),
    )
    request = pb.ProtectTableRequest(
        problem=protection.problem_to_message(problem), unsafe=[1], time_limit_ms=1
    )
    table = protection.table_to_protect(request)
    assert table.cells.tolist() == [False, True, False]
    assert table.unchecked == ()
    read = table.problem
    assert read.axes == axes
    assert read.known.tolist() == problem.known.tolist()
    assert read.absent.tolist() == problem.absent.tolist()
    assert [sums.tolist() for sums in read.known_sums] == [[0, 1]]
    assert read.prices.tolist() == [1.5, 2.0, 9.0]
    assert (read.units_additive, read.count_width, read.sum_width, read.records_per_unit) == (True, 3, 0.1, 1)
    witnesses = Witnesses(
        np.array([0, 1]),
        np.array([[1, 4], [3, 2]]),
        np.array([[1, 4], [3, 2]]),
        np.arange(4.0).reshape(1, 2, 2),
    )
    back = protection.witnesses_from_message(protection.witnesses_to_message(witnesses), 1)
    assert np.array_equal(back.records, witnesses.records)
    assert np.array_equal(back.sums, witnesses.sums)


def test_witnesses_of_wrong_length_are_refused():
    message = protection.witnesses_to_message(
        Witnesses(np.array([0]), np.array([[1]]), np.array([[1]]), np.zeros((0, 1, 1)))
    )
    message.tables = 7
    with pytest.raises(InvalidMessageError) as caught:
        protection.witnesses_from_message(message, 0)
    assert paths(caught) == {"witnesses.records", "witnesses.units"}


def test_a_proof_that_is_not_known_is_unproved():
    assert protection.proof_from_message(1) is protection.Proof.PROVED
    assert protection.proof_from_message(7) is protection.Proof.UNPROVED


def test_a_hundred_thousand_cells_are_read_in_milliseconds():
    wide = Axis("a", "a", tuple(map(str, range(100_000))), (-1,) * 100_000)
    message = tables.facts_to_message(facts(number_of_cells((wide,)), measures=()))
    began = time.process_time()
    tables.facts_from_message(message, 100_000)
    assert time.process_time() - began < 0.1
