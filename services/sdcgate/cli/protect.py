"""`sdcgate protect`: count a table from a file of records and protect it, here."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sdcgate.cli.connection import FAILED, give_up, told


class Method(StrEnum):
    """What is done to a table."""

    WITHHOLD = "withhold"
    CELL_KEYS = "cell-keys"
    NEAREST = "nearest"
    RANDOM = "random"
    CONTROLLED = "controlled"
    SMALL_COUNTS = "small-counts"
    INTERVALS = "intervals"
    ADJUSTMENT = "adjustment"


class Weighting(StrEnum):
    """What a change of one costs in a cell: the same, its part of the value, or of the value's root."""

    UNIT = "unit"
    RELATIVE = "relative"
    ROOT = "root"


def protect(
    file: Annotated[Path, typer.Argument(help="Records: CSV or Parquet.", show_default=False)],
    by: Annotated[list[str], typer.Option(help="Columns to count by; repeat it or separate by commas.")],
    also: Annotated[
        list[str],
        typer.Option("--with", help="withhold: columns of a further table, protected with it; repeatable."),
    ] = [],  # noqa: B006
    unit: Annotated[str, typer.Option(help="Column of the unit's id; without it each record is one.")] = "",
    minimum: Annotated[int, typer.Option(help="Counts above 0 and below this are unsafe.", min=1)] = 3,
    method: Annotated[Method, typer.Option(help="What is done.")] = Method.WITHHOLD,
    base: Annotated[int, typer.Option(help="Rounding: to multiples of this.", min=2)] = 5,
    maximum_noise: Annotated[int, typer.Option(help="cell-keys: D, the most by which a count changes.")] = 5,
    variance: Annotated[float, typer.Option(help="cell-keys: V, the variance of the noise.")] = 3.0,
    blocked: Annotated[int, typer.Option(help="cell-keys: js, no count is published as 1 to this.")] = 0,
    stay: Annotated[float, typer.Option(help="cell-keys: p_stay, least chance that a count stays.")] = 0.0,
    ptable: Annotated[
        Path | None, typer.Option(help="cell-keys: a perturbation table, as CSV of the R package ptable.")
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option(help="cell-keys, random: file with the secret, 32 bytes, always the same.")
    ] = None,
    released: Annotated[
        list[Path],
        typer.Option(help="controlled, adjustment: a table written earlier, whose cells bind; repeatable."),
    ] = [],  # noqa: B006
    weighting: Annotated[
        Weighting, typer.Option(help="adjustment: what a change of one costs.")
    ] = Weighting.UNIT,
    most_change: Annotated[
        int, typer.Option(help="adjustment: no count changes by more; twice --minimum where 0.", min=0)
    ] = 0,
    margin_share: Annotated[
        float | None, typer.Option(help="adjustment: no total changes by more than this share of it.", min=0)
    ] = None,
    delimiter: Annotated[str, typer.Option(help="What separates columns of a CSV file; comma.")] = "",
    exact: Annotated[
        bool, typer.Option("--exact", help="withhold: the cheapest cells, or how far from them they may be.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="Time to spend.", min=0.1)] = 30.0,
    out: Annotated[Path | None, typer.Option(help="Write the table to this CSV file.")] = None,
) -> None:
    """Count a table with all totals and protect it, here. No service is asked, no ledger knows of it.

    A table of which it is not proved that the unsafe counts are hidden is not written: it ends with 1.
    """
    with told():
        from sdcgate.cli.key_files import secret_of
        from sdcgate.cli.protected_table import Asked, protected_table, summary, write_table

        asked = Asked(
            by=tuple(name for text in by for name in text.split(",") if name),
            also_by=tuple(tuple(name for name in text.split(",") if name) for text in also),
            unit=unit,
            minimum=minimum,
            method=method.value,
            base=base,
            noise=(maximum_noise, variance, blocked, (stay,) if stay else ()),
            ptable="" if ptable is None else ptable.read_text(encoding="utf-8"),
            secret=None if key_file is None else secret_of(key_file),
            released=tuple(released),
            weighting=weighting.name,
            most_change=most_change or None,
            margin_share=margin_share,
            delimiter=delimiter,
            exact=exact,
            seconds=seconds,
        )
        found = protected_table(file, asked)
        typer.echo(summary(found), err=True)
        if not found.proved:
            give_up("The unsafe counts are not proved to be hidden; nothing is written.", FAILED)
        write_table(found, out)
