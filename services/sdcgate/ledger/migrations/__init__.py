"""Alembic migrations of the ledger, run by `Ledger.upgrade`. A new one is a new file under `versions`."""
