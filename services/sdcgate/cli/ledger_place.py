"""The ledger where it lies: opened by the commands that run beside the facility."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdcgate.ledger.ledger import Ledger
    from sdcgate.servers.settings import Settings


@contextmanager
def opened_where_it_lies(settings: "Settings") -> Iterator["Ledger"]:
    """The ledger of the settings, which is there already: reading must not make what it then finds in order.

    Raises:
        ValueError: there is none, or it cannot be used.
    """
    file = settings.state_dir / "ledger.sqlite"
    if settings.has_own_ledger and not file.exists():
        raise ValueError(
            f"there is no ledger at {file}: set SDCGATE_STATE_DIR, SDCGATE_LEDGER_URL or SDCGATE_SECRETS_DIR"
        )
    with opened(settings) as ledger:
        yield ledger


@contextmanager
def opened(settings: "Settings | None" = None) -> Iterator["Ledger"]:
    """The ledger of the settings.

    Raises:
        ValueError: it cannot be used; the message says why.
    """
    from sdcgate.servers.settings import Settings
    from sdcgate.servers.state_folder import open_ledger

    with as_value_error():
        ledger, _ = open_ledger(settings or Settings())
        try:
            yield ledger
        finally:
            ledger.close()


@contextmanager
def as_value_error() -> Iterator[None]:
    """What the ledger refuses, as a command tells it.

    Raises:
        ValueError: with the ledger's message.
    """
    from sdcgate.ledger.errors import LedgerError

    try:
        yield
    except LedgerError as error:
        raise ValueError(str(error)) from error
