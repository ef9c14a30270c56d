"""`sdcgate policy diff`: what differs between two policies, in words and in what was asked."""

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import told

if TYPE_CHECKING:
    from sdcgate.facility.replay import EngineOfThen, Replayed
    from sdcgate.policy import Policy
    from sdcgate.policy.comparison import Comparison
    from sdcgate.servers.settings import Settings

SHOWN_QUERIES = 20
PROGRESS_SECONDS = 0.5
LOG_SECONDS = 10.0
NAMES = {"": "no verdict"}


def diff(
    old: Annotated[str, typer.Argument(help="Name or file of the policy that applies.")],
    new: Annotated[str, typer.Argument(help="Name or file of the policy that would take its place.")],
    ledger: Annotated[
        bool, typer.Option("--ledger", help="Ask the ledger's queries again under the new policy.")
    ] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds for asking them again.", min=1)] = 600.0,
    every: Annotated[bool, typer.Option("--all", help="List every query that changes.")] = False,
) -> None:
    """Say what a new policy changes, setting by setting; with --ledger, which verdicts and how many cells."""
    from sdcgate.cli.policies import find
    from sdcgate.policy.comparison import compare

    with told():
        before, after = find(old), find(new)
        typer.echo(f"{before.name} version {before.version} -> {after.name} version {after.version}\n")
        typer.echo(describe(compare(before, after)))
        if ledger:
            typer.echo("")
            typer.echo(_replayed(before, after, time_limit, every))


def describe(comparison: "Comparison") -> str:
    """What differs, as text: each setting with what it was and what it will be."""
    lines = [f"{level}: nothing may be asked any more" for level in comparison.levels_gone]
    lines += [f"{level}: is new" for level in comparison.levels_new]
    for change in comparison.changes:
        lines.append(f"{change.old.name} ({', '.join(change.where)})")
        for mark, setting in (("-", change.old), ("+", change.new)):
            lines += [f"  {mark} {setting.text}", f"      {setting.explanation}"]
    if not lines:
        lines.append("no setting differs")
    if comparison.decided_anew:
        lines += ["", f"queries answered before are decided anew: {', '.join(comparison.decided_anew)}"]
    else:
        lines += ["", "queries answered before keep their answers"]
    return "\n".join(lines)


def _replayed(old: "Policy", new: "Policy", time_limit: float, every: bool) -> str:
    from sdcgate.cli.ledger_place import opened_where_it_lies
    from sdcgate.cli.policies import own_folder
    from sdcgate.facility.replay import queries_of, replay
    from sdcgate.policy.loading import load_policies
    from sdcgate.servers.settings import Settings

    settings = Settings()
    end = time.monotonic() + time_limit
    policies = {**load_policies(own_folder()), old.name: new}
    found = []
    with opened_where_it_lies(settings) as ledger, scratch(settings) as (engine, folder):
        queries = queries_of(ledger, old.name)
        show = _progress(len(queries))
        for one in replay(
            ledger, queries, engine, policies, settings.default_policy, folder, lambda: end - time.monotonic()
        ):
            found.append(one)
            show(len(found))
    return summarise(found, len(queries), every)


def summarise(found: "list[Replayed]", of: int, every: bool = False) -> str:
    """What came of queries that were asked again, as text: counts, and the queries that change."""
    if not of:
        return "the ledger has no query that was decided under this policy"
    changed = [one for one in found if one.changed]
    lines = [f"{len(found)} of {of} queries asked again" + ("" if len(found) == of else "; the time is over")]
    verdicts = Counter((one.before, one.after) for one in found)
    lines += ["", "verdict then        now                 queries"]
    lines += [
        f"{before:18}  {NAMES.get(after, after):18}  {number:7}" + ("" if before == after else "  changed")
        for (before, after), number in sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))
    ]
    then, now = sum(one.shown_before for one in found), sum(one.shown_after for one in found)
    withheld, shown_now = sum(one.newly_withheld for one in found), sum(one.newly_shown for one in found)
    lines += [
        "",
        f"cells shown then {then}, now {now}: {withheld} newly withheld, {shown_now} newly shown",
        f"queries that change: {len(changed)}",
    ]
    shown = changed if every else changed[:SHOWN_QUERIES]
    lines += [f"  {_line(one)}" for one in shown]
    if len(shown) < len(changed):
        lines.append(f"  and {len(changed) - len(shown)} more (--all lists them)")
    return "\n".join(lines)


def _line(one: "Replayed") -> str:
    parts = [one.query, one.dataset]
    if one.before != one.after:
        parts.append(f"{one.before} -> {NAMES.get(one.after, one.after)}")
    if one.newly_withheld or one.newly_shown:
        parts.append(f"{one.newly_withheld} cells newly withheld, {one.newly_shown} newly shown")
    return "  ".join([*parts, *([one.problem] if one.problem else [])])


def _progress(of: int) -> Callable[[int], None]:
    """Says on standard error how far it is, now and then."""
    said = time.monotonic()
    screen = sys.stderr.isatty()

    def show(done: int) -> None:
        nonlocal said
        if done == of or time.monotonic() - said >= (PROGRESS_SECONDS if screen else LOG_SECONDS):
            said = time.monotonic()
            end = "\r" if screen and done < of else "\n"
            typer.echo(f"{done} of {of} queries asked again{end}", err=True, nl=False)

    return show


@contextmanager
def scratch(settings: "Settings") -> "Iterator[tuple[EngineOfThen, Path]]":
    """An engine over the registered snapshots, and a private folder that is removed with all that is in it.

    Raises:
        ValueError: this is not the machine of the facility: its snapshots cannot be opened.
    """
    from sdcgate.facility.replay import EngineOfThen

    secret = settings.state_dir / "keys" / "records.key"
    if not secret.is_file():
        raise ValueError(f"there is no {secret}: replaying needs the facility's snapshots and their secret")
    # Confidential cells go into it: it lies where the ledger lies, and is the owner's alone.
    with tempfile.TemporaryDirectory(prefix="policy-diff-", dir=settings.state_dir) as folder:
        engine = EngineOfThen(
            settings.data_root,
            settings.state_dir / "snapshots",
            secret.read_bytes(),
            spill=Path(folder) / "spill",
            url=settings.engine_url,
        )
        try:
            yield engine, Path(folder)
        finally:
            engine.close()
