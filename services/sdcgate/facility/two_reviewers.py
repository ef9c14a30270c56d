"""Two pairs of eyes: where the policy says so, a query leaves when a second checker approves it, too."""

from sdcgate.facility.errors import Conflict
from sdcgate.ledger.approvals import Approval, Approvals
from sdcgate.ledger.credentials import Caller
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


def waits_for_another(
    approvals: Approvals,
    caller: Caller,
    request: pb.ReviewQueryRequest,
    policy: EffectivePolicy,
    needs_exception: bool = False,
) -> bool:
    """Whether an approval is the first of two; then it is recorded, once, and the query stays referred.

    `needs_exception`: it may leave by exception only, so that one without counts for nothing.

    Raises:
        Conflict: the checker approved it before in other words, or the first one approved something else.
    """
    if not request.approve or policy.pairs_of_eyes == 1:
        return False
    standing = approvals.last_of(request.query)
    idle = standing is not None and needs_exception and not standing.approval.exception
    if standing is None or standing.taken_back or idle:
        approvals.append(
            Approval(request.query, caller.researcher, caller.key_id, request.note, request.exception),
            standing if idle else None,
        )
        return True
    first = standing.approval
    if (caller.researcher, request.note, request.exception) == (first.reviewer, first.note, first.exception):
        return True
    if caller.is_who(first.reviewer, first.author):
        raise Conflict(
            "You have approved it; this dataset's policy wants a second checker to approve it, too. To "
            "approve it otherwise, take your approval back first."
        )
    if request.exception != first.exception:
        said = "with" if first.exception else "without"
        raise Conflict(
            f"The first checker approved it {said} `exception`; approve it so, refuse it, or ask him to take "
            "his approval back."
        )
    return False


def take_back(approvals: Approvals, caller: Caller, request: pb.ReviewQueryRequest) -> None:
    """Take one's own first approval back, once; the query stays referred, for whoever approves it first.

    Raises:
        Conflict: the caller has not approved it.
    """
    last = approvals.last_of(request.query)
    if last is None or not caller.is_who(last.approval.reviewer, last.approval.author):
        raise Conflict("You have not approved it, so there is no approval of yours to take back.")
    if not last.taken_back:
        approvals.take_back(last, caller.key_id, request.note)
