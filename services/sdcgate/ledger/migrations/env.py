"""Runs migrations on the connection that `database.upgrade` passes in, inside its transaction."""

from alembic import context

from sdcgate.ledger.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
