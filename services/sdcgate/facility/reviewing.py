"""What an output checker decides of a referred query; taking back what he decided first of two."""

from collections.abc import Mapping
from typing import Protocol

from sdcgate.engine.engine import Engine
from sdcgate.facility.access import require
from sdcgate.facility.errors import Conflict, Forbidden, InvalidRequest, NotFound
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.facility.reasons import is_not_compared
from sdcgate.facility.recording import Recorder, record_of
from sdcgate.facility.repeated_reviews import is_repeated
from sdcgate.facility.results.deciding import NEEDS_EXCEPTION
from sdcgate.facility.road import NOT_COMPARED
from sdcgate.facility.scope import within
from sdcgate.facility.table_queries import TableQueries
from sdcgate.facility.two_reviewers import take_back, waits_for_another
from sdcgate.ledger.approvals import Approvals
from sdcgate.ledger.credentials import Caller
from sdcgate.ledger.errors import NotReferred
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.records import StoredQuery
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


class Reviewable(Protocol):
    """A kind of queries that are not tables."""

    def review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        version: int,
        pace: Pace,
    ) -> pb.Decision:
        """Refuse a referred query of this kind, or approve it."""
        ...


class Reviewing:
    """Step 8 for what was referred. What the facility shares with queries is passed in."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        policies: Policies,
        recorder: Recorder,
        tables: TableQueries,
        others: Mapping[str, Reviewable],
    ) -> None:
        """`others`: who reviews what is not a table, by the field of its record."""
        self._engine = engine
        self._ledger = ledger
        self._approvals = Approvals(ledger)
        self._policies = policies
        self._recorder = recorder
        self._tables = tables
        self._others = others

    def review(self, caller: Caller, request: pb.ReviewQueryRequest, pace: Pace) -> pb.Decision:
        """Approve, return or refuse a referred query, or take back one's own first approval of it.

        A review that comes again has the outcome that was recorded.

        Raises:
            InvalidRequest: it says two things at once.
            Conflict: the query is not referred (any more), or may not be approved so.
            Forbidden: the checker asked it himself.
        """
        require(caller, "review")
        if problems := _problems(request):
            raise InvalidRequest(problems)
        stored = self._ledger.query(request.query)
        if stored is None:
            raise NotFound(f"There is no query {request.query}.")
        within(caller, stored.dataset)
        if caller.is_who(stored.researcher, stored.author):
            raise Forbidden("Nobody reviews his own query.")
        if is_repeated(caller, request, stored):
            return self._recorder.decision_of(stored)
        try:
            return self._review(caller, request, stored, pace)
        except (Conflict, NotReferred):
            # It may have been recorded meanwhile, by another replica.
            now = self._ledger.query(request.query)
            if now is None or not is_repeated(caller, request, now):
                raise
            return self._recorder.decision_of(now)

    def _review(
        self, caller: Caller, request: pb.ReviewQueryRequest, stored: StoredQuery, pace: Pace
    ) -> pb.Decision:
        """Record a review of a query that nobody has decided."""
        if stored.verdict != "REFERRED":
            raise Conflict(f"The query is {stored.verdict}; only referred queries are reviewed.")
        if request.take_back:
            take_back(self._approvals, caller, request)
            return self._recorder.decision_of(stored)
        record = record_of(stored)
        policy = self._policies.ruling(self._engine, stored.dataset)
        unproved = self._unproved(record, stored.version, policy) if request.approve else ""
        if unproved and not request.exception:
            # At the first pair of eyes already: a second one could only repeat what is not enough.
            raise Conflict(unproved)
        if waits_for_another(self._approvals, caller, request, policy, bool(unproved)):
            return self._recorder.decision_of(stored)
        for field, queries in self._others.items():
            if record.HasField(field):
                return queries.review(caller, request, record, stored.version, pace)
        return self._tables.review(caller, request, record, stored.version, pace)

    def _unproved(self, record: release_pb2.DecisionRecord, version: int, policy: EffectivePolicy) -> str:
        """Why a query may leave by exception only; empty where it need not.

        Where one checker is enough, it is compared with other versions once more when he approves it.
        """
        if record.HasField("files"):
            return NEEDS_EXCEPTION
        if policy.pairs_of_eyes > 1 and is_not_compared(record.decision):
            return NOT_COMPARED
        return self._tables.unproved(record.output, version) if record.HasField("output") else ""


def _problems(request: pb.ReviewQueryRequest) -> list[FieldProblem]:
    """What contradicts itself. That texts are not blank the proto says: old records may hold blank ones."""
    found = []
    if request.approve and request.returned:
        found.append(FieldProblem("returned", "A query that is approved is not returned."))
    if request.take_back and (request.approve or request.returned or request.exception):
        message = "Who takes his approval back decides nothing else; leave the others out."
        found.append(FieldProblem("take_back", message))
    return found
