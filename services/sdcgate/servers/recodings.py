"""Files whose recodings callers compare; nothing of them is kept."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sdcgate.servers.errors import InvalidArgument
from sdcgate.servers.received_files import FileLane, table_of
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.risk.v1 import recodings_pb2 as pb

if TYPE_CHECKING:
    from sdcgate.engine.microdata import MicrodataColumns
    from sdcgate.engine.recodings import CodeLevel


class RecodingComparer:
    """Compares recodings of files."""

    def __init__(self, lane: FileLane) -> None:
        self._lane = lane

    def compare(
        self, requests: Iterable[pb.CompareRecodingsRequest], heed: Callable[[], None]
    ) -> pb.CompareRecodingsResponse:
        """Read a file from a stream of requests, compare its recodings, forget it.

        Raises InvalidArgument with the path of every wrong option, TooLarge, ResourceExhausted where as many
        files as may are being looked at, and what `heed` raises.
        """
        with self._lane.taken():
            return self._compared(requests, heed)

    def _compared(
        self, requests: Iterable[pb.CompareRecodingsRequest], heed: Callable[[], None]
    ) -> pb.CompareRecodingsResponse:
        from sdcgate.engine.microdata import MicrodataUnusable, microdata_of_table
        from sdcgate.engine.recodings import with_levels
        from sdcgate.methods.risk.microdata import by_units
        from sdcgate.methods.risk.recoding_comparison import compare_recodings
        from sdcgate.wire.recodings import comparison_options, comparison_to_message

        options, (content,) = self._lane.received(requests, "arrow")
        levels = _levels(options)
        paths = {key.column: f"options.keys[{at}].levels" for at, key in enumerate(options.keys)}
        try:
            file = microdata_of_table(table_of(content, "arrow"), _columns(options))
            file = with_levels(file, levels, paths)
        except MicrodataUnusable as error:
            raise InvalidArgument(
                FieldProblem(_path(path), message) for path, message in error.problems
            ) from None
        del content
        try:
            units = by_units(file)
            return comparison_to_message(
                compare_recodings(units, comparison_options(options), heed), len(units)
            )
        except ValueError as error:
            raise InvalidArgument([FieldProblem("", str(error))]) from None


def _columns(options: pb.RecodingOptions) -> "MicrodataColumns":
    from sdcgate.engine.microdata import MicrodataColumns
    from sdcgate.wire.microdata import given

    return MicrodataColumns(
        keys=tuple(key.column for key in options.keys),
        weight=options.weight,
        unit=options.unit,
        wave=options.wave,
        fraction=given(options, "fraction", None),
        population=given(options, "population", None),
        missing=tuple(options.missing_texts),
        interest=options.interest,
    )


def _path(path: str) -> str:
    """Where a problem of the file's columns stands in the options: `keys[2]` names a column there."""
    if not path or path.startswith("options."):
        return path
    return f"options.{path}.column" if path.startswith("keys[") else f"options.{path}"


def _levels(options: pb.RecodingOptions) -> "dict[str, list[CodeLevel]]":
    """The levels of each key variable. Raises InvalidArgument where maps are none."""
    from sdcgate.engine.recodings import CodeLevel

    problems: list[FieldProblem] = []
    found: dict[str, list[CodeLevel]] = {}
    for at, key in enumerate(options.keys):
        for place, level in enumerate(key.levels):
            path = f"options.keys[{at}].levels[{place}]"
            if len(level.codes) != len(level.parents):
                text = f"must be one a code, {len(level.codes)}, not {len(level.parents)}"
                problems.append(FieldProblem(f"{path}.parents", text))
            parents = dict(zip(level.codes, level.parents, strict=False))
            if len(parents) < len(level.codes):
                problems.append(FieldProblem(f"{path}.codes", "a code stands more than once"))
            found.setdefault(key.column, []).append(CodeLevel(level.name, parents, level.band_width))
    if problems:
        raise InvalidArgument(problems)
    return found
