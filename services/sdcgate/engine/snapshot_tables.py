"""Snapshots as tables of a PostgreSQL, `<name>@<version>`, and their metadata in a table beside them.

A snapshot is written in one transaction, so a crash leaves none or a whole one. A trigger refuses every
change of its records; whether they are those that were written is told by a hash that the database computes.
"""

import hashlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sdcgate.engine.aggregation import column_in_order, view_name
from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.patience import to_the_end
from sdcgate.engine.postgresql_database import PostgresqlDatabase
from sdcgate.engine.registration import Prepared
from sdcgate.engine.snapshot import (
    ReadColumn,
    SnapshotDamaged,
    described,
    sealed,
    stored_columns,
    unsealed,
)

if TYPE_CHECKING:
    import pyarrow as pa

METADATA = "sdcgate_snapshots"
_SET_UP = (
    # Processes that start at the same moment would get in each other's way.
    f"SELECT pg_advisory_xact_lock(hashtext('{METADATA}'))",
    f"CREATE TABLE IF NOT EXISTS {METADATA} (name text NOT NULL, version bigint NOT NULL, "
    "metadata text NOT NULL, PRIMARY KEY (name, version))",
    "CREATE OR REPLACE FUNCTION sdcgate_refuse_change() RETURNS trigger LANGUAGE plpgsql "
    "AS $$ BEGIN RAISE EXCEPTION 'a snapshot is never changed'; END $$",
)
_FINISH = (
    'CREATE TRIGGER never_changed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON "{table}" '
    "FOR EACH STATEMENT EXECUTE FUNCTION sdcgate_refuse_change()",
    'ANALYZE "{table}"',
)
_HASHES = (
    "SELECT sha256(convert_to(string_agg(r::text, chr(10) ORDER BY unit, record_mark), 'UTF8')) AS hash "
    'FROM "{table}" AS r GROUP BY unit / 4096 ORDER BY unit / 4096'
)
"""Hashes of the records of 4,096 units each: an aggregate of all would have to fit in a gigabyte."""
_STATE = (
    "SELECT oid::bigint, pg_relation_filenode(oid)::bigint AS file, pg_relation_size(oid) AS size "
    "FROM pg_class WHERE oid = to_regclass('\"{table}\"')"
)
_VERSIONS = f"SELECT name, version FROM {METADATA}"  # noqa: S608


class SnapshotTables:
    """Snapshots in the schema that comes first on the search path, sealed with a secret.

    All methods raise ComputationFailed where the database does not answer.
    """

    def __init__(self, database: PostgresqlDatabase, secret: bytes) -> None:
        self._database = database
        self._secret = secret
        self._verified: dict[str, list[dict[str, int]]] = {}
        self._is_set_up = False

    def versions(self) -> dict[str, list[int]]:
        """Versions of each dataset, ascending, the datasets by name."""
        if not self._is_set_up:
            with self._database.transaction() as cursor:
                for statement in _SET_UP:
                    cursor.execute(statement)
            self._is_set_up = True
        found: dict[str, list[int]] = {}
        for row in self._database.run(_VERSIONS).to_pylist():
            found.setdefault(row["name"], []).append(row["version"])
        return {name: sorted(numbers) for name, numbers in sorted(found.items())}

    def read(self, name: str, version: int) -> Dataset:
        """The metadata of a version. Raises SnapshotDamaged where they are not what was sealed."""
        sql = self._database.compiled(("metadata", name, version), lambda: _metadata(name, version))
        rows = self._database.run(sql).to_pylist()
        if not rows:
            raise SnapshotDamaged(f"{name} v{version}: metadata cannot be read")
        return unsealed(rows[0]["metadata"], name, version, self._secret)

    def write(self, prepared: Prepared, version: int) -> Dataset:
        """Write a version. Raises FileExistsError where it is there already."""
        import pyarrow as pa

        name = prepared.descriptor.name
        # The table's name does not hang on the hash, which is known only once the table is there.
        table = view_name(described(prepared, version, ""))
        try:
            with self._database.transaction() as cursor:
                cursor.adbc_ingest(table, _signed(stored_columns(prepared)), mode="create")
                cursor.execute(_HASHES.format(table=table))
                dataset = described(prepared, version, _together(cursor.fetch_arrow_table()))
                for statement in _FINISH:
                    cursor.execute(statement.format(table=table))
                row = {"name": [name], "version": [version], "metadata": [sealed(dataset, self._secret)]}
                cursor.adbc_ingest(METADATA, pa.table(row), mode="append")
        except ComputationFailed:
            if version in self.versions().get(name, []):
                raise FileExistsError(f"version {version} of {name} exists") from None
            raise
        return dataset

    def verify(self, dataset: Dataset) -> None:
        """That the records are those that were written: at first, and whenever the table's file was touched.

        Raises SnapshotDamaged.
        """
        table = view_name(dataset)
        state = self._database.run(_STATE.format(table=table)).to_pylist()
        if not state:
            raise SnapshotDamaged(f"{dataset.name} v{dataset.version}: the data table is gone")
        if self._verified.get(table) == state:
            return
        with to_the_end():
            hashes = self._database.run(_HASHES.format(table=table))
        if _together(hashes) != dataset.file_hash:
            raise SnapshotDamaged(f"{dataset.name} v{dataset.version}: the data table was changed")
        self._verified[table] = state

    def columns(self, dataset: Dataset) -> ReadColumn:
        """The columns of a dataset's records."""
        return partial(self._column, dataset)

    def _column(self, dataset: Dataset, column: str) -> npt.NDArray[Any]:
        key = ("column", view_name(dataset), column)
        sql = self._database.compiled(key, lambda: column_in_order(dataset, column))
        values: npt.NDArray[Any] = self._database.run(sql)[column].to_numpy()
        return values.view(np.uint64) if column == "unit_key" else values


def _metadata(name: str, version: int) -> Any:
    import ibis

    table = ibis.table({"name": "string", "version": "int64", "metadata": "string"}, name=METADATA)
    return table.filter(table["name"] == name, table["version"] == version).select("metadata")


def _signed(records: "pa.Table") -> "pa.Table":
    """The records in PostgreSQL's types, which has no unsigned ones: keys are the same 64 bits."""
    import pyarrow as pa

    keys = records["unit_key"].to_numpy().view(np.int64)
    return records.set_column(records.column_names.index("unit_key"), "unit_key", pa.array(keys))


def _together(hashes: "pa.Table") -> str:
    """One hash of all blocks' hashes, hexadecimal."""
    return hashlib.sha256(b"".join(hashes["hash"].to_pylist())).hexdigest()
