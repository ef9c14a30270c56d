"""Three-way tables on a million records through REST, proved and recorded, beside the same in bare DuckDB.

Every query is new to the ledger. In the first nothing is small enough to be withheld; the second asks each of
thirty-two groups of 31,250 records for a table of 600 inner cells, of which one in twenty is too small, and
others are withheld beside them.
"""

import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from crosstab_records import descriptor, make
from run import Result, medians_ms, result, timed_ms
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import Supervisor
from sdcgate.servers.settings import Settings
from sdcgate_client import Answer, Client

RECORDS = 1_000_000
DIMENSIONS = ("region", "sex", "size_class")
SMALL = ("region", "age_group", "size_class")
COUNTS = ("units", "records", "weighted_units", "row_percent", "column_percent", "total_percent")
GROUPS = 32
AIM = 300.0

COLLAPSE = {
    1: "select {codes}, count(*) units, count(*) records, sum(weight) w, sum(weight) uw "
    "from data {where} group by all",
    3: "select {codes}, count(*) units, sum(r) records, sum(w) w, sum(uw) uw from (select {codes}, unit, "
    "count(*) r, sum(weight) w, max(weight) uw from data {where} group by all) group by {codes}",
}


def three_way() -> list[Result]:
    """Files with one and with three records per unit; nothing is withheld."""
    return [found for per_unit in (1, 3) for found in _file(per_unit)]


def _file(per_unit: int) -> list[Result]:
    with _served(make(RECORDS, per_unit), descriptor("records", "records.parquet", per_unit)) as (path, ask):
        asked = _figures()

        def table() -> None:
            answer = ask(DIMENSIONS, next(asked))
            if answer.verdict != "RELEASED":
                raise RuntimeError(f"{answer.verdict} {[reason.code for reason in answer.reasons]}")

        ours, bare, status = medians_ms(
            lambda: timed_ms(table),
            lambda: timed_ms(lambda: _bare(path, per_unit, DIMENSIONS)),
            lambda: timed_ms(ask.client.status),
        )
    name = f"three-way table, {per_unit} record{'s' if per_unit > 1 else ''} a unit"
    return [
        result(
            name, RECORDS, ours, bare, "bare DuckDB; ours adds REST, margins, proof, ledger; aim 15 ms more"
        ),
        result(f"{name}: status call alone", RECORDS, status, bare, "what REST and gRPC cost by themselves"),
    ]


def withheld() -> list[Result]:
    """Tables of which a twentieth of the inner cells is unsafe, one after the other in different groups."""
    records = make(RECORDS)
    records["batch"] = np.arange(RECORDS) % GROUPS
    described = descriptor("records", "records.parquet")
    described["variables"].append(
        {"name": "batch", "identifying": "NO", "levels": [{"integers": {"first": 0, "last": GROUPS - 1}}]}
    )
    answers: list[Answer] = []
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    with _served(records, described) as (path, ask):
        ask(("sex",), ["units"])
        for group in range(GROUPS):
            began = time.perf_counter()
            answers.append(ask(SMALL, ["units"], {"batch": [str(group)]}))
            answered = time.perf_counter()
            _bare(path, 1, SMALL, f"where batch = {group}")
            times["ours"].append((answered - began) * 1000)
            times["bare"].append((time.perf_counter() - answered) * 1000)
    p50, p95 = (float(found) for found in np.percentile(times["ours"], [50, 95]))
    shares = [answer.table.withheld / len(answer.table) for answer in answers if answer.table]
    verdicts = [answer.verdict for answer in answers]
    said = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in sorted(set(verdicts)))
    note = f"{said}; {statistics.median(shares):.0%} of {len(answers[0].table or ())} cells withheld"
    bare = statistics.median(times["bare"])
    name = "three-way table, some cells withheld"
    return [
        result(f"{name}: p50", RECORDS, p50, bare, f"bare DuckDB; {note}"),
        result(f"{name}: p95", RECORDS, p95, AIM, "aim 300 ms"),
    ]


class Asker:
    """Asks tables of the records through REST."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def __call__(
        self, dimensions: tuple[str, ...], figures: list[str], where: dict[str, Any] | None = None
    ) -> Answer:
        """One table of one to three dimensions."""
        first, second, third = ([name] for name in (*dimensions, "", "")[:3])
        return self.client.table(
            "records",
            rows=first,
            columns=second if second[0] else [],
            layers=third if third[0] else [],
            figures=figures,
            filter=where or {},
        )


@contextmanager
def _served(records: pd.DataFrame, described: dict[str, Any]) -> Iterator[tuple[Path, Asker]]:
    """A house with the records registered: their file, and who asks for tables."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        records.to_parquet(root / "records.parquet")
        settings = Settings(state_dir=root / "state", data_root=root)
        keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "bench")
        with Supervisor(settings) as supervisor:
            with Client(supervisor.url, keys["steward"], timeout=300) as steward:
                steward.register(described)
            with Client(supervisor.url, keys["researcher"], timeout=60) as researcher:
                yield root / "records.parquet", Asker(researcher)


def _bare(path: Path, per_unit: int, dimensions: tuple[str, ...], where: str = "") -> object:
    connection = duckdb.connect()
    connection.execute("set threads = 2")
    connection.execute(f"create view data as select * from '{path}'")
    statement = COLLAPSE[per_unit].format(codes=", ".join(dimensions), where=where)
    return connection.sql(statement).to_arrow_table()


def _figures() -> Iterator[list[str]]:
    return (list(chosen) for size in (1, 2, 3) for chosen in itertools.combinations(COUNTS, size))
