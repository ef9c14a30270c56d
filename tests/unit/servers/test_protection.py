from dataclasses import replace

import grpc
import numpy as np
import pytest

from looked_at_clock import seconds_a_look
from protection_server import served_protection
from sdcgate.methods.cells import Axis, Facts
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.witnesses import verify
from sdcgate.servers import errors
from sdcgate.servers.protection import _seconds
from sdcgate.wire.protection import problem_to_message, witnesses_from_message
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb

AXES = tuple(Axis(name, name, ("1", "2", "3", "_T"), (3, 3, 3, -1)) for name in ("a", "b"))
COUNTS = np.array([2, 9, 8, 19, 8, 12, 9, 29, 7, 20, 11, 38, 17, 41, 28, 86])
NOTHING = np.zeros(16, dtype=np.bool_)
PROBLEM = Problem(
    axes=AXES,
    facts=Facts(units=COUNTS, records=COUNTS),
    units_additive=True,
    count_width=3,
    sum_width=0.0,
    zeros_withheld=False,
    records_per_unit=1,
    known=NOTHING,
    absent=NOTHING,
)


@pytest.fixture(scope="module")
def stub():
    with served_protection() as served:
        yield served


def protected(stub, **changes):
    request = pb.ProtectTableRequest(
        problem=problem_to_message(PROBLEM), unsafe=[0], time_limit_ms=5000, **changes
    )
    return stub.ProtectTable(request)


def test_a_pattern_comes_with_witnesses_that_anybody_can_verify(stub):
    answer = protected(stub)
    assert answer.proof == pb.PROOF_PROVED
    assert 0 in answer.withheld
    assert 4 <= len(answer.withheld) < 16
    withheld = np.zeros(16, dtype=np.bool_)
    withheld[list(answer.withheld)] = True
    assert not verify(PROBLEM, withheld, witnesses_from_message(answer.witnesses, 0)).any()
    assert answer.cost == COUNTS[withheld].sum() - 2


def test_a_pattern_that_protects_nothing_is_refuted(stub):
    request = pb.AuditTableRequest(problem=problem_to_message(PROBLEM), withheld=[0], time_limit_ms=5000)
    answer = stub.AuditTable(request)
    assert answer.proof == pb.PROOF_REFUTED
    assert list(answer.unprotected) == [0]


def test_a_proved_pattern_passes_the_audit(stub):
    request = pb.AuditTableRequest(
        problem=problem_to_message(PROBLEM), withheld=protected(stub).withheld, time_limit_ms=5000
    )
    assert stub.AuditTable(request).proof == pb.PROOF_PROVED


@pytest.mark.parametrize(
    ("impossible", "proof"), [([], pb.PROOF_PROVED), ([0], pb.PROOF_REFUTED)], ids=["anybody", "nobody"]
)
def test_a_cell_that_nobody_can_be_in_hides_no_other(stub, impossible, proof):
    flags = tuple(Axis(name, name, ("y", "n", "_T"), (2, 2, -1)) for name in ("good", "poor"))
    counts, nothing = np.array([0, 20, 20, 30, 40, 70, 30, 60, 90]), np.zeros(9, dtype=np.bool_)
    facts = Facts(units=counts, records=counts, structural_zeros=np.isin(np.arange(9), impossible))
    changes = {"axes": flags, "facts": facts, "zeros_withheld": True, "known": nothing, "absent": nothing}
    problem = problem_to_message(replace(PROBLEM, **changes))
    answer = stub.AuditTable(pb.AuditTableRequest(problem=problem, withheld=[0, 1, 3, 4], time_limit_ms=5000))
    assert answer.proof == proof
    assert list(answer.unprotected) == ([0, 1, 3, 4] if impossible else [])


def test_a_search_that_the_time_ended_says_so(stub, monkeypatch):
    assert not protected(stub).out_of_time
    seconds_a_look(monkeypatch, 1.0)
    found = protected(stub)
    assert found.out_of_time
    assert found.proof == pb.PROOF_UNPROVED
    assert list(found.unprotected) == list(found.withheld)


def test_the_cheapest_pattern_comes_with_its_bound_and_intervals(stub):
    answer = protected(stub, exact=True, intervals=True)
    assert answer.method == pb.SUPPRESSION_METHOD_EXACT
    assert answer.optimal
    assert (answer.lower_bound, answer.gap) == (answer.price, 0)
    beside = [cell for cell in answer.withheld if cell != 0]
    assert answer.price == (COUNTS[beside] + 1).sum()
    told = {one.cell: one for one in answer.intervals}
    assert list(told) == list(answer.withheld)
    assert {one.fact for one in answer.intervals} == {"records"}
    assert all(one.upper - one.lower >= 3 for one in answer.intervals)
    assert all(one.lower <= COUNTS[cell] <= one.upper for cell, one in told.items())


def test_without_asking_nothing_is_said_of_cheaper_patterns(stub):
    answer = protected(stub)
    assert answer.method == pb.SUPPRESSION_METHOD_HEURISTIC
    assert not answer.HasField("lower_bound")
    assert not answer.HasField("gap")
    assert not answer.optimal
    assert not answer.intervals
    assert answer.price > 0


def test_an_audit_tells_intervals_and_leaves_open_what_nothing_bounds(stub):
    request = pb.AuditTableRequest(
        problem=problem_to_message(PROBLEM), withheld=range(16), time_limit_ms=5000, intervals=True
    )
    answer = stub.AuditTable(request)
    assert answer.proof == pb.PROOF_PROVED
    assert [one.cell for one in answer.intervals] == list(range(16))
    assert answer.intervals[15].lower == 9
    assert not answer.intervals[15].HasField("upper")


def test_nothing_is_asked_of_a_pattern_where_values_are_changed(stub):
    rounding = {"kind": "ROUNDING_KIND_NEAREST", "base": 5}
    with pytest.raises(grpc.RpcError) as caught:
        protected(stub, rounding=rounding, exact=True, intervals=True)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    fields = errors.from_rpc_error(caught.value).fields
    assert {field.path for field in fields} == {"exact", "intervals"}


def test_protection_goes_on_from_the_witnesses_of_a_smaller_pattern(stub):
    first = protected(stub)
    request = pb.ProtectTableRequest(
        problem=problem_to_message(PROBLEM),
        unsafe=first.withheld,
        time_limit_ms=5000,
        known_witnesses=first.witnesses,
    )
    again = stub.ProtectTable(request)
    assert again.proof == pb.PROOF_PROVED
    assert list(again.withheld) == list(first.withheld)


MALFORMED = pb.Witnesses(tables=2, cells=[0, 1], records=[1, 2, 3])


def test_problems_of_a_request_come_with_their_paths(stub):
    message = problem_to_message(PROBLEM)
    message.facts.records[3] += 1
    cases = [
        (pb.ProtectTableRequest(problem=message, time_limit_ms=1000), {"problem.facts.records"}),
        (pb.ProtectTableRequest(problem=problem_to_message(PROBLEM)), {"time_limit_ms"}),
        (
            pb.ProtectTableRequest(problem=problem_to_message(PROBLEM), unsafe=[99], time_limit_ms=1),
            {"unsafe"},
        ),
        (
            pb.ProtectTableRequest(
                problem=problem_to_message(PROBLEM), time_limit_ms=1, known_witnesses=MALFORMED
            ),
            {"known_witnesses.records", "known_witnesses.units"},
        ),
    ]
    for request, paths in cases:
        with pytest.raises(grpc.RpcError) as caught:
            stub.ProtectTable(request)
        assert {field.path for field in errors.from_rpc_error(caught.value).fields} == paths


class Waiting:
    """A caller who waits so long."""

    def __init__(self, seconds):
        self.seconds = seconds

    def time_remaining(self):
        return self.seconds


@pytest.mark.parametrize(
    ("asked_ms", "waits", "spent"),
    [(5000, 100.0, 5.0), (5000, 1.0, 0.9), (5000, -1.0, 0.0), (5000, None, 5.0)],
)
def test_no_more_time_is_spent_than_the_caller_waits(asked_ms, waits, spent):
    assert _seconds(asked_ms, Waiting(waits)) == pytest.approx(spent)


def linked_table(columns, facts, **changes):
    """A table of `a` by others, whose totals of `a` are those of PROBLEM."""
    asked = replace(
        PROBLEM,
        axes=(AXES[0], columns),
        facts=Facts(units=facts, records=facts),
        known=np.zeros(len(facts), dtype=np.bool_),
        absent=np.zeros(len(facts), dtype=np.bool_),
        **changes,
    )
    return problem_to_message(asked)


SECOND = Axis("c", "c", ("x", "y", "_T"), (2, 2, -1))
OF_SECOND = np.array([9, 10, 19, 14, 15, 29, 2, 36, 38, 25, 61, 86])


def test_linked_tables_get_one_pattern_that_passes_their_joint_audit(stub):
    other = pb.LinkedTable(problem=linked_table(SECOND, OF_SECOND), cells=[6])
    answer = protected(stub, linked=[other], exact=True)
    assert answer.proof == pb.PROOF_PROVED
    assert answer.optimal
    (found,) = answer.linked
    # Cells 3, 7, 11 and 15 of the first are the totals of a; the others of the second table come after it.
    assert list(found.cells) == [16, 17, 3, 18, 19, 7, 20, 21, 11, 22, 23, 15]
    assert 6 in found.withheld
    assert [found.cells[cell] for cell in found.withheld] == [
        joint for joint in found.cells if joint in answer.withheld
    ]
    own = [cell for cell in answer.withheld if cell < 16]
    audited = pb.AuditTableRequest(
        problem=problem_to_message(PROBLEM),
        withheld=own,
        linked=[pb.LinkedTable(problem=other.problem, cells=found.withheld)],
        time_limit_ms=5000,
    )
    assert stub.AuditTable(audited).proof == pb.PROOF_PROVED
    leaking = pb.AuditTableRequest(
        problem=problem_to_message(PROBLEM), withheld=own, linked=[other], time_limit_ms=5000
    )
    told = stub.AuditTable(leaking)
    assert told.proof == pb.PROOF_REFUTED
    assert list(told.linked[0].unprotected) == [6]
    (leak,) = told.leaks
    assert leak.at_least.sentence == "25 [_T, x] - 9 [1, x] - 14 [2, x] = at least 2"


def test_a_cell_that_another_table_shows_leaks_however_wide_it_would_be(stub):
    whole = pb.AuditTableRequest(
        problem=problem_to_message(PROBLEM), withheld=[0, 3, 12, 15], time_limit_ms=5000
    )
    assert stub.AuditTable(whole).proof == pb.PROOF_PROVED
    other = pb.LinkedTable(problem=linked_table(SECOND, OF_SECOND), cells=[11])
    told = stub.AuditTable(
        pb.AuditTableRequest(
            problem=whole.problem, withheld=whole.withheld, linked=[other], time_limit_ms=5000
        )
    )
    assert told.proof == pb.PROOF_REFUTED
    assert 3 in told.unprotected
    assert 2 in told.linked[0].unprotected
    assert {(leak.lower, leak.upper) for leak in told.leaks if leak.cell == 3} == {(19, 19)}


def test_linked_tables_that_do_not_go_together_are_told_with_paths(stub):
    wrong = OF_SECOND.copy()
    wrong[[6, 8, 9, 11]] += 1
    short = linked_table(SECOND, OF_SECOND)
    del short.facts.records[-1]
    cases = [
        (linked_table(SECOND, wrong), "linked[0].problem.facts.records", "(positions 8, 11)"),
        (linked_table(SECOND, OF_SECOND, count_width=5), "linked[0].problem.count_width", "same"),
        (short, "linked[0].problem.facts.records", "12"),
    ]
    for problem, path, words in cases:
        with pytest.raises(grpc.RpcError) as caught:
            protected(stub, linked=[pb.LinkedTable(problem=problem, cells=[6])])
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        told = {field.path: field.message for field in errors.from_rpc_error(caught.value).fields}
        assert words in told[path]


def test_every_wrong_field_of_every_linked_table_is_told_at_once(stub):
    other = pb.LinkedTable(problem=linked_table(SECOND, OF_SECOND), cells=[77])
    other.problem.known.append(99)
    with pytest.raises(grpc.RpcError) as caught:
        protected(stub, linked=[other, other], rounding={"kind": "ROUNDING_KIND_NEAREST", "base": 5})
    paths = {field.path for field in errors.from_rpc_error(caught.value).fields}
    assert paths == {
        "linked",
        *(f"linked[{table}].{name}" for table in (0, 1) for name in ("cells", "problem.known")),
    }
