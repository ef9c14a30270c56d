"""What the ledger hands out. Bytes that may hold withheld values are hidden from reprs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sdcgate.ledger.certificates import Certificate


@dataclass(frozen=True, slots=True)
class Appended:
    """An event has its place in the chain."""

    sequence: int
    head_hash: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Recorded(Appended):
    """A decision or a review has its place in the chain: now it may be answered."""

    query_id: str
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A query in a list. `verdict` is the one after a review; `decided_at` is that of the first decision."""

    sequence: int
    query_id: str
    source: str
    dataset: str
    version: int
    policy_name: str
    policy_hash: str
    scope: str
    researcher: str
    project: str
    verdict: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class StoredReview:
    """What a checker decided."""

    sequence: int
    reviewer: str
    approve: bool
    note: str = field(repr=False)
    reviewed_at: datetime


@dataclass(frozen=True, slots=True)
class StoredQuery(StoredSummary):
    """A query as it stands: answer, confidential record and certificate are the review's, if there is one."""

    first_verdict: str
    author: str
    request: bytes = field(repr=False)
    answer: bytes = field(repr=False)
    confidential: bytes = field(repr=False)
    checker: bytes | None = field(repr=False)
    """What a checker sees; None where it was not read, or was removed. Of old it is in `confidential`."""
    checker_removed_by: int
    """Retention event that removed it; 0 where none did."""
    certificate: Certificate
    review: StoredReview | None


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """What left of a source, and what was withheld, at one event."""

    sequence: int
    query_id: str
    dataset: str
    version: int
    payload: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredRegistration:
    """A registered version of a dataset."""

    sequence: int
    source: str
    dataset: str
    version: int
    content_hash: str
    author: str
    registered_at: datetime
    descriptor: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as it was signed. `answer` is what it answered, as JSON; None where it answers nothing."""

    sequence: int
    hash: bytes
    body: Mapping[str, Any] = field(repr=False)
    answer: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it was signed: at which event, in which table and column, and what."""

    sequence: int
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Loss:
    """Signed events that are lost: which, and at which event who acknowledged it, in what words."""

    first: int
    last: int
    sequence: int
    author: str
    note: str


@dataclass(frozen=True, slots=True)
class Removed:
    """Attachments that one retention event removed: how many, when (UTC), and who did it."""

    sequence: int
    attachments: int
    recorded_at: str
    author: str


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """What verification found.

    `heads_behind`: newest heads that the second place lacks, as after a crash. `losses`: acknowledged ones,
    and `removed`: what went under retention, which are no faults.
    """

    ok: bool
    events: int
    faults: tuple[Fault, ...]
    heads_behind: int = 0
    losses: tuple[Loss, ...] = ()
    removed: tuple["Removed", ...] = ()
