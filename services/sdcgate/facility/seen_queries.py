"""Queries that were asked: who sees which, and what of them."""

from datetime import UTC, datetime
from typing import cast

from sdcgate.facility.access import require
from sdcgate.facility.admissions import Admissions
from sdcgate.facility.asked import without_facts
from sdcgate.facility.commenting import Commenting, looks_as_checker
from sdcgate.facility.errors import NotFound
from sdcgate.facility.other_version_view import OtherVersionView
from sdcgate.facility.pages import no_such_page
from sdcgate.facility.query_ids import moment_of
from sdcgate.facility.recording import Recorder, record_of
from sdcgate.facility.results.deciding import seen_files
from sdcgate.facility.scope import within
from sdcgate.ledger.approvals import Approvals
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.ledger.errors import ContentRemoved
from sdcgate.ledger.ledger import Ledger, StoredQuery, StoredSummary
from sdcgate.ledger.openings import Openings
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

SEE_ALL_QUERIES = frozenset({Role.CHECKER, Role.AUDITOR})


class SeenQueries:
    """Shows queries. What the facility shares with other ways is passed in."""

    def __init__(
        self,
        ledger: Ledger,
        admissions: Admissions,
        recorder: Recorder,
        comments: Commenting,
        other_versions: OtherVersionView,
    ) -> None:
        self._ledger = ledger
        self._openings = Openings(ledger)
        self._approvals = Approvals(ledger)
        self._admissions = admissions
        self._recorder = recorder
        self._comments = comments
        self._other_versions = other_versions

    def get(self, caller: Caller, query: str) -> pb.GetQueryResponse:
        """A query: to its researcher what he saw, to a checker everything, which the ledger records first.

        A checker sees of his own query what its researcher sees: findings tell what was withheld from him.

        Raises:
            NotFound: there is none, or it is somebody else's.
        """
        stored = self._stored(caller, query)
        checks = looks_as_checker(caller, stored)
        if checks:
            self._openings.append(query, caller.researcher, caller.key_id)
        record = record_of(stored)
        response = pb.GetQueryResponse(decision=self._recorder.decision_of(stored))
        if checks:
            response.checker.CopyFrom(record.checker)
            if stored.verdict == "REFERRED":
                response.checker.other_versions.extend(self._other_versions.of(stored, record))
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
        response.comments.extend(self._comments.seen(caller, stored))
        return response

    def decision(self, caller: Caller, query: str) -> pb.Decision:
        """What was decided about a query; raises as `get`."""
        return self._recorder.decision_of(self._stored(caller, query))

    def _stored(self, caller: Caller, query: str) -> StoredQuery:
        """A query as it is stored, of one who may see it; raises as `get`."""
        require(caller, "read_queries")
        try:
            stored = self._ledger.query(query)
        except ContentRemoved as removed:
            if removed.query is not None and may_see(caller, removed.query):
                raise NotFound(f"What query {query} asked and answered: {removed}.") from None
            stored = None
        if stored is None or not may_see(caller, stored):
            raise NotFound(f"There is no query {query} of yours.")
        if caller.role in (Role.RESEARCHER, Role.PORTAL):
            self._admissions.let_in(caller, stored.dataset, stored.project)
        within(caller, stored.dataset)
        return stored

    def listed(self, caller: Caller, request: pb.ListQueriesRequest) -> pb.ListQueriesResponse:
        """Queries, the newest first: a researcher's own, or all for checkers and auditors.

        Of the datasets that a key is for, so that its pages are full ones.

        Raises:
            InvalidRequest: the token is of no page.
        """
        require(caller, "read_queries")
        token = request.page_token
        if token and not self._ledger.has_query(token):
            raise no_such_page()
        size = request.page_size or 100
        verdicts = {pb.Verdict.Name(verdict).removeprefix("VERDICT_") for verdict in request.verdicts}
        researcher = None if caller.role in SEE_ALL_QUERIES else caller.researcher
        found = self._ledger.queries(researcher, verdicts, size + 1, token or None, caller.scope.datasets)
        response = pb.ListQueriesResponse()
        for stored in found[:size]:
            if not may_see(caller, stored):
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


def _verdict(name: str) -> pb.Verdict:
    return cast("pb.Verdict", pb.Verdict.Value(f"VERDICT_{name}"))


def may_see(caller: Caller, stored: StoredSummary) -> bool:
    """A checker sees all queries, an auditor all, and everybody his own once the answer is seen."""
    if caller.role == Role.CHECKER and stored.researcher != caller.researcher:
        return True
    if caller.role != Role.AUDITOR and stored.researcher != caller.researcher:
        return False
    seen = moment_of(stored.query_id)
    return seen <= stored.decided_at or seen <= datetime.now(UTC)
