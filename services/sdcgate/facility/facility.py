"""The facility: the only room of the house from which anything is released."""

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar, cast

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.access import require
from sdcgate.facility.asked import (
    Asked,
    asked_knowledge,
    asked_model,
    asked_output,
    asked_table,
    without_facts,
)
from sdcgate.facility.assessing import Assessor, assessed_to_message
from sdcgate.facility.assessment_requests import asked_of
from sdcgate.facility.binding import Unbound, bind
from sdcgate.facility.charges import cells_told
from sdcgate.facility.decisions import decided, excepted, new_decision, seen_at, unbound
from sdcgate.facility.errors import Conflict, Forbidden, InvalidRequest, NotFound, TimeOver, Unavailable
from sdcgate.facility.fitting_room import FittingRoom
from sdcgate.facility.judging import Judge
from sdcgate.facility.knowledge import Knowledge, KnowledgeOfSources
from sdcgate.facility.model_answers import decided_model, found_model
from sdcgate.facility.model_plan import ModelPlan, make_model_plan
from sdcgate.facility.models import ModelWay, cells_of
from sdcgate.facility.outputs import SubmittedOutput, read_output
from sdcgate.facility.pace import Pace
from sdcgate.facility.plan import Plan
from sdcgate.facility.policies import Policies
from sdcgate.facility.ports import ProtectionService, RiskService
from sdcgate.facility.published import enterable, entered, everything_known, table_of
from sdcgate.facility.query_ids import moment_of
from sdcgate.facility.reasons import reviewed_reason
from sdcgate.facility.recording import Answered, Found, Recorder
from sdcgate.facility.redesign import Redesigner
from sdcgate.facility.refusals import refuse_without_data
from sdcgate.facility.results.comparison import Comparison
from sdcgate.facility.results.deciding import Answers, ResultQueries, seen_files
from sdcgate.facility.spending import Spending
from sdcgate.facility.statistic_queries import StatisticQueries
from sdcgate.facility.two_reviewers import waits_for_another
from sdcgate.facility.versions import Versions
from sdcgate.ledger.approvals import Approvals
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.ledger.events import RegistrationEvent
from sdcgate.ledger.ledger import AlreadyRegistered, HeadMoved, Ledger, StoredSummary
from sdcgate.methods.rules import Consequence
from sdcgate.policy.model import Policy
from sdcgate.wire.json import to_value
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import budget_pb2, release_pb2
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

T = TypeVar("T")

OPTIMISTIC_TRIES = 3
TRIES = 20


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
        self._assessor = Assessor(engine)
        self._policies = Policies(ledger, policies, default_policy)
        self._box_key = box_key
        self._approvals = Approvals(ledger)
        self._recorder = Recorder(ledger, self._policies, box_key)
        self._spending = Spending(ledger, self._recorder)
        self._models = ModelWay(engine, self._judge, risk, FittingRoom())
        self._redesigner = Redesigner(engine, risk, self._recorder.left_whole)
        self._knowledge = KnowledgeOfSources(ledger, np.random.default_rng())
        self._versions = Versions(engine, self._policies, self._knowledge)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        shared = (self._policies, self._recorder, self._spending, self._known, self._at_the_head)
        self._statistics = StatisticQueries(engine, self._judge, risk, *shared)
        answers = Answers(self._answer_output, self._answer_table, self._answer_model)
        self._results = ResultQueries(engine, box_key, answers, *shared)

    def register_dataset(
        self, caller: Caller, request: pb.RegisterDatasetRequest
    ) -> pb.RegisterDatasetResponse:
        """Register a dataset or a new version of one.

        Raises:
            InvalidRequest: with all that is wrong with descriptor and data.
        """
        require(caller, "register")
        if self._policies.problems(request.descriptor):
            self.check_registration(caller, request)
        dataset, created = datasets.register(self._engine, to_value(request.descriptor, {}))
        policy = self._policies.of(dataset)
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

    def check_registration(self, caller: Caller, request: pb.RegisterDatasetRequest) -> None:
        """Look for all that is wrong with a descriptor and its data, without registering anything.

        Raises:
            InvalidRequest: with all of it.
        """
        require(caller, "register")
        found = self._policies.problems(request.descriptor)
        found += datasets.problems(self._engine, to_value(request.descriptor, {}))
        if found:
            raise InvalidRequest(found)

    def list_datasets(self, caller: Caller) -> pb.ListDatasetsResponse:
        """All datasets, each in its newest version."""
        require(caller, "read_datasets")
        known = self._engine.datasets()
        views = [datasets.public_view(dataset, self._policies.of(dataset)) for dataset in known]
        return pb.ListDatasetsResponse(datasets=views)

    def get_dataset(self, caller: Caller, name: str) -> pb.GetDatasetResponse:
        """One dataset.

        Raises:
            NotFound: there is none of this name.
        """
        require(caller, "read_datasets")
        dataset = datasets.find(self._engine, name)
        return pb.GetDatasetResponse(dataset=datasets.public_view(dataset, self._policies.of(dataset)))

    def assess_dataset(self, caller: Caller, request: pb.AssessDatasetRequest) -> pb.AssessDatasetResponse:
        """The risk of a dataset as a file, under its scenarios or others; nothing of it is kept.

        Raises:
            NotFound: there is none of this name.
            InvalidRequest: scenarios that its descriptor could not have, numbers or another release that are
                not registered.
            Unavailable: another one is being assessed.
        """
        require(caller, "assess_datasets")
        dataset = datasets.find(self._engine, request.dataset)
        asked = asked_of(self._engine, dataset, request)
        policy = self._policies.of(dataset)
        found = self._assessor.assess(dataset, asked, policy.maximum_dimensions)
        return assessed_to_message(dataset, policy, found)

    def warm_up(self) -> None:
        """Start the processes in which models are fitted, so that no caller waits for them."""
        self._models.warm_up()

    def close(self) -> None:
        """End the processes in which models are fitted."""
        self._models.close()

    def is_ready(self) -> bool:
        """Whether decisions can be recorded."""
        return self._ledger.refusal() is None

    def enter_knowledge(
        self, caller: Caller, request: pb.EnterKnowledgeRequest, pace: Pace
    ) -> pb.EnterKnowledgeResponse:
        """Record a table that was published elsewhere, so that every later audit reckons with it.

        Raises:
            Forbidden, NotFound, InvalidRequest: the table cannot be computed at all.
            Unavailable: something failed on the way; nothing was recorded.
        """
        require(caller, "enter_knowledge")
        table = table_of(request)
        plan = enterable(self._versions.plan(table))
        asked = asked_knowledge(plan, table, request.published)
        recorded = self._recorder.answered(asked)
        if recorded is None:
            computed = self._judge.compute(plan)
            outcome = everything_known(plan, computed)

            def attempt() -> Answered:
                found = Found(computed, outcome, self._known(plan.dataset).sequence)
                return self._recorder.record(caller, asked, entered(asked, plan, computed, outcome), found)

            recorded = self._at_the_head(plan.dataset.source, attempt, pace)
        decision = recorded.decision
        return pb.EnterKnowledgeResponse(
            query=decision.query,
            cells=len(decision.table.statuses),
            certificate=decision.certificate,
            repeated_answer=recorded.repeated,
        )

    def check_knowledge(self, caller: Caller, request: pb.EnterKnowledgeRequest) -> None:
        """Look for all that is wrong with a table of knowledge, without entering it."""
        require(caller, "enter_knowledge")
        enterable(self._versions.plan(table_of(request)))

    def query_table(self, caller: Caller, request: pb.QueryTableRequest, pace: Pace) -> Answered:
        """Answer a table query: from the ledger if it was answered before, else by steps 2 to 8.

        Raises:
            Forbidden, NotFound, InvalidRequest: the request cannot be answered at all.
            Unavailable: something failed on the way; nothing was decided.
        """
        require(caller, "query")
        return self._answer_table(caller, request, pace)

    def _answer_table(self, caller: Caller, request: pb.QueryTableRequest, pace: Pace) -> Answered:
        plan = self._versions.standing_plan(request)
        asked = asked_table(plan, request)
        return self._repeated(asked, pace) or self._spending.pay(
            caller, asked, cells_told(plan), pace, lambda paid: self._way(caller, paid, plan, pace)
        )

    def check_query(self, caller: Caller, request: pb.QueryTableRequest) -> None:
        """Look for all that is wrong with a table query, without answering it; raises as `query_table`."""
        require(caller, "query")
        self._versions.plan(request)

    def query_model(self, caller: Caller, request: pb.QueryModelRequest, pace: Pace) -> Answered:
        """Answer a model query: from the ledger if it was answered before, else by steps 2 to 8.

        Raises:
            Forbidden, NotFound, InvalidRequest: the request cannot be answered at all.
            Unavailable: something failed on the way; nothing was decided.
        """
        require(caller, "query")
        return self._answer_model(caller, request, pace)

    def _answer_model(
        self,
        caller: Caller,
        request: pb.QueryModelRequest,
        pace: Pace,
        printed: Comparison | None = None,
    ) -> Answered:
        plan = self._model_plan(request)
        asked = asked_model(plan, request)
        if printed is not None:
            asked = replace(asked, canonical=printed.canonical)
        return self._repeated(asked, pace) or self._spending.pay(
            caller,
            asked,
            cells_of(plan),
            pace,
            lambda paid: self._way_of_model(caller, paid, plan, pace, printed),
        )

    def query_statistic(self, caller: Caller, request: pb.QueryStatisticRequest, pace: Pace) -> Answered:
        """Answer a statistic query; raises as `query_model`."""
        require(caller, "query")
        return self._statistics.answer(caller, request, pace, self._repeated)

    def check_statistic(self, caller: Caller, request: pb.QueryStatisticRequest) -> None:
        """Look for all that is wrong with a statistic query, without answering it."""
        require(caller, "query")
        self._statistics.plan(request)

    def check_model(self, caller: Caller, request: pb.QueryModelRequest) -> None:
        """Look for all that is wrong with a model query, without answering it; raises as `query_model`."""
        require(caller, "query")
        self._model_plan(request)

    def check_output(self, caller: Caller, request: pb.SubmitOutputRequest) -> None:
        """Look for all that is wrong with an output, without judging it; raises as `submit_output`."""
        require(caller, "submit")
        read_output(request)

    def submit_output(self, caller: Caller, request: pb.SubmitOutputRequest, pace: Pace) -> Answered:
        """The verdict on an output that a portal computed; what cannot be bound to its dataset is referred.

        Raises:
            Forbidden, NotFound, InvalidRequest: the request cannot be answered at all.
            Unavailable: something failed on the way; nothing was decided.
        """
        require(caller, "submit")
        return self._answer_output(caller, request, pace)

    def submit_results(
        self, caller: Caller, options: pb.ResultsOptions, content: bytes, pace: Pace
    ) -> pb.SubmitResultsResponse:
        """The verdict on each output of a folder or file that a job printed; raises as `submit_output`."""
        require(caller, "submit")
        return self._results.submit(caller, options, content, pace)

    def _answer_output(self, caller: Caller, request: pb.SubmitOutputRequest, pace: Pace) -> Answered:
        output = read_output(request)
        asked = self._asked_output(request)
        earlier = self._repeated(asked, pace)
        if earlier is not None:
            return earlier
        try:
            plan = bind(asked, output)
        except Unbound as error:
            decision, found = unbound(asked, error), Found(binding=error.problems)
            return self._spending.pay(
                caller, asked, 0, pace, lambda paid: self._recorder.record(caller, paid, decision, found)
            )
        return self._spending.pay(
            caller, asked, cells_told(plan), pace, lambda paid: self._way(caller, paid, plan, pace, output)
        )

    def get_query(self, caller: Caller, query: str) -> pb.GetQueryResponse:
        """A query: to its researcher what he saw, to a checker everything.

        Raises:
            NotFound: there is none, or it is somebody else's.
        """
        require(caller, "read_queries")
        stored = self._ledger.query(query)
        if stored is None or not _may_see(caller, stored):
            raise NotFound(f"There is no query {query} of yours.")
        record = release_pb2.DecisionRecord.FromString(stored.confidential)
        response = pb.GetQueryResponse(decision=self._recorder.decision_of(stored))
        checks = caller.role == Role.CHECKER
        if checks:
            response.checker.CopyFrom(record.checker)
            first = self._approvals.of(query)
            response.checker.approved_by = first.reviewer if first is not None else ""
        if record.HasField("request"):
            response.request.CopyFrom(record.request)
        if record.HasField("model_request"):
            response.model_request.CopyFrom(record.model_request)
        if record.HasField("statistic_request"):
            response.statistic_request.CopyFrom(record.statistic_request)
        if record.HasField("output"):
            # A portal's facts are of cells that its researcher may not see.
            response.output.CopyFrom(record.output if checks else without_facts(record.output))
        if record.HasField("files"):
            response.files.CopyFrom(seen_files(record.files, checks))
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
            if not _may_see(caller, stored):
                continue
            summary = response.queries.add(
                query=stored.query_id,
                researcher=stored.researcher,
                dataset=stored.dataset,
                verdict=_verdict(stored.verdict),
            )
            # Not when it was recorded: that tells how long it took.
            summary.decided.FromDatetime(moment_of(stored.query_id))
        if len(found) > size:
            response.next_page_token = found[size - 1].query_id
        return response

    def review_query(self, caller: Caller, request: pb.ReviewQueryRequest, pace: Pace) -> pb.Decision:
        """Approve or refuse a referred query. Approving repeats steps 4 to 8 at the present head.

        Where the policy wants two pairs of eyes, the first approval leaves it referred.

        Raises:
            Conflict: the query is not referred (any more).
            Forbidden: the checker asked it himself.
        """
        require(caller, "review")
        stored = self._ledger.query(request.query)
        if stored is None:
            raise NotFound(f"There is no query {request.query}.")
        if stored.researcher == caller.researcher:
            raise Forbidden("Nobody reviews his own query.")
        if stored.verdict != "REFERRED":
            raise Conflict(f"The query is {stored.verdict}; only referred queries are reviewed.")
        dataset = datasets.find(self._engine, stored.dataset)
        if waits_for_another(self._approvals, caller, request, self._policies.of(dataset)):
            return self._recorder.decision_of(stored)
        record = release_pb2.DecisionRecord.FromString(stored.confidential)
        if record.HasField("model_request"):
            return self._review_model(caller, request, record, stored.version, pace)
        if record.HasField("statistic_request"):
            return self._statistics.review(caller, request, record, stored.version, pace)
        if record.HasField("files"):
            return self._results.review(caller, request, record, stored.version, pace)
        output = read_output(record.output) if record.HasField("output") else None
        if output is None:
            plan = self._versions.plan(record.request, stored.version)
            asked = asked_table(plan, record.request)
        else:
            asked = self._asked_output(record.output, stored.version)
        if not request.approve:
            decision = new_decision(asked, Consequence.REFUSE, stored.query_id)
            decision.reasons.append(reviewed_reason())
            return self._recorder.record_review(caller, request, asked, record, decision)

        if output is not None:
            try:
                plan = bind(asked, output)
            except Unbound as error:
                return self._except(caller, request, record, asked, output, error, pace)
        return self._approve(caller, request, record, asked, plan, pace, output)

    def get_policy(self, caller: Caller, request: pb.GetPolicyRequest) -> pb.GetPolicyResponse:
        """The policy that applies to a dataset, or that applied when a query was decided.

        Raises:
            InvalidRequest: not exactly one of dataset and query is named.
            NotFound: there is none, it is somebody else's, or its policy was not recorded.
        """
        require(caller, "read_policy")
        if bool(request.dataset) == bool(request.query):
            raise InvalidRequest([FieldProblem("", "Name a dataset or a query, and not both.")])
        if request.dataset:
            return self._policies.view(datasets.find(self._engine, request.dataset))
        stored = self._ledger.query(request.query)
        all_of_them = caller.role in (Role.STEWARD, Role.OPERATOR)
        if stored is None or not (all_of_them or _may_see(caller, stored)):
            raise NotFound(f"There is no query {request.query} of yours.")
        return self._policies.view_of_decision(self._recorder.decision_of(stored))

    def get_budget(
        self, caller: Caller, request: budget_pb2.GetBudgetRequest
    ) -> budget_pb2.GetBudgetResponse:
        """What may still be asked.

        Raises:
            Forbidden: of somebody else's budget.
            NotFound: there is no such dataset.
        """
        require(caller, "read_budget")
        return self._spending.told(caller, request, self._engine, self._policies)

    def replace_policies(self, policies: Mapping[str, Policy]) -> None:
        """Let other policies apply from the next query on; queries under way keep theirs.

        Raises:
            PolicyInvalid: a registered dataset would be without a policy; the old ones go on.
        """
        self._policies.replace(policies, self._engine.datasets())

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

        def attempt() -> pb.Decision:
            sequence = self._known(asked.dataset).sequence
            decision = excepted(asked, output, request.query)
            found = Found(sequence=sequence, exception=True)
            return self._recorder.record_review(caller, request, asked, record, decision, found)

        return self._at_the_head(asked.dataset.source, attempt, pace)

    def _known(self, dataset: Dataset) -> Knowledge:
        return self._knowledge.of(dataset.source, dataset.name, dataset.version)

    def _asked_output(self, request: pb.SubmitOutputRequest, version: int | None = None) -> Asked:
        dataset = datasets.find(self._engine, request.dataset, version)
        return asked_output(dataset, self._policies.of(dataset), request, self._box_key)

    def _repeated(self, asked: Asked, pace: Pace) -> Answered | None:
        """The decision about the same request, where there is one."""
        earlier = self._recorder.answered(asked)
        if earlier is not None:
            pace.repeats(earlier.decision.decided.ToDatetime(UTC), asked.policy.latency_step_ms)
        return earlier

    def _way(
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
            decision = new_decision(asked, refusal.consequence)
            decision.reasons.extend(refusal.reasons)
            decision.alternatives.extend(refusal.alternatives)
            return self._recorder.record(caller, asked, decision)
        pace.data_are_read(plan.policy.latency_step_ms)
        computed = self._judge.compute(plan)

        def attempt() -> Answered:
            known = self._known(plan.dataset)
            outcome = self._judge.judge(plan, computed, known, pace.left)
            proposals = None
            if output is None:
                proposals = self._redesigner.propose(plan, computed, outcome, known, pace.left)
            decision, binding = decided(asked, plan, computed, outcome, output, proposals=proposals)
            seen_at(decision, pace.moment())
            found = Found(computed, outcome, known.sequence, binding=binding, proposed=proposals or ())
            return self._recorder.record(caller, asked, decision, found)

        return self._at_the_head(plan.dataset.source, attempt, pace)

    def _model_plan(self, request: pb.QueryModelRequest, version: int | None = None) -> ModelPlan:
        dataset = datasets.find(self._engine, request.dataset, version)
        return make_model_plan(dataset, self._policies.of(dataset), request)

    def _way_of_model(
        self,
        caller: Caller,
        asked: Asked,
        plan: ModelPlan,
        pace: Pace,
        printed: Comparison | None = None,
    ) -> Answered:
        """Steps 2 to 8 for a model."""
        refusal = self._models.refuse_without_data(plan)
        if refusal is not None:
            decision = new_decision(asked, refusal.consequence)
            decision.reasons.extend(refusal.reasons)
            return self._recorder.record(caller, asked, decision)
        pace.data_are_read(plan.policy.latency_step_ms)
        hand = self._models.compute(plan)

        def attempt() -> Answered:
            known = self._known(plan.dataset)
            outcome = self._models.judge(hand, known, pace.left)
            decision = decided_model(asked, plan, outcome)
            found = found_model(plan, outcome, known.sequence)
            if printed is not None:
                digits = plan.policy.models.significant_digits
                decision, binding = printed.compared(asked, decision, digits)
                found = replace(found, binding=binding)
            seen_at(decision, pace.moment())
            return self._recorder.record(caller, asked, decision, found)

        return self._at_the_head(plan.dataset.source, attempt, pace)

    def _review_model(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        version: int,
        pace: Pace,
    ) -> pb.Decision:
        """Refuse a referred model, or approve it: steps 4 to 8 at the present head."""
        plan = self._model_plan(record.model_request, version)
        asked = asked_model(plan, record.model_request)
        if not request.approve:
            decision = new_decision(asked, Consequence.REFUSE, request.query)
            decision.reasons.append(reviewed_reason())
            return self._recorder.record_review(caller, request, asked, record, decision)
        hand = self._models.compute(plan)

        def attempt() -> pb.Decision:
            known = self._known(plan.dataset)
            outcome = self._models.judge(hand, known, pace.left, approved=True)
            if outcome.consequence is Consequence.REFER:
                raise Conflict("It still cannot be proved that this model is safe; refuse it.")
            decision = decided_model(asked, plan, outcome, request.query)
            found = found_model(plan, outcome, known.sequence)
            return self._recorder.record_review(caller, request, asked, record, decision, found)

        return self._at_the_head(plan.dataset.source, attempt, pace)

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

        def attempt() -> pb.Decision:
            known = self._known(plan.dataset)
            outcome = self._judge.judge(plan, computed, known, pace.left, approved=True)
            if outcome.consequence is Consequence.REFER:
                raise Conflict("It still cannot be proved that this table is safe; refuse it.")
            decision, _ = decided(asked, plan, computed, outcome, output, reviewed=request.query)
            found = Found(computed, outcome, known.sequence)
            return self._recorder.record_review(caller, request, asked, record, decision, found)

        return self._at_the_head(plan.dataset.source, attempt, pace)

    def _at_the_head(self, source: str, attempt: Callable[[], T], pace: Pace) -> T:
        """Try at the present head; if others were faster, again, at last under the source's lock."""
        for number in range(TRIES):
            if pace.left() <= 0:
                raise TimeOver()
            try:
                if number < OPTIMISTIC_TRIES:
                    return attempt()
                with self._locks[source]:
                    return attempt()
            except HeadMoved:
                continue
        raise Unavailable("Too many others are asking this dataset at the moment; try again.")


def _verdict(name: str) -> pb.Verdict:
    return cast("pb.Verdict", pb.Verdict.Value(f"VERDICT_{name}"))


def _may_see(caller: Caller, stored: StoredSummary) -> bool:
    """A checker sees all queries, others their own, from the moment at which the answer is seen."""
    if caller.role == Role.CHECKER:
        return True
    if stored.researcher != caller.researcher:
        return False
    seen = moment_of(stored.query_id)
    return seen <= stored.decided_at or seen <= datetime.now(UTC)
