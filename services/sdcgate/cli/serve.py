"""`sdcgate serve`: runs one service in this process, or all four as processes of their own."""

import os
from enum import StrEnum
from importlib import import_module
from typing import Annotated

import typer

from sdcgate.cli.connection import FAILED, give_up, told


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

    with stop_signal() as stop:
        try:
            with Supervisor(Settings(), stop=stop) as supervisor:
                for name, address in supervisor.addresses.items():
                    typer.echo(f"{name:11} {address}")
                supervisor.watch(stop)
        except ServiceFailed as error:
            give_up(str(error), FAILED)
        except KeyboardInterrupt:
            return
