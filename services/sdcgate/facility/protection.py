"""Steps 6 and 7 of the way: a pattern of withheld cells, and the proof of exactly what is about to leave.

The protection service only proposes. The facility checks its witnesses itself, asks the engine what the
withheld cells of a line are together (their union can be computed from its total), and starts again with more
cells withheld until nothing unsafe can be formed; otherwise the table is not proved and does not leave.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.queries import Computed, Region
from sdcgate.facility.boxes import COUNTS, box_table
from sdcgate.facility.differencing import Inspector
from sdcgate.facility.figures import denominators
from sdcgate.facility.plan import Plan
from sdcgate.facility.ports import Pattern, ProtectionService, nothing_withheld
from sdcgate.methods.cells import (
    BoolArray,
    Facts,
    IntArray,
    State,
    additive_relations,
)
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.differences import line_residuals
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.witnesses import verify

ROUNDS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Protected:
    """The states in which cells may leave, and whether that is proved."""

    states: IntArray = field(repr=False)
    proved: bool = False


def make_problem(
    plan: Plan,
    computed: Computed,
    facts: Facts,
    known: Mapping[str, BoolArray],
    absent: BoolArray,
    known_sums: tuple[IntArray, ...],
) -> Problem:
    """What an intruder can know of the table, quantity by quantity, and how uncertain he must stay."""
    policy = plan.policy
    return Problem(
        axes=computed.axes,
        facts=facts,
        units_additive=computed.units_additive,
        count_width=policy.count_width,
        sum_width=policy.sum_width,
        zeros_withheld=policy.zeros_withheld,
        records_per_unit=plan.dataset.records_per_unit,
        known=known[COUNTS],
        known_measures=np.array([known[measure.name] for measure in facts.measures], dtype=np.bool_).reshape(
            len(facts.measures), len(facts)
        ),
        absent=absent,
        known_sums=known_sums,
    )


def protect(
    plan: Plan,
    problem: Problem,
    unsafe: BoolArray,
    service: ProtectionService,
    inspector: Inspector,
    remaining: Callable[[], float],
) -> Protected:
    """Withhold the unsafe cells and what would reveal them, until nothing unsafe can be formed."""
    must = unsafe & ~problem.absent
    shares = denominators(problem.axes, plan)
    for _ in range(ROUNDS):
        pattern = _pattern(problem, must, plan, service, remaining)
        withheld = (pattern.withheld | must) & ~problem.absent
        # A percentage leaves only with its numerator and its denominator.
        lost = withheld | (withheld[shares].any(axis=0) if len(shares) else np.zeros_like(withheld))
        grown = (lost & ~withheld & ~problem.absent) | _residuals_to_break(plan, problem, lost, inspector)
        if not grown.any():
            return Protected(_states(withheld, problem.absent), _proved(problem, withheld, pattern))
        if not (grown & ~withheld & ~problem.known).any():
            break
        must = withheld | grown
    return Protected(_states(must, problem.absent), proved=False)


def _pattern(
    problem: Problem,
    must: BoolArray,
    plan: Plan,
    service: ProtectionService,
    remaining: Callable[[], float],
) -> Pattern:
    if not must.any():
        return nothing_withheld(len(must))
    limit = min(plan.policy.protection_time_limit_ms / 1000.0, max(remaining() - 0.5, 0.05))
    return service.protect_table(problem, must, limit, remaining())


def _proved(problem: Problem, withheld: BoolArray, pattern: Pattern) -> bool:
    """Check the witnesses here: what the service says of its own pattern counts for nothing."""
    if not withheld.any():
        return True
    if pattern.proof is not Proof.PROVED or pattern.witnesses is None:
        return False
    return not verify(problem, withheld, pattern.witnesses).any()


def _residuals_to_break(plan: Plan, problem: Problem, withheld: BoolArray, inspector: Inspector) -> BoolArray:
    """For each line whose withheld cells together are unsafe: one more cell of the line to withhold."""
    chosen = np.zeros_like(withheld)
    unknown = (withheld | problem.absent) & ~problem.known
    residuals = [
        (parent, parts)
        for parent, parts in line_residuals(problem.axes, unknown)
        if len(parts) > 1 and not _surely_safe(problem.facts, parts, inspector.rules)
    ]
    if not residuals:
        return chosen
    table = box_table(plan, problem.axes, problem.facts, _states(withheld, problem.absent))
    regions = [Region(inside=tuple(table.box(int(p)) for p in parts), outside=()) for _, parts in residuals]
    unsafe = inspector.unsafe(regions, plan.measures)
    for place in np.flatnonzero(unsafe):
        parent, parts = residuals[place]
        chosen[_cell_to_add(problem, withheld, parent, parts)] = True
    return chosen


def _cell_to_add(problem: Problem, withheld: BoolArray, parent: int, parts: IntArray) -> int:
    """The cheapest shown cell of the line; its total where there is none."""
    lines = additive_relations(problem.axes)
    for relation in np.flatnonzero(lines.parents == parent):
        line = lines.parts(int(relation))
        if not np.isin(parts, line).all():
            continue
        free = line[~withheld[line] & ~problem.known[line] & ~problem.absent[line]]
        free = free[problem.facts.records[free] > 0]
        if len(free):
            return int(free[np.argmin(problem.facts.records[free])])
    return parent


def _surely_safe(facts: Facts, parts: IntArray, rules: Rules) -> bool:
    """A union with a part that is safe alone is safe in units and households; measures need the engine."""
    if facts.measures:
        return False
    units = rules.minimum_units is None or facts.units[parts].max() >= rules.minimum_units.units
    if rules.minimum_households is None or facts.households is None:
        return bool(units)
    most = facts.households[parts].max()
    return bool(units and most >= rules.minimum_households.households * (1 + 1e-9))


def _states(withheld: BoolArray, absent: BoolArray) -> IntArray:
    states = np.full(len(withheld), State.PUBLISHED, dtype=np.int64)
    states[withheld] = State.WITHHELD
    states[absent] = State.ABSENT
    return states
