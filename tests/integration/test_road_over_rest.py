"""The road as its users take it: four processes, REST by plain httpx and by the Python client."""

import csv
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from threading import Barrier
from typing import Any

import grpc
import httpx
import pandas as pd
import pytest
import statsmodels
from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from certified import is_certified
from house import COPY
from sdcgate_client import Client, Forbidden, InvalidRequest, NotFound, Unauthorized, format_answer
from served_house import ServedHouse, cells, codes_of, table_body
from shown_key import showing

TABLES = "/v1/datasets/randhie/tables"
SERVICE = "sdcgate.facility.v1.FacilityService"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("our house"))
    try:
        assert made.register_randhie().status_code == 201
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pd.read_csv(Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv")


@pytest.fixture(scope="module")
def protected(house: ServedHouse) -> httpx.Response:
    """A table with small cells."""
    return house.ask(rows=["site"], columns=["plan"], layers=["female"], figures=["UNITS", "MEAN:mdvis"])


def logged(house: ServedHouse, service: str, request: str) -> bool:
    """Whether a service logs this request; its line may come after the answer."""
    for _ in range(100):
        if any(request in line.values() for line in house.log(service)):
            return True
        time.sleep(0.05)
    return False


def problem(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """An error as RFC 9457 has it."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"
    content = response.json()
    assert (content["status"], content["code"]) == (status, code)
    assert content["request"] == response.headers["x-request-id"]
    assert content["title"]
    assert "verdict" not in content
    return content


# Datasets


def test_what_is_registered_again_is_no_new_version(house):
    again = house.register_randhie()
    assert again.status_code == 200
    assert again.json()["created"] is False
    assert again.json()["dataset"]["version"] == 1
    assert again.headers["location"] == "/v1/datasets/randhie"


def test_researchers_see_names_levels_and_codes_of_a_dataset(house):
    listed = house.send("GET", "/v1/datasets").json()["datasets"]
    assert "randhie" in [dataset["name"] for dataset in listed]
    shown = house.send("GET", "/v1/datasets/randhie").json()["dataset"]
    variables = {variable["name"]: variable for variable in shown["variables"]}
    assert [level["name"] for level in variables["age"]["levels"]] == [
        "years",
        "ten_years",
        "twenty_years",
        "broad",
    ]
    assert variables["site"]["levels"][0]["codes"] == ["1", "2", "3", "4", "5", "6", "_U"]
    assert {measure["name"] for measure in shown["measures"]} >= {"meddol", "mdvis"}
    # Nothing that was counted in the data.
    text = json.dumps(shown)
    assert "20190" not in text
    assert "5912" not in text


# A query and its answer


def test_a_new_query_is_created_at_a_place_and_its_repetition_gives_the_same_answer(house, people):
    asked = house.ask(rows=["site"], columns=["female"])
    assert asked.status_code == 201
    decision = asked.json()
    assert decision["verdict"] == "RELEASED"
    assert decision["reasons"] == []
    shown = cells(decision)
    for (site, female), persons in people.groupby(["site", "female"]).zper.nunique().items():
        assert shown[str(site), str(female)] == (persons,)
    assert shown["_T", "_T"] == (5912,)
    place = asked.headers["location"]
    assert place == f"/v1/queries/{decision['query']}"
    found = house.send("GET", place)
    assert found.status_code == 200
    assert found.json()["decision"] == decision
    assert found.json()["request"]["rows"] == [{"variable": "site", "level": ""}]
    repeated = house.ask(rows=["site"], columns=["female"])
    assert repeated.status_code == 200
    assert repeated.content == asked.content
    assert repeated.headers["location"] == place
    # The same question of somebody else, and in another spelling.
    assert house.ask(key="bob", rows=["site:site"], columns=["female"], project="mine").json() == decision


def test_the_json_has_the_shape_of_the_contract_with_nulls_where_cells_are_withheld(protected, people):
    assert protected.status_code == 201
    decision = protected.json()
    assert set(decision) == {
        "query",
        "dataset",
        "version",
        "policy",
        "verdict",
        "reasons",
        "table",
        "alternatives",
        "certificate",
        "decided",
    }
    assert (decision["dataset"], decision["version"]) == ("randhie", 1)
    assert decision["policy"]["name"] == "israel-cbs"
    assert decision["policy"]["hash"].startswith("sha256:")
    assert decision["verdict"] == "RELEASED_PROTECTED"
    (reason,) = decision["reasons"]
    assert set(reason) == {"code", "message", "suggestion"}
    assert reason["code"] == "MINIMUM_UNITS"
    alternative = decision["alternatives"][0]
    assert set(alternative) == {"rows", "columns", "layers", "judged", "units_left_out", "table"}
    assert all(alternative["table"][name] == alternative[name] for name in ("rows", "columns", "layers"))
    assert set(decision["certificate"]) == {"sequence", "head", "answer_digest", "key_id", "signature"}
    table = decision["table"]
    site, plan, female = table["dimensions"]
    assert [dimension["variable"] for dimension in (site, plan, female)] == ["site", "plan", "female"]
    assert site["codes"] == ["1", "2", "3", "4", "5", "6", "_U", "_T"]
    columns = table["columns"]
    assert list(columns) == ["site", "plan", "female", "units", "mean_mdvis", "status"]
    assert {len(column) for column in columns.values()} == {8 * 21 * 4}
    assert columns["female"][:8] == [0, 1, 2, 3, 0, 1, 2, 3]
    assert columns["site"] == sorted(columns["site"])
    assert set(columns["status"]) == {"PUBLISHED", "WITHHELD"}
    for units, mean, status in zip(columns["units"], columns["mean_mdvis"], columns["status"], strict=True):
        if status == "WITHHELD":
            assert (units, mean) == (None, None)
        else:
            assert type(units) is int
            assert (mean is None) == (units == 0)
    persons = people.groupby(["site", "plan", "female"]).zper.nunique()
    shown = cells(decision)
    assert all(shown[tuple(map(str, code))][0] in (None, count) for code, count in persons.items())
    assert all(shown[tuple(map(str, code))] == (None, None) for code, count in persons.items() if count < 10)


def test_a_number_of_few_is_withheld_even_where_nothing_else_has_left(house):
    # A table without dimensions, of which no earlier answer makes a larger one.
    assert house.register_randhie("of_one_cell", policy="five-safes").status_code == 201
    answered = house.ask("of_one_cell", plan=["5"], site=["3"], female=["1"])
    assert (answered.status_code, answered.json()["verdict"]) == (201, "RELEASED_PROTECTED")
    assert answered.json()["table"]["columns"]["units"] == [None]


def test_the_certificate_proves_the_answer_offline_from_the_json_alone(house, protected):
    public_key = house.send("GET", "/v1/status").json()["public_key"]
    decision = protected.json()
    assert is_certified(decision, public_key)
    kept = house.send("GET", protected.headers["location"]).json()["decision"]
    assert is_certified(kept, public_key)
    for change in (("verdict",), ("table", "columns", "units"), ("policy", "hash"), ("certificate", "head")):
        forged = deepcopy(decision)
        place = forged
        for name in change[:-1]:
            place = place[name]
        value = place[change[-1]]
        place[change[-1]] = [*value[:-1], 1] if isinstance(value, list) else value[::-1]
        assert not is_certified(forged, public_key)


def test_too_many_dimensions_are_refused_with_a_table_that_could_be_asked(house):
    asked = house.ask(rows=["site", "year"], columns=["age:broad"], layers=["female"])
    assert asked.status_code == 201
    decision = asked.json()
    assert decision["verdict"] == "REFUSED"
    assert codes_of(decision) == ["MAXIMUM_DIMENSIONS"]
    assert "table" not in decision
    (alternative,) = decision["alternatives"]
    assert sum(len(alternative[group]) for group in ("rows", "columns", "layers")) == 3
    assert alternative["judged"] is False
    ready = house.send("POST", "/v1/datasets/randhie/tables", alternative["table"])
    assert ready.json()["verdict"] in ("RELEASED", "RELEASED_PROTECTED")
    assert is_certified(decision, house.send("GET", "/v1/status").json()["public_key"])
    assert house.ask(rows=["site", "year"], columns=["age:broad"], layers=["female"]).status_code == 200


def test_subtracting_two_tables_is_refused_whoever_asks_the_second(house, people):
    house.register_randhie("subtracted")
    # In site 2 and plan 17, 44 persons have a record, and as many outside of year 4; six have one in it.
    group = people[(people.site == 2) & (people.plan == 17)]
    assert (group.zper.nunique(), group[group.year != 4].zper.nunique()) == (44, 44)
    assert group[group.year == 4].zper.nunique() == 6
    figures = ["UNITS", "RECORDS"]
    first = house.ask("subtracted", rows=["plan"], columns=["site"], figures=figures).json()
    assert first["verdict"] in ("RELEASED", "RELEASED_PROTECTED")
    assert cells(first)["17", "2"] == (44, len(group))
    second = house.ask(
        "subtracted", "bob", rows=["plan"], columns=["site"], figures=figures, year=["1", "2", "3", "5"]
    )
    assert second.status_code == 201
    assert second.json()["verdict"] == "REFUSED"
    assert codes_of(second.json()) == ["DIFFERENCING"]
    assert "table" not in second.json()
    assert "44" not in json.dumps(second.json()["reasons"])


# What is wrongly asked; test_bad_input.py has the rest


@pytest.mark.parametrize(
    ("key", "method", "path", "body", "status", "code"),
    [
        ("", "GET", "/v1/datasets", None, 401, "UNAUTHENTICATED"),
        ("", "POST", TABLES, table_body(rows=["site"]), 401, "UNAUTHENTICATED"),
        ("sdcg_0123456789abcdef_" + "x" * 43, "GET", "/v1/datasets", None, 401, "UNAUTHENTICATED"),
        ("grace", "POST", TABLES, table_body(rows=["site"]), 403, "PERMISSION_DENIED"),
        ("stefan", "POST", TABLES, table_body(rows=["site"]), 403, "PERMISSION_DENIED"),
        ("olga", "GET", "/v1/queries", None, 403, "PERMISSION_DENIED"),
        (
            "ada",
            "POST",
            "/v1/queries/q-1:review",
            {"approve": True, "note": "mine"},
            403,
            "PERMISSION_DENIED",
        ),
        ("ada", "GET", "/v1/datasets/nobody", None, 404, "NOT_FOUND"),
        ("ada", "POST", "/v1/datasets/nobody/tables", table_body(rows=["site"]), 404, "NOT_FOUND"),
        ("ada", "GET", "/v1/queries/q-01M7YK3FA18MF79SBQWGGGJA28", None, 404, "NOT_FOUND"),
        ("grace", "POST", "/v1/queries/q-1:review", {"approve": True, "note": "?"}, 404, "NOT_FOUND"),
        ("ada", "GET", "/v2/datasets", None, 404, "NOT_FOUND"),
        ("ada", "DELETE", "/v1/datasets/randhie", None, 405, "UNIMPLEMENTED"),
        ("ada", "GET", TABLES, None, 405, "UNIMPLEMENTED"),
    ],
)
def test_who_may_not_or_asks_for_what_is_not_there_is_told_so(house, key, method, path, body, status, code):
    response = house.send(method, path, body, key)
    problem(response, status, code)
    assert ("www-authenticate" in response.headers) == (status == 401)
    assert ("allow" in response.headers) == (status == 405)


def test_a_researcher_may_not_register_anything(house):
    # Not what would be wrong with it either: that looks into files.
    problem(house.register({"name": "mine"}, "ada"), 403, "PERMISSION_DENIED")
    problem(house.register(survey(), "ada"), 403, "PERMISSION_DENIED")


def test_a_body_that_is_too_large_or_no_json_is_turned_away(house):
    as_json = {"Content-Type": "application/json"}
    large = house.send("POST", TABLES, content=b" " * (1024 * 1024 + 1), headers=as_json)
    problem(large, 413, "OUT_OF_RANGE")
    parts = (b" " * 65536 for _ in range(20))
    problem(house.send("POST", TABLES, content=parts, headers=as_json), 413, "OUT_OF_RANGE")
    form = house.send("POST", TABLES, data={"rows": "site"})
    assert form.status_code == 415
    packed = house.send("POST", TABLES, content=b"{}", headers={**as_json, "Content-Encoding": "gzip"})
    assert packed.status_code == 415


# Who sees what


def test_researchers_list_their_own_queries_and_checkers_everybodys(house, protected):
    mine = house.ask(key="bob", rows=["coins"]).json()["query"]
    for key, sees in (("bob", True), ("ada", False), ("grace", True)):
        listed = house.send("GET", "/v1/queries?page_size=1000", key=key).json()["queries"]
        assert (mine in [query["query"] for query in listed]) == sees
        assert key == "grace" or {query["researcher"] for query in listed} == {key}
    problem(house.send("GET", f"/v1/queries/{mine}"), 404, "NOT_FOUND")


def test_the_list_comes_in_pages_the_newest_first_and_by_verdict(house, protected):
    every = house.send("GET", "/v1/queries?page_size=1000").json()["queries"]
    # A whole second has no fraction, so that texts are not in the order of times.
    times = [datetime.fromisoformat(query["decided"]) for query in every]
    assert times == sorted(times, reverse=True)
    found, token = [], ""
    for _ in every:
        page = house.send("GET", f"/v1/queries?page_size=2&page_token={token}").json()
        found += page["queries"]
        token = page["next_page_token"]
        if not token:
            break
    assert found == every
    only = house.send("GET", "/v1/queries?verdicts=RELEASED_PROTECTED&page_size=1000").json()["queries"]
    assert protected.json()["query"] in [query["query"] for query in only]
    assert {query["verdict"] for query in only} == {"RELEASED_PROTECTED"}
    problem(house.send("GET", "/v1/queries?verdicts=PERHAPS&size=2"), 400, "INVALID_ARGUMENT")


def test_the_checker_sees_facts_and_findings_and_the_researcher_does_not(house, protected, people):
    place = protected.headers["location"]
    seen = house.send("GET", place, key="grace").json()
    facts = seen["checker"]["facts"]
    assert facts["units"][-1] == 5912
    assert facts["records"][-1] == 20190
    statuses = seen["decision"]["table"]["columns"]["status"]
    small = [units for units, status in zip(facts["units"], statuses, strict=True) if status == "WITHHELD"]
    assert min(small) == people.groupby(["site", "plan", "female"]).zper.nunique().min()
    assert "MINIMUM_UNITS" in {finding["rule"] for finding in seen["checker"]["findings"]}
    assert seen["checker"]["researcher"] == "ada"
    own = house.send("GET", place).json()
    assert set(own) == {"request", "decision", "comments"}
    assert own["comments"] == []
    assert own["decision"] == seen["decision"]


# A steward's own file, and its second version


def survey(**changes: Any) -> dict[str, Any]:
    """Descriptor of a steward's own file."""
    return {
        "name": "survey",
        "label": "Labour force survey",
        "data": {"path": "survey.csv"},
        "unit": {"column": "person", "label": "person"},
        "design": {"coverage": "SAMPLE", "population_size": 60000},
        "variables": [
            {
                "name": "region",
                "identifying": "YES",
                "levels": [{"codes": [{"code": code} for code in ("north", "south", "west")]}],
            },
            {
                "name": "sex",
                "identifying": "YES",
                "levels": [{"codes": [{"code": "f"}, {"code": "m"}]}],
            },
        ],
        "measures": [{"name": "hours", "decimals": 0, "lower_bound": 0, "upper_bound": 168}],
        **changes,
    }


def write_survey(house: ServedHouse, name: str = "survey.csv", moved: int = 0) -> None:
    """600 persons; in a later version `moved` of them live elsewhere."""
    with (house.settings.data_root / name).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "region", "sex", "hours"])
        for person in range(600):
            region = ("north", "south", "west")[(person + (person < moved)) % 3]
            writer.writerow([f"p{person}", region, "fm"[person // 3 % 2], 20 + person % 21])


def test_all_problems_of_a_descriptor_and_its_file_come_at_once(house):
    write_survey(house)
    bad = survey(name="bad", design={"coverage": "SAMPLE"}, reference_date="last year")
    bad["variables"][0]["levels"][0]["codes"].pop()
    bad["variables"][1]["column"] = "sexe"
    bad["measures"][0] |= {"lower_bound": 10, "upper_bound": 5}
    content = problem(house.register(bad), 400, "INVALID_ARGUMENT")
    messages = {error["path"]: error["message"] for error in content["errors"]}
    assert set(messages) == {
        "descriptor.design",
        "descriptor.reference_date",
        "descriptor.variables[0]",
        "descriptor.variables[1].column",
        "descriptor.measures[0].lower_bound",
        "descriptor.measures[0].upper_bound",
    }
    assert "has 200 rows" in messages["descriptor.variables[0]"]
    assert "'sex'" in messages["descriptor.variables[1].column"]
    problem(house.send("GET", "/v1/datasets/bad"), 404, "NOT_FOUND")


def test_a_file_outside_of_the_data_root_is_not_read(house):
    for path in ("/etc/passwd", "../state/keys/records.key"):
        content = problem(house.register(survey(data={"path": path})), 400, "INVALID_ARGUMENT")
        assert "descriptor.data.path" in {error["path"] for error in content["errors"]}


def test_a_version_that_does_not_compare_is_referred_to_a_checker_whose_answer_stands(house):
    write_survey(house)
    registered = house.register(survey())
    assert registered.status_code == 201
    assert registered.json()["created"] is True
    asked = {"dataset": "survey", "rows": ["region"], "columns": ["sex"], "figures": ["UNITS", "MEAN:hours"]}
    first = house.ask(**asked).json()
    assert (first["verdict"], first["version"]) == ("RELEASED", 1)
    assert cells(first)["north", "_T"][0] == 200
    write_survey(house, moved=31)
    second = house.register(survey())
    assert (second.status_code, second.json()["dataset"]["version"]) == (201, 2)
    # Enough moved from and to each cell.
    answered = house.ask(**asked).json()
    assert (answered["verdict"], answered["version"]) == ("RELEASED", 2)
    assert cells(answered)["north", "_T"][0] == 199
    measures = [{"name": "hours", "decimals": 0, "lower_bound": 0, "upper_bound": 100}]
    assert house.register(survey(measures=measures)).json()["dataset"]["version"] == 3
    held = house.ask(**asked)
    assert held.status_code == 202
    assert held.json()["verdict"] == "REFERRED"
    assert codes_of(held.json()) == ["VERSION_DIFFERENCE"]
    assert "table" not in held.json()
    query = held.json()["query"]
    listed = house.send("GET", "/v1/queries?verdicts=REFERRED", key="grace").json()["queries"]
    assert query in [summary["query"] for summary in listed]
    seen = house.send("GET", f"/v1/queries/{query}", key="grace").json()
    assert seen["checker"]["facts"]["units"][-1] == 600
    others = seen["checker"]["other_versions"]
    assert [(one["version"], one["facts"]["units"][-1]) for one in others] == [(1, 600), (2, 600)]
    assert [one["queries"] for one in others] == [[first["query"]], [answered["query"]]]
    nothing = house.send("POST", f"/v1/queries/{query}:review", {"approve": True, "note": ""}, "grace")
    assert [error["path"] for error in problem(nothing, 400, "INVALID_ARGUMENT")["errors"]] == ["note"]
    approval = {"approve": True, "note": "Nobody works more than 100 hours; that is known."}
    plain = house.send("POST", f"/v1/queries/{query}:review", approval, "grace")
    assert "exception" in problem(plain, 409, "FAILED_PRECONDITION")["detail"]
    approval["exception"] = True
    approved = house.send("POST", f"/v1/queries/{query}:review", approval, "grace")
    assert approved.status_code == 200
    decision = approved.json()
    assert (decision["query"], decision["version"]) == (query, 3)
    assert decision["verdict"] in ("RELEASED", "RELEASED_PROTECTED")
    assert "REVIEW" in codes_of(decision)
    assert cells(decision)["north", "_T"][0] == 199
    assert is_certified(decision, house.send("GET", "/v1/status").json()["public_key"])
    repeated = house.ask(**asked)
    assert repeated.status_code == 200
    assert repeated.json() == decision
    assert house.send("GET", f"/v1/queries/{query}").json()["decision"] == decision
    again = house.send("POST", f"/v1/queries/{query}:review", approval, "grace")
    assert (again.status_code, again.json()) == (200, decision)
    other = house.send("POST", f"/v1/queries/{query}:review", {**approval, "note": "Once more."}, "grace")
    problem(other, 409, "FAILED_PRECONDITION")


def test_the_same_people_under_another_name_have_the_same_history(house):
    write_survey(house, "people.csv")
    people = survey(name="people", source="people", data={"path": "people.csv"}, **COPY)
    assert house.register(people).status_code == 201
    assert house.ask("people", rows=["region"]).json()["verdict"] == "RELEASED"
    # Whose unit ids they are has to be said; the same people have the same ledger.
    others = {"name": "others", "data": {"path": "people.csv"}}
    silent = problem(house.register(survey(**others)), 400, "INVALID_ARGUMENT")
    assert [error["path"] for error in silent["errors"]] == ["descriptor.source"]
    assert house.register(survey(**others, source="people", **COPY)).status_code == 201
    held = house.ask("others", rows=["region"])
    assert (held.status_code, codes_of(held.json())) == (202, ["VERSION_DIFFERENCE"])


def test_nobody_reviews_what_he_asked_himself_under_another_key(house):
    write_survey(house, "own.csv")
    own = survey(name="own", source="own", data={"path": "own.csv"}, **COPY)
    assert house.register(own).status_code == 201
    assert house.ask("own", rows=["region"]).json()["verdict"] == "RELEASED"
    # Another bound: the two versions do not compare.
    measures = [{"name": "hours", "decimals": 0, "lower_bound": 0, "upper_bound": 100}]
    assert house.register(own | {"measures": measures}).status_code == 201
    held = house.ask("own", key="grace as researcher", rows=["region"])
    assert held.status_code == 202
    place = f"/v1/queries/{held.json()['query']}:review"
    for approve in (True, False):
        review = {"approve": approve, "note": "by myself"}
        problem(house.send("POST", place, review, "grace"), 403, "PERMISSION_DENIED")
    assert house.send("GET", held.headers["location"], key="grace").json()["decision"] == held.json()


def test_a_version_in_which_one_person_differs_is_answered_as_the_one_before(house):
    few = survey(name="few", source="few", data={"path": "few.csv"}, **COPY)
    write_survey(house, "few.csv")
    assert house.register(few).status_code == 201
    asked = {"dataset": "few", "rows": ["region"], "columns": ["sex"]}
    first = house.ask(**asked).json()
    write_survey(house, "few.csv", moved=1)
    assert house.register(few).json()["dataset"]["version"] == 2
    again = house.ask(**asked)
    assert (again.status_code, again.json()) == (200, first)
    anew = house.ask("few", rows=["region"]).json()
    assert (anew["verdict"], anew["version"], cells(anew)["north",][0]) == ("RELEASED", 1, 200)


# Probes, ids, gRPC


@pytest.mark.parametrize("service", ["risk", "protection", "facility", "gateway"])
def test_probes_and_metrics_answer_on_a_port_of_their_own(house, protected, service):
    address = house.metrics_address(service)
    assert address not in (house.supervisor.url, f"http://{house.supervisor.addresses[service]}")
    assert httpx.get(f"{address}/healthz").status_code == 200
    assert httpx.get(f"{address}/readyz").status_code == 200
    metrics = httpx.get(f"{address}/metrics").text
    assert f'sdcgate_ready{{service="{service}"}} 1.0' in metrics
    method = {
        "risk": "AssessTable",
        "protection": "ProtectTable",
        "facility": "QueryTable",
        "gateway": "POST /v1/datasets/{dataset}/tables",
    }[service]
    assert any(method in line and "sdcgate_calls_total" in line for line in metrics.splitlines())
    # Datasets are of the agency's naming, and seen where decisions are made; people and questions are not.
    assert ('dataset="randhie"' in metrics) == (service == "facility")
    assert re.search(r'"(ada|grace|q-|site|plan)', metrics) is None


def test_the_gateway_serves_no_metrics_to_researchers(house):
    for path in ("/metrics", "/healthz", "/readyz"):
        problem(house.send("GET", path), 404, "NOT_FOUND")


def test_a_request_id_goes_through_all_services_into_all_logs_and_no_key_does(house):
    given = "job-17.step_3"
    body = table_body(rows=["hlthp"], columns=["site"])
    response = house.send("POST", TABLES, body, headers={"X-Request-Id": given})
    assert response.status_code == 201
    assert response.headers["x-request-id"] == given
    for service in ("gateway", "facility", "risk"):
        assert logged(house, service, given)
    for key in house.keys.values():
        secret = key.split("_", 2)[2]
        assert not any(secret in json.dumps(house.log(service)) for service in house.supervisor.processes)
    harmful = house.send("GET", "/v1/status", headers={"X-Request-Id": 'x"} {"event": "forged'})
    assert harmful.headers["x-request-id"].startswith("r-")


def test_the_contract_is_served_to_everybody(house):
    document = house.send("GET", "/openapi.json", key="")
    assert document.status_code == 200
    assert set(document.json()["paths"]) >= {
        "/v1/datasets/{dataset}/tables",
        "/v1/queries/{query}",
        "/v1/queries/{query}:review",
        "/v1/status",
    }


def test_grpc_health_and_reflection_answer_and_calls_want_key_and_deadline(house):
    with grpc.insecure_channel(house.supervisor.addresses["facility"]) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check
        for name in ("", SERVICE):
            answer = check(health_pb2.HealthCheckRequest(service=name), timeout=5)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        # As grpcurl does: everything it needs comes from the server.
        database = ProtoReflectionDescriptorDatabase(showing(channel, house.keys["olga"]))
        assert SERVICE in database.get_services()
        pool = descriptor_pool.DescriptorPool(database)
        method = pool.FindServiceByName(SERVICE).FindMethodByName("GetStatus")
        request, response = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
        call = channel.unary_unary(f"/{SERVICE}/GetStatus", request.SerializeToString, response.FromString)
        metadata = (("authorization", f"Bearer {house.keys['olga']}"),)
        assert call(request(), timeout=5, metadata=metadata).ready
        for how, code in (
            ({"timeout": 5}, grpc.StatusCode.UNAUTHENTICATED),
            ({"metadata": metadata}, grpc.StatusCode.INVALID_ARGUMENT),
        ):
            with pytest.raises(grpc.RpcError) as caught:
                call(request(), **how)
            assert caught.value.code() == code


def test_the_check_side_takes_keys_of_people_who_check_and_no_others(house):
    for service in ("risk", "protection"):
        with grpc.insecure_channel(house.supervisor.addresses[service]) as channel:
            database = ProtoReflectionDescriptorDatabase(showing(channel, house.keys["ada"]))
            (name,) = (found for found in database.get_services() if found.startswith("sdcgate."))
            method = descriptor_pool.DescriptorPool(database).FindServiceByName(name).methods[0]
            call = channel.unary_unary(f"/{name}/{method.name}")
            for key, code in (
                (house.keys["ada"], grpc.StatusCode.INVALID_ARGUMENT),
                (house.keys["olga"], grpc.StatusCode.PERMISSION_DENIED),
                ("sdcg_made_up", grpc.StatusCode.UNAUTHENTICATED),
            ):
                with pytest.raises(grpc.RpcError) as caught:
                    call(b"", timeout=5, metadata=(("authorization", f"Bearer {key}"),))
                assert caught.value.code() == code


# Many at once


def test_the_same_query_from_many_at_the_same_moment_is_one_event_with_one_answer(house):
    together = Barrier(8)

    def ask(key: str) -> httpx.Response:
        together.wait(10)
        return house.ask(key=key, rows=["idp"], columns=["coins"])

    with house.ledger() as ledger, ThreadPoolExecutor(8) as threads:
        before = ledger.head().sequence
        answers = list(threads.map(ask, ["ada", "bob"] * 4))
        assert ledger.head().sequence == before + 1
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert len({answer.content for answer in answers}) == 1


def test_twenty_different_queries_at_once_are_twenty_events_and_twenty_places(house):
    house.register_randhie("crowded")
    rows = (
        "site",
        "female",
        "child",
        "coins",
        "idp",
        "hlthf",
        "hlthp",
        "year",
        "age:broad",
        "education:stages",
    )
    asked = [{"rows": [row], "figures": [figure]} for row in rows for figure in ("RECORDS", "MEAN:mdvis")]

    def ask(request: dict[str, Any]) -> httpx.Response:
        return house.ask("crowded", **request)

    with house.ledger() as ledger, ThreadPoolExecutor(20) as threads:
        before = ledger.head().sequence
        answers = list(threads.map(ask, asked))
        assert {answer.status_code for answer in answers} == {201}
        decisions = [answer.json() for answer in answers]
        places = sorted(decision["certificate"]["sequence"] for decision in decisions)
        assert places == list(range(before + 1, before + 21))
        assert ledger.verify().ok
    assert all(decision["verdict"] in ("RELEASED", "RELEASED_PROTECTED") for decision in decisions)
    totals = {cells(d)["_T",] for d in decisions if list(d["table"]["columns"])[1] == "records"}
    assert totals == {(20190,)}


# The Python client


def test_the_python_client_walks_the_same_road(house, people):
    with Client(house.supervisor.url, house.keys["ada"]) as client:
        assert client.status()["ready"] is True
        answer = client.table(
            "randhie",
            ["age:broad"],
            ["female"],
            figures=["units", "mean:meddol"],
            filter={"site": ["1", "2"]},
        )
        assert answer.released
        assert not answer.repeated
        frame = answer.to_pandas()
        total = frame[(frame.age == "_T") & (frame.female == "_T")].iloc[0]
        chosen = people[people.site.isin([1, 2])]
        assert (total.status, total.units) == ("PUBLISHED", chosen.zper.nunique())
        assert total.mean_meddol == pytest.approx(chosen.meddol.mean(), abs=0.0501)
        assert "RELEASED" in format_answer(answer)
        assert client.query(answer.query).content == answer.content
        assert client.queries(page_size=1)[0]["query"] == answer.query
        refused = client.table("randhie", ["site", "year"], ["female"], ["child"])
        assert (refused.verdict, refused.table) == ("REFUSED", None)
        with pytest.raises(InvalidRequest) as caught:
            client.table("randhie", ["sites"])
        assert [path for path, _ in caught.value.errors] == ["rows[0].variable"]
        with pytest.raises(NotFound):
            client.table("nobody", ["site"])
        with pytest.raises(Forbidden):
            client.review(answer.query, True, "fine")
    with Client(house.supervisor.url, "sdcg_wrong") as stranger, pytest.raises(Unauthorized):
        stranger.datasets()


def test_through_all_of_this_nothing_failed_that_nobody_foresaw(house):
    for service in house.supervisor.processes:
        assert [line for line in house.log(service) if line.get("event") == "failed"] == []
