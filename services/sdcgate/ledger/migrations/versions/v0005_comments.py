"""Comments of checkers on referred queries."""

import sqlalchemy as sa
from alembic import op

from sdcgate.ledger.migrations.append_only import make_append_only

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the table, its index and its triggers."""
    sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "comments",
        sa.Column("sequence", sequence, nullable=False, autoincrement=False),
        *[sa.Column(name, sa.Text(), nullable=False) for name in ("query_id", "reviewer", "written_at")],
        sa.PrimaryKeyConstraint("sequence", name="pk_comments"),
    )
    op.create_index("ix_comments_query_id_sequence", "comments", ["query_id", "sequence"])
    make_append_only("comments")
