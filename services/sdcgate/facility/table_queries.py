"""Table queries, and outputs that portals computed, from the request to the decision."""

from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.asked import Asked, asked_output, asked_table
from sdcgate.facility.binding import Unbound, bind
from sdcgate.facility.charges import cells_told
from sdcgate.facility.decisions import decided, excepted, unbound
from sdcgate.facility.errors import Conflict
from sdcgate.facility.judging import Judge
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.outputs import SubmittedOutput, read_output
from sdcgate.facility.pace import Pace
from sdcgate.facility.plan import Plan
from sdcgate.facility.recording import Answered, Found
from sdcgate.facility.redesign import Redesigner
from sdcgate.facility.refusals import refuse_without_data
from sdcgate.facility.road import Judged, Road
from sdcgate.facility.versions import Versions
from sdcgate.ledger.credentials import Caller
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


class TableQueries:
    """Steps 2 to 8 for tables and submitted outputs. What the facility shares is passed in."""

    def __init__(
        self,
        engine: Engine,
        judge: Judge,
        redesigner: Redesigner,
        versions: Versions,
        box_key: bytes,
        road: Road,
    ) -> None:
        self._engine = engine
        self._judge = judge
        self._redesigner = redesigner
        self._versions = versions
        self._box_key = box_key
        self._road = road

    def answer(self, caller: Caller, request: pb.QueryTableRequest, pace: Pace) -> Answered:
        """Answer a query: from the ledger if it was answered before, else by steps 2 to 8."""
        plan = self._versions.standing_plan(request)
        asked = asked_table(plan, request)
        return self._road.repeated(asked, pace) or self._road.spending.pay(
            caller, asked, cells_told(plan), pace, lambda paid: self._decide(caller, paid, plan, pace)
        )

    def answer_output(self, caller: Caller, request: pb.SubmitOutputRequest, pace: Pace) -> Answered:
        """The verdict on an output; what cannot be bound to its dataset is referred."""
        output = read_output(request)
        asked = self._asked_output(request)
        earlier = self._road.repeated(asked, pace)
        if earlier is not None:
            return earlier
        try:
            plan = bind(asked, output)
        except Unbound as error:
            decision, found = unbound(asked, error), Found(binding=error.problems)
            return self._road.spending.pay(
                caller, asked, 0, pace, lambda paid: self._road.recorder.record(caller, paid, decision, found)
            )
        return self._road.spending.pay(
            caller, asked, cells_told(plan), pace, lambda paid: self._decide(caller, paid, plan, pace, output)
        )

    def review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        version: int,
        pace: Pace,
    ) -> pb.Decision:
        """Refuse a referred table or output, or approve it: steps 4 to 8 at the present head.

        Raises:
            Conflict: it still cannot be proved that it is safe, or an output cannot be bound and the checker
                has not said that he means it.
        """
        output = read_output(record.output) if record.HasField("output") else None
        if output is None:
            plan = self._versions.plan(record.request, version)
            asked = asked_table(plan, record.request)
        else:
            asked = self._asked_output(record.output, version)
        if not request.approve:
            return self._road.refuse(caller, request, asked, record)
        if output is not None:
            try:
                plan = bind(asked, output)
            except Unbound as error:
                return self._except(caller, request, record, asked, output, error, pace)
        return self._approve(caller, request, record, asked, plan, pace, output)

    def _asked_output(self, request: pb.SubmitOutputRequest, version: int | None = None) -> Asked:
        dataset = datasets.find(self._engine, request.dataset, version)
        return asked_output(dataset, self._road.policies.of(dataset), request, self._box_key)

    def _decide(
        self,
        caller: Caller,
        asked: Asked,
        plan: Plan,
        pace: Pace,
        output: SubmittedOutput | None = None,
    ) -> Answered:
        """Steps 2 to 8 for a table that was asked for, or an output that is bound to it."""
        refusal = refuse_without_data(plan, submitted=output is not None)
        if refusal is not None:
            return self._road.refused(caller, asked, refusal)
        pace.data_are_read(plan.policy.latency_step_ms)
        computed = self._judge.compute(plan)

        def judged(known: Knowledge) -> Judged:
            outcome = self._judge.judge(plan, computed, known, pace.left)
            proposals = None
            if output is None:
                proposals = self._redesigner.propose(plan, computed, outcome, known, pace.left)
            decision, binding = decided(asked, plan, computed, outcome, output, proposals=proposals)
            found = Found(computed, outcome, known.sequence, binding=binding, proposed=proposals or ())
            return outcome.consequence, decision, found

        return self._road.decide(caller, asked, pace, judged)

    def _except(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        asked: Asked,
        output: SubmittedOutput,
        error: Unbound,
        pace: Pace,
    ) -> pb.Decision:
        """Release an output that cannot be bound, on the checker's own responsibility.

        Raises:
            Conflict: the checker has not said that he means it.
        """
        if not request.exception:
            raise Conflict(
                "The output cannot be bound to its dataset, so nothing can be proved of it; refuse it, or "
                f"approve it with `exception`, which the ledger records. {error}"
            )

        def judged(known: Knowledge) -> Judged:
            found = Found(sequence=known.sequence, exception=True)
            return None, excepted(asked, output, request.query), found

        return self._road.approve(caller, request, asked, record, pace, judged)

    def _approve(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        asked: Asked,
        plan: Plan,
        pace: Pace,
        output: SubmittedOutput | None = None,
    ) -> pb.Decision:
        computed = self._judge.compute(plan)

        def judged(known: Knowledge) -> Judged:
            outcome = self._judge.judge(plan, computed, known, pace.left, approved=True)
            decision, _ = decided(asked, plan, computed, outcome, output, reviewed=request.query)
            return outcome.consequence, decision, Found(computed, outcome, known.sequence)

        return self._road.approve(caller, request, asked, record, pace, judged)
