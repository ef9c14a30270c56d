"""Four running processes: the gateway does what its OpenAPI document says, whatever is sent by whomever.

No 5xx, no other status, no other body; and each service answers gRPC calls or refuses them clearly.
"""

import copy
import json
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import grpc
import pytest
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from fuzz import good_requests
from fuzz.calls import CALLS, Sent, inputs, made_call, outcome
from fuzz.campaign import Campaign
from fuzz.messages import damage, message_class
from fuzz.trees import change_tree
from made_files import PEOPLE, write_people
from sdcgate.servers.bodies import ARROW, FORM, MAXIMUM_QUERY_BYTES
from sdcgate.servers.openapi import document
from sdcgate.servers.routes import ROUTES, Route
from sdcgate.wire.json import from_value
from served_house import ServedHouse

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(json.loads(document()))
OPERATIONS = {
    (found.ok().method.upper(), found.ok().path): found.ok() for found in SCHEMA.get_all_operations()
}
DATASET = {name: value for name, value in good_requests.TABLE.items() if name != "dataset"}
OUTPUT = {name: value for name, value in good_requests.OUTPUT.items() if name != "dataset"}
GOOD: dict[str, Any] = {
    "RegisterDataset": {"descriptor": PEOPLE},
    "AssessDataset": {"scenarios": good_requests.SCENARIOS},
    "EnterKnowledge": {name: value for name, value in good_requests.PUBLISHED.items() if name != "dataset"},
    "QueryTable": DATASET,
    "QueryModel": {name: value for name, value in good_requests.MODEL.items() if name != "dataset"},
    "QueryStatistic": {name: value for name, value in good_requests.STATISTIC.items() if name != "dataset"},
    "SubmitOutput": OUTPUT,
    "ReviewQuery": {"approve": True, "note": "looked at"},
    "RequestAdmission": {**good_requests.ADMISSION, "researchers": ["ada"]},
    "AssessTable": good_requests.ASSESSED,
    "ProtectTable": {"problem": good_requests.PROBLEM, "unsafe": [0], "time_limit_ms": 300},
    "AuditTable": {"problem": good_requests.PROBLEM, "withheld": [0], "time_limit_ms": 300},
}
"""Bodies that are answered; of calls that are not here the example of the document."""


STREAMS = {
    "AssessMicrodata": good_requests.assessed_file(good_requests.WITH_SCENARIOS),
    "CompareRecodings": good_requests.recoded_file(),
    "LinkRecords": good_requests.linked_files(good_requests.LINKED[0]),
    "SubmitResults": good_requests.submitted_results(),
}
FORMS: dict[str, list[Any]] = {
    "AssessMicrodata": [good_requests.OPTIONS, good_requests.WITH_SCENARIOS],
    "CompareRecodings": [good_requests.RECODED],
    "LinkRecords": good_requests.LINKED,
    "SubmitResults": [{name: value for name, value in good_requests.RESULTS.items() if name != "dataset"}],
}
"""Options of calls that take files in a form."""
RPCS = {(route.method, route.path): route.rpc for route in ROUTES}
KEYS = {
    "RegisterDataset": "stefan",
    "AssessDataset": "stefan",
    "EnterKnowledge": "stefan",
    "ReviewQuery": "grace",
    "CommentQuery": "grace",
    "ReviewAdmission": "stefan",
    "WithdrawAdmission": "stefan",
    "SubmitOutput": "portal",
    "SubmitResults": "portal",
}
"""Whose key allows a call; that of ada, who asked the known query, where nothing is said."""
LONGEST_ADDRESS = 65_535
"""Bytes of path and query string that the gateway's server reads; what is longer is no HTTP to it."""


@schemathesis.serializer(ARROW)
def arrow(_: Any, value: Any) -> bytes:
    """Files go as they are; what else is made for them goes as JSON, which is none."""
    return value if isinstance(value, bytes) else json.dumps(value, default=str).encode()


def bounded(case: Any, url: str) -> Any:
    """The case, without the longest of its query string until an address can hold the rest."""
    while len(_address(case, url)) > LONGEST_ADDRESS:
        if case.query:
            del case.query[max(case.query, key=lambda name: len(repr(case.query[name])))]
        else:
            case.path_parameters = dict.fromkeys(case.path_parameters, "unknown")
    return case


def _address(case: Any, url: str) -> str:
    sent = case.as_transport_kwargs(base_url=url)
    return str(requests.Request(sent["method"], sent["url"], params=sent.get("params")).prepare().path_url)


class Place:
    """A running house, and the names in it that an address may have."""

    def __init__(self, folder: Any) -> None:
        self.house = ServedHouse(folder)
        write_people(self.house.settings.data_root / "people.csv")
        assert self.house.register(PEOPLE).status_code == 201
        asked = self.house.send("POST", "/v1/datasets/people/tables", DATASET)
        assert asked.status_code == 201
        requested = self.house.send("POST", "/v1/admissions", good_requests.ADMISSION, "portal")
        assert requested.status_code == 201
        admission = requested.json()["admission"]
        self.known = {"dataset": "people", "query": asked.json()["query"], "admission": admission}
        self.session = requests.Session()
        self.channels: dict[str, grpc.Channel] = {}

    def answer(self, case: Any, key: str, chance: random.Random) -> str:
        """Send a case, as `key` more often than not, and hold the answer against the document."""
        for name, value in self.known.items():
            if name in (case.path_parameters or {}) and chance.random() < 0.7:
                case.path_parameters[name] = value
        headers = {}
        if chance.random() < 0.95:
            shown = key if chance.random() < 0.6 else chance.choice(list(self.house.keys))
            headers["Authorization"] = f"Bearer {self.house.keys[shown]}"
        url = self.house.supervisor.url
        response = bounded(case, url).call(url, session=self.session, headers=headers, timeout=30)
        case.validate_response(response, checks=CHECKS)
        return str(response.status_code)

    def call(self, service: str, method: Any, key: str, content: Sent) -> bytes:
        """The bytes that a service gives back. Raises grpc.RpcError."""
        if service not in self.channels:
            self.channels[service] = grpc.insecure_channel(self.house.supervisor.addresses[service])
        return made_call(self.channels[service], method, content, self.house.keys[key])

    def faults(self) -> list[Any]:
        """Log lines about what nobody foresaw."""
        found: list[Any] = []
        for file in (self.house.settings.state_dir / "log").glob("*.jsonl"):
            for line in file.read_text().splitlines():
                # Warnings of numpy are no JSON.
                entry = json.loads(line) if line.startswith("{") else {}
                if entry.get("level") == "error" or line.startswith("Traceback"):
                    found.append(entry or line)
        return found


def changed_files(operation: Any, media: str) -> st.SearchStrategy[Any]:
    """Files that are assessed, their bytes damaged more often than not."""
    good = good_requests.arrow_file()

    def case(number: int) -> Any:
        chance = random.Random(number)
        body = good if chance.random() < 0.3 else damage(good, chance)
        options: dict[str, Any] = copy.deepcopy(chance.choice(FORMS["AssessMicrodata"]))
        if chance.random() < 0.6:
            change_tree(options, chance)
        if "scenarios" in options:
            options["scenarios"] = json.dumps(options["scenarios"])
        query = {name: value for name, value in options.items() if isinstance(value, str | int | list)}
        if chance.random() < 0.1:
            query["wave"] = "x" * chance.randrange(MAXIMUM_QUERY_BYTES // 2, 2 * LONGEST_ADDRESS)
        return operation.Case(body=body, query=query, media_type=media)

    return st.integers(0, 2**64 - 1).map(case)


def changed_forms(route: Route, operation: Any, media: str) -> st.SearchStrategy[Any]:
    """Forms that are answered, with changed options, damaged files, or a form that is none any more."""
    results = route.rpc == "SubmitResults"
    good = good_requests.results_archive() if results else good_requests.arrow_file()

    def case(number: int) -> Any:
        chance = random.Random(number)
        options = copy.deepcopy(chance.choice(FORMS[route.rpc]))
        for _ in range(chance.choice((0, 1, 1, 2))):
            change_tree(options, chance)
        files = {name: good if chance.random() < 0.7 else damage(good, chance) for name in route.files}
        parts = {"options": json.dumps(options).encode(), **files}
        body = b"".join(
            b'--xyz\r\nContent-Disposition: form-data; name="' + name.encode() + b'"\r\n\r\n' + part + b"\r\n"
            for name, part in parts.items()
        )
        whole = body + b"--xyz--\r\n"
        sent = whole if chance.random() < 0.8 else damage(whole, chance)
        kind = {"Content-Type": f"{media}; boundary=xyz"}
        names = dict.fromkeys(route.parameters, "unknown")
        return operation.Case(body=sent, headers=kind, path_parameters=names, media_type=media)

    return st.integers(0, 2**64 - 1).map(case)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("house under fire"))
    try:
        yield made
        assert made.house.send("GET", "/v1/status").json()["ready"] is True
        assert made.faults() == []
        with made.house.ledger() as ledger:
            assert ledger.verify().ok
    finally:
        for channel in made.channels.values():
            channel.close()
        made.house.stop()


def changed_bodies(route: Route) -> st.SearchStrategy[Any]:
    """Bodies that are answered, with one to three changes."""
    operation = OPERATIONS[route.method, route.path]
    media = operation.definition.raw["requestBody"]["content"]
    if route.files:
        forms = changed_forms(route, operation, FORM)
        return st.one_of(changed_files(operation, ARROW), forms) if route.file else forms
    good = GOOD.get(route.rpc, media["application/json"]["example"])

    def case(number: int) -> Any:
        chance = random.Random(number)
        body = json.loads(json.dumps(good))
        for _ in range(chance.choice((1, 1, 2, 3))):
            change_tree(body, chance)
        names = dict.fromkeys(route.parameters, "unknown")
        # As bytes: NaN and infinity are no JSON, and are sent all the same.
        return operation.Case(
            body=json.dumps(body).encode(), path_parameters=names, media_type="application/json"
        )

    return st.integers(0, 2**64 - 1).map(case)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.rpc)
def test_whatever_is_sent_the_answer_is_documented(place: Place, campaign: Campaign, route: Route) -> None:
    operation = OPERATIONS[route.method, route.path]
    cases = [
        operation.as_strategy(generation_mode=mode)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    ]
    if route.method == "POST":
        cases += [changed_bodies(route)] * 2

    def check(made: tuple[Any, int]) -> str:
        return place.answer(made[0], KEYS.get(route.rpc, "ada"), random.Random(made[1]))

    campaign.watch(place.house.supervisor.processes.values())
    campaign.run(st.tuples(st.one_of(cases), st.integers(0, 2**32)), check, examples=25)


@pytest.mark.parametrize(
    ("where", "query", "left"),
    [
        (("POST", "/v1/risk:assessMicrodata"), {"keys": ["age"], "weight": "é" * 20_000}, {"keys": ["age"]}),
        (("POST", "/v1/risk:assessMicrodata"), {"weight": "x" * 65_000}, {"weight": "x" * 65_000}),
        (("GET", "/v1/datasets/{dataset}"), {"surplus": "x" * 70_000}, {}),
    ],
)
def test_no_address_is_longer_than_the_server_reads(place: Place, where: Any, query: Any, left: Any) -> None:
    operation = OPERATIONS[where]
    names = {"dataset": "x" * 66_000} if "{dataset}" in where[1] else {}
    more = {"body": b"", "media_type": ARROW} if where[0] == "POST" else {}
    case = operation.Case(query=query, path_parameters=names, **more)
    assert place.answer(case, "ada", random.Random(2)) in ("400", "401", "404")
    assert case.query == left


def test_what_one_answer_names_the_next_call_takes(place: Place, campaign: Campaign) -> None:
    machine: Any = SCHEMA.as_state_machine()

    class Walk(machine):  # type: ignore[misc]
        """Calls one after the other, each with names that an answer before it gave."""

        def before_call(self, case: Any) -> None:
            bounded(case, place.house.supervisor.url)

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            campaign.inputs += 1
            key = KEYS.get(RPCS.get((case.operation.method.upper(), case.operation.path), ""), "ada")
            headers = {"Authorization": f"Bearer {place.house.keys[key]}"}
            url = place.house.supervisor.url
            return {"base_url": url, "session": place.session, "headers": headers, "timeout": 30}

        def validate_response(self, response: Any, case: Any, *_: Any, **__: Any) -> None:
            case.validate_response(response, checks=CHECKS)
            campaign.reached(f"{case.operation.label} {response.status_code}")

    campaign.watch(place.house.supervisor.processes.values())
    campaign.walk(Walk, examples=5)


def test_every_grpc_call_is_answered_or_clearly_refused(place: Place, campaign: Campaign) -> None:
    def given(service: str, method: Any) -> st.SearchStrategy[tuple[str, Any, Sent]]:
        body = GOOD.get(method.name, {})
        named = {name: place.known[name] for name in method.input_type.fields_by_name if name in place.known}
        good = from_value({**body, **named}, message_class(method.input_type))
        return st.tuples(st.just(service), st.just(method), inputs(method, [STREAMS.get(method.name, good)]))

    def check(made: tuple[str, Any, Sent]) -> str:
        service, method, content = made
        call = partial(place.call, service, method, KEYS.get(method.name, "ada"))
        return outcome(method, content, call, lambda: place.faults()[-1:])

    campaign.watch(place.house.supervisor.processes.values())
    campaign.run(st.one_of([given(*call) for call in CALLS]), check, examples=150)
