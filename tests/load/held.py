"""What processes hold while a load goes on: memory, open files, threads, the ledger; and what of it grows.

A service is counted with the processes that it started. Growth is the slope of Theil and Sen (the median of
the slopes between all pairs of samples; Sen, J. Am. Stat. Assoc. 63, 1968, section 2), which a few odd
samples do not move, times the length of the run. The first tenth is left out, as caches fill then.
"""

import csv
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from itertools import groupby
from pathlib import Path

import numpy as np
import psutil
from scipy.stats import theilslopes

WARMING = 0.1
"""Of a run, the part that is left out."""
MOST_SAMPLES = 1_000
"""Of a service in a fit, which looks at all pairs."""


@dataclass(frozen=True)
class Sample:
    """What a service holds, and the ledger's size, so many seconds after the load began."""

    seconds: float
    service: str
    megabytes: float
    """Resident."""
    files: int
    """Descriptors: files, sockets, pipes."""
    threads: int
    ledger_megabytes: float


@dataclass(frozen=True)
class Allowance:
    """What a service may grow by: once, and with each hour."""

    once: float
    an_hour: float

    def within(self, seconds: float) -> float:
        """What is allowed in so many seconds."""
        return self.once + self.an_hour * seconds / 3600


@dataclass(frozen=True)
class Growth:
    """How a figure of a service went from the first tenth of a run to the last."""

    service: str
    figure: str
    first: float
    """Median of the first tenth."""
    last: float
    """Median of the last tenth."""
    grown: float
    """The slope after the first tenth, times the time from there to the end."""
    allowed: float

    @property
    def flat(self) -> bool:
        """Whether it grew by no more than it may."""
        return self.grown <= self.allowed


@contextmanager
def watching(
    processes: dict[str, int], ledger: Path, samples: list[Sample], every: float = 10
) -> Iterator[None]:
    """Append samples of processes and of the ledger's files, at the beginning and each so many seconds."""
    stop, began = threading.Event(), time.monotonic()

    def watch() -> None:
        while True:
            seconds = round(time.monotonic() - began, 1)
            size = round(megabytes(ledger), 3)
            for name, pid in processes.items():
                if is_alive(pid):
                    samples.append(Sample(seconds, name, *held(pid), size))
            if stop.wait(every):
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def is_alive(pid: int) -> bool:
    """Whether a process runs."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def held(pid: int) -> tuple[float, int, int]:
    """Megabytes in memory, descriptors and threads of a process and of those it started."""
    process = psutil.Process(pid)
    memory, files, threads = _of(process)
    for child in process.children(recursive=True):
        try:
            more = _of(child)
        except psutil.NoSuchProcess:
            continue
        memory, files, threads = memory + more[0], files + more[1], threads + more[2]
    return round(memory, 1), files, threads


def _of(process: psutil.Process) -> tuple[float, int, int]:
    with process.oneshot():
        return process.memory_info().rss / 2**20, process.num_fds(), process.num_threads()


def megabytes(folder: Path) -> float:
    """Of the ledger in a state folder: the database with its log, and the heads."""
    files = [*folder.glob("ledger.sqlite*"), *folder.glob("heads/*")]
    return sum(file.stat().st_size for file in files if file.exists()) / 2**20


def growths(samples: list[Sample], allowed: dict[str, dict[str, Allowance]]) -> list[Growth]:
    """Each figure of each service that has an allowance, in their order."""
    found = []
    by_service = sorted(samples, key=lambda sample: sample.service)
    for service, group in groupby(by_service, key=lambda sample: sample.service):
        own = list(group)
        for figure, allowance in allowed[service].items():
            seconds = np.array([sample.seconds for sample in own])
            values = np.array([getattr(sample, figure) for sample in own], dtype=float)
            found.append(_growth(service, figure, seconds, values, allowance))
    return found


def _growth(
    service: str, figure: str, seconds: np.ndarray, values: np.ndarray, allowance: Allowance
) -> Growth:
    end = seconds.max()
    first, last = values[seconds <= WARMING * end], values[seconds >= (1 - WARMING) * end]
    settled = seconds >= WARMING * end
    length = end * (1 - WARMING)
    step = -(-int(settled.sum()) // MOST_SAMPLES) or 1
    slope = theilslopes(values[settled][::step], seconds[settled][::step]).slope if settled.sum() > 1 else 0.0
    return Growth(
        service,
        figure,
        float(np.median(first)),
        float(np.median(last)),
        float(slope * length),
        allowance.within(length),
    )


def write(samples: list[Sample], path: Path) -> None:
    """All samples as CSV."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(field.name for field in fields(Sample))
        lines.writerows(astuple(sample) for sample in samples)
