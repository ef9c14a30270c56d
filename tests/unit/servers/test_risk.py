import grpc
import numpy as np
import pytest

from risk_server import served_risk
from sdcgate.methods.cells import Axis, Facts
from sdcgate.methods.rules import Consequence, MinimumUnits, ReasonCode, Rules
from sdcgate.methods.tables.assessment import Key, assess_table
from sdcgate.servers import errors
from sdcgate.wire.risk import assessment_from_message, assessment_request

AXES = (Axis("sex", "sex", ("f", "m", "_T"), (2, 2, -1), identifying=True),)
COUNTS = np.array([2, 11, 13])
FACTS = Facts(units=COUNTS, records=COUNTS)
RULES = Rules(minimum_units=MinimumUnits(3, Consequence.PROTECT))
KEY = Key(np.array([2, 11]), np.array([20.0, 110.0]))


@pytest.fixture(scope="module")
def stub():
    with served_risk() as served:
        yield served


def test_what_the_service_finds_is_what_the_method_finds(stub):
    answer = stub.AssessTable(assessment_request(AXES, FACTS, RULES, 13, KEY))
    assert assessment_from_message(answer, 3) == assess_table(AXES, FACTS, RULES, 13, KEY)
    (finding,) = answer.findings
    assert finding.rule == ReasonCode.MINIMUM_UNITS
    assert list(finding.cells) == [0]
    assert answer.risk.key_cells == 2


def test_facts_that_do_not_fit_are_a_bad_request_with_the_place(stub):
    request = assessment_request(AXES, FACTS, RULES, 13, KEY)
    request.facts.units.pop()
    request.key.frequencies.pop()
    with pytest.raises(grpc.RpcError) as caught:
        stub.AssessTable(request)
    problem = errors.from_rpc_error(caught.value)
    assert {field.path for field in problem.fields} == {"facts.units", "key.weight_sums"}


def test_a_key_that_misses_units_is_a_bad_request(stub):
    with pytest.raises(grpc.RpcError) as caught:
        stub.AssessTable(assessment_request(AXES, FACTS, RULES, 14, KEY))
    assert "misses units" in errors.from_rpc_error(caught.value).detail


def test_an_empty_request_names_what_is_required(stub):
    request = assessment_request(AXES, FACTS, RULES, 13, KEY)
    request.ClearField("facts")
    request.ClearField("rules")
    with pytest.raises(grpc.RpcError) as caught:
        stub.AssessTable(request)
    assert {field.path for field in errors.from_rpc_error(caught.value).fields} == {"facts", "rules"}


def test_an_answer_about_cells_that_do_not_exist_is_no_answer(stub):
    answer = stub.AssessTable(assessment_request(AXES, FACTS, RULES, 13, KEY))
    with pytest.raises(ValueError, match="outside"):
        assessment_from_message(answer, 0)
