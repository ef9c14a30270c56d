"""`sdcgate swap`: change places of households, or of values, in a file, here."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdcgate.cli.connection import told

if TYPE_CHECKING:
    from sdcgate_proto.sdcgate.protection.v1.microdata_pb2 import ProtectMicrodataOptions


def swap(
    file: Annotated[Path, typer.Argument(help="Records: CSV or Parquet.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Write the changed file here; it must not exist.")],
    hierarchy: Annotated[
        list[str], typer.Option(help="Columns of the geography, the widest first, separated by commas.")
    ] = [],  # noqa: B006 - typer copies it
    household: Annotated[str, typer.Option(help="Column of the household's id.")] = "",
    similar: Annotated[
        list[str],
        typer.Option(help="A similarity profile, columns separated by commas; repeatable, tried in order."),
    ] = [],  # noqa: B006
    risk_variables: Annotated[
        list[str], typer.Option(help="Risk variables, separated by commas; without them swaps are random.")
    ] = [],  # noqa: B006
    k_anonymity: Annotated[
        int | None, typer.Option(help="At risk: fewer than this of an area share the combination; 3.", min=0)
    ] = None,
    swap_rate: Annotated[
        float | None, typer.Option(help="Share of the households that are swapped; 0.05.")
    ] = None,
    carry_along: Annotated[
        list[str], typer.Option(help="Columns that move with the geography, separated by commas.")
    ] = [],  # noqa: B006
    table: Annotated[
        list[str], typer.Option(help="A table to compare, by each level: columns by commas; repeatable.")
    ] = [],  # noqa: B006
    ranks: Annotated[
        list[str], typer.Option(help="Rank swapping instead: variables, separated by commas.")
    ] = [],  # noqa: B006
    rank_share: Annotated[
        float | None, typer.Option(help="Rank swapping: how far ranks may be apart, 0.05 for p = 5%.")
    ] = None,
    order: Annotated[
        list[str],
        typer.Option(help="Rank swapping: categories from low to high, school=low,mid; repeatable."),
    ] = [],  # noqa: B006
    missing_text: Annotated[
        list[str], typer.Option(help="Text that stands for a missing value, beside empty ones; repeatable.")
    ] = [],  # noqa: B006
    key_file: Annotated[
        Path | None,
        typer.Option(help="File with the secret of the draws, 32 bytes; without it they are new each time."),
    ] = None,
    delimiter: Annotated[str, typer.Option(help="What separates columns of a CSV file; comma.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Swap the records or values of a file, here, and tell what that costs. No service is asked."""
    with told():
        from sdcgate.cli.key_files import KEY_BYTES, secret_of
        from sdcgate.engine.whole_files import read_whole, write_whole
        from sdcgate.servers.protected_files import protected_table

        of_records: dict[str, Any] = {
            "hierarchy": _names(hierarchy),
            "household": household,
            "similar": [{"variables": _names([one])} for one in similar],
            "risk_variables": _names(risk_variables),
            "k_anonymity": k_anonymity,
            "swap_rate": swap_rate,
            "carry_along": _names(carry_along),
            "tables": [{"variables": _names([one])} for one in table],
        }
        orders = dict(_order(one) for one in order)
        of_ranks: dict[str, Any] = {
            "variables": [{"column": name, "order": orders.pop(name, [])} for name in _names(ranks)],
            "rank_share": rank_share,
        }
        if orders:
            raise ValueError(f"--order: {', '.join(map(repr, orders))} is no variable of --ranks")
        options = _options(_given(of_records), _given(of_ranks), missing_text)
        secret = os.urandom(KEY_BYTES) if key_file is None else secret_of(key_file)
        swapped, report = protected_table(read_whole(file, delimiter), options, secret)
        write_whole(swapped, out, delimiter)
        if as_json:
            from sdcgate.wire.json import to_value

            typer.echo(json.dumps(to_value(report, {}), indent=2, ensure_ascii=False))
            return
        from sdcgate.cli.assessment.text import print_report
        from sdcgate.cli.swapping_report import swapping_sections

        print_report(f"{file.name} swapped: {out.name}", swapping_sections(report))


def _options(
    of_records: dict[str, Any], of_ranks: dict[str, Any], missing_texts: list[str]
) -> "ProtectMicrodataOptions":
    """The options as the service takes them. Raises ValueError with all that is wrong."""
    from sdcgate.wire.json import from_value
    from sdcgate.wire.problems import FieldProblem, InvalidMessageError
    from sdcgate.wire.validation import violations
    from sdcgate_proto.sdcgate.protection.v1.microdata_pb2 import ProtectMicrodataOptions

    if bool(of_records) == bool(of_ranks):
        raise ValueError("name the geography by --hierarchy, or variables by --ranks; one of them a call")
    method, given = ("record_swapping", of_records) if of_records else ("rank_swapping", of_ranks)
    options = from_value({method: given, "missing_texts": missing_texts}, ProtectMicrodataOptions)
    problems = violations(options)
    if problems:
        raise InvalidMessageError(
            FieldProblem(problem.path.removeprefix(f"{method}."), problem.message) for problem in problems
        )
    return options


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value not in (None, "", [])}


def _names(given: list[str]) -> list[str]:
    return [part for text in given for part in text.split(",") if part]


def _order(text: str) -> tuple[str, list[str]]:
    name, separator, categories = text.partition("=")
    if not separator:
        raise ValueError(f"--order {text}: write a variable and its categories, such as school=low,mid,high")
    return name, categories.split(",")
