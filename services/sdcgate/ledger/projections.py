"""What each event adds to the tables that are read from. Appending and verification use the same function."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Table

from sdcgate.ledger import events, schema

Row = tuple[Any, ...]
"""Values in the order of the table's columns."""
_BY_CHECKERS = frozenset(
    {events.REVIEW, events.APPROVAL, events.APPROVAL_TAKEN_BACK, events.COMMENT, events.OPENING}
)


def rows_of(body: Mapping[str, Any], packed_boxes: bytes | None) -> dict[Table, list[Row]]:
    """Rows that an event adds, by table.

    Args:
        body: the event, as its bytes spell it.
        packed_boxes: its attachment `boxes`, where it has one.

    Raises:
        KeyError, ValueError: the event lacks something that its kind must have.
    """
    sequence, moment = body["sequence"], body["recorded_at"]
    match body["kind"]:
        case events.DECISION:
            return {schema.queries: [_query(body)], **_release(body, packed_boxes)}
        case kind if kind in _BY_CHECKERS:
            return _review(body, packed_boxes)
        case events.REGISTRATION:
            names = ("source", "dataset", "version", "content_hash", "author")
            return {schema.registrations: [(sequence, *(body[name] for name in names), moment)]}
        case kind if kind in _WHO_MAY_CALL:
            return _WHO_MAY_CALL[kind](body)
        case events.POLICY:
            policy = body["policy"]
            row = (sequence, policy["hash"], policy["name"], body["access_level"], moment)
            return {schema.policies: [row]}
        case events.ACKNOWLEDGEMENT | events.RETENTION | events.HOLD_ADDED | events.HOLD_RELEASED:
            return _kept_or_removed(body)
        case _:
            raise ValueError("an event of an unknown kind")


def _kept_or_removed(body: Mapping[str, Any]) -> dict[Table, list[Row]]:
    sequence, moment = body["sequence"], body["recorded_at"]
    if body["kind"] == events.HOLD_ADDED:
        return {schema.holds: [(sequence, body["hold"], body["subject"], body["name"], moment)]}
    if body["kind"] == events.HOLD_RELEASED:
        return {schema.hold_releases: [(sequence, body["hold"], moment)]}
    if body["kind"] == events.ACKNOWLEDGEMENT:
        return {}
    return {
        schema.removals: [
            (sequence, position, bytes.fromhex(item["digest"]))
            for position, item in enumerate(body["removed"])
        ]
    }


def _review(body: Mapping[str, Any], packed_boxes: bytes | None) -> dict[Table, list[Row]]:
    sequence, moment = body["sequence"], body["recorded_at"]
    if body["kind"] == events.APPROVAL:
        return {schema.approvals: [(sequence, body["query"], body["reviewer"], moment)]}
    if body["kind"] == events.APPROVAL_TAKEN_BACK:
        return {schema.approvals_taken_back: [(sequence, body["query"], moment)]}
    if body["kind"] == events.COMMENT:
        return {schema.comments: [(sequence, body["query"], body["reviewer"], moment)]}
    if body["kind"] == events.OPENING:
        return {}
    review = (sequence, body["query"], body["verdict"], body["reviewer"], body["author"], moment)
    return {schema.reviews: [review], **_release(body, packed_boxes)}


def _key(body: Mapping[str, Any]) -> dict[Table, list[Row]]:
    sequence, moment = body["sequence"], body["recorded_at"]
    if body["kind"] == events.KEY_REVOKED:
        return {schema.api_key_revocations: [(sequence, body["key_id"], moment)]}
    texts = [body[name] for name in ("key_id", "role", "researcher", "label")]
    digest = bytes.fromhex(body["digest"])
    # Keys of before they could be limited do not say to what they are.
    scope = events.canonical_json(body["scope"]).decode() if "scope" in body else ""
    return {schema.api_keys: [(sequence, *texts, digest, moment, body["expires_at"], scope)]}


def subject_of(project: str, researchers: Sequence[str]) -> str:
    """Whom an admission is of: a project, or else the one researcher it names."""
    return f"project:{project}" if project else f"researcher:{researchers[0]}"


def _admission(body: Mapping[str, Any]) -> dict[Table, list[Row]]:
    sequence, moment, admission = body["sequence"], body["recorded_at"], body["admission"]
    if body["kind"] == events.ADMISSION_REQUESTED:
        subject = subject_of(body["project"], body["researchers"])
        return {schema.admissions: [(sequence, admission, subject, body["requested_by"], moment)]}
    if body["kind"] == events.ADMISSION_REVIEWED:
        approved = "yes" if body["approve"] else "no"
        return {schema.admission_reviews: [(sequence, admission, approved, body["reviewer"], moment)]}
    return {schema.admission_withdrawals: [(sequence, admission, moment)]}


def _query(body: Mapping[str, Any]) -> Row:
    return (
        body["sequence"],
        body["query"],
        body["source"],
        body["dataset"],
        body["version"],
        body["canonical_hash"],
        body["policy"]["name"],
        body["policy"]["hash"],
        body["scope"],
        body["researcher"],
        body["project"],
        body["verdict"],
        body["author"],
        body["recorded_at"],
        # Decisions of before there were budgets do not say what they cost.
        body.get("cells", 0),
    )


def _release(body: Mapping[str, Any], packed_boxes: bytes | None) -> dict[Table, list[Row]]:
    attached = body["attachments"]
    if "release" not in attached:
        return {}
    if packed_boxes is None:
        raise ValueError("a release without its boxes")
    sequence, source = body["sequence"], body["source"]
    digest = bytes.fromhex(attached["release"]["digest"])
    return {
        schema.releases: [(sequence, body["query"], source, body["dataset"], body["version"], digest)],
        schema.boxes: [
            (sequence, position, source, box.digest, box.state)
            for position, box in enumerate(events.unpack_boxes(packed_boxes))
        ],
    }


_WHO_MAY_CALL: Mapping[str, Callable[[Mapping[str, Any]], dict[Table, list[Row]]]] = {
    events.KEY_CREATED: _key,
    events.KEY_REVOKED: _key,
    events.ADMISSION_REQUESTED: _admission,
    events.ADMISSION_REVIEWED: _admission,
    events.ADMISSION_WITHDRAWN: _admission,
}
