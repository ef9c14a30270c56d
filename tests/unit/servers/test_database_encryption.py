"""What is said of a PostgreSQL beyond the machine to which nobody asked for a checked certificate."""

import pytest

from sdcgate.servers.database_encryption import doubt

SECRET = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////var/lib/sdcgate/ledger.sqlite",
        f"postgresql://sdcgate:{SECRET}@127.0.0.1/ledger",
        f"postgresql://sdcgate:{SECRET}@localhost:5433/ledger",
        f"postgresql://sdcgate:{SECRET}@[::1]:5433/ledger",
        "postgresql:///ledger",
        "postgresql://postgres:@/ledger?host=/run/postgresql",
        "postgresql+psycopg://u@db.internal/ledger?sslmode=verify-full",
        "postgresql://u@db.internal/ledger?sslmode=disable",
        "postgresql://u@/ledger?host=localhost:5432&host=127.0.0.1:5433",
    ],
)
def test_nothing_is_said_where_nothing_leaves_the_machine_or_somebody_has_chosen(url):
    assert doubt(url, {}) == ""


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"postgresql://sdcgate:{SECRET}@db.internal/ledger", "in plaintext"),
        (f"postgresql://sdcgate:{SECRET}@10.0.0.7/ledger?sslmode=prefer", "in plaintext"),
        (f"postgresql://sdcgate:{SECRET}@db.internal/ledger?sslmode=require", "whoever answers"),
        (f"postgresql://sdcgate:{SECRET}@db.internal/ledger?sslmode=verify-ca", "any host"),
        (f"postgresql://sdcgate:{SECRET}@/ledger?host=localhost,db.internal", "in plaintext"),
        (f"postgresql://sdcgate:{SECRET}@/ledger?host=/run/postgresql&host=db.internal:5432", "in plaintext"),
        (f"postgresql://sdcgate:{SECRET}@localhost/ledger?hostaddr=10.0.0.7", "in plaintext"),
    ],
)
def test_what_a_url_leaves_open_is_said_without_the_password_or_the_host(url, said):
    words = doubt(url, {})
    assert said in words
    assert "sslmode=verify-full" in words
    assert SECRET not in words
    assert "internal" not in words


def test_variables_of_the_library_count_as_it_counts_them():
    assert doubt("postgresql://u@db.internal/ledger", {"PGSSLMODE": "verify-full"}) == ""
    assert "whoever answers" in doubt(
        "postgresql://u@db.internal/ledger?sslmode=require", {"PGSSLMODE": "verify-full"}
    )
    assert "in plaintext" in doubt("postgresql://u@/ledger", {"PGHOST": "db.internal"})
