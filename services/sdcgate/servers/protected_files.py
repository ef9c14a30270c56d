"""Files of microdata that stewards send to be protected; nothing of them is kept."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from sdcgate.servers.errors import InvalidArgument, Unavailable
from sdcgate.servers.received_files import FileLane, table_of
from sdcgate.wire.problems import FieldProblem, join
from sdcgate_proto.sdcgate.protection.v1 import microdata_pb2 as pb

if TYPE_CHECKING:
    import pyarrow as pa

    from sdcgate.engine.swapped_files import RankSwap, RecordSwap

Heed = Callable[[], None]
PIECE_BYTES = 1 << 20
"""A message of the protected file has about so many."""
UNARMED = (
    "The service has no secret to draw with: its operator must let it read and write, or give, the file of "
    "SDCGATE_PROTECTION__SWAPPING_SECRET_FILE"
)


class FileProtector:
    """Protects files."""

    def __init__(self, lane: FileLane, secret: Callable[[], bytes]) -> None:
        self._lane = lane
        self._secret = secret

    def protect(
        self, requests: Iterable[pb.ProtectMicrodataRequest], heed: Heed
    ) -> Iterator[pb.ProtectMicrodataResponse]:
        """Read a file from a stream of requests, protect it, give the report, then the file.

        Raises InvalidArgument with the path of every wrong option, TooLarge, ResourceExhausted where as many
        files as may are being looked at, Unavailable where there is no secret, and what `heed` raises.
        """
        with self._lane.taken():
            options, (content,) = self._lane.received(requests, "arrow")
            table = table_of(content, "arrow")
            heed()
            if table.num_rows == 0:
                raise InvalidArgument([FieldProblem("arrow", "the file has no records")])
            protected, report = self._protected(table, options, heed)
            del content, table
            heed()
            yield pb.ProtectMicrodataResponse(report=report)
            for piece in _pieces(protected):
                yield pb.ProtectMicrodataResponse(arrow=piece)

    def _protected(
        self, table: "pa.Table", options: pb.ProtectMicrodataOptions, heed: Heed
    ) -> "tuple[pa.Table, pb.ProtectMicrodataReport]":
        from sdcgate.engine.microdata import MicrodataUnusable

        try:
            secret = self._secret()
        except (OSError, ValueError):
            raise Unavailable(UNARMED) from None
        try:
            return protected_table(table, options, secret, heed)
        except MicrodataUnusable as error:
            place = f"options.{options.WhichOneof('method')}"
            raise InvalidArgument(
                FieldProblem(join(place, path), message) for path, message in error.problems
            ) from None


def protected_table(
    table: "pa.Table", options: pb.ProtectMicrodataOptions, secret: bytes, heed: Heed = lambda: None
) -> "tuple[pa.Table, pb.ProtectMicrodataReport]":
    """The protected table by options whose constraints hold, and the report.

    `heed` is called now and then, and may end the work. Raises MicrodataUnusable with all problems of the
    columns.
    """
    from sdcgate.engine.swapped_files import swap_ranks, swap_records
    from sdcgate.wire.swapping import drawn_by, rank_swapping_to_message, swapping_to_message

    if options.WhichOneof("method") == "record_swapping":
        households = record_swap(options)
        swapped, loss = swap_records(table, households, secret, drawn_by(options), heed)
        report = swapping_to_message(loss, households.hierarchy, households.compared, households.kept)
        return swapped, report
    values = rank_swap(options)
    swapped, changes = swap_ranks(table, values, secret, drawn_by(options), heed)
    return swapped, rank_swapping_to_message(changes, tuple(one.name for one in values.columns))


def record_swap(options: pb.ProtectMicrodataOptions) -> "RecordSwap":
    """Which columns record swapping takes for what."""
    from sdcgate.engine.swapped_files import RecordSwap
    from sdcgate.methods.microdata.swapping import USUAL_K, USUAL_RATE
    from sdcgate.wire.microdata import given

    asked = options.record_swapping
    return RecordSwap(
        hierarchy=tuple(asked.hierarchy),
        household=asked.household,
        similar=tuple(tuple(one.variables) for one in asked.similar) or ((),),
        risk_variables=tuple(asked.risk_variables),
        k_anonymity=given(asked, "k_anonymity", USUAL_K),
        swap_rate=given(asked, "swap_rate", USUAL_RATE),
        carry_along=tuple(asked.carry_along),
        tables=tuple(tuple(one.variables) for one in asked.tables),
        missing=tuple(options.missing_texts),
    )


def rank_swap(options: pb.ProtectMicrodataOptions) -> "RankSwap":
    """Which columns are swapped by rank, and how far."""
    from sdcgate.engine.swapped_files import RankedColumn, RankSwap

    asked = options.rank_swapping
    return RankSwap(
        columns=tuple(RankedColumn(one.column, tuple(one.order)) for one in asked.variables),
        rank_share=asked.rank_share,
        missing=tuple(options.missing_texts),
    )


class _Sink:
    """A file that gathers what is written to it in pieces of a size."""

    def __init__(self) -> None:
        self.closed = False
        self._pieces: list[bytes] = []
        self._open = bytearray()

    def write(self, content: bytes) -> int:
        """Add some bytes."""
        self._open += memoryview(content)
        if len(self._open) >= PIECE_BYTES:
            self._pieces.append(bytes(self._open))
            self._open.clear()
        return len(content)

    def flush(self) -> None:
        """Nothing is held back from anybody."""

    def close(self) -> None:
        """No more is written."""
        self.closed = True

    def pieces(self) -> list[bytes]:
        """All that was written."""
        return [*self._pieces, bytes(self._open)]


def _pieces(table: "pa.Table") -> list[bytes]:
    """A table as an Arrow IPC stream, in pieces."""
    import pyarrow as pa

    sink = _Sink()
    with pa.PythonFile(sink, mode="w") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return sink.pieces()
