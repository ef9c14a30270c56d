import base64
import hashlib
import hmac
import json
import os
import threading
import time

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from receivers import Receiver, running_receiver
from sdcgate.ledger.credentials import Credentials
from sdcgate.ledger.events import ReviewEvent
from sdcgate.ledger.records import StoredEvent
from sdcgate.servers.decision_log.cursor import Cursor, Place
from sdcgate.servers.decision_log.entries import entry_of, pseudonyms
from sdcgate.servers.decision_log.sinks import FileSink, NotDelivered
from sdcgate.servers.settings import Settings
from told_ledger import FAILURES, SECRET_FIGURE, ToldLedger


@pytest.fixture
def place(tmp_path):
    made = ToldLedger(tmp_path)
    yield made
    made.stop()
    made.ledger.close()


@pytest.fixture
def receiver():
    with running_receiver() as running:
        yield running


def webhook(receiver: Receiver, **more):
    return {"webhook": {"url": f"{receiver.url}/decisions", "timeout_seconds": 5, **more}}


def until(reached, seconds=60.0):
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


def arrived(receiver, sequence):
    receiver.wait_until(lambda: sequence in receiver.sequences)


def test_what_was_recorded_before_and_after_the_start_comes_in_order_and_once(place, receiver):
    first = [place.decide() for _ in range(5)]
    place.start(**webhook(receiver))
    arrived(receiver, first[-1])
    later = [place.decide() for _ in range(4)]
    arrived(receiver, later[-1])
    assert receiver.sequences == [*first, *later]
    assert {path for path, _, _ in receiver.taken} == {"/decisions"}


def test_a_receiver_that_is_down_is_told_all_of_it_when_it_is_back(place, receiver):
    before = place.decide()
    place.start(**webhook(receiver))
    arrived(receiver, before)
    receiver.stop()
    missed = [place.decide() for _ in range(7)]
    until(lambda: place.metric(FAILURES, sink="webhook"))
    receiver.start()
    arrived(receiver, missed[-1])
    assert receiver.sequences == [before, *missed]


def test_what_is_answered_with_an_error_is_sent_again_in_the_same_order(place, receiver):
    receiver.answers = lambda number: 200 if number % 3 == 0 else (500, 429, 404, 302)[number % 4]
    told = [place.decide() for _ in range(8)]
    place.start(**webhook(receiver))
    arrived(receiver, told[-1])
    assert receiver.sequences == told
    assert receiver.refused == 6
    assert place.metric(FAILURES, sink="webhook") == 6


def test_answers_are_recorded_while_the_receiver_holds_a_delivery(place, receiver):
    held, free = threading.Event(), threading.Event()

    def hold():
        held.set()
        assert free.wait(30)

    receiver.before = hold
    first = place.decide()
    place.start(**webhook(receiver, timeout_seconds=60))
    assert held.wait(30)
    # The receiver has the request and says nothing; it will not before all of these are recorded.
    others = [place.decide() for _ in range(20)]
    assert receiver.taken == []
    assert place.ledger.head().sequence == others[-1]
    free.set()
    arrived(receiver, others[-1])
    assert receiver.sequences == [first, *others]


def test_a_receiver_that_is_slower_than_its_time_out_gets_the_same_events_again(place, receiver):
    release, slow = threading.Event(), iter([True])
    receiver.before = lambda: release.wait(30) if next(slow, False) else None
    told = place.decide()
    place.start(**webhook(receiver, timeout_seconds=0.2))
    arrived(receiver, told)
    release.set()
    receiver.wait_until(lambda: len(receiver.taken) == 2)
    assert receiver.sequences == [told, told]
    assert len({event["hash"] for event in receiver.events}) == 1


def test_after_a_restart_it_goes_on_where_it_was(place, receiver):
    told = [place.decide() for _ in range(4)]
    place.start(**webhook(receiver))
    arrived(receiver, told[-1])
    until(lambda: place.metric("sdcgate_decision_log_delivered_sequence", sink="webhook") == told[-1])
    place.stop()
    later = [place.decide() for _ in range(4)]
    place.start(**webhook(receiver))
    arrived(receiver, later[-1])
    assert receiver.sequences == [*told, *later]


def test_what_waited_for_a_receiver_when_the_facility_ended_is_told_after_its_next_start(place, receiver):
    receiver.stop()
    told = [place.decide() for _ in range(5)]
    place.start(**webhook(receiver))
    until(lambda: place.metric(FAILURES, sink="webhook"))
    place.stop()
    receiver.start()
    place.start(**webhook(receiver))
    arrived(receiver, told[-1])
    assert receiver.sequences == told


def test_an_event_that_was_taken_but_not_noted_comes_again_with_the_same_hash(place, receiver, monkeypatch):
    told = place.decide()
    monkeypatch.setattr(Cursor, "write", lambda self, at: (_ for _ in ()).throw(OSError("disk full")))
    place.start(**webhook(receiver))
    receiver.wait_until(lambda: len(receiver.taken) >= 2)
    monkeypatch.undo()
    assert set(receiver.sequences) == {told}
    assert len({event["hash"] for event in receiver.events}) == 1


def test_of_two_processes_one_tells_and_the_other_takes_over(place, receiver):
    place.start(**webhook(receiver))
    told = place.decide()
    arrived(receiver, told)
    other = ToldLedger.__new__(ToldLedger)
    other.__dict__.update(place.__dict__, ledger=place.opened(), following=[])
    other.start(**webhook(receiver))
    more = [place.decide() for _ in range(5)]
    arrived(receiver, more[-1])
    assert receiver.sequences == [told, *more]
    place.stop()
    last = place.decide()
    arrived(receiver, last)
    assert receiver.sequences == [told, *more, last]
    other.stop()
    other.ledger.close()


def test_a_ledger_that_is_not_the_one_that_was_told_is_told_from_its_beginning(place, receiver):
    told = [place.decide() for _ in range(3)]
    place.follow(**webhook(receiver))
    Cursor(place.folder / "state" / "decision-log" / "webhook.json").write(Place(2, "00" * 32))
    place.start(**webhook(receiver))
    arrived(receiver, told[-1])
    assert receiver.sequences == told


def test_an_event_that_is_not_what_was_signed_is_not_told_and_none_after_it(place, receiver):
    first = place.decide()
    place.decide()
    with place.ledger._engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER events_no_update")
        connection.exec_driver_sql(
            "UPDATE events SET body = replace(body, 'REFUSED', 'RELEASD') WHERE sequence = 2"
        )
    place.start(**webhook(receiver), batch_events=1)
    until(lambda: place.metric(FAILURES, sink="webhook"))
    assert [sequence for sequence in receiver.sequences if sequence != first] == []


def test_an_entry_says_the_verdict_and_nothing_that_was_asked_or_answered(place):
    place.decide(researcher="Anna Amsel")
    (event,) = place.ledger.events_after(0, 10)
    entry = entry_of(event, lambda person: f"<{len(person)}>")
    assert entry == {
        "sequence": 1,
        "hash": event.hash.hex(),
        "kind": "decision",
        "recorded_at": event.body["recorded_at"],
        "query": "q-1",
        "dataset": "survey",
        "version": 1,
        "verdict": "REFUSED",
        "policy": {"name": "israel-cbs", "hash": "sha256:12"},
        "reasons": ["MINIMUM_UNITS"],
        "researcher": "<10>",
    }


def test_reviews_keys_and_policies_are_told_without_notes_and_labels(place):
    query = place.decide(verdict="REFERRED", query_id="q-referred")
    place.ledger.append_review(
        ReviewEvent(
            query_id="q-referred",
            source="households",
            reviewer="Carla",
            approve=False,
            note="what only checkers read",
            verdict="REFUSED",
            answer=b'{"reasons":[{"code":"REVIEW"}]}',
            confidential=b"true cells",
            author="key-of-carla",
        ),
        None,
    )
    Credentials(place.ledger).create("researcher", "Dora", "label of a laptop", 1)
    told = [entry_of(event, lambda person: "somebody") for event in place.ledger.events_after(query, 10)]
    assert [entry["kind"] for entry in told] == ["review", "key_created"]
    assert told[0]["verdict"] == "REFUSED"
    assert told[0]["reasons"] == ["REVIEW"]
    assert told[1]["role"] == "researcher"
    text = json.dumps(told)
    for hidden in ("what only checkers read", "Carla", "Dora", "label of a laptop", "true cells"):
        assert hidden not in text


def test_comments_and_admissions_are_told_without_what_was_written():
    dates = {"valid_from": "2026-12-01", "valid_until": "2027-11-30"}
    bodies = [
        {"kind": "comment", "query": "q-1", "reviewer": "grace", "text": SECRET_FIGURE, "author": "key"},
        {"kind": "opening", "query": "q-1", "reviewer": "grace", "author": "key"},
        {"kind": "admission_requested", "admission": "a-1", "datasets": ["survey"], **dates}
        | {"project": SECRET_FIGURE, "label": SECRET_FIGURE, "researchers": ["ada"], "requested_by": "ada"},
        {"kind": "admission_reviewed", "admission": "a-1", "approve": True, **dates}
        | {"reviewer": "stefan", "note": SECRET_FIGURE},
        {"kind": "admission_withdrawn", "admission": "a-1", "by": "ada", "note": SECRET_FIGURE},
    ]
    moment = {"recorded_at": "2026-11-22T09:00:00Z"}
    told = [entry_of(StoredEvent(1, b"h", body | moment, None), str) for body in bodies]
    of_all = {"sequence", "hash", "kind", "recorded_at"}
    assert [{name: one[name] for name in one if name not in of_all} for one in told] == [
        {"query": "q-1", "reviewer": "grace"},
        {"query": "q-1", "reviewer": "grace"},
        {"admission": "a-1", "datasets": ["survey"], **dates, "requested_by": "ada"},
        {"admission": "a-1", "approve": True, **dates, "reviewer": "stefan"},
        {"admission": "a-1", "by": "ada"},
    ]


def test_of_a_kind_that_nobody_foresaw_only_its_place_is_told():
    body = {"kind": "novelty", "recorded_at": "then", "dataset": SECRET_FIGURE, "researcher": SECRET_FIGURE}
    told = entry_of(StoredEvent(7, b"\1\2", body, b"{}"), str)
    assert told == {"sequence": 7, "hash": "0102", "kind": "novelty", "recorded_at": "then"}


@pytest.mark.parametrize(("how", "shown"), [("NAME", "Anna Amsel"), ("PSEUDONYM", "p-"), ("NONE", None)])
def test_researchers_are_named_as_the_settings_say(place, tmp_path, how, shown):
    place.decide()
    place.follow(file=tmp_path / "log.jsonl", researchers=how)[0].step()
    entry = json.loads((tmp_path / "log.jsonl").read_text())
    if shown is None:
        assert "researcher" not in entry
    else:
        assert entry["researcher"].startswith(shown)
    assert ("Anna" in json.dumps(entry)) == (how == "NAME")


def test_a_pseudonym_is_the_same_for_the_same_person_and_secret_only():
    one, other = pseudonyms(b"a" * 32), pseudonyms(b"b" * 32)
    assert one("Anna") == one("Anna")
    assert len({one("Anna"), one("Anne"), other("Anna")}) == 3


def test_a_delivery_is_signed_as_standard_webhooks_says(place, receiver, tmp_path):
    secret = tmp_path / "webhook.secret"
    secret.write_text("whsec_" + base64.b64encode(b"k" * 24).decode() + "\n")
    token = tmp_path / "token"
    token.write_text("of the portal\n")
    told = place.decide()
    place.start(**webhook(receiver, secret_file=secret, token_file=token))
    arrived(receiver, told)
    _, headers, body = receiver.taken[0]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.digest(b"k" * 24, signed, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["authorization"] == "Bearer of the portal"


def test_the_example_of_the_standard_has_the_signature_of_the_standard(tmp_path):
    from sdcgate.servers.decision_log.webhook import secret_of, signature

    secret = tmp_path / "secret"
    secret.write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = {"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330"}
    found = signature(secret_of(secret), headers, b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_that_is_none_keeps_the_facility_from_starting(place, tmp_path):
    (tmp_path / "secret").write_text("hunter2")
    with pytest.raises(ValueError, match="must hold whsec_") as told:
        place.follow(**{"webhook": {"url": "http://127.0.0.1:1/", "secret_file": tmp_path / "secret"}})
    assert "hunter2" not in str(told.value)


def test_a_collector_is_sent_log_records_of_the_opentelemetry_protocol(place, receiver):
    told = [place.decide(), place.decide()]
    place.start(otlp={"url": receiver.url})
    receiver.wait_until(lambda: len(receiver.taken) == 1)
    path, headers, body = receiver.taken[0]
    request = json_format.Parse(body, ExportLogsServiceRequest())
    records = request.resource_logs[0].scope_logs[0].log_records
    attributes = [{a.key: a.value for a in record.attributes} for record in records]
    assert (path, headers["content-type"]) == ("/v1/logs", "application/json")
    assert [found["sdcgate.sequence"].int_value for found in attributes] == told
    assert attributes[0]["sdcgate.verdict"].string_value == "REFUSED"
    assert json.loads(records[0].body.string_value)["hash"] == attributes[0]["sdcgate.hash"].string_value
    recorded = place.ledger.events_after(0, 1)[0].body["recorded_at"]
    assert f"{records[0].time_unix_nano}"[-9:-3] == recorded[-7:-1]


def test_a_collector_that_took_a_part_is_sent_all_of_it_again(place, receiver):
    partly = json.dumps({"partialSuccess": {"rejectedLogRecords": "1"}}).encode()
    receiver.answers = lambda number: (200, partly) if number == 1 else (200, b"{}")
    place.decide()
    place.start(otlp={"url": receiver.url})
    receiver.wait_until(lambda: len(receiver.taken) == 2)
    assert receiver.taken[0][2] == receiver.taken[1][2]


def test_a_file_gets_a_line_an_event_and_may_be_renamed_in_between(place, tmp_path):
    file = tmp_path / "log" / "decisions.jsonl"
    file.parent.mkdir()
    (follower,) = place.follow(file=file, batch_events=100)
    first = [place.decide() for _ in range(3)]
    assert follower.step()
    file.rename(file.with_suffix(".1"))
    last = place.decide()
    assert follower.step()
    assert not follower.step()
    lines = [json.loads(line) for path in (file.with_suffix(".1"), file) for line in path.open()]
    assert [line["sequence"] for line in lines] == [*first, last]
    assert oct(file.stat().st_mode & 0o777) == "0o600"


@given(st.integers(0, 60), st.integers(1, 60))
def test_whatever_a_crash_left_of_a_line_whole_lines_follow_whole_lines(tmp_path_factory, kept, cut):
    file = tmp_path_factory.mktemp("log") / "log"
    file.write_bytes(b'{"sequence":1}\n' * kept + b'{"sequence":1'[:cut])
    FileSink(file).deliver([{"sequence": 2}])
    assert file.read_bytes() == b'{"sequence":1}\n' * kept + b'{"sequence":2}\n'


def test_where_the_disk_is_full_nothing_of_a_batch_stays(tmp_path, monkeypatch):
    file = tmp_path / "log"
    sink, real, written = FileSink(file), os.write, []
    sink.deliver([{"sequence": 1}])

    def full(descriptor, content):
        if written:
            raise OSError(28, "No space left on device")
        written.append(real(descriptor, content[:5]))
        return 5

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(NotDelivered, match="No space left"):
        sink.deliver([{"sequence": 2}])
    monkeypatch.undo()
    assert file.read_bytes() == b'{"sequence":1}\n'


def test_standard_output_gets_lines(place, capfd):
    told = place.decide()
    place.follow(stdout=True)[0].step()
    assert json.loads(capfd.readouterr().out)["sequence"] == told


def test_a_url_with_a_secret_in_it_is_in_no_repr_and_no_message():
    url = "http://siem.example/hooks/T0PS3CRET"
    settings = Settings(decision_log={"webhook": {"url": url, "plaintext": True}})
    assert "T0PS3CRET" not in repr(settings)
    with pytest.raises(ValueError, match="beyond the loopback") as told:
        Settings(decision_log={"webhook": {"url": url}})
    assert "T0PS3CRET" not in str(told.value)


def test_an_event_hides_its_content_from_reprs():
    assert SECRET_FIGURE not in repr(StoredEvent(1, b"h", {"note": SECRET_FIGURE}, SECRET_FIGURE.encode()))
