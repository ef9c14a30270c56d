"""Checked tables beside ACRO 1.0.2 on the same records: ours through REST and recorded, ACRO's in memory.

ACRO needs an older pandas, so it runs in an environment of its own (build/acro), made by the first run, as a
subprocess of the same run. Where the package registry cannot be reached the lines say so.
"""

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from crosstab_records import descriptor, make
from run import Result, result
from sdcgate.cli.key import create_keys
from sdcgate.cli.supervisor import Supervisor
from sdcgate.servers.settings import Settings
from sdcgate_client import Client

ENVIRONMENT = Path(__file__).parent.parent / "build/acro"
VERSION = "1.0.2"
SIZES = (100_000, 1_000_000)
RUNS = 5
TABLES = {
    "count": ("units", ["region"], []),
    "mean with dominance": ("mean:income", ["region"], []),
    "three-way mean with dominance": ("mean:income", ["region"], ["sex"]),
}
PEER = """
import json, logging, os, statistics, sys, time
os.environ["MPLBACKEND"] = "Agg"
import pandas as pd
from acro import ACRO
logging.disable(logging.WARNING)
people = pd.read_parquet(sys.argv[1])
region, sex, industry, income = (people[name] for name in ("region", "sex", "industry", "income"))
calls = {
    "count": lambda: ACRO().crosstab(region, industry),
    "mean with dominance": lambda: ACRO().crosstab(region, industry, values=income, aggfunc="mean"),
    "three-way mean with dominance": lambda: ACRO().crosstab(
        [region, sex], industry, values=income, aggfunc="mean"
    ),
}
found = {}
for name, call in calls.items():
    times = []
    for _ in range(int(sys.argv[2]) + 1):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    found[name] = statistics.median(times[1:])
print("RESULT " + json.dumps(found))
"""


def acro_tables() -> list[Result]:
    """Count, mean, and three-way mean on 100,000 and 1,000,000 records."""
    python = _environment()
    return [found for size in SIZES for found in _size(size, python)]


def _environment() -> Path | None:
    """The Python of ACRO's own environment; None where it cannot be had."""
    python = ENVIRONMENT / "bin/python"
    if not (ENVIRONMENT / ".made").exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
            command = [python, "-m", "pip", "install", "--quiet", f"acro=={VERSION}", "pyarrow"]
            subprocess.run(command, check=True)
        except subprocess.CalledProcessError:
            return None
        (ENVIRONMENT / ".made").touch()
    return python


def _size(records: int, python: Path | None) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make(records).to_parquet(root / "records.parquet")
        theirs = _theirs(python, root / "records.parquet") if python is not None else {}
        ours = _ours(root)
    note = f"ACRO {VERSION} in memory; ours adds REST, margins, proof, ledger"
    missing = "ACRO could not be installed: no package registry"
    return [
        result(
            f"ACRO: {name}", records, ours[name], theirs.get(name, float("nan")), note if theirs else missing
        )
        for name in TABLES
    ]


def _theirs(python: Path, file: Path) -> dict[str, float]:
    command = [python, "-c", PEER, file, str(RUNS)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=file.parent)
    line = next(line for line in said.stdout.splitlines() if line.startswith("RESULT "))
    found: dict[str, float] = json.loads(line.removeprefix("RESULT "))
    return found


def _ours(root: Path) -> dict[str, float]:
    settings = Settings(state_dir=root / "state", data_root=root)
    keys = create_keys(settings, {"steward": "stefan", "researcher": "ada"}, "bench")
    with Supervisor(settings) as supervisor:
        with Client(supervisor.url, keys["steward"], timeout=300) as steward:
            steward.register(descriptor("records", "records.parquet"))
        with Client(supervisor.url, keys["researcher"], timeout=120) as researcher:
            return {name: _median(_new_queries(researcher, *table)) for name, table in TABLES.items()}


def _new_queries(
    researcher: Client, figure: str, rows: list[str], layers: list[str]
) -> Iterator[Callable[[], object]]:
    """The same table again and again as queries that are new to the ledger: with other figures beside it."""
    extras = ("records", "weighted_units", "row_percent", "column_percent", "total_percent")
    for size in range(len(extras)):
        for beside in itertools.combinations(extras, size):
            figures = [figure, *beside]
            yield lambda figures=figures: researcher.table(
                "records", rows=rows, columns=["industry"], layers=layers, figures=figures
            )


def _median(queries: Iterator[Callable[[], object]]) -> float:
    times = []
    for query in itertools.islice(queries, RUNS + 1):
        began = time.perf_counter()
        query()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times[1:])
