"""The facility: the only room of the house from which anything is released."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar, cast

import numpy as np
from ulid import ULID

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility import answers, datasets
from sdcgate.facility.access import require
from sdcgate.facility.errors import Conflict, Forbidden, InvalidRequest, NotFound, Unavailable
from sdcgate.facility.figures import released_table
from sdcgate.facility.judging import Computation, Judge, Outcome
from sdcgate.facility.knowledge import KnowledgeOfSources, ReleasedTable
from sdcgate.facility.plan import Plan, make_plan, unknown
from sdcgate.facility.ports import ProtectionService, RiskService
from sdcgate.facility.reasons import REFERRED, alternatives, reason
from sdcgate.facility.refusals import refuse_without_data
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.ledger.events import BoxRow, DecisionEvent, RegistrationEvent, ReviewEvent
from sdcgate.ledger.ledger import AlreadyAnswered, AlreadyRegistered, HeadMoved, Ledger, StoredQuery
from sdcgate.methods.cells import IntArray, State, leaf_cells
from sdcgate.methods.rules import Consequence, ReasonCode
from sdcgate.methods.tables.boxes import digest
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.policy.model import Policy
from sdcgate.wire.json import to_value
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

T = TypeVar("T")

SCOPE = "all-researchers"
"""Protection is across all researchers of a source."""

OPTIMISTIC_TRIES = 3
TRIES = 20
ACCESS_LEVEL = "remote"


@dataclass(frozen=True, slots=True)
class Answered:
    """A decision, and whether it is an earlier one."""

    decision: pb.Decision = field(repr=False)
    repeated: bool = False


class Facility:
    """The way of a query, steps 2 to 8. Engine, ledger, risk and protection are passed in."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        risk: RiskService,
        protection: ProtectionService,
        policies: Mapping[str, Policy],
        default_policy: str,
        box_key: bytes,
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._judge = Judge(engine, risk, protection)
        self._policies = policies
        self._default_policy = default_policy
        self._box_key = box_key
        self._knowledge = KnowledgeOfSources(ledger, np.random.default_rng())
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def register_dataset(
        self, caller: Caller, request: pb.RegisterDatasetRequest
    ) -> pb.RegisterDatasetResponse:
        """Register a dataset or a new version of one.

        Raises:
            InvalidRequest: with all that is wrong with descriptor and data.
        """
        require(caller, "register")
        descriptor = to_value(request.descriptor, {})
        self._require_policy(request)
        dataset, created = datasets.register(self._engine, descriptor)
        policy = self.effective_policy(dataset)
        event = RegistrationEvent(
            source=dataset.source,
            dataset=dataset.name,
            version=dataset.version,
            descriptor=request.descriptor.SerializeToString(deterministic=True),
            content_hash=dataset.content_hash,
            author=caller.key_id,
        )
        with suppress(AlreadyRegistered):
            self._ledger.append_registration(event)
        return pb.RegisterDatasetResponse(dataset=datasets.public_view(dataset, policy), created=created)

    def list_datasets(self, caller: Caller) -> pb.ListDatasetsResponse:
        """All datasets, each in its newest version."""
        require(caller, "read_datasets")
        known = self._engine.datasets()
        views = [datasets.public_view(dataset, self.effective_policy(dataset)) for dataset in known]
        return pb.ListDatasetsResponse(datasets=views)

    def get_dataset(self, caller: Caller, name: str) -> pb.GetDatasetResponse:
        """One dataset.

        Raises:
            NotFound: there is none of this name.
        """
        require(caller, "read_datasets")
        dataset = datasets.find(self._engine, name)
        return pb.GetDatasetResponse(dataset=datasets.public_view(dataset, self.effective_policy(dataset)))

    def is_ready(self) -> bool:
        """Whether decisions can be recorded."""
        return self._ledger.refusal() is None

    def query_table(self, caller: Caller, request: pb.QueryTableRequest, timeout: float) -> Answered:
        """Answer a table query: from the ledger if it was answered before, else by steps 2 to 8.

        Raises:
            Forbidden, NotFound, InvalidRequest: the request cannot be answered at all.
            Unavailable: something failed on the way; nothing was decided.
        """
        require(caller, "query")
        deadline = time.monotonic() + timeout
        plan = self._plan(request)
        stored = self._answered(plan)
        if stored is not None:
            return Answered(self._decision_of(stored), repeated=True)
        refusal = refuse_without_data(plan)
        if refusal is not None:
            decision = self._new_decision(plan, refusal.consequence)
            decision.reasons.extend(refusal.reasons)
            decision.alternatives.extend(refusal.alternatives)
            return self._commit(caller, request, plan, decision, None, None, None)
        computed = self._judge.compute(plan)
        return self._decide(caller, request, plan, computed, lambda: _remaining(deadline))

    def get_query(self, caller: Caller, query: str) -> pb.GetQueryResponse:
        """A query: to its researcher what he saw, to a checker everything.

        Raises:
            NotFound: there is none, or it is somebody else's.
        """
        require(caller, "read_queries")
        stored = self._ledger.query(query)
        if stored is None or (caller.role != Role.CHECKER and stored.researcher != caller.researcher):
            raise NotFound(f"There is no query {query} of yours.")
        record = release_pb2.DecisionRecord.FromString(stored.confidential)
        response = pb.GetQueryResponse(request=record.request, decision=self._decision_of(stored))
        if caller.role == Role.CHECKER:
            response.checker.CopyFrom(record.checker)
        return response

    def list_queries(self, caller: Caller, request: pb.ListQueriesRequest) -> pb.ListQueriesResponse:
        """Queries, the newest first: a researcher's own, or a checker's view of all."""
        require(caller, "read_queries")
        size = request.page_size or 100
        verdicts = {pb.Verdict.Name(verdict).removeprefix("VERDICT_") for verdict in request.verdicts}
        researcher = caller.researcher if caller.role != Role.CHECKER else None
        found = self._ledger.queries(researcher, verdicts, size + 1, request.page_token or None)
        response = pb.ListQueriesResponse()
        for stored in found[:size]:
            summary = response.queries.add(
                query=stored.query_id,
                researcher=stored.researcher,
                dataset=stored.dataset,
                verdict=_verdict(stored.verdict),
            )
            summary.decided.FromDatetime(stored.decided_at)
        if len(found) > size:
            response.next_page_token = found[size - 1].query_id
        return response

    def review_query(self, caller: Caller, request: pb.ReviewQueryRequest, timeout: float) -> pb.Decision:
        """Approve or refuse a referred query. Approving repeats steps 4 to 8 at the present head.

        Raises:
            Conflict: the query is not referred (any more).
            Forbidden: the checker asked it himself.
        """
        require(caller, "review")
        deadline = time.monotonic() + timeout
        stored = self._ledger.query(request.query)
        if stored is None:
            raise NotFound(f"There is no query {request.query}.")
        if stored.researcher == caller.researcher:
            raise Forbidden("Nobody reviews his own query.")
        if stored.verdict != "REFERRED":
            raise Conflict(f"The query is {stored.verdict}; only referred queries are reviewed.")
        record = release_pb2.DecisionRecord.FromString(stored.confidential)
        plan = self._plan(record.request, stored.version)
        if not request.approve:
            decision = self._new_decision(plan, Consequence.REFUSE, stored.query_id)
            decision.reasons.append(reason(ReasonCode.REVIEW, plan))
            return self._commit_review(caller, request, record, plan, decision, None, None, None)
        computed = self._judge.compute(plan)
        return self._approve(caller, request, record, plan, computed, lambda: _remaining(deadline))

    def _plan(self, request: pb.QueryTableRequest, version: int | None = None) -> Plan:
        dataset = datasets.find(self._engine, request.dataset, version)
        return make_plan(dataset, self.effective_policy(dataset), request)

    def effective_policy(self, dataset: Dataset) -> EffectivePolicy:
        """The policy that applies to a dataset.

        Raises:
            Unavailable: the descriptor names a policy that is not loaded; nothing is answered under another.
        """
        name = dataset.descriptor.policy or self._default_policy
        level = dataset.descriptor.access_level or ACCESS_LEVEL
        try:
            return self._policies[name].effective(level, dataset.name)
        except LookupError:
            raise Unavailable(f"The policy {name} has no access level {level}, or is not loaded.") from None

    def _require_policy(self, request: pb.RegisterDatasetRequest) -> None:
        """Refuse a descriptor under whose policy nothing could ever be asked."""
        wanted = request.descriptor
        policy = self._policies.get(wanted.policy or self._default_policy)
        if policy is None:
            message = unknown("policy", wanted.policy, list(self._policies))
            raise InvalidRequest([FieldProblem("descriptor.policy", message)])
        try:
            policy.effective(wanted.access_level or ACCESS_LEVEL, wanted.name)
        except LookupError:
            message = unknown("access level", wanted.access_level, list(policy.access_levels))
            raise InvalidRequest([FieldProblem("descriptor.access_level", message)]) from None

    def _answered(self, plan: Plan) -> StoredQuery | None:
        dataset = plan.dataset
        return self._ledger.find_answer(
            dataset.source, dataset.version, plan.canonical_hash(), plan.policy.hash, SCOPE
        )

    def _decide(
        self,
        caller: Caller,
        request: pb.QueryTableRequest,
        plan: Plan,
        computed: Computation,
        remaining: Callable[[], float],
    ) -> Answered:
        def attempt() -> Answered:
            known = self._knowledge.of(plan.dataset.source)
            outcome = self._judge.judge(plan, computed, known, remaining)
            decision = self._decision(plan, computed, outcome)
            return self._commit(caller, request, plan, decision, computed, outcome, known.sequence)

        return self._at_the_head(plan.dataset.source, attempt, remaining)

    def _approve(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        plan: Plan,
        computed: Computation,
        remaining: Callable[[], float],
    ) -> pb.Decision:
        def attempt() -> pb.Decision:
            known = self._knowledge.of(plan.dataset.source)
            same = self._knowledge.of_version(known, plan.dataset.name, plan.dataset.version)
            outcome = self._judge.judge(plan, computed, same, remaining, approved=True)
            if outcome.consequence is Consequence.REFER:
                raise Conflict("It still cannot be proved that this table is safe; refuse it.")
            decision = self._decision(plan, computed, outcome, request.query)
            decision.reasons.append(reason(ReasonCode.REVIEW, plan))
            return self._commit_review(
                caller, request, record, plan, decision, computed, outcome, known.sequence
            )

        return self._at_the_head(plan.dataset.source, attempt, remaining)

    def _at_the_head(self, source: str, attempt: Callable[[], T], remaining: Callable[[], float]) -> T:
        """Try at the present head; if others were faster, again, at last under the source's lock."""
        for number in range(TRIES):
            _still_time(remaining)
            try:
                if number < OPTIMISTIC_TRIES:
                    return attempt()
                with self._locks[source]:
                    return attempt()
            except HeadMoved:
                continue
        raise Unavailable("Too many others are asking this dataset at the moment; try again.")

    def _decision(
        self, plan: Plan, computed: Computation, outcome: Outcome, query: str | None = None
    ) -> pb.Decision:
        decision = self._new_decision(plan, outcome.consequence, query, withheld=bool(outcome.codes))
        for code in outcome.codes:
            referred = outcome.consequence is Consequence.REFER and code is not ReasonCode.VERSION_DIFFERENCE
            decision.reasons.append(reason(code, plan, REFERRED if referred else ""))
        if outcome.consequence is None:
            shown = outcome.states
            if not plan.margins:
                shown = _without_margins(computed, shown)
            decision.table.CopyFrom(released_table(plan, computed.table.axes, computed.table.facts, shown))
        if outcome.codes:
            decision.alternatives.extend(alternatives(plan))
        return decision

    def _new_decision(
        self, plan: Plan, consequence: Consequence | None, query: str | None = None, withheld: bool = False
    ) -> pb.Decision:
        match consequence:
            case None:
                verdict = pb.VERDICT_RELEASED_PROTECTED if withheld else pb.VERDICT_RELEASED
            case Consequence.REFER:
                verdict = pb.VERDICT_REFERRED
            case _:
                verdict = pb.VERDICT_REFUSED
        return answers.new_decision(query or f"q-{ULID()}", plan, verdict, datetime.now(UTC))

    def _commit(
        self,
        caller: Caller,
        request: pb.QueryTableRequest,
        plan: Plan,
        decision: pb.Decision,
        computed: Computation | None,
        outcome: Outcome | None,
        sequence: int | None,
    ) -> Answered:
        """Step 8: append the decision if the head is the one that was audited; only then is it an answer."""
        view = answers.checker_view(caller.researcher, computed, outcome, "")
        record = release_pb2.DecisionRecord(request=request, decision=decision, checker=view)
        released = outcome.released if outcome is not None else ()
        event = DecisionEvent(
            query_id=decision.query,
            source=plan.dataset.source,
            dataset=plan.dataset.name,
            version=plan.dataset.version,
            canonical=plan.canonical(),
            canonical_hash=plan.canonical_hash(),
            policy_name=plan.policy.name,
            policy_hash=plan.policy.hash,
            scope=SCOPE,
            researcher=caller.researcher,
            project=plan.project,
            verdict=_verdict_name(decision.verdict),
            request=request.SerializeToString(deterministic=True),
            answer=answers.answer_bytes(decision),
            confidential=record.SerializeToString(deterministic=True),
            release=answers.release_bytes(plan, released) if released else None,
            boxes=self._box_rows(released),
            author=caller.key_id,
        )
        try:
            recorded = self._ledger.append_decision(event, sequence)
        except AlreadyAnswered as winner:
            stored = self._ledger.query(winner.query_id)
            if stored is None:
                raise Unavailable("The answer given a moment ago cannot be read; try again.") from winner
            return Answered(self._decision_of(stored), repeated=True)
        return Answered(answers.with_certificate(decision, recorded.certificate))

    def _commit_review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        plan: Plan,
        decision: pb.Decision,
        computed: Computation | None,
        outcome: Outcome | None,
        sequence: int | None,
    ) -> pb.Decision:
        view = answers.checker_view(record.checker.researcher, computed, outcome, request.note)
        if outcome is None:
            view = record.checker
            view.note = request.note
        reviewed = release_pb2.DecisionRecord(request=record.request, decision=decision, checker=view)
        released = outcome.released if outcome is not None else ()
        event = ReviewEvent(
            query_id=decision.query,
            source=plan.dataset.source,
            reviewer=caller.researcher,
            approve=request.approve,
            note=request.note,
            verdict=_verdict_name(decision.verdict),
            answer=answers.answer_bytes(decision),
            confidential=reviewed.SerializeToString(deterministic=True),
            release=answers.release_bytes(plan, released) if released else None,
            boxes=self._box_rows(released),
            author=caller.key_id,
        )
        recorded = self._ledger.append_review(event, sequence)
        return answers.with_certificate(decision, recorded.certificate)

    def _box_rows(self, released: tuple[ReleasedTable, ...]) -> tuple[BoxRow, ...]:
        """Index rows of the table's cells, which are those of its counts."""
        return tuple(
            BoxRow(digest(box, self._box_key), state)
            for part in released[:1]
            for box, state in zip(part.boxes, part.table.states.tolist(), strict=True)
            if state != State.ABSENT
        )

    def _decision_of(self, stored: StoredQuery) -> pb.Decision:
        record = release_pb2.DecisionRecord.FromString(stored.confidential)
        return answers.with_certificate(record.decision, stored.certificate)


def _verdict_name(verdict: pb.Verdict) -> str:
    return pb.Verdict.Name(verdict).removeprefix("VERDICT_")


def _verdict(name: str) -> pb.Verdict:
    return cast("pb.Verdict", pb.Verdict.Value(f"VERDICT_{name}"))


def _remaining(deadline: float) -> float:
    return deadline - time.monotonic()


def _still_time(remaining: Callable[[], float]) -> None:
    if remaining() <= 0:
        raise Unavailable("The time for this query is over; nothing was decided. Try again with more.")


def _without_margins(computed: Computation, states: IntArray) -> IntArray:
    """Totals that were not asked for are not shown; they follow from the rest and count as released."""
    shown = states.copy()
    shown[~leaf_cells(computed.table.axes)] = State.ABSENT
    return shown
