"""All that must hold of a house after any number of faults while clients asked."""

from collections import Counter

from certified import canonical, is_certified
from clients_under_load import NOT_NOW, Clients
from sdcgate.ledger.ledger import Ledger
from served_house import ServedHouse
from truthful_house import TruthfulHouses, replayed


def whole(house: ServedHouse, clients: Clients, truthful: TruthfulHouses) -> dict[str, int]:
    """Assert it, and count what was looked at.

    Every answer is an event and certified as such; everything in the ledger is as it was signed; the same
    query has one answer; and a truthful house that is asked all of it in its order decides the same.
    """
    _errors_are_problems(clients)
    public_key = house.send("GET", "/v1/status").json()["public_key"]
    answers = list(clients.answers())
    assert all(is_certified(decision, public_key) for _, decision in answers)
    with house.ledger() as ledger:
        for _, decision in answers:
            _is_event(decision, ledger)
        report = ledger.verify()
        assert report.faults == ()
        assert report.heads_behind == 0
        recorded = {
            summary.query_id
            for summary in ledger.queries(None, (), 10**6)
            if summary.dataset in clients.questions.datasets
        }
        truthful.register_randhie(*clients.questions.datasets)
        replays, differences = replayed(ledger, truthful.new(), clients.questions.datasets)
    heads = (house.settings.state_dir / "heads" / "heads.jsonl").read_bytes()
    assert heads.count(b"\n") == report.events
    assert differences == [], "\n".join(differences)
    assert [meaning for meaning, contents in clients.by_meaning().items() if len(contents) > 1] == []
    given = {decision["query"] for _, decision in answers}
    at_once = {decision["query"] for asked, decision in answers if asked.status != 200}
    assert given <= recorded
    return {
        "answers": len(answers),
        "events": report.events,
        "replayed and equal": replays,
        "answers lost and fetched later": len(given - at_once),
        "events nobody fetched": len(recorded - given),
        "problems 503 or 504": sum(asked.status in (503, 504) for asked in clients.asked),
        "broken connections": sum(bool(asked.error) for asked in clients.asked),
    }


def _errors_are_problems(clients: Clients) -> None:
    statuses = Counter(asked.status for asked in clients.asked if not asked.error)
    assert set(statuses) <= {200, 201, 202, *NOT_NOW}, statuses
    for asked in clients.asked:
        if asked.response is not None and asked.status in NOT_NOW:
            assert asked.response.headers["content-type"] == "application/problem+json"
            assert asked.response.headers["retry-after"]
            assert "verdict" not in asked.response.json()


def _is_event(decision: dict, ledger: Ledger) -> None:
    """What was given is what was recorded."""
    stored = ledger.query(decision["query"])
    assert stored is not None, "an answer without its event"
    bare = {name: value for name, value in decision.items() if name != "certificate"}
    assert stored.answer == canonical(bare)
    assert stored.certificate.signature == decision["certificate"]["signature"]
    assert stored.certificate.sequence == decision["certificate"]["sequence"]
