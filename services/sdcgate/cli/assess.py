"""`sdcgate assess`: the disclosure risk of a file of microdata, as text, as an HTML page, as JSON."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdcgate.cli.connection import told

if TYPE_CHECKING:
    from sdcgate.methods.risk.file_options import Options
    from sdcgate.methods.risk.microdata import Microdata

DESCRIPTORS = (".yaml", ".yml", ".json")


class MissingValues(StrEnum):
    """What a missing value of a key variable is."""

    CATEGORY = "category"
    WILDCARD = "wildcard"


def assess(
    file: Annotated[
        Path,
        typer.Argument(help="CSV or Parquet file, or a dataset's descriptor (YAML).", show_default=False),
    ],
    keys: Annotated[
        list[str],
        typer.Option(
            help="Key variables; repeat it or separate by commas. Of a descriptor also variable:level."
        ),
    ] = [],  # noqa: B006 - typer copies it
    weight: Annotated[str, typer.Option(help="Column of the design weight.")] = "",
    unit: Annotated[str, typer.Option(help="Column of the unit's id; without it each record is one.")] = "",
    wave: Annotated[str, typer.Option(help="Column of the wave, where units have several records.")] = "",
    household: Annotated[str, typer.Option(help="Column of the household's id.")] = "",
    sensitive: Annotated[list[str], typer.Option(help="Sensitive variables, separated by commas.")] = [],  # noqa: B006
    fraction: Annotated[
        float | None, typer.Option(help="Sampling fraction, without weights; 1 for a census.")
    ] = None,
    population: Annotated[
        float | None, typer.Option(help="Units in the population, without weights or fraction.")
    ] = None,
    missing: Annotated[
        MissingValues, typer.Option(help="A missing value is a value of its own, or agrees with all.")
    ] = MissingValues.CATEGORY,
    missing_text: Annotated[
        list[str], typer.Option(help="Text that stands for a missing value, beside empty ones; repeatable.")
    ] = [],  # noqa: B006
    accepted: Annotated[
        float, typer.Option(help="Recodings: correct matches as a share of the file that are acceptable.")
    ] = 0.01,
    threshold: Annotated[float, typer.Option(help="Individual risk from which a unit is unsafe.")] = 0.1,
    minimum: Annotated[int, typer.Option(help="Threshold rule: how often each value must occur.")] = 3,
    dimensions: Annotated[int, typer.Option(help="Threshold rule: combinations of up to so many.")] = 3,
    suda_size: Annotated[
        int | None, typer.Option(help="SUDA: most variables of a minimal sample unique.")
    ] = None,
    quality: Annotated[float, typer.Option(help="Factor d: that file and intruder's list agree.")] = 1.0,
    coverage: Annotated[float, typer.Option(help="Factor e: that a unit is in the intruder's list.")] = 1.0,
    attempt: Annotated[float, typer.Option(help="Factor t: that somebody tries.")] = 1.0,
    records: Annotated[int, typer.Option(help="Name so many of the riskiest records by number.")] = 0,
    delimiter: Annotated[str, typer.Option(help="What separates columns of a CSV file; comma.")] = "",
    data_root: Annotated[
        Path | None, typer.Option(help="Where a descriptor's file lies; the descriptor's folder.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report as an HTML page with plots.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Assess the disclosure risk of a file, here, by every measure that applies. No service is asked."""
    with told():
        from sdcgate.methods.risk.file_assessment import assess_file
        from sdcgate.methods.risk.file_options import Options
        from sdcgate.methods.risk.keys import Missing
        from sdcgate.methods.risk.risk_factors import Factors

        names = _names(keys)
        if file.suffix.lower() in DESCRIPTORS:
            _not_with_descriptor(
                weight=weight,
                unit=unit,
                household=household,
                fraction=fraction,
                population=population,
                sensitive=sensitive,
            )
            microdata = _declared(file, data_root, names, wave)
        else:
            from sdcgate.engine.microdata import MicrodataColumns, read_microdata

            columns = MicrodataColumns(
                names,
                weight,
                unit,
                wave,
                household,
                fraction,
                population,
                _names(sensitive),
                tuple(missing_text),
            )
            microdata = read_microdata(file, columns, delimiter)
        options = Options(
            missing=Missing(missing.value),
            factors=Factors(quality, coverage, attempt),
            risk_threshold=threshold,
            minimum=minimum,
            dimensions=dimensions,
            suda_size=suda_size,
            accepted_share=accepted,
            riskiest=records,
        )
        _show(file.name, assess_file(microdata, options), options, html, as_json)


def _names(given: list[str]) -> tuple[str, ...]:
    return tuple(part for text in given for part in text.split(",") if part)


def _declared(file: Path, data_root: Path | None, keys: tuple[str, ...], wave: str) -> "Microdata":
    from sdcgate.engine.declared_microdata import DeclaredKey, declared_microdata
    from sdcgate.engine.descriptor import DescriptorInvalid, parse_descriptor
    from sdcgate.policy.strict_yaml import read_yaml

    content = read_yaml(file.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError(f"{file} is not a descriptor: it holds no fields")  # noqa: TRY004
    try:
        return declared_microdata(
            parse_descriptor(content), data_root or file.parent, DeclaredKey(keys, wave)
        )
    except DescriptorInvalid as error:
        problems = "\n".join(f"  {problem}" for problem in error.problems)
        raise ValueError(f"{file} cannot be assessed:\n{problems}") from error


def _not_with_descriptor(**given: Any) -> None:
    """Raises ValueError where options are given that a descriptor answers."""
    told_twice = [name for name, value in given.items() if value]
    if told_twice:
        raise ValueError(
            f"leave out {', '.join(f'--{name}' for name in told_twice)}: the descriptor tells it"
        )


def _show(name: str, found: Any, options: "Options", html: Path | None, as_json: bool) -> None:
    from sdcgate.cli.assessment.page import html_page
    from sdcgate.cli.assessment.sections import report_sections
    from sdcgate.cli.assessment.text import print_report

    title = f"Disclosure risk of {name}"
    sections = report_sections(found, options)
    if html is not None:
        now = datetime.now(UTC)
        made = f"Made by sdcgate assess on {now:%d %B %Y, %H:%M} UTC. It shows no value of a single record."
        html.write_text(html_page(title, made, sections), encoding="utf-8")
    if as_json:
        from sdcgate.wire.json import to_value
        from sdcgate.wire.microdata import assessment_to_message

        typer.echo(json.dumps(to_value(assessment_to_message(found), {}), indent=2, ensure_ascii=False))
    else:
        print_report(title, sections)
