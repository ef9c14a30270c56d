"""Services that speak the contract of before, or never heard of a rule: more may be withheld, never less."""

import grpc
import pytest

from lying_services import Stub, replaced
from one_gateway import served_gateway
from previous_contract import PREVIOUS, Contract, FacilityOfBefore, answering_as, previous_files, without_rule
from sdcgate.servers.protection import ProtectionServicer
from sdcgate.servers.risk import RiskServicer
from sdcgate.servers.settings import Peer
from served_house import ServedHouse, table_body
from stories import PLANS, SHORT_STORY, STORY, Told, normal_again

RISK = "/sdcgate.risk.v1.RiskService/AssessTable"
PROTECTION = "/sdcgate.protection.v1.ProtectionService/ProtectTable"
FACILITY = "/sdcgate.facility.v1.FacilityService"
RULES = ["minimum_units", "individual_risk", "p_percent", "dominance", "minimum_base", "group_disclosure"]


def of_before(stubs: dict[str, Stub]) -> None:
    """Both services as they were."""
    stubs["risk"].lie = answering_as(PREVIOUS, RISK, RiskServicer().AssessTable)
    stubs["protection"].lie = answering_as(PREVIOUS, PROTECTION, ProtectionServicer().ProtectTable)


def as_told_before(answer: dict) -> dict:
    """A facility's answer of now as one of before tells it: alternatives without a table to send."""
    told = [{name: told for name, told in one.items() if name != "table"} for one in answer["alternatives"]]
    return answer | {"alternatives": told}


def test_with_services_of_before_the_facility_answers_as_ever(house, oracle):
    told = Told(house, oracle)
    with replaced(house, "risk", "protection") as stubs:
        of_before(stubs)
        told.story("services of before", STORY)
        assert all(stub.asked for stub in stubs.values())
        assert [stub.failures for stub in stubs.values()] == [[], []]
    normal_again(house, oracle)
    # With errors alone nothing would have been tried.
    assert sum(count for kind, count in told.outcomes.items() if not kind.isdigit()) == len(STORY)


@pytest.mark.parametrize("rules", ["some", pytest.param("all", marks=pytest.mark.long)])
def test_a_risk_service_that_never_heard_of_a_rule_releases_nothing_that_breaks_it(house, oracle, rules):
    told = Told(house, oracle)
    chosen, story = (RULES[:2], SHORT_STORY) if rules == "some" else (RULES, STORY)
    with replaced(house, "risk") as stubs:
        for rule in chosen:
            contract = Contract(without_rule(previous_files(), rule))
            stubs["risk"].lie = answering_as(contract, RISK, RiskServicer().AssessTable)
            told.story(f"without {rule}", story)
        assert stubs["risk"].asked >= len(chosen)
        assert stubs["risk"].failures == []
    normal_again(house, oracle)
    assert any(not kind.isdigit() for kind in told.outcomes)


def test_a_gateway_and_a_facility_of_before_and_of_now_give_the_same_answer(
    house: ServedHouse, oracle, tmp_path
):
    dataset = Told(house, oracle).new_dataset()
    before = FacilityOfBefore(PREVIOUS, house.supervisor.addresses["facility"])
    try:
        with served_gateway(tmp_path, facility=Peer(address=before.address)) as address:
            headers = {"Authorization": f"Bearer {house.keys['ada']}"}
            tables = f"http://{address}/v1/datasets/{dataset}/tables"
            answered = house.http.post(tables, json=table_body(**PLANS), headers=headers)
            assert (answered.status_code, answered.json()["verdict"]) == (201, "RELEASED_PROTECTED")
            again = house.ask(dataset, **PLANS)
            assert (again.status_code, as_told_before(again.json())) == (200, answered.json())
            assert all(one["table"]["dataset"] == dataset for one in again.json()["alternatives"])
            # An error of before is told as the same error, with its fields.
            unknown = house.http.post(tables, json=table_body(rows=["nowhere"]), headers=headers)
            direct = house.ask(dataset, rows=["nowhere"])
            assert (unknown.status_code, unknown.json()["errors"]) == (400, direct.json()["errors"])
            # A call that it does not have is no verdict.
            new = house.http.post(
                f"http://{address}/v1/queries/{answered.json()['query']}/comments",
                json={"text": "why?"},
                headers=headers,
            )
            assert new.status_code >= 400
            assert new.headers["content-type"] == "application/problem+json"
    finally:
        before.stop()


def test_a_client_of_before_asks_a_facility_of_now(house: ServedHouse, oracle):
    dataset = Told(house, oracle).new_dataset()
    body = {
        "dataset": dataset,
        "rows": [{"variable": "plan"}],
        "columns": [{"variable": "site"}],
        "margins": True,
    }
    metadata = [("authorization", f"Bearer {house.keys['ada']}")]
    with grpc.insecure_channel(house.supervisor.addresses["facility"]) as channel:
        request = PREVIOUS.message("sdcgate.facility.v1.QueryTableRequest")(**body)
        answer = PREVIOUS.ask(channel, f"{FACILITY}/QueryTable", request, metadata)
        decision = answer.decision
        verdicts = decision.DESCRIPTOR.fields_by_name["verdict"].enum_type.values_by_number
        direct = house.ask(dataset, rows=["plan"], columns=["site"])
        assert direct.status_code == 200
        assert verdicts[decision.verdict].name == f"VERDICT_{direct.json()['verdict']}"
        assert decision.query == direct.json()["query"]
        shown = direct.json()["table"]["columns"]["status"]
        known = decision.table.DESCRIPTOR.fields_by_name["statuses"].enum_type.values_by_number
        names = [known[status].name.removeprefix("CELL_STATUS_") for status in decision.table.statuses]
        assert sorted(names) == sorted(shown)
        # What only the present contract says is kept: passed on, it is the same answer.
        stored = PREVIOUS.ask(
            channel,
            f"{FACILITY}/GetQuery",
            PREVIOUS.message("sdcgate.facility.v1.GetQueryRequest")(query=decision.query),
            metadata,
        )
        assert stored.decision == decision
        with pytest.raises(grpc.RpcError) as refused:
            PREVIOUS.ask(channel, f"{FACILITY}/QueryTable", request, [("authorization", "Bearer nobody")])
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
