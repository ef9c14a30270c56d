"""`sdcgate link`: what can be linked of two files, as text, as JSON, a line a record."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdcgate.cli.connection import told

if TYPE_CHECKING:
    from sdcgate_proto.sdcgate.risk.v1.linkage_pb2 import LinkageOptions, LinkRecordsResponse


class Method(StrEnum):
    """How two files are linked."""

    DISTANCE = "distance"
    PROBABILISTIC = "probabilistic"
    INTERVAL = "interval"
    POPULATION_COUNTS = "population-counts"
    MEASUREMENT_ERROR = "measurement-error"
    AREAS = "areas"


class Metric(StrEnum):
    """How differences add up."""

    EUCLIDEAN = "euclidean"
    MANHATTAN = "manhattan"


class Scale(StrEnum):
    """What one unit of a number's difference is."""

    OWN = "own"
    ORIGINAL = "original"
    RANGE = "range"
    NONE = "none"


class Basis(StrEnum):
    """What the width of an interval is a share of."""

    RANK = "rank"
    STANDARD_DEVIATION = "standard-deviation"


def link(
    original: Annotated[Path, typer.Argument(help="The file as it was: CSV or Parquet.", show_default=False)],
    released: Annotated[Path, typer.Argument(help="The file as it would leave.", show_default=False)],
    numeric: Annotated[list[str], typer.Option(help="Numbers, separated by commas.")] = [],  # noqa: B006
    nominal: Annotated[list[str], typer.Option(help="Categories, separated by commas.")] = [],  # noqa: B006
    ordinal: Annotated[list[str], typer.Option(help="Ordered categories, separated by commas.")] = [],  # noqa: B006
    method: Annotated[Method, typer.Option(help="How the files are linked.")] = Method.DISTANCE,
    unit_id: Annotated[str, typer.Option("--id", help="Column of both that says who is who.")] = "",
    same_order: Annotated[bool, typer.Option(help="Record i of one was made from record i.")] = False,
    blocks: Annotated[list[str], typer.Option(help="Columns that must agree.")] = [],  # noqa: B006
    weight: Annotated[
        list[str], typer.Option(help="distance: weight of a variable, income=2; repeatable.")
    ] = [],  # noqa: B006
    metric: Annotated[Metric | None, typer.Option(help="distance: how differences add up.")] = None,
    scale: Annotated[Scale | None, typer.Option(help="distance: what a unit of a difference is.")] = None,
    one_to_one: Annotated[bool, typer.Option(help="distance, areas: all at once, to 5,000 records.")] = False,
    false_links: Annotated[
        float | None, typer.Option(help="probabilistic: accepted chance that others are linked.")
    ] = None,
    false_non_links: Annotated[
        float | None, typer.Option(help="probabilistic: accepted chance that a match is not.")
    ] = None,
    matches: Annotated[
        float | None, typer.Option(help="probabilistic: number of true matches, if it is known.")
    ] = None,
    widths: Annotated[list[float], typer.Option(help="interval: a width; repeatable.")] = [],  # noqa: B006
    basis: Annotated[Basis | None, typer.Option(help="interval: what widths are shares of.")] = None,
    count: Annotated[
        str, typer.Option(help="population-counts, areas: column with the people of a row of the original.")
    ] = "",
    error: Annotated[
        list[str],
        typer.Option(
            help="measurement-error, areas: standard deviation of a number's error, income=2; repeatable."
        ),
    ] = [],  # noqa: B006
    rounding: Annotated[
        list[str],
        typer.Option(help="areas: what a number is rounded to multiples of, rate=0.1; repeatable."),
    ] = [],  # noqa: B006
    outside: Annotated[int, typer.Option(help="measurement-error: people who are not in the file.")] = 0,
    psu: Annotated[str, typer.Option(help="areas: column of the released file with the PSU.")] = "",
    keys: Annotated[
        list[str], typer.Option(help="areas: key of a person in the released file, separated by commas.")
    ] = [],  # noqa: B006
    design_weight: Annotated[
        str, typer.Option(help="areas: column of the released file with the design weight.")
    ] = "",
    size: Annotated[
        str, typer.Option(help="areas: column of the original with the size that PSUs were drawn by.")
    ] = "",
    missing_text: Annotated[
        list[str], typer.Option(help="Text that stands for a missing value; repeatable.")
    ] = [],  # noqa: B006
    delimiter: Annotated[str, typer.Option(help="What separates columns of a CSV file; comma.")] = "",
    by_record: Annotated[
        Path | None, typer.Option(help="Write a line a released record to this CSV file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the service answers.")] = False,
) -> None:
    """Link the records of a released file to those of the original, here. No service is asked."""
    with told():
        given: dict[str, Any] = {
            "method": method.name,
            "variables": _variables(
                numeric, nominal, ordinal, {"weight": weight, "error": error, "rounding": rounding}
            ),
            "id": unit_id,
            "same_order": same_order,
            "blocks": _names(blocks),
            "missing_texts": missing_text,
            "metric": None if metric is None else metric.name,
            "standardisation": None if scale is None else scale.name,
            "one_to_one": one_to_one,
            "false_links": false_links,
            "false_non_links": false_non_links,
            "matches": matches,
            "widths": widths,
            "interval_basis": None if basis is None else basis.name,
            "count": count,
            "outside": outside,
            "psu": psu,
            "keys": _names(keys),
            "design_weight": design_weight,
            "size": size,
        }
        options = _options({name: value for name, value in given.items() if value})
        answer = _linked(original, released, options, delimiter)
        if by_record is not None:
            from sdcgate.cli.linkage_report import write_matches

            write_matches(answer, by_record)
        _show(f"{released.name} linked to {original.name}", options, answer, as_json)


def _options(given: dict[str, Any]) -> "LinkageOptions":
    """The options as the service takes them. Raises ValueError with all that is wrong."""
    from sdcgate.servers.linked_records import misplaced
    from sdcgate.wire.json import from_value
    from sdcgate.wire.problems import FieldProblem, InvalidMessageError
    from sdcgate.wire.validation import violations
    from sdcgate_proto.sdcgate.risk.v1.linkage_pb2 import LinkageOptions

    options = from_value(given, LinkageOptions)
    problems = violations(options) or misplaced(options)
    if problems:
        raise InvalidMessageError(
            FieldProblem(problem.path.removeprefix("options."), problem.message) for problem in problems
        )
    return options


def _linked(
    original: Path, released: Path, options: "LinkageOptions", delimiter: str
) -> "LinkRecordsResponse":
    from sdcgate.engine.linked_files import read_linked_tables
    from sdcgate.servers.linked_records import linked_columns, linked_tables

    columns = linked_columns(options)
    tables = read_linked_tables(original, released, columns, delimiter)
    return linked_tables(*tables, options, columns, lambda: None)


def _show(title: str, options: "LinkageOptions", answer: "LinkRecordsResponse", as_json: bool) -> None:
    if as_json:
        import pydantic_core

        from sdcgate.wire.json import to_json

        value = pydantic_core.from_json(to_json(answer))
        typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    from sdcgate.cli.assessment.text import print_report
    from sdcgate.cli.linkage_report import linkage_sections

    print_report(title, linkage_sections(options, answer))


def _variables(
    numeric: list[str], nominal: list[str], ordinal: list[str], of_variables: dict[str, list[str]]
) -> list[dict[str, Any]]:
    """The variables with their kinds and numbers; `here=there` names another column of the released file."""
    kinds = {"NUMERIC": numeric, "ORDINAL": ordinal, "NOMINAL": nominal}
    found = []
    numbers = {
        option: dict(_number(option, text) for text in given) for option, given in of_variables.items()
    }
    for kind, given in kinds.items():
        for name in _names(given):
            column, _, there = name.partition("=")
            one: dict[str, Any] = {"column": column, "kind": kind}
            if there:
                one["released_column"] = there
            one |= {option: of.pop(column) for option, of in numbers.items() if column in of}
            found.append(one)
    for option, left in numbers.items():
        if left:
            raise ValueError(f"--{option}: {', '.join(map(repr, left))} is no variable that is compared")
    return found


def _number(option: str, text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name, float(number)
    except ValueError:
        raise ValueError(f"--{option} {text}: write a variable and a number, such as income=2") from None


def _names(given: list[str]) -> list[str]:
    return [part for text in given for part in text.split(",") if part]
