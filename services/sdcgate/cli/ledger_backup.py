"""`sdcgate ledger backup`, `restore` and `acknowledge-loss`: copies of the ledger, and what a copy lacks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import FAILED, WRONGLY_ASKED, give_up, told
from sdcgate.cli.ledger_place import as_value_error, opened_where_it_lies

if TYPE_CHECKING:
    from sdcgate.ledger.records import Loss

Keys = Annotated[
    Path | None, typer.Option(help="Folder for the keys, apart from the rest: who has both can forge.")
]


def backup(
    folder: Annotated[Path, typer.Argument(help="A new folder: ledger, heads, snapshots.")],
    keys: Keys = None,
) -> None:
    """Copy the ledger, its heads and the snapshots, beside the running facility, and verify the copy."""
    from sdcgate.servers.backup import back_up
    from sdcgate.servers.settings import Settings

    settings = Settings()
    # Opened first: what a crash kept from the heads is there before they are copied.
    with told(), opened_where_it_lies(settings):
        report = back_up(settings, folder, keys)
    typer.echo(f"{report.events} events are in {folder}: verified")
    if settings.engine_url:
        typer.echo("snapshots are where the engine is: back them up with its own tools")
    if keys is None:
        typer.echo("the keys are not in it: back them up with --keys, to another place")


def restore(
    folder: Annotated[Path, typer.Argument(help="The folder of a backup.")],
    keys: Keys = None,
    heads: Annotated[
        Path | None, typer.Option(help="Heads that were kept elsewhere, where the second place is lost.")
    ] = None,
    heads_of_backup: Annotated[
        bool,
        typer.Option("--heads-of-backup", help="There are no heads but the backup's: losses cannot show."),
    ] = False,
) -> None:
    """Restore a backup, the facility stopped, to where no ledger is. Tells what the backup lacks."""
    from sdcgate.servers.backup import restore as put_back
    from sdcgate.servers.settings import Settings

    with told(), as_value_error():
        restored = put_back(Settings(), folder, keys, heads, heads_of_backup=heads_of_backup)
    for fault in restored.report.faults:
        typer.echo(f"event {fault.sequence}, {fault.place}: {fault.message}")
    typer.echo(f"{restored.report.events} events are restored")
    if restored.refusal is not None:
        give_up(
            f"nothing is appended, and no new query answered: {restored.refusal} (sdcgate ledger "
            "acknowledge-loss)",
            FAILED,
        )
    if restored.report.faults:
        give_up(f"{len(restored.report.faults)} faults", FAILED)


def acknowledge_loss(
    author: Annotated[str, typer.Option(help="Who answers for it.")],
    note: Annotated[str, typer.Option(help="What was lost, why, and what was done about it.")],
) -> None:
    """Put on record that signed events are lost for ever; then the ledger takes new ones again."""
    from sdcgate.servers.settings import Settings

    if not author.strip() or not note.strip():
        give_up("author and note must say something: they are on record for ever", WRONGLY_ASKED)
    with told(), opened_where_it_lies(Settings()) as ledger:
        ledger.acknowledge_truncation(author, note)
        losses = ledger.verify().losses
    typer.echo(told_loss(losses[-1]))


def told_loss(loss: "Loss") -> str:
    """A loss as a line of text, by the event that put it on record."""
    lost = f"event {loss.first}, as it was, is lost"
    if loss.last > loss.first:
        lost = f"events {loss.first} to {loss.last}, as they were, are lost"
    return f"event {loss.sequence}: {loss.author} acknowledges that {lost}: {loss.note}"
