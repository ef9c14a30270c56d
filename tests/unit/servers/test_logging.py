"""Logs that cannot be written stop nothing."""

import errno
import io
import json
import logging
import sys
import warnings
from collections.abc import Iterator

import pytest

from sdcgate.servers.logging import configure, logger


class FullDisk(io.StringIO):
    """A stream on a disk that is full for a while."""

    full = False

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)

    def flush(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[FullDisk]:
    made = FullDisk()
    monkeypatch.setattr(sys, "stderr", made)
    configure("test")
    yield made
    logging.captureWarnings(False)


def test_a_warning_is_a_line_like_any_other_without_its_words(disk):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("overflow in 31337.25", RuntimeWarning, stacklevel=1)
    (line,) = disk.getvalue().splitlines()
    assert json.loads(line)["logger"] == "py.warnings"
    assert "31337" not in line


def test_a_line_that_cannot_be_written_is_dropped_and_those_after_it_are_not(disk):
    log = logger("test")
    log.info("before")
    disk.full = True
    log.info("meanwhile")
    disk.full = False
    log.info("after")
    assert [json.loads(line)["event"] for line in disk.getvalue().splitlines()] == ["before", "after"]
