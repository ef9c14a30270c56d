"""ProtectTable by controlled tabular adjustment: what comes back, and what is said of bad requests."""

import grpc
import numpy as np
import pytest
from google.rpc import error_details_pb2, status_pb2

from protection_server import served_protection
from sdcgate_proto.sdcgate.protection.v1 import perturbation_pb2 as perturbation
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2
from square_problem import COUNTS, dimension, problem

SUMS = 10.0 * COUNTS


@pytest.fixture(scope="module")
def stub():
    with served_protection() as served:
        yield served


def with_sums(**changed):
    income = table_pb2.MeasureFacts(measure="income", sums=SUMS.tolist(), lower_bound=0)
    return problem({"measures": [income]}, **changed)


def asked(of=None, unsafe=(0,), **adjustment):
    said = {"weighting": "WEIGHTING_UNIT"} | adjustment
    return pb.ProtectTableRequest(
        problem=of or problem(),
        unsafe=unsafe,
        time_limit_ms=5000,
        adjustment=perturbation.Adjustment(**said),
    )


def values(answer):
    return np.array(answer.perturbed.facts[0].values)


def problems_of(stub, request):
    with pytest.raises(grpc.RpcError) as caught:
        stub.ProtectTable(request)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    trailing = dict(caught.value.trailing_metadata())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    found = {}
    for detail in status.details:
        bad = error_details_pb2.BadRequest()
        if detail.Unpack(bad):
            found |= {violation.field: violation.description for violation in bad.field_violations}
    return found


def test_counts_are_adjusted_proved_and_reported(stub):
    answer = stub.ProtectTable(asked(minimum=3))
    adjusted, utility = answer.perturbed.adjusted, answer.perturbed.facts[0].utility
    assert (answer.perturbed.facts[0].fact, answer.proof) == ("units", pb.PROOF_PROVED)
    assert values(answer)[0] in (0, 3)
    assert adjusted.found == perturbation.FOUND_OPTIMAL
    assert adjusted.distance == adjusted.least_distance == np.abs(values(answer) - COUNTS).sum() == 4
    assert 0.9 < adjusted.correlation < 1
    assert utility.broken_relations == 0
    moved = [cell for cell in (3, 7, 11, *range(12, 16)) if values(answer)[cell] != COUNTS[cell]]
    assert list(utility.moved_margins) == moved


def test_cells_may_come_in_any_order_and_values_come_back_in_it(stub):
    order = np.random.default_rng(1).permutation(16)
    shuffled = problem(
        {"units": COUNTS[order].tolist()},
        dimensions=[dimension("a", (order // 4).tolist()), dimension("b", (order % 4).tolist())],
    )
    place = {int(cell): position for position, cell in enumerate(order)}
    answer = stub.ProtectTable(
        asked(shuffled, [place[0]], minimum=3, released=[place[5]], released_values=[13])
    )
    back = np.empty(16)
    back[order] = values(answer)
    assert back[0] in (0, 3)
    assert back[5] == 13
    assert back[15] == back[[3, 7, 11]].sum() == back[12:15].sum()


def test_sums_move_by_their_levels_and_nothing_is_proved_of_them(stub):
    levels = pb.SumLevels(measure="income", upper=[30.0] * 16, lower=[20.0] * 16)
    answer = stub.ProtectTable(asked(with_sums(sum_levels=[levels]), measure="income", margin_share=0.0))
    assert answer.perturbed.facts[0].fact == "sums of income"
    assert values(answer)[0] == pytest.approx(0.0)
    np.testing.assert_allclose(values(answer)[[3, 7, 11, 12, 13, 14, 15]], SUMS[[3, 7, 11, 12, 13, 14, 15]])
    assert (answer.proof, list(answer.unprotected)) == (pb.PROOF_UNPROVED, [0])
    assert "sums of income" in answer.unchecked


def test_where_there_is_no_table_it_says_which_cell_and_which_demand(stub):
    answer = stub.ProtectTable(asked(minimum=3, released=[0], released_values=[2]))
    adjusted = answer.perturbed.adjusted
    assert adjusted.found == perturbation.FOUND_INFEASIBLE
    assert (list(adjusted.stuck), list(adjusted.too_strict)) == ([0], ["released"])
    assert (list(answer.perturbed.facts), answer.proof) == ([], pb.PROOF_UNPROVED)
    assert list(answer.unprotected) == [0]


def test_all_that_is_wrong_is_said_at_once(stub):
    request = asked(lower=[1.0], upper=[2.0], released=[3, 99], released_values=[1.0])
    assert problems_of(stub, request) == {
        "adjustment.lower": "must have 16 values, one a cell, not 1",
        "adjustment.upper": "must have 16 values, one a cell, not 1",
        "adjustment.released": "has positions outside of the table's 16 cells",
        "adjustment.released_values": "must have 2 values, one for each of `released`, not 1",
    }


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        (asked(), "adjustment.minimum"),
        (asked(minimum=3, measure="wages"), "adjustment.measure"),
        (asked(with_sums(), minimum=3, measure="income"), "adjustment.minimum"),
        (asked(with_sums(), minimum=3), "problem.facts"),
        (asked(minimum=3, weighting="WEIGHTING_UNSPECIFIED"), "adjustment.weighting"),
        (asked(minimum=3, correlation=2.0), "adjustment.correlation"),
        (asked(minimum=3, margin_share=-0.5), "adjustment.margin_share"),
        (asked(minimum=3, released=[1], released_values=[9.5]), "adjustment.released"),
        (asked(problem(absent=[1]), minimum=3), "problem.absent"),
    ],
)
def test_what_makes_no_sense_is_told_by_its_field(stub, request_, where):
    assert where in problems_of(stub, request_)
