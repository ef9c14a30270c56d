"""Verdicts on printed results as a folder for SACRO-Viewer: what ACRO's own loader reads of it."""

import csv
import hashlib
import json

import pytest

from sdcgate_client import Results, UnexpectedAnswer, write_acro
from sdcgate_client.results import packed, results_form

FIELDS = {
    "uid": str, "status": str, "type": str, "properties": dict, "files": list, "outcome": dict,
    "command": str, "summary": str, "timestamp": str, "comments": list, "exception": str, "fair": dict,
}  # fmt: skip


def decision(verdict, **more):
    reasons = [] if verdict == "RELEASED" else [{"code": "BINDING", "message": "Why."}]
    return {"query": f"q-{verdict}", "verdict": verdict, "dataset": "people", "reasons": reasons, **more}


TABLE = {
    "dimensions": [
        {"variable": "region", "codes": ["n", "=cmd|' /C calc'!A0"]},
        {"variable": "sex", "codes": ["f", "m", "_T"]},
    ],
    "columns": {
        "region": [0, 0, 0, 1, 1, 1],
        "sex": [2, 0, 1, 0, 1, 2],
        "units": [30, 10, 20, None, None, 7],
        "status": ["PUBLISHED", "PUBLISHED", "PUBLISHED", "WITHHELD", "ABSENT", "PUBLISHED"],
    },
    "figures": [{"statistic": "UNITS", "column": "units"}],
}  # fmt: skip


@pytest.fixture
def results():
    outputs = [
        {"name": "output_7", "part": "RECORDS", "read_as": "TABLE", "files": ["t.csv"],
         "decision": decision("RELEASED_PROTECTED", table=TABLE)},
        {"name": "chart.png", "read_as": "FILE", "files": ["chart.png"], "problems": ["No."],
         "decision": decision("REFERRED")},
        {"name": "m", "read_as": "MODEL", "files": ["m.csv"], "decision": decision("REFUSED")},
    ]  # fmt: skip
    return Results.from_json({"outputs": outputs, "not_outputs": ["results.json"]})


def test_each_output_has_all_fields_and_a_file_that_is_there_and_has_its_checksum(results, tmp_path):
    write_acro(results, tmp_path / "out")
    written = json.loads((tmp_path / "out/results.json").read_text())
    assert written["version"] == "1.0.2"
    assert list(written["results"]) == ["output_0", "output_1", "output_2"]
    for uid, entry in written["results"].items():
        assert {name: type(value) for name, value in entry.items()} == FIELDS
        assert entry["uid"] == uid
        assert entry["files"]
        for file in entry["files"]:
            content = (tmp_path / "out" / file["name"]).read_bytes()
            checksum = (tmp_path / "out/checksums" / f"{file['name']}.txt").read_text()
            assert checksum == hashlib.sha256(content).hexdigest()
    assert [entry["status"] for entry in written["results"].values()] == ["pass", "review", "fail"]
    assert [entry["type"] for entry in written["results"].values()] == ["table", "custom", "regression"]


def test_a_table_is_there_as_it_left_with_masks_of_what_was_withheld(results, tmp_path):
    write_acro(results, tmp_path / "out")
    entry = json.loads((tmp_path / "out/results.json").read_text())["results"]["output_0"]
    with (tmp_path / "out/output_0_0.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [
        ["region / sex", "f", "m", "_T"],
        ["n", "10", "20", "30"],
        ["'=cmd|' /C calc'!A0", "", "", "7"],  # nothing that a spreadsheet would run
    ]
    assert entry["files"][0]["sdc"]["cells"] == {"withheld": [[1, 0]], "perturbed": []}
    assert entry["files"][0]["sdc"]["summary"] == {"suppressed": True, "withheld": 1, "perturbed": 0}
    assert entry["outcome"]["f"] == {"n": "ok", "=cmd|' /C calc'!A0": "withheld"}


def test_files_that_wait_for_a_checker_are_copied_from_where_they_were(results, tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job/chart.png").write_bytes(b"png")
    write_acro(results, tmp_path / "out", tmp_path / "job")
    assert (tmp_path / "out/output_1_0.png").read_bytes() == b"png"
    with pytest.raises(FileExistsError, match="not empty"):
        write_acro(results, tmp_path / "out")


def test_a_folder_is_packed_the_same_each_time_and_never_with_what_lies_outside(tmp_path):
    (tmp_path / "job/sub").mkdir(parents=True)
    (tmp_path / "job/sub/a.csv").write_text("1")
    assert packed(tmp_path / "job") == packed(tmp_path / "job")
    (tmp_path / "job/link").symlink_to("/etc/passwd")
    with pytest.raises(ValueError, match="is a link"):
        results_form(tmp_path / "job")


def test_an_answer_of_another_shape_is_no_verdict():
    for content in ({"outputs": [{}]}, {"outputs": [{"name": "a", "read_as": "TABLE", "decision": {}}]}):
        with pytest.raises(UnexpectedAnswer):
            Results.from_json(content)
