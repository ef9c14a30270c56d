"""Legal holds: what a source, researcher, project or query touches stays, whatever its period; all events.

A row in a table releases nothing: whether a hold is in force is read from signed events.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, func, select, union_all

from sdcgate.ledger import reading
from sdcgate.ledger.errors import LedgerDamaged, UnknownHold
from sdcgate.ledger.events import HOLD_ADDED, HOLD_RELEASED, Draft, timestamp_of
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.schema import events, hold_releases, holds

_ADDED = select(events).join(holds, holds.c.sequence == events.c.sequence).order_by(events.c.sequence)
_RELEASED = select(events).join(hold_releases, hold_releases.c.sequence == events.c.sequence)
_NEWEST = union_all(select(func.max(holds.c.sequence)), select(func.max(hold_releases.c.sequence)))


class Subject(StrEnum):
    """What a hold is on."""

    SOURCE = "source"
    RESEARCHER = "researcher"
    PROJECT = "project"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class Hold:
    """A legal hold, and since when it is released; None while it is in force."""

    hold_id: str
    subject: Subject
    name: str
    author: str
    note: str = field(repr=False)
    added_at: datetime
    released_at: datetime | None = None


class Holds:
    """Records holds and reads them back."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(self, subject: Subject, name: str, *, author: str, note: str) -> str:
        """Keep from removal what this touches, now and later; returns the hold's id.

        Raises:
            ValueError: a text says nothing.
        """
        _require(name=name, author=author, note=note)
        hold_id = f"h-{secrets.token_hex(6)}"
        fields = {"hold": hold_id, "subject": subject.value, "name": name, "author": author, "note": note}
        self._ledger.append(Draft(HOLD_ADDED, fields), lambda _: None)
        return hold_id

    def release(self, hold_id: str, *, author: str, note: str) -> None:
        """Release a hold.

        Raises:
            UnknownHold: there is none with this id that is in force.
            ValueError: a text says nothing.
        """
        _require(author=author, note=note)

        def check(connection: Connection) -> None:
            added = select(holds.c.sequence).where(holds.c.hold_id == hold_id)
            released = select(hold_releases.c.sequence).where(hold_releases.c.hold_id == hold_id)
            if connection.scalar(added) is None:
                raise UnknownHold(f"there is no legal hold {hold_id}")
            if connection.scalar(released) is not None:
                raise UnknownHold(f"legal hold {hold_id} was released already")

        fields = {"hold": hold_id, "author": author, "note": note}
        self._ledger.append(Draft(HOLD_RELEASED, fields), check)

    def all(self) -> list[Hold]:
        """All holds, the oldest first, those that were released among them.

        Raises:
            LedgerDamaged: one is not what was signed.
        """
        with self._ledger.reading() as connection:
            added = [self._body(dict(row), HOLD_ADDED) for row in connection.execute(_ADDED).mappings()]
            ended = [self._body(dict(row), HOLD_RELEASED) for row in connection.execute(_RELEASED).mappings()]
        released = {body["hold"]: timestamp_of(body["recorded_at"]) for body in ended}
        return [
            Hold(
                body["hold"],
                Subject(body["subject"]),
                body["name"],
                body["author"],
                body["note"],
                timestamp_of(body["recorded_at"]),
                released.get(body["hold"]),
            )
            for body in added
        ]

    def in_force(self) -> list[Hold]:
        """Holds that are not released; raises as `all`."""
        return [hold for hold in self.all() if hold.released_at is None]

    def _body(self, row: dict[str, Any], kind: str) -> Mapping[str, Any]:
        body = reading.read_event(row, self._ledger.key_ring).body
        if body["kind"] != kind:
            raise LedgerDamaged("a legal hold is another event; run: sdcgate ledger verify")
        return body


def newest_change(connection: Connection) -> int:
    """Newest event that added or released a hold; 0 where there is none."""
    return max((found for found in connection.scalars(_NEWEST) if found is not None), default=0)


def _require(**texts: str) -> None:
    empty = [name for name, text in texts.items() if not text.strip()]
    if empty:
        raise ValueError("; ".join(f"{name}: must say something: it is on record for ever" for name in empty))
