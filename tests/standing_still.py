"""Processes of a house that are stopped with SIGSTOP."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from served_house import ServedHouse


@contextmanager
def standing_still(house: ServedHouse, *services: str) -> Iterator[None]:
    """The processes of services stopped meanwhile, as by a debugger or a machine that swaps."""
    processes = [house.supervisor.processes[service] for service in services]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
