"""What may be removed from the ledger after a period, what must stay, and its removal.

Events never go: chain, signatures and certificates rest on them, and they hold of everything else only salted
digests. Of attachments, those go whose period is over:

- what checkers saw (true cells) and what they wrote, of queries that are decided;
- request, answer and record of a query, once its version of the dataset can answer nothing any more. Until
  then whoever asks the same must get the same;
- labels and remarks of admissions that are over.

What left and its boxes, descriptors and policies stay: the audit of every later answer rests on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import Connection, delete, select

from sdcgate.ledger import events as kinds
from sdcgate.ledger import reading
from sdcgate.ledger.errors import HoldsChanged, LedgerDamaged
from sdcgate.ledger.events import Draft, timestamp_of
from sdcgate.ledger.holds import Hold, Holds, Subject, newest_change
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.removable import (
    ABOUT_ADMISSIONS,
    ABOUT_QUERIES,
    OF_ADMISSIONS,
    OF_QUERIES,
    Content,
)
from sdcgate.ledger.schema import blobs, removals

BATCH = 500
"""Attachments that one event removes at most."""


PERSONS = ("researcher", "reviewer", "requested_by", "by")


@dataclass(frozen=True, slots=True)
class Item:
    """An attachment whose period is over."""

    sequence: int
    name: str
    digest: bytes = field(repr=False)
    content: Content


@dataclass(frozen=True, slots=True)
class Plan:
    """What may be removed now, and how much is kept by legal holds, by what it is."""

    items: tuple[Item, ...]
    held: Mapping[Content, int]
    holds: int = 0
    """The newest change of legal holds that it knows of."""


@dataclass(slots=True)
class _Case:
    """All events about one query, or one admission."""

    changed: datetime
    items: list[Item] = field(default_factory=list)
    touched: set[tuple[Subject, str]] = field(default_factory=set)
    version: tuple[str, str, int] | None = None
    waits: bool = False
    over: datetime | None = None
    """Of an admission: the moment from which on it lets nobody in."""


def plan(ledger: Ledger, periods: Mapping[Content, int | None], now: datetime) -> Plan:
    """What may be removed at a moment. `periods` are days; None keeps for ever.

    Raises:
        LedgerDamaged: an event is not what was signed.
    """
    with ledger.reading() as connection:
        change = newest_change(connection)
        cases, registered, left = _cases(connection, ledger)
        gone = set(connection.scalars(select(removals.c.digest)))
    in_force = Holds(ledger).in_force()
    answering = _answering(cases, registered, left)
    items, held = [], dict.fromkeys(Content, 0)
    for case in cases.values():
        for item in case.items:
            days = periods.get(item.content)
            if days is None or item.digest in gone or not _over(case, item, answering, now, days):
                continue
            if _is_held(case, in_force):
                held[item.content] += 1
            else:
                items.append(item)
    items.sort(key=lambda item: (item.sequence, item.name))
    return Plan(tuple(items), held, change)


def apply(
    ledger: Ledger, planned: Plan, periods: Mapping[Content, int | None], *, author: str, note: str
) -> list[int]:
    """Remove what was planned: an event that lists it, and the removal, in one transaction for each batch.

    Returns:
        The events that record it.

    Raises:
        HoldsChanged: a legal hold was added or released since; batches before it are removed.
        LedgerDamaged: something that was planned is not there.
        ValueError: author or note say nothing.
    """
    if not author.strip() or not note.strip():
        raise ValueError("author and note must say something: they are on record for ever")
    known = planned.holds

    def check(connection: Connection) -> None:
        if newest_change(connection) != known:
            raise HoldsChanged("legal holds were changed meanwhile: look again at what may be removed")

    recorded = []
    for start in range(0, len(planned.items), BATCH):
        batch = planned.items[start : start + BATCH]
        fields = {
            "author": author,
            "note": note,
            "periods": {content.value: periods.get(content) for content in Content},
            "removed": [
                {
                    "sequence": item.sequence,
                    "attachment": item.name,
                    "digest": item.digest.hex(),
                    "setting": item.content.value,
                }
                for item in batch
            ],
        }
        digests = [item.digest for item in batch]

        def remove(connection: Connection, digests: list[bytes] = digests) -> None:
            done = connection.execute(delete(blobs).where(blobs.c.digest.in_(digests))).rowcount
            if done != len(digests):
                raise LedgerDamaged(
                    "something that is to be removed is not there; run: sdcgate ledger verify"
                )

        recorded.append(ledger.append(Draft(kinds.RETENTION, fields), check, remove)[0].sequence)
    if recorded:
        ledger.reclaim()
    return recorded


def _cases(
    connection: Connection, ledger: Ledger
) -> tuple[dict[str, _Case], dict[str, int], dict[str, set[tuple[str, int]]]]:
    """Cases by query and admission; the newest version of each dataset; versions that left, by source."""
    cases: dict[str, _Case] = {}
    registered: dict[str, int] = {}
    left: dict[str, set[tuple[str, int]]] = {}
    for row in reading.event_rows(connection):
        body = reading.read_event(row, ledger.key_ring).body
        kind = body["kind"]
        if kind == kinds.REGISTRATION:
            registered[body["dataset"]] = max(registered.get(body["dataset"], 0), body["version"])
        elif kind in ABOUT_QUERIES:
            case = _case(cases, f"query {body['query']}", body, OF_QUERIES)
            case.touched.add((Subject.QUERY, body["query"]))
            if kind == kinds.DECISION:
                case.version = (body["source"], body["dataset"], body["version"])
            if kind in {kinds.DECISION, kinds.REVIEW}:
                case.waits = body["verdict"] == "REFERRED"
                if "release" in body["attachments"]:
                    left.setdefault(body["source"], set()).add((body["dataset"], body["version"]))
        elif kind in ABOUT_ADMISSIONS:
            case = _case(cases, f"admission {body['admission']}", body, OF_ADMISSIONS)
            case.over = _over_from(body)
    return cases, registered, left


def _case(
    cases: dict[str, _Case], name: str, body: Mapping[str, Any], contents: Mapping[str, Content]
) -> _Case:
    moment = timestamp_of(body["recorded_at"])
    case = cases.setdefault(name, _Case(moment))
    case.changed = max(case.changed, moment)
    for attachment, signed in body["attachments"].items():
        if attachment in contents:
            digest = bytes.fromhex(signed["digest"])
            case.items.append(Item(body["sequence"], attachment, digest, contents[attachment]))
    people = [body[person] for person in PERSONS if body.get(person)] + body.get("researchers", [])
    case.touched |= {(Subject.RESEARCHER, person) for person in people}
    case.touched |= {
        (subject, body[subject]) for subject in (Subject.SOURCE, Subject.PROJECT) if body.get(subject)
    }
    return case


def _over_from(body: Mapping[str, Any]) -> datetime:
    if body["kind"] == kinds.ADMISSION_WITHDRAWN or body.get("approve") is False:
        return timestamp_of(body["recorded_at"])
    last = date.fromisoformat(body["valid_until"])
    return datetime.combine(last, time.max, UTC)


def _answering(
    cases: Mapping[str, _Case], registered: Mapping[str, int], left: Mapping[str, set[tuple[str, int]]]
) -> set[tuple[str, str, int]]:
    """Versions that answer a question, or may again: see `facility.versions`."""
    answering = set()
    waiting = {case.version for case in cases.values() if case.waits}
    for version in {case.version for case in cases.values() if case.version is not None}:
        source, dataset, number = version
        newest = number >= registered.get(dataset, 0)
        only_one = left.get(source) == {(dataset, number)}
        # A review may yet release from it, and make it the only version of which something has left.
        may_become = version in waiting and not left.get(source)
        if newest or only_one or may_become:
            answering.add(version)
    return answering


def _over(case: _Case, item: Item, answering: set[tuple[str, str, int]], now: datetime, days: int) -> bool:
    if case.waits or (
        item.content is Content.ANSWERS and (case.version is None or case.version in answering)
    ):
        return False
    since = case.changed if case.over is None else max(case.over, case.changed)
    return since + timedelta(days=days) <= now


def _is_held(case: _Case, in_force: list[Hold]) -> bool:
    return any((hold.subject, hold.name) in case.touched for hold in in_force)
