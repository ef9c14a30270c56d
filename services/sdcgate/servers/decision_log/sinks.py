"""Where the decision log goes: a file, standard output, or a receiver over HTTP (a webhook, a collector).

A sink takes a batch whole or says that it did not; it is then given the same batch again.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import httpx

from sdcgate.servers.decision_log.connections import Connections, why_not_reached
from sdcgate.servers.decision_log.entries import Entry, line_of
from sdcgate.servers.decision_log.otlp import partly_refused
from sdcgate.servers.monitoring_settings import LogReceiver

MOST_ANSWER_BYTES = 65_536
_TAIL = 65_536


class NotDelivered(Exception):
    """A batch was not taken; the text says why, without a word of the receiver's or of the batch."""


class Sink(Protocol):
    """Somebody who takes batches of the log, in order."""

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Take a batch; some of it may have come before.

        Raises:
            NotDelivered: it was not taken.
        """


class FileSink:
    """Appends lines to a file, durably; opened anew for each batch, so that it may be renamed in between."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Append all lines or none."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise NotDelivered(f"the file cannot be opened: {error.strerror}") from None
        size = None
        try:
            size = _whole_lines(descriptor)
            _write_all(descriptor, b"".join(map(line_of, entries)))
            os.fsync(descriptor)
        except OSError as error:
            if size is not None:
                os.ftruncate(descriptor, size)
            raise NotDelivered(f"the file cannot be written: {error.strerror}") from None
        finally:
            os.close(descriptor)


class StdoutSink:
    """Writes lines to standard output; a reader that is slow keeps nobody waiting but this sink."""

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Write all lines."""
        try:
            # Not through the buffer of sys.stdout: its lock would be held while the reader is slow.
            _write_all(sys.__stdout__.fileno() if sys.__stdout__ else 1, b"".join(map(line_of, entries)))
        except OSError as error:
            raise NotDelivered(f"standard output cannot be written: {error.strerror}") from None


Encode = Callable[[Sequence[Entry]], tuple[bytes, Mapping[str, str]]]
"""A batch as a body, with the headers that belong to it."""


class HttpSink:
    """Posts batches to a receiver. What is not a success is tried again, whatever it is."""

    def __init__(self, url: str, receiver: LogReceiver, encode: Encode) -> None:
        self._url = url
        self._encode = encode
        self._token_file = receiver.token_file
        self._connections = Connections(receiver)

    def deliver(self, entries: Sequence[Entry]) -> None:
        """Post a batch."""
        body, headers = self._encode(entries)
        try:
            client = self._connections.client()
        except OSError as error:
            raise NotDelivered(f"a file of its TLS cannot be used: {type(error).__name__}") from None
        try:
            shown = {**headers, **self._authorization()}
            with client.stream("POST", self._url, content=body, headers=shown) as answer:
                if not answer.is_success:
                    raise NotDelivered(f"the receiver answered {answer.status_code}")
                if partly_refused(_beginning(answer)):
                    raise NotDelivered("the receiver refused a part")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NotDelivered(f"the receiver was not reached: {why_not_reached(error)}") from None
        except OSError as error:
            raise NotDelivered(f"the token cannot be read: {error.strerror}") from None

    def _authorization(self) -> Mapping[str, str]:
        """Read each time: a token is replaced by replacing its file."""
        if self._token_file is None:
            return {}
        return {"Authorization": f"Bearer {self._token_file.read_text(encoding='ascii').strip()}"}


def _beginning(answer: httpx.Response) -> bytes:
    found = b""
    for part in answer.iter_bytes():
        found += part
        if len(found) > MOST_ANSWER_BYTES:
            return b""
    return found


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _whole_lines(descriptor: int) -> int:
    """Size of the file, once the beginning of a line that a crash left is cut off."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _TAIL, max(0, size - _TAIL))
    if tail and not tail.endswith(b"\n"):
        size = size - len(tail) + tail.rfind(b"\n") + 1
        os.ftruncate(descriptor, size)
    return size
