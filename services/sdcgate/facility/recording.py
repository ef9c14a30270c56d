"""Step 8 of the way: commit, then answer. A decision that is not in the ledger does not exist."""

from collections.abc import Callable, Set
from dataclasses import dataclass, field

from sdcgate.facility import answers
from sdcgate.facility.asked import Asked
from sdcgate.facility.errors import Unavailable
from sdcgate.facility.judging import Computation
from sdcgate.facility.kept_releases import release_bytes
from sdcgate.facility.knowledge import NOTHING_DRAWN, Drawn, NoisyRelease, ReleasedTable
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.plan import Plan
from sdcgate.facility.policies import Policies
from sdcgate.facility.population_limits import PopulationLimit
from sdcgate.facility.reasons import is_not_compared
from sdcgate.facility.redesign import Proposal
from sdcgate.facility.released_equations import ReleasedEquations
from sdcgate.facility.watching import Stage, watcher
from sdcgate.ledger.approvals import Approvals
from sdcgate.ledger.credentials import Caller
from sdcgate.ledger.events import BoxRow, DecisionEvent, ReviewEvent
from sdcgate.ledger.ledger import AlreadyAnswered, Ledger, StoredQuery
from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import digest
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2
from sdcgate_proto.sdcgate.types.v1 import model_pb2, policy_pb2, statistic_pb2

REMOVED = "What a checker saw was removed under retention, as event {event} of the ledger records."
SCOPE = "all-researchers"
"""Protection is across all researchers of a source."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A decision, and whether it is an earlier one."""

    decision: pb.Decision = field(repr=False)
    repeated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a decision was made from."""

    computed: Computation | None = None
    outcome: Outcome | None = None
    sequence: int | None = None
    """The sequence of the source at which it was judged."""
    exception: bool = False
    """Released by a checker though it could not be proved: an output that cannot be bound, of which the audit
    of later answers knows nothing, or what could not be compared with other versions."""
    binding: tuple[str, ...] = ()
    """Where a submitted output is not what it is declared to be."""
    proposed: tuple[Proposal, ...] = ()
    """Tables that are promised: they count as known outside."""
    implied: tuple[tuple[ReleasedTable, ...], ...] = ()
    """Tables that a model says something of: they count as known, too."""
    inexact: bool = False
    """Released on a part of the people that nobody knows: no count and no sum of it is known exactly."""
    fitted: model_pb2.Model | None = field(default=None, repr=False)
    """The model as it was fitted, for checkers."""
    statistic: statistic_pb2.GroupedStatistic | None = field(default=None, repr=False)
    """The statistic as it was computed, for checkers."""
    windows: tuple[ReleasedWindow, ...] = field(default=(), repr=False)
    """Windows whose means leave as percentiles."""
    limit: PopulationLimit | None = None
    """What a refusal tells of a population."""
    equations: tuple[ReleasedEquations, ...] = ()
    """What models told about the values of their outcome."""
    fits: tuple[ReleasedTable, ...] = ()
    """Tables of a model that is held after its fit: nothing of them leaves, and other fits are compared."""
    drawn: Drawn = NOTHING_DRAWN
    """What a model that is released without some units told of the others."""

    @property
    def tables(self) -> tuple[tuple[ReleasedTable, ...], ...]:
        """What becomes known outside, table after table, its counts first."""
        own = self.outcome.released if self.outcome is not None else ()
        proposed = (proposal.released for proposal in self.proposed)
        return tuple(filter(None, (own, *proposed, *self.implied)))

    @property
    def released(self) -> tuple[ReleasedTable, ...]:
        """What becomes known outside."""
        return tuple(part for table in self.tables for part in table)

    @property
    def noisy(self) -> NoisyRelease | None:
        """What becomes known outside with noise."""
        if self.outcome is None:
            return None
        answer = self.outcome.noisy
        return answer.release if answer is not None else self.outcome.noisy_total


NOTHING = Found()


class Recorder:
    """Writes decisions to the ledger and reads them back.

    Args:
        ledger: what it writes to.
        policies: those that decisions were made under.
        box_key: what boxes are named by.
        answering: the versions of a source of which something is known to have left, or to have been held.
    """

    def __init__(
        self,
        ledger: Ledger,
        policies: Policies,
        box_key: bytes,
        answering: Callable[[str], Set[tuple[str, int]]],
    ) -> None:
        self._ledger = ledger
        self._approvals = Approvals(ledger)
        self._policies = policies
        self._box_key = box_key
        self._answering = answering

    def answered(self, asked: Asked) -> Answered | None:
        """The decision about the same request under the same policy, if there is one."""
        dataset = asked.dataset
        stored = self._ledger.find_answer(
            dataset.source, dataset.version, asked.canonical_hash(), asked.policy.hash, SCOPE
        )
        return None if stored is None else Answered(self.decision_of(stored), repeated=True)

    def left_whole(self, plan: Plan | ModelPlan) -> bool | None:
        """Whether a table or model left as it was asked; None where it was not asked before."""
        earlier = self.answered(Asked(plan.dataset, plan.policy, plan.project, plan.canonical()))
        return None if earlier is None else earlier.decision.verdict == pb.VERDICT_RELEASED

    def decision_of(self, stored: StoredQuery) -> pb.Decision:
        """A recorded decision with its certificate."""
        return answers.with_certificate(record_of(stored).decision, stored.certificate)

    def record(self, caller: Caller, asked: Asked, decision: pb.Decision, found: Found = NOTHING) -> Answered:
        """Append a decision if the head is the one that was audited; only then is it an answer.

        Raises:
            HeadMoved: others were faster.
            AllowanceSpent: it costs more than is left.
            Unavailable: the winner of a tie cannot be read.
        """
        self._policies.record(asked.policy)
        view = answers.checker_view(caller.researcher, found.computed, found.outcome, "")
        view.portal = caller.portal
        view.binding.extend(found.binding)
        if found.fitted is not None:
            view.model.CopyFrom(found.fitted)
        if found.statistic is not None:
            view.statistic.CopyFrom(found.statistic)
        event = DecisionEvent(
            query_id=decision.query,
            source=asked.dataset.source,
            dataset=asked.dataset.name,
            version=asked.dataset.version,
            canonical=asked.canonical,
            canonical_hash=asked.canonical_hash(),
            policy_name=asked.policy.name,
            policy_hash=asked.policy.hash,
            scope=SCOPE,
            researcher=caller.researcher,
            project=asked.project,
            verdict=verdict_name(decision),
            request=asked.request_bytes(),
            answer=answers.answer_bytes(decision),
            confidential=asked.record(decision).SerializeToString(deterministic=True),
            checker=view.SerializeToString(deterministic=True),
            release=_release_bytes(asked, found, self._held_first(asked, decision, found)),
            boxes=self._box_rows(found),
            author=caller.key_id,
            portal=caller.portal,
            cells=asked.charge.cells,
        )
        try:
            with watcher().stage(Stage.RECORD):
                recorded = self._ledger.append_decision(event, found.sequence, asked.charge.allowances)
        except AlreadyAnswered as winner:
            stored = self._ledger.query(winner.query_id)
            if stored is None:
                raise Unavailable("The answer given a moment ago cannot be read; try again.") from winner
            return Answered(self.decision_of(stored), repeated=True)
        watcher().decided(event.dataset, event.verdict, {reason_name(reason) for reason in decision.reasons})
        return Answered(answers.with_certificate(decision, recorded.certificate))

    def _held_first(self, asked: Asked, decision: pb.Decision, found: Found) -> bool:
        """Whether a decision is the first of a version, and holds what was asked for what the data are.

        Further ones tell nothing new of the version: the source's head does not move for them.
        """
        holds = decision.verdict in (pb.VERDICT_REFUSED, pb.VERDICT_REFERRED)
        if not holds or found.sequence is None or is_not_compared(decision):
            return False
        version = asked.dataset.name, asked.dataset.version
        return version not in self._answering(asked.dataset.source)

    def record_review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        asked: Asked,
        before: release_pb2.DecisionRecord,
        decision: pb.Decision,
        found: Found = NOTHING,
    ) -> pb.Decision:
        """Append a checker's decision about a referred request.

        Raises:
            HeadMoved: others were faster.
            NotReferred: it is decided, or has no first approval where the policy wants two.
        """
        self._policies.record(asked.policy)
        if found.outcome is None:
            view = pb.CheckerView()
            view.CopyFrom(before.checker)
            view.note = request.note
        else:
            view = answers.checker_view(
                before.checker.researcher, found.computed, found.outcome, request.note
            )
            view.portal = before.checker.portal
            view.binding.extend(before.checker.binding)
        event = ReviewEvent(
            query_id=decision.query,
            source=asked.dataset.source,
            reviewer=caller.researcher,
            approve=request.approve,
            note=request.note,
            verdict=verdict_name(decision),
            answer=answers.answer_bytes(decision),
            confidential=asked.record(decision).SerializeToString(deterministic=True),
            checker=view.SerializeToString(deterministic=True),
            release=_release_bytes(asked, found),
            boxes=self._box_rows(found),
            author=caller.key_id,
        )
        second = request.approve and asked.policy.pairs_of_eyes > 1
        also = self._approvals.still_of_another(caller, request.query) if second else None
        with watcher().stage(Stage.RECORD):
            recorded = self._ledger.append_review(event, found.sequence, also)
        watcher().reviewed(asked.dataset.name, event.verdict)
        return answers.with_certificate(decision, recorded.certificate)

    def _box_rows(self, found: Found) -> tuple[BoxRow, ...]:
        """Index rows of the tables' cells, which are those of their counts."""
        indexed = [([*counts.boxes], counts.table) for counts, *_ in found.tables]
        if found.noisy is not None:
            indexed += [(noisy.table.boxes(), noisy.table) for noisy in found.noisy.tables[:1]]
        return tuple(
            BoxRow(digest(box, self._box_key), state)
            for boxes, table in indexed
            for box, state in zip(boxes, table.states.tolist(), strict=True)
            if state != State.ABSENT
        )


def record_of(stored: StoredQuery) -> release_pb2.DecisionRecord:
    """What the ledger keeps of a query, with what its checker sees where that was read and is there."""
    record = release_pb2.DecisionRecord.FromString(stored.confidential)
    if stored.checker is not None:
        record.checker.ParseFromString(stored.checker)
    if stored.checker_removed_by:
        record.checker.researcher = stored.researcher
        record.checker.note = REMOVED.format(event=stored.checker_removed_by)
    return record


def verdict_name(decision: pb.Decision) -> str:
    """The verdict's name as JSON has it."""
    return pb.Verdict.Name(decision.verdict).removeprefix("VERDICT_")


def reason_name(reason: pb.Reason) -> str:
    """The code of a reason as JSON has it."""
    return policy_pb2.ReasonCode.Name(reason.code).removeprefix("REASON_CODE_")


def _release_bytes(asked: Asked, found: Found, held_first: bool = False) -> bytes | None:
    """What became known, be it only that something is held; None where nothing did."""
    tells = found.released or found.noisy or found.exception or found.inexact or found.limit or found.fits
    if not (tells or held_first):
        return None
    return release_bytes(
        asked.dataset,
        found.released,
        found.noisy,
        found.windows,
        found.limit,
        found.equations,
        found.exception,
        found.fits,
        found.drawn,
        held=not tells,
    )
