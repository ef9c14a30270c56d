"""Ten million records by their keys, counted where they lie, beside the bare group-by of the same engine.

Memory is what a process of its own takes above what 1,000 records take, beside 4 times the key columns of
64 bits.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

from keys_and_numbers import write
from risk_of_files import peak_kb
from run import Result, medians_ms, result, timed_ms
from sdcgate.engine.large_files import count_keys, write_risks
from sdcgate.engine.microdata import MicrodataColumns
from sdcgate.methods.risk.counted_keys import assess_counted_keys, key_risks
from sdcgate.methods.risk.file_options import Options

KEYS = tuple(f"k{number}" for number in range(1, 8))
COLUMNS = MicrodataColumns(keys=KEYS, weight="w")
SIZES = {1_000_000: 275_843, 10_000_000: 643_107}
"""Records, and the distinct keys that they have."""
RUNS = 5


def large_files(long: bool = True) -> list[Result]:
    """Individual and file-level risk of 1,000,000 and 10,000,000 records that are never loaded."""
    found = []
    for n, distinct in SIZES.items() if long else [*SIZES.items()][:1]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "people.parquet"
            _write_apart(n, file)
            found += _timed(n, file, distinct)
            found += [_memory(n, file, wanted) for wanted in ("report", "risks")]
    return found


def _write_apart(n: int, file: Path) -> None:
    """In a process of its own: what makes the file needs more memory than what reads it."""
    subprocess.run([sys.executable, __file__, "make", str(n), str(file)], check=True)


def _timed(n: int, file: Path, distinct: int) -> list[Result]:
    counted = count_keys(file, COLUMNS).counted
    if len(counted.counts) != distinct or counted.records != n:
        raise RuntimeError(f"{len(counted.counts)} keys of {counted.records} records, not {distinct} of {n}")
    query = (
        f"SELECT {', '.join(KEYS)}, count(*), sum(w) FROM read_parquet('{file}') GROUP BY {', '.join(KEYS)}"
    )
    ours, theirs = medians_ms(
        lambda: timed_ms(lambda: _report(file)),
        lambda: timed_ms(lambda: duckdb.sql(query).to_arrow_table()),
        runs=RUNS,
    )
    note = "DuckDB's group-by alone, no risks, no report"
    return [result("file-level report by counted keys, Parquet file", n, ours, theirs, note)]


def _report(file: Path) -> None:
    assess_counted_keys(count_keys(file, COLUMNS).counted)


def _memory(n: int, file: Path, wanted: str) -> Result:
    said = subprocess.run(
        [sys.executable, __file__, wanted, str(n), str(file)], capture_output=True, text=True, check=True
    )
    seconds, peak = (float(number) for number in said.stdout.split())
    columns = n * len(KEYS) * np.dtype(np.int64).itemsize / 2**20
    what = {"report": "memory of the report", "risks": "memory of writing every record's risk"}[wanted]
    note = f"theirs: 4 times the key columns of 64 bits; {seconds:.1f} s of CPU"
    return result(f"{what} by counted keys", n, peak, 4 * columns, note, unit="MB")


def _in_a_process(wanted: str, n: int, file: Path) -> None:
    if wanted == "make":
        write(n, file)
        return
    few = file.with_name("few.parquet")
    write(1000, few)
    call = _risks if wanted == "risks" else _report
    call(few)
    before, began = peak_kb(), time.process_time()
    call(file)
    print(time.process_time() - began, (peak_kb() - before) / 1024)


def _risks(file: Path) -> None:
    counted = count_keys(file, COLUMNS)
    destination = file.with_name("risks.parquet")
    write_risks(counted, key_risks(counted.counted, Options()), destination)
    destination.unlink()


if __name__ == "__main__":
    _in_a_process(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
