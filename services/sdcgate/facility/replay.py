"""Asks the queries of a ledger again, in order, under other policies and in a ledger of their own."""

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.snapshot import SnapshotDamaged
from sdcgate.facility.errors import Conflict, FacilityError
from sdcgate.facility.facility import Facility
from sdcgate.facility.in_process import scratch_facility
from sdcgate.facility.pace import Pace
from sdcgate.facility.published import request_of
from sdcgate.ledger.approvals import Approval, Approvals
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.ledger.errors import ContentRemoved
from sdcgate.ledger.ledger import Ledger, StoredQuery, StoredSummary
from sdcgate.policy.model import Policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, table_pb2

PAGE = 1000
QUERY_SECONDS = 120.0
FAILURES = (FacilityError, ComputationFailed, SnapshotDamaged)

Shown = frozenset[tuple[str, ...]]
"""The codes of the cells whose figures are shown."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A query then and now: verdicts, and how many cells. Never a figure of a table."""

    query: str
    dataset: str
    before: str
    after: str
    """The verdict under the other policies; empty where there is none."""
    shown_before: int
    shown_after: int
    newly_withheld: int
    """Cells that were shown and are not."""
    newly_shown: int
    problem: str = ""
    """Why there is no verdict."""

    @property
    def changed(self) -> bool:
        """Whether anything of it is different."""
        return self.before != self.after or self.newly_withheld > 0 or self.newly_shown > 0


class EngineOfThen(Engine):
    """An engine whose newest versions are those of the moment that is replayed."""

    _then: Mapping[str, int] = {}

    def at(self, versions: Mapping[str, int]) -> None:
        """From now on these versions are the newest."""
        self._then = versions

    def dataset(self, name: str, version: int | None = None) -> Dataset:
        """A dataset, in the version that was the newest then unless said otherwise."""
        return super().dataset(name, version or self._then.get(name))


@dataclass(frozen=True, slots=True, order=True)
class _Review:
    """A review that is yet to come."""

    sequence: int
    stored: StoredQuery = field(compare=False)
    first: Approval | None = field(compare=False)
    """The approval of the first of two checkers."""
    asked: pb.Decision = field(compare=False)


def queries_of(ledger: Ledger, policy: str) -> list[StoredSummary]:
    """Queries of all sources from which this policy has decided anything, in the order they were recorded."""
    found: list[StoredSummary] = []
    before: str | None = None
    while page := ledger.queries(None, (), PAGE, before):
        found += page
        before = page[-1].query_id
    sources = {summary.source for summary in found if summary.policy_name == policy}
    return [summary for summary in reversed(found) if summary.source in sources]


def replay(
    ledger: Ledger,
    queries: list[StoredSummary],
    engine: EngineOfThen,
    policies: Mapping[str, Policy],
    default_policy: str,
    folder: Path,
    left: Callable[[], float],
) -> Iterator[Replayed]:
    """Each query with what came of it then and what comes of it now, reviews at their places among them.

    Args:
        ledger: The ledger whose queries are replayed; it is only read.
        queries: Those of `queries_of`.
        engine: The engine over the snapshots of the ledger's datasets.
        policies: What applies instead of what applied.
        default_policy: For datasets whose descriptor names none.
        folder: An empty folder for the scratch ledger. It holds confidential cells: the caller removes it.
        left: Seconds that are left; none is begun after they are over.
    """
    with scratch_facility(folder, engine, policies, default_policy) as facility:
        waiting: list[_Review] = []
        approvals = Approvals(ledger)
        for summary in queries:
            if left() <= 0:
                return
            while waiting and waiting[0].sequence < summary.sequence:
                yield _reviewed(facility, heapq.heappop(waiting), left)
            try:
                stored = ledger.query(summary.query_id)
            except ContentRemoved:
                yield _gone(summary)
                continue
            if stored is None or _over_budget(stored):
                continue
            engine.at({stored.dataset: stored.version})
            try:
                decision = _ask(facility, stored, left)
            except FAILURES as error:
                if left() <= 0:
                    return
                yield _compared(stored, None, str(error))
                continue
            if stored.review is not None and decision.verdict == pb.VERDICT_REFERRED:
                first = approvals.of(stored.query_id) if stored.review.approve else None
                heapq.heappush(waiting, _Review(stored.review.sequence, stored, first, decision))
            else:
                yield _compared(stored, decision)
        while waiting and left() > 0:
            yield _reviewed(facility, heapq.heappop(waiting), left)


def _ask(facility: Facility, stored: StoredQuery, left: Callable[[], float]) -> pb.Decision:
    record = release_pb2.DecisionRecord.FromString(stored.confidential)
    pace = Pace(min(left(), QUERY_SECONDS))
    portal = Caller("replay", Role.PORTAL, stored.researcher)
    if record.HasField("output"):
        return facility.submit_output(portal, record.output, pace).decision
    if record.HasField("files"):
        return facility.submit_files(portal, record.files, pace).decision
    if record.published:
        steward = Caller("replay", Role.STEWARD, stored.researcher)
        entered = facility.enter_knowledge(steward, request_of(record), pace)
        return facility.get_query(Caller("replay", Role.CHECKER, "replay"), entered.query).decision
    researcher = Caller("replay", Role.RESEARCHER, stored.researcher)
    if record.HasField("model_request"):
        return facility.query_model(researcher, record.model_request, pace).decision
    if record.HasField("statistic_request"):
        return facility.query_statistic(researcher, record.statistic_request, pace).decision
    return facility.query_table(researcher, record.request, pace).decision


def _reviewed(facility: Facility, waiting: _Review, left: Callable[[], float]) -> Replayed:
    """The checkers decide as they did; what they cannot approve any more stays referred."""
    stored, review = waiting.stored, waiting.stored.review
    assert review is not None
    reviews = [(review.reviewer, review.note)]
    if waiting.first is not None and waiting.first.reviewer != review.reviewer:
        reviews.insert(0, (waiting.first.reviewer, waiting.first.note))
    try:
        for reviewer, note in reviews:
            decision = _review(facility, reviewer, note, review.approve, waiting.asked.query, left)
    except FAILURES as error:
        return _compared(stored, None, str(error))
    return _compared(stored, decision)


def _review(
    facility: Facility, reviewer: str, note: str, approve: bool, query: str, left: Callable[[], float]
) -> pb.Decision:
    """What stands after one checker's review, whether or not it may be made any more."""
    # A key each: nobody is both of two pairs of eyes.
    checker = Caller(f"replayed review of {reviewer}", Role.CHECKER, reviewer)
    request = pb.ReviewQueryRequest(query=query, approve=approve, note=note, exception=approve)
    try:
        return facility.review_query(checker, request, Pace(min(left(), QUERY_SECONDS)))
    except Conflict:
        return facility.get_query(checker, query).decision


def _compared(stored: StoredQuery, now: pb.Decision | None, problem: str = "") -> Replayed:
    then = release_pb2.DecisionRecord.FromString(stored.confidential).decision
    before, after = _shown(then), _shown(now) if now is not None else frozenset()
    return Replayed(
        query=stored.query_id,
        dataset=stored.dataset,
        before=_verdict(then),
        after=_verdict(now) if now is not None else "",
        shown_before=len(before),
        shown_after=len(after),
        newly_withheld=len(before - after),
        newly_shown=len(after - before),
        problem=problem,
    )


def _gone(summary: StoredSummary) -> Replayed:
    removed = "What it asked was removed under retention: it is not asked again."
    return Replayed(summary.query_id, summary.dataset, summary.verdict, "", 0, 0, 0, 0, removed)


def _over_budget(stored: StoredQuery) -> bool:
    """Whether it was never decided, as a budget was spent."""
    decision = release_pb2.DecisionRecord.FromString(stored.confidential).decision
    return any(reason.code == policy_pb2.REASON_CODE_BUDGET for reason in decision.reasons)


def _shown(decision: pb.Decision) -> Shown:
    table = decision.statistic if decision.HasField("statistic") else decision.table
    dimensions = table.dimensions
    codes = [[dimension.codes[code] for code in dimension.cells] for dimension in dimensions]
    shown = frozenset(
        (one.outcome, one.name)
        for one in decision.model.coefficients
        if one.status == table_pb2.CELL_STATUS_PUBLISHED
    )
    return shown | frozenset(
        tuple(column[cell] for column in codes)
        for cell, status in enumerate(table.statuses)
        if status in (table_pb2.CELL_STATUS_PUBLISHED, table_pb2.CELL_STATUS_PERTURBED)
    )


def _verdict(decision: pb.Decision) -> str:
    return pb.Verdict.Name(decision.verdict).removeprefix("VERDICT_")
