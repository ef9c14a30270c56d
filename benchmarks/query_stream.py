"""A stream of ordinary, all different queries through the whole house: time, memory and disk.

Four processes, REST, one researcher who asks one query after the other. What a query costs must not grow with
what was asked before it.
"""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import yaml

from crosstab_records import descriptor, make
from ordinary_queries import ordinary_queries
from processes import resident
from run import Result, result
from sdcgate.cli.demo import DESCRIPTOR
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import SERVICES, Supervisor
from sdcgate.servers.settings import Settings
from sdcgate_client import Client

FEW, SHORT, LONG = 200, 1_000, 10_000
LOOKS = (100, 1_000, 5_000, 10_000)
AIM = 300.0
SECONDS = 60


def query_stream(count: int = SHORT) -> list[Result]:
    """On the RAND file, a panel, and on 100,000 generated records."""
    return [*_stream("randhie", count), *_stream("100,000 records", count)]


def _stream(name: str, count: int) -> list[Result]:
    with _house(name) as (supervisor, client, dataset, state):
        seen = Watch(supervisor, state)
        asked = ordinary_queries(dataset, seed=1)
        times, verdicts, unproved = [], Counter[str](), 0
        began = time.perf_counter()
        for number in range(1, count + 1):
            body = json.dumps(next(asked))
            at = time.perf_counter()
            answer = client.post(f"/v1/datasets/{dataset['name']}/tables", content=body)
            times.append((time.perf_counter() - at) * 1000)
            content = answer.json()
            verdicts[content.get("verdict", str(answer.status_code))] += 1
            unproved += any(reason["code"] == "UNPROVED" for reason in content.get("reasons", ()))
            if number in LOOKS or number == count:
                seen.look(number)
        seconds = time.perf_counter() - began
    return [*_times(name, times, verdicts, unproved, seconds), *seen.results(name)]


def _times(
    name: str, times: list[float], verdicts: Counter[str], unproved: int, seconds: float
) -> Iterator[Result]:
    """What queries took, the first hundred or thousand against the last."""
    count, part = len(times), 1_000 if len(times) >= 5_000 else 100
    said = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
    yield result(
        f"{name}: all", count, seconds / count * 1000, AIM, f"{count / seconds:.1f} queries/s; {said}"
    )
    for share in (50, 95, 99):
        first, last = (float(np.percentile(some, share)) for some in (times[:part], times[-part:]))
        note = f"ours the last {part}, theirs the first {part} (1 is no growth)"
        if share == 95:
            note += "; aim 300 ms with 1,000 tables"
        yield result(f"{name}: p{share}", count, last, first, note)
    share_unproved = 100 * unproved / count
    yield result(f"{name}: unproved", count, share_unproved, 2.0, "aim: at most 2%", "% of queries")


class Watch:
    """Looks at processes and files from time to time."""

    def __init__(self, supervisor: Supervisor, state: Path) -> None:
        self._supervisor = supervisor
        self._state = state
        self._looks: dict[int, dict[str, float]] = {}

    def look(self, number: int) -> None:
        """Note megabytes of each process and kind of file after so many queries."""
        pids = self._supervisor.processes
        found = {f"memory of {name}": resident(pids[name]) for name in SERVICES}
        found["ledger"] = sum(file.stat().st_size for file in self._state.glob("ledger*")) / 1e6
        logs = sum(file.stat().st_size for file in (self._state / "log").iterdir()) / 1e6
        self._looks[number] = {**found, "logs": logs}

    def results(self, name: str) -> Iterator[Result]:
        """Megabytes at the last look, beside those at the first."""
        first, last = min(self._looks), max(self._looks)
        for what, megabytes in self._looks[last].items():
            between = ", ".join(f"{look}: {found[what]:.0f}" for look, found in self._looks.items())
            note = f"MB after queries: {between}; theirs after {first}"
            yield result(f"{name}: {what}", last, megabytes, self._looks[first][what], note, "MB")


@contextmanager
def _house(name: str) -> Iterator[tuple[Supervisor, httpx.Client, dict[str, Any], Path]]:
    """A running house with one dataset: its processes, a researcher's connection, what the dataset has."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        settings = Settings(state_dir=root / "state", data_root=root)
        keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "bench")
        if name == "randhie":
            described = yaml.safe_load(DESCRIPTOR.read_text())
        else:
            make(100_000).to_parquet(root / "records.parquet")
            described = descriptor("records", "records.parquet")
        with Supervisor(settings) as supervisor:
            with Client(supervisor.url, keys["steward"], timeout=300) as steward:
                steward.register(described)
            headers = {
                "Authorization": f"Bearer {keys['researcher']}",
                "Content-Type": "application/json",
            }
            with httpx.Client(base_url=supervisor.url, headers=headers, timeout=SECONDS + 5) as client:
                dataset = client.get(f"/v1/datasets/{described['name']}").json()
                yield supervisor, client, dataset.get("dataset", dataset), settings.state_dir


if __name__ == "__main__":
    for found in query_stream():
        print(found)
