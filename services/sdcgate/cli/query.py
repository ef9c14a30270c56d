"""`sdcgate query`: ask for tables, models and statistics, look at earlier answers."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import DEFAULT_URL, FAILED, ApiKey, Url, connected, give_up

if TYPE_CHECKING:
    from sdcgate_client import Answer

app = typer.Typer(
    help="Queries: ask for tables, models and statistics, show answers again, list.", no_args_is_help=True
)

Dimensions = Annotated[
    list[str], typer.Option(help="Variable, or variable:level; repeat it or separate by commas.")
]
Conditions = Annotated[
    list[str], typer.Option(help="variable=code,code or variable:level=code,code; all must hold.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@app.command()
def table(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset.")],
    rows: Dimensions = [],  # noqa: B006 - typer copies it
    columns: Dimensions = [],  # noqa: B006
    layers: Dimensions = [],  # noqa: B006
    figure: Annotated[
        list[str], typer.Option(help="units, records, mean:MEASURE, sum:MEASURE, row_percent, ...")
    ] = ["units"],  # noqa: B006
    filter: Conditions = [],  # noqa: B006
    margins: Annotated[bool, typer.Option(help="Show totals.")] = True,
    project: Annotated[str, typer.Option(help="Project on whose behalf it is asked.")] = "",
    as_json: AsJson = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Ask for a table. A refusal is an answer: the command ends with 0 whatever the verdict."""
    with connected(url, api_key) as client:
        answer = client.table(
            dataset,
            names(rows),
            names(columns),
            names(layers),
            figures=names(figure),
            filter=conditions(filter),
            margins=margins,
            project=project,
        )
    _print(answer, as_json)


@app.command()
def model(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset.")],
    formula: Annotated[str, typer.Argument(help="Such as 'meddol ~ site + numeric(age)'.")],
    kind: Annotated[str, typer.Option(help="linear, logit, probit, poisson, gamma, ...")] = "linear",
    filter: Conditions = [],  # noqa: B006 - typer copies it
    weighted: Annotated[bool, typer.Option(help="Use the records' weights.")] = False,
    errors: Annotated[str, typer.Option(help="classical, robust, clustered or design.")] = "",
    quantile: Annotated[float | None, typer.Option(help="Of a quantile regression.")] = None,
    groups: Annotated[str, typer.Option(help="Of fixed_effects and mixed; units where left out.")] = "",
    instruments: Annotated[str, typer.Option(help="Of two_stage, exogenous terms among them.")] = "",
    project: Annotated[str, typer.Option(help="Project on whose behalf it is asked.")] = "",
    as_json: AsJson = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Ask for a model. A refusal is an answer: the command ends with 0 whatever the verdict."""
    with connected(url, api_key) as client:
        answer = client.model(
            dataset,
            kind,
            formula,
            filter=conditions(filter),
            weighted=weighted,
            standard_errors=errors,
            quantile=quantile,
            groups=groups,
            instruments=instruments,
            project=project,
        )
    _print(answer, as_json)


@app.command()
def statistic(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset.")],
    kind: Annotated[str, typer.Argument(help="mean, percentiles, odds_ratio, kaplan_meier, t_test, ...")],
    measure: Annotated[
        str, typer.Argument(help="The measure, or the time; none where codes are counted.")
    ] = "",
    second: Annotated[str, typer.Option(help="The second measure, of a ratio or hexagonal bins.")] = "",
    groups: Dimensions = [],  # noqa: B006 - typer copies it
    filter: Conditions = [],  # noqa: B006
    having: Annotated[str, typer.Option(help="What is counted, or the first sample: variable=code.")] = "",
    exposed: Annotated[str, typer.Option(help="The exposed: variable=code,code.")] = "",
    mode_of: Annotated[str, typer.Option(help="Variable, or variable:level, whose mode is wanted.")] = "",
    measures: Annotated[list[str], typer.Option(help="Measures that are correlated.")] = [],  # noqa: B006
    factors: Dimensions = [],  # noqa: B006
    weighted: Annotated[bool, typer.Option(help="Use the records' weights.")] = False,
    errors: Annotated[bool, typer.Option(help="With standard errors.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Write the drawing to this .svg or .png file.")] = None,
    project: Annotated[str, typer.Option(help="Project on whose behalf it is asked.")] = "",
    as_json: AsJson = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Ask for a statistic of groups. A refusal is an answer: the command ends with 0 whatever the verdict.

    With --picture it ends with 1 where the statistic leaves and no drawing can be made of it.
    """
    with connected(url, api_key) as client:
        answer = client.statistic(
            dataset,
            kind,
            measure,
            second=second,
            groups=names(groups),
            filter=conditions(filter),
            having=conditions([having] if having else []),
            exposed=conditions([exposed] if exposed else []),
            mode_of=mode_of or None,
            measures=names(measures),
            factors=names(factors),
            weighted=weighted,
            standard_errors=errors,
            picture=picture is not None,
            png=picture is not None and picture.suffix.lower() == ".png",
            project=project,
        )
    _print(answer, as_json)
    if picture is not None:
        _write_pictures(picture, answer)


def _write_pictures(file: Path, answer: "Answer") -> None:
    """One drawing as the file that is named, several with numbers; says where there is none."""
    if answer.statistic is None:
        typer.echo(f"{file} is not written, as no statistic was released", err=True)
        return
    if not answer.statistic.pictures:
        give_up(
            f"{file} is not written: {answer.statistic.not_drawn_because or 'there is no picture'}", FAILED
        )
    pictures = answer.statistic.png or tuple(svg.encode() for svg in answer.statistic.pictures)
    for number, content in enumerate(pictures, 1):
        name = file if len(pictures) == 1 else file.with_stem(f"{file.stem}-{number}")
        name.write_bytes(content)


@app.command()
def submit(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset that the output was computed from.")],
    file: Annotated[Path, typer.Argument(help="The output as JSON, as `POST .../outputs` takes it.")],
    as_json: AsJson = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Submit an output that a portal computed. The command ends with 0 whatever the verdict."""
    with connected(url, api_key) as client:
        output = json.loads(file.read_text(encoding="utf-8"))
        answer = client.submit_output(dataset, output)
    _print(answer, as_json)


@app.command()
def show(
    query: Annotated[str, typer.Argument(help="Id of the query.")],
    as_json: AsJson = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Show the answer to a query asked before."""
    with connected(url, api_key) as client:
        answer = client.query(query)
    _print(answer, as_json)


@app.command()
def picture(
    query: Annotated[str, typer.Argument(help="Id of a query whose table or statistic was released.")],
    file: Annotated[Path, typer.Argument(help="Write the drawing to this .svg or .png file.")],
    kind: Annotated[str, typer.Option(help="bars or pie.")] = "bars",
    figure: Annotated[int, typer.Option(min=0, help="Which figure of the answer, counted from 0.")] = 0,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Draw a one-way table or a statistic of groups that was released."""
    png = file.suffix == ".png"
    with connected(url, api_key) as client:
        drawing = client.picture(query, kind, figure, png)
    file.write_bytes(drawing.png if png else drawing.svg.encode())
    typer.echo(f"wrote {file}")


@app.command("list")
def list_queries(
    verdict: Annotated[
        list[str], typer.Option(help="Only this verdict, such as REFERRED; may be repeated.")
    ] = [],  # noqa: B006
    count: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 100,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """List queries, the newest first: your own, or as a checker everybody's."""
    with connected(url, api_key) as client:
        typer.echo(listed(client.queries([name.upper() for name in verdict], page_size=count)))


def listed(queries: list[dict[str, str]]) -> str:
    """Queries as lines of text."""
    from sdcgate_client.printing import format_columns

    fields = ("query", "verdict", "dataset", "researcher", "decided")
    return format_columns([[str(query.get(field, "")) for field in fields] for query in queries], fields)


def names(options: list[str]) -> list[str]:
    """Names from options that may be repeated or hold several, separated by commas."""
    return [name.strip() for option in options for name in option.split(",") if name.strip()]


def conditions(options: list[str]) -> dict[str, list[str]]:
    """Filters from `variable=code,code`.

    Raises:
        ValueError: a condition cannot be read, or a variable stands twice (and or or?).
    """
    found: dict[str, list[str]] = {}
    for option in options:
        name, separator, codes = option.partition("=")
        if not separator or not name.strip() or not codes.strip():
            raise ValueError(f"filter {option!r} is not of the form variable=code,code")
        if name.strip() in found:
            raise ValueError(f"filter {name.strip()!r} stands twice; write {name.strip()}=code,code")
        found[name.strip()] = [code.strip() for code in codes.split(",")]
    return found


def _print(answer: "Answer", as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(answer.content, indent=2, ensure_ascii=False))
        return
    from sdcgate_client import format_answer

    typer.echo(format_answer(answer, shutil.get_terminal_size((110, 24)).columns))
