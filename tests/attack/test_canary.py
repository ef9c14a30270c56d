"""No trace of one person where nobody but the output checker may find it.

The dataset `birds` has one person of the category CANARY7f3a, with the value 987654.321 and the id U-31337;
its descriptor declares the category. `fish` declares another one's category (CANARY8e4b, 876543.219,
U-42424) not, so the version of the file that has that person is not registered. Four real processes with
debug logs answer every route and every call, in every role, well- and ill-formed, while parts fail. Then:

- the *ids* are nowhere: not in what anybody gets, not in the whole state folder;
- the *values*, in any spelling, are in the snapshot's content, in the checker's view and in the ledger's
  confidential records and releases, and nowhere else;
- a *declared category* is public as a name: in the code list, in a table's dimension, in suggestions, in the
  requests that name it. That somebody has it is not: no figure of a cell with it is ever shown, alone or
  as a difference. It is in no log, metric, error text, process, file name or public column of the ledger;
- an *undeclared category* is nowhere at all, and whoever guesses it is answered as with any other word. The
  steward is told the records concerned, by their number.

A cell that is marked WITHHELD says that somebody, or somebody in a cell protected with it, is in it: that is
what marks say, see docs/limits.md.
"""

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from canary import DECLARED, UNDECLARED, descriptor, people, tables
from printed_results import zipped
from receivers import Receiver, running_receiver
from sdcgate.cli import main
from sdcgate.cli.supervisor import SERVICES
from sdcgate.servers import openapi_examples
from sdcgate.servers.authentication import AUTHORIZATION_KEY
from sdcgate.servers.routes import ROUTES
from sdcgate_client.files import columns_stream, form
from sdcgate_proto.sdcgate.facility.v1 import budget_pb2
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from served_house import ServedHouse, cells, table_body

NEAR = ("CANARY7f3", "CANARY7f3b", "canary7f3a", "CANARY8e4", "CANARY8e4c", "anary8e4b", "U-3133", "98765")
ROLES = ("ada", "bob", "portal", "stefan", "olga", "", "sdcg_wrong")
"""Everybody but the checker."""
RESEARCHERS = ("ada", "bob", "portal")
CONFIDENTIAL = ("confidential", "checker", "release")
"""Attachments of an event that are for checkers and later audits only."""


class Visit:
    """Asks everything, and keeps what everybody got."""

    def __init__(self, house: ServedHouse) -> None:
        self.house = house
        self.got: list[tuple[str, str, bytes]] = []
        """Who, what, and all bytes of the answer."""
        self.decisions: list[dict[str, Any]] = []
        self.queries: list[str] = []

    def send(self, method: str, path: str, body: Any = None, key: str = "ada", **how: Any) -> httpx.Response:
        response = self.house.send(method, path, body, key, **how)
        head = json.dumps(list(response.headers.multi_items())).encode()
        self.got.append((key, f"{method} {path}", head + response.content))
        if key != "grace" and b'"certificate"' in response.content and path != "/openapi.json":
            found = response.json()
            outputs = [output["decision"] for output in found.get("outputs", ())]
            self.decisions += outputs or [found.get("decision", found)]
        if query := response.headers.get("location", "").partition("/v1/queries/")[2]:
            self.queries.append(query)
        return response

    def everything(self) -> None:
        """All of it, from ordinary questions to what fails."""
        for dataset in ("birds", "fish"):
            for request in tables():
                self.send("POST", f"/v1/datasets/{dataset}/tables", table_body(**request))
                self.send("POST", f"/v1/datasets/{dataset}/tables", table_body(**request), key="bob")
            self.near(dataset)
            self.statistics(dataset)
        self.send("POST", "/v1/datasets/birds/tables", table_body(rows=["region"], bird=[DECLARED.category]))
        self.send("POST", "/v1/datasets/birds/tables", table_body(rows=["bird"], bird=[DECLARED.category]))
        for query in self.queries:
            self.send("GET", f"/v1/queries/{query}", key="grace")
        self.files_and_datasets()
        self.printed_results()
        self.every_route()
        self.every_call()
        self.while_parts_fail()

    def near(self, dataset: str) -> None:
        """Names that are nearly the canaries', wherever a name can stand."""
        path = f"/v1/datasets/{dataset}/tables"
        for name in NEAR:
            self.send("POST", path, table_body(rows=["region"], bird=[name]))
            misspelt = table_body(rows=[name], columns=[f"bird:{name}"], figures=[f"SUM:{name}"])
            self.send("POST", path, misspelt)
            self.send("POST", path, table_body(rows=["region"], project=name, sex=[name, "f"]))
            self.send("GET", f"/v1/datasets/{name}")
            self.send("GET", f"/v1/queries/{name}")
            self.send("GET", f"/v1/queries?page_token={name}")

    def statistics(self, dataset: str) -> None:
        """Curves and tests by the variable that has a canary, and with names near to it."""
        path = f"/v1/datasets/{dataset}/statistics"
        for codes in ([DECLARED.category], *([name] for name in NEAR)):
            having = {"variable": "bird", "codes": codes}
            for kind in ("KAPLAN_MEIER", "NELSON_AALEN", "T_TEST", "MANN_WHITNEY_TEST"):
                self.send("POST", path, {"kind": kind, "measure": "income", "having": having})
        by = [{"variable": "bird"}]
        asked: list[dict[str, Any]] = [
            {"kind": "ANALYSIS_OF_VARIANCE", "measure": "income", "factors": by},
            {"kind": "CHI_SQUARED_TEST", "factors": [*by, {"variable": "sex"}]},
            {
                "kind": "KAPLAN_MEIER",
                "measure": "income",
                "groups": by,
                "having": {"variable": "sex", "codes": ["f"]},
            },
            {"kind": "CORRELATIONS", "measures": ["income", NEAR[0]]},
        ]
        for body in asked:
            self.send("POST", path, body)

    def files_and_datasets(self) -> None:
        """What is told of the files themselves: of registered ones to stewards, of those that are sent."""
        knows = {"name": "neighbour", "kind": "NOSY_NEIGHBOUR", "keys": ["region", "sex", "bird"]}
        scenarios = [knows, {**knows, "name": "sure", "response_known": True}]
        for dataset in ("birds", "fish"):
            for body in ({"scenarios": scenarios}, {"scenarios": [{**knows, "keys": [*NEAR]}]}, {}):
                statuses = [
                    self.send("POST", f"/v1/datasets/{dataset}:assess", body, key).status_code
                    for key in (*ROLES, "grace")
                ]
                assert statuses[ROLES.index("stefan")] == (400 if NEAR[0] in str(body) else 200)
                assert set(statuses) <= {200, 400, 401, 403}
        file = pa.Table.from_pylist([*csv.DictReader(io.StringIO(people(DECLARED)))])
        options = {
            "keys": ["region", "sex"],
            "fraction": 0.01,
            "scenarios": scenarios,
            "sensitive": ["income"],
        }
        for change in ({}, {"weight": "income"}, {"unit": "bird"}, {"fraction": 2}, {"keys": ["bird", "id"]}):
            parts = form(options | change, arrow=columns_stream(file, file.column_names))
            for key in ("ada", "stefan"):
                self.send("POST", "/v1/risk:assessMicrodata", None, key, files=parts)

    def printed_results(self) -> None:
        """What jobs printed of the canaries: right, wrong and unreadable."""
        side = b'rows: [sex]\ncolumns: [bird]\nstatistic: "mean:income"\n'
        for value in (DECLARED.value, 1000.0):
            cells = f"sex,{DECLARED.category}\nf,{value}\nm,\n".encode()
            files = {"a.csv": cells, "a.yaml": side, "b.csv": cells, "c.png": cells}
            for dataset in ("birds", "fish"):
                for key in ("portal", "ada", "stefan"):
                    self.send("POST", f"/v1/datasets/{dataset}/results", None, key, files=results(files))

    def every_route(self) -> None:
        """Each route in each role: as its documentation shows it, with what exists, and with nonsense."""
        document = self.send("GET", "/openapi.json").json()
        for route in ROUTES:
            shown = document["paths"][route.path][route.method.lower()]
            example = shown.get("requestBody", {}).get("content", {}).get("application/json", {})
            for key in (*ROLES, "grace"):
                for query in (self.queries[0], self.queries[-1], "q-none"):
                    path = route.path.replace("{dataset}", "birds").replace("{query}", query)
                    if route.method == "GET":
                        self.send("GET", path, key=key)
                        self.send("GET", f"{path}?bird={DECLARED.category[:-1]}", key=key)
                    elif query != "q-none" or "{query}" in route.path:
                        for body in (example.get("example"), {}, ["bird"], TOO_MUCH):
                            self.send("POST", path, body, key)
                if route.method == "POST":
                    for content in (b'{"facts": {"units": [NaN]}}', b"{" * 5000, b"\xff\xfe", b""):
                        self.send("POST", path, None, key, content=content, headers=JSON)

    def every_call(self) -> None:
        """Each gRPC call of the facility as bytes in and bytes out: empty, meant, and garbage."""
        meant = {
            "QueryTable": pb.QueryTableRequest(dataset="birds", rows=[{"variable": "bird"}], margins=True),
            "QueryModel": pb.QueryModelRequest(dataset="birds", kind=1, formula="income ~ bird"),
            "QueryStatistic": pb.QueryStatisticRequest(dataset="birds", kind=9, measure="income"),
            "GetQuery": pb.GetQueryRequest(query=self.queries[0]),
            "DrawQuery": pb.DrawQueryRequest(query=self.queries[0], kind=1),
            "GetPolicy": pb.GetPolicyRequest(dataset="birds"),
            "GetBudget": budget_pb2.GetBudgetRequest(dataset="birds"),
            "GetDataset": pb.GetDatasetRequest(dataset="birds"),
            "AssessDataset": pb.AssessDatasetRequest(dataset="birds"),
            "EnterKnowledge": pb.EnterKnowledgeRequest(dataset="birds", published="yearbook"),
        }
        service = pb.DESCRIPTOR.services_by_name["FacilityService"]
        with grpc.insecure_channel(self.house.supervisor.addresses["facility"]) as channel:
            for method in service.methods:
                call = channel.unary_unary(f"/{service.full_name}/{method.name}")
                message = meant.get(method.name)
                contents = [b"", b"\xff" * 40] + ([message.SerializeToString()] if message else [])
                for key in RESEARCHERS:
                    metadata = ((AUTHORIZATION_KEY, f"Bearer {self.house.keys[key]}"),)
                    for content in contents:
                        for timeout in (10.0, 0.02):
                            self.got.append((key, method.name, raw(call, content, timeout, metadata)))
            get = channel.unary_unary(f"/{service.full_name}/GetQuery")
            for query in self.queries:
                metadata = ((AUTHORIZATION_KEY, f"Bearer {self.house.keys['ada']}"),)
                content = pb.GetQueryRequest(query=query).SerializeToString()
                self.got.append(("ada", "GetQuery", raw(get, content, 10.0, metadata)))

    def while_parts_fail(self) -> None:
        """Queries while a service is dead, and, at last, while the snapshot is damaged."""
        asked = table_body(["sex"], ["bird"], figures=["MEAN:income"])
        needed = {
            # So much of the birds is known by now that no table of them has to be protected anew.
            "protection": ("/v1/protection:protectTable", openapi_examples.BODIES["ProtectTable"]),
            "risk": ("/v1/datasets/birds/tables", asked),
        }
        for service, (path, body) in needed.items():
            self.house.kill(service)
            assert self.send("POST", path, body).status_code == 503
            self.house.restart(service)
        for file in (self.house.settings.state_dir / "snapshots/fish").rglob("*.parquet"):
            file.chmod(0o600)
            file.write_bytes(file.read_bytes()[:-200])
        damaged = self.send("POST", "/v1/datasets/fish/tables", table_body(["sex"], ["bird"]))
        assert damaged.status_code == 503, damaged.text


JSON = {"Content-Type": "application/json"}
TOO_MUCH = {"rows": [{"variable": "bird"}] * 40}


def results(files: dict[str, bytes]) -> list[Any]:
    """A form with a folder."""
    archive = ("results.zip", zipped(files), "application/zip")
    return [("options", (None, b"{}", "application/json")), ("results", archive)]


def raw(call: Any, content: bytes, timeout: float, metadata: Any) -> bytes:
    """All bytes of an answer, or of an error with its details."""
    try:
        return bytes(call(content, timeout=timeout, metadata=metadata))
    except grpc.RpcError as error:
        trailing = b"".join(
            value if isinstance(value, bytes) else value.encode()
            for _, value in error.trailing_metadata() or ()
        )
        return str(error.details()).encode() + trailing


@pytest.fixture(scope="module")
def collector() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory, collector: Receiver) -> Iterator[Visit]:
    folder = tmp_path_factory.mktemp("canary")
    log = {"file": folder / "state" / "log" / "decisions.jsonl", "researchers": "NAME"}
    told = {"decision_log": log, "tracing": {"url": collector.url}}
    house = ServedHouse(folder, {"log_level": "DEBUG"}, **told)
    try:
        data = house.settings.data_root
        (data / "birds.csv").write_text(people(DECLARED))
        assert house.register(descriptor("birds", DECLARED.category)).status_code == 201
        (data / "fish.csv").write_text(people(None))
        assert house.register(descriptor("fish")).status_code == 201
        (data / "fish.csv").write_text(people(UNDECLARED))
        made = Visit(house)
        for key in ("stefan", "ada"):
            made.send("POST", "/v1/datasets", {"descriptor": descriptor("fish")}, key)
        made.everything()
        yield made
    finally:
        house.stop()


def answers(visit: Visit, keys: tuple[str, ...] = ROLES) -> Iterator[tuple[str, bytes]]:
    return ((f"{key}: {what}", content) for key, what, content in visit.got if key in keys)


def state(visit: Visit) -> dict[str, bytes]:
    """All files of the state folder, by their path."""
    root = visit.house.settings.state_dir
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def ledger(visit: Visit) -> Iterator[tuple[str, bytes]]:
    """Each value of the ledger; attachments with their kind."""
    database = sqlite3.connect(visit.house.settings.state_dir / "ledger.sqlite")
    kinds: dict[bytes, str] = {}
    for (body,) in database.execute("SELECT body FROM events"):
        for kind, signed in json.loads(body)["attachments"].items():
            kinds[bytes.fromhex(signed["digest"])] = kind
    for digest, data in database.execute("SELECT digest, data FROM blobs"):
        yield kinds[digest], data
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert {"events", "queries", "releases", "boxes"} <= set(names)
    for name in set(names) - {"blobs"}:
        for row in database.execute(f'SELECT * FROM "{name}"'):
            for value in row:
                yield name, value if isinstance(value, bytes) else str(value).encode()
    database.close()


def test_the_visit_meets_every_kind_of_answer_and_the_canary_is_there_to_be_found(visit):
    text = b"\n".join(content for _, content in answers(visit))
    for verdict in ("RELEASED", "RELEASED_PROTECTED", "REFUSED"):
        assert f'"verdict":"{verdict}"'.encode() in text
    for code in ("UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "INVALID_ARGUMENT", "UNAVAILABLE"):
        assert f'"code":"{code}"'.encode() in text
    assert len(visit.got) > 700
    seen = b"\n".join(content for _, content in answers(visit, ("grace",)))
    assert DECLARED.traces(seen, named=True)
    assert any(DECLARED.traces(data, named=True) for kind, data in ledger(visit) if kind == "confidential")
    assert f'"{DECLARED.category}"'.encode() in text


@pytest.mark.parametrize("length", [16, 32, 64])
def test_random_digits_of_a_digest_are_no_trace_and_digits_that_stand_alone_are(length):
    digest = b"41f537a19e1bcb21c47b85b23ae98765466bff56bada59329f094bc0f82ebd59"[-length:]
    digest = digest[:-8] + b"987654ff"
    assert DECLARED.traces(b'{"digest":"%b","at":"12:31:03.987654Z"}' % digest) == []
    assert DECLARED.traces(b'{"digest":"%b","income":987654}' % digest) == [b"987654"]


def test_nobody_but_the_checker_gets_a_value_an_id_or_an_undeclared_category(visit):
    for what, content in answers(visit):
        assert DECLARED.traces(content, named=True) == [], what
        assert UNDECLARED.traces(content) == [], what


def test_that_somebody_has_the_declared_category_is_in_no_answer(visit):
    shown = 0
    for decision in visit.decisions:
        if decision["dataset"] == "birds" and "table" in decision:
            for codes, figures in cells(decision).items():
                if DECLARED.category in codes:
                    shown += 1
                    assert set(figures) <= {None, 0}, (codes, figures)
    assert shown > 20


def test_no_two_sums_that_are_shown_differ_by_the_canarys_value(visit):
    sums = {
        figures[place]
        for decision in visit.decisions
        if decision["dataset"] == "birds" and "table" in decision
        for place, figure in enumerate(decision["table"]["figures"])
        if figure["statistic"] == "SUM"
        for figures in cells(decision).values()
        if figures[place] is not None
    }
    assert len(sums) > 10
    assert [(a, b) for a in sums for b in sums if abs(a - b - DECLARED.value) < 1] == []


def test_the_steward_is_told_the_record_and_not_what_stands_in_it_and_a_researcher_nothing(visit):
    refused = visit.house.register(descriptor("fish"))
    assert refused.status_code == 400
    (problem,) = refused.json()["errors"]
    assert problem["path"] == "descriptor.variables[2]"
    assert problem["message"].endswith("1 row with values that are no declared code: record 521")
    assert UNDECLARED.traces(refused.content) == []
    asked = visit.house.register(descriptor("fish"), key="ada")
    assert asked.status_code == 403
    told = asked.json()
    assert told.pop("request") in asked.text
    assert "521" not in str(told)


def test_whoever_guesses_an_undeclared_category_is_answered_as_with_any_other_word(visit):
    def answer(word: str) -> dict[str, Any]:
        response = visit.house.ask("birds", rows=["region"], bird=[word])
        assert response.status_code == 400
        return {name: value for name, value in response.json().items() if name != "request"}

    assert answer(UNDECLARED.category) == answer("CANARY0000")


def test_ids_and_what_was_not_registered_are_nowhere_in_the_state_folder(visit):
    files = state(visit)
    assert any(name.startswith("snapshots/birds/v1/") for name in files)
    assert not any(name.startswith("snapshots/fish/v2") for name in files)
    for name, content in files.items():
        assert DECLARED.unit.encode() not in content, name
        assert UNDECLARED.category.encode() not in content, name
        assert UNDECLARED.unit.encode() not in content, name
    for name in files:
        assert DECLARED.traces(name.encode()) == UNDECLARED.traces(name.encode()) == []


def test_logs_ready_files_heads_metrics_probes_and_processes_have_no_trace_at_all(visit, collector):
    found = {
        name: content
        for name, content in state(visit).items()
        if name.startswith(("log/", "run/", "heads/", "keys/"))
    }
    assert {f"log/{service}.jsonl" for service in (*SERVICES, "decisions")} <= set(found)
    collector.wait_until(lambda: len(collector.taken) >= len(SERVICES))
    found["spans"] = b"".join(body for _, _, body in collector.taken)
    for service, pid in visit.house.supervisor.processes.items():
        for name in ("cmdline", "environ"):
            found[f"{service} {name}"] = Path(f"/proc/{pid}/{name}").read_bytes()
        for path in ("metrics", "healthz", "readyz"):
            found[f"{service} {path}"] = visit.house.told(service, path).encode()
    for name, content in found.items():
        assert DECLARED.traces(content) == UNDECLARED.traces(content) == [], name


def test_in_the_ledger_only_confidential_records_have_the_value_and_only_requests_name_the_category(visit):
    naming = (*CONFIDENTIAL, "request", "answer", "descriptor")
    for kind, content in ledger(visit):
        assert UNDECLARED.traces(content) == [], kind
        if kind not in CONFIDENTIAL:
            assert DECLARED.traces(content, named=kind in naming) == [], kind


def test_commands_of_the_machines_operator_say_nothing_of_it(visit):
    environment = {
        "SDCGATE_STATE_DIR": str(visit.house.settings.state_dir),
        "SDCGATE_DATA_ROOT": str(visit.house.settings.data_root),
    }
    for line in ("ledger verify", "key list", "policy list", "policy show israel-cbs"):
        result = CliRunner().invoke(main, line.split(), env=environment)
        assert result.exit_code == 0, result.output
        assert DECLARED.traces(result.output.encode()) == UNDECLARED.traces(result.output.encode()) == []
