"""Many different ordinary queries on one dataset through REST: do answers slow down, does memory grow?

`LONG_SESSION_QUERIES=10000 make bench` asks ten thousand. `theirs` is the same figure near the beginning of
the session, so that a ratio of 1 says that nothing got worse.
"""

import itertools
import os
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx
import yaml

from ordinary_queries import ordinary_queries
from run import Result, result
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import Supervisor
from sdcgate.servers.settings import Settings

QUERIES = int(os.environ.get("LONG_SESSION_QUERIES", "1000"))
RANDHIE = Path(__file__).parent.parent / "services/sdcgate/engine/demonstration/randhie.yaml"
PART = 200
"""Queries at the beginning and at the end that are compared."""


def long_session() -> list[Result]:
    """Latencies of the last queries beside the first ones, and the memory of each process."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(state_dir=Path(folder) / "state", data_root=Path(folder))
        keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "bench")
        with Supervisor(settings) as supervisor, httpx.Client(base_url=supervisor.url, timeout=120) as http:
            body = {"descriptor": yaml.safe_load(RANDHIE.read_text())}
            http.post("/v1/datasets", json=body, headers=_key(keys["steward"])).raise_for_status()
            http.headers.update(_key(keys["researcher"]))
            return _session(http, supervisor)


def _key(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _session(http: httpx.Client, supervisor: Supervisor) -> list[Result]:
    dataset = http.get("/v1/datasets/randhie").json()
    dataset = dataset.get("dataset", dataset)
    times: list[float] = []
    verdicts: Counter[str] = Counter()
    early: dict[str, float] = {}
    for query in itertools.islice(ordinary_queries(dataset, 7), QUERIES):
        began = time.perf_counter()
        answer = http.post("/v1/datasets/randhie/tables", json=query).json()
        times.append((time.perf_counter() - began) * 1000)
        verdicts[answer.get("verdict", answer.get("code", "?"))] += 1
        if len(times) == PART:
            early = _memory(supervisor)
    said = ", ".join(f"{verdict} {count / len(times):.0%}" for verdict, count in verdicts.most_common())
    first, last = sorted(times[:PART]), sorted(times[-PART:])
    found = [
        result(
            f"ordinary queries: p{share}",
            QUERIES,
            _at(last, share),
            _at(first, share),
            f"first {PART}; {said}",
        )
        for share in (50, 95, 99)
    ]
    late = _memory(supervisor)
    note = f"after {PART} queries"
    found += [result(f"memory: {name}", QUERIES, late[name], early[name], note, unit="MB") for name in late]
    rate = 1000 / statistics.fmean(times)
    return [
        *found,
        result(
            "ordinary queries: ms each", QUERIES, statistics.fmean(times), _at(first, 50), f"{rate:.0f}/s"
        ),
    ]


def _at(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def _memory(supervisor: Supervisor) -> dict[str, float]:
    """Resident memory of each process in MB."""
    found = {}
    for name, process in supervisor.processes.items():
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        found[name] = next(float(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
    return found
