import asyncio
import json
import threading
import time
import urllib.request
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sdcgate.servers import errors, gateway, openapi_examples
from sdcgate.servers.authentication import ServiceCaller
from sdcgate.servers.edge import SECURITY_HEADERS
from sdcgate.servers.lifecycle import Running
from sdcgate.servers.listening import listening_socket
from sdcgate.servers.process import Signals
from sdcgate.servers.routes import ROUTES, SERVICES, checked
from sdcgate.servers.settings import FacilityServer, GatewayServer, Peer, Settings
from sdcgate_proto.sdcgate.facility.v1 import admission_pb2, facility_pb2_grpc
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2_grpc
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2_grpc
from sdcgate_proto.sdcgate.types.v1 import table_pb2

KEY = "a-valid-key"
TABLES = "/v1/datasets/randhie/tables"
QUERY = {"rows": [{"variable": "site"}], "figures": [{"statistic": "UNITS"}]}


class Fake(
    facility_pb2_grpc.FacilityServiceServicer,
    risk_pb2_grpc.RiskServiceServicer,
    protection_pb2_grpc.ProtectionServiceServicer,
):
    """All services; answers each call with what the test put there, and remembers what it was asked."""

    def __init__(self):
        self.answers = {}
        self.asked = []

    def _answer(self, name, request, context):
        self.asked.append((name, request, dict(context.invocation_metadata())))
        answer = self.answers.get(name)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer


for _rpc in [rpc for service in SERVICES.values() for rpc in service.methods]:

    def _call(self, request, context, name=_rpc.name):
        return self._answer(name, request, context)

    setattr(Fake, _rpc.name, _call)


class Place:
    """Fake services at one address and a gateway before them, both on real ports."""

    def __init__(self, folder, **section):
        self.facility = Fake()
        self.running = Running(
            "facility",
            self._add,
            [service.full_name for service in SERVICES.values()],
            FacilityServer(port=0, metrics_port=0),
            lambda token: ServiceCaller("researcher") if token == KEY else None,
        )
        self.running.start()
        services = dict.fromkeys(SERVICES, Peer(address=self.running.address))
        self.settings = Settings(
            state_dir=folder,
            gateway=GatewayServer(port=0, metrics_port=0, **(services | section)),
        )
        self.signals = Signals()
        self.thread = threading.Thread(target=asyncio.run, args=(gateway.run(self.settings, self.signals),))
        self.thread.start()
        self.ready_file = folder / "run" / "gateway.json"
        for _ in range(200):
            if self.ready_file.exists():
                break
            time.sleep(0.02)
        where = json.loads(self.ready_file.read_text())
        self.metrics = f"http://{where['metrics']}"
        self.http = httpx.Client(base_url=f"http://{where['address']}", timeout=10)

    def _add(self, server):
        facility_pb2_grpc.add_FacilityServiceServicer_to_server(self.facility, server)
        risk_pb2_grpc.add_RiskServiceServicer_to_server(self.facility, server)
        protection_pb2_grpc.add_ProtectionServiceServicer_to_server(self.facility, server)

    def ask(self, method, path, body=None, **how):
        headers = {"Authorization": f"Bearer {KEY}", **how.pop("headers", {})}
        return self.http.request(method, path, json=body, headers=headers, **how)

    def stop(self):
        self.http.close()
        self.signals.first.set()
        self.thread.join(10)
        self.running.stop(0)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    made = Place(tmp_path_factory.mktemp("state"))
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def fresh(request):
    if "place" in request.fixturenames:
        facility = request.getfixturevalue("place").facility
        others = {route.rpc for route in ROUTES} - {
            "QueryTable",
            "QueryModel",
            "QueryStatistic",
            "SubmitOutput",
        }
        facility.answers = {name: openapi_examples.answer(name, 200) for name in others}
        facility.answers["QueryTable"] = pb.QueryTableResponse(decision=openapi_examples.released())
        facility.answers["QueryModel"] = pb.QueryModelResponse(
            decision=openapi_examples.answer("QueryModel", 200)
        )
        facility.answers["QueryStatistic"] = pb.QueryStatisticResponse(
            decision=openapi_examples.answer("QueryStatistic", 200)
        )
        facility.answers["SubmitOutput"] = pb.SubmitOutputResponse(decision=openapi_examples.referred())
        facility.answers["ReviewQuery"] = pb.ReviewQueryResponse(decision=openapi_examples.refused())
        facility.answers["CommentQuery"] = pb.CommentQueryResponse(comment=openapi_examples.commented())
        for rpc in ("RequestAdmission", "ReviewAdmission", "WithdrawAdmission"):
            response = getattr(admission_pb2, f"{rpc}Response")
            facility.answers[rpc] = response(admission=openapi_examples.answer(rpc, 200))
        facility.asked.clear()


def problem(response, status, code):
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    content = response.json()
    assert content["status"] == status
    assert content["code"] == code
    assert content["request"] == response.headers["x-request-id"]
    return content


def test_a_new_query_is_201_with_its_place_and_the_decision(place):
    response = place.ask("POST", TABLES, QUERY)
    assert response.status_code == 201
    assert response.headers["location"] == f"/v1/queries/{openapi_examples.QUERY}"
    content = response.json()
    assert content["verdict"] == "RELEASED_PROTECTED"
    assert content["policy"]["name"] == "israel-cbs"
    assert content["table"]["columns"]["units"] == [None, None, 112, None, None, 140, 84, 168, 252]
    assert content["table"]["columns"]["status"][:3] == ["WITHHELD", "WITHHELD", "PUBLISHED"]
    assert content["alternatives"][0]["rows"][0]["variable"] == "site"
    assert content["certificate"]["sequence"] == 17
    assert content["decided"] == "2025-11-21T07:00:00Z"
    ((name, request, metadata),) = place.facility.asked
    assert name == "QueryTable"
    assert request.dataset == "randhie"
    assert request.rows[0].variable == "site"
    assert metadata["authorization"] == f"Bearer {KEY}"
    assert metadata["x-request-id"] == response.headers["x-request-id"]


@pytest.mark.parametrize(
    ("decision", "repeated", "status"),
    [
        (openapi_examples.released, True, 200),
        (openapi_examples.refused, False, 201),
        (openapi_examples.referred, False, 202),
        (openapi_examples.referred, True, 202),
    ],
)
def test_the_status_says_new_repeated_or_referred(place, decision, repeated, status):
    answer = pb.QueryTableResponse(decision=decision(), repeated_answer=repeated)
    place.facility.answers["QueryTable"] = answer
    response = place.ask("POST", TABLES, QUERY)
    assert response.status_code == status
    assert response.headers["location"] == f"/v1/queries/{openapi_examples.QUERY}"


def broken_decisions():
    table = openapi_examples.released().table
    without_table = openapi_examples.released()
    without_table.ClearField("table")
    refused_with_table = openapi_examples.refused()
    refused_with_table.table.CopyFrom(table)
    unspecified = openapi_examples.released()
    unspecified.verdict = pb.VERDICT_UNSPECIFIED
    unknown = openapi_examples.released()
    unknown.verdict = 77
    half = openapi_examples.released()
    del half.table.figures[0].values[-1]
    nameless = openapi_examples.released()
    nameless.query = ""
    unknown_refusal = openapi_examples.refused()
    unknown_refusal.verdict = 77
    return [
        unknown_refusal,
        without_table,
        refused_with_table,
        unspecified,
        unknown,
        half,
        nameless,
        pb.Decision(),
    ]


@pytest.mark.parametrize("decision", broken_decisions())
def test_what_is_not_clearly_a_decision_is_an_error_and_no_figure_of_it_goes_out(place, decision):
    place.facility.answers["QueryTable"] = pb.QueryTableResponse(decision=decision)
    place.facility.answers["GetQuery"] = pb.GetQueryResponse(decision=decision)
    for response in (place.ask("POST", TABLES, QUERY), place.ask("GET", "/v1/queries/q-1")):
        content = problem(response, 500, "INTERNAL")
        assert content.pop("request")
        assert "252" not in str(content)


def test_a_sound_decision_passes():
    for make in (openapi_examples.released, openapi_examples.referred, openapi_examples.refused):
        assert checked(make()) == make()


UNKNOWN = errors.FieldProblem("rows[0].variable", "is unknown")
FAILURES = [
    (
        errors.InvalidArgument([UNKNOWN]),
        400,
        "INVALID_ARGUMENT",
    ),
    (errors.PermissionDenied(), 403, "PERMISSION_DENIED"),
    (errors.NotFound("There is no dataset x"), 404, "NOT_FOUND"),
    (errors.FailedPrecondition(), 409, "FAILED_PRECONDITION"),
    (errors.ResourceExhausted(), 429, "RESOURCE_EXHAUSTED"),
    (KeyError("withheld 31337"), 500, "INTERNAL"),
    (errors.Unavailable(), 503, "UNAVAILABLE"),
    (errors.DeadlineExceeded(), 504, "DEADLINE_EXCEEDED"),
]


@pytest.mark.parametrize(("failure", "status", "code"), FAILURES)
def test_every_failure_of_the_facility_is_problem_json_and_never_a_verdict(place, failure, status, code):
    place.facility.answers["QueryTable"] = failure
    response = place.ask("POST", TABLES, QUERY)
    content = problem(response, status, code)
    assert "verdict" not in content
    assert "31337" not in response.text
    assert ("retry-after" in response.headers) == (status in (429, 503, 504))
    if status == 400:
        assert content["errors"] == [{"path": "rows[0].variable", "message": "is unknown"}]


def test_a_thousand_problems_reach_the_caller(place):
    fields = [errors.FieldProblem(f"descriptor.variables[{i}].name", "x" * 60) for i in range(1000)]
    place.facility.answers["RegisterDataset"] = errors.InvalidArgument(fields)
    response = place.ask("POST", "/v1/datasets", openapi_examples.BODIES["RegisterDataset"])
    assert len(problem(response, 400, "INVALID_ARGUMENT")["errors"]) == 1000


def test_without_a_key_nothing_is_reached_but_the_document(place):
    values = ["Basic abc", "Bearer", "Bearer ä".encode()]
    for method, path in [
        ("GET", "/v1/datasets"),
        ("POST", TABLES),
        ("GET", "/v1/status"),
        ("GET", "/nowhere"),
        ("OPTIONS", TABLES),
    ]:
        for headers in ({}, *({"Authorization": value} for value in values)):
            response = place.http.request(method, path, headers=headers)
            problem(response, 401, "UNAUTHENTICATED")
            assert response.headers["www-authenticate"] == "Bearer"
    assert place.facility.asked == []
    assert place.http.get("/openapi.json").status_code == 200


def test_an_unknown_key_is_401(place):
    response = place.http.get("/v1/datasets", headers={"Authorization": "Bearer another-key"})
    problem(response, 401, "UNAUTHENTICATED")
    assert place.facility.asked == []


def test_all_problems_of_a_body_come_at_once_and_the_facility_is_not_asked(place):
    response = place.ask("POST", TABLES, {"rows": [{"variable": 1}], "colums": [], "margins": "yes"})
    content = problem(response, 400, "INVALID_ARGUMENT")
    assert {error["path"] for error in content["errors"]} == {"rows[0].variable", "colums", "margins"}
    assert place.facility.asked == []


NO_JSON = [b"", b"{", b'{"margins": NaN}', b"[" * 10_000, b'{"margins": true, "margins": false}']


@pytest.mark.parametrize("body", NO_JSON)
def test_a_body_that_is_no_strict_json_is_400(place, body):
    response = place.ask("POST", TABLES, content=body, headers={"Content-Type": "application/json"})
    problem(response, 400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Content-Type": ""},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
def test_only_plain_json_is_taken(place, headers):
    problem(place.ask("POST", TABLES, content=b"{}", headers=headers), 415, "INVALID_ARGUMENT")


def test_a_body_with_charset_utf_8_is_taken(place):
    headers = {"Content-Type": "application/json; charset=UTF-8"}
    assert place.ask("POST", TABLES, content=b"{}", headers=headers).status_code == 201


def test_a_body_beyond_the_limit_is_413_whether_its_length_is_told_or_not(place):
    long = b'{"project": "' + b"x" * 2**20 + b'"}'
    headers = {"Content-Type": "application/json"}
    problem(place.ask("POST", TABLES, content=long, headers=headers), 413, "OUT_OF_RANGE")
    chunks = (long[at : at + 65536] for at in range(0, len(long), 65536))
    problem(place.ask("POST", TABLES, content=chunks, headers=headers), 413, "OUT_OF_RANGE")
    assert place.facility.asked == []


def test_unknown_addresses_and_methods_are_problems_too(place):
    for path in ("/", "/v1", "/v1/datasets/", "/v1/queries/x:approve/y", "/docs"):
        for method in ("GET", "POST"):
            problem(place.ask(method, path), 404, "NOT_FOUND")
    for method, path, allowed in [
        ("DELETE", "/v1/datasets", "GET, POST"),
        ("GET", TABLES, "POST"),
        ("OPTIONS", TABLES, "POST"),
        ("PUT", "/v1/status", "GET"),
        ("POST", "/openapi.json", "GET"),
    ]:
        response = place.ask(method, path)
        problem(response, 405, "UNIMPLEMENTED")
        assert response.headers["allow"] == allowed
    head = place.ask("HEAD", "/v1/status")
    assert (head.status_code, head.content) == (405, b"")


def test_each_route_is_its_call(place):
    for method, path, rpc, body in [
        ("POST", "/v1/datasets", "RegisterDataset", openapi_examples.BODIES["RegisterDataset"]),
        ("GET", "/v1/datasets", "ListDatasets", None),
        ("GET", "/v1/datasets/randhie", "GetDataset", None),
        ("GET", "/v1/queries", "ListQueries", None),
        ("GET", "/v1/queries/q-1", "GetQuery", None),
        ("GET", "/v1/queries/q-1/picture?kind=BARS", "DrawQuery", None),
        ("POST", "/v1/queries/q-1:review", "ReviewQuery", {"approve": True, "note": "fine"}),
        ("POST", "/v1/queries/q-1:comment", "CommentQuery", {"text": "why so fine?"}),
        ("POST", "/v1/risk:assessTable", "AssessTable", openapi_examples.BODIES["AssessTable"]),
        ("POST", "/v1/protection:protectTable", "ProtectTable", openapi_examples.BODIES["ProtectTable"]),
        ("POST", "/v1/protection:auditTable", "AuditTable", openapi_examples.BODIES["AuditTable"]),
        (
            "POST",
            "/v1/protection:redesignTable",
            "RedesignTable",
            openapi_examples.BODIES["RedesignTable"],
        ),
        ("GET", "/v1/budget?dataset=randhie&researcher=ada", "GetBudget", None),
        ("GET", "/v1/admissions?states=REQUESTED&page_size=5", "ListAdmissions", None),
        ("POST", "/v1/admissions/a-1:review", "ReviewAdmission", {"approve": True, "note": "fine"}),
        ("POST", "/v1/admissions/a-1:withdraw", "WithdrawAdmission", {"note": "ended"}),
        ("GET", "/v1/caller", "GetCaller", None),
        ("GET", "/v1/status", "GetStatus", None),
    ]:
        place.facility.asked.clear()
        response = place.ask(method, path, body)
        assert response.status_code == 200, response.text
        assert [name for name, _, _ in place.facility.asked] == [rpc]


def test_an_admission_is_requested_in_the_name_of_who_is_named(place):
    body = openapi_examples.BODIES["RequestAdmission"]
    response = place.ask("POST", "/v1/admissions", body, headers={"X-On-Behalf-Of": "ren%C3%A9"})
    assert (response.status_code, response.json()["state"]) == (201, "REQUESTED")
    ((_, request, metadata),) = place.facility.asked
    assert list(request.researchers) == body["researchers"]
    assert dict(metadata)["x-on-behalf-of"] == "ren%C3%A9"


def test_a_check_goes_to_its_service_as_the_caller_and_has_no_place(place):
    response = place.ask("POST", "/v1/risk:assessTable", openapi_examples.BODIES["AssessTable"])
    ((_, request, metadata),) = place.facility.asked
    assert request.facts.units[:3] == [2, 24, 26]
    assert metadata["authorization"] == f"Bearer {KEY}"
    assert "location" not in response.headers
    assert response.json()["findings"][0]["rule"] == "MINIMUM_UNITS"


def test_a_review_names_the_query_of_the_address(place):
    place.ask("POST", "/v1/queries/q-17:review", {"approve": True, "note": "fine"})
    ((_, request, _),) = place.facility.asked
    assert (request.query, request.approve, request.note) == ("q-17", True, "fine")


def test_a_new_dataset_is_201_and_a_known_one_200(place):
    body = openapi_examples.BODIES["RegisterDataset"]
    for created, status in ((True, 201), (False, 200)):
        place.facility.answers["RegisterDataset"] = pb.RegisterDatasetResponse(
            dataset=openapi_examples.dataset(), created=created
        )
        response = place.ask("POST", "/v1/datasets", body)
        assert response.status_code == status
        assert response.headers["location"] == "/v1/datasets/households"
    request = place.facility.asked[0][1]
    assert request.descriptor.measures[0].HasField("lower_bound")


def test_lists_are_asked_for_in_the_address(place):
    place.ask("GET", "/v1/queries?verdicts=REFERRED&verdicts=REFUSED&page_size=5&page_token=abc")
    ((_, request, _),) = place.facility.asked
    assert list(request.verdicts) == [pb.VERDICT_REFERRED, pb.VERDICT_REFUSED]
    assert (request.page_size, request.page_token) == (5, "abc")


def test_wrong_parameters_are_problems_with_their_names(place):
    response = place.ask("GET", "/v1/queries?verdicts=MAYBE&page_size=-1&page_tokn=a")
    assert {e["path"] for e in problem(response, 400, "INVALID_ARGUMENT")["errors"]} == {"page_tokn"}
    response = place.ask("GET", "/v1/queries?verdicts=MAYBE&page_size=-1")
    assert {e["path"] for e in problem(response, 400, "INVALID_ARGUMENT")["errors"]} == {
        "verdicts[0]",
        "page_size",
    }
    problem(place.ask("GET", "/v1/queries?page_size=1&page_size=2"), 400, "INVALID_ARGUMENT")
    problem(place.ask("POST", TABLES + "?margins=true", QUERY), 400, "INVALID_ARGUMENT")
    problem(place.ask("GET", "/v1/queries/q-1?query=q-2"), 400, "INVALID_ARGUMENT")


def test_every_answer_has_its_headers(place):
    for response in (
        place.ask("POST", TABLES, QUERY),
        place.http.get("/v1/datasets"),
        place.ask("GET", "/nowhere"),
        place.http.get("/openapi.json"),
    ):
        for name, value in SECURITY_HEADERS.items():
            assert response.headers[name] == value
        assert response.headers["x-request-id"].startswith("r-")
        assert "server" not in response.headers


def test_the_callers_request_id_is_kept(place):
    response = place.ask("GET", "/v1/status", headers={"X-Request-Id": "portal-17"})
    assert response.headers["x-request-id"] == "portal-17"
    assert place.facility.asked[0][2]["x-request-id"] == "portal-17"


def test_metrics_and_probes_are_on_their_own_port(place):
    place.ask("GET", "/v1/datasets/randhie")
    with urllib.request.urlopen(f"{place.metrics}/metrics", timeout=2) as answer:
        text = answer.read().decode()
    assert 'method="GET /v1/datasets/{dataset}",service="gateway"' in text
    assert "randhie" not in text
    with urllib.request.urlopen(f"{place.metrics}/readyz", timeout=2) as answer:
        assert answer.status == 200
    problem(place.ask("GET", "/metrics"), 404, "NOT_FOUND")
    problem(place.ask("GET", "/healthz"), 404, "NOT_FOUND")


def test_large_tables_go_out_whole(place):
    count = 100_000
    decision = openapi_examples.released()
    decision.table.CopyFrom(
        table_pb2.Table(
            dimensions=[
                table_pb2.Dimension(
                    variable="a", level="a", codes=[str(code) for code in range(count)], cells=range(count)
                )
            ],
            figures=[table_pb2.Figure(statistic=table_pb2.STATISTIC_UNITS, values=range(count))],
            statuses=[table_pb2.CELL_STATUS_PUBLISHED] * count,
        )
    )
    place.facility.answers["QueryTable"] = pb.QueryTableResponse(decision=decision)
    columns = place.ask("POST", TABLES, QUERY).json()["table"]["columns"]
    assert columns["units"] == list(range(count))


def test_a_facility_that_is_gone_is_503_and_the_gateway_not_ready(tmp_path):
    place = Place(tmp_path)
    try:
        place.running.stop(0)
        content = problem(place.ask("POST", TABLES, QUERY), 503, "UNAVAILABLE")
        assert "127.0.0.1" not in str(content)
        time.sleep(1.2)
        assert httpx.get(f"{place.metrics}/readyz").status_code == 503
        assert httpx.get(f"{place.metrics}/healthz").status_code == 200
    finally:
        place.stop()
    assert not place.ready_file.exists()


def test_a_check_service_that_is_gone_is_503_on_its_own_routes_only(tmp_path):
    place = Place(tmp_path, risk=Peer(address="127.0.0.1:1"))
    place.facility.answers["AuditTable"] = openapi_examples.answer("AuditTable", 200)
    place.facility.answers["GetStatus"] = openapi_examples.answer("GetStatus", 200)
    try:
        response = place.ask("POST", "/v1/risk:assessTable", openapi_examples.BODIES["AssessTable"])
        assert "127.0.0.1" not in str(problem(response, 503, "UNAVAILABLE"))
        body = openapi_examples.BODIES["AuditTable"]
        assert place.ask("POST", "/v1/protection:auditTable", body).status_code == 200
        assert place.ask("GET", "/v1/status").status_code == 200
        assert httpx.get(f"{place.metrics}/readyz").status_code == 200
    finally:
        place.stop()


def test_a_facility_that_takes_too_long_is_504(tmp_path):
    place = Place(tmp_path, deadline_seconds=0.2)
    go = threading.Event()
    place.facility.answers["QueryTable"] = lambda: go.wait(5) and pb.QueryTableResponse()
    try:
        response = place.ask("POST", TABLES, QUERY)
        problem(response, 504, "DEADLINE_EXCEEDED")
        assert response.headers["retry-after"] == "1"
    finally:
        go.set()
        place.stop()


def test_a_taken_port_is_an_error(place):
    port = int(place.http.base_url.port)
    with pytest.raises(OSError, match="in use"):
        listening_socket(GatewayServer(port=port))


bodies = st.binary(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["rows", "variable", "figures", "statistic", "filter", "margins"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
).map(lambda value: json.dumps(value).encode())


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bodies, st.text(max_size=10))
def test_no_body_and_no_parameter_is_ever_an_internal_error(place, body, parameter):
    headers = {"Content-Type": "application/json"}
    assert place.ask("POST", TABLES, content=body, headers=headers).status_code in (201, 400)
    response = place.ask("GET", "/v1/queries", params={"page_size": parameter, "page_token": parameter})
    assert response.status_code in (200, 400)
    response = place.ask("GET", f"/v1/datasets/{quote(parameter, safe='')}")
    assert response.status_code in (200, 404)
