"""The facility's server: translates, calls, observes. What is decided is decided in sdcgate.facility."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import grpc

from sdcgate.engine.database import ComputationFailed, ComputationInterrupted
from sdcgate.engine.engine import Engine
from sdcgate.engine.snapshot import SnapshotDamaged
from sdcgate.facility import errors as house
from sdcgate.facility.facility import Facility
from sdcgate.facility.fitting_room import FittingLimits
from sdcgate.facility.results.folder import MAXIMUM_BYTES
from sdcgate.facility.scope import acting_for
from sdcgate.facility.statistic_png import Font
from sdcgate.ledger.credentials import KEY_PREFIX, Caller, Credentials, Role
from sdcgate.ledger.errors import ContentRemoved, LedgerError, NotReferred, SelfReview, TooManyComments
from sdcgate.ledger.signing import KeyRing
from sdcgate.methods.risk import individual
from sdcgate.methods.tables import joint_reduction
from sdcgate.servers import errors
from sdcgate.servers.authentication import Authenticate, caller, on_behalf_of, service_token
from sdcgate.servers.backends import RemoteProtection, RemoteRisk
from sdcgate.servers.channels import connect
from sdcgate.servers.database_encryption import doubt
from sdcgate.servers.decision_log.following import Follower, followers
from sdcgate.servers.facility_metrics import FittingMetrics, LedgerMetrics, QueryMetrics
from sdcgate.servers.lifecycle import serve
from sdcgate.servers.logging import logger
from sdcgate.servers.metrics import Metrics, PolicyMetrics
from sdcgate.servers.pacing import pace
from sdcgate.servers.policy_reload import PolicyReload
from sdcgate.servers.received_files import FileLane
from sdcgate.servers.rooms import ReadLane
from sdcgate.servers.secret_files import secret
from sdcgate.servers.settings import MEBIBYTE, Settings
from sdcgate.servers.standing_watch import StandingWatch
from sdcgate.servers.state_folder import only_one, open_ledger, spill_folder
from sdcgate.servers.tracing import Tracing
from sdcgate.wire.problems import FieldProblem, together
from sdcgate.wire.validation import texts_with_nul, too_long, violations
from sdcgate_proto.sdcgate.facility.v1 import admission_pb2, budget_pb2, facility_pb2_grpc
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

if TYPE_CHECKING:
    from sdcgate.servers.tokens import Tokens

SERVICE = "sdcgate.facility.v1.FacilityService"
READS = (
    *("GetStatus", "GetCaller", "GetBudget", "GetPolicy", "GetDataset"),
    *("ListDatasets", "ListQueries", "ListAdmissions"),
)
"""Answered beside queries; milliseconds each."""
RESULTS_AT_ONCE = 4
"""Folders that are judged at once; each may take much memory."""


class FacilityServicer(facility_pb2_grpc.FacilityServiceServicer):
    """FacilityService over sdcgate.facility."""

    def __init__(self, facility: Facility, key_ring: KeyRing, policies: PolicyReload | None = None) -> None:
        self._facility = facility
        self._key_ring = key_ring
        self._policies = policies
        self._files = FileLane(MAXIMUM_BYTES, RESULTS_AT_ONCE)

    def RegisterDataset(
        self, request: pb.RegisterDatasetRequest, context: grpc.ServicerContext
    ) -> pb.RegisterDatasetResponse:
        """Register a dataset."""
        with _translated(request, self._facility.check_registration):
            return self._facility.register_dataset(_caller(), request)

    def ListDatasets(
        self, request: pb.ListDatasetsRequest, context: grpc.ServicerContext
    ) -> pb.ListDatasetsResponse:
        """List datasets."""
        with _translated(request):
            return self._facility.list_datasets(_caller())

    def GetDataset(
        self, request: pb.GetDatasetRequest, context: grpc.ServicerContext
    ) -> pb.GetDatasetResponse:
        """Show one dataset."""
        with _translated(request):
            return self._facility.get_dataset(_caller(), request.dataset)

    def AssessDataset(
        self, request: pb.AssessDatasetRequest, context: grpc.ServicerContext
    ) -> pb.AssessDatasetResponse:
        """Assess the risk of a dataset as a file."""
        with _translated(request):
            return self._facility.assess_dataset(_caller(), request)

    def EnterKnowledge(
        self, request: pb.EnterKnowledgeRequest, context: grpc.ServicerContext
    ) -> pb.EnterKnowledgeResponse:
        """Enter a table that was published elsewhere."""
        with _translated(request, self._facility.check_knowledge):
            return self._facility.enter_knowledge(_caller(), request, pace())

    def QueryTable(
        self, request: pb.QueryTableRequest, context: grpc.ServicerContext
    ) -> pb.QueryTableResponse:
        """Answer a table query."""
        with _translated(request, self._facility.check_query):
            answered = self._facility.query_table(_caller(), request, pace())
            return pb.QueryTableResponse(decision=answered.decision, repeated_answer=answered.repeated)

    def QueryStatistic(
        self, request: pb.QueryStatisticRequest, context: grpc.ServicerContext
    ) -> pb.QueryStatisticResponse:
        """Answer a statistic query."""
        with _translated(request, self._facility.check_statistic):
            answered = self._facility.query_statistic(_caller(), request, pace())
            return pb.QueryStatisticResponse(decision=answered.decision, repeated_answer=answered.repeated)

    def QueryModel(
        self, request: pb.QueryModelRequest, context: grpc.ServicerContext
    ) -> pb.QueryModelResponse:
        """Answer a model query."""
        with _translated(request, self._facility.check_model):
            answered = self._facility.query_model(_caller(), request, pace())
            return pb.QueryModelResponse(decision=answered.decision, repeated_answer=answered.repeated)

    def SubmitOutput(
        self, request: pb.SubmitOutputRequest, context: grpc.ServicerContext
    ) -> pb.SubmitOutputResponse:
        """Give the verdict on an output."""
        with _translated(request, self._facility.check_output):
            answered = self._facility.submit_output(_caller(), request, pace())
            return pb.SubmitOutputResponse(decision=answered.decision, repeated_answer=answered.repeated)

    def SubmitResults(
        self, request_iterator: Iterator[pb.SubmitResultsRequest], context: grpc.ServicerContext
    ) -> pb.SubmitResultsResponse:
        """Give the verdict on each output of a folder or file."""
        with self._files.taken():
            options, (content,) = self._files.received(request_iterator, "results")
            with _translated(options):
                return self._facility.submit_results(_caller(), options, content, pace())

    def GetQuery(self, request: pb.GetQueryRequest, context: grpc.ServicerContext) -> pb.GetQueryResponse:
        """Show a query asked before."""
        with _translated(request):
            return self._facility.get_query(_caller(), request.query)

    def DrawQuery(self, request: pb.DrawQueryRequest, context: grpc.ServicerContext) -> pb.DrawQueryResponse:
        """Draw what was released."""
        with _translated(request):
            return self._facility.draw_query(_caller(), request, pace())

    def ListQueries(
        self, request: pb.ListQueriesRequest, context: grpc.ServicerContext
    ) -> pb.ListQueriesResponse:
        """List queries."""
        with _translated(request):
            return self._facility.list_queries(_caller(), request)

    def ReviewQuery(
        self, request: pb.ReviewQueryRequest, context: grpc.ServicerContext
    ) -> pb.ReviewQueryResponse:
        """Approve or refuse a referred query."""
        with _translated(request):
            decision = self._facility.review_query(_caller(), request, pace())
            return pb.ReviewQueryResponse(decision=decision)

    def CommentQuery(
        self, request: pb.CommentQueryRequest, context: grpc.ServicerContext
    ) -> pb.CommentQueryResponse:
        """Write a comment on a referred query."""
        with _translated(request):
            return self._facility.comment_query(_caller(), request)

    def GetPolicy(self, request: pb.GetPolicyRequest, context: grpc.ServicerContext) -> pb.GetPolicyResponse:
        """Show the policy of a dataset, or of a query that was decided."""
        with _translated(request):
            return self._facility.get_policy(_caller(), request)

    def GetBudget(
        self, request: budget_pb2.GetBudgetRequest, context: grpc.ServicerContext
    ) -> budget_pb2.GetBudgetResponse:
        """What may still be asked."""
        with _translated(request):
            return self._facility.get_budget(_caller(), request)

    def RequestAdmission(
        self, request: admission_pb2.RequestAdmissionRequest, context: grpc.ServicerContext
    ) -> admission_pb2.RequestAdmissionResponse:
        """Request an admission."""
        with _translated(request):
            found = self._facility.admissions.request(_caller(), request)
            return admission_pb2.RequestAdmissionResponse(admission=found)

    def ListAdmissions(
        self, request: admission_pb2.ListAdmissionsRequest, context: grpc.ServicerContext
    ) -> admission_pb2.ListAdmissionsResponse:
        """List admissions."""
        with _translated(request):
            return self._facility.admissions.listed(_caller(), request)

    def ReviewAdmission(
        self, request: admission_pb2.ReviewAdmissionRequest, context: grpc.ServicerContext
    ) -> admission_pb2.ReviewAdmissionResponse:
        """Approve or refuse an admission."""
        with _translated(request):
            found = self._facility.admissions.review(_caller(), request)
            return admission_pb2.ReviewAdmissionResponse(admission=found)

    def WithdrawAdmission(
        self, request: admission_pb2.WithdrawAdmissionRequest, context: grpc.ServicerContext
    ) -> admission_pb2.WithdrawAdmissionResponse:
        """End an admission."""
        with _translated(request):
            found = self._facility.admissions.withdraw(_caller(), request)
            return admission_pb2.WithdrawAdmissionResponse(admission=found)

    def GetCaller(self, request: pb.GetCallerRequest, context: grpc.ServicerContext) -> pb.GetCallerResponse:
        """Whom the key belongs to."""
        with _translated(request):
            found = _caller()
            return pb.GetCallerResponse(
                key_id=found.key_id,
                role=found.role,
                researcher=found.researcher,
                portal=found.portal,
                datasets=found.scope.datasets,
                projects=found.scope.projects,
            )

    def GetStatus(self, request: pb.GetStatusRequest, context: grpc.ServicerContext) -> pb.GetStatusResponse:
        """Version, public key, readiness."""
        with _translated(request):
            operates = _caller().role == Role.OPERATOR
            return pb.GetStatusResponse(
                ready=self._facility.is_ready(),
                software_version=version("sdcgate"),
                public_key=self._key_ring.public_bundle().decode(),
                key_id=self._key_ring.key_id,
                policy_problems=self._policies.problems if self._policies and operates else (),
            )


def main(settings: Settings) -> None:
    """Serve the facility until it is told to stop."""
    section = settings.facility
    ledger, key_ring = open_ledger(settings)
    lock = only_one(settings.state_dir / "facility.lock") if ledger.serves_one_process else None
    credentials = Credentials(ledger)
    token = service_token(settings.service_token_path)
    risk_channel = connect(
        settings.address(section.risk, settings.risk),
        token,
        peer=section.risk,
        deadline_seconds=section.risk_deadline_seconds,
        maximum_message_bytes=section.maximum_message_bytes,
    )
    protection_channel = connect(
        settings.address(section.protection, settings.protection),
        token,
        peer=section.protection,
        deadline_seconds=section.protection_deadline_seconds,
        maximum_message_bytes=section.maximum_message_bytes,
    )
    keys = settings.state_dir / "keys"
    metrics, tracing = Metrics("facility"), Tracing.of(settings, "facility")
    policies = policies_of(settings, metrics)
    places = ExitStack()
    engine = Engine(
        settings.data_root,
        settings.state_dir / "snapshots",
        secret(keys / "records.key"),
        spill=places.enter_context(spill_folder(section.spill_dir or settings.state_dir / "spill")),
        url=settings.engine_url,
    )
    facility = Facility(
        engine,
        ledger,
        RemoteRisk(risk_channel, section.risk_deadline_seconds),
        RemoteProtection(protection_channel, section.protection_deadline_seconds),
        policies.policies,
        settings.default_policy,
        secret(keys / "boxes.key"),
        Font(section.font_file, section.font_family),
        settings.identity.require_admission,
        FittingLimits(
            section.fitting.workers,
            section.fitting.seconds,
            section.fitting.memory_mebibytes * MEBIBYTE,
            min(section.fitting.calls, max(1, section.threads - 1)),
        ),
    )

    FittingMetrics(metrics.registry, facility.fitting_room)
    watch = StandingWatch(
        ledger,
        facility.applied_policies,
        settings.verification_file,
        LedgerMetrics(metrics.registry),
        section.standing_poll_seconds,
    )
    background: list[StandingWatch | Follower] = [watch, *followers(settings, ledger, metrics.registry)]

    def begin() -> None:
        warn_of_databases(settings)
        warm_up(engine, facility)
        for one in background:
            one.start()

    policies.reload_on_hangup()
    policies.start(facility.replace_policies)
    servicer = FacilityServicer(facility, key_ring, policies)
    serve(
        "facility",
        lambda server: facility_pb2_grpc.add_FacilityServiceServicer_to_server(servicer, server),
        [SERVICE],
        settings,
        authenticator(credentials, tokens_of(settings)),
        begin,
        facility.is_ready,
        metrics=metrics,
        tracing=tracing,
        watcher=QueryMetrics(metrics.registry, tracing),
        read=ReadLane(
            section.read_calls, section.waiting_read_calls, frozenset(f"/{SERVICE}/{name}" for name in READS)
        ),
    )
    policies.stop()
    for one in background:
        one.stop()
    facility.close()
    places.close()
    if lock is not None:
        lock.close()


def warn_of_databases(settings: Settings) -> None:
    """Say in the log where a database is connected to over a network without being checked."""
    for name, url in (("ledger_url", settings.ledger_address()), ("engine_url", settings.engine_url)):
        if url.startswith("postgres") and (what := doubt(url)):
            logger("facility").warning("database not verified", setting=name, detail=what)


def tokens_of(settings: Settings) -> "Tokens | None":
    """Who reads an identity provider's tokens, where one is set."""
    if not settings.identity.issuer:
        return None
    from sdcgate.servers.tokens import Tokens

    return Tokens(settings.identity)


def policies_of(settings: Settings, metrics: Metrics) -> PolicyReload:
    """The policies of these settings, and who loads them again.

    Raises:
        ValueError: they have problems, or the default policy is not among them.
    """
    policies = PolicyReload(
        settings.policy_dir, settings.facility.policy_poll_seconds, PolicyMetrics(metrics.registry)
    )
    if settings.default_policy not in policies.policies:
        known = ", ".join(policies.policies)
        raise ValueError(f"the default policy {settings.default_policy} is not among the policies: {known}")
    return policies


def warm_up(engine: Engine, facility: Facility) -> None:
    """Do once what is slow the first time; tables need not wait for what models need."""
    individual.warm_up()
    joint_reduction.warm_up()
    threading.Thread(target=facility.warm_up, name="fitting-room", daemon=True).start()
    for damaged in engine.warm_up():
        # The texts name dataset and version, nothing of what is in them.
        logger("facility").error("damaged snapshot", what=str(damaged))


def authenticator(credentials: Credentials, tokens: "Tokens | None" = None) -> Authenticate:
    """Who shows a key or a token; where ledger or issuer do not answer, nobody is let in and told so."""

    def authenticate(token: str) -> Caller | None:
        if tokens is not None and not token.startswith(KEY_PREFIX):
            return tokens.authenticate(token)
        try:
            return credentials.authenticate(token)
        except LedgerError as error:
            raise errors.Unavailable(str(error)) from None

    return authenticate


@contextmanager
def _translated(request: Any, check: Callable[[Caller, Any], None] | None = None) -> Iterator[None]:
    """Check the envelope, and tell the house's errors as the wire's.

    Where the envelope is wrong, `check` says what else is, so that all problems come at once. What has too
    many parts is not looked into.
    """
    problems = violations(request)
    try:
        if not too_long(request):
            problems += texts_with_nul(request)
            if problems:
                problems = together(_further(request, check), problems)
        if problems:
            raise house.InvalidRequest(problems)
        yield
    except house.InvalidRequest as error:
        raise errors.InvalidArgument(error.problems) from None
    except (house.NotFound, ContentRemoved) as error:
        raise errors.NotFound(str(error)) from None
    except house.Forbidden as error:
        raise errors.PermissionDenied(str(error)) from None
    except house.Conflict as error:
        raise errors.FailedPrecondition(str(error)) from None
    except (NotReferred, SelfReview, TooManyComments) as error:
        raise errors.FailedPrecondition(str(error)) from None
    except (house.TimeOver, ComputationInterrupted) as error:
        raise errors.DeadlineExceeded(str(error)) from None
    except (house.Unavailable, LedgerError, ComputationFailed, SnapshotDamaged) as error:
        raise errors.Unavailable(str(error)) from None


def _further(request: Any, check: Callable[[Caller, Any], None] | None) -> tuple[FieldProblem, ...]:
    """What is wrong with a request beyond its envelope, as far as it can be told."""
    try:
        if check is not None:
            check(_caller(), request)
    except house.InvalidRequest as error:
        return error.problems
    except house.NotFound:
        pass
    return ()


def _caller() -> Caller:
    """Who calls: a portal that acts for a researcher as that researcher."""
    found = caller()
    if not isinstance(found, Caller):
        raise errors.Unauthenticated()
    named = on_behalf_of()
    return acting_for(found, named) if named else found
