"""What a table tells of measures that it does not show, as measures add up.

Whoever has medical expenses and those for drugs and outpatient care has those for inpatient care. Once all of
such measures but one have left, a table of any of them is judged, and protected, as if it showed that one.
Until then it is not: the first who asks is told as much as ever.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Computed
from sdcgate.facility.boxes import as_if_published
from sdcgate.facility.findings import unsafe_cells
from sdcgate.facility.inspector import Inspector
from sdcgate.facility.knowledge import COUNTS, Knowledge, ReleasedTable
from sdcgate.facility.plan import Plan
from sdcgate.facility.weights import WEIGHTED_PREFIX, judged_by, with_weights
from sdcgate.methods.cells import BoolArray, FloatArray, MeasureFacts
from sdcgate.methods.rules import Finding
from sdcgate.methods.tables.problem import Problem


def partners(dataset: Dataset, measures: Sequence[str]) -> tuple[str, ...]:
    """Measures that add up with some of those asked for, and are not asked for."""
    asked = set(measures)
    together = {name for group in dataset.additive if asked & set(group) for name in group}
    return tuple(sorted(together - asked))


def implied(dataset: Dataset, measures: Sequence[str], known: Knowledge) -> tuple[str, ...]:
    """Those of which a table tells the sums: all that they add up with is asked for or has left."""
    asked = set(measures)
    left = {
        name
        for name in partners(dataset, measures)
        if not (known.of(name).empty and known.of(WEIGHTED_PREFIX + name).empty)
    }
    return tuple(
        name
        for name in partners(dataset, measures)
        if any(
            name in group and asked & set(group) and {*group} - asked - left <= {name}
            for group in dataset.additive
        )
    )


def known_by_others(
    dataset: Dataset,
    new: ReleasedTable,
    known: Knowledge,
    pulse: Callable[[], None],
    besides: Sequence[str] = (),
) -> BoolArray:
    """Cells of which a measure's sums follow from those of all others that it adds up with, shape (cells,).

    Measures `besides` are taken for known.

    Raises:
        SpanBudgetExceeded: it takes too much work to tell; or what `pulse` raises meanwhile.
    """
    found = np.zeros(len(new.boxes), dtype=np.bool_)
    measure = new.quantity.removeprefix(WEIGHTED_PREFIX)
    prefix = WEIGHTED_PREFIX if measure != new.quantity else ""
    for group in dataset.additive:
        others = [known.of(prefix + name) for name in group if name not in (measure, *besides)]
        if measure in group and not any(other.empty for other in others):
            cells = [other.published.among(new.boxes) | other.derivable(new, pulse) for other in others]
            found |= np.all(cells, axis=0) if cells else True
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Implied:
    """Measures that a table tells of without showing them."""

    names: tuple[str, ...] = ()
    unsafe: BoolArray | None = field(default=None, repr=False)
    """Cells that break a rule in one of them, or were withheld in it before; None where there are none."""
    findings: tuple[Finding, ...] = field(default=(), repr=False)
    tables: tuple[ReleasedTable, ...] = field(default=(), repr=False)
    """What the table would be if it showed them, as though all of it left."""
    amounts: FloatArray | None = field(default=None, repr=False)
    """The largest absolute sum in each cell of any of them that follows from the table's own; else 0.

    Shape (2, cells): without weights and with them.
    """

    def widened(self, problem: Problem, plan: Plan) -> Problem:
        """A problem in which sums of the cells are as uncertain as those implied must be.

        With the whole known, the last part can be as much less as this one can be more.
        """
        if self.unsafe is None or self.amounts is None:
            return problem
        levels = np.where(self.unsafe, plan.policy.sum_width * self.amounts, 0.0)
        names = [judged_by(one.name, _weighted_apart(plan)) for one in problem.facts.measures]
        asked = np.array([name in plan.measures for name in names], dtype=np.bool_)
        weighted = [one.name.startswith(WEIGHTED_PREFIX) for one in problem.facts.measures]
        level = levels[np.array(weighted, dtype=np.int64)]
        nothing = np.zeros_like(level)
        upper = nothing if problem.upper_levels is None else problem.upper_levels
        lower = nothing if problem.lower_levels is None else problem.lower_levels
        wanted = np.where(asked[:, None], np.maximum(upper, level), upper)
        return replace(problem, upper_levels=wanted, lower_levels=lower)


NOTHING_IMPLIED = Implied()


def judge_implied(
    plan: Plan,
    computed: Computed,
    beside: Callable[[Sequence[str]], Sequence[MeasureFacts]],
    known: Knowledge,
    inspector: Inspector,
) -> Implied:
    """What must not leave of a table for the sake of measures that it implies.

    Args:
        plan: the table.
        computed: its cells.
        beside: computes facts of measures for its cells.
        known: what has left.
        inspector: judges cells by the rules of cells.

    Raises:
        SpanBudgetExceeded: it takes too much work to tell.
    """
    names = implied(plan.dataset, plan.measures, known)
    if not names:
        return NOTHING_IMPLIED
    facts = replace(computed.facts, measures=tuple(beside(names)))
    findings = tuple(one for one in inspector.judge(facts) if one.measure in names)
    unsafe, amounts = unsafe_cells(findings, len(facts)), np.zeros((2, len(facts)))
    apart = _weighted_apart(plan)
    shown = as_if_published(plan, computed.axes, with_weights(plan, facts) if apart else facts)
    shown = [table for table in shown if table.quantity == COUNTS or judged_by(table.quantity, apart)]
    for table in shown:
        for measure in table.facts.measures:
            unsafe |= known.of(measure.name).withheld_before(table)
            follows = known_by_others(plan.dataset, table, known, inspector.pulse, plan.measures)
            of = int(table.quantity.startswith(WEIGHTED_PREFIX))
            amounts[of] = np.maximum(amounts[of], np.where(follows, np.abs(measure.sums), 0.0))
    tables = tuple(table for table in shown if judged_by(table.quantity, apart) in names)
    return Implied(names, unsafe, findings, tables, amounts)


def _weighted_apart(plan: Plan) -> bool:
    """Whether sums with weights leave, or are known, without plain ones; see `judged_by`."""
    return plan.policy.rules.contributions.weighted
