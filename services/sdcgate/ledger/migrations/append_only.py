"""Triggers that refuse to change or delete what was appended."""

from alembic import op

BLOBS_REMOVABLE = """
    EXISTS (SELECT 1 FROM removals JOIN events ON events.sequence = removals.sequence
            WHERE removals.digest = OLD.digest)
    AND NOT EXISTS (SELECT 1 FROM releases WHERE releases.sequence = OLD.sequence
                    AND releases.digest = OLD.digest)
"""
"""A blob goes only if an event lists it among what it removes, and never if later audits rest on it."""


def make_append_only(table: str) -> None:
    """Make a table append-only, on either database."""
    message = f"the ledger is append-only: {table} cannot be changed or deleted from"
    if op.get_bind().dialect.name == "sqlite":
        for action in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{action.lower()} BEFORE {action} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()"
    )


def let_listed_blobs_go() -> None:
    """Let go, of the table of blobs alone, what a retention event lists; all else is refused as before."""
    message = "the ledger is append-only: blobs cannot be changed, or deleted from but under retention"
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER blobs_no_delete")
        op.execute(
            f"CREATE TRIGGER blobs_no_delete BEFORE DELETE ON blobs WHEN NOT ({BLOBS_REMOVABLE}) "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        )
        return
    op.execute("DROP TRIGGER blobs_append_only ON blobs")
    op.execute(
        "CREATE TRIGGER blobs_append_only BEFORE UPDATE OR TRUNCATE ON blobs "
        "FOR EACH STATEMENT EXECUTE FUNCTION blobs_append_only()"
    )
    op.execute(
        f"CREATE FUNCTION blobs_kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF {BLOBS_REMOVABLE} THEN RETURN OLD; END IF; RAISE EXCEPTION '{message}'; END $$"
    )
    op.execute("CREATE TRIGGER blobs_kept BEFORE DELETE ON blobs FOR EACH ROW EXECUTE FUNCTION blobs_kept()")
