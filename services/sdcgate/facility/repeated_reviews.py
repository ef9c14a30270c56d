"""A checker's review that comes again, as its answer was lost: it has the outcome that was recorded."""

from sdcgate.facility.recording import record_of
from sdcgate.ledger.credentials import Caller
from sdcgate.ledger.records import StoredQuery
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


def is_repeated(caller: Caller, request: pb.ReviewQueryRequest, stored: StoredQuery) -> bool:
    """Whether a query was decided by this very review: of the same checker, with the same note.

    `exception` is not compared: it asks for what may be released, and the outcome is released or not.
    """
    review = stored.review
    if review is None or request.take_back or review.reviewer != caller.researcher:
        return False
    returned = {reason.suggestion for reason in record_of(stored).decision.reasons}
    return (review.approve, review.note) == (request.approve, request.note) and (
        request.approve or request.returned in returned
    )
