"""`sdcgate review`: what an output checker does with referred queries."""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sdcgate.cli.check import printable
from sdcgate.cli.connection import DEFAULT_URL, ApiKey, Url, connected, told
from sdcgate.cli.query import listed

app = typer.Typer(
    help="Review: list referred queries, look at one, comment on it, approve, return or refuse it, or take "
    "one's approval back.",
    no_args_is_help=True,
)

QueryId = Annotated[str, typer.Argument(help="Id of the query.")]
Note = Annotated[str, typer.Option(help="Why; kept in the ledger.")]
_SHOWN_CELLS = 20


@app.command("list")
def list_referred(url: Url = DEFAULT_URL, api_key: ApiKey = "") -> None:
    """List the queries that wait for a checker."""
    with connected(url, api_key) as client:
        typer.echo(listed([*client.all_queries(["REFERRED"])]))


@app.command()
def show(query: QueryId, url: Url = DEFAULT_URL, api_key: ApiKey = "") -> None:
    """Show a query with everything: findings, risk, and the table before protection. Confidential."""
    from sdcgate_client import format_answer
    from sdcgate_client.printing import describe_request

    with connected(url, api_key) as client:
        answer = client.query(query)
        typer.echo(format_answer(answer))
        typer.echo(f"\nasked: {describe_request(answer.request)}")
        if answer.checker is None:
            raise ValueError("what failed is shown to checkers only, and to none of his own query")
        typer.echo(f"\nConfidential\n{describe(answer.checker, answer.request)}")


@app.command()
def files(
    query: QueryId,
    folder: Annotated[Path, typer.Argument(help="New folder to write them into.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Write the files of a query that could not be read into a folder, to be looked at. Confidential."""
    with connected(url, api_key) as client:
        answer = client.query(query)
        if not answer.request.get("files"):
            raise ValueError("the query has no files")
        if answer.checker is None:
            raise ValueError("files are shown to checkers only, and to none of his own query")
        folder.mkdir(parents=True)
        for number, file in enumerate(answer.request["files"]):
            content = base64.b64decode(file.get("content") or "")
            # Its name is the job's: only its end is taken, so that nothing is written elsewhere.
            suffix = "".join(letter for letter in Path(file["name"]).suffix if letter.isalnum())
            place = folder / (f"{number}.{suffix}" if suffix else str(number))
            place.write_bytes(content)
            told = (
                f"{len(content)} bytes" if content else "kept by its checksum only: it is empty or too large"
            )
            typer.echo(f"{place}  {printable(file['name'])}, {told}")


@app.command()
def approve(
    query: QueryId,
    note: Note,
    exception: Annotated[
        bool,
        typer.Option(
            help="Release an output of which nothing can be proved, or what could not be compared with other "
            "versions; the ledger keeps that, and every audit lists it."
        ),
    ] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Approve a referred query: it is checked again with all that was released meanwhile, then released."""
    _decide(query, True, note, url, api_key, exception)


@app.command("take-back")
def take_back(query: QueryId, note: Note, url: Url = DEFAULT_URL, api_key: ApiKey = "") -> None:
    """Take your own approval back, as long as no second checker has approved: the query stays referred."""
    from sdcgate_client import format_answer

    with connected(url, api_key) as client:
        typer.echo(format_answer(client.take_back(query, note)))


@app.command()
def refuse(query: QueryId, note: Note, url: Url = DEFAULT_URL, api_key: ApiKey = "") -> None:
    """Refuse a referred query."""
    _decide(query, False, note, url, api_key)


@app.command("return")
def give_back(
    query: QueryId,
    note: Note,
    message: Annotated[str, typer.Option(help="What the researcher is told to change. He reads it.")],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Return a referred query to its researcher: refused, with what to change."""
    with told():
        if not message.strip():
            # Without one it would be a refusal.
            raise ValueError("--message must say what the researcher is to change")
    _decide(query, False, note, url, api_key, returned=message)


@app.command()
def comment(
    query: QueryId,
    text: Annotated[str, typer.Argument(help="What it says; kept in the ledger.")],
    to_researcher: Annotated[
        bool, typer.Option(help="The researcher reads it, too; else only checkers do.")
    ] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Write a comment on a referred query. It decides nothing; `review show` shows it."""
    with connected(url, api_key) as client:
        client.comment(query, text, to_researcher)
    typer.echo(
        "recorded; the researcher reads it, too" if to_researcher else "recorded; only checkers read it"
    )


def _decide(
    query: str,
    approve: bool,
    note: str,
    url: str,
    api_key: str,
    exception: bool = False,
    returned: str = "",
) -> None:
    from sdcgate_client import format_answer

    with connected(url, api_key) as client:
        typer.echo(format_answer(client.review(query, approve, note, exception, returned)))


def describe(checker: dict[str, Any] | Any, request: Any) -> str:
    """What a checker sees, as text: who asked, what failed and where, the risk, the true table."""
    from sdcgate_client import format_table
    from sdcgate_client.models import Model
    from sdcgate_client.printing import format_model, format_statistic
    from sdcgate_client.statistics import Statistic

    table = _true_table(checker)
    lines = [f"researcher: {checker.get('researcher', '')}"]
    if checker.get("approved_by"):
        lines.append(f"approved by: {checker['approved_by']}")
    if checker.get("note"):
        lines.append(f"note: {checker['note']}")
    lines += [f"not what it is declared to be: {text}" for text in checker.get("binding", ())]
    for finding in checker.get("findings", ()):
        lines.append(_finding(finding, table))
    if risk := checker.get("risk"):
        lines += [f"{name.replace('_', ' ')}: {value:g}" for name, value in risk.items()]
    if table is not None:
        lines += ["", format_table(table, request)]
    for other in checker.get("other_versions", ()):
        lines += ["", *_other_version(checker, other, request)]
    if statistic := checker.get("statistic"):
        lines += ["", format_statistic(Statistic.from_json(statistic))]
    if model := checker.get("model"):
        lines += ["", format_model(Model.from_json(model))]
    return "\n".join(lines)


def _other_version(checker: Any, other: dict[str, Any], request: Any) -> list[str]:
    """What left of another version, the same table there, and by what each figure differs from it."""
    from sdcgate_client import format_table

    name, queries = f"{other.get('dataset')} version {other.get('version')}", other.get("queries") or []
    left = ", ".join(queries) if queries else "nothing with a cell of this table"
    lines = [f"compare with {name}, of which has left: {left}"]
    there = _true_table({**checker, "facts": other.get("facts")})
    here = _true_table(checker)
    if there is None or here is None:
        return lines
    differences = tuple(
        replace(mine, values=tuple(map(_less, mine.values, its.values)))
        for mine, its in zip(here.figures, there.figures, strict=True)
    )
    lines += ["", f"{name}:", format_table(there, request)]
    return [*lines, "", f"less {name}:", format_table(replace(here, figures=differences), request)]


def _less(new: float | None, old: float | None) -> float | None:
    return None if new is None or old is None else new - old


def _finding(finding: dict[str, Any], table: Any) -> str:
    text = f"{finding.get('rule', '')} ({finding.get('consequence', '').lower()})"
    if finding.get("measure"):
        text += f" of {finding['measure']}"
    cells = finding.get("cells") or []
    if not cells:
        return f"{text}: {finding.get('figure', 0):g}, allowed {finding.get('bound', 0):g}"
    if table is None:
        return f"{text}: {len(cells)} cells"
    named = ["/".join(axis.codes[axis.cells[cell]] for axis in table.dimensions) for cell in cells]
    more = f" and {len(named) - _SHOWN_CELLS} more" if len(named) > _SHOWN_CELLS else ""
    return f"{text}: {len(cells)} cells: {', '.join(named[:_SHOWN_CELLS])}{more}"


def _true_table(checker: dict[str, Any]) -> Any:
    """The table before protection, with units, records, households and sums as its figures."""
    from sdcgate_client import Dimension, Figure, Table

    facts = checker.get("facts") or {}
    dimensions = tuple(
        Dimension(
            axis["variable"],
            axis.get("level", ""),
            axis["variable"],
            tuple(axis["codes"]),
            tuple(axis.get("labels") or ()),
            tuple(axis["cells"]),
        )
        for axis in checker.get("dimensions") or ()
    )
    columns = {name: facts.get(name) or [] for name in ("units", "records", "households")}
    columns |= {
        f"sum of {measure['measure']}": measure.get("sums") or [] for measure in facts.get("measures", ())
    }
    count = len(columns["units"])
    if not count:
        return None
    figures = tuple(Figure(name, tuple(values)) for name, values in columns.items() if len(values) == count)
    return Table(dimensions, figures, ("PUBLISHED",) * count)
