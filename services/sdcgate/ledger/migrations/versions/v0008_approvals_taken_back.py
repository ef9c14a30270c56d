"""First approvals that were taken back, so that a query may have several."""

import sqlalchemy as sa
from alembic import op

from sdcgate.ledger.migrations.append_only import make_append_only

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Let a query have several approvals, then create the table of those taken back and its triggers."""
    if op.get_bind().dialect.name == "sqlite":
        # SQLite drops a constraint with its table only, and the triggers with both.
        with op.batch_alter_table("approvals", recreate="always") as table:
            table.drop_constraint("uq_approvals_query_id", type_="unique")
        make_append_only("approvals")
    else:
        op.drop_constraint("uq_approvals_query_id", "approvals", type_="unique")
    op.create_index("ix_approvals_query_id_sequence", "approvals", ["query_id", "sequence"])
    sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "approvals_taken_back",
        sa.Column("sequence", sequence, nullable=False, autoincrement=False),
        *[sa.Column(name, sa.Text(), nullable=False) for name in ("query_id", "taken_back_at")],
        sa.PrimaryKeyConstraint("sequence", name="pk_approvals_taken_back"),
    )
    op.create_index(
        "ix_approvals_taken_back_query_id_sequence", "approvals_taken_back", ["query_id", "sequence"]
    )
    make_append_only("approvals_taken_back")
