"""Folders that jobs printed, over REST: a verdict on each output, and what checkers do with the others."""

import json

import pytest
from typer.testing import CliRunner

from printed_results import CHART, COUNTS, acro_folder, entry, whole_folder, zipped
from sdcgate.cli import main
from sdcgate_client import Client, write_acro
from served_house import ServedHouse, cells, codes_of


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    served = ServedHouse(tmp_path_factory.mktemp("results"))
    try:
        served.register_randhie().raise_for_status()
        yield served
    finally:
        served.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("printed")
    for name, content in whole_folder().items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(content)
    return place


def send(house, content, options=None, key="portal", dataset="randhie"):
    parts = [
        ("options", (None, json.dumps(options or {}).encode(), "application/json")),
        ("results", ("results.zip", content, "application/zip")),
    ]
    return house.send("POST", f"/v1/datasets/{dataset}/results", None, key, files=parts)


def test_each_output_of_a_folder_gets_its_own_decision(house):
    response = send(house, zipped(whole_folder()), {"label": "job 17", "project": "health"})
    assert response.status_code == 202  # the chart waits for a checker
    answer = response.json()
    assert [(o["name"], o["read_as"], o["decision"]["verdict"]) for o in answer["outputs"]] == [
        ("output_0", "TABLE", "RELEASED"),
        ("output_1", "TABLE", "RELEASED"),
        ("output_2", "FILE", "REFERRED"),
    ]
    table, _, chart = (output["decision"] for output in answer["outputs"])
    assert cells(table)[("1", "0")] == (2150,)
    assert codes_of(chart) == ["BINDING"]
    assert set(answer["not_outputs"]) == {"results.json", "config.json", "checksums/"}
    again = send(house, zipped(whole_folder())).json()
    assert all(output["repeated_answer"] for output in again["outputs"])
    # The same events, with the same certificates.
    assert [o["decision"] for o in again["outputs"]] == [o["decision"] for o in answer["outputs"]]


def test_cells_that_acro_says_it_suppressed_and_shows_are_withheld(house):
    shown = "female,0,0\nplan,5,6\nsite,,\n3,15,18\n4,24,37\n5,,31\n"
    said = entry("table", ["t.csv"], "acro.crosstab(df.site, [df.female, df.plan])", mitigation="suppression")
    response = send(house, zipped(acro_folder({"output_0": said}, "1.0.2", t__csv=shown)))
    (output,) = response.json()["outputs"]
    assert output["decision"]["verdict"] == "RELEASED_PROTECTED"
    left = cells(output["decision"])
    assert left["3", "0", "5"] == (None,)
    assert ("5", "0", "5") not in left  # what was suppressed stays so


def test_deviations_and_shares_go_out_and_are_written_for_a_viewer(house, tmp_path):
    deviations = "female,0,1\nsite,,\n1,1012.6,845.5\n2,663.3,668.0\n3,,787.3\n"
    shares = "site,0,1\n1,0.482,0.518\n2,0.498,0.502\n"
    crosstab = "acro.crosstab(df.site, df.female, {})"
    printed = acro_folder(
        {
            "a": entry("table", ["a.csv"], crosstab.format('values=df.meddol, aggfunc="std"')),
            "b": entry("table", ["b.csv"], crosstab.format('normalize="index"')),
        },
        a__csv=deviations,
        b__csv=shares,
    )
    (tmp_path / "job").mkdir()
    for name in ("a.csv", "b.csv", "results.json"):
        (tmp_path / "job" / name).write_bytes(printed[name])
    with Client(str(house.http.base_url), house.keys["portal"]) as portal:
        results = portal.submit_results("randhie", tmp_path / "job")
    assert [(o.read_as, o.answer.verdict) for o in results.outputs] == [
        ("STATISTIC", "RELEASED"),
        ("TABLE", "RELEASED"),
    ]
    groups = results.outputs[0].answer.statistic.groups
    assert [(group.codes, dict(group.figures)) for group in groups] == [
        (("1", "0"), {"standard_deviation": 1013.0}),
        (("1", "1"), {"standard_deviation": 845.5}),
        (("2", "0"), {"standard_deviation": 663.3}),
        (("2", "1"), {"standard_deviation": 668.0}),
        (("3", "1"), {"standard_deviation": 787.3}),
    ]
    write_acro(results, tmp_path / "out")
    lines = (tmp_path / "out/output_0_0.csv").read_text().splitlines()
    assert lines[:2] == ["site / female,standard_deviation", "1 / 0,1013"]
    assert (tmp_path / "out/output_1_0.csv").read_text().splitlines()[1].startswith("1,48.2")


def test_a_checker_sees_the_file_and_may_release_it_by_exception_only(house):
    chart = send(house, zipped({"a.png": CHART}), {"label": "job 18"}).json()["outputs"][0]["decision"]
    path = f"/v1/queries/{chart['query']}"
    seen = house.send("GET", path, key="grace").json()["files"]
    assert (seen["label"], seen["files"][0]["content"]) == ("job 18", "iVBORw0KGgoxMjM=")
    to_the_portal = house.send("GET", path, key="portal").json()["files"]["files"][0]
    assert to_the_portal["name"] == "a.png"
    assert not to_the_portal.get("content")
    note = {"approve": True, "note": "a chart of totals"}
    assert house.send("POST", f"{path}:review", note, "grace").status_code == 409
    released = house.send("POST", f"{path}:review", {**note, "exception": True}, "grace").json()
    assert released["verdict"] == "RELEASED"
    assert released["files"]["files"] == [{**to_the_portal}]
    assert send(house, zipped({"a.png": CHART})).json()["outputs"][0]["decision"]["verdict"] == "RELEASED"


def test_a_checker_gets_the_files_by_a_command_whatever_they_are_called(house, tmp_path):
    name = "sub/a b.png"
    chart = send(house, zipped({name: CHART, "b.x": b""})).json()["outputs"][0]["decision"]
    environment = {"SDCGATE_URL": str(house.http.base_url), "SDCGATE_API_KEY": house.keys["grace"]}

    def run(*words):
        return CliRunner().invoke(main, ["review", *words], env=environment)

    assert f"asked: files {name}" in run("show", chart["query"]).stdout
    written = run("files", chart["query"], str(tmp_path / "seen"))
    assert written.exit_code == 0, written.output
    assert (tmp_path / "seen/0.png").read_bytes() == CHART
    assert f"{name}, {len(CHART)} bytes" in written.stdout
    approved = run("approve", chart["query"], "--note", "fine", "--exception")
    assert f"may leave: {name}, sha256 " in approved.stdout


def test_outputs_of_a_results_json_without_its_files_are_each_referred_with_their_own_reason(house):
    made = {
        "output_0": entry("table", ["lost.csv"], "acro.crosstab(df.site, df.female)"),
        "output_1": entry("regression", ["gone.csv", "lost too.csv"], "acro.ols(...)"),
        "output_2": entry("table", [], "acro.crosstab(df.site, df.plan)"),
    }
    content = acro_folder(made)["results.json"]
    parts = [
        ("options", (None, b'{"name": "results.json"}', "application/json")),
        ("results", ("results.json", content, "application/octet-stream")),
    ]
    response = house.send("POST", "/v1/datasets/randhie/results", None, "portal", files=parts)
    assert response.status_code == 202, response.text
    answer = response.json()
    told = {one["name"]: one["decision"]["reasons"][0]["message"] for one in answer["outputs"]}
    assert "lost.csv is not there" in told["output_0"]
    assert "gone.csv is not there. lost too.csv is not there" in told["output_1"]
    assert "names no file" in told["output_2"]
    assert len({one["decision"]["query"] for one in answer["outputs"]}) == 3
    again = house.send("POST", "/v1/datasets/randhie/results", None, "portal", files=parts).json()
    assert [one["decision"] for one in again["outputs"]] == [one["decision"] for one in answer["outputs"]]


def test_what_is_no_archive_is_an_error_with_its_place(house):
    for content, options, path in (
        (b"no zip", {}, "results"),
        (b"", {}, "results"),
        (zipped({"../up.csv": b"1"}), {}, "results[0]"),
        (b"a,b", {"name": "../a.csv"}, "options.name"),
        (b"a,b", {"name": "x" * 300}, "options.name"),
    ):
        response = send(house, content, options)
        assert response.status_code == 400
        assert response.json()["errors"][0]["path"] == path
    assert send(house, zipped({"a.png": CHART}), dataset="none").status_code == 404
    assert send(house, zipped({"a.png": CHART}), key="grace").status_code == 403
    assert send(house, zipped({"a.png": CHART}), {"dataset": "other"}).status_code == 400


def test_the_command_and_the_client_submit_a_folder_and_write_verdicts_for_a_viewer(house, folder, tmp_path):
    words = ["check", str(folder), "--dataset", "randhie", "--acro-out", str(tmp_path / "out")]
    environment = {"SDCGATE_URL": str(house.http.base_url), "SDCGATE_API_KEY": house.keys["portal"]}
    found = CliRunner().invoke(main, words, env=environment)
    assert found.exit_code == 1
    assert found.stdout.splitlines()[0].startswith("RELEASED  q-")
    assert "REFERRED" in found.stdout
    assert found.stderr == "1 of 3 outputs may not leave.\n"
    written = json.loads((tmp_path / "out/results.json").read_text())["results"]
    assert [one["status"] for one in written.values()] == ["pass", "pass", "review"]
    assert (tmp_path / "out/output_2_0.png").read_bytes() == CHART
    with Client(str(house.http.base_url), house.keys["portal"]) as client:
        results = client.submit_results("randhie", folder)
        assert [output.released for output in results.outputs] == [True, True, False]
        table = folder / "output_0_0.csv"
        single = client.submit_results("randhie", table).outputs[0]
    assert single.problems == ("No side file output_0_0.yaml says what it is.",)
    write_acro(results, tmp_path / "again")
    lines = (tmp_path / "again/output_0_0.csv").read_text().splitlines()
    assert lines[:2] == ["site / female,0,1", COUNTS.splitlines()[1]]
