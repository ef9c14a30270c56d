"""Statistic queries from the request to the decision: asked, reviewed, looked at beforehand."""

from collections.abc import Callable

from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.asked import Asked, asked_statistic
from sdcgate.facility.charges import cells_told
from sdcgate.facility.decisions import new_decision, not_approved, seen_at
from sdcgate.facility.errors import Conflict
from sdcgate.facility.head import Head
from sdcgate.facility.judging import Judge
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.facility.ports import RiskService
from sdcgate.facility.recording import Answered, Recorder
from sdcgate.facility.spending import Spending
from sdcgate.facility.statistic_answers import decided_statistic, found_statistic
from sdcgate.facility.statistic_plan import StatisticPlan, make_statistic_plan
from sdcgate.facility.statistics import StatisticWay
from sdcgate.ledger.credentials import Caller
from sdcgate.methods.rules import Consequence
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


class StatisticQueries:
    """Steps 2 to 8 for statistics. What the facility shares with other queries is passed in."""

    def __init__(
        self,
        engine: Engine,
        judge: Judge,
        risk: RiskService,
        policies: Policies,
        recorder: Recorder,
        spending: Spending,
        head: Head,
    ) -> None:
        self._engine = engine
        self._way = StatisticWay(engine, judge, risk)
        self._policies = policies
        self._recorder = recorder
        self._spending = spending
        self._head = head

    def plan(self, request: pb.QueryStatisticRequest, version: int | None = None) -> StatisticPlan:
        """Resolve a request. Raises NotFound, InvalidRequest."""
        dataset = datasets.find(self._engine, request.dataset, version)
        return make_statistic_plan(dataset, self._policies.of(dataset), request)

    def answer(
        self,
        caller: Caller,
        request: pb.QueryStatisticRequest,
        pace: Pace,
        repeated: Callable[[Asked, Pace], Answered | None],
    ) -> Answered:
        """Answer a query: from the ledger if it was answered before, else by steps 2 to 8."""
        plan = self.plan(request)
        asked = asked_statistic(plan, request)
        return repeated(asked, pace) or self._spending.pay(
            caller, asked, self._cells(plan), pace, lambda paid: self._decide(caller, paid, plan, pace)
        )

    def review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        version: int,
        pace: Pace,
    ) -> pb.Decision:
        """Refuse a referred statistic, or approve it: steps 4 to 8 at the present head.

        Raises:
            Conflict: it still cannot be proved that it is safe.
        """
        plan = self.plan(record.statistic_request, version)
        asked = asked_statistic(plan, record.statistic_request)
        if not request.approve:
            decision = not_approved(asked, request)
            return self._recorder.record_review(caller, request, asked, record, decision)
        hand = self._way.compute(plan)

        def attempt() -> pb.Decision:
            known = self._head.known(plan.dataset)
            outcome = self._way.judge(hand, known, pace.left, approved=True)
            if outcome.consequence is Consequence.REFER:
                raise Conflict("It still cannot be proved that this statistic is safe; refuse it.")
            decision = decided_statistic(asked, hand, outcome, request.query)
            found = found_statistic(hand, outcome, known.sequence)
            return self._recorder.record_review(caller, request, asked, record, decision, found)

        return self._head.attempt(plan.dataset.source, attempt, pace)

    def _cells(self, plan: StatisticPlan) -> int:
        """Cells that it tells of; 0 where it is refused without data."""
        return 0 if self._way.refuse_without_data(plan) is not None else cells_told(plan.table())

    def _decide(self, caller: Caller, asked: Asked, plan: StatisticPlan, pace: Pace) -> Answered:
        """Steps 2 to 8."""
        refusal = self._way.refuse_without_data(plan)
        if refusal is not None:
            decision = new_decision(asked, refusal.consequence)
            decision.reasons.extend(refusal.reasons)
            return self._recorder.record(caller, asked, decision)
        pace.data_are_read(plan.policy.latency_step_ms)
        hand = self._way.compute(plan)

        def attempt() -> Answered:
            known = self._head.known(plan.dataset)
            outcome = self._way.judge(hand, known, pace.left)
            decision = decided_statistic(asked, hand, outcome)
            seen_at(decision, pace.moment())
            return self._recorder.record(
                caller, asked, decision, found_statistic(hand, outcome, known.sequence)
            )

        return self._head.attempt(plan.dataset.source, attempt, pace)
