"""The policies that decided, each once."""

import sqlalchemy as sa
from alembic import op

from sdcgate.ledger.migrations.append_only import make_append_only

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table and its triggers."""
    sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    names = ("policy_hash", "policy_name", "access_level", "recorded_at")
    op.create_table(
        "policies",
        sa.Column("sequence", sequence, nullable=False, autoincrement=False),
        *[sa.Column(name, sa.Text(), nullable=False) for name in names],
        sa.PrimaryKeyConstraint("sequence", name="pk_policies"),
        sa.UniqueConstraint("policy_hash", name="uq_policies_policy_hash"),
    )
    make_append_only("policies")
