import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from sdcgate.ledger import database
from sdcgate.ledger.errors import SchemaUnknown
from sdcgate.ledger.ledger import Ledger, LedgerUnavailable
from sdcgate.ledger.schema import metadata


def test_the_migrations_make_exactly_the_tables_of_the_schema(ledger):
    with ledger.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_upgrading_again_changes_nothing(ledger, make_decision):
    ledger.append_decision(make_decision(), 0)
    ledger.upgrade()
    assert ledger.verify().events == 1
    assert database.migration_of(ledger._engine) == database.newest_migration()


def test_a_database_of_a_newer_sdcgate_is_refused_with_a_way_out(open_ledger):
    with open_ledger()._engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999'"))
    with pytest.raises(SchemaUnknown, match=r"at migration 0999.*start the newer sdcgate"):
        open_ledger()


def test_a_url_of_another_database_is_refused(key_ring, heads_path):
    for url in ("mysql://host/ledger", "sqlite://", "sqlite:///:memory:"):
        with pytest.raises(ValueError, match="sqlite:///"):
            Ledger(url, key_ring, heads_path)


def test_a_database_that_does_not_answer_is_unavailable(key_ring, heads_path, tmp_path):
    absent = Ledger(f"postgresql://user:PASSWORD@/ledger?host={tmp_path}", key_ring, heads_path)
    with pytest.raises(LedgerUnavailable) as caught:
        absent.head()
    assert "PASSWORD" not in str(caught.value) + repr(absent)


def test_the_file_of_a_sqlite_ledger_is_its_owners_alone(key_ring, heads_path, tmp_path):
    path = tmp_path / "new folder" / "ledger.db"
    ledger = Ledger.open(f"sqlite:///{path}", key_ring, heads_path)
    assert path.stat().st_mode & 0o077 == 0
    assert ledger.serves_one_process
    with ledger.reading() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
    ledger.close()
