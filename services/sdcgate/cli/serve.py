"""`sdcgate serve`: runs one service in this process, or all four as processes of their own."""

import os
import sys
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import FAILED, give_up, told
from sdcgate.cli.key import FIRST_KEY_DAYS, first_key
from sdcgate.cli.supervisor import SERVICES

if TYPE_CHECKING:
    from sdcgate.servers.settings import Settings


class Service(StrEnum):
    """What can be served."""

    RISK = "risk"
    PROTECTION = "protection"
    FACILITY = "facility"
    GATEWAY = "gateway"
    ALL = "all"


def serve(
    service: Annotated[Service, typer.Argument(help="The service, or all of them.")],
    parent: Annotated[
        int, typer.Option(hidden=True, help="Process without which this one has no business.")
    ] = 0,
) -> None:
    """Run a service until SIGTERM or Ctrl-C. Settings come from the environment (SDCGATE_...)."""
    if parent:
        from sdcgate.cli.parent import die_with

        die_with(parent)
    with told():
        from sdcgate.servers.settings import Settings

        settings = Settings()
    if service is Service.ALL:
        _serve_all()
        return
    # Many small products from many threads: one thread each is faster than all fighting for the cores.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    server = import_module(f"sdcgate.servers.{service.value}")
    try:
        server.main(settings)
    except (OSError, RuntimeError, ValueError) as error:
        give_up(f"{service.value} cannot be served: {error}", FAILED)


def _serve_all() -> None:
    from sdcgate.cli.supervisor import ServiceFailed, Supervisor, stop_signal
    from sdcgate.servers.settings import Settings

    with told(), stop_signal() as stop:
        settings = Settings()
        key = first_key(settings)
        try:
            with Supervisor(settings, stop=stop) as supervisor:
                for name, address in supervisor.addresses.items():
                    typer.echo(f"{name:11} {address}")
                typer.echo(_who_reaches_it(settings))
                if key:
                    _tell(key, settings)
                supervisor.watch(stop)
        except ServiceFailed as error:
            give_up(str(error), FAILED)
        except KeyboardInterrupt:
            return


def _who_reaches_it(settings: "Settings") -> str:
    """Whether anybody beyond this machine reaches the services."""
    from sdcgate.servers.loopback import is_loopback

    beyond = [
        f"{name} ({host})"
        for name in SERVICES
        for host in (getattr(settings, name).host, getattr(settings, name).metrics_host)
        if not is_loopback(host)
    ]
    if beyond:
        return f"Reached from beyond this machine: {', '.join(dict.fromkeys(beyond))}"
    return "All listen on the loopback only: nobody beyond this machine reaches them."


def _tell(key: str, settings: "Settings") -> None:
    """Show the first key to whoever sits there; where nobody does, output may be a log: into a file."""
    more = "sdcgate key create makes others."
    if sys.stdout.isatty():
        typer.echo(f"Key of the local operator, for {FIRST_KEY_DAYS} day, shown this once: {key}\n{more}")
        return
    path = settings.state_dir / "keys" / "operator.key"
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(key + "\n")
    typer.echo(f"Key of the local operator, for {FIRST_KEY_DAYS} day: in {path}; remove it. {more}")
