"""Registered researchers and projects; what API keys are limited to."""

import sqlalchemy as sa
from alembic import op

from sdcgate.ledger.migrations.append_only import make_append_only

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Create the tables and their triggers; keys of before have no limits."""
    _create("admissions", ("admission_id", "subject", "requested_by", "requested_at"))
    op.create_index("ix_admissions_subject", "admissions", ["subject"])
    _create("admission_reviews", ("admission_id", "approved", "reviewer", "reviewed_at"))
    _create("admission_withdrawals", ("admission_id", "withdrawn_at"))
    op.add_column("api_keys", sa.Column("scope", sa.Text(), nullable=False, server_default=""))


def _create(table: str, texts: tuple[str, ...]) -> None:
    sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        table,
        sa.Column("sequence", sequence, nullable=False, autoincrement=False),
        *[sa.Column(name, sa.Text(), nullable=False) for name in texts],
        sa.PrimaryKeyConstraint("sequence", name=f"pk_{table}"),
        sa.UniqueConstraint("admission_id", name=f"uq_{table}_admission_id"),
    )
    make_append_only(table)
