"""What questions have cost, counted from decisions: whose, of which source, since when, as far as seen."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from sdcgate.ledger.ledger import Allowance, AllowanceSpent, Spent

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
ALWAYS = datetime(2026, 1, 1, tzinfo=UTC)


def test_it_counts_questions_and_cells_of_one_source_by_whom_they_are(ledger, make_referral):
    asked = [("anna", "demo", 7), ("anna", "thesis", 5), ("bob", "demo", 11)]
    for researcher, project, cells in asked:
        ledger.append_decision(make_referral(researcher=researcher, project=project, cells=cells), None)
    ledger.append_decision(make_referral(source="firms", cells=1000), None)
    ledger.append_decision(make_referral(cells=None), None)

    def spent(**of):
        return ledger.spent(Allowance("households", ALWAYS, **of))

    assert spent() == Spent(3, 23)
    assert spent(researcher="anna") == Spent(2, 12)
    assert spent(project="demo") == Spent(2, 18)
    assert spent(researcher="zoe") == Spent(0, 0)


def test_what_was_asked_before_the_period_or_is_not_seen_yet_does_not_count(open_ledger, make_referral):
    moment = NOON
    ledger = open_ledger(clock=lambda: moment)
    for number in range(4):
        moment = NOON + timedelta(hours=number)
        ledger.append_decision(make_referral(query_id=f"q-{number}", cells=1), None)
    later = Allowance("households", NOON + timedelta(hours=1))
    assert ledger.spent(later) == Spent(3, 3)
    assert ledger.spent(later, newest="q-2") == Spent(2, 2)


def test_nobody_spends_more_than_an_allowance_however_many_ask_at_once(open_ledger, make_referral):
    few = Allowance("households", ALWAYS, researcher="anna", queries=5)
    ledgers = [open_ledger() for _ in range(4)]

    def ask(number):
        try:
            ledgers[number % 4].append_decision(make_referral(cells=1), None, [few])
        except AllowanceSpent as error:
            return error.place, error.queries
        return None

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(12)))
    assert found.count(None) == 5
    assert set(found) == {None, (0, 5)}
    assert ledgers[0].spent(few) == Spent(5, 5)


def test_the_last_cells_may_be_spent_and_no_more(ledger, make_referral):
    wide, narrow = Allowance("households", ALWAYS, queries=9), Allowance("households", ALWAYS, cells=10)
    ledger.append_decision(make_referral(cells=4), None, [wide, narrow])
    with pytest.raises(AllowanceSpent) as error:
        ledger.append_decision(make_referral(cells=7), None, [wide, narrow])
    assert (error.value.place, error.value.cells) == (1, 4)
    ledger.append_decision(make_referral(cells=6), None, [wide, narrow])
    assert ledger.verify().faults == ()


def test_a_changed_price_shows(ledger, make_referral):
    ledger.append_decision(make_referral(cells=40), None)
    with ledger._engine.begin() as connection:
        if ledger.serves_one_process:
            connection.execute(text("DROP TRIGGER queries_no_update"))
        else:
            connection.execute(text("DROP TRIGGER queries_append_only ON queries"))
        connection.execute(text("UPDATE queries SET cells = 1"))
    assert [fault.place for fault in ledger.verify().faults] != []


@pytest.mark.parametrize("cells", [-1, 2**31])
def test_an_impossible_price_is_refused(ledger, make_referral, cells):
    with pytest.raises(ValueError, match="cells: must be 0 to 2147483647"):
        ledger.append_decision(make_referral(cells=cells), None)
