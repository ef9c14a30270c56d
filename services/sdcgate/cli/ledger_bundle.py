"""`sdcgate ledger export` and `verify-bundle`: what an auditor takes along, and checks without us."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from sdcgate.cli.connection import FAILED, give_up, told
from sdcgate.cli.ledger_place import as_value_error, opened_where_it_lies

FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]


def export(
    bundle: Annotated[Path, typer.Argument(help="A new file, as audit.zip.")],
    begin: Annotated[datetime, typer.Option("--from", formats=FORMATS, help="The first moment, UTC.")],
    end: Annotated[
        datetime, typer.Option("--until", formats=FORMATS, help="The moment after the last, UTC.")
    ],
    dataset: Annotated[str | None, typer.Option(help="Only what concerns this dataset.")] = None,
    confidential: Annotated[
        bool, typer.Option("--confidential", help="With exact bytes of all, true cells and checkers' words.")
    ] = False,
) -> None:
    """Write what the ledger recorded in a time to a signed file that is verified offline."""
    from sdcgate.ledger.bundles import Selection
    from sdcgate.ledger.bundles import export as write
    from sdcgate.servers.settings import Settings

    selection = Selection(begin.replace(tzinfo=UTC), end.replace(tzinfo=UTC), dataset, confidential)
    with told(), opened_where_it_lies(Settings()) as ledger, as_value_error():
        written = write(ledger, bundle, selection)
    secret = "; CONFIDENTIAL: true cells are in it" if confidential else ""
    typer.echo(f"{written} events are in {bundle}{secret}")


def verify_bundle(
    bundle: Annotated[Path, typer.Argument(help="The file that `ledger export` wrote.")],
    public_key: Annotated[
        Path, typer.Option(help="The facility's public keys, PEM, from where you trust them.")
    ],
) -> None:
    """Verify a bundle offline. Needs neither gateway nor ledger."""
    from sdcgate.ledger.bundle_verification import BundleUnreadable
    from sdcgate.ledger.bundle_verification import verify_bundle as verify

    with told():
        try:
            report = verify(bundle, public_key.read_bytes())
        except BundleUnreadable as error:
            give_up(str(error), FAILED)
    for problem in report.problems:
        typer.echo(problem)
    if report.problems:
        give_up(f"NOT valid: {len(report.problems)} problems", FAILED)
    typer.echo(
        f"valid: {report.events} of the events {report.first} to {report.last}; "
        f"head {report.last} is {report.head}"
    )
    if report.removed:
        typer.echo(f"{report.removed} attachments are not in it: they were removed under retention")
