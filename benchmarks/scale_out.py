"""Tables of more records than memory holds, by DuckDB out of core and by Spark: only cells come into memory.

    python benchmarks/scale_out.py --records 100000000 --memory 2GB

makes a snapshot of generated records (two a unit) in a folder of its own, piece by piece, and asks each
engine in a process of its own for the same tables. The last column tells whether all figures are the same.
Spark runs two worker processes on this machine; it needs a JDK and the extra `spark`.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from sdcgate.engine import CellQuery, Engine, Region, parse_descriptor
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.snapshot import sealed
from sdcgate.engine.snapshot_files import METADATA_FILE, SnapshotFiles, data_file
from sdcgate.methods.cells import Facts

Row = dict[str, float | str]
Rows = dict[str, Row]
SECRET = bytes(range(32))
PIECE = 4_000_000
SIZES = {"region": 20, "sex": 2, "age_group": 18, "industry": 25, "year": 2}
QUERIES = {
    "region, sex, age group; mean": CellQuery(
        (("region", ""), ("sex", ""), ("age_group", "")), measures=("income",)
    ),
    "region, industry, year, which varies within units; units": CellQuery(
        (("region", ""), ("industry", ""), ("year", ""))
    ),
}
DIFFERENCE = [Region(((("region", 0b1),),), ((("year", 0b1),),))]


def main() -> None:
    """Measures, and prints a table."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--records", type=int, default=10_000_000)
    asked.add_argument("--memory", default="2GB", help="what DuckDB may take")
    asked.add_argument("--spark", default="local-cluster[2,1,2048]", help="address of the master")
    asked.add_argument("--folder", help="where the snapshot is made, or lies already; for all workers to see")
    asked.add_argument("--engines", default="duckdb,spark")
    asked.add_argument("--only", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.only:
        print(json.dumps(_measured(given.only, given)))
        return
    with tempfile.TemporaryDirectory(prefix="scale-out-") as made:
        given.folder = given.folder or made
        began = time.monotonic()
        size = _snapshot(Path(given.folder), given.records)
        print(
            f"{given.records:,} records, {size / 2**30:.1f} GiB, made in {time.monotonic() - began:.0f} s\n"
        )
        measured = {name: _apart(name, given) for name in given.engines.split(",")}
    _print(measured)


def _apart(engine: str, given: argparse.Namespace) -> Rows:
    options = [f"--{name}={getattr(given, name)}" for name in ("records", "memory", "spark", "folder")]
    command = [sys.executable, __file__, "--only", engine, *options]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    found: Rows = json.loads(ran.stdout)
    return found


def _print(measured: dict[str, Rows]) -> None:
    print("| what | engine | first, s | again, s | its CPU, s | GiB at most | same cells |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    reference = next(iter(measured.values()))
    for engine, rows in measured.items():
        for name, row in rows.items():
            same = "yes" if row["digest"] == reference[name]["digest"] else "NO"
            figures = " | ".join(f"{row[figure]:.1f}" for figure in ("first", "again", "cpu", "peak"))
            print(f"| {name} | {engine} | {figures} | {same} |")


def _measured(name: str, given: argparse.Namespace) -> Rows:
    """Seconds at first, seconds and CPU again, memory and a digest of the figures, for each question."""
    folder = Path(given.folder)
    url = given.spark if name == "spark" else ""
    engine = Engine(folder, folder, SECRET, memory_limit=given.memory, url=url)
    dataset = engine.dataset("records")
    # The first also verifies the file's hash, and starts Spark.
    tables = {"all records": CellQuery(), **QUERIES}
    asked: dict[str, Callable[[], Facts]] = {
        title: partial(_facts, engine, dataset, query) for title, query in tables.items()
    }
    asked["units of a difference of two cells"] = lambda: engine.region_facts(dataset, DIFFERENCE)
    with _peak() as peak:
        found = {title: _row(ask, peak) for title, ask in asked.items()}
    engine.close()
    return found


def _facts(engine: Engine, dataset: Dataset, query: CellQuery) -> Facts:
    return engine.compute(dataset, query).facts


def _row(ask: Callable[[], Facts], peak: list[float]) -> Row:
    began = time.monotonic()
    facts = ask()
    first = time.monotonic() - began
    began, used = time.monotonic(), _cpu()
    ask()
    again, cpu = time.monotonic() - began, _cpu() - used
    return {"first": first, "again": again, "cpu": cpu, "peak": peak[0], "digest": _digest(facts)}


def _processes() -> list[psutil.Process]:
    """This process and all that it started."""
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


def _cpu() -> float:
    return sum(sum(process.cpu_times()[:2]) for process in _processes())


def _digest(facts: Facts) -> str:
    digest = hashlib.sha256()
    for measured in (facts, *facts.measures):
        for value in _arrays(measured):
            digest.update(value.tobytes())
    return digest.hexdigest()


def _arrays(measured: object) -> Iterator[np.ndarray]:
    for name in measured.__dataclass_fields__:  # type: ignore[attr-defined]
        value = getattr(measured, name)
        if isinstance(value, np.ndarray):
            yield value


@contextmanager
def _peak() -> Iterator[list[float]]:
    """Memory of all processes in GiB, at most so far."""
    peak, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            used = 0
            for process in _processes():
                try:
                    used += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            peak[0] = max(peak[0], used / 2**30)

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    yield peak
    ended.set()
    watching.join()


def _snapshot(folder: Path, records: int) -> int:
    """Make the snapshot of so many records, unless it is there; its size in bytes."""
    snapshots = SnapshotFiles(folder, SECRET)
    if "records" not in snapshots.versions():
        small = _registered(folder)
        file = data_file(folder, small)
        schema = pq.read_schema(file)
        with pq.ParquetWriter(file, schema, compression="lz4") as writer:
            for begin in range(0, records, PIECE):
                rows = _piece(begin, min(PIECE, records - begin))
                writer.write_table(pa.table(rows).select(schema.names).cast(schema), row_group_size=122_880)
        hashed = hashlib.file_digest(file.open("rb"), "sha256").hexdigest()
        large = replace(small, n_units=(records + 1) // 2, n_records=records, file_hash=hashed)
        (file.parent / METADATA_FILE).write_text(sealed(large, SECRET))
    return data_file(folder, snapshots.read("records", 1)).stat().st_size


def _piece(begin: int, rows: int) -> dict[str, np.ndarray]:
    """Columns of records that begin at a number; two neighbours are of one unit and differ in the year."""
    rng = np.random.default_rng([7, begin])
    unit = (begin + np.arange(rows)) // 2
    own = (unit - unit[0]).astype(np.int64)
    units = int(own[-1]) + 1
    columns = {"unit": unit, "record_mark": rng.integers(0, 2**62, rows)}
    columns["unit_key"] = rng.integers(0, 2**63, units).astype(np.uint64)[own]
    for place, (name, codes) in enumerate(SIZES.items()):
        drawn = rng.integers(0, codes, units)[own] if name != "year" else (begin + np.arange(rows)) % 2
        columns[f"v{place}_l0"] = drawn.astype(np.uint8)
    columns["m0"] = rng.integers(0, 100_000, rows)
    columns["weight"] = rng.integers(1_000, 100_000, units)[own]
    return columns


def _registered(folder: Path) -> Dataset:
    """The same with few records, registered as every file is: its metadata fit the large one."""
    rng = np.random.default_rng(1)
    units = 4_000
    lines = ["id,region,sex,age_group,industry,year,income,w"]
    for unit in range(units):
        codes = [rng.integers(0, SIZES[name]) for name in ("region", "sex", "age_group", "industry")]
        weight = 1 + 99 * (unit % 2) - 0.001 * (unit % 2)
        for year in range(2):
            income = (0, 99_999)[unit % 2] if unit < 2 else rng.integers(0, 99_999)
            lines.append(",".join(map(str, [unit, *codes, year, income, f"{weight:.3f}"])))
    (folder / "records.csv").write_text("\n".join(lines))
    variables = [
        {
            "name": name,
            "identifying": "YES",
            "varies_within_unit": name == "year",
            "levels": [{"integers": {"first": 0, "last": codes - 1}}],
        }
        for name, codes in SIZES.items()
    ]
    descriptor = {
        "name": "records",
        "source": "records",
        "data": {"path": "records.csv"},
        "unit": {"column": "id"},
        "weight": {"column": "w", "decimals": 3},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.1},
        "variables": variables,
        "measures": [{"name": "income", "lower_bound": 0}],
    }
    engine = Engine(folder, folder, SECRET)
    dataset = engine.register(parse_descriptor(descriptor)).dataset
    engine.close()
    return dataset


if __name__ == "__main__":
    main()
