"""Reading what was recorded. Nothing is handed out unless it is what was signed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, bindparam, exists, func, select, union_all

from sdcgate.ledger import certificates
from sdcgate.ledger.certificates import Certificate
from sdcgate.ledger.chain import SignedHead, chain_hash
from sdcgate.ledger.errors import ContentRemoved, LedgerDamaged
from sdcgate.ledger.events import (
    CHECKER,
    NOTE,
    RETENTION,
    attachment_digest,
    policy_hash,
    read_body,
    timestamp_of,
)
from sdcgate.ledger.records import (
    StoredEvent,
    StoredQuery,
    StoredRegistration,
    StoredRelease,
    StoredReview,
    StoredSummary,
)
from sdcgate.ledger.schema import (
    blobs,
    boxes,
    events,
    policies,
    queries,
    registrations,
    releases,
    removals,
    reviews,
)
from sdcgate.ledger.signing import KeyRing

Row_ = Row[Any]
_MANY = 500

_BLOBS = select(blobs.c.digest, blobs.c.data).where(blobs.c.digest.in_(bindparam("digests", expanding=True)))
_HEADS = select(events.c.sequence, events.c.hash, events.c.key_id, events.c.signature)
_NEWEST = _HEADS.order_by(events.c.sequence.desc()).limit(1)
_HEADS_FROM = _HEADS.where(events.c.sequence >= bindparam("sequence")).order_by(events.c.sequence)
_SOURCE = union_all(
    select(func.max(releases.c.sequence)).where(releases.c.source == bindparam("source")),
    select(func.max(registrations.c.sequence)).where(registrations.c.source == bindparam("source")),
)
_REVIEWED = events.alias("reviewed")
_QUERIES = (
    select(
        events,
        *[column.label(f"reviewed_{column.name}") for column in _REVIEWED.c],
    )
    .select_from(queries)
    .join(events, events.c.sequence == queries.c.sequence)
    .outerjoin(reviews, reviews.c.query_id == queries.c.query_id)
    .outerjoin(_REVIEWED, _REVIEWED.c.sequence == reviews.c.sequence)
)
_QUERY = _QUERIES.where(queries.c.query_id == bindparam("query_id"))
_ANSWER = _QUERIES.where(
    queries.c.source == bindparam("source"),
    queries.c.version == bindparam("version"),
    queries.c.canonical_hash == bindparam("canonical_hash"),
    queries.c.policy_hash == bindparam("policy_hash"),
    queries.c.scope == bindparam("scope"),
)
_RELEASES = (
    select(events, blobs.c.data)
    .select_from(releases)
    .join(events, events.c.sequence == releases.c.sequence)
    .outerjoin(blobs, blobs.c.digest == releases.c.digest)
    .where(releases.c.source == bindparam("source"), releases.c.sequence > bindparam("after"))
    .order_by(releases.c.sequence)
)
_POLICY = (
    select(events)
    .join(policies, policies.c.sequence == events.c.sequence)
    .where(policies.c.policy_hash == bindparam("policy_hash"))
)
_REGISTRATIONS = (
    select(events)
    .join(registrations, registrations.c.sequence == events.c.sequence)
    .order_by(events.c.sequence)
)
_EVENTS_AFTER = (
    select(events)
    .where(events.c.sequence > bindparam("after"))
    .order_by(events.c.sequence)
    .limit(bindparam("limit"))
)
_REMOVAL = (
    select(events)
    .join(removals, removals.c.sequence == events.c.sequence)
    .where(removals.c.digest == bindparam("digest"))
)
_BOX_STATES = select(boxes.c.digest, boxes.c.state).where(
    boxes.c.source == bindparam("source"), boxes.c.digest.in_(bindparam("digests", expanding=True))
)


@dataclass(frozen=True, slots=True)
class Event:
    """An event whose hash and signature hold."""

    sequence: int
    body: Mapping[str, Any] = field(repr=False)
    certificate: Certificate | None

    def attachment(self, name: str, data: bytes | None) -> bytes:
        """The attachment's bytes, if they are those that the event signs for.

        Raises:
            LedgerDamaged: they are not, or are missing.
        """
        signed = self.body["attachments"][name]
        if data is None or attachment_digest(bytes.fromhex(signed["salt"]), data).hex() != signed["digest"]:
            raise LedgerDamaged(f"event {self.sequence}: its {name} is missing or not what was signed")
        return data

    def digest(self, name: str) -> bytes:
        """Where the attachment is stored."""
        return bytes.fromhex(self.body["attachments"][name]["digest"])

    def signed_certificate(self) -> Certificate:
        """The certificate of a decision or review.

        Raises:
            LedgerDamaged: the event has lost it.
        """
        if self.certificate is None:
            raise LedgerDamaged(f"event {self.sequence}: its certificate is missing")
        return self.certificate


def certificate_of(row: Mapping[str, Any], body: Mapping[str, Any]) -> Certificate:
    """The certificate that a row of the table of events holds."""
    unsigned = Certificate(
        row["sequence"],
        row["hash"].hex(),
        body["query"],
        body["verdict"],
        body["answer_digest"],
        row["key_id"],
        "",
    )
    return certificates.stored(unsigned, row["certificate"])


def read_event(row: Mapping[str, Any], key_ring: KeyRing) -> Event:
    """The event of a row.

    Raises:
        LedgerDamaged: hash, signature or certificate do not hold.
    """
    sequence = row["sequence"]
    certificate = None
    try:
        body = read_body(row["body"])
        whole = body["sequence"] == sequence and chain_hash(row["previous"], row["body"]) == row["hash"]
        # A certificate signs the head too, so that one signature is enough.
        if row["certificate"] is not None:
            certificate = certificate_of(row, body)
            whole = whole and certificate.is_signed_by(key_ring)
        else:
            whole = whole and head_of(row).is_signed_by(key_ring)
    except (ValueError, KeyError):
        whole = False
    if not whole:
        raise LedgerDamaged(f"event {sequence} is not what was signed; run: sdcgate ledger verify")
    return Event(sequence, body, certificate)


def head_of(row: Mapping[str, Any]) -> SignedHead:
    """The signed head of a row of the table of events."""
    return SignedHead(row["sequence"], row["hash"], row["key_id"], row["signature"])


def event_rows(connection: Connection) -> Iterator[Mapping[str, Any]]:
    """All rows of the table of events, in order."""
    after = 0
    while rows := connection.execute(_EVENTS_AFTER, {"after": after, "limit": _MANY}).mappings().all():
        yield from (dict(row) for row in rows)
        after = rows[-1]["sequence"]


def newest_head(connection: Connection) -> SignedHead | None:
    """Where the ledger ends; None where it is empty."""
    row = connection.execute(_NEWEST).mappings().one_or_none()
    return None if row is None else head_of(dict(row))


def heads_from(connection: Connection, sequence: int) -> list[SignedHead]:
    """Signed heads from a sequence on."""
    rows = connection.execute(_HEADS_FROM, {"sequence": sequence}).mappings()
    return [head_of(dict(row)) for row in rows]


def source_sequence(connection: Connection, source: str) -> int:
    """Newest event of a source that says something of it; 0 where there is none."""
    found = connection.execute(_SOURCE, {"source": source}).scalars()
    return max((sequence for sequence in found if sequence is not None), default=0)


def query_by_id(connection: Connection, key_ring: KeyRing, query_id: str) -> StoredQuery | None:
    """A query as it stands."""
    row = connection.execute(_QUERY, {"query_id": query_id}).one_or_none()
    return _stored(connection, key_ring, row, whole=True)


def answer_to(connection: Connection, key_ring: KeyRing, asked: Mapping[str, Any]) -> StoredQuery | None:
    """The answer to the same canonical query, where there is one."""
    row = connection.execute(_ANSWER, asked).one_or_none()
    return _stored(connection, key_ring, row, whole=False)


def attached(connection: Connection, key_ring: KeyRing, event: Event, *names: str) -> list[bytes]:
    """Attachments of an event, in the order of their names.

    Raises:
        ContentRemoved: one was removed under retention.
        LedgerDamaged: one is missing, or is not what was signed.
    """
    stored = _data(connection, [event.digest(name) for name in names])
    found = []
    for name in names:
        data = stored.get(event.digest(name))
        if data is None and (removal := removal_of(connection, key_ring, event.digest(name))):
            raise ContentRemoved(event.sequence, removal)
        found.append(event.attachment(name, data))
    return found


def words(connection: Connection, key_ring: KeyRing, event: Event, name: str) -> str:
    """What somebody wrote: an attachment, or a field of events from before; empty where it was removed.

    Raises:
        LedgerDamaged: it is missing, or is not what was signed.
    """
    if name not in event.body["attachments"]:
        return str(event.body.get(name, ""))
    try:
        return attached(connection, key_ring, event, name)[0].decode()
    except ContentRemoved:
        return ""


def removal_of(connection: Connection, key_ring: KeyRing, digest: bytes) -> int:
    """The retention event that removed what was stored under a digest; 0 where none did.

    Raises:
        LedgerDamaged: the event is not what was signed.
    """
    row = connection.execute(_REMOVAL, {"digest": digest}).mappings().one_or_none()
    if row is None:
        return 0
    # A row in a table removes nothing: the signed event must say so.
    body = read_event(dict(row), key_ring).body
    listed = body["kind"] == RETENTION and any(item["digest"] == digest.hex() for item in body["removed"])
    return int(body["sequence"]) if listed else 0


def _stored(
    connection: Connection, key_ring: KeyRing, row: Row_ | None, *, whole: bool
) -> StoredQuery | None:
    if row is None:
        return None
    values = dict(row._mapping)
    decided = read_event(values, key_ring)
    reviewed = _reviewed(values, key_ring, decided)
    current = reviewed or decided
    summary = _summary(decided.body, current.body["verdict"])
    try:
        (request,) = attached(connection, key_ring, decided, "request")
        answer, confidential = attached(connection, key_ring, current, "answer", "confidential")
    except ContentRemoved as removed:
        raise ContentRemoved(removed.sequence, removed.event, StoredSummary(**summary)) from None
    checker, removed_by = _checker(connection, key_ring, current) if whole else (None, 0)
    return StoredQuery(
        **summary,
        first_verdict=decided.body["verdict"],
        author=decided.body["author"],
        request=request,
        answer=answer,
        confidential=confidential,
        checker=checker,
        checker_removed_by=removed_by,
        certificate=current.signed_certificate(),
        review=None if reviewed is None else _review(connection, key_ring, reviewed),
    )


def _checker(connection: Connection, key_ring: KeyRing, event: Event) -> tuple[bytes | None, int]:
    if CHECKER not in event.body["attachments"]:
        return None, 0
    try:
        return attached(connection, key_ring, event, CHECKER)[0], 0
    except ContentRemoved as removed:
        return None, removed.event


def _reviewed(values: Mapping[str, Any], key_ring: KeyRing, decided: Event) -> Event | None:
    if values["reviewed_sequence"] is None:
        return None
    row = {
        name.removeprefix("reviewed_"): value
        for name, value in values.items()
        if name.startswith("reviewed_")
    }
    reviewed = read_event(row, key_ring)
    if reviewed.body["query"] != decided.body["query"]:
        raise LedgerDamaged(f"event {reviewed.sequence} reviews another query; run: sdcgate ledger verify")
    return reviewed


def _review(connection: Connection, key_ring: KeyRing, event: Event) -> StoredReview:
    body, note = event.body, words(connection, key_ring, event, NOTE)
    return StoredReview(
        event.sequence, body["reviewer"], body["approve"], note, timestamp_of(body["recorded_at"])
    )


def _summary(body: Mapping[str, Any], verdict: str) -> dict[str, Any]:
    names = ("sequence", "source", "dataset", "version", "scope", "researcher", "project")
    return {
        **{name: body[name] for name in names},
        "query_id": body["query"],
        "policy_name": body["policy"]["name"],
        "policy_hash": body["policy"]["hash"],
        "verdict": verdict,
        "decided_at": timestamp_of(body["recorded_at"]),
    }


def _data(connection: Connection, digests: Sequence[bytes]) -> dict[bytes, bytes]:
    return {row.digest: row.data for row in connection.execute(_BLOBS, {"digests": list(digests)})}


def summaries(
    connection: Connection,
    researcher: str | None,
    verdicts: Collection[str],
    limit: int,
    before: str | None,
    datasets: Collection[str],
) -> list[StoredSummary]:
    """Queries, the newest first; of any dataset where none is named."""
    verdict = func.coalesce(reviews.c.verdict, queries.c.verdict)
    names = [name for name in StoredSummary.__dataclass_fields__ if name not in {"verdict", "decided_at"}]
    statement = (
        select(*[queries.c[name] for name in names], queries.c.decided_at, verdict.label("verdict"))
        .outerjoin(reviews, reviews.c.query_id == queries.c.query_id)
        .order_by(queries.c.sequence.desc())
        .limit(limit)
    )
    if researcher is not None:
        statement = statement.where(queries.c.researcher == researcher)
    if verdicts:
        statement = statement.where(verdict.in_(sorted(verdicts)))
    if datasets:
        statement = statement.where(queries.c.dataset.in_(sorted(datasets)))
    if before is not None:
        earlier = select(queries.c.sequence).where(queries.c.query_id == before).scalar_subquery()
        statement = statement.where(queries.c.sequence < earlier)
    rows = connection.execute(statement).mappings()
    return [StoredSummary(**{**row, "decided_at": timestamp_of(row["decided_at"])}) for row in rows]


def is_query(connection: Connection, query_id: str) -> bool:
    """Whether there is such a query."""
    return bool(connection.scalar(select(exists().where(queries.c.query_id == query_id))))


def releases_after(connection: Connection, key_ring: KeyRing, source: str, after: int) -> list[StoredRelease]:
    """What left of a source after a sequence, in order."""
    found = []
    for row in connection.execute(_RELEASES, {"source": source, "after": after}).mappings():
        event = read_event(dict(row), key_ring)
        body = event.body
        payload = event.attachment("release", row["data"])
        found.append(StoredRelease(event.sequence, body["query"], body["dataset"], body["version"], payload))
    return found


def all_registrations(connection: Connection, key_ring: KeyRing) -> list[StoredRegistration]:
    """Registered versions, in order."""
    found = []
    for row in connection.execute(_REGISTRATIONS).mappings().all():
        event = read_event(dict(row), key_ring)
        body = event.body
        digest = event.digest("descriptor")
        descriptor = event.attachment("descriptor", _data(connection, [digest]).get(digest))
        found.append(
            StoredRegistration(
                event.sequence,
                body["source"],
                body["dataset"],
                body["version"],
                body["content_hash"],
                body["author"],
                timestamp_of(body["recorded_at"]),
                descriptor,
            )
        )
    return found


def events_after(connection: Connection, key_ring: KeyRing, after: int, limit: int) -> list[StoredEvent]:
    """Events of all kinds after a sequence, in order, no more than `limit`.

    Raises:
        LedgerDamaged: one is not what was signed, or is missing between the others.
    """
    rows = connection.execute(_EVENTS_AFTER, {"after": after, "limit": limit}).mappings().all()
    found = []
    for expected, row in enumerate(rows, start=after + 1):
        event = read_event(dict(row), key_ring)
        if event.sequence != expected:
            raise LedgerDamaged(f"event {expected} is missing; run: sdcgate ledger verify")
        answer = None
        if "answer" in event.body["attachments"]:
            with suppress(ContentRemoved):
                answer = attached(connection, key_ring, event, "answer")[0]
        found.append(StoredEvent(event.sequence, row["hash"], event.body, answer))
    return found


def policy_text(connection: Connection, key_ring: KeyRing, wanted: str) -> bytes | None:
    """The text of the policy with this hash; None where none was recorded."""
    row = connection.execute(_POLICY, {"policy_hash": wanted}).mappings().one_or_none()
    if row is None:
        return None
    event = read_event(dict(row), key_ring)
    digest = event.digest("policy")
    text = event.attachment("policy", _data(connection, [digest]).get(digest))
    if policy_hash(text) != wanted:
        raise LedgerDamaged(f"event {event.sequence} is of another policy; run: sdcgate ledger verify")
    return text


def box_states(
    connection: Connection, source: str, digests: Collection[bytes]
) -> dict[bytes, frozenset[int]]:
    """What became of boxes, in any release of the source; boxes never released are left out."""
    found: dict[bytes, set[int]] = {}
    wanted = list(digests)
    for start in range(0, len(wanted), _MANY):
        part = {"source": source, "digests": wanted[start : start + _MANY]}
        for row in connection.execute(_BOX_STATES, part):
            found.setdefault(row.digest, set()).add(row.state)
    return {digest: frozenset(states) for digest, states in found.items()}
