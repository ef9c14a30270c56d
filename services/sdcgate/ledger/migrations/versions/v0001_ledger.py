"""The first tables, and the triggers that refuse to change or delete what was appended."""

import sqlalchemy as sa
from alembic import op

from sdcgate.ledger.migrations.append_only import make_append_only

revision = "0001"
down_revision = None

TABLES = (
    "events",
    "blobs",
    "queries",
    "reviews",
    "releases",
    "boxes",
    "registrations",
    "api_keys",
    "api_key_revocations",
)
SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create tables, indexes and triggers."""
    _create_log()
    _create_queries()
    _create_releases()
    _create_keys()
    for table in TABLES:
        make_append_only(table)


def _table(
    name: str, *columns: sa.schema.SchemaItem, key: tuple[str, ...] = ("sequence",), rowid: bool = True
) -> None:
    first = (
        [] if key == ("digest",) else [sa.Column("sequence", SEQUENCE, nullable=False, autoincrement=False)]
    )
    op.create_table(
        name, *first, *columns, sa.PrimaryKeyConstraint(*key, name=f"pk_{name}"), sqlite_with_rowid=rowid
    )


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _bytes(*names: str) -> list[sa.Column[bytes]]:
    return [sa.Column(name, sa.LargeBinary(), nullable=False) for name in names]


def _version() -> sa.Column[int]:
    return sa.Column("version", sa.Integer(), nullable=False)


def _create_log() -> None:
    _table(
        "events",
        *_bytes("body", "previous", "hash"),
        *_text("key_id"),
        *_bytes("signature"),
        sa.Column("certificate", sa.LargeBinary()),
    )
    sequence = sa.Column("sequence", SEQUENCE, nullable=False)
    _table("blobs", *_bytes("digest"), sequence, *_bytes("data"), key=("digest",))
    op.create_index("ix_blobs_sequence", "blobs", ["sequence"])


def _create_queries() -> None:
    canonical = ("source", "version", "canonical_hash", "policy_hash", "scope")
    _table(
        "queries",
        *_text("query_id", "source", "dataset"),
        _version(),
        *_text("canonical_hash", "policy_name", "policy_hash", "scope", "researcher", "project"),
        *_text("verdict", "author", "decided_at"),
        sa.UniqueConstraint("query_id", name="uq_queries_query_id"),
        sa.UniqueConstraint(*canonical, name="uq_queries_canonical"),
    )
    op.create_index("ix_queries_researcher_sequence", "queries", ["researcher", "sequence"])
    _table(
        "reviews",
        *_text("query_id", "verdict", "reviewer", "author", "reviewed_at"),
        sa.UniqueConstraint("query_id", name="uq_reviews_query_id"),
    )


def _create_releases() -> None:
    _table("releases", *_text("query_id", "source", "dataset"), _version(), *_bytes("digest"))
    op.create_index("ix_releases_source_sequence", "releases", ["source", "sequence"])
    _table(
        "boxes",
        sa.Column("position", sa.Integer(), nullable=False, autoincrement=False),
        *_text("source"),
        *_bytes("digest"),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        key=("sequence", "position"),
        rowid=False,
    )
    op.create_index("ix_boxes_source_digest", "boxes", ["source", "digest"])
    _table(
        "registrations",
        *_text("source", "dataset"),
        _version(),
        *_text("content_hash", "author", "registered_at"),
        sa.UniqueConstraint("dataset", "version", name="uq_registrations_dataset_version"),
    )
    op.create_index("ix_registrations_source_sequence", "registrations", ["source", "sequence"])


def _create_keys() -> None:
    _table(
        "api_keys",
        *_text("key_id", "role", "researcher", "label"),
        *_bytes("digest"),
        *_text("created_at", "expires_at"),
        sa.UniqueConstraint("key_id", name="uq_api_keys_key_id"),
    )
    _table(
        "api_key_revocations",
        *_text("key_id", "revoked_at"),
        sa.UniqueConstraint("key_id", name="uq_api_key_revocations_key_id"),
    )
