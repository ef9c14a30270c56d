"""`sdcgate admission`: registered researchers and projects: request, list, approve, refuse, withdraw."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

import typer

from sdcgate.cli.connection import DEFAULT_URL, ApiKey, Url, connected
from sdcgate.cli.query import names

app = typer.Typer(
    help="Admissions: register researchers and projects, approve, refuse or withdraw them.",
    no_args_is_help=True,
)

AdmissionId = Annotated[str, typer.Argument(help="Id of the admission, as `admission list` shows it.")]
Note = Annotated[str, typer.Option(help="Why; kept in the ledger.")]
Datasets = Annotated[list[str], typer.Option("--dataset", help="Dataset; repeat it or separate by commas.")]
Label = Annotated[str, typer.Option(help="Who or what it is, for who approves it.")]
From = Annotated[str, typer.Option("--from", help="First day, 2026-01-31; today where left out.")]
Until = Annotated[str, typer.Option("--until", help="Last day.")]
DAYS = 365


@app.command()
def researcher(
    name: Annotated[str, typer.Argument(help="The researcher, as his keys and tokens name him.")],
    label: Label,
    dataset: Datasets = [],  # noqa: B006 - typer copies it
    first: From = "",
    until: Until = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Request that a researcher be registered."""
    _request([name], names(dataset), label, first, until, url, api_key)


@app.command()
def project(
    name: Annotated[str, typer.Argument(help="The project, as questions name it.")],
    researcher: Annotated[list[str], typer.Option(help="Researcher; repeat it or separate by commas.")],
    dataset: Datasets,
    label: Label,
    first: From = "",
    until: Until = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Request that a project be registered, with its researchers and datasets."""
    _request(names(researcher), names(dataset), label, first, until, url, api_key, name)


@app.command("list")
def list_admissions(
    state: Annotated[list[str], typer.Option(help="requested, approved, refused or withdrawn.")] = [],  # noqa: B006
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """List admissions: your own, or for stewards, auditors and operators all."""
    from sdcgate_client.printing import format_columns

    fields = (
        "admission",
        "state",
        "project",
        "researchers",
        "datasets",
        "valid_from",
        "valid_until",
        "requested_by",
        "reviewer",
    )
    with connected(url, api_key) as client:
        found = client.admissions([name.upper() for name in names(state)])
        rows = [[_cell(one.get(field, "")) for field in fields] for one in found]
    typer.echo(format_columns(rows, fields))


@app.command()
def approve(
    admission: AdmissionId,
    note: Note,
    first: From = "",
    until: Until = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Approve an admission, for the days that were asked for or others."""
    with connected(url, api_key) as client:
        found = client.review_admission(admission, True, note, valid_from=first, valid_until=until)
        typer.echo(f"{admission} is approved from {found['valid_from']} until {found['valid_until']}")


@app.command()
def refuse(admission: AdmissionId, note: Note, url: Url = DEFAULT_URL, api_key: ApiKey = "") -> None:
    """Refuse an admission."""
    with connected(url, api_key) as client:
        client.review_admission(admission, False, note)
        typer.echo(f"{admission} is refused")


@app.command()
def withdraw(admission: AdmissionId, note: Note, url: Url = DEFAULT_URL, api_key: ApiKey = "") -> None:
    """End an admission at once."""
    with connected(url, api_key) as client:
        client.withdraw_admission(admission, note)
        typer.echo(f"{admission} is withdrawn")


def _request(
    researchers: list[str],
    datasets: list[str],
    label: str,
    first: str,
    until: str,
    url: str,
    api_key: str,
    project: str = "",
) -> None:
    with connected(url, api_key) as client:
        day = date.fromisoformat(first) if first else datetime.now(UTC).date()
        last = until or (day + timedelta(days=DAYS)).isoformat()
        found = client.request_admission(
            researchers,
            label=label,
            valid_from=day.isoformat(),
            valid_until=last,
            datasets=datasets,
            project=project,
        )
        typer.echo(found["admission"])
        typer.echo(f"requested from {day} until {last}; a steward decides", err=True)


def _cell(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
