"""What each query cost, for budgets."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; queries of before cost no cells."""
    op.add_column("queries", sa.Column("cells", sa.Integer(), server_default="0"))
    op.create_index("ix_queries_source_decided_at", "queries", ["source", "decided_at"])
