"""Clocks of the day of real processes that jump; each service has one of its own (jumping_clock.c)."""

import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from sdcgate.cli.supervisor import SERVICES

SOURCE = Path(__file__).with_name("jumping_clock.c")


class JumpingClocks:
    """How far the clock of each service is from the true one, in seconds."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for service in SERVICES:
            (folder / service).write_bytes(struct.pack("=q", 0))

    def move(self, seconds: int, *services: str) -> None:
        """So many seconds from the true time, in services that run or will be started."""
        for service in services:
            # In place: the processes look at this very file.
            with (self._folder / service).open("r+b", buffering=0) as file:
                file.write(struct.pack("=q", seconds))


@contextmanager
def jumping_clocks(folder: Path) -> Iterator[JumpingClocks]:
    """Services that are started meanwhile have clocks that can be moved; skips where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler here")
    folder.mkdir()
    library = folder / "jumping_clock.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    with mock.patch.dict(os.environ, {"LD_PRELOAD": str(library), "JUMPING_CLOCKS": str(folder)}):
        yield JumpingClocks(folder)
