"""The ledger: records decisions, reviews and registrations, and reads them back."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, select

from sdcgate.ledger import database, reading, verification
from sdcgate.ledger.appending import Appender
from sdcgate.ledger.certificates import Certificate
from sdcgate.ledger.chain import GENESIS, Head
from sdcgate.ledger.errors import (
    AllowanceSpent,
    AlreadyAnswered,
    AlreadyRegistered,
    HeadMoved,
    LedgerDamaged,
    LedgerError,
    LedgerTruncated,
    LedgerUnavailable,
    NotReferred,
    SelfReview,
)
from sdcgate.ledger.events import (
    DecisionEvent,
    Draft,
    PolicyEvent,
    RegistrationEvent,
    ReviewEvent,
    draft_decision,
    draft_policy,
    draft_registration,
    draft_review,
)
from sdcgate.ledger.heads import HeadsFile
from sdcgate.ledger.records import (
    Appended,
    Fault,
    Recorded,
    StoredEvent,
    StoredQuery,
    StoredRegistration,
    StoredRelease,
    StoredReview,
    StoredSummary,
    VerificationReport,
)
from sdcgate.ledger.schema import policies, queries, registrations
from sdcgate.ledger.signing import KeyRing
from sdcgate.ledger.spending import Allowance, Spent, require_allowed, spent
from sdcgate.ledger.undecided import require_undecided

__all__ = [
    "Allowance",
    "AllowanceSpent",
    "AlreadyAnswered",
    "AlreadyRegistered",
    "Appended",
    "Fault",
    "Head",
    "HeadMoved",
    "Ledger",
    "LedgerDamaged",
    "LedgerError",
    "LedgerTruncated",
    "LedgerUnavailable",
    "NotReferred",
    "Recorded",
    "SelfReview",
    "Spent",
    "StoredEvent",
    "StoredQuery",
    "StoredRegistration",
    "StoredRelease",
    "StoredReview",
    "StoredSummary",
    "VerificationReport",
]


def _now() -> datetime:
    return datetime.now(UTC)


class Ledger:
    """An append-only, signed record in SQLite or PostgreSQL. Threads may share one."""

    def __init__(
        self, url: str, key_ring: KeyRing, heads_path: Path, *, clock: Callable[[], datetime] = _now
    ) -> None:
        self._engine = database.connect(url)
        self._key_ring = key_ring
        self._heads = HeadsFile(heads_path, key_ring)
        self._clock = clock
        self._appender = Appender(self._engine, key_ring, self._heads, clock)

    def __repr__(self) -> str:
        return f"Ledger({self._engine.url.render_as_string(hide_password=True)!r})"

    @classmethod
    def open(
        cls, url: str, key_ring: KeyRing, heads_path: Path, *, clock: Callable[[], datetime] = _now
    ) -> Self:
        """A ledger ready for use: migrated, and its second place brought up to date after a crash.

        A truncated or damaged ledger opens, to be read and verified; `refusal` says why nothing is appended.

        Raises:
            SchemaUnknown: the database was migrated by a newer sdcgate.
            KeyRingError: the key that signed the newest event is not in the ring.
            LedgerUnavailable: database or second place do not answer.
        """
        ledger = cls(url, key_ring, heads_path, clock=clock)
        ledger.upgrade()
        ledger.refusal()
        return ledger

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def upgrade(self) -> None:
        """Bring the database to the newest migration.

        Raises:
            SchemaUnknown: it is at a migration that this version of sdcgate does not know.
        """
        database.upgrade(self._engine)

    @property
    def key_ring(self) -> KeyRing:
        """The keys that sign."""
        return self._key_ring

    @property
    def serves_one_process(self) -> bool:
        """True on SQLite: a second facility process needs PostgreSQL."""
        return self._engine.dialect.name == "sqlite"

    def now(self) -> datetime:
        """The present moment by the ledger's clock."""
        return self._clock()

    def head(self) -> Head:
        """Where the ledger ends; sequence 0 and a fixed hash where it is empty."""
        with database.reading(self._engine) as connection:
            newest = reading.newest_head(connection)
        return Head(0, GENESIS.hex()) if newest is None else Head(newest.sequence, newest.hash.hex())

    def source_sequence(self, source: str) -> int:
        """Newest event of the source with a release, a withheld cell or a registration; 0 if none."""
        with database.reading(self._engine) as connection:
            return reading.source_sequence(connection, source)

    def append_decision(
        self,
        decision: DecisionEvent,
        expected_source_sequence: int | None,
        allowances: Sequence[Allowance] = (),
    ) -> Recorded:
        """Record a decision that was audited at this sequence of its source.

        None expects nothing and is allowed only where the decision says nothing of the data.

        Raises:
            AlreadyAnswered: the same canonical query has an answer.
            AllowanceSpent: its cells are more than is left of one of the allowances.
            HeadMoved: the source has newer releases than were audited.
            ValueError: fields of the decision are wrong.
            LedgerTruncated, LedgerDamaged, LedgerUnavailable: nothing may be, or could be, recorded.
        """
        draft = draft_decision(decision, expected_source_sequence)
        canonical = {
            queries.c.source: decision.source,
            queries.c.version: decision.version,
            queries.c.canonical_hash: draft.fields["canonical_hash"],
            queries.c.policy_hash: decision.policy_hash,
            queries.c.scope: decision.scope,
        }
        same = select(queries.c.query_id).where(*[column == value for column, value in canonical.items()])
        taken = select(queries.c.sequence).where(queries.c.query_id == decision.query_id)

        def check(connection: Connection) -> None:
            winner = connection.scalar(same)
            if winner is not None:
                raise AlreadyAnswered(winner)
            if connection.scalar(taken) is not None:
                raise ValueError(f"query_id: {decision.query_id} is taken by another query")
            _expect(connection, decision.source, expected_source_sequence)
            require_allowed(connection, allowances, decision.cells or 0)

        return _recorded(decision.query_id, self.append(draft, check))

    def spent(self, allowance: Allowance, newest: str | None = None) -> Spent:
        """What the questions that an allowance counts have cost, up to the id `newest` of a query."""
        with database.reading(self._engine) as connection:
            return spent(connection, allowance, newest)

    def append_review(
        self,
        review: ReviewEvent,
        expected_source_sequence: int | None,
        also: Callable[[Connection], None] | None = None,
    ) -> Recorded:
        """Record a checker's decision on a referred query; one that releases was audited like a decision.

        `also` is looked at in the same transaction, and raises where it must not be recorded.

        Raises:
            NotReferred: the query does not exist, was not referred, or was reviewed already.
            SelfReview: the reviewer asked the query himself.
            HeadMoved, ValueError, LedgerTruncated, LedgerDamaged, LedgerUnavailable: as `append_decision`.
        """
        asked = self.query(review.query_id)
        if asked is None or asked.verdict != "REFERRED":
            raise NotReferred(f"query {review.query_id} is not waiting for a review")
        if review.source != asked.source:
            raise ValueError(f"source: query {review.query_id} is of another source")
        if review.reviewer == asked.researcher or review.author == asked.author:
            raise SelfReview(f"query {review.query_id} must be reviewed by somebody else than who asked it")
        draft = draft_review(review, asked.dataset, asked.version, expected_source_sequence)

        def check(connection: Connection) -> None:
            require_undecided(connection, review.query_id)
            if also is not None:
                also(connection)
            _expect(connection, review.source, expected_source_sequence)

        return _recorded(review.query_id, self.append(draft, check))

    def append_registration(self, registration: RegistrationEvent) -> Appended:
        """Record that a version of a dataset was registered.

        Raises:
            AlreadyRegistered: this version is.
            ValueError, LedgerTruncated, LedgerDamaged, LedgerUnavailable: as `append_decision`.
        """
        draft = draft_registration(registration)

        def check(connection: Connection) -> None:
            done = select(registrations.c.sequence).where(
                registrations.c.dataset == registration.dataset,
                registrations.c.version == registration.version,
            )
            if connection.scalar(done) is not None:
                raise AlreadyRegistered(
                    f"version {registration.version} of {registration.dataset} is registered already"
                )

        return self.append(draft, check)[0]

    def append_policy(self, policy: PolicyEvent) -> None:
        """Record the text of a policy, once for each hash.

        Raises:
            ValueError, LedgerTruncated, LedgerDamaged, LedgerUnavailable: as `append_decision`.
        """
        draft = draft_policy(policy)

        def check(connection: Connection) -> None:
            done = select(policies.c.sequence).where(policies.c.policy_hash == policy.policy_hash)
            if connection.scalar(done) is not None:
                raise _AlreadyRecorded

        try:
            self.append(draft, check)
        except _AlreadyRecorded:
            return

    def policy_text(self, policy_hash: str) -> bytes | None:
        """The text of the policy that a decision names by this hash; None where none was recorded.

        Raises:
            LedgerDamaged: it is not what was signed.
        """
        self._appender.settle()
        with database.reading(self._engine) as connection:
            return reading.policy_text(connection, self._key_ring, policy_hash)

    def find_answer(
        self, source: str, version: int, canonical_hash: str, policy_hash: str, scope: str
    ) -> StoredQuery | None:
        """The answer to the same canonical query under the same policy, where there is one.

        Raises:
            ContentRemoved: there was one, and it was removed under retention.
            LedgerDamaged: there is one, but it is not what was signed.
        """
        asked = {
            "source": source,
            "version": version,
            "canonical_hash": canonical_hash,
            "policy_hash": policy_hash,
            "scope": scope,
        }
        with database.reading(self._engine) as connection:
            found = reading.answer_to(connection, self._key_ring, asked)
        return self._vouched(found)

    def query(self, query_id: str) -> StoredQuery | None:
        """A query as it stands, after its review where there was one, with what its checker sees.

        Raises:
            ContentRemoved: it was there, and was removed under retention.
            LedgerDamaged: it is not what was signed.
        """
        with database.reading(self._engine) as connection:
            found = reading.query_by_id(connection, self._key_ring, query_id)
        return self._vouched(found)

    def _vouched(self, found: StoredQuery | None) -> StoredQuery | None:
        """A query whose head is in the second place: before, nothing of it is told to anybody."""
        if found is not None:
            self._appender.vouch(found.certificate.sequence)
        return found

    def queries(
        self,
        researcher: str | None,
        verdicts: Collection[str],
        limit: int,
        before: str | None = None,
        datasets: Collection[str] = (),
    ) -> list[StoredSummary]:
        """Queries, the newest first: of one researcher or all, of these verdicts or any, older than `before`.

        Of these datasets or any. Empty where `before` is no query.
        """
        with database.reading(self._engine) as connection:
            return reading.summaries(connection, researcher, verdicts, limit, before, datasets)

    def has_query(self, query_id: str) -> bool:
        """Whether there is such a query."""
        with database.reading(self._engine) as connection:
            return reading.is_query(connection, query_id)

    def releases(self, source: str, after_sequence: int = 0) -> list[StoredRelease]:
        """Everything that left or was withheld of a source after a sequence, in order.

        Raises:
            LedgerDamaged: something of it is not what was signed.
        """
        with database.reading(self._engine) as connection:
            return reading.releases_after(connection, self._key_ring, source, after_sequence)

    def box_states(self, source: str, digests: Collection[bytes]) -> dict[bytes, frozenset[int]]:
        """What became of boxes in any release of the source; boxes never released are left out."""
        with database.reading(self._engine) as connection:
            return reading.box_states(connection, source, digests)

    def registrations(self) -> list[StoredRegistration]:
        """All registered versions, in order."""
        with database.reading(self._engine) as connection:
            return reading.all_registrations(connection, self._key_ring)

    def events_after(self, sequence: int, limit: int) -> list[StoredEvent]:
        """Events of all kinds after a sequence, in order, no more than `limit`.

        Raises:
            LedgerDamaged: one is not what was signed.
        """
        with database.reading(self._engine) as connection:
            found = reading.events_after(connection, self._key_ring, sequence, limit)
        if found:
            self._appender.vouch(found[-1].sequence)
        return found

    def verify(self) -> VerificationReport:
        """Rebuild everything from the signed events and compare; see `verification`."""
        # The second place is read first: what is appended meanwhile must not look like a truncation.
        lines = self._heads.lines()
        with database.reading(self._engine, snapshot=True) as connection:
            return verification.verify(connection, self._key_ring, lines)

    def refusal(self) -> str | None:
        """Why nothing may be appended, as the newest head is not what was signed or signed heads are missing.

        None where all is well. Also appends to the second place what a crash kept from it.

        Raises:
            KeyRingError: the key that signed the newest event is not in the ring.
            LedgerUnavailable: database or second place do not answer.
        """
        refusal = self._appender.refusal()
        return None if refusal is None else str(refusal)

    def acknowledge_truncation(self, author: str, note: str) -> Appended:
        """Record that signed events are lost, for ever, and who knows why; appending works again.

        Raises:
            LedgerError: nothing is lost.
        """
        return self._appender.acknowledge(author, note)

    def append(
        self,
        draft: Draft,
        check: Callable[[Connection], None],
        then: Callable[[Connection], None] | None = None,
    ) -> tuple[Appended, Certificate | None]:
        """Record a draft of any kind if `check`, inside the transaction, raises nothing.

        `then` is done in the same transaction after it.

        Raises:
            LedgerTruncated, LedgerDamaged, LedgerUnavailable: nothing may be, or could be, recorded.
        """
        return self._appender.append(draft, check, then)

    def reclaim(self) -> None:
        """Have the database let go, in its files, of what was removed from it."""
        database.reclaim(self._engine)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read what this class has no method for; the reader checks what it reads."""
        with database.reading(self._engine) as connection:
            yield connection


class _AlreadyRecorded(Exception):
    """Ends the transaction of a policy that is recorded already."""


def _expect(connection: Connection, source: str, expected: int | None) -> None:
    current = reading.source_sequence(connection, source)
    if expected is not None and current != expected:
        raise HeadMoved(current)


def _recorded(query_id: str, written: tuple[Appended, Certificate | None]) -> Recorded:
    appended, certificate = written
    assert certificate is not None
    return Recorded(appended.sequence, appended.head_hash, appended.recorded_at, query_id, certificate)
