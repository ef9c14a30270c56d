"""Which attachments may ever be removed under retention, and by which setting.

All others stay: what left and its boxes, which every later audit rests on, descriptors and policies.
"""

from collections.abc import Mapping
from enum import StrEnum

from sdcgate.ledger import events as kinds


class Content(StrEnum):
    """What is removed, by the setting that says when."""

    CHECKER_VIEWS = "checker_views_days"
    NOTES = "notes_days"
    ANSWERS = "answers_days"
    ADMISSIONS = "admissions_days"


OF_QUERIES: Mapping[str, Content] = {
    kinds.CHECKER: Content.CHECKER_VIEWS,
    kinds.NOTE: Content.NOTES,
    kinds.TEXT: Content.NOTES,
    "request": Content.ANSWERS,
    "answer": Content.ANSWERS,
    "confidential": Content.ANSWERS,
}
OF_ADMISSIONS: Mapping[str, Content] = {
    kinds.LABEL: Content.ADMISSIONS,
    kinds.REMARK: Content.ADMISSIONS,
}
ABOUT_QUERIES = frozenset(
    {kinds.DECISION, kinds.REVIEW, kinds.APPROVAL, kinds.APPROVAL_TAKEN_BACK, kinds.COMMENT}
)
ABOUT_ADMISSIONS = frozenset({kinds.ADMISSION_REQUESTED, kinds.ADMISSION_REVIEWED, kinds.ADMISSION_WITHDRAWN})


def may_be_removed(kind: str, name: str) -> bool:
    """Whether an attachment of an event of this kind may ever be removed."""
    of_queries = kind in ABOUT_QUERIES and name in OF_QUERIES
    return of_queries or (kind in ABOUT_ADMISSIONS and name in OF_ADMISSIONS)
