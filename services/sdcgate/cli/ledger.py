"""`sdcgate ledger`: verify the ledger where it lies, and a certificate wherever the answer is."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sdcgate.cli.connection import FAILED, give_up, told
from sdcgate.cli.ledger_audit import audit
from sdcgate.cli.ledger_backup import acknowledge_loss, backup, restore, told_loss
from sdcgate.cli.ledger_budget import budget
from sdcgate.cli.ledger_bundle import export, verify_bundle
from sdcgate.cli.ledger_keys import public_key, rotate_key
from sdcgate.cli.ledger_place import opened_where_it_lies
from sdcgate.cli.ledger_retention import hold, retention, told_removal

app = typer.Typer(
    help="The ledger: verify it, back it up, audit what left, see what may be asked, check certificates.",
    no_args_is_help=True,
)
app.command()(audit)
app.command()(budget)
app.command()(backup)
app.command()(restore)
app.command("acknowledge-loss")(acknowledge_loss)
app.command()(export)
app.command("verify-bundle")(verify_bundle)
app.command("public-key")(public_key)
app.command("rotate-key")(rotate_key)
app.command()(retention)
app.add_typer(hold, name="hold")


@app.command()
def verify() -> None:
    """Rebuild everything from the signed events and compare; names the place of every difference."""
    from sdcgate.servers.settings import Settings
    from sdcgate.servers.verification_file import keep_verification

    settings = Settings()
    with told(), opened_where_it_lies(settings) as ledger:
        report = ledger.verify()
    try:
        keep_verification(settings.verification_file, report)
    except OSError as error:
        typer.echo(f"metrics will not show this verification: {error}", err=True)
    for fault in report.faults:
        typer.echo(f"event {fault.sequence}, {fault.place}: {fault.message}")
    for loss in report.losses:
        typer.echo(told_loss(loss))
    for removed in report.removed:
        typer.echo(told_removal(removed))
    if report.faults:
        give_up(f"{len(report.faults)} faults in {report.events} events", FAILED)
    typer.echo(f"{report.events} events: chain, signatures, contents and heads are as they were written")


@app.command()
def migrate() -> None:
    """Bring the ledger's database to the schema of this version, before its facilities start."""
    from sdcgate.ledger import database
    from sdcgate.ledger.errors import LedgerError
    from sdcgate.servers.settings import Settings

    with told():
        engine = database.connect(Settings().ledger_address())
        try:
            before = database.migration_of(engine)
            database.upgrade(engine)
        except LedgerError as error:
            give_up(str(error), FAILED)
    after = database.newest_migration()
    done = f"was at migration {after} already" if before == after else f"is at migration {after}"
    typer.echo(f"the ledger's database {done}")


@app.command("verify-certificate")
def verify_certificate(
    answer: Annotated[Path, typer.Argument(help="The answer, as `query show --json` prints it; - reads it.")],
    public_key: Annotated[Path, typer.Option(help="The facility's public keys, PEM.")],
) -> None:
    """Verify offline that the facility gave exactly this answer. Needs neither gateway nor ledger."""
    with told():
        text = sys.stdin.read() if str(answer) == "-" else answer.read_text(encoding="utf-8")
        decision = decision_of(_json(text))
        pem = public_key.read_bytes()
        valid = is_certified(decision, pem)
    certificate = decision["certificate"]
    if not valid:
        give_up("NOT valid: this answer, or its certificate, is not what the facility signed", FAILED)
    typer.echo(
        f"valid: query {decision['query']}, {decision['verdict']}, event {certificate['sequence']} of the "
        f"ledger, signed by key {certificate['key_id']}"
    )


def decision_of(content: Any) -> Mapping[str, Any]:
    """The decision with its certificate in an answer, however it is wrapped.

    Raises:
        ValueError: there is none.
    """
    decision = content.get("decision", content) if isinstance(content, dict) else None
    if not isinstance(decision, dict) or not isinstance(decision.get("certificate"), dict):
        raise ValueError("this is no answer with a certificate: take the JSON as it came")  # noqa: TRY004
    return decision


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the answer is not JSON: {error}") from error


def is_certified(decision: Mapping[str, Any], public_key_pem: bytes) -> bool:
    """Whether the certificate in a decision is the signed record of the rest of it.

    The digest is over the decision without its certificate, as JSON with sorted names, no spaces, in UTF-8.

    Raises:
        ValueError: the certificate lacks something, or its sequence is no whole number.
    """
    from sdcgate.ledger.certificates import Certificate, verify_certificate

    bare = {name: value for name, value in decision.items() if name != "certificate"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    shown = decision["certificate"]
    try:
        certificate = Certificate(
            sequence=_whole(shown["sequence"]),
            head=str(shown["head"]),
            query=str(decision["query"]),
            verdict=str(decision["verdict"]),
            answer_digest=str(shown["answer_digest"]),
            key_id=str(shown["key_id"]),
            signature=str(shown["signature"]),
        )
    except KeyError as error:
        raise ValueError(f"the certificate has no {error.args[0]}") from error
    return verify_certificate(certificate, text.encode(), public_key_pem)


def _whole(value: Any) -> int:
    """The sequence of a certificate. Raises ValueError."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("the certificate's sequence is no whole number") from None
