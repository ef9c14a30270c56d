"""Registered researchers and projects: requested, approved for some dates, refused, withdrawn; all events.

A row in a table admits nobody: what is in force is read from signed events.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, select

from sdcgate.ledger import reading
from sdcgate.ledger.errors import LedgerDamaged, NotPending
from sdcgate.ledger.events import (
    ADMISSION_REQUESTED,
    ADMISSION_REVIEWED,
    ADMISSION_WITHDRAWN,
    LABEL,
    NOTE,
    REMARK,
    Attachment,
    Draft,
    attach,
    timestamp_of,
)
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.projections import subject_of
from sdcgate.ledger.schema import admission_reviews, admission_withdrawals, admissions, events


class AdmissionState(StrEnum):
    """What became of a request."""

    REQUESTED = "REQUESTED"
    APPROVED = "APPROVED"
    REFUSED = "REFUSED"
    WITHDRAWN = "WITHDRAWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """A researcher, or a project with its researchers, who shall be let at datasets for some time."""

    admission_id: str
    project: str = ""
    """Empty where one researcher is registered by himself."""
    researchers: tuple[str, ...]
    datasets: tuple[str, ...] = ()
    label: str = field(default="", repr=False)
    """Who or what it is, for who approves it."""
    valid_from: date
    valid_until: date
    """The last day."""
    requested_by: str
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A request and what became of it. The dates are those of the approval, where there is one."""

    request: AdmissionRequest
    requested_at: datetime
    state: AdmissionState
    valid_from: date
    valid_until: date
    reviewer: str = ""
    note: str = field(default="", repr=False)

    def in_force(self, day: date) -> bool:
        """Whether it lets anybody in on a day."""
        approved = self.state is AdmissionState.APPROVED
        return approved and self.valid_from <= day <= self.valid_until


def _event_of(table: Table) -> Select[Any]:
    """The event about an admission that a row of a table is from."""
    return (
        select(events)
        .join(table, table.c.sequence == events.c.sequence)
        .where(table.c.admission_id == bindparam("admission_id"))
    )


CHUNK = 100
_REQUESTS = select(events).join(admissions, admissions.c.sequence == events.c.sequence)
_OF = _REQUESTS.where(admissions.c.subject == bindparam("subject")).order_by(admissions.c.sequence)
_AFTER = (
    _REQUESTS.where(admissions.c.admission_id > bindparam("admission_id"))
    .order_by(admissions.c.admission_id)
    .limit(CHUNK)
)
_REQUEST, _REVIEW, _WITHDRAWAL = map(_event_of, (admissions, admission_reviews, admission_withdrawals))


class Admissions:
    """Records requests, reviews and withdrawals, and reads them back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def today(self) -> date:
        """The present day in UTC, by the ledger's clock."""
        return self._ledger.now().date()

    def of(self, *, researcher: str = "", project: str = "") -> list[Admission]:
        """All admissions of a project, or of a researcher by himself, the oldest first.

        Raises:
            LedgerDamaged: one of them is not what was signed.
        """
        subject = subject_of(project, (researcher,))
        return [one for one in self._read(_OF, {"subject": subject}) if _subject(one) == subject]

    def after(self, admission_id: str = "") -> Iterator[Admission]:
        """All admissions by their ids, those after one of them; raises as `of`."""
        chunk = self._read(_AFTER, {"admission_id": admission_id})
        while chunk:
            yield from chunk
            chunk = self._read(_AFTER, {"admission_id": chunk[-1].request.admission_id})

    def get(self, admission_id: str) -> Admission | None:
        """One admission; None where there is none; raises as `of`."""
        found = self._read(_REQUEST, {"admission_id": admission_id})
        return found[0] if found else None

    def request(self, request: AdmissionRequest) -> None:
        """Record a request.

        Raises:
            ValueError: naming what is wrong.
        """
        _raise_problems(request)
        fields = {
            "admission": request.admission_id,
            "project": request.project,
            "researchers": list(request.researchers),
            "datasets": list(request.datasets),
            "label": "",
            "valid_from": request.valid_from.isoformat(),
            "valid_until": request.valid_until.isoformat(),
            "requested_by": request.requested_by,
            "author": request.author,
        }
        self._ledger.append(Draft(ADMISSION_REQUESTED, fields, _words(label=request.label)), lambda _: None)

    def review(
        self,
        admission_id: str,
        *,
        approve: bool,
        valid_from: date,
        valid_until: date,
        reviewer: str,
        author: str,
        note: str,
    ) -> None:
        """Approve a request for these dates, or refuse it.

        Raises:
            NotPending: there is no such request, or it was decided or withdrawn.
        """
        fields = {
            "admission": admission_id,
            "approve": approve,
            "valid_from": valid_from.isoformat(),
            "valid_until": valid_until.isoformat(),
            "reviewer": reviewer,
            "author": author,
        }
        check = _pending(admission_id, admission_reviews, admission_withdrawals)
        self._ledger.append(Draft(ADMISSION_REVIEWED, fields, _words(remark=note)), check)

    def withdraw(self, admission_id: str, *, by: str, author: str, note: str) -> None:
        """Let nobody in by it from now on.

        Raises:
            NotPending: there is no such request, or it was withdrawn.
        """
        fields = {"admission": admission_id, "by": by, "author": author}
        check = _pending(admission_id, admission_withdrawals)
        self._ledger.append(Draft(ADMISSION_WITHDRAWN, fields, _words(remark=note)), check)

    def _read(self, statement: Select[Any], parameters: Mapping[str, str]) -> list[Admission]:
        with self._ledger.reading() as connection:
            rows = connection.execute(statement, parameters).mappings().all()
            found = [self._event(dict(row), ADMISSION_REQUESTED) for row in rows]
            return [self._admission(connection, event) for event in found]

    def _admission(self, connection: Connection, event: reading.Event) -> Admission:
        body = event.body
        review = self._about(connection, _REVIEW, body["admission"], ADMISSION_REVIEWED)
        withdrawn = self._about(connection, _WITHDRAWAL, body["admission"], ADMISSION_WITHDRAWN)
        state = AdmissionState.REQUESTED
        if withdrawn is not None:
            state = AdmissionState.WITHDRAWN
        elif review is not None:
            state = AdmissionState.APPROVED if review.body["approve"] is True else AdmissionState.REFUSED
        dates = body if review is None else review.body
        decided = withdrawn or review
        said = decided.body if decided is not None else {}
        return Admission(
            request=_request(body, reading.words(connection, self._ledger.key_ring, event, LABEL)),
            requested_at=timestamp_of(body["recorded_at"]),
            state=state,
            valid_from=date.fromisoformat(dates["valid_from"]),
            valid_until=date.fromisoformat(dates["valid_until"]),
            reviewer=said.get("by") or said.get("reviewer", ""),
            note="" if decided is None else self._note(connection, decided),
        )

    def _about(
        self, connection: Connection, statement: Select[Any], admission_id: str, kind: str
    ) -> reading.Event | None:
        row = connection.execute(statement, {"admission_id": admission_id}).mappings().one_or_none()
        if row is None:
            return None
        event = self._event(dict(row), kind)
        if event.body["admission"] != admission_id:
            raise LedgerDamaged("a review is of another admission; run: sdcgate ledger verify")
        return event

    def _note(self, connection: Connection, event: reading.Event) -> str:
        # Events of before hold it themselves.
        name = REMARK if REMARK in event.body["attachments"] else NOTE
        return reading.words(connection, self._ledger.key_ring, event, name)

    def _event(self, row: dict[str, Any], kind: str) -> reading.Event:
        event = reading.read_event(row, self._ledger.key_ring)
        if event.body["kind"] != kind:
            raise LedgerDamaged("an admission is another event; run: sdcgate ledger verify")
        return event


def _pending(admission_id: str, *decided: Table) -> Callable[[Connection], None]:
    """A check that a request is there, and in none of the tables that say that it is decided."""

    def check(connection: Connection) -> None:
        def there(table: Table) -> bool:
            found = select(table.c.sequence).where(table.c.admission_id == admission_id)
            return connection.scalar(found) is not None

        if not there(admissions):
            raise NotPending(f"there is no admission {admission_id}")
        if any(there(table) for table in decided):
            raise NotPending(f"admission {admission_id} was decided or withdrawn already")

    return check


def _words(**texts: str) -> tuple[Attachment, ...]:
    """What was written of it, apart from the event, as it may be removed; nothing where there is nothing."""
    return attach(**{name: text.encode() for name, text in texts.items() if text})


def _request(body: Mapping[str, Any], label: str) -> AdmissionRequest:
    return AdmissionRequest(
        admission_id=body["admission"],
        project=body["project"],
        researchers=tuple(body["researchers"]),
        datasets=tuple(body["datasets"]),
        label=label,
        valid_from=date.fromisoformat(body["valid_from"]),
        valid_until=date.fromisoformat(body["valid_until"]),
        requested_by=body["requested_by"],
        author=body["author"],
    )


def _subject(admission: Admission) -> str:
    return subject_of(admission.request.project, admission.request.researchers)


def _raise_problems(request: AdmissionRequest) -> None:
    problems = []
    if not request.project and len(request.researchers) != 1:
        problems.append("researchers: one is registered at a time, or a project with several")
    if not request.researchers or not all(request.researchers):
        problems.append("researchers: must be names")
    if request.valid_until < request.valid_from:
        problems.append("valid_until: must not be before valid_from")
    if problems:
        raise ValueError("; ".join(problems))
