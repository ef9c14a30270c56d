from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry

from sdcgate.ledger.standing import Referred, standing
from sdcgate.servers.facility_metrics import LedgerMetrics

FIRST = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


def test_an_empty_ledger_stands_at_nothing(ledger):
    found = standing(ledger)
    assert (found.events, found.newest, found.referred) == (0, None, ())


def test_what_waits_for_a_checker_is_counted_by_dataset_until_it_is_reviewed(
    open_ledger, make_decision, make_referral, make_review
):
    moments = iter(FIRST + timedelta(minutes=number) for number in range(10))
    ledger = open_ledger(clock=lambda: next(moments))
    ledger.append_decision(make_referral(query_id="q-one"), None)
    ledger.append_decision(make_decision(), 0)
    ledger.append_decision(make_referral(query_id="q-two"), None)
    ledger.append_decision(make_referral(query_id="q-three", dataset="census"), None)
    found = standing(ledger)
    assert (found.events, found.newest) == (4, FIRST + timedelta(minutes=3))
    assert found.referred == (
        Referred("census", 1, FIRST + timedelta(minutes=3)),
        Referred("survey", 2, FIRST),
    )
    ledger.append_review(make_review("q-one"), 2)
    ledger.append_review(make_review("q-three"), 5)
    assert standing(ledger).referred == (Referred("survey", 1, FIRST + timedelta(minutes=2)),)


def test_metrics_show_how_long_the_oldest_has_waited_and_forget_a_dataset_that_waits_no_more(
    open_ledger, make_referral, make_review
):
    registry = CollectorRegistry()
    metrics, seen = LedgerMetrics(registry), registry.get_sample_value
    moments = iter(FIRST + timedelta(minutes=number) for number in range(10))
    ledger = open_ledger(clock=lambda: next(moments))
    ledger.append_decision(make_referral(query_id="q-one"), None)
    metrics.stands(standing(ledger), FIRST.timestamp() + 90)
    survey = {"dataset": "survey"}
    assert seen("sdcgate_referred_queries", survey) == 1
    assert seen("sdcgate_referred_oldest_seconds", survey) == 90
    ledger.append_review(make_review("q-one"), 0)
    metrics.stands(standing(ledger), FIRST.timestamp() + 120)
    assert seen("sdcgate_referred_queries", survey) is None
    assert seen("sdcgate_ledger_events") == 2
    metrics.unreachable()
    assert (seen("sdcgate_ledger_reachable"), seen("sdcgate_ledger_events")) == (0, 2)


def test_events_of_all_kinds_are_read_in_order_and_in_parts(history):
    found = history.events_after(0, 100)
    assert [event.sequence for event in found] == list(range(1, history.head().sequence + 1))
    assert [event.body["kind"] for event in found][:4] == ["approval", "registration", "decision", "decision"]
    assert [event.answer for event in found[:3]] == [None, None, b"the answer 1"]
    assert found[-1].hash.hex() == history.head().hash
    assert [event.sequence for event in history.events_after(7, 2)] == [8, 9]
    assert history.events_after(history.head().sequence, 5) == []
