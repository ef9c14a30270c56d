import json

import pytest

from load.figures import Ended, by_kind, figures, read, shares
from load.printed import overload


def ended(at=1.0, milliseconds=100.0, status=201, **changes):
    named = {"profile": "Eager", "caller": "ada", "name": "table", "retry_after": False}
    return Ended(**named | {"at": at, "milliseconds": milliseconds, "status": status} | changes)


def test_a_request_that_is_turned_away_is_no_answer_and_no_error():
    found = figures(
        "all", [ended(), ended(status=429, retry_after=True), ended(status=503), ended(status=0)], 2
    )
    assert (found.requests, found.turned_away, found.errors) == (4, 1, 2)
    assert (found.per_second, found.goodput) == (2.0, 0.5)
    assert found.without_retry_after == 0


def test_who_is_turned_away_without_being_told_when_to_come_again_is_counted():
    assert (
        figures("all", [ended(status=429), ended(status=429, retry_after=True)], 1).without_retry_after == 1
    )


def test_what_the_poller_has_already_is_an_answer():
    assert figures("all", [ended(status=304)], 1).goodput == 1.0


def test_what_ends_after_the_step_counts_for_latencies_and_for_no_rate():
    found = figures("all", [ended(at=1), ended(at=9, milliseconds=8000.0)], 5)
    assert (found.requests, found.goodput, found.p50) == (2, 0.2, 4050.0)


def test_latencies_are_those_of_answers():
    found = figures("all", [ended(milliseconds=float(n)) for n in range(101)] + [ended(status=429)] * 50, 1)
    assert (found.p50, found.p95, found.p99) == (50.0, 95.0, 99.0)
    assert figures("none", [ended(status=429)], 1).p50 is None


def test_times_are_counted_from_the_beginning_of_the_first_request(tmp_path):
    lines = [vars_of(ended(at=1002.0, milliseconds=500.0)), vars_of(ended(at=1001.0, milliseconds=1000.0))]
    (tmp_path / "ended.jsonl").write_text("".join(lines))
    assert [one.at for one in read(tmp_path / "ended.jsonl")] == [2.0, 1.0]


def vars_of(one):
    return json.dumps(vars(one)) + "\n"


def test_the_kind_that_is_asked_most_stands_first():
    kinds = by_kind([ended(name="status"), ended(), ended()], 1)
    assert [(kind.name, kind.requests) for kind in kinds] == [("Eager: table", 2), ("Eager: status", 1)]


def test_who_is_preferred_is_seen_in_the_shares():
    assert shares([ended(), ended(status=429), ended(caller="bob")]) == {"ada": 0.5, "bob": 1.0}


@pytest.mark.parametrize(("goodput", "said"), [(5.0, "0.50 of what is sustained"), (0.0, "0.00 of what")])
def test_goodput_under_overload_is_told_by_what_is_sustained(goodput, said):
    kind = {"name": "Eager: table", "per_second": 50.0, "goodput": 10.0, "without_retry_after": 0}
    steps = {"sustained": [kind], "overload": [kind | {"goodput": goodput}]}
    assert said in overload({"steps": steps, "answered_share_by_caller": {"ada": 0.1, "bob": 0.2}})
