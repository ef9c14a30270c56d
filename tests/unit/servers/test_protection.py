import grpc
import numpy as np
import pytest

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
