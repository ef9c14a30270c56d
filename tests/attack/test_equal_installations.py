"""What a researcher can see is a function of what is published.

Two installations of four real processes hold datasets that differ by withheld persons only; the same long
session of requests on both gives the same bytes, but for ids, times and salted digests.

- `moved`: two persons have exchanged their jobs. Each is in a cell that is withheld for its few units, before
  and after, and so are the four cells concerned; all margins are as they were.
- `earning`: four persons in such cells have exchanged their incomes.
- `island`: an island too small for any table of it has one inhabitant more. No table with him in it is
  released, so nothing that is published differs.

The tables of the session are those whose pattern of withheld cells is the same in both. This is not so for
every table: which cells are withheld beside the unsafe ones depends on figures of withheld cells, as that is
what has to be protected; see docs/limits.md.
"""

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import yaml

import twin_data as data
from sdcgate.policy.files import BUNDLED
from sdcgate.servers.authentication import AUTHORIZATION_KEY
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2_grpc
from served_house import ServedHouse, table_body

QUICK = {"standing_poll_seconds": 0.2}
People = list[data.Person]
PAIRS: dict[str, tuple[People, People]] = {
    "moved": (data.unmoved(data.crowd()), data.moved(data.crowd())),
    "earning": (data.crowd(), data.earning_otherwise(data.crowd())),
    "island": (data.islanders(30), data.islanders(31)),
}
FIGURES = ("UNITS", "SUM:income", "MEAN:income", "WEIGHTED_UNITS")
MAINLAND = {"region": list(data.DISTRICTS)}


def tables(island: bool) -> list[dict[str, Any]]:
    """Table queries; of the dataset with the island those that leave it out, or are held."""
    kept = MAINLAND if island else {}
    one = [["region"], ["job"], ["age"], ["age:ten_years"]]
    two = [["region", "job"], ["region:province", "job"], ["region", "illness"]]
    asked = [{"rows": dims[:1], "columns": dims[1:], **kept} for dims in [*one, *two]]
    asked += [
        {"rows": dims[:1], "columns": dims[1:], "figures": FIGURES, **kept}
        for dims in (["region", "job"], ["region:province", "job"], ["job", "illness"])
    ]
    asked += [
        {"rows": ["region"], "columns": ["job"], "figures": ["ROW_PERCENT"], **kept},
        {"rows": ["job"], "figures": ["TOTAL_PERCENT", "MEAN:income"], **kept},
        {"rows": ["region"], "columns": ["job"], "margins": False, **kept},
        {"rows": ["region"], "columns": ["job"], "job": ["mine", "sea"], **kept},
        {"rows": ["job"], "region": ["w1"]},
        {"rows": ["job"], "region": ["w1", "w2"]},
        {"rows": ["region:province"], "figures": ["MEAN:income"], "job": ["sea"], **kept},
        {"rows": ["job"], "age__ten_years": ["40-49"], **kept},
        # Too risky or too small, whoever is counted.
        {"rows": ["age"], "columns": ["job"]},
        {"rows": ["sex"], "region": [data.ISLAND]},
        {"rows": ["sex"], "figures": FIGURES, "region": [data.ISLAND]},
        {"rows": ["illness"], "columns": ["sex"], "job": ["sea"], "region": ["w2"]},
        # Refused before any data are read.
        {"rows": ["region", "job"], "columns": ["sex", "age"]},
    ]
    return asked


WRONG: list[dict[str, Any]] = [
    {"rows": ["regoin"]},
    {"rows": ["region:provinz"], "columns": ["jobs"]},
    {"rows": ["region"], "columns": ["region"]},
    {"rows": ["job"], "job": ["mines"]},
    {"rows": ["job"], "figures": ["MEAN"]},
    {"rows": ["job"], "figures": ["SUM:incme"]},
    {"rows": ["job"], "region": []},
]
"""Queries that cannot be understood."""


def output(name: str) -> dict[str, Any]:
    """A portal's table by job of the western districts, with the figures of one installation."""
    count = {
        (district, job): sum(p.district == district and p.job == job for p in PAIRS[name][0])
        for district in ("w1", "w2")
        for job in data.JOBS
    }
    units = list(count.values())
    return {
        "rows": [{"variable": "region", "codes": ["w1", "w2"], "cells": [0] * 5 + [1] * 5}],
        "columns": [{"variable": "job", "codes": list(data.JOBS), "cells": list(range(5)) * 2}],
        "facts": {"units": units, "records": units},
        "figures": [{"statistic": "UNITS"}],
    }


class Visitor:
    """Does a session at one installation and notes all that can be seen, ids, times and digests left out."""

    def __init__(self, house: ServedHouse) -> None:
        self.house = house
        self.queries: list[str] = []
        self.seen: list[str] = []

    def send(self, method: str, path: str, body: Any = None, key: str = "ada", **how: Any) -> httpx.Response:
        response = self.house.send(method, path, body, key, **how)
        if response.status_code < 300 and "query" in response.text and response.headers.get("location"):
            query = response.headers["location"].rpartition("/")[2]
            if query not in self.queries:
                self.queries.append(query)
        assert response.headers["content-length"] == str(len(response.content))
        headers = {
            name: value
            for name, value in response.headers.items()
            if name not in ("date", "x-request-id", "content-length")
        }
        text = f"{method} {path} {key}: {response.status_code} {json.dumps(headers)} {response.text}"
        self.seen.append(self.without_ids(text))
        return response

    def without_ids(self, text: str) -> str:
        """The text with ids by order of appearance, and without times and digests; each as long as before."""
        for number, query in enumerate(self.queries):
            text = text.replace(query, f"query {number}".ljust(len(query)))
        for pattern in (
            r"r-[0-9A-HJKMNP-TV-Z]{26}",
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z",
            r"(?<!sha256:)\b[0-9a-f]{64}\b",
            r"\b[0-9a-f]{16}\b",
            r'(?<="etag": )"\\"[0-9a-f]{32}\\""',
            r"[A-Za-z0-9+/]{86}==",
            r"-----BEGIN PUBLIC KEY-----[^-]*-----END PUBLIC KEY-----",
        ):
            text = re.sub(pattern, "<>", text)
        return text

    def session(self) -> None:
        """Everything that a researcher, a portal, a steward and an operator can ask."""
        for name in PAIRS:
            self.about(name)
        for key in ("ada", "bob", "portal", "olga"):
            for path in ("/v1/caller", "/v1/status", "/v1/datasets", "/v1/queries"):
                self.send("GET", path, key=key)
        self.send("GET", "/v1/queries?verdicts=REFUSED&page_size=5")
        self.send("GET", f"/v1/queries?page_size=3&page_token={self.queries[20]}")
        self.send("GET", "/openapi.json")
        self.send("GET", "/v1/nothing")
        self.send("GET", "/v1/status", key="sdcg_wrong")

    def about(self, name: str) -> None:
        """Questions about one dataset."""
        path = f"/v1/datasets/{name}"
        asked = tables(name == "island")
        for number, request in enumerate(asked):
            self.send("POST", f"{path}/tables", table_body(**request))
            if number % 6 == 0:
                self.send("POST", f"{path}/tables", table_body(**request), key="bob")
        for request in WRONG:
            self.send("POST", f"{path}/tables", table_body(**request))
        self.send("POST", f"{path}/tables", content=b'{"rows": NaN')
        self.send("POST", f"{path}/tables", table_body(**asked[0]), key="grace")
        for change in (0, 1):
            submitted = output(name)
            submitted["facts"]["units"][0] += change
            self.send("POST", f"{path}/outputs", submitted, key="portal")
        self.send("GET", path)
        self.send("GET", f"{path}/policy")
        for query in self.queries[-len(asked) :: 7]:
            self.send("GET", f"/v1/queries/{query}")
            self.send("GET", f"/v1/queries/{query}", key="bob")
            self.send("GET", f"/v1/queries/{query}/policy")
        self.send("GET", "/v1/queries?page_size=7")

    def over_grpc(self) -> list[bytes]:
        """The bytes of each answer as a gRPC caller gets them, without id, time and certificate."""
        metadata = ((AUTHORIZATION_KEY, f"Bearer {self.house.keys['ada']}"),)
        found = []
        with grpc.insecure_channel(self.house.supervisor.addresses["facility"]) as channel:
            get = facility_pb2_grpc.FacilityServiceStub(channel).GetQuery
            for query in self.queries:
                try:
                    decision = get(pb.GetQueryRequest(query=query), timeout=10, metadata=metadata).decision
                except grpc.RpcError as error:
                    found.append(str(error.code()).encode())
                    continue
                for field in ("query", "decided", "certificate"):
                    decision.ClearField(field)
                found.append(decision.SerializeToString(deterministic=True))
        return found

    def metrics(self, service: str) -> str:
        """Metrics of a service without durations and what the operating system says of the process.

        Also without how the risks of tables are spread: that is of all cells, withheld ones among them, and
        is for operators.
        """
        shown = f"\nsdcgate_ledger_events {self.head():.1f}\n" if service == "facility" else ""
        end = time.monotonic() + 60
        while shown not in (text := httpx.get(f"{self.house.metrics_address(service)}/metrics").text):
            assert time.monotonic() < end
            time.sleep(0.1)
        skipped = re.compile(
            r"(# )?(\w+ )?(process_|python_)|sdcgate_\w+_seconds(_bucket|_sum)?\b|\w+_created\b"
            r"|sdcgate_(table_risk_share|audit_rounds)(_bucket|_sum)\b"
        )
        return "\n".join(line for line in text.splitlines() if not skipped.match(line))

    def head(self) -> int:
        """Events of the ledger."""
        with self.house.ledger() as ledger:
            return ledger.head().sequence

    def logged(self, service: str) -> list[dict[str, Any]]:
        """A service's log without times, ids and addresses."""
        varying = ("timestamp", "request_id", "milliseconds", "address", "metrics")
        return [{k: v for k, v in line.items() if k not in varying} for line in self.house.log(service)]


def write_patient_policy(folder: Path) -> None:
    """The bundled policy, but that no search is cut short by the clock, however slow the machine is today."""
    policy = yaml.safe_load((BUNDLED / "israel-cbs.yaml").read_text())
    for section in ("protection", "redesign"):
        policy["defaults"][section]["time_limit_ms"] = 60_000
    (folder / "israel-cbs.yaml").write_text(yaml.safe_dump(policy))


@pytest.fixture(scope="module")
def visitors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Visitor, Visitor]]:
    """Two installations, and a session done on each."""

    policies = tmp_path_factory.mktemp("policies")
    write_patient_policy(policies)
    common = {"log_level": "DEBUG", "policy_dir": policies}
    made: list[Visitor] = []
    try:
        for place in (0, 1):
            house = ServedHouse(tmp_path_factory.mktemp(f"installation{place}"), common, facility=QUICK)
            made.append(Visitor(house))
            for name, people in PAIRS.items():
                (house.settings.data_root / f"{name}.csv").write_text(data.to_csv(people[place]))
                assert house.register(data.descriptor(name)).status_code == 201
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(Visitor.session, made))
        yield made[0], made[1]
    finally:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda visitor: visitor.house.stop(), made))


SERVICES = ("risk", "protection", "facility", "gateway")


def test_the_data_differ_and_the_session_meets_every_kind_of_answer(visitors):
    assert all(data.to_csv(one) != data.to_csv(other) for one, other in PAIRS.values())
    one, _ = visitors
    text = "\n".join(one.seen)
    for verdict in ("RELEASED", "RELEASED_PROTECTED", "REFUSED", "REFERRED"):
        assert text.count(f'"verdict":"{verdict}"') > 3, verdict
    for reason in ("MINIMUM_BASE", "INDIVIDUAL_RISK", "DIFFERENCING", "MAXIMUM_DIMENSIONS", "BINDING"):
        assert f'"code":"{reason}"' in text, reason
    for status in (200, 201, 202, 400, 401, 403, 404):
        assert any(f": {status} " in line for line in one.seen), status
    assert len(one.queries) > 60
    assert len(one.seen) > 150


def test_every_response_is_the_same_to_the_byte(visitors):
    one, other = visitors
    assert len(one.seen) == len(other.seen)
    for mine, theirs in zip(one.seen, other.seen, strict=True):
        assert mine == theirs


def test_grpc_answers_are_the_same_to_the_byte(visitors):
    one, other = visitors
    assert one.over_grpc() == other.over_grpc()


def test_the_ledgers_have_the_same_events_and_the_same_public_columns(visitors):
    def summary(visitor: Visitor) -> list[tuple[Any, ...]]:
        with visitor.house.ledger() as ledger:
            assert ledger.verify().ok
            stored = [ledger.query(query) for query in visitor.queries]
        return [
            (s.sequence, s.dataset, s.version, s.policy_hash, s.verdict, s.researcher, len(s.request))
            for s in stored
            if s is not None
        ]

    one, other = visitors
    assert summary(one) == summary(other)
    assert len(summary(one)) == len(one.queries)


@pytest.mark.parametrize("service", SERVICES)
def test_metrics_and_logs_differ_in_durations_only(visitors, service):
    one, other = visitors
    assert one.metrics(service) == other.metrics(service)
    assert "sdcgate_calls_total" in one.metrics(service)
    assert one.logged(service) == other.logged(service)
