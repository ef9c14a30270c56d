"""What was removed under retention, and legal holds that keep something from it."""

import sqlalchemy as sa
from alembic import op

from sdcgate.ledger.migrations.append_only import let_listed_blobs_go, make_append_only

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the tables and their triggers, then let the blobs go that are listed."""
    op.create_table(
        "removals",
        _sequence(),
        sa.Column("position", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", "position", name="pk_removals"),
        sa.UniqueConstraint("digest", name="uq_removals_digest"),
    )
    make_append_only("removals")
    _create("holds", ("hold_id", "subject", "name", "added_at"))
    _create("hold_releases", ("hold_id", "released_at"))
    let_listed_blobs_go()


def _create(table: str, texts: tuple[str, ...]) -> None:
    op.create_table(
        table,
        _sequence(),
        *[sa.Column(name, sa.Text(), nullable=False) for name in texts],
        sa.PrimaryKeyConstraint("sequence", name=f"pk_{table}"),
        sa.UniqueConstraint("hold_id", name=f"uq_{table}_hold_id"),
    )
    make_append_only(table)


def _sequence() -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column("sequence", kind, nullable=False, autoincrement=False)
