"""`sdcgate ledger retention` and `ledger hold`: what is removed after its period, and what is kept."""

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import FAILED, WRONGLY_ASKED, give_up, told
from sdcgate.cli.ledger_place import as_value_error, opened_where_it_lies

if TYPE_CHECKING:
    from sdcgate.ledger.records import Removed
    from sdcgate.ledger.retention import Plan

hold = typer.Typer(help="Legal holds: keep what they touch from removal.", no_args_is_help=True)
Author = Annotated[str, typer.Option(help="Who answers for it.")]
Note = Annotated[str, typer.Option(help="Why; it is on record for ever.")]
CONTENTS = {
    "checker_views_days": "what checkers saw",
    "notes_days": "comments and notes",
    "answers_days": "requests, answers and records",
    "admissions_days": "labels and remarks of admissions",
}


def retention(
    apply: Annotated[
        bool, typer.Option("--apply/--dry-run", help="Remove it; else only tell what would be removed.")
    ] = False,
    author: Annotated[str, typer.Option(help="Who answers for it; with --apply.")] = "",
    note: Annotated[str, typer.Option(help="Why; with --apply. It is on record for ever.")] = "",
) -> None:
    """Remove what is older than the settings SDCGATE_RETENTION__... say, and put on record what it was."""
    from sdcgate.ledger.removable import Content
    from sdcgate.ledger.retention import apply as remove
    from sdcgate.ledger.retention import plan
    from sdcgate.servers.settings import Settings

    if apply and not (author.strip() and note.strip()):
        give_up("--apply needs --author and --note: they are on record for ever", WRONGLY_ASKED)
    with told():
        settings = Settings()
        periods = {content: getattr(settings.retention, content.value) for content in Content}
        if all(days is None for days in periods.values()):
            raise ValueError("everything is kept for ever: set SDCGATE_RETENTION__ANSWERS_DAYS or another")
        with opened_where_it_lies(settings) as ledger, as_value_error():
            if apply and (faults := ledger.verify().faults):
                give_up(f"{len(faults)} faults: nothing is removed; run: sdcgate ledger verify", FAILED)
            planned = plan(ledger, periods, datetime.now(UTC))
            recorded = remove(ledger, planned, periods, author=author, note=note) if apply else []
    for line in described(planned, {content.value: days for content, days in periods.items()}):
        typer.echo(line)
    if not apply:
        typer.echo(f"{len(planned.items)} attachments would be removed: --apply removes them")
        return
    where = f", recorded as event {', '.join(map(str, recorded))}" if recorded else ""
    typer.echo(f"{len(planned.items)} attachments are removed{where}")


def described(planned: "Plan", periods: dict[str, int | None]) -> list[str]:
    """A line for each setting: how much is over its period, and how much of that legal holds keep."""
    over = Counter(item.content.value for item in planned.items)
    held = {content.value: number for content, number in planned.held.items()}
    return [
        f"{CONTENTS[name]}: kept for ever"
        if days is None
        else f"{CONTENTS[name]}: {over[name]} older than {days} days, {held[name]} more kept by legal holds"
        for name, days in periods.items()
    ]


def told_removal(removed: "Removed") -> str:
    """A removal as a line of text, by the event that put it on record."""
    return (
        f"event {removed.sequence}: {removed.attachments} attachments were removed under retention "
        f"by {removed.author}, {removed.recorded_at}"
    )


@hold.command("add")
def add(
    author: Author,
    note: Note,
    source: Annotated[str, typer.Option(help="Everything of this source of data.")] = "",
    researcher: Annotated[str, typer.Option(help="Everything that names this person.")] = "",
    project: Annotated[str, typer.Option(help="Everything of this project.")] = "",
    query: Annotated[str, typer.Option(help="Everything of this query.")] = "",
) -> None:
    """Keep what this touches, whatever its period, until the hold is released; prints the hold's id."""
    from sdcgate.ledger.holds import Holds, Subject
    from sdcgate.servers.settings import Settings

    named = {"source": source, "researcher": researcher, "project": project, "query": query}
    given = [(Subject(subject), name) for subject, name in named.items() if name]
    if len(given) != 1:
        give_up("name one of --source, --researcher, --project and --query", WRONGLY_ASKED)
    with told(), opened_where_it_lies(Settings()) as ledger, as_value_error():
        typer.echo(Holds(ledger).add(*given[0], author=author, note=note))


@hold.command("release")
def release(
    hold_id: Annotated[str, typer.Argument(help="The hold's id, as `hold list` tells it.")],
    author: Author,
    note: Note,
) -> None:
    """Release a hold: what it touched goes after its period again."""
    from sdcgate.ledger.holds import Holds
    from sdcgate.servers.settings import Settings

    with told(), opened_where_it_lies(Settings()) as ledger, as_value_error():
        Holds(ledger).release(hold_id, author=author, note=note)
    typer.echo(f"{hold_id} is released")


@hold.command("list")
def list_holds() -> None:
    """List the holds, those that were released among them."""
    from sdcgate.ledger.holds import Holds
    from sdcgate.servers.settings import Settings
    from sdcgate_client.printing import format_columns

    with told(), opened_where_it_lies(Settings()) as ledger, as_value_error():
        found = Holds(ledger).all()
    rows = [
        (
            one.hold_id,
            one.subject.value,
            one.name,
            f"{one.added_at:%Y-%m-%d}",
            f"{one.released_at:%Y-%m-%d}" if one.released_at else "",
            one.author,
            one.note,
        )
        for one in found
    ]
    typer.echo(format_columns(rows, ("hold", "on", "name", "added", "released", "by", "why")))
