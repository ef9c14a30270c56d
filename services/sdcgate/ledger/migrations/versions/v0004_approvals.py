"""First approvals, where two checkers must approve."""

import sqlalchemy as sa
from alembic import op

from sdcgate.ledger.migrations.append_only import make_append_only

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the table and its triggers."""
    sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "approvals",
        sa.Column("sequence", sequence, nullable=False, autoincrement=False),
        *[sa.Column(name, sa.Text(), nullable=False) for name in ("query_id", "reviewer", "approved_at")],
        sa.PrimaryKeyConstraint("sequence", name="pk_approvals"),
        sa.UniqueConstraint("query_id", name="uq_approvals_query_id"),
    )
    make_append_only("approvals")
