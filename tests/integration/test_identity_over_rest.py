"""Who gets in over REST and gRPC: tokens of a real issuer, portals that act for others, and nobody else."""

import json
import re
import time

import grpc
import httpx
import pytest
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from identity_provider import AUDIENCE, identity_provider
from sdcgate.ledger.credentials import Credentials, Scope
from sdcgate_client import Client
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2, facility_pb2_grpc
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2
from served_house import ServedHouse, table_body

SERVICES = {
    "facility": facility_pb2.DESCRIPTOR.services_by_name["FacilityService"],
    "risk": risk_pb2.DESCRIPTOR.services_by_name["RiskService"],
    "protection": protection_pb2.DESCRIPTOR.services_by_name["ProtectionService"],
}
ROLES = {"users": "researcher", "stewards": "steward", "checkers": "checker", "operators": "operator"}
CHECK = {"problem": {"facts": {"units": [1]}}}


@pytest.fixture(scope="module")
def provider():
    with identity_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def house(provider, tmp_path_factory):
    """A house that takes the provider's tokens, and lets nobody ask without an admission."""
    identity = {
        "issuer": provider.url,
        "audience": AUDIENCE,
        "jwks_url": f"{provider.url}/keys",
        "jwks_cache_seconds": 1,
        "jwks_refresh_seconds": 0,
        "roles": json.dumps(ROLES),
        "require_admission": "true",
    }
    house = ServedHouse(tmp_path_factory.mktemp("house"), identity=identity)
    with house.ledger() as ledger:
        keys = Credentials(ledger)
        for name, scope in {
            "acting portal": Scope(acts_for=("ada", "rené")),
            "portal of one project": Scope(acts_for=("*",), projects=("insurance",)),
        }.items():
            house.keys[name], _ = keys.create("portal", "portal-1", name, 1, scope=scope)
    try:
        assert house.register_randhie().status_code == 201
        yield house
    finally:
        house.stop()


def admit(house, researcher, project=""):
    body = {
        "researchers": [researcher],
        "datasets": ["randhie"],
        "label": "somebody",
        "valid_from": "2020-01-01",
        "valid_until": "2100-12-31",
    }
    requested = house.send("POST", "/v1/admissions", body | ({"project": project} if project else {}), "olga")
    assert requested.status_code == 201, requested.text
    review = f"/v1/admissions/{requested.json()['admission']}:review"
    return house.send("POST", review, {"approve": True, "note": "seen"}, "stefan")


def test_a_token_is_as_good_as_a_key_over_rest_and_grpc_and_at_every_service(house, provider):
    token = provider.sign(sub="tom", roles=["users"])
    told = house.send("GET", "/v1/caller", key=token).json()
    assert (told["key_id"], told["role"], told["researcher"]) == ("token:tom", "researcher", "tom")
    assert house.ask(key=token, rows=["site"]).status_code == 403
    assert admit(house, "tom").json()["state"] == "APPROVED"
    asked = house.ask(key=token, rows=["site"])
    assert (asked.status_code, asked.json()["verdict"]) == (201, "RELEASED")
    assert house.send("POST", "/v1/protection:auditTable", CHECK, token).status_code == 400
    with grpc.insecure_channel(house.supervisor.addresses["facility"]) as channel:
        metadata = (("authorization", f"Bearer {token}"),)
        stub = facility_pb2_grpc.FacilityServiceStub(channel)
        found = stub.GetCaller(facility_pb2.GetCallerRequest(), timeout=10, metadata=metadata)
    assert found.researcher == "tom"


def test_a_token_as_long_as_may_be_arrives_and_a_longer_one_is_told(house, provider):
    def sized(length):
        padding = "x" * (length - len(provider.sign(roles=["users"], groups="")))
        return provider.sign(roles=["users"], groups=padding[: max(0, len(padding) * 3 // 4)])

    longest = sized(5_990)
    assert 5_900 < len(longest) <= 6_000
    assert house.send("GET", "/v1/caller", key=longest).status_code == 200
    assert house.send("GET", "/v1/caller", key=sized(8_000)).status_code == 401


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"aud": "another"}, 401),
        ({"iss": "https://elsewhere.example"}, 401),
        ({"exp": 1}, 401),
        ({"roles": ["researcher"]}, 403),
        ({"roles": ["users", "stewards"]}, 403),
    ],
)
def test_a_token_that_is_not_for_us_is_turned_away_at_every_service(house, provider, claims, status):
    token = provider.sign(**{"roles": ["users"], **claims})
    for method, path, body in [
        ("GET", "/v1/datasets", None),
        ("POST", "/v1/protection:auditTable", CHECK),
        ("POST", "/v1/risk:assessTable", {}),
    ]:
        assert house.send(method, path, body, token).status_code == status


def test_without_the_issuers_keys_tokens_are_unavailable_and_api_keys_are_served(house, provider):
    token = provider.sign(roles=["users"])
    provider.status = 500
    try:
        answers = []
        for _ in range(40):
            answers.append(house.send("GET", "/v1/datasets", key=token))
            if answers[-1].status_code != 200:
                break
            time.sleep(0.05)
        assert answers[-1].status_code == 503
        assert answers[-1].headers["retry-after"]
        assert house.send("GET", "/v1/datasets").status_code == 200
    finally:
        provider.status = 200
    assert house.send("GET", "/v1/datasets", key=token).status_code == 200


def test_a_portal_acts_for_a_researcher_whose_admissions_and_queries_count(house):
    def act(name, method="GET", path="/v1/caller", body=None, key="acting portal"):
        return house.send(method, path, body, key, headers={"X-On-Behalf-Of": name})

    told = act("ada").json()
    assert (told["role"], told["researcher"], told["portal"]) == ("researcher", "ada", "portal-1")
    assert act("ren%C3%A9").json()["researcher"] == "rené"
    tables, body = "/v1/datasets/randhie/tables", {"rows": [{"variable": "plan"}]}
    refused = act("ada", "POST", tables, body)
    assert (refused.status_code, "ada is not registered" in refused.text) == (403, True)
    assert admit(house, "ada").status_code == 200
    asked = act("ada", "POST", tables, body)
    assert asked.status_code == 201
    location = asked.headers["location"]
    assert house.send("GET", location).status_code == 200, "ada herself sees it"
    assert house.send("GET", location, key="acting portal").status_code == 404, "the portal by itself not"
    assert house.send("GET", location, key="grace").json()["checker"]["portal"] == "portal-1"
    assert act("bob").status_code == 403
    assert act("ada", key="portal").status_code == 403
    assert act("ada", key="bob").status_code == 403
    for name in ("", "ada,bob", "%20", "a" * 129, "%FF", "%00", "ada%0Abob"):
        assert act(name).status_code == 400, name


def test_who_has_several_roles_calls_in_one_of_them_and_never_reviews_his_own(house, provider):
    admit(house, "zoe")
    token = provider.sign(sub="zoe", roles=["users", "checkers"])

    def call(role, method, path, body=None):
        return house.send(method, path, body, token, headers={"X-Role": role} if role else {})

    unsaid = call("", "GET", "/v1/caller")
    assert unsaid.status_code == 403
    assert "several roles (checker, researcher)" in unsaid.json()["detail"]
    assert [call(role, "GET", "/v1/caller").json()["role"] for role in ("researcher", "checker")] == [
        "researcher",
        "checker",
    ]
    assert call("steward", "GET", "/v1/caller").status_code == 403
    # What she may is one role's, not the sum.
    four = table_body(rows=["plan"], columns=["site"])
    assert call("checker", "POST", "/v1/datasets/randhie/tables", four).status_code == 403
    asked = call("researcher", "POST", "/v1/datasets/randhie/tables", four)
    assert asked.status_code == 201
    query = f"/v1/queries/{asked.json()['query']}"
    assert "checker" not in call("researcher", "GET", query).json()
    # Of her own query she sees as a checker what its researcher sees.
    assert call("checker", "GET", query).json() == call("researcher", "GET", query).json()
    review = {"approve": True, "note": "mine"}
    own = call("checker", "POST", f"{query}:review", review)
    assert (own.status_code, own.json()["detail"]) == (403, "Nobody reviews his own query.")
    assert call("researcher", "POST", f"{query}:review", review).status_code == 403
    # The check side asks the facility, and keeps the answer for this role only.
    check = {"dimensions": [{"variable": "a", "codes": ["1"]}], "facts": {"units": [3]}, "rules": {}}
    for role, status in (("researcher", 200), ("", 403), ("steward", 403), ("checker", 200)):
        assert call(role, "POST", "/v1/risk:assessTable", check).status_code == status, role
    with Client(str(house.http.base_url), token, role="checker") as client:
        assert asked.json()["query"] in {one["query"] for one in client.queries()}
    with grpc.insecure_channel(house.supervisor.addresses["facility"]) as channel:
        stub = facility_pb2_grpc.FacilityServiceStub(channel)
        metadata = (("authorization", f"Bearer {token}"), ("x-role", "researcher"))
        found = stub.GetCaller(facility_pb2.GetCallerRequest(), metadata=metadata, timeout=10)
        assert (found.role, found.researcher) == ("researcher", "zoe")
    refused = house.send("GET", "/v1/caller", None, "ada", headers={"X-Role": "checker"})
    assert (refused.status_code, "has the role researcher" in refused.json()["detail"]) == (403, True)


def test_a_key_for_one_project_is_told_so(house):
    admit(house, "eve")
    admit(house, "eve", "insurance")
    headers = {"X-On-Behalf-Of": "eve"}
    body = {"rows": [{"variable": "plan"}, {"variable": "year"}]}
    for project, status in (("", 403), ("another", 403), ("insurance", 201)):
        asked = house.send(
            "POST",
            "/v1/datasets/randhie/tables",
            body | {"project": project},
            "portal of one project",
            headers=headers,
        )
        assert asked.status_code == status, asked.text


def test_the_client_acts_for_others_and_requests_reviews_and_withdraws(house):
    days = {"valid_from": "2026-01-01", "valid_until": "2027-01-01"}
    with Client(house.supervisor.url, house.keys["acting portal"], on_behalf_of="rené") as portal:
        found = portal.request_admission(["rené"], datasets=["randhie"], label="René", **days)
    with Client(house.supervisor.url, house.keys["stefan"]) as steward:
        assert found["admission"] in {one["admission"] for one in steward.admissions(["REQUESTED"])}
        approved = steward.review_admission(found["admission"], True, "seen", valid_until="2026-12-31")
        assert (approved["state"], approved["valid_until"]) == ("APPROVED", "2026-12-31")
        assert steward.withdraw_admission(found["admission"], "ended")["state"] == "WITHDRAWN"
        assert [one["requested_by"] for one in steward.admissions(["WITHDRAWN"])] == ["portal-1"]


def test_no_route_of_the_document_is_reached_without_a_key_or_token(house):
    paths = house.http.get("/openapi.json").json()["paths"]
    routes = [
        (method.upper(), path)
        for path, methods in paths.items()
        for method in methods
        if path != "/openapi.json"
    ]
    assert len(routes) > 30
    for method, path in routes:
        address = re.sub(r"\{\w+\}", "x", path)
        for headers in ({}, {"Authorization": "Bearer sdcg_0_0"}, {"Authorization": "Bearer a.b.c"}):
            body = {"content": b"{}", "headers": {**headers, "Content-Type": "application/json"}}
            answer = house.http.request(
                method, address, **(body if method == "POST" else {"headers": headers})
            )
            told = (method, path, headers, answer.text)
            # What is turned away for its form was not looked at by any service.
            assert answer.status_code == 401 or (headers and answer.status_code in (400, 415)), told
    assert house.http.get("/metrics").status_code == house.http.get("/healthz").status_code == 401


def test_no_grpc_method_is_reached_without_a_key_or_token(house):
    for name, service in SERVICES.items():
        with grpc.insecure_channel(house.supervisor.addresses[name]) as channel:
            for method in service.methods:
                path = f"/{service.full_name}/{method.name}"
                request = GetMessageClass(method.input_type)().SerializeToString()
                for metadata in (
                    (),
                    (("authorization", "Bearer sdcg_0_0"),),
                    (("authorization", "Bearer a.b.c"),),
                ):
                    call = channel.stream_unary if method.client_streaming else channel.unary_unary
                    sent = iter([request]) if method.client_streaming else request
                    with pytest.raises(grpc.RpcError) as caught:
                        call(path)(sent, timeout=10, metadata=metadata)
                    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED, path
            reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
            asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
            with pytest.raises(grpc.RpcError) as caught:
                next(reflection.ServerReflectionInfo(asked, timeout=10))
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_no_token_and_no_key_stands_in_a_log_a_metric_or_the_ledger(house, provider):
    tokens = [provider.sign(sub="tom", roles=["users"]), provider.sign(roles=["nobody"]), "a.b.c"]
    for token in tokens:
        house.send("GET", "/v1/caller", key=token)
    secrets = [*tokens[:2], *house.keys.values()]
    places = [path for path in house.settings.state_dir.rglob("*") if path.is_file()]
    texts = [path.read_bytes() for path in places]
    texts += [httpx.get(f"{house.metrics_address(name)}/metrics").content for name in SERVICES]
    assert len(texts) > 10
    assert not [secret for secret in secrets for text in texts if secret.encode() in text]
