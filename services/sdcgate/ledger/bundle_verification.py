"""Verification of an auditor's bundle with the public keys alone: no ledger, no network.

Checked are the signature of the manifest and every member against it; that the heads have no gap and are
signed; that exact bytes of events belong to their heads and follow on another; certificates; and attachments
against digests and certificates. Messages name places, never contents.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdcgate.ledger.archives import OF_ARCHIVES
from sdcgate.ledger.bundles import (
    EVENTS,
    FORMAT,
    HEADS,
    MANIFEST,
    OPEN_ATTACHMENTS,
    SIGNATURE,
    STATEMENT,
    attachment_member,
)
from sdcgate.ledger.certificates import Certificate
from sdcgate.ledger.chain import GENESIS, SignedHead, chain_hash
from sdcgate.ledger.events import RETENTION, attachment_digest, read_body
from sdcgate.ledger.removable import may_be_removed
from sdcgate.ledger.signing import PublicKeys

MOST_MANIFEST_BYTES = 1 << 28
OF_CONTENTS = (KeyError, ValueError, TypeError, AttributeError, RecursionError)
UNREADABLE = (*OF_ARCHIVES, *OF_CONTENTS)
"""What reading a file raises that is no bundle, or not as it was made."""


@dataclass(frozen=True, slots=True)
class BundleReport:
    """What a bundle says it holds, and what is wrong with it: nothing where it is as the facility made it."""

    first: int
    last: int
    events: int
    head: str
    """Hash of the newest head, hexadecimal: compare it with one that was kept elsewhere."""
    problems: tuple[str, ...]
    removed: int = 0
    """Attachments that are not in it as they were removed from the ledger under retention."""


class BundleUnreadable(ValueError):
    """The file is no bundle, or not one that these keys signed; nothing of it is looked at."""


def verify_bundle(path: Path, public_keys_pem: bytes) -> BundleReport:
    """Check a bundle against the facility's public keys.

    Raises:
        BundleUnreadable: it is none, or another facility's, or its manifest was altered.
        OSError: the file cannot be read.
    """
    keys = PublicKeys(public_keys_pem)
    # From memory: a file's own errors are not those of what it holds.
    content = io.BytesIO(path.read_bytes())
    try:
        with zipfile.ZipFile(content) as archive:
            manifest = _manifest_of(archive, keys)
            members, problems = _members_of(archive, manifest)
        heads = _heads_of(members[HEADS])
        told = [json.loads(line) for line in members[EVENTS].splitlines()]
        problems += _head_problems(heads, manifest, keys)
        held = {name for name in members if name.startswith("attachments/")}
        for event in told:
            problems += _event_problems(event, heads, keys, members, held, manifest)
        problems += _removal_problems(told, manifest)
    except BundleUnreadable:
        raise
    except UNREADABLE:
        raise BundleUnreadable("the file cannot be read as a bundle") from None
    problems += [f"{name}: an attachment that no event holds" for name in sorted(held)]
    newest = heads[manifest["last"]].hash.hex() if manifest["last"] in heads else ""
    return BundleReport(
        manifest["first"], manifest["last"], len(told), newest, tuple(problems), len(_removed(manifest))
    )


def _manifest_of(archive: zipfile.ZipFile, keys: PublicKeys) -> dict[str, Any]:
    if (
        archive.getinfo(MANIFEST).file_size > MOST_MANIFEST_BYTES
        or archive.getinfo(SIGNATURE).file_size > 1000
    ):
        raise BundleUnreadable("the manifest is too large")
    text = archive.read(MANIFEST)
    manifest: dict[str, Any] = json.loads(text)
    signature = bytes.fromhex(archive.read(SIGNATURE).decode("ascii"))
    if not keys.verify(manifest["key_id"], signature, STATEMENT + text):
        raise BundleUnreadable("NOT valid: the manifest is not what one of these public keys signed")
    if manifest["format"] != FORMAT:
        raise BundleUnreadable("the bundle is of another format: verify it with the sdcgate that made it")
    return manifest


def _members_of(archive: zipfile.ZipFile, manifest: Mapping[str, Any]) -> tuple[dict[str, bytes], list[str]]:
    said = manifest["members"]
    names = [name for name in archive.namelist() if name not in {MANIFEST, SIGNATURE}]
    problems = [f"{name}: not of the bundle" for name in sorted(set(names) - said.keys())]
    problems += [f"{name}: twice in the bundle" for name in sorted(set(names)) if names.count(name) > 1]
    members = {}
    for name, promised in said.items():
        # Looked at before it is unpacked: a member that was put in must not fill the memory.
        if name not in names or archive.getinfo(name).file_size != promised["bytes"]:
            raise BundleUnreadable(f"{name}: missing, or of another size than the manifest says")
        members[name] = archive.read(name)
        if hashlib.sha256(members[name]).hexdigest() != promised["sha256"]:
            problems.append(f"{name}: altered")
    return members, problems


def _heads_of(text: bytes) -> dict[int, SignedHead]:
    values = [json.loads(line) for line in text.splitlines()]
    return {
        value["sequence"]: SignedHead(
            value["sequence"],
            bytes.fromhex(value["hash"]),
            value["key_id"],
            bytes.fromhex(value["signature"]),
        )
        for value in values
    }


def _head_problems(
    heads: Mapping[int, SignedHead], manifest: Mapping[str, Any], keys: PublicKeys
) -> Iterator[str]:
    for sequence in range(max(1, manifest["first"] - 1), manifest["last"] + 1):
        if sequence not in heads:
            yield f"event {sequence}: its head is missing"
        elif not heads[sequence].is_signed_by(keys):
            yield f"event {sequence}: its head is not what was signed"


def _event_problems(
    told: Mapping[str, Any],
    heads: Mapping[int, SignedHead],
    keys: PublicKeys,
    members: Mapping[str, bytes],
    held: set[str],
    manifest: Mapping[str, Any],
) -> Iterator[str]:
    exact = told["body"].encode() if "body" in told else None
    body = told["said"] if exact is None else read_body(exact)
    sequence = body["sequence"]
    head = heads.get(sequence)
    if head is None:
        yield f"event {sequence}: its head is missing"
        return
    if exact is not None:
        before = heads.get(sequence - 1)
        previous = GENESIS if sequence == 1 else before.hash if before else b""
        if chain_hash(previous, exact) != head.hash:
            yield f"event {sequence}: not the bytes that its head signs"
    if "answer_digest" in body and not _certificate(told, body, head).is_signed_by(keys):
        yield f"event {sequence}: its certificate does not hold"
    for name, signed in body["attachments"].items():
        if not manifest["confidential"] and name not in OPEN_ATTACHMENTS:
            continue
        place = attachment_member(sequence, name)
        data = members.get(place)
        held.discard(place)
        if data is None and place in _removed(manifest) and may_be_removed(body["kind"], name):
            continue
        if data is None or attachment_digest(bytes.fromhex(signed["salt"]), data).hex() != signed["digest"]:
            yield f"event {sequence}: its {name} is missing or altered"
        elif name == "answer" and hashlib.sha256(data).hexdigest() != body["answer_digest"]:
            yield f"event {sequence}: its answer is not the certified one"


def _removed(manifest: Mapping[str, Any]) -> Mapping[str, int]:
    # Bundles of before there was retention say nothing of it.
    removed: Mapping[str, int] = manifest.get("removed", {})
    return removed


def _removal_problems(told: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]) -> Iterator[str]:
    """What the manifest says was removed, against the events of the bundle that record removals."""
    bodies = [read_body(event["body"].encode()) for event in told if "body" in event]
    recorded = {
        (attachment_member(item["sequence"], item["attachment"]), body["sequence"])
        for body in bodies
        if body["kind"] == RETENTION
        for item in body["removed"]
    }
    for place, event in _removed(manifest).items():
        # The removal may have been recorded after the time that the bundle is of.
        if event <= manifest["last"] and (place, event) not in recorded:
            yield f"{place}: event {event} does not say that it was removed"


def _certificate(told: Mapping[str, Any], body: Mapping[str, Any], head: SignedHead) -> Certificate:
    return Certificate(
        sequence=head.sequence,
        head=head.hash.hex(),
        query=body["query"],
        verdict=body["verdict"],
        answer_digest=body["answer_digest"],
        key_id=head.key_id,
        signature=told["certificate"] or "",
    )
