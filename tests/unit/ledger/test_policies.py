"""The text of a policy is recorded once, before it decides, and is read back only as it was signed."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import text, update

from sdcgate.ledger.ledger import LedgerDamaged
from sdcgate.ledger.schema import blobs, policies

LATER_TABLES = (
    "policies",
    "approvals",
    "approvals_taken_back",
    "comments",
    "admissions",
    "admission_reviews",
    "admission_withdrawals",
    "removals",
    "holds",
    "hold_releases",
)


def test_a_policy_is_recorded_once_and_read_back_by_its_hash(ledger, policy):
    assert ledger.policy_text(policy.policy_hash) is None
    for _ in range(2):
        ledger.append_policy(policy)
    assert ledger.policy_text(policy.policy_hash) == policy.text
    assert ledger.verify().events == 1


def test_many_that_record_the_same_policy_at_once_record_it_once(open_ledger, policy):
    first, second = open_ledger(), open_ledger()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: (first, second)[n % 2].append_policy(policy), range(16)))
    assert first.verify().events == 1


def test_a_policy_moves_no_head_of_a_source(ledger, policy, make_decision):
    ledger.append_decision(make_decision(), 0)
    ledger.append_policy(policy)
    assert ledger.source_sequence("households") == 1


def test_a_hash_that_is_not_the_texts_is_refused(ledger, policy):
    with pytest.raises(ValueError, match="policy_hash: is not the SHA-256 of text"):
        ledger.append_policy(replace(policy, text=b"{}"))


def test_an_altered_text_is_not_handed_out(ledger, policy, tampering):
    ledger.append_policy(policy)
    with tampering(ledger) as connection:
        connection.execute(update(blobs).values(data=b'{"name":"lax"}'))
    with pytest.raises(LedgerDamaged, match="policy is missing or not what was signed"):
        ledger.policy_text(policy.policy_hash)


def test_a_row_that_points_to_another_policy_is_not_believed(ledger, policy, tampering):
    ledger.append_policy(policy)
    with tampering(ledger) as connection:
        connection.execute(update(policies).values(policy_hash="sha256:other"))
    with pytest.raises(LedgerDamaged, match="of another policy"):
        ledger.policy_text("sha256:other")
    assert [fault.place for fault in ledger.verify().faults] == ["policies.policy_hash"]


def test_a_ledger_from_before_policies_were_recorded_is_brought_up_to_date(
    open_ledger, policy, make_decision
):
    old = open_ledger()
    old.append_decision(make_decision(cells=0), 0)
    with old._engine.begin() as connection:
        connection.execute(text("DROP INDEX ix_queries_source_decided_at"))
        connection.execute(text("ALTER TABLE queries DROP COLUMN cells"))
        connection.execute(text("ALTER TABLE api_keys DROP COLUMN scope"))
        for table in LATER_TABLES:
            connection.execute(text(f"DROP TABLE {table}"))
        if connection.dialect.name == "postgresql":
            for table in LATER_TABLES:
                connection.execute(text(f"DROP FUNCTION {table}_append_only"))
            connection.execute(text("DROP FUNCTION blobs_kept CASCADE"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    ledger = open_ledger()
    assert ledger.policy_text("sha256:12") is None
    ledger.append_policy(policy)
    assert ledger.policy_text(policy.policy_hash) == policy.text
    report = ledger.verify()
    assert (report.ok, report.events) == (True, 2)
