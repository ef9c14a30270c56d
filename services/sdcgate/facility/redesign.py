"""Coarser tables in place of one that does not leave whole: judged as if they were asked, and then promised.

What is proposed tells what asking would tell, and nothing that asking would not. Which designs are tried, and
in which order, rests on public code lists alone; of each that is proposed it is told that it passes, and of
one that stands before it and is not, that it does not, or that there was no time. So that nobody learns from
a proposal what later answers do not reckon with, its whole table counts as released from then on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.facility.coarser_levels import coarser_levels
from sdcgate.facility.errors import Unavailable
from sdcgate.facility.judging import Computation, Judge
from sdcgate.facility.knowledge import Knowledge, ReleasedTable
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.plan import FigureAsked, Plan
from sdcgate.facility.ports import Pattern
from sdcgate.facility.refusals import refuse_without_data
from sdcgate.methods.cells import Facts, State, leaf_cells
from sdcgate.methods.rules import ReasonCode
from sdcgate.methods.tables.redesign import (
    Design,
    Ladder,
    code_entropy,
    collapsed,
    search_designs,
)
from sdcgate.methods.tables.redesigned_cells import finest_cells
from sdcgate.methods.tables.solver import Deadline
from sdcgate_proto.sdcgate.types.v1 import table_pb2

NOT_MENDED = frozenset({ReasonCode.MINIMUM_BASE, ReasonCode.VERSION_DIFFERENCE})
"""Reasons that hold for every table of the population."""


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """A table that leaves whole whenever it is asked."""

    plan: Plan
    released: tuple[ReleasedTable, ...] = field(repr=False)
    """What counts as known from now on."""


class NotWhole(Exception):
    """A cell of the table would have to be withheld."""


class NotJudged(Exception):
    """Whether a table leaves whole could not be told."""


class NothingWithheld:
    """Stands for the protection service: what is proposed needs none."""

    def protect_table(self, *_: object, **__: object) -> Pattern:
        """Never a pattern."""
        raise NotWhole


def takes_space(
    judge: Judge, promised: Plan, wider: Plan, before: Knowledge, after: Knowledge, left: Callable[[], float]
) -> bool:
    """Whether a promise would hold back the same counts of more people, who are not those it was asked of.

    What a researcher asks of nearly all people holds back what others ask of all of them. He pays for it, a
    promise costs nobody anything and is mostly not asked: it is not made.

    Args:
        judge: one that refuses what would have to be protected.
        promised: a table that would be known.
        wider: the same with fewer conditions.
        before: what is known without the promise.
        after: what is known with it.
        left: the seconds that are left.

    Raises:
        NotJudged: it could not be told, maybe for lack of time.
    """
    if (wider.filters, wider.valid) == (promised.filters, promised.valid):
        return False
    counts = replace(wider, figures=(FigureAsked(table_pb2.STATISTIC_UNITS),))
    computed = judge.compute(counts)

    def leaves(known: Knowledge) -> bool:
        try:
            outcome = judge.judge(counts, computed, known, left)
        except NotWhole:
            return False
        if ReasonCode.UNPROVED in outcome.codes:
            raise NotJudged
        return outcome.consequence is None

    return not leaves(after) and leaves(before)


class Redesigner:
    """Finds the least coarsenings of a table that leave whole."""

    def __init__(self, judge: Judge, answered: Callable[[Plan], bool | None]) -> None:
        """The judge is one for which `NothingWithheld` stands for the protection service.

        `answered`: whether a table that was asked before left whole; None where it was not asked.
        """
        self._judge = judge
        self._answered = answered

    def propose(
        self, plan: Plan, computed: Computation, outcome: Outcome, known: Knowledge, left: Callable[[], float]
    ) -> tuple[Proposal, ...] | None:
        """Up to three tables for the researcher; None where none are looked for, or not all could be judged.

        `known` is what has left before the outcome. What is proposed counts as released, so that later
        answers rest on it: a search that time or a service cuts short proposes nothing, and not what it had
        found.
        """
        limits = plan.policy.redesign
        if not (limits.proposals and _needed(plan, computed, outcome)):
            return None
        seconds = min(limits.time_limit_ms / 1000, left() / 2)
        return _Search(self, plan, computed, known.grown(outcome.released), Deadline(seconds)).run()

    def released_whole(
        self, plan: Plan, known: Knowledge, left: Callable[[], float]
    ) -> tuple[ReleasedTable, ...] | None:
        """What becomes known of a table all of which leaves whenever it is asked; None of another one.

        The answer of one that was asked before is what it was, and is known.

        Raises:
            NotJudged: it could not be told, maybe for lack of time.
        """
        left_whole = self._answered(plan)
        if left_whole is not None:
            return () if left_whole else None
        try:
            outcome = self._judge.judge(plan, self._judge.compute(plan), known, left)
        except NotWhole:
            return None
        if ReasonCode.UNPROVED in outcome.codes:
            raise NotJudged
        whole = outcome.consequence is None and bool((outcome.states == State.PUBLISHED).all())
        return outcome.released if whole else None

    def takes_space(self, plan: Plan, before: Knowledge, after: Knowledge, left: Callable[[], float]) -> bool:
        """Whether a promise would hold back the same table without its filter; see `takes_space`."""
        return takes_space(self._judge, plan, replace(plan, filters=()), before, after, left)


def _needed(plan: Plan, computed: Computation, outcome: Outcome) -> bool:
    """Whether a table is held for what a coarser one may mend, or has many gaps."""
    if outcome.consequence is not None:
        return not NOT_MENDED & set(outcome.codes)
    share = plan.policy.redesign.withheld_share
    asked = slice(None) if plan.margins else leaf_cells(computed.table.axes)
    withheld = outcome.states[asked] == State.WITHHELD
    return share is not None and bool(withheld.any() and withheld.mean() >= share)


class _Search:
    """The search for one table."""

    def __init__(
        self, redesigner: Redesigner, plan: Plan, computed: Computation, known: Knowledge, deadline: Deadline
    ) -> None:
        self._redesigner, self._plan, self._known, self._deadline = redesigner, plan, known, deadline
        units = computed.table.facts.units
        finest = finest_cells(computed.table.axes, Facts(units, units))
        self._units = np.asarray(finest.facts.units, dtype=np.float64).reshape(finest.shape)
        """Units of the inner cells, an axis a dimension."""
        steps = [
            coarser_levels(plan.dataset, *dimension, axis.codes)
            for dimension, axis in zip(plan.dimensions, finest.axes, strict=True)
        ]
        self._names = [dict(zip(partitions, names, strict=True)) for names, partitions in steps]
        self._ladders = [Ladder(tuple(partitions)) for _, partitions in steps]
        self._tried = 0
        self._found: list[Proposal] = []

    def run(self) -> tuple[Proposal, ...] | None:
        """What is found by judging no more than the policy allows; None if something ended it before."""
        limits = self._plan.policy.redesign
        try:
            search_designs(
                self._ladders,
                code_entropy,
                self._passes,
                limits.proposals,
                self._hopeless,
                over=lambda: self._tried >= limits.judged or self._deadline.over,
            )
        except (Unavailable, NotJudged):
            return None
        return None if self._deadline.missed else tuple(self._found)

    def _passes(self, design: Design) -> bool:
        coarser = self._coarser(design)
        if coarser is None:
            return False
        self._tried += 1
        found = self._redesigner.released_whole(coarser, self._known, self._deadline.left)
        if found is None:
            return False
        # That it would leave whole tells of its cells, and none of their figures.
        released = tuple(table.perhaps() for table in found)
        # The next are judged as if this one had left: all of them together are told.
        known = self._known.grown(released)
        if released and self._redesigner.takes_space(coarser, self._known, known, self._deadline.left):
            return False
        self._known = known
        self._found.append(Proposal(coarser, released))
        return True

    def _hopeless(self, design: Design) -> bool:
        """Whether a cell has too few units: it has at most those of its parts together."""
        rule = self._plan.policy.rules.minimum_units
        cells = collapsed(self._units, design)
        return rule is not None and bool(((cells > 0) & (cells < rule.units)).any())

    def _coarser(self, design: Design) -> Plan | None:
        """The plan of a design; None of the table itself, and of what is refused for its wording."""
        plan, kept = self._plan, []
        for place, (variable, _) in enumerate(plan.dimensions):
            level = self._names[place].get(design[place])
            if level is not None:
                kept.append((place, (variable, level)))
        layers = plan.layout.asked(len(plan.dimensions))[len(plan.rows) + len(plan.columns) :]
        groups = tuple(
            tuple(at for at, (place, _) in enumerate(kept) if place in group)
            for group in (plan.rows, plan.columns, layers)
        )
        if not plan.with_percentages:
            # What is left fills rows first, then columns; percentages rest on which is which.
            groups = (*filter(None, groups), (), ())
        rows, columns, *_ = groups
        dimensions = tuple(dimension for _, dimension in kept)
        shown = {figure.statistic for figure in plan.figures}
        lost = (table_pb2.STATISTIC_COLUMN_PERCENT in shown and not rows) or (
            table_pb2.STATISTIC_ROW_PERCENT in shown and not columns
        )
        if not dimensions or lost or dimensions == plan.dimensions:
            return None
        coarser = replace(plan, dimensions=dimensions, rows=rows, columns=columns)
        return None if refuse_without_data(coarser) is not None else coarser
