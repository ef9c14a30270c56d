"""A three-way table on a million records through REST, proved and recorded, beside bare DuckDB.

Every query is new to the ledger; nothing in it is small enough to be withheld.
"""

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

from crosstab_records import descriptor, make
from run import Result, median_ms, result
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import Supervisor
from sdcgate.servers.settings import Settings
from sdcgate_client import Client

RECORDS = 1_000_000
DIMENSIONS = ("region", "sex", "size_class")
COUNTS = ("units", "records", "weighted_units", "row_percent", "column_percent", "total_percent")

COLLAPSE = {
    1: "select {codes}, count(*) units, count(*) records, sum(weight) w, sum(weight) uw "
    "from data group by all",
    3: "select {codes}, count(*) units, sum(r) records, sum(w) w, sum(uw) uw from (select {codes}, unit, "
    "count(*) r, sum(weight) w, max(weight) uw from data group by all) group by {codes}",
}


def three_way() -> list[Result]:
    """Files with one and with three records per unit."""
    return [found for per_unit in (1, 3) for found in _file(per_unit)]


def _file(per_unit: int) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make(RECORDS, per_unit).to_parquet(root / "records.parquet")
        bare = median_ms(lambda: _bare(root / "records.parquet", per_unit))
        settings = Settings(state_dir=root / "state", data_root=root)
        keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "bench")
        with Supervisor(settings) as supervisor:
            with Client(supervisor.url, keys["steward"], timeout=300) as steward:
                steward.register(descriptor("records", "records.parquet", per_unit))
            with Client(supervisor.url, keys["researcher"], timeout=60) as researcher:
                asked = _figures()
                ours = median_ms(lambda: _ask(researcher, next(asked)))
                status = median_ms(researcher.status)
    name = f"three-way table, REST, {per_unit} records a unit"
    return [
        result(name, RECORDS, ours, bare, "bare DuckDB; ours adds REST, margins, proof, ledger"),
        result(f"{name}: status call alone", RECORDS, status, bare, "what REST and gRPC cost by themselves"),
    ]


def _bare(path: Path, per_unit: int) -> object:
    connection = duckdb.connect()
    connection.execute("set threads = 2")
    connection.execute(f"create view data as select * from '{path}'")
    return connection.sql(COLLAPSE[per_unit].format(codes=", ".join(DIMENSIONS))).to_arrow_table()


def _figures() -> Iterator[list[str]]:
    return (list(chosen) for size in (1, 2, 3) for chosen in itertools.combinations(COUNTS, size))


def _ask(researcher: Client, figures: list[str]) -> None:
    answer = researcher.table(
        "records", rows=[DIMENSIONS[0]], columns=[DIMENSIONS[1]], layers=[DIMENSIONS[2]], figures=figures
    )
    if answer.verdict != "RELEASED":
        raise RuntimeError(f"{figures}: {answer.verdict} {[reason.code for reason in answer.reasons]}")
