"""The tables. Events and blobs are the ledger; every other table is read from them and can be rebuilt.

No table is ever updated or deleted from (triggers refuse it; of blobs alone those go that a retention event
lists, and that are no release), and none has a foreign key: `verification` compares every row with the signed
events, which says more. Moments are texts in UTC on every database.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite makes only INTEGER PRIMARY KEY the row's own number; it holds 64 bits all the same.
SEQUENCE = BigInteger().with_variant(Integer, "sqlite")


def _sequence() -> Column[int]:
    return Column("sequence", SEQUENCE, primary_key=True, autoincrement=False)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _bytes(name: str) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=False)


def _integer(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


events = Table(
    "events",
    metadata,
    _sequence(),
    _bytes("body"),
    _bytes("previous"),
    _bytes("hash"),
    _text("key_id"),
    _bytes("signature"),
    Column("certificate", LargeBinary),
)

blobs = Table(
    "blobs",
    metadata,
    Column("digest", LargeBinary, primary_key=True),
    Column("sequence", SEQUENCE, nullable=False, index=True),
    _bytes("data"),
)

queries = Table(
    "queries",
    metadata,
    _sequence(),
    _text("query_id"),
    _text("source"),
    _text("dataset"),
    _integer("version"),
    _text("canonical_hash"),
    _text("policy_name"),
    _text("policy_hash"),
    _text("scope"),
    _text("researcher"),
    _text("project"),
    _text("verdict"),
    _text("author"),
    _text("decided_at"),
    Column("cells", Integer, server_default="0"),
    UniqueConstraint("query_id"),
    UniqueConstraint(
        "source", "version", "canonical_hash", "policy_hash", "scope", name="uq_queries_canonical"
    ),
    Index(None, "researcher", "sequence"),
    Index(None, "source", "decided_at"),
)

reviews = Table(
    "reviews",
    metadata,
    _sequence(),
    _text("query_id"),
    _text("verdict"),
    _text("reviewer"),
    _text("author"),
    _text("reviewed_at"),
    UniqueConstraint("query_id"),
)

approvals = Table(
    "approvals",
    metadata,
    _sequence(),
    _text("query_id"),
    _text("reviewer"),
    _text("approved_at"),
    Index(None, "query_id", "sequence"),
)

approvals_taken_back = Table(
    "approvals_taken_back",
    metadata,
    _sequence(),
    _text("query_id"),
    _text("taken_back_at"),
    Index(None, "query_id", "sequence"),
)

comments = Table(
    "comments",
    metadata,
    _sequence(),
    _text("query_id"),
    _text("reviewer"),
    _text("written_at"),
    Index(None, "query_id", "sequence"),
)

releases = Table(
    "releases",
    metadata,
    _sequence(),
    _text("query_id"),
    _text("source"),
    _text("dataset"),
    _integer("version"),
    _bytes("digest"),
    Index(None, "source", "sequence"),
)

boxes = Table(
    "boxes",
    metadata,
    _sequence(),
    Column("position", Integer, primary_key=True, autoincrement=False),
    _text("source"),
    _bytes("digest"),
    Column("state", SmallInteger, nullable=False),
    Index(None, "source", "digest"),
    sqlite_with_rowid=False,
)

registrations = Table(
    "registrations",
    metadata,
    _sequence(),
    _text("source"),
    _text("dataset"),
    _integer("version"),
    _text("content_hash"),
    _text("author"),
    _text("registered_at"),
    UniqueConstraint("dataset", "version"),
    Index(None, "source", "sequence"),
)

policies = Table(
    "policies",
    metadata,
    _sequence(),
    _text("policy_hash"),
    _text("policy_name"),
    _text("access_level"),
    _text("recorded_at"),
    UniqueConstraint("policy_hash"),
)

api_keys = Table(
    "api_keys",
    metadata,
    _sequence(),
    _text("key_id"),
    _text("role"),
    _text("researcher"),
    _text("label"),
    _bytes("digest"),
    _text("created_at"),
    _text("expires_at"),
    Column("scope", Text, nullable=False, server_default=""),
    UniqueConstraint("key_id"),
)

api_key_revocations = Table(
    "api_key_revocations",
    metadata,
    _sequence(),
    _text("key_id"),
    _text("revoked_at"),
    UniqueConstraint("key_id"),
)

admissions = Table(
    "admissions",
    metadata,
    _sequence(),
    _text("admission_id"),
    _text("subject"),
    _text("requested_by"),
    _text("requested_at"),
    UniqueConstraint("admission_id"),
    Index(None, "subject"),
)

admission_reviews = Table(
    "admission_reviews",
    metadata,
    _sequence(),
    _text("admission_id"),
    _text("approved"),
    _text("reviewer"),
    _text("reviewed_at"),
    UniqueConstraint("admission_id"),
)

admission_withdrawals = Table(
    "admission_withdrawals",
    metadata,
    _sequence(),
    _text("admission_id"),
    _text("withdrawn_at"),
    UniqueConstraint("admission_id"),
)

removals = Table(
    "removals",
    metadata,
    _sequence(),
    Column("position", Integer, primary_key=True, autoincrement=False),
    _bytes("digest"),
    UniqueConstraint("digest"),
)

holds = Table(
    "holds",
    metadata,
    _sequence(),
    _text("hold_id"),
    _text("subject"),
    _text("name"),
    _text("added_at"),
    UniqueConstraint("hold_id"),
)

hold_releases = Table(
    "hold_releases",
    metadata,
    _sequence(),
    _text("hold_id"),
    _text("released_at"),
    UniqueConstraint("hold_id"),
)

PROJECTIONS = (
    queries,
    reviews,
    approvals,
    approvals_taken_back,
    comments,
    releases,
    boxes,
    registrations,
    policies,
    api_keys,
    api_key_revocations,
    admissions,
    admission_reviews,
    admission_withdrawals,
    removals,
    holds,
    hold_releases,
)
APPEND_ONLY = (events, blobs, *PROJECTIONS)
