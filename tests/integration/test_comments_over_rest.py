"""Checkers write to each other about a referred query; its researcher reads only what is for him."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from printed_results import CHART, zipped
from sdcgate.cli import main
from sdcgate_client import Client
from served_house import ServedHouse

HOSTILE = "=cmd|' /C calc'!A1 <script>alert(1)</script> \x1b[2J\nRELEASED  q-2 '; DROP TABLE events;--"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    served = ServedHouse(tmp_path_factory.mktemp("comments"))
    try:
        served.register_randhie().raise_for_status()
        yield served
    finally:
        served.stop()


def referred(house, name, key="ada"):
    """A query that waits for a checker: a chart, which nobody can compute again."""
    files = [("options", (None, b"{}", "application/json")), ("results", ("r.zip", zipped({name: CHART})))]
    answer = house.send("POST", "/v1/datasets/randhie/results", None, key, files=files).json()
    return answer["outputs"][0]["decision"]["query"]


def comment(house, query, text, key="grace", **more):
    return house.send("POST", f"/v1/queries/{query}:comment", {"text": text, **more}, key)


def read(house, query, key):
    """Who wrote what, as the owner of a key reads it."""
    shown = house.send("GET", f"/v1/queries/{query}", key=key).json().get("comments", [])
    return [(one.get("author", ""), one["text"]) for one in shown]


def test_the_researcher_reads_what_is_for_him_and_not_who_wrote_it(house):
    query = referred(house, "a.png")
    internal = comment(house, query, "three people stand in the corner")
    assert internal.status_code == 200
    assert internal.json().items() >= {"author": "grace", "text": "three people stand in the corner"}.items()
    assert internal.json()["written"].endswith("Z")
    assert comment(house, query, "What does it show?", to_researcher=True).json()["to_researcher"] is True
    assert read(house, query, "ada") == [("", "What does it show?")]
    assert read(house, query, "grace") == [
        ("grace", "three people stand in the corner"),
        ("grace", "What does it show?"),
    ]
    assert house.send("GET", f"/v1/queries/{query}", key="bob").status_code == 404
    assert b"three people" not in house.send("GET", f"/v1/queries/{query}", key="ada").content


def test_a_comment_decides_nothing_and_a_decided_query_has_no_more(house):
    query = referred(house, "b.png")
    before = house.send("GET", f"/v1/queries/{query}").json()["decision"]
    comment(house, query, "seen", to_researcher=True).raise_for_status()
    assert house.send("GET", f"/v1/queries/{query}").json()["decision"] == before
    review = {"approve": False, "note": "no"}
    house.send("POST", f"/v1/queries/{query}:review", review, "grace").raise_for_status()
    late = comment(house, query, "too late")
    assert (late.status_code, late.json()["detail"]) == (
        409,
        "The query is REFUSED; only referred queries are commented on.",
    )
    assert read(house, query, "ada") == [("", "seen")]


def test_only_checkers_comment_and_nobody_on_his_own_query(house):
    query, own = referred(house, "c.png"), referred(house, "d.png", "grace as researcher")
    for key in ("ada", "bob", "stefan", "olga", "portal"):
        assert comment(house, query, "let it go", key).status_code == 403
    assert comment(house, own, "looks fine").status_code == 403
    assert comment(house, "q-none", "?").status_code == 404
    assert read(house, query, "grace") == read(house, own, "grace") == []


def test_a_checker_reads_no_internal_comment_on_his_own_query(house):
    own = referred(house, "h.png", "grace as researcher")
    comment(house, own, "ask her supervisor", "henry").raise_for_status()
    comment(house, own, "What is it?", "henry", to_researcher=True).raise_for_status()
    assert read(house, own, "grace") == [("", "What is it?")]
    assert [text for _, text in read(house, own, "henry")] == ["ask her supervisor", "What is it?"]


def test_a_text_must_say_something_and_is_bounded(house):
    query = referred(house, "e.png")
    for text in ("", " \n\t", "x" * 4001, "a\0b"):
        answer = comment(house, query, text)
        assert (answer.status_code, [e["path"] for e in answer.json()["errors"]]) == (400, ["text"])
    assert comment(house, query, "x" * 4000).status_code == 200


def test_what_a_comment_says_is_kept_as_it_is_and_never_acted_upon(house):
    query = referred(house, "f.png")
    comment(house, query, HOSTILE, to_researcher=True).raise_for_status()
    assert read(house, query, "ada") == [("", HOSTILE)]
    environment = {"SDCGATE_URL": str(house.http.base_url), "SDCGATE_API_KEY": house.keys["grace"]}
    shown = CliRunner().invoke(main, ["review", "show", query], env=environment).stdout
    assert "\x1b" not in shown
    assert "\n  RELEASED  q-2" in shown  # indented: no line of a comment looks like a decision
    with house.ledger() as ledger:
        assert ledger.verify().ok


def test_checkers_comment_by_command_and_researchers_read_it_in_python(house):
    query = referred(house, "g.png")
    environment = {"SDCGATE_URL": str(house.http.base_url), "SDCGATE_API_KEY": house.keys["grace"]}

    def run(*words):
        return CliRunner().invoke(main, ["review", "comment", query, *words], env=environment)

    assert run("is it a map?").stdout == "recorded; only checkers read it\n"
    assert run("Say its base.", "--to-researcher").stdout == "recorded; the researcher reads it, too\n"
    with Client(str(house.http.base_url), house.keys["ada"]) as client:
        answer = client.query(query)
    assert [(one.author, one.text, one.to_researcher) for one in answer.comments] == [
        ("", "Say its base.", True)
    ]
    assert f"comment of an output checker, {answer.comments[0].written}\n  Say its base." in str(answer)


def head(house):
    with house.ledger() as ledger:
        return ledger.head()


def test_a_comment_that_comes_again_is_recorded_once_even_after_the_query_was_decided(house):
    query = referred(house, "i.png")
    first, before = comment(house, query, "is it a map?"), head(house)
    assert comment(house, query, "is it a map?").json() == first.json()
    assert head(house) == before
    # Other words, another reader or another person: another comment.
    for text, key, more in (
        ("is it a map", "grace", {}),
        ("is it a map?", "grace", {"to_researcher": True}),
        ("is it a map?", "henry", {}),
    ):
        comment(house, query, text, key, **more).raise_for_status()
    assert len(read(house, query, "grace")) == 4
    review = {"approve": False, "note": "no"}
    house.send("POST", f"/v1/queries/{query}:review", review, "grace").raise_for_status()
    late = comment(house, query, "is it a map?")
    assert (late.status_code, late.json()) == (200, first.json())


def test_a_comment_that_is_sent_twice_at_one_instant_is_recorded_once(house):
    query = referred(house, "j.png")
    with ThreadPoolExecutor(8) as threads:
        sent = [threads.submit(comment, house, query, "twice?") for _ in range(8)]
        answers = {future.result().text for future in sent}
    assert len(answers) == 1
    assert read(house, query, "grace") == [("grace", "twice?")]


def test_a_review_that_comes_again_has_the_outcome_that_was_recorded(house):
    query = referred(house, "k.png")
    path, refusal = f"/v1/queries/{query}:review", {"approve": False, "note": "no", "returned": "a table"}
    first, before = house.send("POST", path, refusal, "grace"), head(house)
    assert first.json()["verdict"] == "REFUSED"
    again = house.send("POST", path, refusal, "grace")
    assert (again.status_code, again.json()) == (200, first.json())
    assert head(house) == before
    for body, key in (
        (refusal, "henry"),
        ({**refusal, "note": "no!"}, "grace"),
        ({**refusal, "returned": "a list"}, "grace"),
        ({"approve": True, "note": "no", "exception": True}, "grace"),
    ):
        other = house.send("POST", path, body, key)
        assert (other.status_code, "only referred queries" in other.json()["detail"]) == (409, True)
    assert head(house) == before


def test_a_review_that_is_sent_twice_at_one_instant_is_recorded_once(house):
    query = referred(house, "l.png")
    path, approval = f"/v1/queries/{query}:review", {"approve": True, "note": "fine", "exception": True}
    with ThreadPoolExecutor(8) as threads:
        sent = [threads.submit(house.send, "POST", path, approval, "grace") for _ in range(8)]
        answers = [future.result() for future in sent]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert answers[0].json()["verdict"] == "RELEASED"
