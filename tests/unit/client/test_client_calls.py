import json
from collections.abc import Callable
from typing import Any

import httpx
import pandas as pd
import pytest

from sdcgate_client import (
    ApiError,
    Client,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    Unauthorized,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
    own_table,
)

KEY = "sg_not-a-real-key"
REFUSED = {
    "query": "q-01",
    "dataset": "randhie",
    "version": 1,
    "policy": {"name": "israel-cbs", "hash": "sha256:ab"},
    "verdict": "REFUSED",
    "reasons": [{"code": "MAXIMUM_DIMENSIONS", "message": "Too many.", "suggestion": "Drop year."}],
    "alternatives": [{"rows": [{"variable": "site"}]}],
}


class Gateway:
    """Answers every request with one answer and keeps what was asked."""

    def __init__(self, status: int = 200, content: Any = None, **response: Any) -> None:
        self.requests: list[httpx.Request] = []
        self._answer = lambda: httpx.Response(status, **(response or {"json": content}))

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._answer()

    @property
    def body(self) -> Any:
        return json.loads(self.requests[-1].content)


def client_of(handler: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client("http://gateway", KEY, transport=httpx.MockTransport(handler))


def test_a_table_is_asked_for_as_people_write_it() -> None:
    gateway = Gateway(201, REFUSED)
    client_of(gateway).table(
        "randhie",
        rows="site",
        columns=["age:ten_years", {"variable": "plan", "level": "kind"}],
        figures=["units", "weighted-mean:meddol"],
        filter={"female": "1", "age:broad": ["0-17", "_U"], "year": [1, 2]},
        project="demo",
    )
    request = gateway.requests[0]
    assert (request.method, request.url.path) == ("POST", "/v1/datasets/randhie/tables")
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert gateway.body == {
        "rows": [{"variable": "site"}],
        "columns": [
            {"variable": "age", "level": "ten_years"},
            {"variable": "plan", "level": "kind"},
        ],
        "layers": [],
        "margins": True,
        "figures": [{"statistic": "UNITS"}, {"statistic": "WEIGHTED_MEAN", "measure": "meddol"}],
        "filter": [
            {"variable": "female", "codes": ["1"]},
            {"variable": "age", "level": "broad", "codes": ["0-17", "_U"]},
            {"variable": "year", "codes": ["1", "2"]},
        ],
        "project": "demo",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": ["age:"]},
        {"rows": [3]},
        {"columns": [""]},
        {"figures": ["median:meddol"]},
        {"filter": {"age": [True]}},
        {"filter": {"": ["1"]}},
    ],
)
def test_what_cannot_be_read_is_not_sent(wrong: dict[str, Any]) -> None:
    gateway = Gateway(201, REFUSED)
    with pytest.raises(ValueError, match=r".+"):
        client_of(gateway).table("randhie", **wrong)
    assert gateway.requests == []


def test_a_refusal_is_an_answer_and_says_what_to_ask_instead() -> None:
    answer = client_of(Gateway(201, REFUSED)).table("randhie", rows=["site"])
    assert (answer.verdict, answer.released, answer.table) == ("REFUSED", False, None)
    assert answer.reasons[0].suggestion == "Drop year."
    with pytest.raises(ValueError, match=r"REFUSED and has no table. Too many."):
        answer.to_pandas()


def test_a_query_asked_before_gets_the_same_answer_and_says_so() -> None:
    assert client_of(Gateway(200, REFUSED)).table("randhie", rows="site").repeated
    assert not client_of(Gateway(201, REFUSED)).table("randhie", rows="site").repeated


def test_a_query_read_back_knows_what_was_asked() -> None:
    gateway = Gateway(
        200, {"request": {"rows": [{"variable": "site"}]}, "decision": REFUSED, "checker": {"note": "n"}}
    )
    answer = client_of(gateway).query("q-01")
    assert gateway.requests[0].url.path == "/v1/queries/q-01"
    assert answer.request == {"rows": [{"variable": "site"}]}
    assert answer.checker == {"note": "n"}


def test_datasets_queries_status_registration_and_review_have_their_addresses() -> None:
    gateway = Gateway(
        200, {"datasets": [{"name": "a"}], "queries": [{"query": "q"}], "ready": True, **REFUSED}
    )
    client = client_of(gateway)
    assert client.datasets() == [{"name": "a"}]
    assert client.queries(["REFERRED", "REFUSED"], page_size=5) == [{"query": "q"}]
    assert gateway.requests[-1].url.query == b"verdicts=REFERRED&verdicts=REFUSED&page_size=5"
    assert client.status()["ready"] is True
    client.register({"name": "a"})
    assert gateway.body == {"descriptor": {"name": "a"}}
    client.review("q-01", True, "seen")
    assert gateway.requests[-1].url.path == "/v1/queries/q-01:review"
    assert gateway.body == {"approve": True, "note": "seen"}
    client.comment("q-01", "why so fine?")
    assert gateway.requests[-1].url.path == "/v1/queries/q-01:comment"
    assert gateway.body == {"text": "why so fine?"}


def test_a_policy_is_asked_for_by_dataset_or_by_query() -> None:
    gateway = Gateway(200, {"policy": {"name": "israel-cbs"}, "settings": []})
    client = client_of(gateway)
    assert client.policy(dataset="our data")["policy"] == {"name": "israel-cbs"}
    client.policy(query="q-1")
    assert [request.url.raw_path.decode() for request in gateway.requests] == [
        "/v1/datasets/our%20data/policy",
        "/v1/queries/q-1/policy",
    ]
    for wrong in ({}, {"dataset": "a", "query": "q"}):
        with pytest.raises(ValueError, match="a dataset or a query"):
            client.policy(**wrong)


def test_a_budget_is_asked_for_with_what_is_named_only() -> None:
    gateway = Gateway(200, {"budgets": [{"holder": "researcher", "queries": {"left": 3}}]})
    assert client_of(gateway).budget(dataset="a b", researcher="ada")[0]["queries"] == {"left": 3}
    client_of(gateway).budget()
    addresses = [request.url.raw_path.decode() for request in gateway.requests]
    assert addresses == ["/v1/budget?dataset=a+b&researcher=ada", "/v1/budget"]
    assert client_of(Gateway(200, {})).budget() == []


def test_one_dataset_may_come_wrapped_or_bare() -> None:
    assert client_of(Gateway(200, {"dataset": {"name": "a"}})).dataset("a") == {"name": "a"}
    assert client_of(Gateway(200, {"name": "a"})).dataset("a") == {"name": "a"}


def test_a_name_cannot_become_another_path() -> None:
    gateway = Gateway(200, {})
    client_of(gateway).dataset("a/../../v1/status?x=1")
    assert gateway.requests[0].url.raw_path == b"/v1/datasets/a%2F..%2F..%2Fv1%2Fstatus%3Fx%3D1"
    for name in ("", ".", ".."):
        with pytest.raises(ValueError, match="not a name"):
            client_of(gateway).dataset(name)


PROBLEM = {
    "title": "The request is not valid",
    "detail": "two fields",
    "errors": [
        {"path": "rows[0].variable", "message": "is unknown"},
        {"field": "figures[1]", "description": "needs a measure"},
    ],
}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequest),
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (422, InvalidRequest),
        (500, ApiError),
        (503, Unavailable),
        (504, Unavailable),
    ],
)
def test_each_error_is_its_own_exception_with_all_fields(status: int, kind: type[ApiError]) -> None:
    with pytest.raises(kind) as caught:
        client_of(Gateway(status, PROBLEM)).status()
    assert caught.type is kind
    assert caught.value.status == status
    assert caught.value.errors == (("rows[0].variable", "is unknown"), ("figures[1]", "needs a measure"))
    assert "  rows[0].variable: is unknown\n  figures[1]: needs a measure" in str(caught.value)


def test_a_detail_that_repeats_the_fields_is_not_told_twice() -> None:
    errors = [{"path": "rows[0].variable", "message": "is unknown"}]
    problem = {"title": "Not valid", "detail": "rows[0].variable: is unknown", "errors": errors}
    with pytest.raises(InvalidRequest) as caught:
        client_of(Gateway(400, problem)).status()
    assert str(caught.value) == "Not valid (400)\n  rows[0].variable: is unknown"


def test_an_error_without_a_problem_document_is_still_an_error() -> None:
    with pytest.raises(Unavailable, match="Service Unavailable"):
        client_of(Gateway(503, text="<html>")).status()


def test_a_query_that_failed_is_not_sent_again() -> None:
    gateway = Gateway(503, PROBLEM)
    with pytest.raises(Unavailable):
        client_of(gateway).table("randhie", rows="site")
    assert len(gateway.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Gateway(200, text="hello"),
        Gateway(200, []),
        Gateway(200, {"verdict": "RELEASED"}),
        Gateway(200, {"query": "q", "verdict": "RELEASED"}),
        Gateway(302, {"query": "q", "verdict": "REFUSED"}),
    ],
)
def test_what_is_no_answer_of_sdcgate_is_not_taken_for_one(answer: Gateway) -> None:
    with pytest.raises(UnexpectedAnswer):
        client_of(answer).table("randhie", rows="site")


@pytest.mark.parametrize("failure", [httpx.ConnectError("refused"), httpx.ReadTimeout("slow")])
def test_no_answer_says_whom_it_did_not_reach_and_no_key(failure: httpx.HTTPError) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise failure

    with pytest.raises(Unreachable, match="http://gateway") as caught:
        client_of(fail).status()
    assert KEY not in str(caught.value)
    assert KEY not in repr(client_of(fail))


@pytest.mark.parametrize(("wrong", "rows"), [([2], "2"), ([0, 3], "0, 3"), (range(6), "0, 1, 2, 3, 4, ...")])
def test_missing_and_infinite_values_of_a_frame_are_named_by_column_and_row(
    wrong: list[int], rows: str
) -> None:
    frame = pd.DataFrame({"site": list("abcdef"), "n": [float(one) for one in range(6)]})
    for value in (float("nan"), float("inf"), None):
        frame.loc[list(wrong), "n"] = value
        with pytest.raises(ValueError, match=rf"column 'n' has missing or infinite values, in rows {rows} "):
            own_table(frame, ["site"], {"units": "n"})
