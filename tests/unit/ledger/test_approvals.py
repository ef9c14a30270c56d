"""First approvals: one stands at a time, and who gave it may take it back."""

import pytest
from alembic import command
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from sdcgate.ledger.approvals import Approval, Approvals
from sdcgate.ledger.errors import NotReferred

CARLA = Approval("q-0001", "carla", "key of carla", "seen")
CHRIS = Approval("q-0001", "chris", "key of chris", "seen, too", exception=True)


def test_one_approval_stands_at_a_time_and_another_after_it_was_taken_back(ledger):
    approvals = Approvals(ledger)
    assert approvals.of("q-0001") is approvals.last_of("q-0001") is None
    approvals.append(CARLA)
    with pytest.raises(NotReferred, match="by another checker a moment ago"):
        approvals.append(CHRIS)
    assert approvals.of("q-0001") == CARLA
    standing = approvals.last_of("q-0001")
    approvals.take_back(standing, "key of carla", "not so")
    assert approvals.of("q-0001") is None
    assert approvals.last_of("q-0001").taken_back
    with pytest.raises(NotReferred, match="taken back a moment ago"):
        approvals.take_back(standing, "key of carla", "not so")
    approvals.append(CHRIS)
    assert approvals.of("q-0001") == CHRIS
    with pytest.raises(NotReferred, match="taken back a moment ago"):
        approvals.take_back(standing, "key of carla", "not so")
    report = ledger.verify()
    assert (report.ok, report.events) == (True, 3)


def test_approvals_of_before_stand_after_the_migration_and_can_be_taken_back(open_ledger, monkeypatch):
    upgrade = command.upgrade
    with monkeypatch.context() as patched:
        patched.setattr(command, "upgrade", lambda configuration, _: upgrade(configuration, "0007"))
        old = open_ledger()
        Approvals(old).append(CARLA)
    approvals = Approvals(ledger := open_ledger())
    assert approvals.of("q-0001") == CARLA
    approvals.take_back(approvals.last_of("q-0001"), "key of carla", "not so")
    approvals.append(CHRIS)
    assert approvals.of("q-0001") == CHRIS
    assert ledger.verify().ok
    for table in ("approvals", "approvals_taken_back"):
        with pytest.raises(DBAPIError, match="append-only"), ledger._engine.begin() as connection:
            connection.execute(text(f"DELETE FROM {table}"))
