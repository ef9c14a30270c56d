"""`sdcgate key`: API keys, in the ledger. Needs the ledger's database and signing keys, not the gateway."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import told

if TYPE_CHECKING:
    from sdcgate.ledger.credentials import Credentials
    from sdcgate.servers.settings import Settings

app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)

DAYS = 365
FIRST_KEY_DAYS = 1
_COLUMNS = (
    *("key", "role", "researcher", "label", "created", "expires", "revoked"),
    *("datasets", "projects", "acts for"),
)


class Role(StrEnum):
    """What a person may do: ask, review, register datasets, audit, operate."""

    RESEARCHER = "researcher"
    PORTAL = "portal"
    CHECKER = "checker"
    STEWARD = "steward"
    AUDITOR = "auditor"
    OPERATOR = "operator"


@app.command()
def create(
    role: Annotated[Role, typer.Option(help="What the key may do.")],
    researcher: Annotated[str, typer.Option(help="The person that the key is for.")],
    label: Annotated[str, typer.Option(help="What it is used for.")] = "",
    days: Annotated[int, typer.Option(min=1, help="How long it is valid.")] = DAYS,
    dataset: Annotated[
        list[str], typer.Option(help="Dataset that it is for; repeat it. All where left out.")
    ] = [],  # noqa: B006 - typer copies it
    project: Annotated[
        list[str], typer.Option(help="Project that it is for; repeat it. All, and none, where left out.")
    ] = [],  # noqa: B006
    acts_for: Annotated[
        list[str],
        typer.Option(help="Researcher for whom a portal acts; repeat it, or * for everybody. Nobody else."),
    ] = [],  # noqa: B006
) -> None:
    """Create a key and print it. It is shown this once; only its hash is kept."""
    with told(), _opened() as credentials:
        from sdcgate.ledger.credentials import Scope

        scope = Scope(tuple(dataset), tuple(project), tuple(acts_for))
        plaintext, record = credentials.create(role.value, researcher, label, days, scope=scope)
        typer.echo(plaintext)
        until = record.expires_at.date().isoformat()
        typer.echo(f"key {record.key_id} of {researcher}, {role.value}, until {until}", err=True)


@app.command("list")
def list_keys() -> None:
    """List all keys, without their secrets."""
    from sdcgate_client.printing import format_columns

    with told(), _opened() as credentials:
        rows = [
            (
                record.key_id,
                record.role.value,
                record.researcher,
                record.label,
                record.created_at.date().isoformat(),
                record.expires_at.date().isoformat(),
                record.revoked_at.date().isoformat() if record.revoked_at else "",
                ", ".join(record.scope.datasets),
                ", ".join(record.scope.projects),
                ", ".join(record.scope.acts_for),
            )
            for record in credentials.list()
        ]
    typer.echo(format_columns(rows, _COLUMNS))


@app.command()
def revoke(key: Annotated[str, typer.Argument(help="Id of the key, as `key list` shows it.")]) -> None:
    """Make a key worthless from now on."""
    with told(), _opened() as credentials:
        credentials.revoke(key)
        typer.echo(f"key {key} is revoked")


def create_keys(settings: "Settings", people: dict[str, str], label: str) -> dict[str, str]:
    """A key for each role, for the person given; returns the plaintexts by role."""
    with _opened(settings) as credentials:
        return {role: credentials.create(role, name, label, DAYS)[0] for role, name in people.items()}


def first_key(settings: "Settings") -> str:
    """A key of the local operator, valid for a day, where nobody has had any key; else nothing."""
    with _opened(settings) as credentials:
        if credentials.list():
            return ""
        return credentials.create("operator", "local-operator", "first start", FIRST_KEY_DAYS)[0]


@contextmanager
def _opened(settings: "Settings | None" = None) -> Iterator["Credentials"]:
    from sdcgate.cli.ledger_place import opened
    from sdcgate.ledger.credentials import Credentials

    with opened(settings) as ledger:
        yield Credentials(ledger)
