"""Files of microdata that callers send to be assessed: Arrow IPC in pieces, never kept, never written."""

from collections.abc import Iterable
from threading import Semaphore
from typing import TYPE_CHECKING

from sdcgate.servers.errors import InvalidArgument, ResourceExhausted, TooLarge
from sdcgate.wire.problems import FieldProblem, join
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

if TYPE_CHECKING:
    import pyarrow as pa

    from sdcgate.engine.microdata import MicrodataColumns

NO_STREAM = "is no whole Arrow IPC stream with valid columns, not compressed"
LARGEST_GROWTH = 4
"""Times the bytes of a file that its columns may take: what is compressed would be larger."""


class FileAssessor:
    """Assesses files, so many at once and each up to a size."""

    def __init__(self, maximum_bytes: int, at_once: int) -> None:
        self._maximum = maximum_bytes
        self._running = Semaphore(at_once)

    def assess(self, requests: Iterable[pb.AssessMicrodataRequest]) -> pb.AssessMicrodataResponse:
        """Read a file from a stream of requests, assess it, forget it.

        Raises InvalidArgument with the path of every wrong option, TooLarge, and ResourceExhausted where as
        many files as may are being assessed.
        """
        if not self._running.acquire(blocking=False):
            raise ResourceExhausted("Other files are being assessed; try again")
        try:
            return self._assessed(requests)
        finally:
            self._running.release()

    def _assessed(self, requests: Iterable[pb.AssessMicrodataRequest]) -> pb.AssessMicrodataResponse:
        from sdcgate.engine.microdata import MicrodataUnusable, microdata_of_table
        from sdcgate.methods.risk.file_assessment import assess_file
        from sdcgate.wire.microdata import assessment_to_message, options_from_message

        options, content = self._received(requests)
        try:
            file = microdata_of_table(_table(content), _columns(options))
        except MicrodataUnusable as error:
            raise InvalidArgument(
                FieldProblem(join("options", path) if path else "", message)
                for path, message in error.problems
            ) from None
        del content
        try:
            return assessment_to_message(assess_file(file, options_from_message(options)))
        except ValueError as error:
            raise InvalidArgument([FieldProblem("", str(error))]) from None

    def _received(self, requests: Iterable[pb.AssessMicrodataRequest]) -> tuple[pb.MicrodataOptions, bytes]:
        """The options and all bytes. The options are looked at before more than the first piece is read."""
        options: pb.MicrodataOptions | None = None
        content = bytearray()
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
            content += request.arrow
            if len(content) > self._maximum:
                raise TooLarge(f"The file must have at most {self._maximum} bytes")
        if options is None:
            raise InvalidArgument([FieldProblem("options", "must be in the first message")])
        return options, bytes(content)


def _table(content: bytes) -> "pa.Table":
    """The columns of an Arrow IPC stream, every offset checked: a wrong one would read other memory."""
    import pyarrow as pa

    try:
        with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
            batches, size = [], 0
            for batch in reader:
                size += batch.nbytes
                if size > LARGEST_GROWTH * len(content):
                    raise InvalidArgument([FieldProblem("arrow", NO_STREAM)])
                batches.append(batch)
            table = pa.Table.from_batches(batches, reader.schema)
        table.validate(full=True)
    except (pa.ArrowException, ValueError, OSError, TypeError):
        raise InvalidArgument([FieldProblem("arrow", NO_STREAM)]) from None
    names = table.column_names
    if len(set(names)) < len(names):
        raise InvalidArgument([FieldProblem("arrow", "has two columns of one name")])
    return table


def _columns(options: pb.MicrodataOptions) -> "MicrodataColumns":
    from sdcgate.engine.descriptor import parse_scenarios
    from sdcgate.engine.microdata import MicrodataColumns
    from sdcgate.wire.json import to_value
    from sdcgate.wire.microdata import given

    scenarios = [to_value(one, {}) for one in options.scenarios]
    return MicrodataColumns(
        keys=tuple(options.keys),
        weight=options.weight,
        unit=options.unit,
        wave=options.wave,
        household=options.household,
        fraction=given(options, "fraction", None),
        population=given(options, "population", None),
        sensitive=tuple(options.sensitive),
        missing=tuple(options.missing_texts),
        scenarios=parse_scenarios(scenarios) if scenarios else (),
    )
