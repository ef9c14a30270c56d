"""`sdcgate map`: noise against recoding of a normal variable, before any file is looked at."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import told

if TYPE_CHECKING:
    from sdcgate.cli.assessment.parts import Map, Section
    from sdcgate.methods.risk.confidentiality_map import ConfidentialityMap, Normal


def confidentiality_map(
    mean: Annotated[float, typer.Option(help="Mean of the variable.")] = 0.0,
    standard_deviation: Annotated[float, typer.Option(help="Its standard deviation.")] = 1.0,
    noise: Annotated[
        list[float], typer.Option(help="Standard deviation of noise, in the variable's unit; repeatable.")
    ] = [],  # noqa: B006
    cut_offs: Annotated[
        list[str], typer.Option(help="Cut-offs of a recoding, 1000,2000,5000; repeatable.")
    ] = [],  # noqa: B006
    html: Annotated[Path | None, typer.Option(help="Write the map as an HTML page with its plot.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the plot alone, as SVG.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the points as JSON.")] = False,
) -> None:
    """The theoretical R-U confidentiality map: noise against recoding of a normal variable. It needs no file.

    Without --noise and --cut-offs: noise of 20 sizes, and recodings into 2 to 10 equally likely classes.
    """
    with told():
        import numpy as np

        from sdcgate.cli.assessment.page import html_page, map_plot, standalone
        from sdcgate.cli.assessment.text import print_report
        from sdcgate.methods.risk import confidentiality_map as method

        variable = method.Normal(mean, standard_deviation)
        found = method.confidentiality_map(variable, noise, [np.array(_numbers(text)) for text in cut_offs])
        section = map_section(found, variable)
        if html is not None:
            page = html_page("R-U confidentiality map", "Made by sdcgate map.", (section,))
            html.write_text(page, encoding="utf-8")
        if svg is not None:
            svg.write_text(standalone(map_plot(_plot(found))), encoding="utf-8")
        if as_json:
            from sdcgate.wire.confidentiality_map import map_to_message
            from sdcgate.wire.json import to_value

            typer.echo(json.dumps(to_value(map_to_message(found), {}), indent=2))
        else:
            print_report("R-U confidentiality map", (section,))


def map_section(found: "ConfidentialityMap", variable: "Normal") -> "Section":
    """Noise and recodings side by side, with the plot."""
    from sdcgate.cli.assessment.parts import Section, Table, percent

    unit = variable.standard_deviation
    words = (
        f"A normal variable with mean {variable.mean:g} and standard deviation {unit:g}. Utility is the "
        "share of the information on its mean that is left; risk is its variance over the mean squared error "
        "with which an intruder tells a value, and the error that he makes stands beside it.",
        "At the same utility recoding has a risk that is larger by 1 than that of noise, whatever the "
        "cut-offs (Shlomo 2003, II). It holds for a normal variable alone: a file of yours is compared by "
        "its own recodings.",
    )
    recodings = tuple(
        (
            f"{len(one.cut_offs) + 1} classes",
            percent(one.point.utility),
            f"{one.point.risk:.4g}",
            f"{unit * one.point.risk**-0.5:.4g}",
            "-" if one.equal_noise is None else f"{one.equal_noise:.4g}",
            "-" if one.equal_noise is None else f"{(unit / one.equal_noise) ** 2:.4g}",
        )
        for one in found.recodings
    )
    noise = tuple(
        (f"{one.noise:.4g}", percent(one.point.utility), f"{one.point.risk:.4g}", f"{one.noise:.4g}")
        for one in found.noise
    )
    tables = (
        Table(("recoding into", "utility", "risk", "error", "noise as useful", "its risk"), recodings),
        Table(("noise", "utility", "risk", "error"), noise),
    )
    return Section("Noise and recoding", words, (_plot(found), *(one for one in tables if one.rows)))


def _plot(found: "ConfidentialityMap") -> "Map":
    from sdcgate.cli.assessment.parts import Map

    recodings = [(one.point, f"{len(one.cut_offs) + 1} classes") for one in found.recodings]
    points = [*recodings, *((one.point, f"noise {one.noise:.4g}") for one in found.noise)]
    return Map(
        "R-U map: full points are recodings, hollow ones noise.",
        "utility: share of the information on the mean",
        "risk: variance over the mean squared error of an intruder",
        tuple((point.utility, point.risk) for point, _ in points),
        tuple(f"{name}: utility {point.utility:.3g}, risk {point.risk:.4g}" for point, name in points),
        hollow=tuple(range(len(recodings), len(points))),
        shares=False,
    )


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--cut-offs {text}: write numbers, separated by commas") from None
