"""`sdcgate ledger audit`: all that left of a source, audited together."""

from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import FAILED, give_up, told

if TYPE_CHECKING:
    from sdcgate.facility.audited_quantities import AuditedQuantity
    from sdcgate.facility.ledger_audit import AuditedNoise, SourceAudit
    from sdcgate.facility.versions_audit import AuditedVersions, ChangedBox
    from sdcgate.methods.tables.joint_history import AuditedBox, Term

MOST_TERMS = 12
SHOWN = ".9g"
"""Digits of counts and sums."""
LATE = (
    "The time was over before all was looked at: what is refuted may have been told before it was withheld. "
    "A longer --time-limit tells."
)


def audit(
    dataset: Annotated[str, typer.Argument(help="A dataset of the source.")],
    atoms: Annotated[
        int, typer.Option(help="Joint codes of variables that are looked at together.", min=1)
    ] = 20_000,
    time_limit: Annotated[float, typer.Option(help="Seconds for it.", min=1)] = 600.0,
    every: Annotated[bool, typer.Option("--all", help="List every withheld cell.")] = False,
    strict: Annotated[
        bool, typer.Option(help="End with an error where anything is not proved, too.")
    ] = False,
) -> None:
    """Say of every cell ever withheld what all releases of its source together tell of it.

    Proved, refuted with the arithmetic, told before it was withheld, wide within the variables looked at, or
    unproved. Where a cell is told its figure is printed: the output is confidential. Ends with an error where
    anything is refuted.
    """
    from sdcgate.cli.ledger_place import opened_where_it_lies
    from sdcgate.cli.policies import own_folder
    from sdcgate.cli.policy_diff import scratch
    from sdcgate.engine.dataset import UnknownDataset
    from sdcgate.facility.ledger_audit import audit_source
    from sdcgate.facility.policies import Policies
    from sdcgate.policy.loading import load_policies
    from sdcgate.servers.settings import Settings

    settings = Settings()
    with told(), opened_where_it_lies(settings) as ledger, scratch(settings) as (engine, _):
        policies = Policies(ledger, load_policies(own_folder()), settings.default_policy)
        try:
            found = audit_source(ledger, engine, policies, dataset, atoms, time_limit)
        except UnknownDataset as error:
            raise ValueError(str(error)) from error
    typer.echo(describe(found, every))
    if found.refuted:
        give_up("something that was withheld is told by what has left", FAILED)
    if strict and not found.proved:
        give_up("not everything that was withheld is proved not to be told by what has left", FAILED)


def describe(found: "SourceAudit", every: bool = False) -> str:
    """An audit as text."""
    lines = [f"{found.tables} tables have left"]
    for quantity in found.quantities:
        lines += ["", *_of_version(quantity, every)]
    for versions in found.versions:
        lines += ["", *_of_versions(versions, found.quantities)]
    for noise in found.noise:
        lines += ["", *_of_noise(noise)]
    if found.out_of_time and found.refuted:
        lines += ["", LATE]
    if found.overrides:
        lines += ["", f"released by exception, on a checker's responsibility: {', '.join(found.overrides)}"]
    return "\n".join(lines)


def _of_version(audited: "AuditedQuantity", every: bool) -> list[str]:
    from sdcgate.methods.tables.joint_history import Standing

    dataset = audited.dataset
    name = f"{'sums' if audited.of_sums else 'counts'} of {audited.quantity}"
    width = f"{audited.width:.0%} of each" if audited.of_sums else f"{audited.width:g}"
    lines = [
        f"{dataset.name} version {dataset.version}: {audited.published} {name} published, "
        f"{len(audited.cells)} withheld, to be told to no less than {width}",
        f"  {audited.of(Standing.REFUTED)} refuted, {audited.of(Standing.PROVED)} proved, "
        f"{audited.of(Standing.WIDE)} wide within the variables looked at, "
        f"{audited.of(Standing.UNPROVED)} unproved{_others(audited)}",
    ]
    for cell in sorted(audited.cells, key=lambda cell: -cell.standing):
        if cell.standing in (Standing.REFUTED, Standing.TOLD_BEFORE):
            lines += _told(audited, cell)
        elif cell.standing is Standing.ELSEWHERE:
            where = audited.elsewhere[cell.box]
            lines.append(f"  KNOWN FROM ELSEWHERE: {audited.words(cell.box)}, since it was entered: {where}")
        elif every:
            lines.append(f"  {cell.standing.name}: {audited.words(cell.box)}{_within(cell)}")
    return lines


def _others(audited: "AuditedQuantity") -> str:
    """How many cells there are of standings that are seldom."""
    from sdcgate.methods.tables.joint_history import Standing

    bare, known = audited.of(Standing.NOT_COMPUTABLE), audited.of(Standing.ELSEWHERE)
    before = audited.of(Standing.TOLD_BEFORE)
    said = f", {bare} not computable and of no bounds, so that nothing more is proved" if bare else ""
    said += f", {before} told before they were withheld" if before else ""
    return said + (f", {known} known from elsewhere" if known else "")


def _of_versions(audited: "AuditedVersions", quantities: "tuple[AuditedQuantity, ...]") -> list[str]:
    from sdcgate.methods.tables.joint_history import Standing

    first, second = audited.earlier, audited.later
    name = f"{second.name} version {second.version} beside {first.name} version {first.version}"
    if not audited.compared:
        name += ": unproved, as not all of it could be compared"
    refuted, unproved = audited.of(Standing.REFUTED), audited.of(Standing.UNPROVED)
    lines = [
        f"{name}: {audited.figures} figures held against each other, "
        f"{refuted} refuted and {unproved} unproved, as too few changed"
    ]
    words = next(one.words for one in quantities if one.dataset is second)
    for cell in audited.cells:
        what = f"{cell.standing.name}: {cell.quantity} of {words(cell.box)}"
        if cell.standing is Standing.UNPROVED:
            lines.append(f"  {what}: {_unproved(cell)}")
        elif cell.was is None or cell.now is None:
            lines.append(f"  {what}: what few changed follows from what has left")
        else:
            told_ = f"{cell.now:{SHOWN}} - {cell.was:{SHOWN}} = {cell.now - cell.was:{SHOWN}}"
            lines.append(f"  {what}: {told_}, of too few who changed")
    return lines


def _unproved(cell: "ChangedBox") -> str:
    """Why it may be that few who changed are told, and no more."""
    if cell.was is None and cell.now is None:
        return "it differs from a figure that left by a group in which too few changed"
    return "too few changed; it is known of one version only, and withheld of the other"


def _of_noise(noise: "AuditedNoise") -> list[str]:
    told_ = f"{noise.unproved} unproved"
    if noise.unproved is None:
        told_ = "not audited: the policy has other noise, or cells were withheld beside"
    return [
        f"{noise.dataset.name} version {noise.dataset.version}: {noise.figures} figures have left with noise",
        f"  {noise.unsafe} must stay uncertain, {told_}",
        f"  a record is in at most {noise.most_answers} of one kind",
        f"  counts were changed by {noise.mean_change:.2f} in the mean, {noise.bias:+.2f} with the sign",
    ]


def _within(cell: "AuditedBox") -> str:
    return f" (within {', '.join(sorted(cell.variables))})" if cell.standing.name == "WIDE" else ""


def _told(audited: "AuditedQuantity", cell: "AuditedBox") -> list[str]:
    refuted = cell.standing.name == "REFUTED"
    what = f"{'REFUTED' if refuted else 'TOLD BEFORE IT WAS WITHHELD'}: {audited.words(cell.box)}"
    if not (cell.below or cell.above):
        return [f"  {what} can be computed from what has left"]
    return [
        f"  {what} lies between {_bound(cell.lowest)} and {_bound(cell.highest)}",
        f"    at least {_sum(audited, cell.below)}",
        f"    at most  {_sum(audited, cell.above)}",
    ]


def _bound(value: float) -> str:
    """A bound, which of sums is found up to a millionth."""
    return f"{value:.6g}" if value % 1 else f"{value:.0f}"


def _sum(audited: "AuditedQuantity", terms: "tuple[Term, ...]") -> str:
    if not terms:
        return "0, as no count is less" if not audited.of_sums else "0, as no value lies below the least"
    filled = sorted((term for term in terms if term.amount), key=lambda term: -term.factor * term.amount)
    said = [_term(audited, term) for term in filled[:MOST_TERMS]]
    rest, empty = len(filled) - len(said), len(terms) - len(filled)
    more = f" and {rest} more" if rest else ""
    more += f", with {empty} empty ones" if empty else ""
    total = sum(term.factor * term.amount for term in terms)
    return f"{total:{SHOWN}} = {' '.join(said).removeprefix('+ ') or '0'}{more}"


def _term(audited: "AuditedQuantity", term: "Term") -> str:
    sign, size = "-" if term.factor < 0 else "+", abs(term.factor)
    times = "" if size == 1 else f"{size:g} x "
    most = "at most, " if term.at_most else ""
    return f"{sign} {times}{term.amount:{SHOWN}} ({most}{audited.words_of_term(term.box)})"
