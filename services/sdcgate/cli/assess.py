"""`sdcgate assess`: the disclosure risk of a file of microdata, as text, as an HTML page, as JSON."""

import json
import math
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import told

if TYPE_CHECKING:
    from sdcgate.engine.large_files import CountedFile
    from sdcgate.methods.risk.file_options import Options
    from sdcgate.methods.risk.file_report import FileAssessment
    from sdcgate.methods.risk.microdata import Microdata
    from sdcgate.methods.risk.several_files import LinkedReleases

TAKES_LONG = 10_000_000
"""Possible keys above which models take more than some ten seconds: nobody should wait without a word."""


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
    stratum: Annotated[str, typer.Option(help="Column of the stratum: what does it tell?")] = "",
    psu: Annotated[str, typer.Option(help="Column of the primary sampling unit.")] = "",
    sensitive: Annotated[list[str], typer.Option(help="Sensitive variables, separated by commas.")] = [],  # noqa: B006
    fraction: Annotated[
        float | None, typer.Option(help="Sampling fraction, without weights; 1 for a census.")
    ] = None,
    population: Annotated[
        float | None, typer.Option(help="Units in the population, without weights or fraction.")
    ] = None,
    ordinal: Annotated[
        list[str],
        typer.Option(help="Ordered key variables, separated by commas: the risk is smoothed along them."),
    ] = [],  # noqa: B006
    model: Annotated[
        list[str],
        typer.Option(help="A log-linear model more, by its interactions: age*sex,region*sex; repeatable."),
    ] = [],  # noqa: B006
    missing: Annotated[
        MissingValues, typer.Option(help="A missing value is a value of its own, or agrees with all.")
    ] = MissingValues.CATEGORY,
    missing_text: Annotated[
        list[str], typer.Option(help="Text that stands for a missing value, beside empty ones; repeatable.")
    ] = [],  # noqa: B006
    accepted: Annotated[
        float, typer.Option(help="Recodings: correct matches as a share of the file that are acceptable.")
    ] = 0.01,
    recodings: Annotated[
        Path | None,
        typer.Option(help="Recodings: YAML file with coarser levels of key variables."),
    ] = None,
    interest: Annotated[
        str, typer.Option(help="Recodings: column of a number whose between-group variance they may lose.")
    ] = "",
    access: Annotated[
        list[str],
        typer.Option(help="Recodings: who may have one with such a share, public=0.0001; widest first."),
    ] = [],  # noqa: B006
    threshold: Annotated[float, typer.Option(help="Individual risk from which a unit is unsafe.")] = 0.1,
    target_rate: Annotated[
        float | None,
        typer.Option(help="Re-identification rate xi* of the file: which threshold on the risk keeps it?"),
    ] = None,
    minimum: Annotated[
        str,
        typer.Option(
            help="Threshold rule: how often each value must occur; by size of the combination 1:100,2:10,3:3."
        ),
    ] = "3",
    identifying: Annotated[
        list[str],
        typer.Option(help="Threshold rule: how identifying a key variable is, region=extremely; repeatable."),
    ] = [],  # noqa: B006
    class_minimum: Annotated[
        list[str],
        typer.Option(help="Threshold rule: minimum by classes, extremely*very*yes=100; repeatable."),
    ] = [],  # noqa: B006
    dimensions: Annotated[int, typer.Option(help="Threshold rule: combinations of up to so many.")] = 3,
    suda_size: Annotated[
        int | None, typer.Option(help="SUDA: most variables of a minimal sample unique.")
    ] = None,
    quality: Annotated[float, typer.Option(help="Factor d: that file and intruder's list agree.")] = 1.0,
    coverage: Annotated[float, typer.Option(help="Factor e: that a unit is in the intruder's list.")] = 1.0,
    attempt: Annotated[float, typer.Option(help="Factor t: that somebody tries.")] = 1.0,
    scenarios: Annotated[
        Path | None, typer.Option(help="YAML file with scenarios, in place of those of a descriptor.")
    ] = None,
    release_date: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="When the file would be released, for the rules; today."),
    ] = None,
    other: Annotated[
        Path | None,
        typer.Option("--with", help="Another release of the same source: what can be linked with it?"),
    ] = None,
    with_keys: Annotated[
        list[str], typer.Option(help="Its key variables, where they are others than --keys.")
    ] = [],  # noqa: B006
    risks: Annotated[
        Path | None,
        typer.Option(help="Write f, weight sum and risk of each record of a Parquet file to a new one."),
    ] = None,
    near: Annotated[
        list[str],
        typer.Option(
            help="Numbers that identify, with the width within which they are confused; sales=10%, staff=5."
        ),
    ] = [],  # noqa: B006
    neighbours: Annotated[int, typer.Option(help="Numbers: how many others one must be confused with.")] = 3,
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
        from sdcgate.cli.assessment.given import Given, counted_of, linked_of, microdata_of
        from sdcgate.cli.assessment.levels import access_bounds
        from sdcgate.cli.assessment.minimums import class_minimum_of, class_of, minimums_of
        from sdcgate.cli.assessment.models import interactions_of
        from sdcgate.cli.assessment.numbers import near_of
        from sdcgate.methods.risk.file_assessment import assess_file
        from sdcgate.methods.risk.file_options import Options
        from sdcgate.methods.risk.keys import Missing
        from sdcgate.methods.risk.risk_factors import Factors

        given = Given(
            file=file,
            keys=_names(keys),
            weight=weight,
            unit=unit,
            wave=wave,
            household=household,
            stratum=stratum,
            psu=psu,
            sensitive=_names(sensitive),
            fraction=fraction,
            population=population,
            missing_text=tuple(missing_text),
            delimiter=delimiter,
            data_root=data_root,
            scenarios=scenarios,
            recodings=recodings,
            interest=interest,
            near=tuple(near_of(text) for text in near),
            identifying=tuple(class_of(text) for text in _names(identifying)),
            release_date=datetime.now(UTC).date() if release_date is None else release_date.date(),
        )
        rule = minimums_of(minimum)
        options = Options(
            missing=Missing(missing.value),
            factors=Factors(quality, coverage, attempt),
            risk_threshold=threshold,
            target_rate=target_rate,
            minimum=rule.minimum,
            minimums=rule.by_size,
            class_minimums=tuple(class_minimum_of(text) for text in class_minimum),
            dimensions=dimensions,
            suda_size=suda_size,
            accepted_share=accepted,
            ordinal=_names(ordinal),
            models=tuple(interactions_of(text) for text in model),
            access=access_bounds(access),
            neighbours=neighbours,
            riskiest=records,
        )
        alone = not (near or other or with_keys or scenarios or recodings or interest)
        if risks is not None and not alone:
            raise ValueError(
                "leave out --with, --with-keys, --scenarios, --recodings, --interest and --near "
                "where --risks are written"
            )
        counted = counted_of(given, risks is not None) if alone else None
        if counted is not None:
            _show(file.name, _of_keys(counted, options, risks), options, None, html, as_json)
            return
        microdata = microdata_of(given)
        linked = None
        if other is not None or with_keys:
            linked = linked_of(given, microdata, other, _names(with_keys), options.missing)
        _say_what_takes_long(microdata, options)
        _show(file.name, assess_file(microdata, options), options, linked, html, as_json)


def _say_what_takes_long(microdata: "Microdata", options: "Options") -> None:
    possible = math.prod(microdata.codes.max(axis=0, initial=0) + 1.0)
    if TAKES_LONG < possible <= options.largest_table:
        typer.echo(f"{possible:,.0f} keys are possible: their models take up to a minute.", err=True)


def _of_keys(counted: "CountedFile", options: "Options", risks: Path | None) -> "FileAssessment":
    """What the keys of a file tell; the risks of its records are written where that is asked for."""
    from sdcgate.engine.large_files import write_risks
    from sdcgate.methods.risk.counted_keys import assess_counted_keys, key_risks

    if risks is not None:
        write_risks(counted, key_risks(counted.counted, options), risks)
    return assess_counted_keys(counted.counted, options)


def _names(given: list[str]) -> tuple[str, ...]:
    return tuple(part for text in given for part in text.split(",") if part)


def _show(
    name: str,
    found: "FileAssessment",
    options: "Options",
    linked: "LinkedReleases | None",
    html: Path | None,
    as_json: bool,
) -> None:
    from sdcgate.cli.assessment.page import html_page
    from sdcgate.cli.assessment.sections import report_sections
    from sdcgate.cli.assessment.several_files import several_files_section
    from sdcgate.cli.assessment.text import print_report

    title = f"Disclosure risk of {name}"
    sections = report_sections(found, options)
    if linked is not None:
        sections = (several_files_section(linked), *sections)
    if html is not None:
        now = datetime.now(UTC)
        made = f"Made by sdcgate assess on {now:%d %B %Y, %H:%M} UTC. It shows no value of a single record."
        html.write_text(html_page(title, made, sections), encoding="utf-8")
    if as_json:
        from sdcgate.wire.file_release import linked_to_message
        from sdcgate.wire.json import to_value
        from sdcgate.wire.microdata import assessment_to_message

        message = assessment_to_message(found)
        if linked is not None:
            message.linked_releases.CopyFrom(linked_to_message(linked))
        typer.echo(json.dumps(to_value(message, {}), indent=2, ensure_ascii=False))
    else:
        print_report(title, sections)
