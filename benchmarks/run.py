"""`make bench`: our figures beside the bare stack's or a peer's, medians of one run; prints a table, writes
results.json.

    python benchmarks/run.py [--long] [--short] [NAME ...]

runs all, or those that are named; --long asks streams of 10,000 queries that are otherwise 1,000, --short of
200, and leaves out the file of 10,000,000 records. Calls
that are compared are made in turns, so that other work on the machine slows all of them. ratio = theirs /
ours, so that above 1 is ahead; where there is no peer, theirs is the figure to reach. Nothing is asserted.
"""

import argparse
import json
import statistics
import sys
import time
import traceback
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
    ratio: float | None
    note: str


def timed_ms(call: Callable[[], object]) -> float:
    """Milliseconds that a call takes."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


def medians_ms(*timed: Callable[[], float], runs: int = RUNS) -> list[float]:
    """Medians of calls that tell their own milliseconds, made in turns after one each to warm up."""
    times: list[list[float]] = [[] for _ in timed]
    for run in range(runs + 1):
        for call, taken in zip(timed, times, strict=True):
            milliseconds = call()
            if run:
                taken.append(milliseconds)
    return [statistics.median(taken) for taken in times]


def median_ms(call: Callable[[], object], runs: int = RUNS) -> float:
    """Median time of a call in milliseconds, after one to warm up."""
    return medians_ms(lambda: timed_ms(call), runs=runs)[0]


def result(name: str, n: int, ours: float, theirs: float, note: str, unit: str = "ms") -> Result:
    """A comparison of two times or other costs."""
    ratio = round(theirs / ours, 3) if ours else None
    return Result(name, n, round(ours, 3), round(theirs, 3), unit, ratio, note)


def main() -> None:
    """Run every benchmark, or those whose names are given."""
    from against_acro import against_acro
    from assess_table import assess_table
    from decoding import decoding
    from dependent_keys import dependent_keys
    from first_models import first_models
    from individual_risk import individual_risk
    from large_files import large_files
    from linkage import linkage
    from log_linear import log_linear
    from model_fits import model_fits
    from processes import processes
    from query_stream import FEW, LONG, SHORT, query_stream
    from released_cells import released_cells
    from risk_of_files import risk_of_files
    from special_uniques import suda
    from suppression import suppression
    from swapping import swapping
    from three_way import three_way, withheld

    benchmarks = {
        "three_way": three_way,
        "withheld": withheld,
        "against_acro": against_acro,
        "first_models": first_models,
        "assess_table": assess_table,
        "decoding": decoding,
        "processes": processes,
        "individual_risk": individual_risk,
        "risk_of_files": risk_of_files,
        "suda": suda,
        "linkage": linkage,
        "swapping": swapping,
        "log_linear": log_linear,
        "model_fits": model_fits,
        "dependent_keys": dependent_keys,
        "large_files": large_files,
        "suppression": suppression,
        "released_cells": released_cells,
        "query_stream": query_stream,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("names", nargs="*", choices=[[], *benchmarks])
    chosen = parser.parse_args()
    results: list[Result] = []
    for name in chosen.names or benchmarks:
        began = time.perf_counter()
        options: dict[str, object] = {}
        if name == "query_stream":
            options = {"count": LONG if chosen.long else FEW if chosen.short else SHORT}
        if name == "large_files":
            options = {"long": not chosen.short}
        try:
            results += benchmarks[name](**options)
        except Exception as error:
            # The others are still worth knowing.
            traceback.print_exc()
            results.append(Result(name, 0, 0.0, 0.0, "", None, f"failed: {type(error).__name__}"))
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
        RESULTS.write_text(json.dumps([asdict(found) for found in results], indent=1) + "\n")
    table = Table("name", "n", "ours", "theirs", "unit", "ratio", "note")
    for found in results:
        table.add_row(*("" if value is None else f"{value}" for value in asdict(found).values()))
    Console(width=180).print(table)
    sys.exit(any(found.note.startswith("failed") for found in results))


if __name__ == "__main__":
    main()
