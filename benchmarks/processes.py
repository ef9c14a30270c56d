"""What the services cost before anybody calls: CPU to import them, and memory while they wait.

Beside each stands a bare process that imports the libraries it cannot do without, started in turns with it.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from run import Result, result
from sdcgate.cli.supervisor import SERVICES, Supervisor
from sdcgate.servers.settings import Settings

BARE = {
    "gateway": "import fastapi, uvicorn, grpc.aio, google.protobuf",
    "protection": "import grpc, numpy, highspy, google.protobuf",
    "risk": "import grpc, numpy, scipy.special, google.protobuf",
    "facility": "import grpc, numpy, duckdb, ibis, sqlalchemy, cryptography, google.protobuf",
}
IMPORT_AIMS = {"gateway": 0.6, "protection": 0.6, "risk": 1.0}
MEMORY_AIMS = {"gateway": 100, "protection": 100, "risk": 200}
RUNS = 5


def processes() -> list[Result]:
    """Import CPU and idle memory of the four services."""
    memory = _memory()
    return [
        found
        for name in SERVICES
        for found in (_import(name), _idle(name, memory[name], memory[f"bare {name}"]))
    ]


def _import(name: str) -> Result:
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(_cpu_seconds(f"import sdcgate.servers.{name}"))
        theirs.append(_cpu_seconds(BARE[name]))
    note = "bare libraries" + (f"; aim {IMPORT_AIMS[name]} s" if name in IMPORT_AIMS else "")
    return result(f"import {name}", 1, statistics.median(ours), statistics.median(theirs), note, "s of CPU")


def _idle(name: str, ours: float, theirs: float) -> Result:
    note = "bare libraries" + (f"; aim {MEMORY_AIMS[name]} MB" if name in MEMORY_AIMS else "")
    return result(f"idle {name}", 1, ours, theirs, note, "MB resident")


def _cpu_seconds(code: str) -> float:
    """CPU seconds of an interpreter that runs some code, less those of one that runs none."""

    def spent(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return spent(code) - spent("pass")


def _memory() -> dict[str, float]:
    """Resident megabytes of each service of an empty house, and of the bare libraries."""
    found = {f"bare {name}": _bare_memory(code) for name, code in BARE.items()}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(state_dir=Path(folder), data_root=Path(folder))
        with Supervisor(settings) as supervisor:
            return found | {name: resident(pid) for name, pid in supervisor.processes.items()}


def _bare_memory(code: str) -> float:
    code += "; import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        found = resident(process.pid)
        process.stdin.close()
    return found


def resident(pid: int) -> float:
    """Megabytes of a process that are in memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has ended")
