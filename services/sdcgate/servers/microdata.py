"""Files of microdata that callers send to be assessed; nothing of them is kept."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sdcgate.servers.errors import InvalidArgument
from sdcgate.servers.received_files import FileLane, table_of
from sdcgate.wire.problems import FieldProblem, join
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

if TYPE_CHECKING:
    import pyarrow as pa

    from sdcgate.engine.microdata import MicrodataColumns
    from sdcgate.methods.risk.microdata import Microdata

Heed = Callable[[], None]
OTHER = "the other release"
NO_OTHER = "send the file of the other release in `other`, or name the keys that make it of this one"


class FileAssessor:
    """Assesses files."""

    def __init__(self, lane: FileLane) -> None:
        self._lane = lane

    def assess(
        self, requests: Iterable[pb.AssessMicrodataRequest], heed: Heed | None = None
    ) -> pb.AssessMicrodataResponse:
        """Read a file from a stream of requests, assess it, forget it.

        Raises InvalidArgument with the path of every wrong option, TooLarge, ResourceExhausted where as
        many files as may are being assessed, and what `heed` raises, which is called now and then.
        """
        with self._lane.taken():
            return self._assessed(requests, heed)

    def _assessed(
        self, requests: Iterable[pb.AssessMicrodataRequest], heed: Heed | None
    ) -> pb.AssessMicrodataResponse:
        from sdcgate.methods.risk.file_assessment import assess_file
        from sdcgate.wire.microdata import assessment_to_message, check_key_names, options_from_message

        options, (content, other) = self._lane.received(requests, "arrow", "other")
        check_key_names(options)
        columns = _columns(options)
        table = table_of(content, "arrow")
        file = _file(table, columns)
        linked, unlinked = _linked(file, table, other, columns, options, heed)
        del content, other, table
        try:
            message = assessment_to_message(assess_file(file, options_from_message(options), heed))
        except ValueError as error:
            raise InvalidArgument([FieldProblem("", str(error))]) from None
        if linked is not None:
            message.linked_releases.CopyFrom(linked)
        message.not_computed.extend(unlinked)
        return message


def _file(table: "pa.Table", columns: "MicrodataColumns", prefix: str = "", whose: str = "") -> "Microdata":
    """The named columns of a table; `prefix` says where its keys stand, `whose` of what file problems are."""
    from sdcgate.engine.microdata import MicrodataUnusable, microdata_of_table

    try:
        return microdata_of_table(table, columns)
    except MicrodataUnusable as error:
        raise InvalidArgument(
            FieldProblem(
                join("options", f"{prefix}{path}" if path.startswith("keys") else path) if path else "",
                f"{whose}{message}",
            )
            for path, message in error.problems
        ) from None


def _linked(
    file: "Microdata",
    table: "pa.Table",
    content: bytes,
    columns: "MicrodataColumns",
    options: pb.MicrodataOptions,
    heed: Heed | None,
) -> tuple[pb.LinkedReleases | None, list[pb.NotComputed]]:
    """What can be linked with another release, where there is one, or why that is not known."""
    from sdcgate.engine.microdata import MicrodataUnusable
    from sdcgate.engine.releases import linked_releases
    from sdcgate.wire.file_release import linked_to_message
    from sdcgate.wire.microdata import MISSING

    if not content and not options.HasField("other"):
        return None, []
    if not content and not options.other.keys:
        raise InvalidArgument([FieldProblem("options.other", NO_OTHER)])
    keys = tuple(options.other.keys)
    second = _file(
        table_of(content, "other") if content else table,
        _of_other(columns, keys),
        "other." if keys else "",
        f"{OTHER}: ",
    )
    name = options.other.name or OTHER
    try:
        found = linked_releases(file, second, name, not content, MISSING[options.missing], heed)
    except MicrodataUnusable as error:
        raise InvalidArgument(
            FieldProblem(join("options", path), message) for path, message in error.problems
        ) from None
    except ValueError as error:
        return None, [pb.NotComputed(what="several files of one source", reason=str(error))]
    return linked_to_message(found), []


def _of_other(columns: "MicrodataColumns", keys: tuple[str, ...]) -> "MicrodataColumns":
    """The columns of another release: who is who, what they stand for, and its key."""
    return replace(
        columns,
        keys=keys or columns.keys,
        household="",
        stratum="",
        psu="",
        sensitive=(),
        scenarios=(),
        numbers=(),
        classes=(),
    )


def _columns(options: pb.MicrodataOptions) -> "MicrodataColumns":
    from sdcgate.engine.descriptor import parse_scenarios
    from sdcgate.engine.microdata import MicrodataColumns
    from sdcgate.wire.json import to_value
    from sdcgate.wire.microdata import CLASSES, given, number_widths

    scenarios = [to_value(one, {}) for one in options.scenarios]
    return MicrodataColumns(
        keys=tuple(options.keys),
        weight=options.weight,
        unit=options.unit,
        wave=options.wave,
        household=options.household,
        stratum=options.stratum,
        psu=options.psu,
        fraction=given(options, "fraction", None),
        population=given(options, "population", None),
        sensitive=tuple(options.sensitive),
        missing=tuple(options.missing_texts),
        numbers=number_widths(options.numbers, "options.numbers"),
        classes=tuple((one.key, CLASSES[one.identifying]) for one in options.classes),
        scenarios=parse_scenarios(scenarios) if scenarios else (),
    )
