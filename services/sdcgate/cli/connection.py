"""How commands reach the gateway, and how they tell what went wrong."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from sdcgate_client import Client

FAILED = 1
WRONGLY_ASKED = 2
API_KEY_FILE = "SDCGATE_API_KEY_FILE"
ROLE = "SDCGATE_ROLE"
"""The role in which commands call, where a token carries several."""

Url = Annotated[
    str, typer.Option("--url", envvar="SDCGATE_URL", help="Address of the gateway.", show_default=True)
]
ApiKey = Annotated[
    str,
    typer.Option(
        "--api-key",
        envvar="SDCGATE_API_KEY",
        help="API key. Prefer the environment: other users of the machine can see options.",
        show_default=False,
    ),
]
DEFAULT_URL = "http://127.0.0.1:8080"


@contextmanager
def connected(url: str, api_key: str) -> Iterator["Client"]:
    """A client of the gateway; errors are told as text, with all wrong fields, and end the command."""
    with told():
        from sdcgate_client import Client

        key = api_key or _key_of_file()
        if not key:
            raise ValueError(
                "no API key: set SDCGATE_API_KEY or SDCGATE_API_KEY_FILE (`sdcgate key create` makes one)"
            )
        with Client(url, key, timeout=120.0, role=os.environ.get(ROLE, "")) as client:
            yield client


def _key_of_file() -> str:
    """The key in the file that the environment names; empty where it names none. Raises OSError."""
    path = os.environ.get(API_KEY_FILE)
    return Path(path).read_text(encoding="ascii").strip() if path else ""


@contextmanager
def told() -> Iterator[None]:
    """Tells errors as text and ends the command: 2 for what was wrongly asked, 1 for what failed."""
    from sdcgate_client.errors import InvalidRequest, SdcgateError

    try:
        yield
    except InvalidRequest as error:
        give_up(str(error), WRONGLY_ASKED)
    except (SdcgateError, OSError) as error:
        give_up(str(error), FAILED)
    except ValueError as error:
        give_up(str(error), WRONGLY_ASKED)


def give_up(message: str, code: int) -> NoReturn:
    """Writes a message to standard error and ends the command with the code."""
    typer.echo(message, err=True)
    raise typer.Exit(code)
