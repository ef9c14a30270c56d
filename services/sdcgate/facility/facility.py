"""The facility: the only room of the house from which anything is released."""

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets, model_fitting, statistic_computing
from sdcgate.facility.access import require
from sdcgate.facility.admissions import Admissions
from sdcgate.facility.assessing import Assessor, assessed_to_message
from sdcgate.facility.assessment_requests import asked_of
from sdcgate.facility.coded_measures import CodedMeasures
from sdcgate.facility.commenting import Commenting
from sdcgate.facility.errors import InvalidRequest, NotFound, Unavailable
from sdcgate.facility.fitting_room import FittingLimits, FittingRoom
from sdcgate.facility.head import Head
from sdcgate.facility.judging import Judge
from sdcgate.facility.known_sources import KnowledgeOfSources
from sdcgate.facility.model_queries import ModelQueries
from sdcgate.facility.model_redesign import ModelRedesigner
from sdcgate.facility.models import ModelWay
from sdcgate.facility.occurring import Occurring
from sdcgate.facility.other_version_view import OtherVersionView
from sdcgate.facility.outputs import read_output
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.facility.ports import ProtectionService, RiskService
from sdcgate.facility.published import PublishedElsewhere
from sdcgate.facility.query_pictures import drawn
from sdcgate.facility.recording import Answered, Recorder
from sdcgate.facility.redesign import NothingWithheld, Redesigner
from sdcgate.facility.results.deciding import Answers, ResultQueries
from sdcgate.facility.reviewing import Reviewable, Reviewing
from sdcgate.facility.road import Road
from sdcgate.facility.scope import in_scope, within
from sdcgate.facility.seen_queries import SeenQueries, may_see
from sdcgate.facility.spending import Spending
from sdcgate.facility.statistic_png import NO_PNG, OPEN_SANS, Font, can_render
from sdcgate.facility.statistic_queries import StatisticQueries
from sdcgate.facility.statistics import StatisticWay
from sdcgate.facility.table_queries import TableQueries
from sdcgate.facility.versions import Versions
from sdcgate.ledger.admissions import Admissions as AdmissionRecords
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.ledger.events import RegistrationEvent
from sdcgate.ledger.ledger import AlreadyRegistered, Ledger
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.policy.model import Policy
from sdcgate.wire.json import to_value
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import budget_pb2
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


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
        font: Font = OPEN_SANS,
        require_admission: bool = False,
        fitting: FittingLimits | None = None,
    ) -> None:
        self.admissions = Admissions(AdmissionRecords(ledger), engine, require_admission)
        """Who may be let in."""
        self._engine = engine
        self._ledger = ledger
        occurring = Occurring(engine)
        self._judge = Judge(engine, risk, protection, occurring)
        whole = Judge(engine, risk, NothingWithheld(), occurring)
        self._assessor = Assessor(engine)
        self._policies = Policies(ledger, policies, default_policy)
        self._comments = Commenting(ledger)
        knowledge = KnowledgeOfSources(ledger, np.random.default_rng())
        self._recorder = Recorder(ledger, self._policies, box_key, knowledge.versions)
        self._spending = Spending(ledger, self._recorder)
        self.fitting_room = FittingRoom(fitting, model_fitting.warm_up)
        """Where models are fitted."""
        # One for all: what it has looked for in a snapshot none of them looks for again.
        coded = CodedMeasures(engine)
        self._fits = ModelWay(engine, self._judge, whole, risk, self.fitting_room, coded)
        self._versions = Versions(engine, self._policies, knowledge)
        other_versions = OtherVersionView(engine, self._judge, self._policies, knowledge)
        self._road = Road(self._policies, self._recorder, self._spending, Head(knowledge))
        self._published = PublishedElsewhere(self._judge, self._versions, knowledge, self._road)
        redesigner = Redesigner(whole, self._recorder.left_whole)
        self._tables = TableQueries(
            engine, self._judge, redesigner, self._versions, box_key, self._road, coded
        )
        coarser = ModelRedesigner(engine, whole, risk, self.fitting_room, self._recorder.left_whole, coded)
        self._models = ModelQueries(engine, self._fits, coarser, self._road, self.fitting_room.limits.calls)
        # With workers of their own, so that no statistic waits for a model.
        self._computes = StatisticWay(
            engine, self._judge, risk, FittingRoom(fitting, statistic_computing.warm_up), font, coded
        )
        self._statistics = StatisticQueries(engine, self._computes, self._road)
        answers = Answers(
            self._tables.answer_output, self._tables.answer, self._models.answer, self._statistics.answer
        )
        self._results = ResultQueries(engine, box_key, answers, self._road)
        others: dict[str, Reviewable] = {
            "model_request": self._models,
            "statistic_request": self._statistics,
            "files": self._results,
        }
        self._reviewing = Reviewing(engine, ledger, self._policies, self._recorder, self._tables, others)
        self._seen = SeenQueries(ledger, self.admissions, self._recorder, self._comments, other_versions)

    def register_dataset(
        self, caller: Caller, request: pb.RegisterDatasetRequest
    ) -> pb.RegisterDatasetResponse:
        """Register a dataset or a new version of one.

        Raises:
            InvalidRequest: with all that is wrong with descriptor and data.
        """
        require(caller, "register")
        within(caller, request.descriptor.name)
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
        seen = [one for one in known if in_scope(caller, one.name)]
        views = [datasets.public_view(dataset, self._policies.of(dataset)) for dataset in seen]
        return pb.ListDatasetsResponse(datasets=views)

    def get_dataset(self, caller: Caller, name: str) -> pb.GetDatasetResponse:
        """One dataset.

        Raises:
            NotFound: there is none of this name.
        """
        require(caller, "read_datasets")
        within(caller, name)
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
        within(caller, request.dataset)
        if request.HasField("other") and request.other.dataset:
            within(caller, request.other.dataset)
        dataset = datasets.find(self._engine, request.dataset)
        asked = asked_of(self._engine, dataset, request)
        policy = self._policies.of(dataset)
        found = self._assessor.assess(dataset, asked, policy.maximum_dimensions)
        return assessed_to_message(dataset, policy, found)

    def warm_up(self) -> None:
        """Start the processes of models and statistics, so that no caller waits for them."""
        self._fits.warm_up()
        self._computes.warm_up()

    def close(self) -> None:
        """End the processes of models and statistics."""
        self._fits.close()
        self._computes.close()

    def is_ready(self) -> bool:
        """Whether decisions can be recorded."""
        return self._ledger.refusal() is None

    def enter_knowledge(
        self, caller: Caller, request: pb.EnterKnowledgeRequest, pace: Pace
    ) -> pb.EnterKnowledgeResponse:
        """Record a table that was published elsewhere; raises as `PublishedElsewhere.enter`."""
        return self._published.enter(caller, request, pace)

    def check_knowledge(self, caller: Caller, request: pb.EnterKnowledgeRequest) -> None:
        """Look for all that is wrong with a table of knowledge, without entering it."""
        self._published.check(caller, request)

    def query_table(self, caller: Caller, request: pb.QueryTableRequest, pace: Pace) -> Answered:
        """Answer a table query: from the ledger if it was answered before, else by steps 2 to 8.

        Raises:
            Forbidden, NotFound, InvalidRequest: the request cannot be answered at all.
            Unavailable: something failed on the way; nothing was decided.
        """
        require(caller, "query")
        self.admissions.let_in(caller, request.dataset, request.project)
        return self._tables.answer(caller, request, pace)

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
        self.admissions.let_in(caller, request.dataset, request.project)
        return self._models.answer(caller, request, pace)

    def query_statistic(self, caller: Caller, request: pb.QueryStatisticRequest, pace: Pace) -> Answered:
        """Answer a statistic query; raises as `query_model`."""
        require(caller, "query")
        self.admissions.let_in(caller, request.dataset, request.project)
        return self._statistics.answer(caller, request, pace)

    def check_statistic(self, caller: Caller, request: pb.QueryStatisticRequest) -> None:
        """Look for all that is wrong with a statistic query, without answering it."""
        require(caller, "query")
        self._statistics.plan(request)

    def check_model(self, caller: Caller, request: pb.QueryModelRequest) -> None:
        """Look for all that is wrong with a model query, without answering it; raises as `query_model`."""
        require(caller, "query")
        self._models.plan(request)

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
        self.admissions.let_in(caller, request.dataset, request.project)
        return self._tables.answer_output(caller, request, pace)

    def submit_results(
        self, caller: Caller, options: pb.ResultsOptions, content: bytes, pace: Pace
    ) -> pb.SubmitResultsResponse:
        """The verdict on each output of a folder or file that a job printed; raises as `submit_output`."""
        require(caller, "submit")
        self.admissions.let_in(caller, options.dataset, options.project)
        return self._results.submit(caller, options, content, pace)

    def submit_files(self, caller: Caller, files: pb.SubmittedFiles, pace: Pace) -> Answered:
        """The decision about files that could not be read, as they were recorded; as `submit_output`."""
        require(caller, "submit")
        self.admissions.let_in(caller, files.dataset, files.project)
        return self._results.refer(caller, files, pace)

    def get_query(self, caller: Caller, query: str) -> pb.GetQueryResponse:
        """A query as the caller may see it; raises as `SeenQueries.get`."""
        return self._seen.get(caller, query)

    def draw_query(self, caller: Caller, request: pb.DrawQueryRequest, pace: Pace) -> pb.DrawQueryResponse:
        """Bars or a pie of what was released; raises as `get_query` and `drawn`, for PNG also Unavailable."""
        svg = drawn(self._seen.decision(caller, request.query), request)
        if not request.png:
            return pb.DrawQueryResponse(svg=svg)
        if not can_render():
            raise InvalidRequest([FieldProblem("png", NO_PNG)])
        (png,) = self._computes.rendered([svg], pace.left)
        return pb.DrawQueryResponse(svg=svg, png=png)

    def list_queries(self, caller: Caller, request: pb.ListQueriesRequest) -> pb.ListQueriesResponse:
        """Queries, the newest first: a researcher's own, or all for checkers and auditors."""
        return self._seen.listed(caller, request)

    def review_query(self, caller: Caller, request: pb.ReviewQueryRequest, pace: Pace) -> pb.Decision:
        """Approve, return or refuse a referred query; raises as `Reviewing.review`."""
        return self._reviewing.review(caller, request, pace)

    def comment_query(self, caller: Caller, request: pb.CommentQueryRequest) -> pb.CommentQueryResponse:
        """Write a comment on a referred query; raises as `Commenting.write`."""
        return self._comments.write(caller, request)

    def get_policy(self, caller: Caller, request: pb.GetPolicyRequest) -> pb.GetPolicyResponse:
        """The policy that applies to a dataset, or that applied when a query was decided.

        Raises:
            InvalidRequest: not exactly one of dataset and query is named.
            NotFound: there is none, it is somebody else's, or its policy was not recorded.
            Forbidden: the caller's key is for other datasets.
        """
        require(caller, "read_policy")
        if bool(request.dataset) == bool(request.query):
            raise InvalidRequest([FieldProblem("", "Name a dataset or a query, and not both.")])
        if request.dataset:
            within(caller, request.dataset)
            return self._policies.view(datasets.find(self._engine, request.dataset))
        stored = self._ledger.query(request.query)
        all_of_them = caller.role in (Role.STEWARD, Role.AUDITOR, Role.OPERATOR)
        if stored is None or not (all_of_them or may_see(caller, stored)):
            raise NotFound(f"There is no query {request.query} of yours.")
        within(caller, stored.dataset)
        return self._policies.view_of_decision(self._recorder.decision_of(stored))

    def get_budget(
        self, caller: Caller, request: budget_pb2.GetBudgetRequest
    ) -> budget_pb2.GetBudgetResponse:
        """What may still be asked.

        Raises:
            Forbidden: of somebody else's budget, or the caller's key is for other datasets.
            NotFound: there is no such dataset.
        """
        require(caller, "read_budget")
        return self._spending.told(caller, request, self._engine, self._policies)

    def applied_policies(self) -> list[tuple[str, EffectivePolicy]]:
        """Datasets, each with the policy that applies to it; without those to which none does."""
        found = []
        for dataset in self._engine.datasets():
            with suppress(Unavailable):
                found.append((dataset.name, self._policies.of(dataset)))
        return found

    def replace_policies(self, policies: Mapping[str, Policy]) -> None:
        """Let other policies apply from the next query on; queries under way keep theirs.

        Raises:
            PolicyInvalid: a registered dataset would be without a policy; the old ones go on.
        """
        self._policies.replace(policies, self._engine.datasets())
