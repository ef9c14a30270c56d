"""An auditor's bundle: what the ledger recorded in a time, in one file that is verified without the ledger.

A ZIP archive:

- `manifest.json`: canonical JSON with the time, the dataset, and size and SHA-256 of every other member but
  the signature; `manifest.sig`: its Ed25519 signature, hexadecimal, by the key `key_id`;
- `heads.jsonl`: the signed head of every event of the time without a gap, also of those left out, and of the
  event before the first;
- `events.jsonl`: the events, each by its exact bytes (`body`) or by what of it is not confidential (`said`),
  with its certificate where it has one;
- `attachments/<sequence>/<name>`; `public-keys.pem`.

What was removed under retention is named in the manifest, each with the event that records its removal.

The salt of a confidential attachment is confidential as well: with it, guesses at withheld figures could be
tried against the digest. So events that have such attachments, or a checker's own words, are told by named
fields unless the bundle is confidential. The signed head covers their exact bytes all the same, and their
certificate the query, the verdict and the answer.
"""

import base64
import hashlib
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from sdcgate.ledger import events as kinds
from sdcgate.ledger import reading
from sdcgate.ledger.errors import ContentRemoved
from sdcgate.ledger.events import canonical_json, timestamp_of, timestamp_text
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.schema import queries

FORMAT = 1
MANIFEST, SIGNATURE, HEADS, EVENTS = "manifest.json", "manifest.sig", "heads.jsonl", "events.jsonl"
PUBLIC_KEYS = "public-keys.pem"
STATEMENT = b"sdcgate bundle 1\n"
OPEN_ATTACHMENTS = frozenset({"request", "answer", "descriptor", "policy", kinds.LABEL, kinds.REMARK})
"""Attachments that an auditor may read."""
OPEN_KINDS = frozenset(
    {
        kinds.REGISTRATION,
        kinds.POLICY,
        kinds.KEY_CREATED,
        kinds.KEY_REVOKED,
        kinds.ADMISSION_REQUESTED,
        kinds.ADMISSION_REVIEWED,
        kinds.ADMISSION_WITHDRAWN,
        kinds.ACKNOWLEDGEMENT,
        kinds.RETENTION,
        kinds.HOLD_ADDED,
        kinds.HOLD_RELEASED,
    }
)
"""Events whose exact bytes an auditor may read."""
_OF_ALL = frozenset({kinds.ACKNOWLEDGEMENT, kinds.RETENTION})
"""What is told in a bundle of one dataset, too."""
SAID: Mapping[str, tuple[str, ...]] = {
    kinds.DECISION: (
        *("query", "source", "dataset", "version", "policy", "scope", "researcher", "portal", "project"),
        *("verdict", "answer_digest", "audited", "cells", "author"),
    ),
    kinds.REVIEW: (
        *("query", "source", "dataset", "version", "reviewer", "approve", "verdict", "answer_digest"),
        *("audited", "author"),
    ),
    kinds.APPROVAL: ("query", "reviewer", "author", "exception"),
    kinds.APPROVAL_TAKEN_BACK: ("query", "reviewer", "author"),
    kinds.COMMENT: ("query", "reviewer", "author", "to_researcher"),
    kinds.OPENING: ("query", "reviewer", "author"),
}
"""What is told of the others. Of a kind that is not known here only that there was one."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What goes into a bundle: events recorded at or after `begin` and before `end`, of a dataset or all."""

    begin: datetime
    end: datetime
    dataset: str | None = None
    confidential: bool = False


@dataclass(slots=True)
class _Found:
    heads: list[bytes] = field(default_factory=list)
    events: list[bytes] = field(default_factory=list)
    attachments: dict[str, bytes] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    first: int = 0
    last: int = 0


def export(ledger: Ledger, target: Path, selection: Selection) -> int:
    """Write the bundle of a selection to a new file; returns how many events are in it.

    Raises:
        FileExistsError: there is such a file.
        ValueError: nothing was recorded in that time.
        LedgerDamaged: something is not what was signed.
    """
    with ledger.reading() as connection:
        found = _collect(connection, ledger, selection)
    if not found.first:
        raise ValueError("nothing was recorded in that time")
    members = {
        HEADS: b"".join(found.heads),
        EVENTS: b"".join(found.events),
        PUBLIC_KEYS: ledger.key_ring.public_bundle(),
        **found.attachments,
    }
    manifest = canonical_json(
        {
            "format": FORMAT,
            "made_at": timestamp_text(datetime.now(UTC)),
            "from": timestamp_text(selection.begin),
            "until": timestamp_text(selection.end),
            "dataset": selection.dataset,
            "confidential": selection.confidential,
            "first": found.first,
            "last": found.last,
            "key_id": ledger.key_ring.key_id,
            "removed": found.removed,
            "members": {
                name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                for name, data in members.items()
            },
        }
    )
    members[MANIFEST] = manifest
    members[SIGNATURE] = ledger.key_ring.sign(STATEMENT + manifest).hex().encode()
    _write(target, members)
    return len(found.events)


def said_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """What may be told of an event that has confidential parts."""
    names = ("sequence", "kind", "recorded_at", *SAID.get(body["kind"], ()))
    said = {name: body[name] for name in names if name in body}
    said["attachments"] = {
        name: signed if name in OPEN_ATTACHMENTS else {"digest": signed["digest"]}
        for name, signed in body["attachments"].items()
    }
    return said


def _collect(connection: Connection, ledger: Ledger, selection: Selection) -> _Found:
    found = _Found()
    of_dataset = _queries_of(connection, selection.dataset)
    before: Mapping[str, Any] | None = None
    held: list[bytes] = []
    for row in reading.event_rows(connection):
        body = reading.read_event(row, ledger.key_ring).body
        if selection.begin <= timestamp_of(body["recorded_at"]) < selection.end:
            if not found.first:
                found.first = row["sequence"]
                found.heads = [] if before is None else [_head(before)]
            # Heads without a gap, also where a clock that jumped put another moment between.
            found.heads += [*held, _head(row)]
            held, found.last = [], row["sequence"]
            if _concerns(body, selection.dataset, of_dataset):
                _add(connection, ledger, found, row, body, selection.confidential)
        elif found.first:
            held.append(_head(row))
        before = row
    return found


def _add(
    connection: Connection,
    ledger: Ledger,
    found: _Found,
    row: Mapping[str, Any],
    body: Mapping[str, Any],
    confidential: bool,
) -> None:
    exact = confidential or body["kind"] in OPEN_KINDS
    certificate = row["certificate"]
    told = {"body": row["body"].decode()} if exact else {"said": said_of(body)}
    signed = None if certificate is None else base64.b64encode(certificate).decode()
    found.events.append(canonical_json({**told, "certificate": signed}) + b"\n")
    event = reading.Event(row["sequence"], body, None)
    for name in body["attachments"]:
        if confidential or name in OPEN_ATTACHMENTS:
            member = attachment_member(row["sequence"], name)
            try:
                found.attachments[member] = reading.attached(connection, ledger.key_ring, event, name)[0]
            except ContentRemoved as removed:
                found.removed[member] = removed.event


def attachment_member(sequence: int, name: str) -> str:
    """Where in a bundle an attachment is."""
    return f"attachments/{sequence}/{name}"


def _concerns(body: Mapping[str, Any], dataset: str | None, of_dataset: frozenset[str]) -> bool:
    if dataset is None or body["kind"] in _OF_ALL:
        return True
    return body.get("dataset") == dataset or body.get("query") in of_dataset


def _queries_of(connection: Connection, dataset: str | None) -> frozenset[str]:
    statement = select(queries.c.query_id).where(queries.c.dataset == dataset)
    return frozenset(connection.scalars(statement)) if dataset is not None else frozenset()


def _head(row: Mapping[str, Any]) -> bytes:
    head = {
        "sequence": row["sequence"],
        "hash": row["hash"].hex(),
        "key_id": row["key_id"],
        "signature": row["signature"].hex(),
    }
    return canonical_json(head) + b"\n"


def _write(target: Path, members: Mapping[str, bytes]) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with (
        os.fdopen(descriptor, "wb") as file,
        zipfile.ZipFile(file, "w", compression=zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, data in members.items():
            archive.writestr(name, data)
