"""`sdcgate demo`: the whole house on real data, from nothing, with a query of every verdict."""

import fcntl
import os
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdcgate.cli.connection import FAILED, give_up, told

if TYPE_CHECKING:
    from sdcgate.cli.supervisor import Supervisor
    from sdcgate_client import Answer

WIDTH = 110
DESCRIPTOR = Path(__file__).parent.parent / "engine" / "demonstration" / "randhie.yaml"


@dataclass(frozen=True, slots=True)
class Step:
    """One query of the demonstration, and what has to come of it."""

    title: str
    query: Mapping[str, Any]
    verdict: str
    reason: str = ""
    """A code that must be among the reasons."""


DATASET = "randhie"
PEOPLE = {"operator": "olga", "steward": "stefan", "researcher": "ada", "checker": "carla"}
"""Who has which role."""

STEPS = (
    Step(
        "A table that may leave as it was asked",
        {"rows": ["site"], "columns": ["age:broad"], "figures": ["units", "mean:meddol"]},
        "RELEASED",
    ),
    Step(
        "A table with small cells: they are withheld, with others that would reveal them",
        {"rows": ["plan"], "columns": ["site"], "layers": ["female"]},
        "RELEASED_PROTECTED",
        "MINIMUM_UNITS",
    ),
    Step(
        "A table of four dimensions",
        {"rows": ["site", "year"], "columns": ["age:broad"], "layers": ["female"]},
        "REFUSED",
        "MAXIMUM_DIMENSIONS",
    ),
    Step(
        "An attempt at differencing: plan by site again, without year 4. In site 2, plan 17 it counts the "
        "same 44 persons, but subtracting the records isolates the six who have one in year 4",
        {
            "rows": ["plan"],
            "columns": ["site"],
            "figures": ["units", "records"],
            "filter": {"year": ["1", "2", "3", "5"]},
        },
        "REFUSED",
        "DIFFERENCING",
    ),
)


def demo(
    stay: Annotated[bool, typer.Option("--stay", help="Stay up until Ctrl-C.")] = False,
) -> None:
    """Start everything, register the demonstration dataset, ask sample queries through REST."""
    from sdcgate.cli.key import create_keys
    from sdcgate.cli.supervisor import ServiceFailed, Supervisor, stop_signal
    from sdcgate.servers.settings import Settings
    from sdcgate_client import SdcgateError

    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with told(), stop_signal() as stop, fresh_folder(Settings().state_dir) as folder:
        # Nothing of an agency's own installation is touched, whatever the environment says.
        settings = Settings(state_dir=folder, ledger_url="", service_token_file=None)
        overridden = {"SDCGATE_LEDGER_URL": "", "SDCGATE_SERVICE_TOKEN_FILE": ""}
        try:
            keys = create_keys(settings, PEOPLE, "demo")
            with Supervisor(settings, overridden, stop=stop) as supervisor:
                unexpected = _show(supervisor, keys, stop)
                if stay and not stop.is_set():
                    _invite(supervisor.url, keys)
                    supervisor.watch(stop)
        except ServiceFailed as error:
            give_up(str(error), FAILED)
        except SdcgateError as error:
            give_up(f"{error}\nThe services' logs are in {folder / 'log'}", FAILED)
        except KeyboardInterrupt:
            give_up("stopped", FAILED)
    if unexpected:
        give_up("not as expected: " + "; ".join(unexpected), FAILED)


@contextmanager
def fresh_folder(state_dir: Path) -> Iterator[Path]:
    """An empty state folder, `demo` in `state_dir`; another one while that is in use by another demo."""
    state_dir.mkdir(parents=True, exist_ok=True)
    folder = state_dir / "demo"
    with (state_dir / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            folder = state_dir / f"demo-{os.getpid()}"
        _remove(folder)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            if folder.name != "demo":
                _remove(folder)


def _remove(folder: Path) -> None:
    """Removes a folder of ours, read-only snapshots included."""
    if folder.exists():
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(folder)


def _show(supervisor: "Supervisor", keys: Mapping[str, str], stop: threading.Event) -> list[str]:
    """Registers, asks, prints; returns what did not come out as it should."""
    from sdcgate.cli.dataset import read_descriptor
    from sdcgate_client import Client

    _print_addresses(supervisor)
    with Client(supervisor.url, keys["steward"], timeout=120.0) as steward:
        dataset = steward.register(read_descriptor(DESCRIPTOR))["dataset"]
    typer.echo(f"\nRegistered {dataset['name']} version {dataset['version']}: {dataset['label']}")
    unexpected = []
    with Client(supervisor.url, keys["researcher"], timeout=120.0) as researcher:
        for number, step in enumerate(STEPS, start=1):
            if stop.is_set():
                break
            answer = researcher.table(DATASET, **step.query, project="demo")
            print_step(number, step, answer)
            unexpected += difference(number, step, answer)
    return unexpected


def difference(number: int, step: Step, answer: "Answer") -> list[str]:
    """What is not as the step expects, in words."""
    found = []
    if answer.verdict != step.verdict:
        found.append(f"query {number} is {answer.verdict} and not {step.verdict}")
    elif step.reason and step.reason not in {reason.code for reason in answer.reasons}:
        found.append(f"query {number} does not give {step.reason} as a reason")
    return found


def print_step(number: int, step: Step, answer: "Answer") -> None:
    """Prints a query and its answer."""
    from sdcgate_client import format_answer
    from sdcgate_client.printing import describe_request

    typer.echo(f"\n{'=' * WIDTH}\n{textwrap.fill(f'{number}. {step.title}', WIDTH)}\n")
    typer.echo(f"asked: {DATASET}: {describe_request(answer.request)}\n")
    typer.echo(format_answer(answer, WIDTH))


def _print_addresses(supervisor: "Supervisor") -> None:
    typer.echo(f"REST         {supervisor.url} (documented at {supervisor.url}/openapi.json)")
    for name in ("facility", "risk", "protection"):
        typer.echo(f"{name:12} {supervisor.addresses[name]} (gRPC)")


def _invite(url: str, keys: Mapping[str, str]) -> None:
    """Prints the keys, once, and what to do with them."""
    typer.echo(f"\n{'=' * WIDTH}\nUp at {url} until Ctrl-C. Keys, shown this once:\n")
    for role, key in keys.items():
        if role != "researcher":
            typer.echo(f"  {role:9} {PEOPLE[role]:7} {key}")
    typer.echo("\nAsk as a researcher:\n")
    typer.echo(f"  export SDCGATE_URL={url} SDCGATE_API_KEY={keys['researcher']}")
    typer.echo(
        "  .venv/bin/sdcgate query table randhie --rows site --columns age:ten_years --filter female=1"
    )
