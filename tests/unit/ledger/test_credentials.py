import hashlib
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import insert, select, update

from sdcgate.ledger.credentials import Caller, Credentials, Role, Scope
from sdcgate.ledger.errors import UnknownKey
from sdcgate.ledger.schema import api_keys, events


@pytest.fixture
def moment():
    return [datetime(2026, 11, 21, tzinfo=UTC)]


@pytest.fixture
def credentials(open_ledger, moment):
    return Credentials(open_ledger(clock=lambda: moment[0]))


@pytest.mark.parametrize("role", list(Role))
def test_a_key_says_who_calls(credentials, role):
    plaintext, record = credentials.create(role, "anna", "laptop", 30)
    assert re.fullmatch(r"sdcg_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", plaintext)
    assert credentials.authenticate(plaintext) == Caller(record.key_id, role, "anna")
    assert credentials.authenticate(plaintext).role in {role.value}


def test_only_the_digest_of_a_key_is_stored(credentials):
    plaintext, record = credentials.create("researcher", "anna", "laptop", 30)
    with credentials._ledger.reading() as connection:
        (key,) = connection.execute(select(api_keys)).all()
        (event,) = connection.execute(select(events)).all()
    assert key.digest == hashlib.sha256(plaintext.encode()).digest()
    secret = plaintext.split("_", 2)[2]
    assert secret not in repr((key, event, record))


def test_a_wrong_secret_an_unknown_key_and_nonsense_open_nothing(credentials):
    plaintext, record = credentials.create("researcher", "anna", "laptop", 30)
    credentials.authenticate(plaintext)
    flipped = plaintext[:-2] + ("A" if plaintext[-2] != "A" else "B") + plaintext[-1]
    for wrong in (
        flipped,
        plaintext + "A",
        plaintext[:-1],
        f" {plaintext}",
        f"{plaintext}\n",
        "",
        "sdcg__",
        "é\ud800",
    ):
        assert credentials.authenticate(wrong) is None
    assert credentials.authenticate(plaintext.replace(record.key_id, "0" * 16)) is None


def test_a_key_expires_to_the_second(credentials, moment):
    plaintext, record = credentials.create("checker", "carla", "desk", 1)
    assert record.expires_at == moment[0] + timedelta(days=1)
    moment[0] = record.expires_at - timedelta(seconds=1)
    assert credentials.authenticate(plaintext) is not None
    moment[0] = record.expires_at
    assert credentials.authenticate(plaintext) is None


def test_a_clock_that_is_set_back_makes_no_expired_key_good_again(credentials, moment):
    plaintext, record = credentials.create("checker", "carla", "desk", 1)
    other, _ = credentials.create("researcher", "anna", "desk", 30)
    moment[0] = record.expires_at
    assert credentials.authenticate(plaintext) is None
    moment[0] -= timedelta(days=7)
    assert credentials.authenticate(plaintext) is None
    # Whoever makes a key with a clock that is ahead has a key that is good now, and for as long.
    assert credentials.authenticate(other) is not None
    # What is recorded meanwhile has earlier times in later places; the order is that of the places.
    credentials.create("researcher", "berta", "desk", 1)
    with credentials._ledger.reading() as connection:
        recorded = [row.created_at for row in connection.execute(select(api_keys).order_by("sequence"))]
    assert recorded[-1] < recorded[0]
    assert credentials._ledger.verify().ok


def test_a_revoked_key_is_worthless_at_once_in_every_process(credentials, open_ledger, moment):
    plaintext, record = credentials.create("checker", "carla", "desk", 30)
    other = Credentials(open_ledger(clock=lambda: moment[0]))
    assert other.authenticate(plaintext) is not None
    credentials.revoke(record.key_id)
    assert credentials.authenticate(plaintext) is None
    assert other.authenticate(plaintext) is None
    credentials.revoke(record.key_id)
    assert credentials._ledger.head().sequence == 2


def test_an_unknown_key_cannot_be_revoked(credentials):
    with pytest.raises(UnknownKey, match="0000"):
        credentials.revoke("0000")


def test_keys_are_listed_with_their_fate(credentials):
    _, first = credentials.create("researcher", "anna", "laptop", 30)
    _, second = credentials.create("checker", "carla", "desk", 60)
    credentials.revoke(first.key_id)
    listed = credentials.list()
    assert [record.key_id for record in listed] == [first.key_id, second.key_id]
    assert listed[0].revoked_at is not None
    assert listed[1] == second


def test_all_problems_of_a_key_are_named_at_once(credentials):
    with pytest.raises(ValueError, match="role: must be one of") as caught:
        credentials.create("king", "", "a\0", 0)
    for name in ("researcher:", "label:", "days:"):
        assert name in str(caught.value)
    assert credentials.list() == []


def test_a_key_knows_what_it_is_limited_to(credentials, open_ledger, moment):
    scope = Scope(datasets=("survey", "census"), projects=("p1",), acts_for=("ada", "bob"))
    plaintext, record = credentials.create("portal", "portal-1", "site", 30, scope=scope)
    assert credentials.authenticate(plaintext).scope == scope
    assert Credentials(open_ledger(clock=lambda: moment[0])).authenticate(plaintext).scope == scope
    assert credentials.list() == [record]
    assert record.scope == scope
    assert credentials._ledger.verify().ok


@pytest.mark.parametrize("role", sorted(set(Role) - {Role.PORTAL}))
def test_only_portals_act_for_others_and_limits_are_names(credentials, role):
    with pytest.raises(ValueError, match="acts_for: only portals"):
        credentials.create(role, "anna", "", 30, scope=Scope(acts_for=("*",)))
    with pytest.raises(ValueError, match=r"datasets: must be names.*projects: must be names"):
        credentials.create(role, "anna", "", 30, scope=Scope(datasets=("",), projects=("a\0",)))
    assert credentials.list() == []


def test_a_row_in_the_table_makes_nobody_a_checker(credentials):
    plaintext, _ = credentials.create("researcher", "anna", "laptop", 30)
    forged = f"sdcg_{'f' * 16}_{plaintext.split('_', 2)[2]}"
    row = {
        "sequence": 99,
        "key_id": "f" * 16,
        "role": "checker",
        "researcher": "mallory",
        "label": "",
        "digest": hashlib.sha256(forged.encode()).digest(),
        "created_at": "2026-11-21T00:00:00.000000Z",
        "expires_at": "2036-11-21T00:00:00.000000Z",
    }
    with credentials._ledger._engine.begin() as connection:
        connection.execute(insert(api_keys).values(row))
    assert credentials.authenticate(forged) is None
    assert [fault.sequence for fault in credentials._ledger.verify().faults] == [99]


def test_a_row_that_points_at_another_persons_event_opens_nothing(credentials, tampering):
    plaintext, _ = credentials.create("checker", "carla", "desk", 30)
    forged = f"sdcg_{'f' * 16}_{plaintext.split('_', 2)[2]}"
    change = {"key_id": "f" * 16, "digest": hashlib.sha256(forged.encode()).digest()}
    with tampering(credentials._ledger) as connection:
        connection.execute(update(api_keys).values(change))
    assert credentials.authenticate(forged) is None
    assert credentials.authenticate(plaintext) is None
