import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from sdcgate.ledger.events import canonical_hash
from sdcgate.ledger.heads import HeadsFile
from sdcgate.ledger.ledger import LedgerDamaged, LedgerError, LedgerTruncated, LedgerUnavailable
from sdcgate.ledger.schema import APPEND_ONLY
from sdcgate.ledger.signing import KeyRing, KeyRingError


def cut(ledger, tampering, kept):
    with tampering(ledger) as connection:
        for table in APPEND_ONLY:
            connection.execute(delete(table).where(table.c.sequence > kept))


def sequences(path):
    return [json.loads(line)["sequence"] for line in path.read_text().splitlines()]


def test_every_head_is_in_the_second_place_before_an_append_returns(ledger, make_decision, heads_path):
    for number in range(3):
        recorded = ledger.append_decision(make_decision(), number)
        assert json.loads(heads_path.read_text().splitlines()[-1])["hash"] == recorded.head_hash
    assert sequences(heads_path) == [1, 2, 3]
    assert heads_path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_heads_that_a_crash_kept_back_are_added_at_the_next_start(
    open_ledger, make_decision, heads_path, lost
):
    ledger = open_ledger()
    for number in range(3):
        ledger.append_decision(make_decision(), number)
    whole = heads_path.read_bytes()
    heads_path.write_bytes(b"".join(whole.splitlines(keepends=True)[: 3 - lost]))
    report = ledger.verify()
    assert (report.ok, report.heads_behind) == (True, lost)
    open_ledger()
    assert heads_path.read_bytes() == whole


@pytest.mark.parametrize("size", [1, 40, 200])
def test_a_line_that_a_crash_tore_is_written_anew(open_ledger, make_decision, heads_path, size):
    ledger = open_ledger()
    ledger.append_decision(make_decision(), 0)
    ledger.append_decision(make_decision(), 1)
    whole = heads_path.read_bytes()
    first = whole.index(b"\n") + 1
    heads_path.write_bytes(whole[: first + size])
    assert ledger.verify().ok
    open_ledger()
    assert heads_path.read_bytes() == whole


def test_no_answer_goes_out_while_its_head_cannot_be_written(ledger, make_decision, heads_path, monkeypatch):
    decision = make_decision()
    with monkeypatch.context() as patched:
        patched.setattr(HeadsFile, "_write", full_disk)
        with pytest.raises(LedgerUnavailable, match="No space left"):
            ledger.append_decision(decision, 0)
        with pytest.raises(LedgerUnavailable, match="No space left"):
            ledger.query(decision.query_id)
        with pytest.raises(LedgerUnavailable, match="No space left"):
            ledger.append_decision(make_decision(), 1)
    assert ledger.query(decision.query_id).answer == decision.answer
    assert sequences(heads_path) == [1]
    assert ledger.head().sequence == 1


def test_what_a_process_committed_and_died_over_is_told_by_another_only_with_its_head(
    open_ledger, make_decision, heads_path, monkeypatch
):
    died, lives, decision = open_ledger(), open_ledger(), make_decision()
    with monkeypatch.context() as patched:
        patched.setattr(HeadsFile, "_write", lambda *_: None)
        died.append_decision(decision, 0)
    assert not heads_path.exists() or sequences(heads_path) == []
    canonical = canonical_hash(decision.canonical)
    asked = [decision.source, 1, canonical, decision.policy_hash, decision.scope]
    with monkeypatch.context() as patched:
        patched.setattr(HeadsFile, "_write", full_disk)
        with pytest.raises(LedgerUnavailable, match="No space left"):
            lives.find_answer(*asked)
    assert lives.find_answer(*asked).answer == decision.answer
    assert sequences(heads_path) == [1]


def full_disk(*_):
    raise OSError(28, "No space left on device")


def test_a_truncated_ledger_opens_for_reading_and_refuses_to_append(
    open_ledger, history, make_decision, tampering
):
    cut(history, tampering, 4)
    opened = open_ledger()
    assert "head 11 was signed" in opened.refusal()
    assert opened.query("q-0001") is not None
    for ledger in (opened, history):
        with pytest.raises(LedgerTruncated, match="the database ends at 4"):
            ledger.append_decision(make_decision(), 3)
    assert opened.head().sequence == 4


def test_an_emptied_database_is_a_truncation(open_ledger, history, make_decision, tampering):
    cut(history, tampering, 0)
    with pytest.raises(LedgerTruncated):
        open_ledger().append_decision(make_decision(), 0)


def test_after_an_acknowledgement_the_loss_is_on_record_and_appending_works(
    open_ledger, history, make_decision, tampering, heads_path
):
    cut(history, tampering, 4)
    ledger = open_ledger()
    assert ledger.acknowledge_truncation("key of the operator", "restored from Monday's backup").sequence == 5
    assert ledger.refusal() is None
    ledger.append_decision(make_decision(), 3)
    assert sequences(heads_path) == [*range(1, 12), 5, 6]
    assert ledger.verify().ok
    assert open_ledger().refusal() is None


def test_a_loss_is_acknowledged_twice_if_the_first_time_was_interrupted(
    open_ledger, history, tampering, heads_path, monkeypatch
):
    cut(history, tampering, 4)
    ledger = open_ledger()
    with monkeypatch.context() as patched:
        patched.setattr(HeadsFile, "append", lambda *_: None)
        ledger.acknowledge_truncation("operator", "first try")
    assert ledger.refusal() is not None
    ledger.acknowledge_truncation("operator", "second try")
    assert sequences(heads_path)[11:] == [5, 6]
    assert ledger.verify().ok


def test_heads_that_go_back_without_an_acknowledgement_are_a_fault(
    history, make_decision, tampering, heads_path
):
    lost = heads_path.read_bytes()
    cut(history, tampering, 4)
    heads_path.write_bytes(b"".join(lost.splitlines(keepends=True)[:4]))
    history.append_decision(make_decision(), 3)
    heads_path.write_bytes(lost + heads_path.read_bytes().splitlines(keepends=True)[4])
    assert [(fault.sequence, fault.place) for fault in history.verify().faults] == [(5, "heads line 12")]


def test_another_history_of_the_same_length_is_refused(
    open_ledger, history, make_decision, tampering, heads_path
):
    signed = heads_path.read_bytes()
    cut(history, tampering, 10)
    heads_path.write_bytes(b"".join(signed.splitlines(keepends=True)[:10]))
    history.append_decision(make_decision(), 10)
    heads_path.write_bytes(signed)
    assert [(fault.sequence, fault.place) for fault in history.verify().faults] == [(11, "heads line 11")]
    ledger = open_ledger()
    with pytest.raises(LedgerTruncated, match="event 11 of the database is not the one"):
        ledger.append_decision(make_decision(), 11)
    ledger.acknowledge_truncation("operator", "a fork")
    assert sequences(heads_path)[11:] == [11, 12]
    assert ledger.verify().ok


def test_there_is_nothing_to_acknowledge_where_nothing_is_lost(ledger):
    with pytest.raises(LedgerError, match="nothing to acknowledge"):
        ledger.acknowledge_truncation("operator", "just in case")


def test_a_head_that_a_stranger_signed_stops_the_ledger(ledger, make_decision, heads_path, tmp_path):
    ledger.append_decision(make_decision(), 0)
    stranger = HeadsFile(heads_path, KeyRing.open(tmp_path / "stranger"))
    from sdcgate.ledger.chain import sign_head

    stranger.append([sign_head(KeyRing.open(tmp_path / "stranger"), 2, bytes(32))])
    with pytest.raises(LedgerDamaged, match="last line"):
        ledger.append_decision(make_decision(), 1)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_altered_deleted_or_swapped_line_before_the_last_is_found(history, heads_path, data):
    lines = history._heads.path.read_bytes().splitlines(keepends=True)
    place = data.draw(st.integers(0, 8))
    match data.draw(st.sampled_from(["alter", "delete", "swap", "repeat"])):
        case "alter":
            at = data.draw(st.integers(0, len(lines[place]) - 2))
            bit = data.draw(st.integers(0, 7))
            line = bytearray(lines[place])
            line[at] ^= 1 << bit
            changed = [*lines[:place], bytes(line), *lines[place + 1 :]]
        case "delete":
            changed = [*lines[:place], *lines[place + 1 :]]
        case "swap":
            changed = [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]
        case _:
            changed = [*lines[: place + 1], *lines[place:]]
    try:
        heads_path.write_bytes(b"".join(changed))
        report = history.verify()
    finally:
        heads_path.write_bytes(b"".join(lines))
    assert not report.ok
    assert report.faults[0].sequence == place + 1


def test_a_key_that_came_back_after_its_rotation_is_found(open_ledger, make_decision, key_ring, tmp_path):
    import shutil

    first = open_ledger()
    first.append_decision(make_decision(), 0)
    shutil.copytree(tmp_path / "keys", tmp_path / "stolen")
    key_ring.rotate()
    open_ledger().append_decision(make_decision(), 1)
    # `first` shares the ring that was rotated; the thief's signs with the old key.
    stolen = KeyRing.open(tmp_path / "stolen")
    assert stolen.key_id != key_ring.key_id
    from sdcgate.ledger.ledger import Ledger

    thief = Ledger(first._engine.url, stolen, tmp_path / "second place" / "heads.jsonl")
    with pytest.raises(KeyRingError, match="not in the key ring"):
        thief.append_decision(make_decision(), 2)
    for name in tmp_path.joinpath("keys").glob("*.pub"):
        shutil.copy(name, tmp_path / "stolen")
    thief = Ledger(first._engine.url, KeyRing.open(tmp_path / "stolen"), tmp_path / "other heads")
    with pytest.raises(KeyRingError, match="was replaced by"):
        thief.append_decision(make_decision(), 2)
    thief._appender._trust = lambda *_: None
    thief.append_decision(make_decision(), 2)
    thief.close()
    report = first.verify()
    assert [(fault.sequence, fault.place) for fault in report.faults] == [(3, "events.key_id")]


def test_a_ledger_does_not_open_with_another_ledgers_keys(ledger, url, make_decision, heads_path, tmp_path):
    from sdcgate.ledger.ledger import Ledger

    ledger.append_decision(make_decision(), 0)
    with pytest.raises(KeyRingError, match="not in the key ring"):
        Ledger.open(url, KeyRing.open(tmp_path / "other keys"), heads_path)
