"""How an event gets its place in the chain.

One short transaction, under a lock that all writers take: what must hold is checked at the present head, then
event, attachments and the rows that are read from go in. After the commit the signed head goes to the second
place; only then does an append return, so that nothing leaves whose loss would not show.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, select

from sdcgate.ledger import certificates, database, reading
from sdcgate.ledger.certificates import Certificate
from sdcgate.ledger.chain import GENESIS, SignedHead, chain_hash, sign_head
from sdcgate.ledger.database import insert_rows
from sdcgate.ledger.errors import LedgerDamaged, LedgerError, LedgerTruncated
from sdcgate.ledger.events import ACKNOWLEDGEMENT, Draft, read_body, timestamp_text
from sdcgate.ledger.heads import HeadsFile
from sdcgate.ledger.projections import rows_of
from sdcgate.ledger.records import Appended
from sdcgate.ledger.schema import blobs, events
from sdcgate.ledger.signing import KeyRing, KeyRingError

Written = tuple[Appended, Certificate | None]
"""Place of an event, and the certificate of its answer where it has one."""


class Appender:
    """Appends to one ledger; threads may share it."""

    def __init__(
        self, engine: Engine, key_ring: KeyRing, heads: HeadsFile, clock: Callable[[], datetime]
    ) -> None:
        self._engine = engine
        self._key_ring = key_ring
        self._heads = heads
        self._clock = clock
        self._trusted: SignedHead | None = None
        self._owed: SignedHead | None = None
        self._vouched = 0
        self._lock = threading.Lock()

    def append(
        self,
        draft: Draft,
        check: Callable[[Connection], None],
        then: Callable[[Connection], None] | None = None,
    ) -> Written:
        """Record a draft if `check`, inside the transaction, raises nothing; `then` is done in it at its end.

        Raises:
            LedgerTruncated, LedgerDamaged, LedgerUnavailable: nothing may be, or could be, recorded. Where
                only the second place failed the event is recorded, but is not read before that is made good.
        """
        with database.writing(self._engine) as connection:
            check(connection)
            head = reading.newest_head(connection)
            self._trust(connection, head)
            self._agree_with_second_place(connection, head)
            written, signed = self._write(connection, draft, head)
            if then is not None:
                then(connection)
        self._trusted = signed
        with self._lock:
            if self._owed is None or self._owed.sequence < signed.sequence:
                self._owed = signed
        self.settle()
        return written

    def vouch(self, sequence: int) -> None:
        """See that the head of an event is in the second place; done before its answer is told to anybody.

        Another process may have committed it and not lived to write its head. A second place that cannot be
        read as what was signed stops appending, not reading.

        Raises:
            LedgerUnavailable: it is not there, and cannot be written.
        """
        self.settle()
        if sequence <= self._vouched:
            return
        with suppress(LedgerDamaged):
            last = self._heads.last()
            if last is None or last.sequence < sequence:
                with database.reading(self._engine) as connection:
                    self._agree_with_second_place(connection, reading.newest_head(connection))
            self._vouched = max(self._vouched, sequence)

    def settle(self) -> None:
        """Write to the second place what this process owes it.

        Raises:
            LedgerUnavailable: it cannot be written.
        """
        owed = self._owed
        if owed is None:
            return

        def missing(first: int) -> list[SignedHead]:
            with database.reading(self._engine) as connection:
                return reading.heads_from(connection, first)

        self._heads.extend(owed, missing)
        with self._lock:
            if self._owed is owed:
                self._owed = None

    def refusal(self) -> LedgerDamaged | None:
        """Why nothing may be appended; None where something may. Brings the second place up to date.

        Raises:
            KeyRingError: the key that signed the newest event is not in the ring.
            LedgerUnavailable: database or second place do not answer.
        """
        with database.writing(self._engine) as connection:
            try:
                head = reading.newest_head(connection)
                self._trust(connection, head)
                self._agree_with_second_place(connection, head)
            except LedgerDamaged as error:
                return error
        return None

    def acknowledge(self, author: str, note: str) -> Appended:
        """Record which signed heads are lost and go on after them.

        Raises:
            LedgerError: nothing is lost.
        """
        if not isinstance(self.refusal(), LedgerTruncated):
            raise LedgerError("no signed head is missing from the database: there is nothing to acknowledge")
        with database.writing(self._engine) as connection:
            kept = {head.sequence: head.hash for head in reading.heads_from(connection, 1)}
            heads = [line.head for line in self._heads.lines() if line.head is not None]
            common = next((head for head in reversed(heads) if kept.get(head.sequence) == head.hash), None)
            reached = 0 if common is None else common.sequence
            lost = heads[-1]
            fields = {
                "author": author,
                "note": note,
                "common": reached,
                "lost": {"sequence": lost.sequence, "hash": lost.hash.hex()},
            }
            head = reading.newest_head(connection)
            written, _ = self._write(connection, Draft(ACKNOWLEDGEMENT, fields), head)
            signed = reading.heads_from(connection, reached + 1)
        self._heads.append(signed)
        return written[0]

    def _write(
        self, connection: Connection, draft: Draft, head: SignedHead | None
    ) -> tuple[Written, SignedHead]:
        sequence, previous = (1, GENESIS) if head is None else (head.sequence + 1, head.hash)
        moment = self._clock()
        body = draft.body(sequence, timestamp_text(moment))
        signed = sign_head(self._key_ring, sequence, chain_hash(previous, body))
        certificate = self._certificate(draft, signed)
        event = (
            sequence,
            body,
            previous,
            signed.hash,
            signed.key_id,
            signed.signature,
            None if certificate is None else certificate.signature_bytes,
        )
        data = {item.name: item.data for item in draft.attachments}
        attached = [(item.digest, sequence, item.data) for item in draft.attachments]
        rows = rows_of(read_body(body), data.get("boxes"))
        insert_rows(connection, events, [event])
        insert_rows(connection, blobs, attached)
        for table, values in rows.items():
            insert_rows(connection, table, values)
        appended = Appended(sequence, signed.hash.hex(), moment.astimezone(UTC))
        return (appended, certificate), signed

    def _certificate(self, draft: Draft, signed: SignedHead) -> Certificate | None:
        if "answer_digest" not in draft.fields:
            return None
        query, verdict, digest = (draft.fields[name] for name in ("query", "verdict", "answer_digest"))
        return certificates.issue(self._key_ring, signed.sequence, signed.hash, query, verdict, digest)

    def _trust(self, connection: Connection, head: SignedHead | None) -> None:
        """Refuse to build on a head that nobody signed: the next signature would vouch for it."""
        if head is None or head == self._trusted:
            return
        if head.key_id not in self._key_ring.key_ids:
            raise KeyRingError(
                f"event {head.sequence} was signed by key {head.key_id}, which is not in the key ring"
            )
        if not head.is_signed_by(self._key_ring):
            raise LedgerDamaged(f"event {head.sequence}, the newest, is not what was signed")
        mine = self._key_ring.key_id
        if head.key_id != mine:
            by_me = select(events.c.sequence).where(events.c.key_id == mine).limit(1)
            if connection.scalar(by_me) is not None:
                raise KeyRingError(f"key {mine} was replaced by {head.key_id}: restart with the new key ring")
        self._trusted = head

    def _agree_with_second_place(self, connection: Connection, head: SignedHead | None) -> None:
        last = self._heads.last()
        reached = 0 if head is None else head.sequence
        if last is not None:
            if last.sequence > reached:
                raise LedgerTruncated(
                    f"head {last.sequence} was signed ({self._heads.path}), but the database ends at "
                    f"{reached}; restore it, or acknowledge the loss"
                )
            same = head if last.sequence == reached else reading.heads_from(connection, last.sequence)[0]
            if same is None or same.hash != last.hash:
                raise LedgerTruncated(
                    f"event {last.sequence} of the database is not the one whose head was signed "
                    f"({self._heads.path}); restore it, or acknowledge the loss"
                )
        if head is not None:
            self._heads.extend(head, lambda first: reading.heads_from(connection, first))
