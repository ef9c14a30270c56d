"""Table queries, and outputs that portals computed, from the request to the decision."""

from dataclasses import replace

from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.asked import Asked, asked_output, asked_table
from sdcgate.facility.binding import Unbound, bind
from sdcgate.facility.charges import cells_told
from sdcgate.facility.coded_measures import CodedMeasures
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
from sdcgate.facility.results.figure_comparison import FigureComparison
from sdcgate.facility.road import Judged, Judging, Road
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
        coded: CodedMeasures,
    ) -> None:
        self._engine = engine
        self._coded = coded
        self._judge = judge
        self._redesigner = redesigner
        self._versions = versions
        self._box_key = box_key
        self._road = road

    def answer(
        self,
        caller: Caller,
        request: pb.QueryTableRequest,
        pace: Pace,
        printed: FigureComparison | None = None,
    ) -> Answered:
        """Answer a query: from the ledger if it was answered before, else by steps 2 to 8.

        `printed` is what a job printed of the table; where it differs, an output checker decides.
        """
        plan = self._versions.standing_plan(request)
        asked = asked_table(plan, request)
        if printed is not None:
            asked = replace(asked, canonical=printed.canonical)
        return self._road.repeated(asked, pace) or self._answer(caller, asked, plan, pace, printed=printed)

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
        return self._answer(caller, asked, plan, pace, output)

    def review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        version: int,
        pace: Pace,
    ) -> pb.Decision:
        """Refuse a referred table or output, or approve it.

        Raises:
            Conflict: it still cannot be proved that it is safe, or an output cannot be bound and the checker
                has not said that he means it.
        """
        if record.HasField("output"):
            output = read_output(record.output)
            asked = self._asked_output(record.output, version)
            return self._road.review(
                caller, request, asked, record, pace, lambda: self._approving(request, asked, output, pace)
            )
        plan = self._versions.plan(record.request, version)
        asked = asked_table(plan, record.request)
        return self._road.review(
            caller,
            request,
            asked,
            record,
            pace,
            lambda: self._judging(asked, plan, pace, approved=request.query),
        )

    def unproved(self, output: pb.SubmitOutputRequest, version: int) -> str:
        """Why an output may leave by exception only; empty where it is bound to its dataset."""
        try:
            bind(self._asked_output(output, version), read_output(output))
        except Unbound as error:
            return _needs_exception(error)
        return ""

    def _asked_output(self, request: pb.SubmitOutputRequest, version: int | None = None) -> Asked:
        dataset = datasets.find(self._engine, request.dataset, version)
        policy = self._road.policies.ruling(self._engine, request.dataset)
        return asked_output(dataset, policy, request, self._box_key)

    def _answer(
        self,
        caller: Caller,
        asked: Asked,
        plan: Plan,
        pace: Pace,
        output: SubmittedOutput | None = None,
        printed: FigureComparison | None = None,
    ) -> Answered:
        """Answer for a table that was asked for, or an output that is bound to it."""
        submitted = output is not None or printed is not None
        refusal = refuse_without_data(plan, submitted) or self._coded.refusal(
            plan.dataset, plan.policy, plan.measures
        )
        return self._road.answer(
            caller,
            asked,
            cells_told(plan),
            pace,
            refusal,
            lambda paid: self._judging(paid, plan, pace, output, printed=printed),
        )

    def _judging(
        self,
        asked: Asked,
        plan: Plan,
        pace: Pace,
        output: SubmittedOutput | None = None,
        approved: str = "",
        printed: FigureComparison | None = None,
    ) -> Judging:
        """Compute, and judge at whatever head; `approved` is the query that a checker approves."""
        computed = self._judge.compute(plan)

        def judged(known: Knowledge) -> Judged:
            # A portal's output cannot be protected: that it is held would tell which cells changed.
            versions = self._versions.others if output is None else None
            outcome = self._judge.judge(plan, computed, known, pace.left, bool(approved), versions)
            proposals = None
            if output is None and printed is None and not approved and not known.other_versions:
                proposals = self._redesigner.propose(plan, computed, outcome, known, pace.left)
            decision, binding = decided(asked, plan, computed, outcome, output, approved, proposals)
            if printed is not None:
                decision, binding = printed.compared(asked, decision, plan.policy.digits)
            found = Found(
                computed,
                outcome,
                known.sequence,
                binding=binding,
                proposed=proposals or (),
                limit=outcome.limit,
            )
            return outcome.consequence, decision, found

        return judged

    def _approving(
        self, request: pb.ReviewQueryRequest, asked: Asked, output: SubmittedOutput, pace: Pace
    ) -> Judging:
        """Judge an output that a checker approves; one that cannot be bound leaves on his responsibility.

        Raises:
            Conflict: he has not said that he means it.
        """
        try:
            plan = bind(asked, output)
        except Unbound as error:
            if not request.exception:
                raise Conflict(_needs_exception(error)) from None
        else:
            return self._judging(asked, plan, pace, output, request.query)

        def judged(known: Knowledge) -> Judged:
            found = Found(sequence=known.sequence, exception=True)
            return None, excepted(asked, output, request.query), found

        return judged


def _needs_exception(error: Unbound) -> str:
    return (
        "The output cannot be bound to its dataset, so nothing can be proved of it; refuse it, or approve it "
        f"with `exception`, which the ledger records. {error}"
    )
