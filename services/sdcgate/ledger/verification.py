"""Verification: everything is rebuilt from the signed events and compared; every difference has a place.

Events: no gap, exact bytes against hash, hash against the event before, signature, certificate, keys that do
not come back after they were replaced. Blobs: all there, as signed, none more, but for those that a later
event removed under retention, which must be gone. Projections: the rows that the event makes, none other.
Second place: its heads are the events' heads, and none goes beyond the end.
Messages name columns, never values.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, select

from sdcgate.ledger.chain import GENESIS, chain_hash
from sdcgate.ledger.events import ACKNOWLEDGEMENT, RETENTION, attachment_digest, read_body
from sdcgate.ledger.heads import HeadLine
from sdcgate.ledger.projections import Row, rows_of
from sdcgate.ledger.reading import certificate_of, head_of
from sdcgate.ledger.records import Fault, Loss, Removed, VerificationReport
from sdcgate.ledger.removable import may_be_removed
from sdcgate.ledger.schema import PROJECTIONS, blobs, events, removals
from sdcgate.ledger.signing import KeyRing

CHUNK = 16
_FIRST = -(2**63)
_LAST = 2**63 - 1

StoredBlobs = dict[bytes, tuple[int, bytes]]
"""Sequence and bytes of each blob, by digest."""


def verify(connection: Connection, key_ring: KeyRing, heads: Sequence[HeadLine]) -> VerificationReport:
    """Check all that a connection sees, in one transaction, against the signatures and the second place."""
    chain, removals = _Chain(key_ring), _Removals(connection)
    faults: list[Fault] = []
    low, events_seen = _FIRST, 0
    while True:
        rows = _chunk(connection, low)
        high = rows[-1]["sequence"] if len(rows) == CHUNK else _LAST
        stored = _stored_blobs(connection, low, high)
        expected: dict[Table, list[Row]] = {table: [] for table in PROJECTIONS}
        for row in rows:
            found = chain.check(row)
            body = chain.body
            if body is not None:
                found += _check_attachments(body, stored, removals)
                data = _taken(body, stored)
                if all(fault.sequence != body["sequence"] for fault in found):
                    found += _expect_rows(body, data.get("boxes"), expected)
            faults += found
        events_seen += len(rows)
        faulty = {fault.sequence for fault in faults}
        faults += [
            Fault(sequence, "blobs", "a blob that no event holds")
            for sequence, _ in stored.values()
            if sequence not in faulty
        ]
        faults += _check_projections(connection, low, high, expected, faulty)
        if high == _LAST:
            break
        low = high + 1
    faults += removals.faults(chain.removals)
    behind, found = _check_heads(heads, chain, key_ring)
    faulty = {fault.sequence for fault in faults if fault.place.startswith("events")}
    faults += [fault for fault in found if fault.sequence not in faulty]
    faults.sort(key=lambda fault: fault.sequence)
    losses = tuple(_loss(body) for body in chain.acknowledgements)
    removed = tuple(map(_removed, chain.removals))
    return VerificationReport(not faults, events_seen, tuple(faults), behind, losses, removed)


def _loss(body: Mapping[str, Any]) -> Loss:
    lost = body["lost"]["sequence"]
    return Loss(body["common"] + 1, lost, body["sequence"], body["author"], body["note"])


def _removed(body: Mapping[str, Any]) -> Removed:
    return Removed(body["sequence"], len(body["removed"]), body["recorded_at"], body["author"])


class _Removals:
    """What is not at its place, until all events that remove something have been seen."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._absent: dict[bytes, Fault] = {}

    def absent(self, digest: bytes, fault: Fault) -> None:
        """An attachment that may be removed is not there."""
        self._absent[digest] = fault

    def faults(self, recorded: Sequence[Mapping[str, Any]]) -> list[Fault]:
        """What is missing and was not removed, or was removed and is there."""
        listed = {bytes.fromhex(item["digest"]) for body in recorded for item in body["removed"]}
        # The rows of an event that is no longer as it was signed: its own fault tells of it.
        listed |= set(self._connection.scalars(select(removals.c.digest)))
        faults = [fault for digest, fault in self._absent.items() if digest not in listed]
        left = select(blobs.c.sequence).join(removals, removals.c.digest == blobs.c.digest)
        faults += [
            Fault(sequence, "blobs", "there, though it was removed under retention")
            for sequence in self._connection.scalars(left)
        ]
        return faults


class _Chain:
    """Walks along the events; after a fault it goes on from what is stored, so that each fault shows once."""

    def __init__(self, key_ring: KeyRing) -> None:
        self._key_ring = key_ring
        self._next = 1
        self._previous = {GENESIS}
        self._key_id = ""
        self._retired: set[str] = set()
        self._misplaced = False
        self.hashes: dict[int, bytes] = {}
        self.acknowledgements: list[Mapping[str, Any]] = []
        self.removals: list[Mapping[str, Any]] = []
        self.body: dict[str, Any] | None = None
        """The event checked last, where its bytes are what was signed."""

    @property
    def newest(self) -> int:
        """Sequence of the newest event."""
        return self._next - 1

    def check(self, row: Mapping[str, Any]) -> list[Fault]:
        sequence = row["sequence"]
        faults, self.body, self._misplaced = [], None, False
        if sequence < 1:
            return [Fault(sequence, "events.sequence", "an event before the first")]
        if sequence > self._next:
            faults.append(_missing(self._next, sequence - 1))
            self._previous = set()
        faults += [Fault(sequence, *found) for found in self._differences(row)]
        computed = chain_hash(row["previous"], row["body"])
        self._previous = set() if self._misplaced else {row["hash"], computed}
        self._next = sequence + 1
        self.hashes[sequence] = row["hash"]
        if self.body is not None and self.body["kind"] == ACKNOWLEDGEMENT:
            self.acknowledgements.append(self.body)
        if self.body is not None and self.body["kind"] == RETENTION:
            self.removals.append(self.body)
        return faults

    def _differences(self, row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        try:
            body = read_body(row["body"])
        except ValueError:
            yield "events.body", "altered: not the bytes of an event"
            return
        if body.get("sequence") != row["sequence"]:
            self._misplaced = True
            yield "events", "another event stands in this one's place"
            return
        true_hashes = {chain_hash(previous, row["body"]) for previous in self._previous | {row["previous"]}}
        if row["hash"] not in true_hashes:
            # The signature says which of the two is what was written.
            column = "body" if head_of(row).is_signed_by(self._key_ring) else "hash"
            yield f"events.{column}", "altered: bytes and hash do not belong together"
            return
        if self._previous and row["previous"] not in self._previous:
            yield "events.previous", "altered: not the hash of the event before"
        if row["key_id"] not in self._key_ring.key_ids:
            yield "events.key_id", "the key that signed is not in the key ring"
            return
        if not head_of(row).is_signed_by(self._key_ring):
            yield "events.signature", "the signature does not hold"
            return
        if (row["certificate"] is not None) != ("answer_digest" in body):
            yield "events.certificate", "missing, or of an event that gives no answer"
        elif row["certificate"] is not None and not certificate_of(row, body).is_signed_by(self._key_ring):
            yield "events.certificate", "the signature of the certificate does not hold"
        yield from self._key_comes_back(row["key_id"])
        # Only what was signed is read any further.
        self.body = body

    def _key_comes_back(self, key_id: str) -> Iterator[tuple[str, str]]:
        if key_id != self._key_id:
            self._retired.add(self._key_id)
            self._key_id = key_id
            if key_id in self._retired:
                yield "events.key_id", "signed by a key that had been replaced before"


def _missing(first: int, last: int) -> Fault:
    which = f"event {first} is" if first == last else f"events {first} to {last} are"
    return Fault(first, "events", f"{which} missing")


def _chunk(connection: Connection, low: int) -> list[Mapping[str, Any]]:
    statement = select(events).where(events.c.sequence >= low).order_by(events.c.sequence).limit(CHUNK)
    return [dict(row) for row in connection.execute(statement).mappings()]


def _stored_blobs(connection: Connection, low: int, high: int) -> StoredBlobs:
    statement = select(blobs).where(blobs.c.sequence.between(low, high))
    return {row.digest: (row.sequence, row.data) for row in connection.execute(statement)}


def _check_attachments(body: Mapping[str, Any], stored: StoredBlobs, removals: _Removals) -> list[Fault]:
    """Compare an event's attachments with what is stored; each fault once."""
    faults = []
    sequence = body["sequence"]
    for name, signed in body["attachments"].items():
        digest = bytes.fromhex(signed["digest"])
        found = stored.get(digest)
        if found is None or found[0] != sequence:
            fault = Fault(sequence, f"blobs ({name})", "missing from its place")
            if found is None and may_be_removed(body["kind"], name):
                removals.absent(digest, fault)
            else:
                faults.append(fault)
        elif attachment_digest(bytes.fromhex(signed["salt"]), found[1]) != digest:
            faults.append(Fault(sequence, f"blobs.data ({name})", "altered: not the bytes that were signed"))
    return faults


def _taken(body: Mapping[str, Any], stored: StoredBlobs) -> dict[str, bytes]:
    """An event's attachments by name, taken from `stored`: what stays there no event holds."""
    nothing = (0, b"")
    return {
        name: stored.pop(bytes.fromhex(signed["digest"]), nothing)[1]
        for name, signed in body["attachments"].items()
    }


def _expect_rows(
    body: Mapping[str, Any], packed_boxes: bytes | None, expected: dict[Table, list[Row]]
) -> list[Fault]:
    """Add the rows that the event makes to `expected`."""
    try:
        for table, rows in rows_of(body, packed_boxes).items():
            expected[table] += rows
    except (ValueError, KeyError):
        return [Fault(body["sequence"], "events.body", "its rows cannot be rebuilt")]
    return []


def _check_projections(
    connection: Connection, low: int, high: int, expected: dict[Table, list[Row]], faulty: set[int]
) -> list[Fault]:
    faults = []
    for table in PROJECTIONS:
        keys = len(table.primary_key.columns)
        statement = select(table).where(table.c.sequence.between(low, high))
        found: dict[Row, Row] = {row[:keys]: tuple(row) for row in connection.execute(statement)}
        wanted = {row[:keys]: row for row in expected[table]}
        for key in sorted(found.keys() | wanted.keys()):
            if key[0] not in faulty and found.get(key) != wanted.get(key):
                faults.append(Fault(key[0], *_difference(table, found.get(key), wanted.get(key))))
    return faults


def _difference(table: Table, found: Row | None, wanted: Row | None) -> tuple[str, str]:
    if found is None:
        return table.name, "a row is missing"
    if wanted is None:
        return table.name, "a row that no event made"
    names = [column.name for column in table.columns]
    altered = [name for name, old, new in zip(names, wanted, found, strict=True) if old != new]
    return f"{table.name}.{altered[0]}", f"altered: {', '.join(altered)}"


def _check_heads(lines: Sequence[HeadLine], chain: _Chain, key_ring: KeyRing) -> tuple[int, list[Fault]]:
    """Heads that the second place lacks at its end, and faults."""
    faults, kept = [], list[HeadLine]()
    for line in lines:
        before = kept[-1].head if kept else None
        reached = before.sequence if before else 0
        place = f"heads line {line.number}"
        if line.head is None or not line.head.is_signed_by(key_ring):
            faults.append(Fault(reached + 1, place, "altered: not a head that was signed"))
            continue
        sequence = line.head.sequence
        if before and sequence <= reached:
            if not _acknowledged(chain, before.sequence, before.hash, sequence - 1):
                faults.append(Fault(sequence, place, "the heads go back without an acknowledged loss"))
            kept = [old for old in kept if old.head and old.head.sequence < sequence]
        kept.append(line)
    faults += _compare_heads(kept, chain, {fault.sequence for fault in faults})
    reached = kept[-1].head.sequence if kept and kept[-1].head else 0
    return max(0, chain.newest - reached), faults


def _acknowledged(chain: _Chain, sequence: int, head_hash: bytes, common: int) -> bool:
    lost = {"sequence": sequence, "hash": head_hash.hex()}
    return any(body["lost"] == lost and body["common"] == common for body in chain.acknowledgements)


def _compare_heads(kept: Sequence[HeadLine], chain: _Chain, faulty: set[int]) -> list[Fault]:
    faults, reached = [], 0
    for line in kept:
        if line.head is None:
            continue
        sequence, place = line.head.sequence, f"heads line {line.number}"
        if sequence > reached + 1 and reached + 1 not in faulty:
            faults.append(Fault(reached + 1, place, "heads before it are missing"))
        reached = sequence
        if sequence in chain.hashes and chain.hashes[sequence] != line.head.hash:
            faults.append(Fault(sequence, place, "another event than the one whose head was signed"))
    if reached > chain.newest:
        faults.append(_missing(chain.newest + 1, reached))
    return faults
