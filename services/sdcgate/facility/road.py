"""What all kinds of queries do alike: answered before, refused without data, decided, reviewed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC

from sdcgate.facility.asked import Asked
from sdcgate.facility.decisions import new_decision, not_approved, seen_at
from sdcgate.facility.errors import Conflict
from sdcgate.facility.head import Head
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.facility.reasons import is_not_compared, ready_to_ask
from sdcgate.facility.recording import Answered, Found, Recorder, verdict_name
from sdcgate.facility.refusals import Refusal
from sdcgate.facility.spending import Spending
from sdcgate.facility.watching import watcher
from sdcgate.ledger.credentials import Caller
from sdcgate.methods.rules import Consequence
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

UNPROVED = (
    "It still cannot be proved that this is safe; refuse it. Exceptions are for outputs and versions only."
)
NOT_COMPARED = (
    "It could not be compared with what left of another version of the source, and whoever has both may have "
    "what one person changed. Compare it with what the review shows of the other version: refuse it, or "
    "approve it with `exception`, which the ledger records and every audit lists."
)

Judged = tuple[Consequence | None, pb.Decision, Found]
"""What may happen, the decision that says so, and what it was made from."""
Judging = Callable[[Knowledge], Judged]
"""Judges what was computed, at a head of the ledger."""


@dataclass(frozen=True, slots=True, eq=False)
class Road:
    """What the facility shares with each kind of query."""

    policies: Policies
    recorder: Recorder
    spending: Spending
    head: Head

    def repeated(self, asked: Asked, pace: Pace) -> Answered | None:
        """The decision about the same request, where there is one."""
        earlier = self.recorder.answered(asked)
        if earlier is not None:
            pace.repeats(earlier.decision.decided.ToDatetime(UTC), asked.policy.latency_step_ms)
            watcher().repeated(asked.dataset.name, verdict_name(earlier.decision))
        return earlier

    def answer(
        self,
        caller: Caller,
        asked: Asked,
        cells: int,
        pace: Pace,
        refusal: Refusal | None,
        judging: Callable[[Asked], Judging],
    ) -> Answered:
        """Charge a question and decide it: refused without data, or computed, judged and recorded.

        `judging` computes, with the question as it was charged, and says how to judge at a head.
        """

        def decide(paid: Asked) -> Answered:
            if refusal is not None:
                return self._refused(caller, paid, refusal)
            pace.data_are_read(paid.policy.latency_step_ms)
            return self._decide(caller, paid, pace, judging(paid))

        return self.spending.pay(caller, asked, cells, pace, decide)

    def review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        asked: Asked,
        record: release_pb2.DecisionRecord,
        pace: Pace,
        judging: Callable[[], Judging],
    ) -> pb.Decision:
        """Record that a checker refuses or returns a query, or approve it: steps 4 to 8 at the present head.

        `judging` computes what is approved, and says how to judge it at a head. What could not be compared
        with other versions leaves by exception only.

        Raises:
            Conflict: it still cannot be proved that it is safe.
        """
        if not request.approve:
            refused = not_approved(asked, request)
            return self.recorder.record_review(caller, request, asked, record, refused)
        judged = judging()

        def attempt() -> pb.Decision:
            known = self.head.known(asked.dataset)
            consequence, decision, found = judged(known)
            if consequence is Consequence.REFER and is_not_compared(decision):
                if not request.exception:
                    raise Conflict(NOT_COMPARED)
                consequence, decision, found = judged(replace(known, other_versions=False))
                found = replace(found, exception=consequence is None)
            if consequence is Consequence.REFER:
                raise Conflict(UNPROVED)
            return self.recorder.record_review(caller, request, asked, record, decision, found)

        return self.head.attempt(asked.dataset.source, attempt, pace)

    def _refused(self, caller: Caller, asked: Asked, refusal: Refusal) -> Answered:
        """Record a refusal that needed no data."""
        decision = new_decision(asked, refusal.consequence)
        decision.reasons.extend(refusal.reasons)
        decision.alternatives.extend(ready_to_ask(refusal.alternatives, asked.request))
        return self.recorder.record(caller, asked, decision)

    def _decide(self, caller: Caller, asked: Asked, pace: Pace, judged: Judging) -> Answered:
        """Judge and record at the present head."""

        def attempt() -> Answered:
            _, decision, found = judged(self.head.known(asked.dataset))
            seen_at(decision, pace.moment())
            return self.recorder.record(caller, asked, decision, found)

        return self.head.attempt(asked.dataset.source, attempt, pace)
