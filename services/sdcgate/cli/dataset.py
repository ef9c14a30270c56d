"""`sdcgate dataset`: register, list, show."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sdcgate.cli.connection import DEFAULT_URL, ApiKey, Url, connected
from sdcgate.cli.query import Conditions, Dimensions, conditions, names

app = typer.Typer(
    help="Datasets: register a file, list what can be asked, show variables and levels.", no_args_is_help=True
)


@app.command()
def register(
    descriptor: Annotated[Path, typer.Argument(help="The dataset's descriptor, YAML or JSON.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Register a dataset, or a new version of one; needs a steward's key."""
    with connected(url, api_key) as client:
        answer = client.register(read_descriptor(descriptor))
        dataset = answer.get("dataset", {})
        what = "registered" if answer.get("created") else "was registered before with the same content"
        typer.echo(f"{dataset.get('name')} version {dataset.get('version')} {what}")


@app.command("list")
def list_datasets(url: Url = DEFAULT_URL, api_key: ApiKey = "") -> None:
    """List the datasets that can be asked."""
    from sdcgate_client.printing import format_columns

    with connected(url, api_key) as client:
        rows = [
            (
                str(dataset.get("name", "")),
                str(dataset.get("version", "")),
                str(dataset.get("policy", {}).get("name", "")),
                str(dataset.get("label", "")),
            )
            for dataset in client.datasets()
        ]
        typer.echo(format_columns(rows, ("dataset", "version", "policy", "title")))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Show a dataset: variables with their levels and codes, and measures."""
    with connected(url, api_key) as client:
        dataset = client.dataset(name)
    typer.echo(json.dumps(dataset, indent=2, ensure_ascii=False) if as_json else describe(dataset))


@app.command()
def assess(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    scenarios: Annotated[
        Path | None, typer.Option(help="YAML file with scenarios, in place of those of the descriptor.")
    ] = None,
    other: Annotated[
        str,
        typer.Option(
            "--with", help="Another registered release of the source: NAME, NAME@VERSION or @VERSION."
        ),
    ] = "",
    with_keys: Annotated[
        str, typer.Option(help="Its key variables, separated by commas, as variable or variable:level.")
    ] = "",
    near: Annotated[
        list[str],
        typer.Option(help="Measures that identify, with the width that confuses them; sales=10%, staff=5."),
    ] = [],  # noqa: B006
    neighbours: Annotated[int, typer.Option(help="Numbers: how many others one must be confused with.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """The risk of a registered dataset as a file, by scenario; needs a steward's key."""
    with connected(url, api_key) as client:
        told = client.assess_dataset(
            name,
            [] if scenarios is None else read_scenarios(scenarios),
            other=read_release(other, with_keys) if other or with_keys else None,
            numbers=[read_number(text) for text in near],
            neighbours=neighbours if near else None,
        )
    if as_json:
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    from sdcgate.cli.assessment.dataset import dataset_sections
    from sdcgate.cli.assessment.text import print_report

    print_report(f"Disclosure risk of {name}", dataset_sections(told))


@app.command("enter-knowledge")
def enter_knowledge(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    published: Annotated[str, typer.Option(help="Where the table was published.")],
    rows: Dimensions = [],  # noqa: B006 - typer copies it
    columns: Dimensions = [],  # noqa: B006
    layers: Dimensions = [],  # noqa: B006
    figure: Annotated[list[str], typer.Option(help="What was shown: units, mean:MEASURE, ...")] = ["units"],  # noqa: B006
    filter: Conditions = [],  # noqa: B006
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Enter a table that was published elsewhere: every audit reckons with it; needs a steward's key."""
    with connected(url, api_key) as client:
        told = client.enter_knowledge(
            name,
            published,
            names(rows),
            names(columns),
            names(layers),
            figures=names(figure),
            filter=conditions(filter),
        )
    before = " (entered before)" if told.get("repeated_answer") else ""
    typer.echo(f"{told['cells']} cells of {name} are known now, record {told['query']}{before}")
    if told.get("told"):
        typer.echo(
            f"{told['told']} figures that were withheld can be computed by it: {', '.join(told['told_of'])}. "
            "What follows from bounds besides, `sdcgate ledger audit` says."
        )


def read_scenarios(path: Path) -> list[dict[str, Any]]:
    """A file with scenarios as the JSON of an assessment. Raises ValueError where it holds none."""
    from sdcgate.cli.assessment.given import scenarios_of_file

    declared = scenarios_of_file(path)
    return [one.model_dump(mode="json", exclude_defaults=True, exclude_none=True) for one in declared]


def read_release(text: str, keys: str) -> dict[str, Any]:
    """Another registered release as the JSON of an assessment: `NAME`, `NAME@VERSION` or `@VERSION`.

    Raises ValueError where the version is no number.
    """
    name, at, version = text.partition("@")
    if at and not (version.isascii() and version.isdigit()):
        raise ValueError(f"--with {text}: write NAME, NAME@VERSION or @VERSION, such as health@2")
    named = [key for key in keys.split(",") if key]
    return {"dataset": name, "version": int(version or 0), "keys": named}


def read_number(text: str) -> dict[str, Any]:
    """A number with its width as the JSON of an assessment: `sales=10%` or `staff=5`."""
    from sdcgate.cli.assessment.numbers import near_of

    one = near_of(text)
    return {"column": one.name, "relative" if one.relative else "width": one.width}


def read_descriptor(path: Path) -> dict[str, Any]:
    """A descriptor file as the JSON of a registration.

    Raises:
        ValueError: the file is no descriptor; all problems, with their paths.
        OSError: it cannot be read.
    """
    from sdcgate.engine.descriptor import DescriptorInvalid, parse_descriptor
    from sdcgate.policy.strict_yaml import read_yaml

    content = read_yaml(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not a descriptor: it holds no fields")  # noqa: TRY004
    try:
        descriptor = parse_descriptor(content)
    except DescriptorInvalid as error:
        problems = "\n".join(f"  {problem}" for problem in error.problems)
        raise ValueError(f"{path} cannot be registered:\n{problems}") from error
    return descriptor.model_dump(mode="json", exclude_defaults=True, exclude_none=True)


def describe(dataset: dict[str, Any]) -> str:
    """A dataset as text."""
    lines = [
        f"{dataset.get('name')} version {dataset.get('version')}: {dataset.get('label', '')}",
        f"unit: {dataset.get('unit') or 'record'}; policy: {dataset.get('policy', {}).get('name', '')}",
        "",
        "variables",
    ]
    for variable in dataset.get("variables", ()):
        kind = "" if variable.get("identifying", "NO") == "NO" else f"  [{variable['identifying'].lower()}]"
        lines.append(f"  {variable['name']}  {variable.get('label', '')}{kind}")
        lines += [f"    {_level(variable['name'], level)}" for level in variable.get("levels", ())]
    lines += ["", "measures"]
    for measure in dataset.get("measures", ()):
        unit = f" ({measure['unit']})" if measure.get("unit") else ""
        lines.append(f"  {measure['name']}  {measure.get('label', '')}{unit}")
    return "\n".join(lines)


def _level(variable: str, level: dict[str, Any]) -> str:
    codes = [str(code) for code in level.get("codes", ())]
    shown = ", ".join(codes if len(codes) <= 12 else [*codes[:6], "...", *codes[-3:]])
    return f"{variable}:{level.get('name') or variable}  {len(codes)} codes: {shown}"
