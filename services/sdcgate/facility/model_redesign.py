"""Coarser models in place of one that is held, or loses coefficients: judged as if asked, and then promised.

As with tables, which designs are tried and in which order rests on public code lists alone, and all that a
proposed model says something of counts as released from then on. A model that would leave without some of
its units, at random, is named and not promised: nothing exact becomes known of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import Computed
from sdcgate.facility.coded_measures import CodedMeasures
from sdcgate.facility.errors import Unavailable
from sdcgate.facility.fitting_room import FitFailed, FittingRoom
from sdcgate.facility.judging import Judge
from sdcgate.facility.knowledge import Knowledge, ReleasedTable
from sdcgate.facility.model_designs import ModelDesigns
from sdcgate.facility.model_plan import ModelPlan
from sdcgate.facility.models import ModelInHand, ModelOutcome, ModelWay
from sdcgate.facility.ports import RiskService
from sdcgate.facility.redesign import NOT_MENDED, NotJudged, NotWhole, takes_space
from sdcgate.facility.released_equations import ReleasedEquations
from sdcgate.methods.cells import Facts, FloatArray, State
from sdcgate.methods.rules import ReasonCode
from sdcgate.methods.tables.redesign import Design, collapsed, search_designs
from sdcgate.methods.tables.redesigned_cells import finest_cells
from sdcgate.methods.tables.solver import Deadline
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

MOST_NAMED = 3
"""Models that are named where none is judged."""
OF_FEW = frozenset({ReasonCode.MINIMUM_UNITS, ReasonCode.RESIDUAL_DEGREES, ReasonCode.SATURATED})
"""Reasons that a model tells of few people."""
MOST_LOOKED_AT = 500
"""Designs that are looked at to name them."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelProposal:
    """A model that leaves whole whenever it is asked, or one that would leave without some units."""

    request: pb.QueryModelRequest
    released: tuple[tuple[ReleasedTable, ...], ...] = field(default=(), repr=False)
    """What counts as known from now on, table after table."""
    left_out: bool = False
    equations: tuple[ReleasedEquations, ...] = field(default=(), repr=False)
    """What becomes known of the outcome's values."""


class ModelRedesigner:
    """Finds the least coarsenings of a model that leave whole."""

    def __init__(
        self,
        engine: Engine,
        judge: Judge,
        risk: RiskService,
        room: FittingRoom,
        answered: Callable[[ModelPlan], bool | None],
        coded: CodedMeasures,
    ) -> None:
        """The judge is one for which `NothingWithheld` stands for the protection service.

        `answered`: whether a model that was asked before left whole; None where it was not asked.
        """
        self._judge = judge
        self.way = ModelWay(engine, judge, judge, risk, room, coded)
        self._answered = answered

    def propose(
        self,
        hand: ModelInHand,
        request: pb.QueryModelRequest,
        outcome: ModelOutcome,
        known: Knowledge,
        left: Callable[[], float],
    ) -> tuple[ModelProposal, ...] | None:
        """Up to three models for the researcher; None where none are looked for, or not all could be judged.

        `known` is what has left before the outcome. What is promised counts as released, so that later
        answers rest on it: a search that time or a service cuts short proposes nothing.
        """
        limits = hand.plan.policy.redesign
        if not (limits.proposals and mendable(outcome) and _needed(hand.plan, outcome)):
            return None
        known = known.told_by_fits(outcome.held_fit)
        for table in outcome.known_tables:
            known = known.grown(table)
        known = replace(known, equations=(*known.equations, *outcome.equations))
        deadline = Deadline(min(limits.models_time_limit_ms / 1000, left() / 2))
        return _Search(self, hand, request, known, deadline).run()

    def judged(self, hand: ModelInHand, known: Knowledge, left: Callable[[], float]) -> ModelOutcome | None:
        """What would be decided about a model all of which leaves; None of another one.

        Raises:
            NotJudged: it could not be told, maybe for lack of time.
        """
        try:
            outcome = self.way.judge(hand, known, left)
        except NotWhole:
            return None
        if ReasonCode.UNPROVED in outcome.codes:
            raise NotJudged
        return outcome if _is_whole(outcome) else None

    def takes_space(
        self, hand: ModelInHand, before: Knowledge, after: Knowledge, left: Callable[[], float]
    ) -> bool:
        """Whether a promise of a model would hold back tables of more people; see `redesign.takes_space`.

        Of those who lack a variable that it has, and of those whom the filter leaves out.

        Raises:
            NotJudged: it could not be told, maybe for lack of time.
        """
        for implied, _ in hand.tables:
            for filters in dict.fromkeys((hand.plan.filters, ())):
                wider = replace(implied.plan, filters=filters, valid=())
                if takes_space(self._judge, implied.plan, wider, before, after, left):
                    return True
        return False

    def left_whole(self, plan: ModelPlan) -> bool | None:
        """Whether a model left whole when it was asked; None where it was not asked."""
        return self._answered(plan)


def alternatives(
    plan: ModelPlan,
    request: pb.QueryModelRequest,
    allowed: Callable[[ModelPlan], bool],
    fewer_variables: bool = False,
    of_few: bool = False,
) -> Iterator[pb.Alternative]:
    """Models that could be asked instead, from public levels only: those that lose least.

    Nobody has judged them. What loses least of a model that tells `of_few` mostly does so as well: then the
    model without interactions is among them, at the levels asked and at the coarsest ones.

    `allowed`: whether the policy has anything against a model, whatever the data are; `fewer_variables`: only
    those without one of its variables, as where one follows from another at any level.
    """
    designs = ModelDesigns(plan, request)
    found: list[pb.QueryModelRequest] = []

    def may_be_asked(design: Design) -> bool:
        coarser = designs.request(design)
        planned = None if coarser is None else designs.coarser_plan(coarser)
        if coarser is None or planned is None or coarser in found or not allowed(planned):
            return False
        if fewer_variables and _named(planned) == _named(plan):
            return False
        found.append(coarser)
        return True

    search_designs(designs.ladders, designs.entropy, may_be_asked, MOST_NAMED, most=MOST_LOOKED_AT)
    plain = [designs.without_interactions(coarsest) for coarsest in (False, True)] if of_few else []
    if not any(designs.request(design) in found for design in plain):
        del found[MOST_NAMED - len(plain) :]
        for design in plain:
            may_be_asked(design)
    yield from (pb.Alternative(model=coarser) for coarser in found)


def _named(plan: ModelPlan) -> set[str]:
    return {*plan.formula.variables, *plan.numerics}


def told(proposal: ModelProposal) -> pb.Alternative:
    """A proposal as it is told: promised, or named with what would become of it."""
    return pb.Alternative(
        model=proposal.request, judged=not proposal.left_out, units_left_out=proposal.left_out
    )


def mendable(outcome: ModelOutcome) -> bool:
    """Whether a coarser model may be what helps."""
    return not NOT_MENDED & set(outcome.codes)


def _needed(plan: ModelPlan, outcome: ModelOutcome) -> bool:
    """Whether a model is held, or has lost many coefficients."""
    if outcome.consequence is not None or outcome.withheld is None:
        return True
    share, gone = plan.policy.redesign.withheld_share, len(outcome.not_estimated)
    withheld, every = int(outcome.withheld.sum()) + gone, len(outcome.withheld) + gone
    return share is not None and withheld > 0 and withheld >= share * every


def _is_whole(outcome: ModelOutcome) -> bool:
    """Whether all of a model leaves, and so would all of its tables."""
    return (
        outcome.consequence is None
        and outcome.withheld is not None
        and not outcome.withheld.any()
        and not outcome.not_estimated
        and all(bool((table.states == State.PUBLISHED).all()) for table in outcome.outcomes)
    )


class _Search:
    """The search for one model."""

    def __init__(
        self,
        redesigner: ModelRedesigner,
        hand: ModelInHand,
        request: pb.QueryModelRequest,
        known: Knowledge,
        deadline: Deadline,
    ) -> None:
        self._redesigner, self._hand, self._known, self._deadline = redesigner, hand, known, deadline
        self._designs = ModelDesigns(hand.plan, request)
        self._units = [_units_of(computed.table) for _, computed in hand.tables]
        self._tried = 0
        self._found: list[ModelProposal] = []

    def run(self) -> tuple[ModelProposal, ...] | None:
        """What is found by judging no more than the policy allows; None if something ended it before."""
        limits = self._hand.plan.policy.redesign
        try:
            search_designs(
                self._designs.ladders,
                self._designs.entropy,
                self._passes,
                limits.proposals,
                self._hopeless,
                over=lambda: self._tried >= limits.judged or self._deadline.over,
            )
        except (Unavailable, NotJudged, FitFailed, ComputationFailed):
            return None
        return None if self._deadline.missed else tuple(self._found)

    def _passes(self, design: Design) -> bool:
        request = self._designs.request(design)
        plan = None if request is None else self._designs.coarser_plan(request)
        if request is None or plan is None or self._redesigner.way.refuse_without_data(plan) is not None:
            return False
        self._tried += 1
        before = self._redesigner.left_whole(plan)
        if before is not None:
            # The answer of one that was asked before is what it was, and is known.
            if before:
                self._found.append(ModelProposal(request))
            return before
        hand = self._in_hand(plan)
        outcome = self._redesigner.judged(hand, self._known, self._deadline.left)
        # Records of a dozen populations would fill the memory that no limit of the fitting room is about.
        hand.people = None
        if outcome is None:
            return False
        # The next are judged as if this one had left: all of them together are told.
        known = self._known
        for table in outcome.known_tables:
            known = known.grown(table)
        if known is not self._known and self._redesigner.takes_space(
            hand, self._known, known, self._deadline.left
        ):
            return False
        told = outcome.equations
        self._known = replace(known, equations=(*known.equations, *told))
        self._found.append(ModelProposal(request, outcome.known_tables, outcome.left_out, told))
        return True

    def _in_hand(self, plan: ModelPlan) -> ModelInHand:
        """Computed once, however often the head of the ledger moves."""
        key = plan.canonical()
        if key not in self._hand.coarser:
            self._hand.coarser[key] = self._redesigner.way.compute(plan)
        return self._hand.coarser[key]

    def _hopeless(self, design: Design) -> bool:
        """Whether a cell has too few units: it has at most those of its parts together."""
        rule = self._hand.plan.policy.rules.minimum_units
        if rule is None:
            return False
        return any(
            bool(((cells > 0) & (cells < rule.units)).any())
            for partitions in self._designs.tables(design)
            for cells in self._cells(partitions)
        )

    def _cells(self, partitions: dict[str, tuple[int, ...]]) -> Iterator[FloatArray]:
        """Units of each combination of categories, from the tables that the model as asked implies."""
        for names, units in self._units:
            if partitions.keys() <= set(names):
                design = tuple(
                    partitions.get(name, (0,) * size) for name, size in zip(names, units.shape, strict=True)
                )
                if all(len(one) == size for one, size in zip(design, units.shape, strict=True)):
                    yield collapsed(units, design)


def _units_of(table: Computed) -> tuple[tuple[str, ...], FloatArray]:
    """Variables of a table, and units of its inner cells, an axis a variable."""
    finest = finest_cells(table.axes, Facts(table.facts.units, table.facts.units))
    units = np.asarray(finest.facts.units, dtype=np.float64).reshape(finest.shape)
    return tuple(axis.variable for axis in finest.axes), units
