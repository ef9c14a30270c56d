"""`make soak`: an hour of mixed load on a local installation; what it holds must stay flat.

    python tests/load/soak.py [--seconds 3600] [--share 0.3]

The profiles of locustfile.py, at a share of the rate of new tables that is sustained (measured first).
Memory, descriptors, threads and the ledger's size, each ten seconds, go into build/soak.csv. Ends with 1 if
something grew by more than ALLOWED, a process ended, or an error did not say when to come again.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent)]

from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from load.figures import Ended, by_kind  # noqa: E402
from load.held import Allowance, Growth, Sample, growths, is_alive, watching, write  # noqa: E402
from load.run import ROOT, TWINS, Load, asking, orders  # noqa: E402
from sdcgate.cli.demo import DATASET  # noqa: E402
from served_house import ServedHouse  # noqa: E402

PEOPLE = 12
BUILDERS = 6
"""Table builders among them: three of five, without the two dashboards."""
NEW = 2 / 3
"""Of their tables."""
PAUSE = 0.2
"""Seconds between two of them, at patience 1."""
EVERY = 10.0
SAMPLES = ROOT / "build" / "soak.csv"
FLAT = {"files": Allowance(6, 0), "threads": Allowance(6, 0)}
ALLOWED = {
    "gateway": {"megabytes": Allowance(8, 8), **FLAT},
    "risk": {"megabytes": Allowance(8, 8), **FLAT},
    # Its solver keeps the memory of the largest pattern so far.
    "protection": {"megabytes": Allowance(16, 16), **FLAT},
    # It knows all tables that left: 7 MB for each thousand in a run of 7,500 (docs/benchmarks.md).
    "facility": {"megabytes": Allowance(40, 24), **FLAT},
}
"""What may be added after the first tenth, in megabytes or numbers."""


def soaked(
    house: ServedHouse, folder: Path, seconds: float, share: float, samples: list[Sample]
) -> tuple[float, list[Ended]]:
    """The new tables a second that are sustained, and what came of the load at a share of them."""
    for name in (DATASET, TWINS[0]):
        house.register_randhie(name).raise_for_status()
    given, processes = orders(house), dict(house.supervisor.processes)
    load = Load(folder, processes)
    url, at_once = house.supervisor.url, house.settings.facility.threads
    first = min(60.0, max(5.0, seconds / 20))
    eager = load.step(url, asking(given, TWINS[0]), at_once, first, "Eager")
    sustained = max(by_kind(eager, first)[0].goodput, 0.1)
    given["patience"] = BUILDERS * NEW / (PAUSE * share * sustained)
    with watching(processes, house.settings.state_dir, samples, min(EVERY, seconds / 20)):
        ended = load.step(url, given, PEOPLE, seconds, "TableBuilder", "Portal", "Dashboard")
    return sustained, ended


def show(
    console: Console, found: list[Growth], ended: list[Ended], seconds: float, samples: list[Sample]
) -> None:
    """Print what was answered, and what was held in the first and in the last tenth."""
    asked = Table("what", "requests", "answered a second", "p50 ms", "p95", "429", "errors")
    for kind in by_kind(ended, seconds):
        figures: tuple[Any, ...] = (kind.requests, kind.goodput, kind.p50, kind.p95)
        shown = ("-" if figure is None else f"{figure:.4g}" for figure in figures)
        asked.add_row(kind.name, *shown, str(kind.turned_away), str(kind.errors))
    console.print(asked)
    table = Table("service", "what", "first tenth", "last tenth", "grown by", "may", "flat")
    for one in found:
        numbers = (f"{number:.1f}" for number in (one.first, one.last, one.grown, one.allowed))
        table.add_row(one.service, one.figure, *numbers, "yes" if one.flat else "NO")
    console.print(table)
    console.print(
        f"ledger: {samples[0].ledger_megabytes:.0f} MB first, {samples[-1].ledger_megabytes:.0f} last"
    )


def main() -> int:
    """Start an installation, load it, print and write; 1 if something is not as it must be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--share", type=float, default=0.3)
    arguments = parser.parse_args()
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as folder:
        house = ServedHouse(Path(folder) / "house")
        try:
            sustained, ended = soaked(house, Path(folder), arguments.seconds, arguments.share, samples)
            alive = all(is_alive(pid) for pid in house.supervisor.processes.values())
        finally:
            house.stop()
            if samples:
                write(samples, SAMPLES)
    console, found = Console(width=120), growths(samples, ALLOWED)
    console.print(f"{sustained:.1f} new tables a second are sustained; {arguments.share:.0%} were asked")
    show(console, found, ended, arguments.seconds, samples)
    failed = Counter(one.status for one in ended if not one.answered)
    if failed:
        told = ", ".join(f"{status}: {number}" for status, number in sorted(failed.items()))
        console.print(f"not answered, by status: {told}")
    errors = sum(not one.answered and not one.retry_after for one in ended)
    grown = [f"{one.figure} of {one.service}" for one in found if not one.flat]
    for wrong in (
        *(f"grows: {one}" for one in grown),
        *([f"{errors} errors that do not say when to come again"] if errors else []),
        *([] if alive else ["a process ended"]),
    ):
        console.print(wrong)
    return 1 if grown or errors or not alive else 0


if __name__ == "__main__":
    sys.exit(main())
