"""`sdcgate key`: API keys, on the ledger's database. For operators of the machine."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from sdcgate.servers.settings import Settings

app = typer.Typer(help="API keys: create, list, revoke.", no_args_is_help=True)


def create_key(settings: "Settings", role: str, researcher: str, label: str) -> str:
    raise NotImplementedError
