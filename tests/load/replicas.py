"""What replicas bring on one machine: throughput of mixed load, on a ledger in PostgreSQL.

    python tests/load/replicas.py [--seconds 60]

One facility or two, and one or two of gateway, risk and protection; each installation has its own PostgreSQL
and data that nobody asked before, and is asked by the same people. Prints a table in Markdown.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

sys.path[:0] = [str(Path(__file__).parent.parent)]

import psutil  # noqa: E402
from rich.console import Console  # noqa: E402

from load.figures import Figures, by_kind  # noqa: E402
from load.run import Load, orders  # noqa: E402
from postgresql_server import empty_database, running_server  # noqa: E402
from rolled_house import peers  # noqa: E402
from sdcgate.cli.demo import DATASET  # noqa: E402
from sdcgate.cli.supervisor import SERVICES, free_port  # noqa: E402
from served_house import ServedHouse  # noqa: E402

PEOPLE = 24
PATIENCE = 0.1
"""Times their usual pauses: more than two cores can answer."""
COLUMNS = ("facility, cores", "protection", "risk", "gateway")


@dataclass(frozen=True)
class Measured:
    """What an installation answered, and how much CPU each of its services had, in cores."""

    facilities: int
    others: int
    kinds: list[Figures]
    cores: dict[str, float]


@contextmanager
def installation(folder: Path, facilities: int, others: int) -> Iterator[list[ServedHouse]]:
    """One or two houses on one ledger, of which the second has only what there are two of.

    All services call all replicas in turn; callers go to both gateways where there are two.
    """
    taken: set[int] = set()
    counts = {"facility": facilities, "risk": others, "protection": others}
    ports = {name: [free_port("127.0.0.1", 0, taken) for _ in range(count)] for name, count in counts.items()}
    with running_server() as server, mock.patch.dict(os.environ, peers(ports)):
        common = {"ledger_url": empty_database(server)}
        first = ServedHouse(folder, common, **{name: {"port": found[0]} for name, found in ports.items()})
        houses = [first]
        try:
            if facilities > 1 or others > 1:
                houses.append(_second(first, folder, common, ports, others))
            yield houses
        finally:
            for house in reversed(houses):
                house.stop()


def _second(
    first: ServedHouse, folder: Path, common: dict[str, Any], ports: dict[str, list[int]], others: int
) -> ServedHouse:
    """A second house on the state of the first, of which only those run that there are two of."""
    run = first.settings.state_dir / "run"
    sections: dict[str, dict[str, Any]] = {name: {"ready_file": run / f"{name}-2.json"} for name in SERVICES}
    two = {name for name, found in ports.items() if len(found) > 1} | ({"gateway"} if others > 1 else set())
    for name in two & ports.keys():
        sections[name]["port"] = ports[name][1]
    house = ServedHouse(folder, common, first.keys, **sections)
    for name in set(SERVICES) - two:
        house.kill(name)
    return house


def measured(folder: Path, facilities: int, others: int, seconds: float) -> Measured:
    """Start an installation, let people ask, and see what it answered."""
    with installation(folder / "house", facilities, others) as houses:
        first = houses[0]
        first.register_randhie(DATASET).raise_for_status()
        gateways = [house.supervisor.url for house in houses[:others]]
        given = {**orders(first), "patience": PATIENCE, "hosts": gateways}
        processes = {
            (number, name): process.pid
            for number, house in enumerate(houses)
            for name, process in house.supervisor._processes.items()
            if process.poll() is None
        }
        before = {place: _cpu(pid) for place, pid in processes.items()}
        load = Load(folder, {})
        ended = load.step(first.supervisor.url, given, PEOPLE, seconds, "TableBuilder", "Portal", "Dashboard")
        cores: dict[str, float] = {}
        for (number, name), pid in processes.items():
            used = (_cpu(pid) - before[number, name]) / seconds
            cores[name] = cores.get(name, 0.0) + used
    return Measured(facilities, others, by_kind(ended, seconds), cores)


def _cpu(pid: int) -> float:
    """Seconds of CPU of a process and of those that it started."""
    process = psutil.Process(pid)
    return sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True)))


def row(found: Measured) -> str:
    """A line of the table."""
    by_name = {kind.name.partition(": ")[2]: kind for kind in found.kinds}
    new, all_answers = by_name["table"], sum(kind.goodput for kind in found.kinds)
    shown = [
        str(found.facilities),
        str(found.others),
        f"{new.goodput:.1f}",
        f"{all_answers:.1f}",
        *(f"{value:,.0f}" if value is not None else "-" for value in (new.p50, new.p95)),
        str(sum(kind.errors + kind.turned_away for kind in found.kinds)),
        *(f"{found.cores.get(name, 0):.2f}" for name in ("facility", "protection", "risk", "gateway")),
        f"{os.getloadavg()[0]:.0f}",
    ]
    return f"| {' | '.join(shown)} |"


def main() -> None:
    """Measure all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    seconds = parser.parse_args().seconds
    console = Console(width=200)
    heads = (
        "facilities",
        "of each other",
        "new tables a second",
        "answers a second",
        "p50 of new, ms",
        "p95",
    )
    console.print(f"| {' | '.join((*heads, 'not answered', *COLUMNS, 'load average'))} |")
    for facilities, others in ((1, 1), (2, 1), (1, 2), (2, 2)):
        with tempfile.TemporaryDirectory() as folder:
            console.print(row(measured(Path(folder), facilities, others, seconds)))


if __name__ == "__main__":
    main()
