"""AssessTable over gRPC by the rules on contributions, with facts by holding, waivers, shifts and weights."""

import grpc
import pytest

from sdcgate.servers import errors
from sdcgate.servers.authentication import KeyCaller
from sdcgate.servers.channels import connect
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.risk import SERVICE, RiskServicer
from sdcgate.servers.settings import GrpcServer
from sdcgate.wire.json import from_value, to_value
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2, risk_pb2_grpc

# microdata1 of sdcTable 0.34.0, regions A and D by gender: female A, male D and male A, in this order.
GENDER = {"variable": "cell", "codes": ["male A", "female A", "male D"], "cells": [1, 2, 0]}
TURNOVER = {"measure": "val", "sums": [20, 366, 178], "lower_bound": 0, "ranks": 3,
            "largest": [11, 9, 0, 280, 11, 10, 18, 15, 13]}  # fmt: skip


@pytest.fixture(scope="module")
def assess():
    def add(server):
        risk_pb2_grpc.add_RiskServiceServicer_to_server(RiskServicer(1000), server)

    running = Running("risk", add, [SERVICE], GrpcServer(), lambda _: KeyCaller("key-1", "researcher", "ada"))
    running.start()
    channel = connect(running.address, "adas")

    def call(measure, rules, **facts):
        body = {"dimensions": [GENDER], "facts": {"measures": [measure], **facts}, "rules": rules}
        request = from_value(body, risk_pb2.AssessTableRequest)
        return to_value(risk_pb2_grpc.RiskServiceStub(channel).AssessTable(request, timeout=20), {})

    yield call
    channel.close()
    running.stop(0)


def told(answer):
    return [(finding["rule"], finding["cells"]) for finding in answer["findings"]]


def test_levels_come_in_the_order_of_the_senders_cells(assess):
    rules = {"prior_posterior": {"p": 0.3, "q": 0.6, "consequence": "PROTECT"}}
    (finding,) = assess(TURNOVER, rules)["findings"]
    assert (finding["rule"], finding["measure"], finding["cells"]) == ("PRIOR_POSTERIOR", "val", [0, 1])
    levels = {name: [round(level, 9) for level in column] for name, column in finding["levels"].items()}
    assert levels == {"upper": [5.5, 65], "lower": [5.5, 65], "sliding": []}


def test_a_coalition_of_two_and_a_linear_measure_are_judged(assess):
    percent = {"share": 0.25, "consequence": "PROTECT"}
    assert told(assess(TURNOVER, {"p_percent": percent})) == [("P_PERCENT", [0])]
    together = assess(TURNOVER, {"p_percent": {**percent, "coalition": 2}})
    assert told(together) == [("P_PERCENT", [0, 1])]
    linear = {"weights": [0.25, 0, 0], "rest": -1, "consequence": "REFER"}
    same = assess(TURNOVER, {"linear_sensitivity": [linear]})
    assert told(same) == [("LINEAR_SENSITIVITY", [0, 1])]
    assert same["findings"][0]["levels"]["upper"] == together["findings"][0]["levels"]["upper"]


def test_who_gave_a_waiver_makes_no_cell_sensitive(assess):
    rules = {"p_percent": {"share": 0.3, "consequence": "PROTECT"}}
    waived = {**TURNOVER, "unwaived_largest": [11, 9, 0, 11, 10, 9, 18, 15, 13]}
    assert told(assess(TURNOVER, rules)) == [("P_PERCENT", [0, 1])]
    assert told(assess(waived, rules)) == [("P_PERCENT", [0])]


def test_holdings_are_the_respondents_of_a_threshold(assess):
    rules = {"minimum_units": {"units": 3, "consequence": "PROTECT"}}
    measure = {**TURNOVER, "valid_units": [3, 11, 18]}
    answer = assess(measure, rules, units=[3, 11, 18], holdings=[3, 2, 9])
    assert told(answer) == [("MINIMUM_UNITS", [1])]
    assert answer["findings"][0]["levels"] == {"upper": [], "lower": [], "sliding": [3]}


def test_contributions_that_are_asked_for_and_not_given_are_unchecked(assess):
    rules = {"p_percent": {"share": 0.3, "consequence": "PROTECT"}, "contributions": {"negative": "SHIFTED"}}
    losses = {**TURNOVER, "lower_bound": -10, "valid_units": [2, 11, 18]}
    answer = assess(losses, rules)
    assert (answer["findings"], answer["unchecked"], answer["absent"]) == (
        [],
        ["P_PERCENT"],
        ["shifted.totals of val"],
    )
    # Units alone have one record each; so the totals follow: 40, 476, 358.
    shifted = {"largest": [21, 19, 0, 290, 21, 20, 28, 25, 23]}
    answer = assess({**losses, "shifted": shifted}, rules, units=[2, 11, 18])
    assert (told(answer), answer["unchecked"]) == ([("P_PERCENT", [0])], [])


def test_weighted_totals_are_judged_by_weight_times_value(assess):
    rules = {"p_percent": {"share": 0.3, "consequence": "PROTECT"}, "contributions": {"weighted": True}}
    weighted = {"largest": [110, 27, 20, 280, 110, 100, 36, 18, 15], "totals": [200, 1000, 300]}
    assert told(assess({**TURNOVER, "weighted": weighted}, rules)) == []
    assert assess(TURNOVER, rules)["absent"] == ["weighted.totals of val"]


def test_all_that_is_wrong_with_contributions_and_rules_is_told_at_once(assess):
    rules = {
        "p_percent": {"share": 0.3, "coalition": 16, "consequence": "PROTECT"},
        "prior_posterior": {"p": 0.5, "q": 0.2, "consequence": "PROTECT"},
        "linear_sensitivity": [{"weights": [0.1, 0.2], "rest": -1, "consequence": "PROTECT"}],
        "contributions": {"negative": "SHIFTED", "weighted": True},
    }
    measure = {
        **TURNOVER,
        "unwaived_largest": [12, 9, 0, 280, 11, 10, 18, 15, 13],
        "weighted": {"totals": [1]},
    }
    with pytest.raises(grpc.RpcError) as caught:
        assess(measure, rules, structural_zeros=[3])
    problem = errors.from_rpc_error(caught.value)
    assert {field.path for field in problem.fields} == {
        "facts.structural_zeros",
        "facts.measures[0].weighted.totals",
        "rules.p_percent.coalition",
        "rules.prior_posterior.p",
        "rules.linear_sensitivity[0].weights",
        "rules.contributions.negative",
    }
