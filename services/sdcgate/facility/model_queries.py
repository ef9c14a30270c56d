"""Model queries from the request to the decision: asked, reviewed, looked at beforehand."""

from dataclasses import replace

from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.asked import Asked, asked_model
from sdcgate.facility.fair_places import working_for
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.model_answers import decided_model, found_model
from sdcgate.facility.model_plan import ModelPlan, make_model_plan
from sdcgate.facility.model_redesign import OF_FEW, ModelRedesigner, alternatives, mendable, told
from sdcgate.facility.models import OF_SIZE, ModelWay, cells_of
from sdcgate.facility.pace import Pace
from sdcgate.facility.recording import Answered
from sdcgate.facility.refusals import Refusal
from sdcgate.facility.results.comparison import Comparison
from sdcgate.facility.road import Judged, Judging, Road
from sdcgate.facility.turns import Turns
from sdcgate.ledger.credentials import Caller
from sdcgate.methods.rules import ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

CROWDED = "As many models as may be are being answered. Ask again in a moment."
BUSY = "You have as many models that are being answered as one may, {most}. Ask again after one of them."


class ModelQueries:
    """Steps 2 to 8 for models. What the facility shares with other queries is passed in."""

    def __init__(
        self,
        engine: Engine,
        way: ModelWay,
        redesigner: ModelRedesigner,
        road: Road,
        calls: int,
    ) -> None:
        """`calls`: models of all researchers that are answered at once."""
        self._engine = engine
        self._way = way
        self._redesigner = redesigner
        self._road = road
        # All of one researcher's wait for the same fits: half of the places are for others.
        most = max(1, calls // 2)
        self._turns = Turns(most, BUSY.format(most=most), calls, CROWDED)

    def plan(self, request: pb.QueryModelRequest, version: int | None = None) -> ModelPlan:
        """Resolve a request. Raises NotFound, InvalidRequest."""
        dataset = datasets.find(self._engine, request.dataset, version)
        policy = self._road.policies.ruling(self._engine, request.dataset)
        return make_model_plan(dataset, policy, request)

    def answer(
        self,
        caller: Caller,
        request: pb.QueryModelRequest,
        pace: Pace,
        printed: Comparison | None = None,
    ) -> Answered:
        """Answer a query: from the ledger if it was answered before, else by steps 2 to 8.

        `printed` is what a job printed of the model; where it differs, an output checker decides.

        Raises:
            Unavailable: the caller, or all together, have many models that are being answered.
        """
        plan = self.plan(request)
        asked = asked_model(plan, request)
        if printed is not None:
            asked = replace(asked, canonical=printed.canonical)
        if (before := self._road.repeated(asked, pace)) is not None:
            return before
        refusal = self._refused(plan, request)
        with self._turns.taken(caller.researcher), working_for(caller.researcher):
            return self._road.answer(
                caller,
                asked,
                cells_of(plan),
                pace,
                refusal,
                lambda paid: self._judging(paid, request, plan, pace, printed=printed),
            )

    def review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        version: int,
        pace: Pace,
    ) -> pb.Decision:
        """Refuse a referred model, or approve it; raises as `Road.review`."""
        plan = self.plan(record.model_request, version)
        asked = asked_model(plan, record.model_request)
        return self._road.review(
            caller,
            request,
            asked,
            record,
            pace,
            lambda: self._judging(asked, record.model_request, plan, pace, request.query),
        )

    def _refused(self, plan: ModelPlan, request: pb.QueryModelRequest) -> Refusal | None:
        """That the policy refuses a model whatever the data are, with those that it does not."""
        refusal = self._way.refuse_without_data(plan)
        if refusal is None or plan.kind not in plan.policy.models.kinds:
            return refusal
        # What loses least of a model of five factors together has four together: as bad.
        together = any(ReasonCode(int(one.code)) in OF_SIZE for one in refusal.reasons)
        found = alternatives(plan, request, self._allowed, of_few=together)
        return replace(refusal, alternatives=tuple(found))

    def _allowed(self, plan: ModelPlan) -> bool:
        return self._way.refuse_without_data(plan) is None

    def _judging(
        self,
        asked: Asked,
        request: pb.QueryModelRequest,
        plan: ModelPlan,
        pace: Pace,
        approved: str = "",
        printed: Comparison | None = None,
    ) -> Judging:
        """Compute, and judge at whatever head; `approved` is the query that a checker approves."""
        hand = self._way.compute(plan)

        def judged(known: Knowledge) -> Judged:
            outcome = self._way.judge(hand, known, pace.left, bool(approved))
            decision = decided_model(asked, plan, outcome, approved)
            proposals = None
            if printed is None and not approved and not known.other_versions:
                proposals = self._redesigner.propose(hand, request, outcome, known, pace.left)
            if proposals is not None:
                decision.alternatives.extend(map(told, proposals))
            elif not (printed or approved or outcome.left_out) and decision.reasons and mendable(outcome):
                fewer = ReasonCode.NOT_ESTIMABLE in outcome.codes
                few = not OF_FEW.isdisjoint(outcome.codes)
                decision.alternatives.extend(alternatives(plan, request, self._allowed, fewer, few))
            found = found_model(plan, outcome, known.sequence, proposals or ())
            if printed is not None:
                decision, binding = self._compared(asked, plan, printed, decision)
                usual = self._way.usually_fitted(hand, outcome, pace.left) if binding else None
                if usual is not None:
                    ours = decided_model(asked, plan, outcome)
                    _, differs = self._compared(asked, plan, printed, decided_model(asked, plan, usual))
                    decision, binding = (decision, binding) if differs else (ours, ())
                found = replace(found, binding=binding)
            return outcome.consequence, decision, found

        return judged

    def _compared(
        self, asked: Asked, plan: ModelPlan, printed: Comparison, decision: pb.Decision
    ) -> tuple[pb.Decision, tuple[str, ...]]:
        limits = plan.policy.models
        return printed.compared(asked, decision, limits.significant_digits, limits.counts_base)
