"""A review over REST and by command: opened, commented on, returned, refused; never by who asked."""

import json

import pytest
from typer.testing import CliRunner

from printed_results import CHART, zipped
from sdcgate.cli import main
from served_house import ServedHouse

SMALL = {"rows": [{"variable": "plan"}, {"variable": "site"}], "figures": [{"statistic": "UNITS"}]}
"""Some of its cells are withheld."""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    served = ServedHouse(tmp_path_factory.mktemp("reviews"))
    try:
        served.register_randhie().raise_for_status()
        yield served
    finally:
        served.stop()


def command(house, key, *words):
    environment = {"SDCGATE_URL": str(house.http.base_url), "SDCGATE_API_KEY": house.keys[key]}
    return CliRunner().invoke(main, ["review", *words], env=environment)


def handed_in(house, name, key="ada"):
    """A chart, which nobody can compute again, so that it waits for a checker."""
    files = [("options", (None, b"{}", "application/json")), ("results", ("r.zip", zipped({name: CHART})))]
    answer = house.send("POST", "/v1/datasets/randhie/results", None, key, files=files).json()
    return answer["outputs"][0]["decision"]["query"]


def seen(house, query, key):
    return house.send("GET", f"/v1/queries/{query}", key=key).json()


def test_a_query_is_returned_over_rest_with_what_to_change_and_a_note_for_checkers_alone(house):
    query = handed_in(house, "a.png")
    review = {"approve": False, "note": "three dots", "returned": "Ask the table beneath it."}
    answer = house.send("POST", f"/v1/queries/{query}:review", review, "grace")
    assert (answer.status_code, answer.json()["verdict"]) == (200, "REFUSED")
    told = seen(house, query, "ada")
    assert told["decision"]["reasons"][0]["suggestion"] == "Ask the table beneath it."
    assert b"three dots" not in house.send("GET", f"/v1/queries/{query}", key="ada").content
    assert seen(house, query, "henry")["checker"]["note"] == "three dots"
    both = {**review, "approve": True, "exception": True}
    problem = house.send("POST", f"/v1/queries/{handed_in(house, 'a2.png')}:review", both, "grace")
    assert (problem.status_code, problem.json()["errors"][0]["path"]) == (400, "returned")


def test_a_query_is_returned_by_command(house):
    query = handed_in(house, "b.png")
    assert query in command(house, "grace", "list").stdout
    returned = command(house, "grace", "return", query, "--note", "dots", "--message", "Ask the table.")
    assert returned.exit_code == 0
    assert returned.stdout.splitlines()[0] == f"REFUSED  {query}"
    assert "Ask the table." in returned.stdout
    assert query not in command(house, "grace", "list").stdout


def test_who_hands_in_what_was_returned_again_is_told_what_to_change(house, tmp_path):
    (tmp_path / "job").mkdir()
    (tmp_path / "job/f.png").write_bytes(CHART)
    words = ["check", str(tmp_path / "job"), "--dataset", "randhie", "--acro-out"]
    environment = {"SDCGATE_URL": str(house.http.base_url), "SDCGATE_API_KEY": house.keys["ada"]}
    first = CliRunner().invoke(main, [*words, str(tmp_path / "first")], env=environment).stdout.split()[1]
    returned = command(house, "grace", "return", first, "--note", "dots", "--message", "Ask the table.")
    assert returned.exit_code == 0
    again = CliRunner().invoke(main, [*words, str(tmp_path / "again")], env=environment).stdout
    assert again.splitlines() == [
        f"REFUSED  {first}  file  f.png  (answered before)",
        "  REVIEW: An output checker has returned this query to you.",
        "    Ask the table.",
    ]
    written = json.loads((tmp_path / "again/results.json").read_text())["results"]["output_0"]
    said = "An output checker has returned this query to you. Ask the table."
    assert written["comments"] == [f"REVIEW: {said}"]
    assert written["summary"] == f"fail; REFUSED {first} {said}"
    assert (tmp_path / "again/output_0.txt").read_text() == f"REFUSED {first} {said}\n"


def test_a_review_says_why_and_a_return_what_to_change(house):
    query = handed_in(house, "e.png")
    for field, review in (
        ("note", {"approve": True, "note": " \n", "exception": True}),
        ("note", {"approve": False, "note": "\t"}),
        ("returned", {"approve": False, "note": "dots", "returned": "  "}),
    ):
        problem = house.send("POST", f"/v1/queries/{query}:review", review, "grace")
        assert (problem.status_code, problem.json()["errors"]) == (
            400,
            [{"path": field, "message": "must not be blank"}],
        )
    empty = command(house, "grace", "return", query, "--note", "dots", "--message", "")
    assert (empty.exit_code, "--message must say" in empty.stderr) == (2, True)
    assert seen(house, query, "ada")["decision"]["verdict"] == "REFERRED"
    assert command(house, "grace", "refuse", query, "--note", "dots").exit_code == 0


def test_a_checker_sees_of_his_own_query_what_its_researcher_sees(house):
    asked = house.send("POST", "/v1/datasets/randhie/tables", SMALL, "grace as researcher")
    query = asked.json()["query"]
    assert asked.json()["verdict"] == "RELEASED_PROTECTED"
    other = seen(house, query, "henry")["checker"]
    assert any(finding.get("cells") for finding in other["findings"])
    assert other["facts"]["units"]
    before = house_head(house)
    own = seen(house, query, "grace")
    assert own == seen(house, query, "grace as researcher")
    assert "checker" not in own
    assert house_head(house) == before
    shown = command(house, "grace", "show", query)
    assert shown.exit_code == 2
    assert "none of his own query" in shown.stderr
    assert "Confidential" not in shown.stdout


def house_head(house):
    with house.ledger() as ledger:
        return ledger.head()


def test_a_checker_gets_no_bytes_of_what_was_handed_in_for_himself_and_cannot_decide_it(house, tmp_path):
    own = handed_in(house, "c.png", "grace as researcher")
    assert seen(house, own, "henry")["files"]["files"][0]["content"]
    assert not seen(house, own, "grace")["files"]["files"][0].get("content")
    files = command(house, "grace", "files", own, str(tmp_path / "files"))
    assert (files.exit_code, (tmp_path / "files").exists()) == (2, False)
    for words in (("approve", own, "--exception"), ("refuse", own), ("return", own, "--message", "no")):
        denied = command(house, "grace", *words, "--note", "mine")
        assert (denied.exit_code, "Nobody reviews his own query." in denied.stderr) == (1, True)
    assert command(house, "grace", "take-back", own, "--note", "mine").exit_code == 1


def test_where_one_pair_of_eyes_is_enough_there_is_nothing_to_take_back(house):
    query = handed_in(house, "d.png")
    taken = command(house, "grace", "take-back", query, "--note", "no")
    assert (taken.exit_code, "You have not approved it" in taken.stderr) == (1, True)
    review = {"approve": True, "take_back": True, "note": "no"}
    problem = house.send("POST", f"/v1/queries/{query}:review", review, "grace")
    assert (problem.status_code, problem.json()["errors"][0]["path"]) == (400, "take_back")
    assert command(house, "grace", "refuse", query, "--note", "dots").exit_code == 0


def test_a_command_names_all_that_is_missing_at_once():
    missing = CliRunner().invoke(main, ["review", "return"])
    assert missing.exit_code == 2
    told = " ".join(missing.stderr.split())
    assert "argument 'query', option '--note', option '--message'" in told
    one = CliRunner().invoke(main, ["review", "return", "q-1", "--note", "n"])
    assert "Missing option '--message'." in one.stderr
