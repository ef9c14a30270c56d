"""`make load`: a real local installation under the load of locust; prints figures and writes build/load.json.

    python tests/load/run.py [--seconds 60] [--people 12] [--overload 5]

Four steps: a bare gateway before a bare gRPC service; the three profiles of locustfile.py at once; as many
people as tables are answered at the same time, each asking again as soon as he is answered, whose rate is
what can be sustained; several times that rate, while the dashboards go on.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / part) for part in ("tests", "benchmarks")]

from assess_table import PATH, table  # noqa: E402
from bare_servers import bare_server  # noqa: E402
from load.figures import Ended, by_kind, read, shares  # noqa: E402
from load.printed import show  # noqa: E402
from ordinary_queries import ordinary_queries  # noqa: E402
from peers import python_with  # noqa: E402
from processes import resident  # noqa: E402
from sdcgate.cli.demo import DATASET  # noqa: E402
from served_house import ServedHouse  # noqa: E402

LOCUST = "locust==2.47.0"
TABLES = 6_000
CROWD = 30
"""People for each time the sustained rate that is offered."""
TWINS = ("twin-1", "twin-2")
"""The demonstration data under names and histories of their own: asked the same, so that rates compare."""
RESULTS = ROOT / "build" / "load.json"
FORMULAS = (
    "meddol ~ site + female",
    "meddol ~ site + female + numeric(age)",
    "mdvis ~ female + numeric(age)",
    "meddol ~ plan + numeric(age)",
)


class Load:
    """Runs locust against an address, and keeps an eye on processes meanwhile."""

    def __init__(self, folder: Path, processes: dict[str, int]) -> None:
        self._locust = python_with("load", LOCUST)
        self._folder = folder
        self._processes = processes
        self.memory: dict[str, list[float]] = {name: [] for name in processes}
        """Megabytes of each process, once a second of all steps."""

    def step(
        self, url: str, orders: dict[str, Any], people: int, seconds: float, *profiles: str
    ) -> list[Ended]:
        """So many people of some profiles, so long."""
        asked, ended = self._folder / "orders.json", self._folder / "ended.jsonl"
        asked.write_text(json.dumps(orders))
        command = [
            *(self._locust, "-m", "locust", "--locustfile", HERE / "locustfile.py", "--host", url),
            *("--headless", "--users", str(people), "--spawn-rate", str(min(people, 100))),
            *("--run-time", f"{seconds:g}s", "--stop-timeout", "30", "--exit-code-on-error", "0"),
            *("--loglevel", "WARNING", *profiles),
        ]
        environment = {**os.environ, "LOAD_ORDERS": str(asked), "LOAD_ENDED": str(ended)}
        with self._watching():
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"locust ended with {done.returncode}:\n{done.stderr}")
        return read(ended)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(1):
                for name, pid in self._processes.items():
                    self.memory[name].append(round(resident(pid), 1))

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def orders(house: ServedHouse) -> dict[str, Any]:
    """What the profiles ask of a house, and with which keys."""
    dataset = house.send("GET", f"/v1/datasets/{DATASET}", key="ada").json()
    asked = ordinary_queries(dataset.get("dataset", dataset), seed=1)
    small = (body for body in asked if not body["layers"])
    return {
        "keys": {
            "researcher": [house.keys[name] for name in ("ada", "bob", "grace as researcher")],
            "portal": house.keys["ada"],
            "operator": house.keys["olga"],
        },
        "paths": {
            "tables": f"/v1/datasets/{DATASET}/tables",
            "models": f"/v1/datasets/{DATASET}/models",
            "check": PATH,
            "results": "/v1/queries?page_size=20",
            "status": "/v1/status",
        },
        "tables": list(islice(small, TABLES)),
        "models": [
            {"kind": "LINEAR", "formula": formula, "filter": [{"variable": "year", "codes": [year]}]}
            for formula in FORMULAS
            for year in ("1", "2", "3", "4", "5")
        ],
        "check": table(),
        "seconds_between": 0,
    }


def loaded(house: ServedHouse, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """The four steps: figures by kind of each, memory, and how the overload compares."""
    seconds, people = arguments.seconds, arguments.people
    for name in (DATASET, *TWINS):
        house.register_randhie(name).raise_for_status()
    given, half = orders(house), max(5.0, seconds / 2)
    load = Load(folder, dict(house.supervisor.processes))
    with bare_server("grpc", "150") as echo, bare_server("rest", echo[1]) as bare:
        steps = {"bare": by_kind(load.step(f"http://{bare[1]}", given, people, half, "Echo"), half)}
    url = house.supervisor.url
    profiles = load.step(url, given, people, seconds, "TableBuilder", "Portal", "Dashboard")
    steps["profiles"] = by_kind(profiles, seconds)
    at_once = house.settings.facility.threads
    steps["sustained"] = by_kind(load.step(url, asking(given, TWINS[0]), at_once, half, "Eager"), half)
    # Many people, each seldom: who waits for an answer is one among many who go on asking.
    crowd = arguments.overload * CROWD
    between = crowd / (arguments.overload * max(steps["sustained"][0].goodput, 0.1))
    given = {**asking(given, TWINS[1]), "seconds_between": between}
    offered = load.step(url, given, crowd + 2, half, "Eager", "Dashboard")
    steps["overload"] = by_kind(offered, half)
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": seconds,
        "people": people,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
        "steps": {name: [asdict(kind) for kind in kinds] for name, kinds in steps.items()},
        "answered_share_by_caller": shares(one for one in offered if one.profile == "Eager"),
        "megabytes": load.memory,
    }


def asking(given: dict[str, Any], dataset: str) -> dict[str, Any]:
    """The same tables, of another dataset."""
    return {**given, "paths": {**given["paths"], "tables": f"/v1/datasets/{dataset}/tables"}}


def main() -> None:
    """Start an installation, load it, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--overload", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        house = ServedHouse(Path(folder) / "house")
        try:
            found = loaded(house, Path(folder), arguments)
        finally:
            house.stop()
    show(found)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
