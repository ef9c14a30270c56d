"""What the decision log says of an event: names, verdicts, hashes; no figure, no question, nobody's words.

Fields are allowed by name, kind by kind. Of kinds that are not known here it says only that there was one.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sdcgate.ledger import events
from sdcgate.ledger.records import StoredEvent

Entry = dict[str, Any]
Named = Callable[[str], str | None]
"""How a person is named in the log; None where he is not."""

FIELDS: Mapping[str, Sequence[str]] = {
    events.DECISION: ("query", "dataset", "version", "verdict"),
    events.REVIEW: ("query", "dataset", "version", "verdict", "approve"),
    events.APPROVAL: ("query", "exception"),
    events.APPROVAL_TAKEN_BACK: ("query",),
    events.REGISTRATION: ("dataset", "version", "content_hash"),
    events.POLICY: ("access_level",),
    events.KEY_CREATED: ("key_id", "role"),
    events.KEY_REVOKED: ("key_id",),
    events.COMMENT: ("query",),
    events.OPENING: ("query",),
    events.ADMISSION_REQUESTED: ("admission", "datasets", "valid_from", "valid_until"),
    events.ADMISSION_REVIEWED: ("admission", "approve", "valid_from", "valid_until"),
    events.ADMISSION_WITHDRAWN: ("admission",),
    events.ACKNOWLEDGEMENT: ("common",),
    events.RETENTION: ("periods",),
    events.HOLD_ADDED: ("hold", "subject"),
    events.HOLD_RELEASED: ("hold",),
}
"""What is said of each kind beside what all have."""
PERSONS = ("researcher", "reviewer", "requested_by", "by")
PSEUDONYM_DIGITS = 24


def entry_of(event: StoredEvent, named: Named) -> Entry:
    """An event as the log tells it.

    Its hash is its id: a delivery that comes twice has the same.
    """
    body = event.body
    entry: Entry = {
        "sequence": event.sequence,
        "hash": event.hash.hex(),
        "kind": body["kind"],
        "recorded_at": body["recorded_at"],
    }
    known = FIELDS.get(body["kind"])
    if known is None:
        return entry
    entry |= {name: body[name] for name in known if name in body}
    if "policy" in body:
        entry["policy"] = {name: body["policy"][name] for name in ("name", "hash")}
    if event.answer is not None:
        entry["reasons"] = reason_codes(event.answer)
    for person in PERSONS:
        if person in body and (name := named(body[person])) is not None:
            entry[person] = name
    return entry


def reason_codes(answer: bytes) -> list[str]:
    """Codes of the reasons of an answer, as the ledger keeps it; nothing else of it is looked at."""
    return [str(reason["code"]) for reason in json.loads(answer).get("reasons", ())]


def by_name(person: str) -> str:
    """The person's own name."""
    return person


def unnamed(person: str) -> None:
    """No name."""


def pseudonyms(secret: bytes) -> Named:
    """The same made-up name for the same person; HMAC-SHA256 under a secret of the installation."""

    def named(person: str) -> str:
        digits = hmac.new(secret, person.encode(), hashlib.sha256).hexdigest()
        return f"p-{digits[:PSEUDONYM_DIGITS]}"

    return named


def line_of(entry: Entry) -> bytes:
    """An entry as a line of JSON: sorted names, UTF-8."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
