"""Files of microdata that callers send to be assessed; nothing of them is kept."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sdcgate.servers.errors import InvalidArgument
from sdcgate.servers.received_files import FileLane, table_of
from sdcgate.wire.problems import FieldProblem, join
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

if TYPE_CHECKING:
    from sdcgate.engine.microdata import MicrodataColumns


class FileAssessor:
    """Assesses files."""

    def __init__(self, lane: FileLane) -> None:
        self._lane = lane

    def assess(self, requests: Iterable[pb.AssessMicrodataRequest]) -> pb.AssessMicrodataResponse:
        """Read a file from a stream of requests, assess it, forget it.

        Raises InvalidArgument with the path of every wrong option, TooLarge, and ResourceExhausted where as
        many files as may are being assessed.
        """
        with self._lane.taken():
            return self._assessed(requests)

    def _assessed(self, requests: Iterable[pb.AssessMicrodataRequest]) -> pb.AssessMicrodataResponse:
        from sdcgate.engine.microdata import MicrodataUnusable, microdata_of_table
        from sdcgate.methods.risk.file_assessment import assess_file
        from sdcgate.wire.microdata import assessment_to_message, options_from_message

        options, (content,) = self._lane.received(requests, "arrow")
        try:
            file = microdata_of_table(table_of(content, "arrow"), _columns(options))
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


def _columns(options: pb.MicrodataOptions) -> "MicrodataColumns":
    from sdcgate.engine.descriptor import parse_scenarios
    from sdcgate.engine.microdata import MicrodataColumns
    from sdcgate.wire.json import to_value
    from sdcgate.wire.microdata import given, number_widths

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
        numbers=number_widths(options),
        scenarios=parse_scenarios(scenarios) if scenarios else (),
    )
