"""Any single row deleted, altered, swapped or added is found, and the place is named."""

from datetime import UTC, date, datetime
from itertools import combinations
from random import Random

import pytest
from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from sdcgate.ledger import verification
from sdcgate.ledger.admissions import AdmissionRequest, Admissions
from sdcgate.ledger.approvals import Approvals
from sdcgate.ledger.chain import GENESIS, chain_hash
from sdcgate.ledger.holds import Holds, Subject
from sdcgate.ledger.removable import Content
from sdcgate.ledger.retention import apply, plan
from sdcgate.ledger.schema import APPEND_ONLY, PROJECTIONS, api_keys, blobs, events

TABLES = {table.name: table for table in APPEND_ONLY}


class Rolled(Exception):
    """Ends a transaction whose changes were only tried."""


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    # Ten events must not fit into one chunk, or its edges would not be tried.
    monkeypatch.setattr(verification, "CHUNK", 6)


@pytest.fixture
def history(history):
    """With what was withdrawn, released and taken back, and notes that were removed."""
    admissions = Admissions(history)
    who = {"author": "key of carla", "note": "seen"}
    days = {"valid_from": date(2026, 1, 1), "valid_until": date(2026, 12, 31)}
    admissions.request(
        AdmissionRequest(
            admission_id="a-1", researchers=("anna",), requested_by="portal", author="key", **days
        )
    )
    admissions.review("a-1", approve=True, reviewer="carla", **days, **who)
    admissions.withdraw("a-1", by="carla", **who)
    holds = Holds(history)
    holds.release(holds.add(Subject.QUERY, "q-0001", **who), **who)
    approvals = Approvals(history)
    approvals.take_back(approvals.last_of("q-0000"), "key of carla", "not so")
    planned = plan(history, {Content.NOTES: 0}, datetime.now(UTC))
    assert apply(history, planned, {Content.NOTES: 0}, **who) == [18]
    return history


@pytest.fixture
def attempt(history, tampering):
    """Tampers by statements, verifies, and takes everything back."""
    lines = history._heads.lines()

    def tried(*statements):
        try:
            with tampering(history) as connection:
                for statement in statements:
                    connection.execute(statement)
                report = verification.verify(connection, history.key_ring, lines)
                raise Rolled
        except Rolled:
            return report

    assert tried().ok
    return tried


def rows_of(ledger, table):
    with ledger.reading() as connection:
        return [dict(row) for row in connection.execute(select(table)).mappings()]


def key_of(table, row):
    return [column == row[column.name] for column in table.primary_key.columns]


def altered(value):
    if isinstance(value, int):
        return value + 1000
    if isinstance(value, str):
        return value + "x"
    return b"x" if not value else bytes([value[0] ^ 1]) + value[1:]


def assert_placed(report, table, sequence, what):
    assert not report.ok, what
    placed = [fault for fault in report.faults if fault.sequence == sequence]
    assert any(fault.place.split(".")[0].split(" ")[0] == table.name for fault in placed), (
        what,
        report.faults,
    )


def test_an_untouched_history_is_whole(history):
    report = history.verify()
    assert (report.ok, report.events, report.faults, report.heads_behind) == (True, 18, (), 0)


def test_every_table_has_rows_to_tamper_with(history):
    assert all(rows_of(history, table) for table in APPEND_ONLY)


def test_any_deleted_row_is_found_and_placed(history, attempt):
    for name, table in TABLES.items():
        for row in rows_of(history, table):
            report = attempt(delete(table).where(*key_of(table, row)))
            assert_placed(report, table, row["sequence"], f"{name} {row['sequence']}")
            assert {fault.sequence for fault in report.faults} == {row["sequence"]}


def test_any_altered_value_is_found_and_placed(history, attempt):
    for name, table in TABLES.items():
        for row in rows_of(history, table):
            for column, value in row.items():
                report = attempt(update(table).where(*key_of(table, row)).values({column: altered(value)}))
                assert_placed(report, table, row["sequence"], f"{name}.{column} {row['sequence']}")
                if column not in {"sequence", "position"}:
                    assert {fault.sequence for fault in report.faults} == {row["sequence"]}


def test_any_two_swapped_rows_are_found_and_placed(history, attempt):
    for name, table in TABLES.items():
        keys = [column.name for column in table.primary_key.columns]
        pairs = list(combinations(rows_of(history, table), 2))
        for first, second in Random(1).sample(pairs, min(len(pairs), 60)):
            report = attempt(
                delete(table).where(*key_of(table, first)),
                delete(table).where(*key_of(table, second)),
                insert(table).values({**first, **{key: second[key] for key in keys}}),
                insert(table).values({**second, **{key: first[key] for key in keys}}),
            )
            for row in (first, second):
                assert_placed(report, table, row["sequence"], f"{name} {row['sequence']}")


def test_swapped_events_are_called_so(history, attempt):
    first, second = rows_of(history, events)[3:5]
    report = attempt(
        delete(events).where(events.c.sequence.in_([4, 5])),
        insert(events).values({**first, "sequence": 5}),
        insert(events).values({**second, "sequence": 4}),
    )
    message = "another event stands in this one's place"
    assert [(fault.sequence, fault.message) for fault in report.faults] == [(4, message), (5, message)]


def test_attachments_swapped_within_an_event_are_found(history, attempt):
    rows = [row for row in rows_of(history, blobs) if row["sequence"] == 10]
    for first, second in combinations(rows, 2):
        report = attempt(
            update(blobs).where(*key_of(blobs, first)).values(data=second["data"]),
            update(blobs).where(*key_of(blobs, second)).values(data=first["data"]),
        )
        assert [fault.sequence for fault in report.faults] == [10, 10]
        assert all(fault.place.startswith("blobs.data (") for fault in report.faults)


def test_a_ledger_cut_short_everywhere_is_found_by_its_second_place(attempt):
    for kept in range(18):
        report = attempt(*[delete(table).where(table.c.sequence > kept) for table in APPEND_ONLY])
        which = "event 18 is" if kept == 17 else f"events {kept + 1} to 18 are"
        found = [(fault.sequence, fault.message) for fault in report.faults]
        # The event that removed two notes is lost, too: they are missing without it.
        notes = [(sequence, "missing from its place") for sequence in (1, 5, 11, 17) if sequence <= kept]
        assert found == sorted([*notes, (kept + 1, f"{which} missing")])


def test_a_row_that_no_event_made_is_found(history, attempt):
    for table in PROJECTIONS:
        forged = {**rows_of(history, table)[0], "sequence": 19}
        for unique in (
            "query_id",
            "key_id",
            "admission_id",
            "hold_id",
            "digest",
            "dataset",
            "canonical_hash",
            "policy_hash",
        ):
            if unique in forged:
                forged[unique] = b"forged" if unique == "digest" else "forged"
        change = insert(table).values(forged)
        report = attempt(change)
        assert [(fault.sequence, fault.place) for fault in report.faults] == [(19, table.name)]


def test_a_blob_that_no_event_holds_is_found(attempt):
    forged = insert(blobs).values(digest=b"digest", sequence=5, data=b"data")
    report = attempt(forged)
    assert [(fault.sequence, fault.place) for fault in report.faults] == [(5, "blobs")]


def test_an_event_added_without_the_key_is_found(history, attempt):
    row = rows_of(history, events)[0]
    last = rows_of(history, events)[17]
    body = row["body"].replace(b'"sequence":1}', b'"sequence":19}')
    assert body != row["body"]
    forged = {
        **row,
        "sequence": 19,
        "body": body,
        "previous": last["hash"],
        "hash": chain_hash(last["hash"], body),
    }
    report = attempt(insert(events).values(forged))
    assert (report.faults[0].sequence, report.faults[0].place) == (19, "events.signature")


def test_a_history_rewritten_from_some_event_on_without_the_key_is_found_there(history, attempt):
    rows = rows_of(history, events)

    previous, changes = GENESIS, []
    for row in rows:
        body = row["body"].replace(b'"RELEASED_PROTECTED"', b'"RELEASED"')
        hashed = chain_hash(previous, body)
        change = update(events).where(events.c.sequence == row["sequence"])
        changes.append(change.values(body=body, previous=previous, hash=hashed))
        previous = hashed
    report = attempt(*changes)
    assert (report.faults[0].sequence, report.faults[0].place) == (9, "events.signature")


def test_an_empty_certificate_is_found(attempt):
    change = update(events).where(events.c.sequence == 3).values(certificate=None)
    report = attempt(change)
    assert [(fault.sequence, fault.place) for fault in report.faults] == [(3, "events.certificate")]


def test_faults_never_quote_values(history, attempt):
    change = update(api_keys).values(researcher="SECRET")
    report = attempt(change)
    assert len(report.faults) == 1
    assert "SECRET" not in repr(report)


def test_triggers_refuse_to_change_or_delete(history):
    for table in APPEND_ONLY:
        for statement in (update(table).values(sequence=99), delete(table)):
            with pytest.raises(DBAPIError, match="append-only"), history._engine.begin() as connection:
                connection.execute(statement)
        assert history.verify().ok
