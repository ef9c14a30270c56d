"""Files of microdata that callers send: Arrow IPC in pieces, so many at once, never kept, never written."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Semaphore
from typing import TYPE_CHECKING, Any

import grpc

from sdcgate.servers.errors import DeadlineExceeded, InvalidArgument, ResourceExhausted, TooLarge
from sdcgate.wire.problems import FieldProblem
from sdcgate.wire.validation import violations

if TYPE_CHECKING:
    import pyarrow as pa

NO_STREAM = "is no whole Arrow IPC stream with valid columns, not compressed"
LARGEST_GROWTH = 4
"""Times the bytes of a file that its columns may take: what is compressed would be larger."""


class FileLane:
    """Room for so many calls with files at once, each up to a size."""

    def __init__(self, maximum_bytes: int, at_once: int) -> None:
        self._maximum = maximum_bytes
        self._running = Semaphore(at_once)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Room for one call. Raises ResourceExhausted where as many files as may are being looked at."""
        if not self._running.acquire(blocking=False):
            raise ResourceExhausted("Other files are being looked at; try again")
        try:
            yield
        finally:
            self._running.release()

    def received(self, requests: Iterable[Any], *files: str) -> tuple[Any, tuple[bytes, ...]]:
        """The options and all bytes of each of the files, the fields of a request that carry them.

        The options are looked at before more than the first piece is read. Raises InvalidArgument with the
        path of every wrong option, and TooLarge.
        """
        options: Any = None
        contents = {name: bytearray() for name in files}
        for position, request in enumerate(requests):
            if position == 0:
                options = request.options
                problems = violations(request)
                if not request.HasField("options"):
                    problems = [FieldProblem("options", "must be in the first message")]
                if problems:
                    raise InvalidArgument(problems)
            elif request.HasField("options"):
                raise InvalidArgument([FieldProblem("options", "belong to the first message only")])
            for name in files:
                contents[name] += getattr(request, name)
            if sum(map(len, contents.values())) > self._maximum:
                what = "file" if sum(map(bool, contents.values())) == 1 else "files together"
                raise TooLarge(f"The {what} must have at most {self._maximum} bytes")
        if options is None:
            raise InvalidArgument([FieldProblem("options", "must be in the first message")])
        return options, tuple(bytes(content) for content in contents.values())


def table_of(content: bytes, path: str) -> "pa.Table":
    """The columns of an Arrow IPC stream, every offset checked: a wrong one would read other memory."""
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
            batches, size = [], 0
            for batch in reader:
                size += batch.nbytes
                if size > LARGEST_GROWTH * len(content):
                    raise InvalidArgument([FieldProblem(path, NO_STREAM)])
                batches.append(batch)
            table = pa.Table.from_batches(batches, reader.schema)
        table.validate(full=True)
    except (pa.ArrowException, ValueError, OSError, TypeError):
        raise InvalidArgument([FieldProblem(path, NO_STREAM)]) from None
    names = table.column_names
    if len(set(names)) < len(names):
        raise InvalidArgument([FieldProblem(path, "has two columns of one name")])
    return table


def heeding(context: grpc.ServicerContext) -> Callable[[], None]:
    """What long work calls now and then: it ends the work where nobody waits for its answer any more."""

    def heed() -> None:
        if not context.is_active():
            raise DeadlineExceeded

    return heed
