"""What everybody knows of a dataset: tables that were published elsewhere, entered by a steward.

They count as released from then on, so that every audit reckons with them. Nothing of them is judged: they
are out already.
"""

from collections.abc import Mapping, Sequence, Set

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.access import require
from sdcgate.facility.asked import Asked, asked_knowledge
from sdcgate.facility.boxes import as_if_published
from sdcgate.facility.decisions import new_decision
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.figures import released_table
from sdcgate.facility.judging import Computation, Judge
from sdcgate.facility.knowledge import Knowledge, ReleasedTable
from sdcgate.facility.known_sources import KnowledgeOfSources
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.pace import Pace
from sdcgate.facility.plan import Plan
from sdcgate.facility.reasons import reviewed_reason
from sdcgate.facility.recording import Answered, Found
from sdcgate.facility.refusals import too_large
from sdcgate.facility.road import Road
from sdcgate.facility.scope import within
from sdcgate.facility.versions import Versions
from sdcgate.facility.weights import with_weights
from sdcgate.ledger.credentials import Caller
from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.span import SpanBudgetExceeded
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

ENTERED = "Published elsewhere, and entered as knowledge by a steward: "


class PublishedElsewhere:
    """Enters tables. What the facility shares with queries is passed in."""

    def __init__(self, judge: Judge, versions: Versions, knowledge: KnowledgeOfSources, road: Road) -> None:
        self._judge = judge
        self._versions = versions
        self._knowledge = knowledge
        self._road = road

    def enter(
        self, caller: Caller, request: pb.EnterKnowledgeRequest, pace: Pace
    ) -> pb.EnterKnowledgeResponse:
        """Record a table that was published elsewhere, so that every later audit reckons with it.

        Raises:
            Forbidden, NotFound, InvalidRequest: the table cannot be computed at all.
            Unavailable: something failed on the way; nothing was recorded.
        """
        require(caller, "enter_knowledge")
        table = table_of(request)
        within(caller, table.dataset)
        plan = _enterable(self._versions.plan(table))
        asked = asked_knowledge(plan, table, request.published)
        recorded = self._road.recorder.answered(asked)
        told: dict[str, set[Box]] = {}
        if recorded is None:
            computed = self._judge.compute(plan)
            outcome = _everything_known(plan, computed)

            def attempt() -> Answered:
                nonlocal told
                known = self._road.head.known(plan.dataset)
                told = _newly_told(known, outcome.released)
                decision, found = (
                    _entered(asked, plan, computed, outcome),
                    Found(computed, outcome, known.sequence),
                )
                return self._road.recorder.record(caller, asked, decision, found)

            recorded = self._road.head.attempt(plan.dataset.source, attempt, pace)
        decision = recorded.decision
        return pb.EnterKnowledgeResponse(
            query=decision.query,
            cells=len(decision.table.statuses),
            certificate=decision.certificate,
            repeated_answer=recorded.repeated,
            told=sum(map(len, told.values())),
            told_of=self._told_of(plan.dataset, told) if told else (),
        )

    def check(self, caller: Caller, request: pb.EnterKnowledgeRequest) -> None:
        """Look for all that is wrong with a table, without entering it; raises as `enter`."""
        require(caller, "enter_knowledge")
        _enterable(self._versions.plan(table_of(request)))

    def _told_of(self, dataset: Dataset, told: Mapping[str, Set[Box]]) -> list[str]:
        """The queries that withheld any of what a publication tells, in order."""
        return [
            event.query
            for event in self._knowledge.left(dataset.source)
            if event.version == (dataset.name, dataset.version)
            and any(told.get(table.quantity, set()) & set(table.withheld()) for table in event.tables)
        ]


def table_of(request: pb.EnterKnowledgeRequest) -> pb.QueryTableRequest:
    """The table that is entered, as it would be asked for, with all totals."""
    return pb.QueryTableRequest(
        dataset=request.dataset,
        rows=request.rows,
        columns=request.columns,
        layers=request.layers,
        figures=request.figures,
        filter=request.filter,
        margins=True,
    )


def request_of(record: release_pb2.DecisionRecord) -> pb.EnterKnowledgeRequest:
    """The request of which the ledger keeps this record."""
    table = record.request
    return pb.EnterKnowledgeRequest(
        dataset=table.dataset,
        rows=table.rows,
        columns=table.columns,
        layers=table.layers,
        figures=table.figures,
        filter=table.filter,
        published=record.published,
    )


def _enterable(plan: Plan) -> Plan:
    """The plan of a table that may be computed.

    Raises:
        InvalidRequest: it has too many cells.
    """
    problem = too_large(plan)
    if problem:
        raise InvalidRequest([FieldProblem("rows", problem)])
    return plan


def _everything_known(plan: Plan, computed: Computation) -> Outcome:
    """All cells of a table as published."""
    axes, facts = computed.table.axes, with_weights(plan, computed.table.facts)
    states = np.full(len(facts), State.PUBLISHED, dtype=np.int64)
    return Outcome(None, (), states, released=tuple(as_if_published(plan, axes, facts)))


def _newly_told(known: Knowledge, tables: Sequence[ReleasedTable]) -> dict[str, set[Box]]:
    """Withheld boxes, by quantity, that can be computed with more tables and could not without.

    Where that takes too much work, those that the tables show themselves.
    """
    found: dict[str, set[Box]] = {}
    for quantity in dict.fromkeys(table.quantity for table in tables):
        before = known.of(quantity)
        after = known.grown(table for table in tables if table.quantity == quantity).of(quantity)
        withheld = before.boxes.secrets_within(before.shapes.full.keys())
        try:
            inside = after.span.contains(withheld) & ~before.span.contains(withheld)
        except SpanBudgetExceeded:
            inside = after.published.among(withheld)
        told = {box for box, known_now in zip(withheld, inside, strict=True) if known_now}
        if told:
            found[quantity] = told
    return found


def _entered(asked: Asked, plan: Plan, computed: Computation, outcome: Outcome) -> pb.Decision:
    """The decision that the ledger keeps of it."""
    decision = new_decision(asked, None)
    decision.reasons.append(reviewed_reason(f"{ENTERED}{asked.published}"))
    axes, facts = computed.table.axes, computed.table.facts
    decision.table.CopyFrom(released_table(plan.layout, axes, facts, outcome.states))
    return decision
