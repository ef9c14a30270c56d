"""Verdicts on printed results as a folder for SACRO-Viewer: what ACRO's own loader reads of it."""

import csv
import hashlib
import json
import zipfile

import pytest

from sdcgate_client import Results, UnexpectedAnswer, write_acro
from sdcgate_client.results import packed, results_form

FIELDS = {
    "uid": str, "status": str, "type": str, "properties": dict, "files": list, "outcome": dict,
    "command": str, "summary": str, "timestamp": str, "comments": list, "exception": str, "fair": dict,
}  # fmt: skip


def decision(verdict, **more):
    reasons = [] if verdict == "RELEASED" else [{"code": "BINDING", "message": "Why."}]
    return {"query": f"q-{verdict}", "verdict": verdict, "dataset": "people", "reasons": reasons} | more


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


class Viewer:
    """What SACRO-Viewer makes of a folder, after its sacro/models.py and the scripts of its pages.

    It opens `outputs.json`, or else the only JSON file that has a version and results; shows the status that
    the summary begins with; puts summary, comments and exception into the page as HTML; marks cells by
    `sdc.cells`, counted from the first row below the header and the first column beside the labels.
    """

    def __init__(self, folder):
        self.folder = folder
        found = [file for file in folder.glob("*.json") if self.is_metadata(json.loads(file.read_text()))]
        (self.path,) = found
        self.outputs = json.loads(self.path.read_text())["results"]

    @staticmethod
    def is_metadata(content):
        return "version" in content and "results" in content

    def shown_status(self, uid):
        first, *rest = [part for part in self.outputs[uid]["summary"].split("; ") if part]
        if first == "review":
            return "Unknown", ["This type of output cannot be checked automatically"]
        return first[0].upper() + first[1:], rest

    def page(self, uid):
        entry = self.outputs[uid]
        html = [entry["timestamp"], entry["summary"], entry["exception"], *entry["comments"]]
        return "".join(f"<li>{text}</li>" for text in html)

    def marked(self, uid, file):
        """Texts of the cells that are marked, by mark."""
        (cells,) = [one["sdc"]["cells"] for one in self.outputs[uid]["files"] if one["name"] == file]
        with (self.folder / file).open(newline="") as content:
            body = list(csv.reader(content))[1:]
        return {mark: [body[row][column + 1] for row, column in places] for mark, places in cells.items()}

    def has_all(self):
        """Whether each file is there, with its checksum."""
        return all(
            (self.folder / "checksums" / f"{file['name']}.txt").read_text()
            == hashlib.sha256((self.folder / file["name"]).read_bytes()).hexdigest()
            for entry in self.outputs.values()
            for file in entry["files"]
        )


def viewer_of(tmp_path, outputs, **files):
    (tmp_path / "job").mkdir()
    for name, content in files.items():
        (tmp_path / "job" / name.replace("_json", ".json")).write_text(content)
    write_acro(Results.from_json({"outputs": outputs}), tmp_path / "out", tmp_path / "job")
    return Viewer(tmp_path / "out")


def printed(verdict, read_as="FILE", files=(), **more):
    return {"name": "it", "read_as": read_as, "files": list(files), "decision": decision(verdict, **more)}


def test_the_viewer_shows_the_verdict_as_the_status_and_why(tmp_path):
    outputs = [printed("RELEASED_PROTECTED", "TABLE", table=TABLE), printed("REFUSED"), printed("REFERRED")]

    viewer = viewer_of(tmp_path, outputs)

    assert [viewer.shown_status(uid) for uid in viewer.outputs] == [
        ("Pass", ["RELEASED_PROTECTED q-RELEASED_PROTECTED Why."]),
        ("Fail", ["REFUSED q-REFUSED Why."]),
        ("Referred", ["REFERRED q-REFERRED Why."]),
    ]
    assert viewer.marked("output_0", "output_0_0.csv") == {"withheld": [""], "perturbed": []}
    assert viewer.has_all()


def test_what_a_checker_released_as_it_was_is_there_and_nothing_else_of_its_name(tmp_path):
    def released(name, content):
        sent = {"name": name, "sha256": hashlib.sha256(content).hexdigest()}
        decided = decision("RELEASED", files={"files": [sent]})
        return {"name": name, "read_as": "FILE", "files": [name], "decision": decided}

    outputs = [released("a.png", b"a"), released("b.json", b"b")]

    viewer = viewer_of(tmp_path, outputs, **{"a.png": "a", "b_json": "another"})

    assert [entry["files"][0]["name"] for entry in viewer.outputs.values()] == [
        "output_0_0.png",
        "output_1.txt",
    ]
    assert (viewer.folder / "output_0_0.png").read_bytes() == b"a"
    assert viewer.has_all()


@pytest.mark.parametrize("outer", ["", "job/"])
def test_of_an_archive_the_files_that_wait_are_copied_as_of_a_folder(outer, tmp_path):
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        archive.writestr(f"{outer}sub/chart.png", b"chart")
        archive.writestr(f"{outer}log.txt", b"log")
    results = Results.from_json({"outputs": [printed("REFERRED", files=["sub/chart.png"])]})

    write_acro(results, tmp_path / "out", tmp_path / "job.zip")

    assert (tmp_path / "out/output_0_0.png").read_bytes() == b"chart"
    assert Viewer(tmp_path / "out").has_all()


def test_json_of_a_job_does_not_keep_the_viewer_from_finding_the_verdicts(tmp_path):
    acro = json.dumps({"version": "1.0.2", "results": {}})
    outputs = [printed("REFERRED", files=["other.json"]), printed("REFERRED", files=["broken.json"])]

    viewer = viewer_of(tmp_path, outputs, other_json=acro, broken_json="{no json")

    assert viewer.path.name == "results.json"
    assert [[file["name"] for file in entry["files"]] for entry in viewer.outputs.values()] == [
        ["output_0_0.json.txt"],
        ["output_1_0.json.txt"],
    ]
    assert (tmp_path / "out/output_1_0.json.txt").read_text() == "{no json"
    assert viewer.has_all()


def test_what_a_job_wrote_into_its_files_is_text_in_the_viewer_and_runs_nothing(tmp_path):
    hostile = {"code": "BINDING", "message": "'<img src=x onerror=alert(1)>' is no variable of people."}

    viewer = viewer_of(tmp_path, [printed("REFERRED", reasons=[hostile])])

    assert "<img" not in viewer.page("output_0")
    assert "&lt;img src=x onerror=alert(1)&gt;" in viewer.page("output_0")


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
