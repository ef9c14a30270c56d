"""Two files whose records callers link; nothing of them is kept."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sdcgate.servers.errors import InvalidArgument
from sdcgate.servers.received_files import FileLane, table_of
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems
from sdcgate_proto.sdcgate.risk.v1 import linkage_pb2 as pb

if TYPE_CHECKING:
    import pyarrow as pa

    from sdcgate.engine.linked_files import LinkedColumns
    from sdcgate.methods.risk.file_linkage import LinkedFiles

Heed = Callable[[], None]
DISTANCE, PROBABILISTIC = pb.LINKAGE_METHOD_DISTANCE, pb.LINKAGE_METHOD_PROBABILISTIC
INTERVAL, POPULATION = pb.LINKAGE_METHOD_INTERVAL, pb.LINKAGE_METHOD_POPULATION_COUNTS
ERRORS, AREAS = pb.LINKAGE_METHOD_MEASUREMENT_ERROR, pb.LINKAGE_METHOD_AREAS
TAKEN_BY = {
    "metric": (DISTANCE,),
    "standardisation": (DISTANCE,),
    "one_to_one": (DISTANCE, AREAS),
    "false_links": (PROBABILISTIC,),
    "false_non_links": (PROBABILISTIC,),
    "matches": (PROBABILISTIC,),
    "widths": (INTERVAL,),
    "interval_basis": (INTERVAL,),
    "count": (POPULATION, AREAS),
    "outside": (ERRORS,),
    "psu": (AREAS,),
    "keys": (AREAS,),
    "design_weight": (AREAS,),
    "size": (AREAS,),
    "same_order": (DISTANCE, PROBABILISTIC, INTERVAL, ERRORS, POPULATION),
    "blocks": (DISTANCE, PROBABILISTIC),
}
"""Options that some methods take."""
OF_VARIABLES = {"weight": (DISTANCE,), "error": (ERRORS, AREAS), "rounding": (AREAS,)}
"""Of a variable."""
OF_CATEGORIES = (PROBABILISTIC, POPULATION)
"""Methods that compare values for equality."""


class RecordLinker:
    """Links the records of files."""

    def __init__(self, lane: FileLane) -> None:
        self._lane = lane

    def link(self, requests: Iterable[pb.LinkRecordsRequest], heed: Heed) -> pb.LinkRecordsResponse:
        """Read two files from a stream of requests, link their records, forget them.

        Raises InvalidArgument with the path of every wrong option, TooLarge, ResourceExhausted where as many
        files as may are being looked at, and what `heed` raises.
        """
        with self._lane.taken():
            return self._linked(requests, heed)

    def _linked(self, requests: Iterable[pb.LinkRecordsRequest], heed: Heed) -> pb.LinkRecordsResponse:
        from sdcgate.engine.microdata import MicrodataUnusable

        options, contents = self._lane.received(requests, "original", "released")
        problems = Problems(misplaced(options))
        tables = [
            problems.of(_table, content, name)
            for content, name in zip(contents, ("original", "released"), strict=True)
        ]
        del contents
        if problems.found or tables[0] is None or tables[1] is None:
            raise InvalidArgument(problems.found)
        columns = linked_columns(options)
        try:
            return linked_tables(tables[0], tables[1], options, columns, heed)
        except MicrodataUnusable as error:
            raise InvalidArgument(
                FieldProblem(path if path in ("original", "released") else f"options.{path}", message)
                for path, message in error.problems
            ) from None
        except ValueError as error:
            raise InvalidArgument([FieldProblem("", str(error))]) from None


def linked_tables(
    original: "pa.Table",
    released: "pa.Table",
    options: pb.LinkageOptions,
    columns: "LinkedColumns",
    heed: Heed,
) -> pb.LinkRecordsResponse:
    """The links of two tables by the method that is asked for.

    Raises MicrodataUnusable with all problems of their columns, ValueError where they cannot be linked.
    """
    if options.method == AREAS:
        from sdcgate.engine.psu_files import psu_file_of_tables
        from sdcgate.methods.risk.file_psus import by_areas
        from sdcgate.wire.psu_linkage import areas_to_answer

        file, psus = psu_file_of_tables(original, released, columns)
        return areas_to_answer(by_areas(file, options.one_to_one), file, psus, options.summary_only)
    from sdcgate.engine.linked_files import linked_files_of_tables

    files = linked_files_of_tables(original, released, columns, options.method in OF_CATEGORIES)
    return linked(files, options, columns, heed)


def linked(
    files: "LinkedFiles", options: pb.LinkageOptions, columns: "LinkedColumns", heed: Heed
) -> pb.LinkRecordsResponse:
    """The links of two files by the method that is asked for. Raises ValueError where it cannot link them."""
    from sdcgate.engine.linked_files import weights_in_order
    from sdcgate.methods.risk import file_linkage
    from sdcgate.wire import linkage

    answer, brief = linkage.answer_of(files), options.summary_only
    if options.method == DISTANCE:
        how = linkage.distance_options(options, weights_in_order(columns))
        links = file_linkage.by_distance(files, how, heed)
        answer.distance.CopyFrom(linkage.distance_to_message(links, files, brief))
    elif options.method == PROBABILISTIC:
        found = file_linkage.by_agreement(files, linkage.probabilistic_options(options), heed)
        answer.probabilistic.CopyFrom(linkage.probabilistic_to_message(found, files, brief))
    elif options.method == INTERVAL:
        widths = tuple(options.widths) or linkage.USUAL_WIDTHS
        inside = file_linkage.by_intervals(files, widths, linkage.BASES[options.interval_basis], heed)
        answer.intervals.extend(map(linkage.interval_to_message, widths, inside))
    elif options.method == ERRORS:
        from sdcgate.wire.psu_linkage import errors_to_message

        given = [one.error for one in options.variables if one.HasField("error")]
        risk, errors = file_linkage.by_errors(files, given or None, options.outside)
        answer.measurement_error.CopyFrom(errors_to_message(risk, errors.tolist(), files, brief))
    else:
        answer.population.CopyFrom(linkage.population_to_message(file_linkage.by_counts(files), brief))
    return answer


def misplaced(options: pb.LinkageOptions) -> list[FieldProblem]:
    """Options that the method does not take, and those that it needs."""
    problems = []
    for field, _ in options.ListFields():
        problems += _taken(f"options.{field.name}", TAKEN_BY.get(field.name), options.method)
    for place, one in enumerate(options.variables):
        for field, _ in one.ListFields():
            path = f"options.variables[{place}].{field.name}"
            problems += _taken(path, OF_VARIABLES.get(field.name), options.method)
    if options.method in (INTERVAL, ERRORS):
        if not (options.id or options.same_order):
            text = "name the column that says who is who, or set same_order"
            problems.append(FieldProblem("options.id", text))
        problems += _kinds(options, (pb.VARIABLE_KIND_NUMERIC, pb.VARIABLE_KIND_ORDINAL))
    if options.method == ERRORS:
        given = [one.HasField("error") for one in options.variables]
        if any(given) and not all(one.error > 0 for one in options.variables):
            problems.append(FieldProblem("options.variables", "give an error above 0 to all, or to none"))
    if options.method == AREAS:
        problems += _kinds(options, (pb.VARIABLE_KIND_NUMERIC,))
        if not options.psu:
            problems.append(FieldProblem("options.psu", "name the column of the released file with the PSU"))
        if options.keys and not (options.count and options.design_weight):
            text = "the risk of keys needs count, the people of an area, and design_weight, too"
            problems.append(FieldProblem("options.keys", text))
    return problems


def _taken(path: str, methods: tuple[int, ...] | None, method: int) -> list[FieldProblem]:
    """A problem where the method does not take an option that some take."""
    if methods is None or method in methods:
        return []
    names = [pb.LinkageMethod.Name(one).removeprefix("LINKAGE_METHOD_") for one in methods]
    return [FieldProblem(path, f"is for the method {' or '.join(names)} only")]


def _kinds(options: pb.LinkageOptions, kinds: tuple[int, ...]) -> list[FieldProblem]:
    """A problem for each variable that is of none of the kinds that the method takes."""
    names = " or ".join(pb.VariableKind.Name(kind).removeprefix("VARIABLE_KIND_") for kind in kinds)
    return [
        FieldProblem(f"options.variables[{place}].kind", f"must be {names} for this method")
        for place, one in enumerate(options.variables)
        if one.kind not in kinds
    ]


def _table(content: bytes, path: str) -> "pa.Table":
    """A file's table. Raises InvalidMessageError, so that the problems of both files are told at once."""
    try:
        return table_of(content, path)
    except InvalidArgument as error:
        raise InvalidMessageError(error.fields) from None


def linked_columns(options: pb.LinkageOptions) -> "LinkedColumns":
    """Which columns of the files are what."""
    from sdcgate.engine.linked_files import Kind, LinkedColumns, LinkedVariable
    from sdcgate.wire.microdata import given

    kinds = {
        pb.VARIABLE_KIND_NOMINAL: Kind.NOMINAL,
        pb.VARIABLE_KIND_ORDINAL: Kind.ORDINAL,
        pb.VARIABLE_KIND_NUMERIC: Kind.NUMERIC,
    }
    return LinkedColumns(
        variables=tuple(
            LinkedVariable(
                one.column,
                kinds[one.kind],
                one.released_column,
                given(one, "weight", 1.0),
                tuple(one.order),
                one.error if one.HasField("error") else None,
                one.rounding,
            )
            for one in options.variables
        ),
        unit_id=options.id,
        same_order=options.same_order,
        blocks=tuple(options.blocks),
        count=options.count,
        missing=tuple(options.missing_texts),
        psu=options.psu,
        keys=tuple(options.keys),
        design_weight=options.design_weight,
        size=options.size,
    )
