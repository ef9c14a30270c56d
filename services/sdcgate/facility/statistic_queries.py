"""Statistic queries from the request to the decision: asked, reviewed, looked at beforehand."""

from dataclasses import replace

from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.asked import Asked, asked_statistic
from sdcgate.facility.charges import cells_told
from sdcgate.facility.fair_places import working_for
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.pace import Pace
from sdcgate.facility.recording import Answered
from sdcgate.facility.results.figure_comparison import FigureComparison
from sdcgate.facility.results.printed import STANDARD_ERROR
from sdcgate.facility.road import Judged, Judging, Road
from sdcgate.facility.statistic_answers import add_standard_errors, decided_statistic, found_statistic
from sdcgate.facility.statistic_plan import StatisticPlan, make_statistic_plan
from sdcgate.facility.statistics import StatisticWay
from sdcgate.facility.turns import Turns
from sdcgate.ledger.credentials import Caller
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

STATISTICS_AT_ONCE = 8
"""Statistics of one researcher that are answered at once: all wait for the same workers."""
BUSY = f"You have {STATISTICS_AT_ONCE} statistics that are being answered. Ask again after one of them."


class StatisticQueries:
    """Steps 2 to 8 for statistics. What the facility shares with other queries is passed in."""

    def __init__(
        self,
        engine: Engine,
        way: StatisticWay,
        road: Road,
    ) -> None:
        self._engine = engine
        self._way = way
        self._road = road
        self._turns = Turns(STATISTICS_AT_ONCE, BUSY)

    def plan(self, request: pb.QueryStatisticRequest, version: int | None = None) -> StatisticPlan:
        """Resolve a request. Raises NotFound, InvalidRequest."""
        dataset = datasets.find(self._engine, request.dataset, version)
        policy = self._road.policies.ruling(self._engine, request.dataset)
        return make_statistic_plan(dataset, policy, request)

    def answer(
        self,
        caller: Caller,
        request: pb.QueryStatisticRequest,
        pace: Pace,
        printed: FigureComparison | None = None,
    ) -> Answered:
        """Answer a query: from the ledger if it was answered before, else by steps 2 to 8.

        `printed` is what a job printed of the statistic; where it differs, an output checker decides.

        Raises:
            Unavailable: the caller has other statistics that are being answered.
        """
        plan = self.plan(request)
        asked = asked_statistic(plan, request)
        if printed is not None:
            asked = replace(asked, canonical=printed.canonical)
        if (before := self._road.repeated(asked, pace)) is not None:
            return before
        refusal = self._way.refuse_without_data(plan)
        cells = 0 if refusal is not None else cells_told(plan.table())
        with self._turns.taken(caller.researcher), working_for(caller.researcher):
            return self._road.answer(
                caller,
                asked,
                cells,
                pace,
                refusal,
                lambda paid: self._judging(paid, plan, pace, printed=printed),
            )

    def review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        version: int,
        pace: Pace,
    ) -> pb.Decision:
        """Refuse a referred statistic, or approve it; raises as `Road.review`."""
        plan = self.plan(record.statistic_request, version)
        asked = asked_statistic(plan, record.statistic_request)
        return self._road.review(
            caller, request, asked, record, pace, lambda: self._judging(asked, plan, pace, request.query)
        )

    def _judging(
        self,
        asked: Asked,
        plan: StatisticPlan,
        pace: Pace,
        approved: str = "",
        printed: FigureComparison | None = None,
    ) -> Judging:
        """Compute, and judge at whatever head; `approved` is the query that a checker approves."""
        hand = self._way.compute(plan, pace.left)

        def judged(known: Knowledge) -> Judged:
            outcome = self._way.judge(hand, known, pace.left, bool(approved))
            decision = decided_statistic(asked, hand, outcome, approved)
            if plan.png:
                self._way.add_png(decision.statistic, pace.left)
            found = found_statistic(hand, outcome, known.sequence)
            if printed is not None:
                digits = plan.policy.statistics.significant_digits
                if printed.figures.name == STANDARD_ERROR and not plan.errors:
                    add_standard_errors(decision, hand, digits)
                decision, binding = printed.compared(asked, decision, digits)
                found = replace(found, binding=binding)
            return outcome.consequence, decision, found

        return judged
