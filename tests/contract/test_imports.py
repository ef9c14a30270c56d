"""The layers of the house hold, and what must be light is light."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {
    "gateway": {
        "numpy",
        "pandas",
        "numba",
        "highspy",
        "duckdb",
        "ibis",
        "scipy",
        "sqlalchemy",
        "protovalidate",
    },
    "protection": {"pandas", "numba", "duckdb", "ibis", "scipy", "sqlalchemy", "fastapi"},
    "risk": {"pandas", "highspy", "duckdb", "ibis", "sqlalchemy", "fastapi", "scipy.stats"},
}


def test_imports_run_downwards_only():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("service", HEAVY)
def test_a_service_does_not_load_what_it_does_not_need(service):
    script = f"import sys, sdcgate.servers.{service}; print(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert set(done.stdout.splitlines()) & HEAVY[service] == set()
