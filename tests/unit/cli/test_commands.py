import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main
from sdcgate.cli.dataset import read_descriptor
from sdcgate.cli.demo import STEPS, difference, fresh_folder
from sdcgate.cli.query import conditions, names
from sdcgate.servers.openapi_examples import answer
from sdcgate.wire.json import to_json
from sdcgate_client import Answer

ANSWER = {
    "query": "q-01",
    "dataset": "randhie",
    "version": 1,
    "policy": {"name": "israel-cbs", "hash": "sha256:ab"},
    "verdict": "RELEASED_PROTECTED",
    "reasons": [{"code": "MINIMUM_UNITS", "message": "Small cells are withheld.", "suggestion": ""}],
    "table": {
        "dimensions": [{"variable": "site", "level": "site", "column": "site", "codes": ["1", "2"]}],
        "columns": {"site": [0, 1], "units": [None, 52], "status": ["WITHHELD", "PUBLISHED"]},
    },
    "certificate": {"sequence": 3, "head": "cd" * 32},
}
CHECKER = {
    "researcher": "ada",
    "findings": [
        {"rule": "MINIMUM_UNITS", "consequence": "PROTECT", "cells": [0]},
        {"rule": "INDIVIDUAL_RISK", "consequence": "REFER", "figure": 0.02, "bound": 0.01},
    ],
    "risk": {"base_units": 59, "maximum": 0.25},
    "dimensions": [{"variable": "site", "level": "site", "codes": ["1", "2"], "cells": [0, 1]}],
    "facts": {"units": [7, 52], "records": [9, 80], "measures": [{"measure": "meddol", "sums": [1.5, 2.5]}]},
}


class Gateway:
    """A small HTTP server that gives prepared answers and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {}
        self.asked: list[tuple[str, str, Any, str]] = []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                key = self.headers.get("Authorization", "")
                gateway.asked.append((self.command, self.path, json.loads(body) if body else None, key))
                status, content = gateway.answers[(self.command, self.path)]
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(content).encode())

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    gateway = Gateway()
    thread = threading.Thread(target=gateway.server.serve_forever, args=(0.01,))
    thread.start()
    yield gateway
    gateway.server.shutdown()
    thread.join()
    gateway.server.server_close()


def run(gateway: Gateway | None, *arguments: str) -> Result:
    environment = {"SDCGATE_URL": gateway.url if gateway else "http://127.0.0.1:9", "SDCGATE_API_KEY": "key"}
    return CliRunner().invoke(main, list(arguments), env=environment)


def test_a_table_is_asked_for_and_printed(gateway: Gateway) -> None:
    gateway.answers["POST", "/v1/datasets/randhie/tables"] = 201, ANSWER
    ask = (
        "query table randhie --rows site --columns age:ten_years --figure units --figure mean:meddol --filter"
    )
    result = run(gateway, *ask.split(), "female=1", "--no-margins")
    assert result.exit_code == 0
    assert gateway.asked[0][2] == {
        "rows": [{"variable": "site"}],
        "columns": [{"variable": "age", "level": "ten_years"}],
        "layers": [],
        "margins": False,
        "figures": [{"statistic": "UNITS"}, {"statistic": "MEAN", "measure": "meddol"}],
        "filter": [{"variable": "female", "codes": ["1"]}],
        "project": "",
    }
    assert gateway.asked[0][3] == "Bearer key"
    assert "RELEASED_PROTECTED  q-01" in result.output
    assert "x withheld" in result.output


def test_json_is_the_decision_as_it_came(gateway: Gateway) -> None:
    gateway.answers["GET", "/v1/queries/q-01"] = 200, {"request": {}, "decision": ANSWER}
    assert json.loads(run(gateway, "query", "show", "q-01", "--json").stdout) == ANSWER


def test_all_wrong_fields_are_told_and_the_command_ends_with_2(gateway: Gateway) -> None:
    problem = {
        "title": "The request is not valid",
        "errors": [
            {"path": "rows[0].variable", "message": "is unknown"},
            {"path": "figures[0]", "message": "bad"},
        ],
    }
    gateway.answers["POST", "/v1/datasets/randhie/tables"] = 400, problem
    result = run(gateway, "query", "table", "randhie", "--rows", "sight")
    assert result.exit_code == 2
    assert "rows[0].variable: is unknown\n  figures[0]: bad" in result.stderr


@pytest.mark.parametrize("status", [401, 403, 404, 503])
def test_what_fails_ends_the_command_with_1(gateway: Gateway, status: int) -> None:
    gateway.answers["GET", "/v1/datasets"] = status, {"title": "No", "detail": "for a reason"}
    result = run(gateway, "dataset", "list")
    assert (result.exit_code, result.stderr) == (1, f"No ({status}): for a reason\n")


def test_a_checker_sees_all_that_waits_however_much_it_is(gateway: Gateway) -> None:
    first = "/v1/queries?verdicts=REFERRED&page_size=1000"
    gateway.answers["GET", first] = 200, {"queries": [{"query": "q-3"}], "next_page_token": "q-2"}
    # A page may be empty where a key is for some datasets only.
    gateway.answers["GET", f"{first}&page_token=q-2"] = 200, {"next_page_token": "q-1"}
    gateway.answers["GET", f"{first}&page_token=q-1"] = 200, {"queries": [{"query": "q-0"}]}
    result = run(gateway, "review", "list")
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["q-3", "q-0"]


def test_a_gateway_that_is_not_there_is_told_in_words() -> None:
    result = run(None, "dataset", "list")
    assert result.exit_code == 1
    assert "http://127.0.0.1:9 cannot be reached" in result.stderr


def test_without_a_key_the_command_says_where_to_get_one() -> None:
    result = CliRunner().invoke(main, ["query", "list"], env={"SDCGATE_API_KEY": ""})
    assert result.exit_code == 2
    assert "sdcgate key create" in result.stderr


def test_a_key_may_stand_in_a_file(gateway: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("key of the file\n")
    gateway.answers["GET", "/v1/datasets"] = 200, {"datasets": []}
    environment = {"SDCGATE_URL": gateway.url, "SDCGATE_API_KEY": "", "SDCGATE_API_KEY_FILE": str(file)}
    assert CliRunner().invoke(main, ["dataset", "list"], env=environment).exit_code == 0
    assert gateway.asked[-1][3] == "Bearer key of the file"
    missing = CliRunner().invoke(
        main, ["dataset", "list"], env={**environment, "SDCGATE_API_KEY_FILE": "none"}
    )
    assert (missing.exit_code, "none" in missing.stderr) == (1, True)


def test_admissions_are_requested_listed_and_decided(gateway: Gateway) -> None:
    found = {"admission": "a-1", "state": "REQUESTED", "researchers": ["ada", "bob"], "project": "p"}
    gateway.answers["POST", "/v1/admissions"] = 201, found
    ask = "admission project p --researcher ada,bob --dataset randhie --label thesis --from 2026-12-01"
    assert run(gateway, *ask.split()).stdout == "a-1\n"
    assert gateway.asked[-1][2] == {
        "researchers": ["ada", "bob"],
        "datasets": ["randhie"],
        "label": "thesis",
        "valid_from": "2026-12-01",
        "valid_until": "2027-12-01",
        "project": "p",
    }
    assert (
        run(gateway, "admission", "researcher", "ada", "--label", "x", "--until", "2099-01-01").exit_code == 0
    )
    assert (gateway.asked[-1][2]["researchers"], gateway.asked[-1][2]["valid_until"]) == (
        ["ada"],
        "2099-01-01",
    )
    assert run(gateway, "admission", "researcher", "ada", "--label", "x", "--from", "soon").exit_code == 2
    gateway.answers["GET", "/v1/admissions?states=REQUESTED"] = 200, {"admissions": [found]}
    assert "ada, bob" in run(gateway, "admission", "list", "--state", "requested").stdout
    days = {"valid_from": "2026-12-01", "valid_until": "2027-01-01"}
    gateway.answers["POST", "/v1/admissions/a-1:review"] = 200, {**found, **days}
    told = run(gateway, *["admission", "approve", "a-1", "--note", "seen", "--until", "2027-01-01"])
    assert told.stdout == "a-1 is approved from 2026-12-01 until 2027-01-01\n"
    assert gateway.asked[-1][2] == {"approve": True, "note": "seen", "valid_until": "2027-01-01"}
    assert run(gateway, *["admission", "refuse", "a-1", "--note", "no"]).exit_code == 0
    assert gateway.asked[-1][2] == {"approve": False, "note": "no"}
    gateway.answers["POST", "/v1/admissions/a-1:withdraw"] = 200, found
    assert run(gateway, *["admission", "withdraw", "a-1", "--note", "left"]).stdout == "a-1 is withdrawn\n"


def test_filters_and_names_are_read_as_they_are_written() -> None:
    assert names(["site,plan", " age:broad "]) == ["site", "plan", "age:broad"]
    assert conditions(["female=1", "age:broad=0-17, _U"]) == {"female": ["1"], "age:broad": ["0-17", "_U"]}
    for wrong in ["female", "=1", "female="]:
        with pytest.raises(ValueError, match="variable=code"):
            conditions([wrong])
    with pytest.raises(ValueError, match="stands twice"):
        conditions(["site=1", "site=2"])


def test_a_checker_sees_what_failed_where_and_the_true_table(gateway: Gateway) -> None:
    request = {"rows": [{"variable": "site"}], "columns": [], "layers": []}
    decision = {**ANSWER, "verdict": "REFERRED"}
    gateway.answers["GET", "/v1/queries/q-01"] = (
        200,
        {"request": request, "decision": decision, "checker": CHECKER},
    )
    output = run(gateway, "review", "show", "q-01").stdout
    assert "MINIMUM_UNITS (protect): 1 cells: 1" in output
    assert "INDIVIDUAL_RISK (refer): 0.02, allowed 0.01" in output
    assert "base units: 59" in output
    assert [line.split() for line in output.splitlines() if line.startswith("1 ")][-1] == [
        "1",
        "7",
        "9",
        "1.5",
    ]


def test_a_review_needs_a_note(gateway: Gateway) -> None:
    gateway.answers["POST", "/v1/queries/q-01:review"] = 200, ANSWER
    assert run(gateway, "review", "approve", "q-01").exit_code == 2
    assert run(gateway, "review", "approve", "q-01", "--note", "seen").exit_code == 0
    assert gateway.asked[-1][2] == {"approve": True, "note": "seen"}
    assert run(gateway, "review", "refuse", "q-01", "--note", "no").exit_code == 0
    assert gateway.asked[-1][2] == {"approve": False, "note": "no"}


def test_a_descriptor_is_registered_with_its_codes_as_texts(gateway: Gateway, tmp_path: Path) -> None:
    file = tmp_path / "survey.yaml"
    file.write_text(
        "name: survey\ndata: {path: survey.csv}\ndesign: {coverage: CENSUS}\n"
        "variables:\n  - name: sex\n    levels:\n      - codes: [{code: 1, label: men}, {code: 2}]\n"
        "measures:\n  - {name: income, lower_bound: 0}\n"
    )
    gateway.answers["POST", "/v1/datasets"] = (
        201,
        {"dataset": {"name": "survey", "version": 1}, "created": True},
    )
    result = run(gateway, "dataset", "register", str(file))
    assert result.stdout == "survey version 1 registered\n"
    assert gateway.asked[0][2] == {
        "descriptor": {
            "name": "survey",
            "data": {"path": "survey.csv"},
            "design": {"coverage": "CENSUS"},
            "variables": [
                {"name": "sex", "levels": [{"codes": [{"code": "1", "label": "men"}, {"code": "2"}]}]}
            ],
            "measures": [{"name": "income", "lower_bound": 0.0}],
        }
    }


def test_a_table_published_elsewhere_is_entered_as_it_would_be_asked(gateway: Gateway) -> None:
    told = json.loads(to_json(answer("EnterKnowledge", 201)))
    gateway.answers["POST", "/v1/datasets/randhie:enterKnowledge"] = 201, told
    options = ("--rows", "site,age:ten_years", "--filter", "female=1", "--published", "yearbook")
    shown = run(gateway, "dataset", "enter-knowledge", "randhie", *options)
    assert gateway.asked[0][2] == {
        "rows": [{"variable": "site"}, {"variable": "age", "level": "ten_years"}],
        "columns": [],
        "layers": [],
        "figures": [{"statistic": "UNITS"}],
        "filter": [{"variable": "female", "codes": ["1"]}],
        "published": "yearbook",
    }
    assert shown.stdout == f"21 cells of randhie are known now, record {told['query']}\n"
    gateway.answers["POST", "/v1/datasets/randhie:enterKnowledge"] = 200, {**told, "repeated_answer": True}
    assert "(entered before)" in run(gateway, "dataset", "enter-knowledge", "randhie", *options).stdout


def test_the_risk_of_a_dataset_is_shown_by_scenario_with_its_worst_table(
    gateway: Gateway, tmp_path: Path
) -> None:
    file = tmp_path / "scenarios.yaml"
    file.write_text("- {name: roll, kind: INDIVIDUAL_ARCHIVE, keys: ['age:broad'], quality: 0.5}\n")
    told = json.loads(to_json(answer("AssessDataset", 200)))
    told["key"] = {**told["scenarios"][0], "name": "identifying variables"}
    told["rule_sets"] = [
        {
            "name": "researchers",
            "rules": [{"rule": 1, "requirement": "R.", "outcome": "MET", "explanation": "E."}],
        }
    ]
    told["not_computed"] = [{"what": "scenario x", "reason": "the file has no household"}]
    gateway.answers["POST", "/v1/datasets/randhie:assess"] = 200, told
    shown = run(gateway, "dataset", "assess", "randhie", "--scenarios", str(file))
    assert gateway.asked[0][2] == {
        "scenarios": [{"name": "roll", "kind": "INDIVIDUAL_ARCHIVE", "keys": ["age:broad"], "quality": 0.5}]
    }
    text = re.sub(r"\s+", " ", shown.stdout)
    assert "register 84 2 0.10 0.0017% 0.0069 0.1 0" in text
    assert "site x age:ten_years 120 6 0.04" in text
    assert "1 met R. E." in text
    assert "scenario x the file has no household" in text
    assert json.loads(run(gateway, "dataset", "assess", "randhie", "--json").stdout) == told


def test_another_release_and_numbers_of_a_dataset_are_asked_for_and_told(gateway: Gateway) -> None:
    told = json.loads(to_json(answer("AssessDataset", 200)))
    told["key"] = {**told["scenarios"][0], "name": "identifying variables"}
    told["linked_releases"] = {
        "other": "health version 2",
        "shared": [{"name": "age / age:broad", "codes": 9, "other_codes": 3, "joint_codes": 11}],
        **dict.fromkeys(("units", "other_units", "common_units", "single_links", "one_to_one"), 5),
        **{f"expected_{name}": 2.5 for name in ("links", "matches", "matches_shared", "matches_other")},
        **{f"expected_matches_{name}": 4.5 for name in ("union", "through_links")},
    }
    told["numbers"] = {"neighbours": 4, "isolated": 12, "outside": 3, "largest": 6}
    gateway.answers["POST", "/v1/datasets/randhie:assess"] = 200, told
    asked = [
        "--with",
        "health@2",
        "--with-keys",
        "site,age:broad",
        "--near",
        "sales=10%",
        "--neighbours",
        "4",
    ]
    shown = run(gateway, "dataset", "assess", "randhie", *asked)
    assert shown.exit_code == 0, (shown.output, shown.exception)
    text = re.sub(r"\s+", " ", shown.stdout)
    assert gateway.asked[0][2] == {
        "scenarios": [],
        "other": {"dataset": "health", "version": 2, "keys": ["site", "age:broad"]},
        "numbers": [{"column": "sales", "relative": 0.1}],
        "neighbours": 4,
    }
    assert "the other (health version 2) 5, of which 5 are in both. Both show age / age:broad." in text
    assert "The levels of age / age:broad lie crosswise" in text
    assert "both, linked without error 4.50" in text
    assert "12 units are within the widths of fewer than 4 others of their key" in text
    assert run(gateway, "dataset", "assess", "randhie", "--with", "health@new").exit_code == 2


def test_a_descriptor_s_problems_are_told_before_it_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "survey.yaml"
    file.write_text("name: survey\ndat: {}\ndesign: {coverage: PART}\n")
    with pytest.raises(ValueError, match=r"survey.yaml cannot be registered") as caught:
        read_descriptor(file)
    assert "  dat: unknown field" in str(caught.value)
    assert "  design.coverage: " in str(caught.value)


def test_policies_are_listed_shown_and_validated(tmp_path: Path) -> None:
    assert "israel-cbs" in run(None, "policy", "list").stdout
    shown = run(None, "policy", "show", "israel-cbs", "--access-level", "remote").stdout
    assert "A cell of fewer than 10 units is withheld" in shown
    assert run(None, "policy", "show", "israel-cbs", "--access-level", "moon").exit_code == 2
    own = tmp_path / "own.yaml"
    own.write_text("name: own\nversion: '1'\ndescription: d\naccess_levels: {remote: {rules: {}}}\n")
    result = run(None, "policy", "validate", str(own))
    assert result.exit_code == 2
    assert "access_levels.remote.rules.minimum_units: is missing" in result.stderr
    assert run(None, "policy", "validate", "five-safes").stdout.startswith("five-safes version")


def test_help_says_what_there_is() -> None:
    output = run(None, "--help").stdout
    for command in ("serve", "query", "dataset", "review", "key", "ledger", "policy", "demo"):
        assert f" {command} " in output


def test_the_demonstration_fails_if_a_verdict_is_not_the_expected_one() -> None:
    refused = Answer.from_json({"query": "q", "verdict": "REFUSED", "reasons": [{"code": "MINIMUM_BASE"}]})
    assert difference(1, STEPS[0], refused) == ["query 1 is REFUSED and not RELEASED"]
    assert difference(4, STEPS[3], refused) == ["query 4 does not give DIFFERENCING as a reason"]
    assert [step.verdict for step in STEPS] == ["RELEASED", "RELEASED_PROTECTED", "REFUSED", "REFUSED"]


def test_each_demonstration_begins_with_an_empty_folder_and_two_do_not_share_one(tmp_path: Path) -> None:
    with fresh_folder(tmp_path / "var") as first:
        snapshots = first / "snapshots"
        snapshots.mkdir()
        (snapshots / "data.parquet").write_text("old")
        snapshots.chmod(0o500)
        with fresh_folder(tmp_path / "var") as second:
            assert second != first
        assert not second.exists()
    with fresh_folder(tmp_path / "var") as third:
        assert third == first
        assert list(third.iterdir()) == []


STATISTIC = {
    "kind": "BOX_PLOT",
    "measure": "meddol",
    "statuses": ["PUBLISHED", "PUBLISHED"],
    "dimensions": [{"variable": "site", "codes": ["1", "_U"], "cells": [0, 1]}],
    "figures": [{"name": "P50", "groups": [0], "values": [40.5]}],
}


def drawn(gateway: Gateway, file: Path, **statistic: Any) -> Result:
    told = {name: value for name, value in ANSWER.items() if name != "table"}
    answer = (
        {**told, "statistic": {**STATISTIC, **statistic}} if statistic else {**told, "verdict": "REFUSED"}
    )
    gateway.answers["POST", "/v1/datasets/randhie/statistics"] = 201, answer
    words = f"query statistic randhie box_plot meddol --groups site --picture {file}"
    return run(gateway, *words.split())


def test_a_picture_that_cannot_be_drawn_is_told_and_one_that_can_is_written(
    gateway: Gateway, tmp_path: Path
) -> None:
    file, why = tmp_path / "boxes.svg", "too little leaves"
    none = drawn(gateway, file, not_drawn=[0, 1], not_drawn_because=why)
    assert (none.exit_code, none.stderr) == (1, f"{file} is not written: {why}\n")
    assert f"no picture: {why}" in none.stdout
    refused = drawn(gateway, file)
    assert (refused.exit_code, "no statistic was released" in refused.stderr) == (0, True)
    assert not file.exists()
    some = drawn(
        gateway, file, pictures=[{"groups": [0], "svg": "<svg/>"}], not_drawn=[1], not_drawn_because=why
    )
    assert (some.exit_code, some.stderr) == (0, "")
    assert f"no picture of _U: {why}" in some.stdout
    assert file.read_text() == "<svg/>"
