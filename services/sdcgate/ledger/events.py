"""The kinds of events, and their exact bytes.

An event is canonical JSON (sorted names, no spaces, UTF-8, no floats). What is large or confidential is an
attachment: the event holds its salted SHA-256 digest, so that no hash that leaves can be tried against
guessed values. Every event holds a random nonce for the same reason.
"""

import hashlib
import json
import secrets
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

FORMAT = 1
RELEASED = frozenset({"RELEASED", "RELEASED_PROTECTED"})
VERDICTS = RELEASED | {"REFERRED", "REFUSED"}

MOST_CELLS = 2**31 - 1

DECISION = "decision"
REVIEW = "review"
APPROVAL = "approval"
APPROVAL_TAKEN_BACK = "approval_taken_back"
COMMENT = "comment"
OPENING = "opening"
REGISTRATION = "registration"
POLICY = "policy"
KEY_CREATED = "key_created"
KEY_REVOKED = "key_revoked"
ADMISSION_REQUESTED = "admission_requested"
ADMISSION_REVIEWED = "admission_reviewed"
ADMISSION_WITHDRAWN = "admission_withdrawn"
ACKNOWLEDGEMENT = "acknowledgement"
RETENTION = "retention"
HOLD_ADDED = "hold_added"
HOLD_RELEASED = "hold_released"

CHECKER, NOTE, TEXT, LABEL, REMARK = "checker", "note", "text", "label", "remark"
"""Attachments that may be removed before those that serve a repeated question."""


@dataclass(frozen=True, slots=True)
class BoxRow:
    """A box of a release: digest of its set of categories, and what became of it (methods.cells.State)."""

    digest: bytes
    state: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DecisionEvent:
    """A query was decided. `answer` is exactly what leaves, without its certificate."""

    query_id: str
    source: str
    dataset: str
    version: int
    canonical: bytes
    canonical_hash: str = ""
    """SHA-256 of `canonical`, hexadecimal; computed where empty."""
    policy_name: str
    policy_hash: str
    scope: str
    researcher: str
    project: str
    verdict: str
    request: bytes = field(repr=False)
    answer: bytes = field(repr=False)
    confidential: bytes = field(repr=False)
    checker: bytes | None = field(default=None, repr=False)
    """What a checker sees, true cells among it: apart, as no later answer rests on it."""
    release: bytes | None = field(default=None, repr=False)
    """What left and what was withheld, for later audits; None where the answer says nothing of the data."""
    boxes: tuple[BoxRow, ...] = field(default=(), repr=False)
    author: str
    portal: str = ""
    """The portal that asked for the researcher, where one did."""
    cells: int | None = None
    """Cells that were asked for and count against budgets; None where the question was free."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReviewEvent:
    """A checker decided a referred query. A review that releases carries what a decision would."""

    query_id: str
    source: str
    reviewer: str
    approve: bool
    note: str = field(repr=False)
    verdict: str
    answer: bytes = field(repr=False)
    confidential: bytes = field(repr=False)
    checker: bytes | None = field(default=None, repr=False)
    release: bytes | None = field(default=None, repr=False)
    boxes: tuple[BoxRow, ...] = field(default=(), repr=False)
    author: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegistrationEvent:
    """A version of a dataset was registered: exact bytes of its descriptor, hash of its snapshot."""

    source: str
    dataset: str
    version: int
    descriptor: bytes = field(repr=False)
    content_hash: str
    author: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicyEvent:
    """An effective policy is about to decide for the first time: exactly the text that its hash is over."""

    policy_name: str
    policy_hash: str
    access_level: str
    text: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Attachment:
    """Bytes that an event holds by salted digest."""

    name: str
    salt: bytes = field(repr=False)
    digest: bytes
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """An event without its place in the chain."""

    kind: str
    fields: Mapping[str, Any] = field(repr=False)
    attachments: tuple[Attachment, ...] = ()

    def body(self, sequence: int, recorded_at: str) -> bytes:
        """The event's exact bytes at its place."""
        return canonical_json(
            {
                **self.fields,
                "format": FORMAT,
                "kind": self.kind,
                "sequence": sequence,
                "recorded_at": recorded_at,
                "nonce": secrets.token_hex(16),
                "attachments": {
                    item.name: {"salt": item.salt.hex(), "digest": item.digest.hex()}
                    for item in self.attachments
                },
            }
        )


def canonical_hash(canonical: bytes) -> str:
    """SHA-256 of a canonical query, hexadecimal: what `find_answer` looks for."""
    return hashlib.sha256(canonical).hexdigest()


def draft_decision(event: DecisionEvent, audited: int | None) -> Draft:
    """Draft of a decision that was audited at sequence `audited` of its source.

    Raises:
        ValueError: naming every field that is wrong.
    """
    problems = _texts(event, ("query_id", "source", "dataset", "policy_hash", "researcher", "author"))
    problems += _release_problems(event.verdict, VERDICTS, event.release, event.boxes, audited)
    hashed = canonical_hash(event.canonical)
    if event.canonical_hash not in {"", hashed}:
        problems.append("canonical_hash: is not the SHA-256 of canonical")
    if event.version < 1:
        problems.append("version: must be 1 or more")
    if event.cells is not None and not 0 <= event.cells <= MOST_CELLS:
        problems.append(f"cells: must be 0 to {MOST_CELLS}")
    _raise(problems)
    names = ("source", "dataset", "version", "scope", "researcher", "portal", "project", "verdict", "author")
    return Draft(
        DECISION,
        {
            **{name: getattr(event, name) for name in names},
            "query": event.query_id,
            "policy": {"name": event.policy_name, "hash": event.policy_hash},
            "canonical_hash": hashed,
            "answer_digest": hashlib.sha256(event.answer).hexdigest(),
            "audited": audited,
            "cells": event.cells,
        },
        attach(
            request=event.request,
            answer=event.answer,
            confidential=event.confidential,
            checker=event.checker,
            release=event.release,
            boxes=pack_boxes(event.boxes) if event.release is not None else None,
        ),
    )


def draft_review(event: ReviewEvent, dataset: str, version: int, audited: int | None) -> Draft:
    """Draft of a review of a query on this version of a dataset.

    Raises:
        ValueError: naming every field that is wrong.
    """
    problems = _texts(event, ("query_id", "source", "reviewer", "author", "note"))
    problems += _release_problems(event.verdict, VERDICTS - {"REFERRED"}, event.release, event.boxes, audited)
    if event.verdict in RELEASED and not event.approve:
        problems.append("verdict: a review that does not approve cannot release")
    _raise(problems)
    names = ("source", "reviewer", "approve", "verdict", "author")
    return Draft(
        REVIEW,
        {
            **{name: getattr(event, name) for name in names},
            # Versions of before look for it here, and may yet run beside this one.
            "note": "",
            "query": event.query_id,
            "dataset": dataset,
            "version": version,
            "answer_digest": hashlib.sha256(event.answer).hexdigest(),
            "audited": audited,
        },
        attach(
            note=event.note.encode(),
            answer=event.answer,
            confidential=event.confidential,
            checker=event.checker,
            release=event.release,
            boxes=pack_boxes(event.boxes) if event.release is not None else None,
        ),
    )


def draft_registration(event: RegistrationEvent) -> Draft:
    """Draft of a registration.

    Raises:
        ValueError: naming every field that is wrong.
    """
    problems = _texts(event, ("source", "dataset", "content_hash", "author"))
    if event.version < 1:
        problems.append("version: must be 1 or more")
    _raise(problems)
    names = ("source", "dataset", "version", "content_hash", "author")
    return Draft(
        REGISTRATION, {name: getattr(event, name) for name in names}, attach(descriptor=event.descriptor)
    )


def draft_policy(event: PolicyEvent) -> Draft:
    """Draft of a policy.

    Raises:
        ValueError: naming every field that is wrong.
    """
    problems = _texts(event, ("policy_name", "policy_hash", "access_level"))
    if event.policy_hash != policy_hash(event.text):
        problems.append("policy_hash: is not the SHA-256 of text")
    _raise(problems)
    return Draft(
        POLICY,
        {
            "policy": {"name": event.policy_name, "hash": event.policy_hash},
            "access_level": event.access_level,
        },
        attach(policy=event.text),
    )


def policy_hash(text: bytes) -> str:
    """How a decision names the policy of this text: `sha256:` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(text).hexdigest()


def attachment_digest(salt: bytes, data: bytes) -> bytes:
    """SHA-256 over salt and data, 32 bytes."""
    return hashlib.sha256(salt + data).digest()


def pack_boxes(boxes: Iterable[BoxRow]) -> bytes:
    """Boxes as bytes: for each its state (1 byte), the length of its digest (1 byte) and the digest."""
    return b"".join(struct.pack("BB", box.state, len(box.digest)) + box.digest for box in boxes)


def unpack_boxes(packed: bytes) -> list[BoxRow]:
    """Boxes of `pack_boxes`.

    Raises:
        ValueError: the bytes end within a box.
    """
    boxes, place = [], 0
    while place < len(packed):
        end = place + 2 + packed[place + 1] if place + 1 < len(packed) else len(packed) + 1
        if end > len(packed):
            raise ValueError("packed boxes end within a box")
        boxes.append(BoxRow(packed[place + 2 : end], packed[place]))
        place = end
    return boxes


def canonical_json(value: Mapping[str, Any]) -> bytes:
    """The one spelling of a JSON object: sorted names, no spaces, UTF-8.

    Raises:
        TypeError: there is a float, or something that JSON does not have.
        ValueError: a text is not valid Unicode.
    """
    _refuse_floats(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def read_body(body: bytes) -> dict[str, Any]:
    """The object that an event's bytes spell.

    Raises:
        ValueError: the bytes are not the canonical spelling of an event of this format.
    """
    try:
        value: dict[str, Any] = json.loads(body)
        spelt = canonical_json(value) if isinstance(value, dict) else b""
    except (TypeError, RecursionError):
        raise ValueError("not an event") from None
    if spelt != body or value.get("format") != FORMAT:
        raise ValueError("not an event in canonical spelling")
    return value


def timestamp_text(moment: datetime) -> str:
    """A moment in UTC with microseconds: 2026-11-21T07:02:19.351000Z. Sorts by time."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def timestamp_of(text: str) -> datetime:
    """The moment that `timestamp_text` spells, with its time zone."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def attach(**contents: bytes | None) -> tuple[Attachment, ...]:
    """Attachments of these names, each under a salt of its own; none for None."""
    attachments = []
    for name, data in contents.items():
        if data is not None:
            salt = secrets.token_bytes(16)
            attachments.append(Attachment(name, salt, attachment_digest(salt, data), data))
    return tuple(attachments)


def _texts(event: Any, required: tuple[str, ...]) -> list[str]:
    problems = [f"{name}: must not be empty" for name in required if not getattr(event, name)]
    for name in event.__dataclass_fields__:
        value = getattr(event, name)
        if isinstance(value, str) and ("\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value)):
            problems.append(f"{name}: must be valid text without NUL")
    return problems


def _release_problems(
    verdict: str,
    verdicts: frozenset[str],
    release: bytes | None,
    boxes: tuple[BoxRow, ...],
    audited: int | None,
) -> list[str]:
    problems = []
    if verdict not in verdicts:
        problems.append(f"verdict: must be one of {', '.join(sorted(verdicts))}")
    if verdict in RELEASED and release is None:
        problems.append("release: a verdict that releases must say what left, or later audits would not know")
    if release is None and boxes:
        problems.append("boxes: need a release that they belong to")
    if release is not None and audited is None:
        problems.append("expected_source_sequence: must say what a release was audited against")
    if any(not 1 <= len(box.digest) <= 255 or not 0 <= box.state <= 255 for box in boxes):
        problems.append("boxes: digests have 1 to 255 bytes, states are 0 to 255")
    return problems


def _raise(problems: list[str]) -> None:
    if problems:
        raise ValueError("; ".join(problems))


def _refuse_floats(value: Any) -> None:
    if isinstance(value, float):
        raise TypeError("a float has no exact spelling; events hold integers and texts")
    if isinstance(value, Mapping):
        for item in value.values():
            _refuse_floats(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _refuse_floats(item)
