"""Two pairs of eyes: where the policy says so, a query leaves when a second checker approves it, too."""

from sdcgate.facility.errors import Conflict
from sdcgate.ledger.approvals import Approval, Approvals
from sdcgate.ledger.credentials import Caller
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


def waits_for_another(
    approvals: Approvals, caller: Caller, request: pb.ReviewQueryRequest, policy: EffectivePolicy
) -> bool:
    """Whether an approval is the first of two; then it is recorded, once, and the query stays referred.

    Raises:
        Conflict: the checker approved it before in other words, or the first one approved something else.
    """
    if not request.approve or policy.pairs_of_eyes == 1:
        return False
    first = approvals.of(request.query)
    if first is None:
        approvals.append(
            Approval(request.query, caller.researcher, caller.key_id, request.note, request.exception)
        )
        return True
    if (caller.researcher, request.note, request.exception) == (first.reviewer, first.note, first.exception):
        return True
    if caller.researcher == first.reviewer or caller.key_id == first.author:
        raise Conflict(
            "You have approved it; this dataset's policy wants a second checker to approve it, too."
        )
    if request.exception != first.exception:
        said = "with" if first.exception else "without"
        raise Conflict(f"The first checker approved it {said} `exception`; approve it so, or refuse it.")
    return False
