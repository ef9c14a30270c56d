"""Bad input over the wire: a clear refusal that names every field and says what to send instead.

After each test the service is ready, the ledger is what was signed, and nothing failed that nobody foresaw.
"""

import re
import socket
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import httpx
import pytest
from google.protobuf.message import Message

from bad_input import (
    ASSESSMENTS,
    BODIES,
    DESCRIPTORS,
    FILES,
    HEADER,
    LINES,
    MESSAGES,
    QUERIES,
    Told,
    descriptor,
    rows,
    table,
    where,
)
from made_files import PEOPLE, write_people
from sdcgate.ledger.credentials import Credentials
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing
from sdcgate.servers.bodies import ARROW, MAXIMUM_QUERY_BYTES
from sdcgate.servers.errors import from_rpc_error
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from served_house import ServedHouse, codes_of

TABLES = "/v1/datasets/people/tables"
JSON = {"Content-Type": "application/json"}
MOST_BYTES = 262_144
SERVICE = {"facility": "sdcgate.facility.v1.FacilityService", "risk": "sdcgate.risk.v1.RiskService",
           "protection": "sdcgate.protection.v1.ProtectionService"}  # fmt: skip


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("bad input"), facility={"maximum_message_bytes": MOST_BYTES})
    try:
        write_people(made.settings.data_root / "people.csv")
        assert made.register(PEOPLE).status_code == 201
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def ledger(house: ServedHouse) -> Iterator[Ledger]:
    with house.ledger() as opened:
        yield opened


@pytest.fixture(autouse=True)
def unharmed(house: ServedHouse, ledger: Ledger) -> Iterator[None]:
    yield
    assert house.send("GET", "/v1/status").json()["ready"] is True
    assert ledger.verify().ok
    for service in house.supervisor.processes:
        assert [line for line in house.log(service) if line.get("event") == "failed"] == []


def refused(response: httpx.Response, told: Told, prefix: str = "") -> dict[str, Any]:
    """A 400 that names exactly these paths, with these words."""
    assert response.status_code == 400, response.text
    assert response.headers["content-type"] == "application/problem+json"
    content = response.json()
    assert (content["code"], content["status"]) == ("INVALID_ARGUMENT", 400)
    fits([(error["path"], error["message"]) for error in content["errors"]], told, prefix)
    return content


def fits(problems: Iterable[tuple[str, str]], told: Told, prefix: str = "") -> None:
    """Whether exactly these paths are told, with these words; of several problems of a path all of them."""
    found: dict[str, str] = {}
    for path, message in problems:
        found[path] = f"{found[path]}; {message}" if path in found else message
    assert set(found) == {prefix + path for path in told}, found
    for path, words in told.items():
        pattern = words if words.endswith("$") or "(" in words else re.escape(words)
        assert re.search(pattern, found[prefix + path]), (path, found[prefix + path])


def problems_of(error: grpc.RpcError) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in from_rpc_error(error).fields]


def call(
    house: ServedHouse, service: str, method: str, content: bytes | Message, key: str, **how: Any
) -> bytes:
    """A gRPC call with bytes. Raises grpc.RpcError."""
    shown = house.keys.get(key, key)
    with grpc.insecure_channel(house.supervisor.addresses[service]) as channel:
        metadata = (("authorization", f"Bearer {shown}"),)
        sent = content if isinstance(content, bytes) else content.SerializeToString()
        how = {"timeout": 30, "metadata": metadata, **how}
        answer: bytes = channel.unary_unary(f"/{SERVICE[service]}/{method}")(sent, **how)
        return answer


def message(body: dict[str, Any]) -> pb.QueryTableRequest:
    """The same over gRPC."""
    return from_value({**body, "dataset": "people"}, pb.QueryTableRequest)


def failure(house: ServedHouse, *args: Any, **how: Any) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        call(house, *args, **how)
    return caught.value


# What is asked for


@pytest.mark.parametrize("case", QUERIES)
def test_every_problem_of_a_query_is_told_at_once_over_rest_and_grpc(house, ledger, case):
    body, told = QUERIES[case]
    before = ledger.head()
    refused(house.send("POST", TABLES, body), told)
    error = failure(
        house,
        "facility",
        "QueryTable",
        from_value({**body, "dataset": "people"}, pb.QueryTableRequest),
        "ada",
    )
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    fits(problems_of(error), told)
    # Nothing of it is recorded: it was no query.
    assert ledger.head() == before


@pytest.mark.parametrize("case", ASSESSMENTS)
def test_every_problem_of_scenarios_for_a_dataset_is_told_at_once(house, ledger, case):
    body, told = ASSESSMENTS[case]
    before = ledger.head()
    refused(house.send("POST", "/v1/datasets/people:assess", body, "stefan"), told)
    assert house.send("POST", "/v1/datasets/people:assess", body, "ada").status_code in (400, 403)
    assert house.send("POST", "/v1/datasets/peopel:assess", {}, "stefan").status_code == 404
    assert ledger.head() == before


@pytest.mark.parametrize("size", [MAXIMUM_QUERY_BYTES + 1, 60_000])
@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/v1/queries", "page_token"),
        ("POST", TABLES, "rows"),
        ("POST", "/v1/risk:assessMicrodata", "weight"),
    ],
)
def test_a_query_string_that_is_too_long_is_told_so(house, size, method, path, name):
    headers = {"Content-Type": ARROW if "risk" in path else "application/json"}
    content = b"{}" if method == "POST" else None
    asked = f"{path}?{name}=".ljust(len(path) + 1 + size, "x")
    told = f"the query string must have at most {MAXIMUM_QUERY_BYTES} bytes"
    refused(house.send(method, asked, content=content, headers=headers), {"": told})
    within = asked[: len(path) + 1 + MAXIMUM_QUERY_BYTES]
    response = house.send(method, within, content=content, headers=headers)
    assert told not in response.text


def test_an_address_that_is_no_http_any_more_gets_a_bare_400(house):
    response = house.send("GET", "/v1/queries?page_token=".ljust(65_536, "x"))
    assert response.status_code == 400
    assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("case", BODIES)
def test_a_body_that_can_be_read_in_two_ways_or_not_at_all_is_refused_with_its_place(house, case):
    body, told = BODIES[case]
    refused(house.send("POST", TABLES, content=body, headers=JSON), told)


def test_a_thousand_million_cells_are_refused_before_anything_is_computed(house):
    wide = descriptor("wide")
    integers = [{"integers": {"first": 0, "last": 999}}]
    wide["variables"] = [
        {"name": name, "column": "age", "identifying": "NO", "levels": integers} for name in ("a", "b", "c")
    ]
    (house.settings.data_root / "wide.csv").write_text(HEADER + LINES)
    assert house.register(wide).status_code == 201
    began = time.monotonic()
    response = house.send("POST", "/v1/datasets/wide/tables", {"rows": rows("a", "b", "c")})
    assert time.monotonic() - began < 5
    # A decision, not an error: the policy says how many.
    assert response.status_code == 201
    decision = response.json()
    assert (decision["verdict"], codes_of(decision)) == ("REFUSED", ["MAXIMUM_CELLS"])
    assert "would have 1006012008 cells; at most 100000" in decision["reasons"][0]["message"]
    assert "table" not in decision


def test_ten_thousand_unknown_codes_are_told_in_seconds(house):
    codes = [f"{number}x" for number in range(10_000)]
    began = time.monotonic()
    content = house.send("POST", TABLES, table(filter=[where("age", *codes)])).json()
    assert time.monotonic() - began < 10
    assert content["code"] == "INVALID_ARGUMENT"
    assert content["errors"][-1] == {"path": "filter[0].codes", "message": "9900 more codes are unknown."}
    refused(
        house.send("POST", TABLES, table(rows=rows("regoin"), filter=[where("age", *codes, "x")])),
        {"filter[0].codes": "has 10001 items; at most 10000 are taken"},
    )


# Descriptors and files


@pytest.mark.parametrize("case", FILES)
def test_every_problem_of_a_file_is_told_with_its_place_in_the_descriptor(house, case):
    content, told = FILES[case]
    if content is not None:
        (house.settings.data_root / "bad.csv").write_bytes(content)
    else:
        (house.settings.data_root / "bad.csv").unlink(missing_ok=True)
    response = house.register(descriptor("bad"))
    refused(response, told, "descriptor.")
    # Records are named by their place; what stands in them is nobody's business.
    assert not any(value in response.text for value in ("n9", "heavy", "1e999"))
    assert house.send("GET", "/v1/datasets/bad").status_code == 404


@pytest.mark.parametrize("case", DESCRIPTORS)
def test_every_problem_of_a_descriptor_is_told_in_one_round(house, case):
    changes, told = DESCRIPTORS[case]
    (house.settings.data_root / "bad.csv").write_text(HEADER + LINES)
    refused(house.register(descriptor("bad", *changes)), told, "descriptor.")


def test_a_source_file_that_changes_or_vanishes_later_changes_no_answer(house):
    file = house.settings.data_root / "kept.csv"
    write_people(file)
    assert house.register(descriptor("kept")).status_code == 201
    file.write_bytes(b"\xff\xfe")
    first = house.send("POST", "/v1/datasets/kept/tables", {"rows": rows("age:five")})
    assert first.status_code == 201
    file.unlink()
    second = house.send("POST", "/v1/datasets/kept/tables", {"rows": rows("region:part")})
    assert (second.status_code, second.json()["verdict"]) == (201, "RELEASED")
    refused(house.register(descriptor("kept")), {"data.path": "there is no such file"}, "descriptor.")


def test_nothing_is_answered_from_a_damaged_snapshot_and_everything_else_goes_on(house, ledger):
    write_people(house.settings.data_root / "fragile.csv")
    assert house.register(descriptor("fragile")).status_code == 201
    place = "/v1/datasets/fragile/tables"
    answered = house.send("POST", place, {"rows": rows("region:part")})
    assert answered.status_code == 201
    file = house.settings.state_dir / "snapshots/fragile/v1/data.parquet"
    kept = file.read_bytes()
    before = ledger.head()
    for content, words in ((kept[:-1] + b"x", "the data file was changed"), (None, "the data file is gone")):
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        response = house.send("POST", place, {"rows": rows("age:five")})
        assert (response.status_code, response.json()["code"]) == (503, "UNAVAILABLE")
        assert response.json()["detail"] == f"fragile v1: {words}"
    assert ledger.head() == before
    # What was answered before is in the ledger; other datasets have their own snapshots.
    assert house.send("POST", place, {"rows": rows("region:part")}).json() == answered.json()
    assert house.send("POST", TABLES, table(columns=rows("ill"))).status_code == 201
    (file.parent / "dataset.json").write_text("{}")
    house.kill("facility")
    house.restart("facility")
    assert "fragile" not in [found["name"] for found in house.send("GET", "/v1/datasets").json()["datasets"]]
    assert house.send("GET", "/v1/datasets/fragile").status_code == 503
    assert house.send("POST", TABLES, table(columns=rows("ill"))).status_code == 200


# Keys and clocks


def keys_of_another_time(house: ServedHouse, later: timedelta) -> Credentials:
    """Whoever makes keys with a clock that differs."""
    state = house.settings.state_dir
    ledger = Ledger.open(
        f"sqlite:///{state / 'ledger.sqlite'}",
        KeyRing.open(state / "keys" / "ledger"),
        state / "heads" / "heads.jsonl",
        clock=lambda: datetime.now(UTC) + later,
    )
    return Credentials(ledger)


def unauthenticated(house: ServedHouse, key: str) -> None:
    """No key, over REST and gRPC."""
    response = house.send("GET", "/v1/datasets", key=key)
    assert (response.status_code, response.json()["code"]) == (401, "UNAUTHENTICATED")
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["detail"] == "Send a valid API key or token as `Authorization: Bearer <key>`"
    error = failure(house, "facility", "ListDatasets", b"", key)
    assert error.code() == grpc.StatusCode.UNAUTHENTICATED
    assert error.details() == response.json()["detail"]


def test_a_key_opens_nothing_once_it_is_expired_or_revoked_or_of_another_house(house, tmp_path):
    expired, _ = keys_of_another_time(house, timedelta(days=-2)).create("researcher", "eve", "old", 1)
    unauthenticated(house, expired)
    # A clock that is ahead by an hour makes keys that are good at once.
    credentials = keys_of_another_time(house, timedelta(hours=1))
    early, record = credentials.create("researcher", "eve", "new", 1)
    assert house.send("GET", "/v1/datasets", key=early).status_code == 200
    credentials.revoke(record.key_id)
    unauthenticated(house, early)
    other = Ledger.open(
        f"sqlite:///{tmp_path / 'other.sqlite'}", KeyRing.open(tmp_path / "keys"), tmp_path / "heads"
    )
    foreign, _ = Credentials(other).create("researcher", "eve", "other", 1)
    other.close()
    unauthenticated(house, foreign)
    good = house.keys["ada"]
    for wrong in (good[:-1], good + "A", good.upper(), "sdcg_", "x", "é", good.replace("sdcg_", "sdcg-")):
        assert (
            house.send(
                "GET", "/v1/datasets", key="", headers={"Authorization": b"Bearer " + wrong.encode()}
            ).status_code
            == 401
        )


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer", "bearer a b", "Bearer " + "x" * 600])
def test_a_header_that_holds_no_key_is_401(house, header):
    response = house.send("GET", "/v1/datasets", key="", headers={"Authorization": header} if header else {})
    assert (response.status_code, response.json()["code"]) == (401, "UNAUTHENTICATED")
    twice = httpx.Headers(
        [("Authorization", f"Bearer {house.keys['ada']}"), ("Authorization", header or "x")]
    )
    assert house.http.get("/v1/datasets", headers=twice).status_code == 401


# Sizes, deadlines, bytes


def test_a_message_beyond_what_a_service_takes_is_413_and_not_to_be_sent_again(house):
    large = table(filter=[where("age", *(f"{number:050}" for number in range(6000)))])
    response = house.send("POST", TABLES, large)
    assert (response.status_code, response.json()["code"]) == (413, "OUT_OF_RANGE")
    assert response.json()["detail"] == f"The request must have at most {MOST_BYTES} bytes; send less at once"
    assert "retry-after" not in response.headers
    error = failure(
        house,
        "facility",
        "QueryTable",
        from_value({**large, "dataset": "people"}, pb.QueryTableRequest),
        "ada",
    )
    assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in error.details()


def test_deadlines_that_are_none_too_long_or_too_short_harm_nobody(house):
    for how, words in (
        ({"timeout": None}, "at most 120 seconds"),
        ({"timeout": 3600}, "at most 120 seconds"),
    ):
        error = failure(house, "facility", "GetStatus", b"", "ada", **how)
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert words in error.details()
    asked = [table(rows=rows("age:five"), figures=[{"statistic": "RECORDS"}], filter=[where("region", code)])
             for code in ("n1", "n2", "s1", "s2", "_U")]  # fmt: skip
    for body, seconds in zip(asked, (0.001, 0.003, 0.01, 0.03, 0.1), strict=True):
        ended = grpc.StatusCode.OK
        try:
            call(house, "facility", "QueryTable", message(body), "ada", timeout=seconds)
        except grpc.RpcError as error:
            ended = error.code()
        # By the caller's own clock, by the facility's a moment before it, or in time after all.
        assert ended.name in ("DEADLINE_EXCEEDED", "UNAVAILABLE", "OK")
    for body in asked:
        response = house.send("POST", TABLES, body)
        assert response.status_code in (200, 201)
        assert response.json()["verdict"] in ("RELEASED", "RELEASED_PROTECTED", "REFUSED")


@pytest.mark.parametrize("case", MESSAGES)
def test_what_only_grpc_can_send_is_refused_with_its_place(house, case):
    service, method, key, request, told = MESSAGES[case]
    (house.settings.data_root / "bad.csv").write_text(HEADER + LINES)
    error = failure(house, service, method, request, key)
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
    fits(problems_of(error), told)


@pytest.mark.parametrize("service", ["facility", "risk", "protection"])
@pytest.mark.parametrize(
    "content", [b"\xff", b"\x0a\x05ab", b"\x0a\x01\xff"], ids=["no tag", "cut short", "not UTF-8"]
)
def test_bytes_that_are_no_message_are_refused(house, service, content):
    method = {"facility": "QueryTable", "risk": "AssessTable", "protection": "AuditTable"}[service]
    if service != "facility" and content == b"\x0a\x01\xff":
        content = b"\x0a\x03" + content
    error = failure(house, service, method, content, "ada")
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "send it whole, with all texts in UTF-8" in error.details()


@pytest.mark.parametrize(
    "lines",
    [
        b"nonsense\r\n\r\n",
        b"GET /v1/status HTTP/9.9\r\n\r\n",
        b"GET /v1/st\xfftus HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /v1/datasets HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/datasets HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /v1/datasets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
    ],
    ids=["nonsense", "version", "address", "length", "huge length", "chunk", "long header"],
)
def test_what_is_no_http_is_a_400_or_a_closed_connection(house, lines):
    address = house.http.base_url
    with socket.create_connection((address.host, address.port), timeout=10) as connection:
        connection.sendall(lines)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    assert answer == b"" or answer.split(b" ", 2)[1] in (b"400", b"401", b"404", b"431"), answer[:200]
