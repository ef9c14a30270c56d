"""`make bench`: our figures beside the bare stack's, medians of one run; prints a table, writes results.json.

ratio = theirs / ours, so that above 1 is ahead. Nothing here is asserted: other work on the machine shows.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results.json"
RUNS = 9


@dataclass(frozen=True)
class Result:
    """One comparison."""

    name: str
    n: int
    ours: float
    theirs: float
    unit: str
    ratio: float
    note: str


def median_ms(call: Callable[[], object], runs: int = RUNS) -> float:
    """Median time of a call in milliseconds, after one to warm up."""
    call()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def result(name: str, n: int, ours: float, theirs: float, note: str, unit: str = "ms") -> Result:
    """A comparison of two times."""
    return Result(name, n, round(ours, 3), round(theirs, 3), unit, round(theirs / ours, 3), note)


def main() -> None:
    """Run every benchmark, or those whose names are given."""
    from acro_tables import acro_tables
    from assess_table import assess_table
    from individual_risk import individual_risk
    from long_session import long_session
    from risk_of_files import risk_of_files
    from special_uniques import suda
    from three_way import three_way

    chosen = set(sys.argv[1:])
    benchmarks = {
        "acro": acro_tables,
        "assess_table": assess_table,
        "individual_risk": individual_risk,
        "long_session": long_session,
        "risk_of_files": risk_of_files,
        "suda": suda,
        "three_way": three_way,
    }
    results = [found for name, run in benchmarks.items() if not chosen or name in chosen for found in run()]
    RESULTS.write_text(json.dumps([asdict(found) for found in results], indent=1) + "\n")
    table = Table("name", "n", "ours", "theirs", "unit", "ratio", "note")
    for found in results:
        table.add_row(*(str(value) for value in asdict(found).values()))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
