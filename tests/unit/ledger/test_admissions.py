from datetime import UTC, date, datetime

import pytest
from sqlalchemy import insert, select, update

from sdcgate.ledger.admissions import CHUNK, AdmissionRequest, Admissions, AdmissionState
from sdcgate.ledger.errors import LedgerDamaged, NotPending
from sdcgate.ledger.schema import admission_reviews, admission_withdrawals, admissions

JANUARY, JUNE, DECEMBER = date(2026, 1, 1), date(2026, 6, 30), date(2026, 12, 31)


def request(number=1, **changes):
    usual = {
        "admission_id": f"a-{number}",
        "researchers": ("ada",),
        "datasets": ("survey",),
        "label": "Ada, University of Haifa",
        "valid_from": JANUARY,
        "valid_until": DECEMBER,
        "requested_by": "portal-1",
        "author": "key-portal",
    }
    return AdmissionRequest(**{**usual, **changes})


def review(approve=True, **changes):
    usual = {
        "approve": approve,
        "valid_from": JANUARY,
        "valid_until": JUNE,
        "reviewer": "stefan",
        "author": "key-stefan",
        "note": "contract 17",
    }
    return {**usual, **changes}


@pytest.fixture
def house(open_ledger):
    return Admissions(open_ledger(clock=lambda: datetime(2026, 3, 1, tzinfo=UTC)))


def test_a_request_admits_nobody_until_it_is_approved_for_its_dates(house):
    house.request(request())
    (found,) = house.of(researcher="ada")
    assert found.state is AdmissionState.REQUESTED
    assert not found.in_force(house.today())
    house.review("a-1", **review())
    (found,) = house.of(researcher="ada")
    assert (found.state, found.reviewer, found.note) == (AdmissionState.APPROVED, "stefan", "contract 17")
    assert found.request == request()
    days = (date(2025, 12, 31), JANUARY, JUNE, date(2026, 7, 1))
    assert [found.in_force(day) for day in days] == [False, True, True, False]


def test_a_refused_or_withdrawn_request_admits_nobody(house):
    house.request(request(1))
    house.request(request(2))
    house.review("a-1", **review(approve=False))
    house.review("a-2", **review())
    house.withdraw("a-2", by="olga", author="key-olga", note="contract ended")
    refused, withdrawn = house.of(researcher="ada")
    assert (refused.state, withdrawn.state) == (AdmissionState.REFUSED, AdmissionState.WITHDRAWN)
    assert (withdrawn.reviewer, withdrawn.note) == ("olga", "contract ended")
    assert not any(one.in_force(house.today()) for one in (refused, withdrawn))


def test_a_project_is_another_subject_than_a_researcher_of_its_name(house):
    house.request(request(1, project="ada", researchers=("bob", "eve")))
    house.request(request(2))
    assert [one.request.admission_id for one in house.of(project="ada")] == ["a-1"]
    assert [one.request.admission_id for one in house.of(researcher="ada")] == ["a-2"]
    assert [one.request.admission_id for one in house.after()] == ["a-1", "a-2"]
    assert house.of(researcher="bob") == house.of(project="project:ada") == []


def test_a_request_is_decided_once_and_withdrawn_once(house):
    house.request(request(1))
    house.request(request(2))
    house.review("a-1", **review())
    house.withdraw("a-1", by="olga", author="key-olga", note="ended")
    house.withdraw("a-2", by="olga", author="key-olga", note="mistaken")
    for again in ("a-1", "a-2", "a-3"):
        with pytest.raises(NotPending, match=again):
            house.review(again, **review())
        with pytest.raises(NotPending, match=again):
            house.withdraw(again, by="olga", author="key-olga", note="again")
    assert [one.state for one in house.after()] == [AdmissionState.WITHDRAWN] * 2


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"researchers": ()}, "researchers"),
        ({"researchers": ("ada", "bob")}, "one is registered at a time"),
        ({"project": "p", "researchers": ("ada", "")}, "researchers: must be names"),
        ({"valid_until": date(2025, 1, 1)}, "valid_until"),
    ],
)
def test_a_request_that_makes_no_sense_is_not_recorded(house, changes, told):
    with pytest.raises(ValueError, match=told):
        house.request(request(**changes))
    assert list(house.after()) == []


def test_many_admissions_are_read_one_chunk_after_the_other(house):
    for number in range(CHUNK + 5):
        house.request(request(number, admission_id=f"a-{number:04}", researchers=(f"person {number}",)))
    ids = [one.request.admission_id for one in house.after()]
    assert ids == [f"a-{number:04}" for number in range(CHUNK + 5)]
    assert [one.request.admission_id for one in house.after("a-0102")] == ["a-0103", "a-0104"]


def test_a_row_in_a_table_admits_nobody(house, tampering):
    house.request(request(1))
    house.request(request(2, researchers=("eve",)))
    house.review("a-1", **review())
    ledger = house._ledger
    with tampering(ledger) as connection:
        review_of_1 = connection.execute(select(admission_reviews)).one()
        connection.execute(insert(admission_reviews).values([2, "a-2", "yes", "eve", review_of_1[4]]))
    with pytest.raises(LedgerDamaged):
        house.of(researcher="eve")
    with tampering(ledger) as connection:
        connection.execute(admission_reviews.delete().where(admission_reviews.c.sequence == 2))
        connection.execute(update(admission_reviews).values(admission_id="a-2"))
    with pytest.raises(LedgerDamaged):
        house.of(researcher="eve")
    with tampering(ledger) as connection:
        connection.execute(update(admission_reviews).values(admission_id="a-1"))
        connection.execute(
            update(admissions).where(admissions.c.sequence == 1).values(subject="researcher:eve")
        )
    assert [one.request.researchers for one in house.of(researcher="eve")] == [("eve",)]
    assert not any(one.in_force(house.today()) for one in house.of(researcher="eve"))


def test_whoever_takes_a_withdrawal_out_of_its_table_is_found(house, tampering):
    house.request(request())
    house.review("a-1", **review())
    house.withdraw("a-1", by="olga", author="key-olga", note="ended")
    assert house._ledger.verify().ok
    with tampering(house._ledger) as connection:
        connection.execute(admission_withdrawals.delete())
    report = house._ledger.verify()
    assert [(fault.sequence, fault.place) for fault in report.faults] == [(3, "admission_withdrawals")]
