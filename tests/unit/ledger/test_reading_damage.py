"""What is stored is handed out only if it is what was signed."""

import pytest
from sqlalchemy import delete, select, update

from sdcgate.ledger.credentials import Credentials
from sdcgate.ledger.events import canonical_hash
from sdcgate.ledger.ledger import LedgerDamaged
from sdcgate.ledger.schema import blobs, events, releases


def blob_of(connection, text):
    return connection.scalar(select(blobs.c.digest).where(blobs.c.data == text))


def test_an_answer_replaced_in_the_database_is_not_given(ledger, make_decision, tampering):
    decision = make_decision()
    ledger.append_decision(decision, 0)
    with tampering(ledger) as connection:
        wanted = blobs.c.digest == blob_of(connection, decision.answer)
        connection.execute(update(blobs).where(wanted).values(data=b"withheld figures"))
    with pytest.raises(LedgerDamaged, match="event 1: its answer"):
        ledger.query("q-0001")
    with pytest.raises(LedgerDamaged):
        ledger.find_answer(
            "households", 1, canonical_hash(decision.canonical), "sha256:12", "all-researchers"
        )


def test_an_answer_that_is_gone_is_an_error_and_not_a_new_query(ledger, make_decision, tampering):
    decision = make_decision()
    ledger.append_decision(decision, 0)
    with tampering(ledger) as connection:
        connection.execute(delete(blobs))
    with pytest.raises(LedgerDamaged):
        ledger.query("q-0001")


def test_a_release_replaced_in_the_database_is_not_audited_against(ledger, make_decision, tampering):
    ledger.append_decision(make_decision(release=b"two boxes"), 0)
    with tampering(ledger) as connection:
        wanted = blobs.c.digest == blob_of(connection, b"two boxes")
        connection.execute(update(blobs).where(wanted).values(data=b"no boxes"))
    with pytest.raises(LedgerDamaged, match="its release"):
        ledger.releases("households")


def test_a_release_whose_blob_is_another_ones_is_found(ledger, make_decision, tampering):
    ledger.append_decision(make_decision(release=b"two boxes"), 0)
    ledger.append_decision(make_decision(release=b"one box"), 1)
    with tampering(ledger) as connection:
        other = blob_of(connection, b"two boxes")
        connection.execute(update(releases).where(releases.c.sequence == 2).values(digest=other))
    with pytest.raises(LedgerDamaged, match="event 2: its release"):
        ledger.releases("households", after_sequence=1)


def test_a_verdict_changed_in_an_event_is_not_believed(ledger, make_decision, tampering):
    ledger.append_decision(make_decision(verdict="REFUSED"), 0)
    with tampering(ledger) as connection:
        body = connection.scalar(select(events.c.body))
        forged = body.replace(b"REFUSED", b"RELEASED")
        connection.execute(update(events).values(body=forged))
    with pytest.raises(LedgerDamaged, match="event 1"):
        ledger.query("q-0001")


def test_nothing_is_appended_to_a_head_that_nobody_signed(open_ledger, ledger, make_decision, tampering):
    ledger.append_decision(make_decision(), 0)
    with tampering(ledger) as connection:
        connection.execute(update(events).values(signature=bytes(64)))
    with pytest.raises(LedgerDamaged, match="event 1, the newest"):
        open_ledger().append_decision(make_decision(), 1)


def test_a_damaged_ledger_opens_to_be_verified(open_ledger, ledger, make_decision, tampering):
    ledger.append_decision(make_decision(), 0)
    with tampering(ledger) as connection:
        connection.execute(update(events).values(signature=bytes(64)))
    opened = open_ledger()
    assert "event 1, the newest" in opened.refusal()
    assert [(fault.sequence, fault.place) for fault in opened.verify().faults] == [(1, "events.signature")]


def test_a_review_hung_on_another_query_is_not_believed(ledger, make_referral, make_review, tampering):
    from sdcgate.ledger.schema import reviews

    ledger.append_decision(make_referral(), None)
    ledger.append_decision(make_referral(), None)
    ledger.append_review(make_review("q-0001"), 0)
    with tampering(ledger) as connection:
        connection.execute(update(reviews).values(query_id="q-0002"))
    with pytest.raises(LedgerDamaged, match="reviews another query"):
        ledger.query("q-0002")


def test_a_key_whose_role_was_raised_in_its_event_opens_nothing(ledger, tampering):
    plaintext, _ = Credentials(ledger).create("researcher", "anna", "laptop", 1)
    with tampering(ledger) as connection:
        body = connection.scalar(select(events.c.body))
        connection.execute(update(events).values(body=body.replace(b'"researcher",', b'"checker",', 1)))
    with pytest.raises(LedgerDamaged):
        Credentials(ledger).authenticate(plaintext)
