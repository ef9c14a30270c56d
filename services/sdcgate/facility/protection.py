"""Steps 6 and 7 of the way: a pattern of withheld cells, and the proof of exactly what is about to leave.

The protection service only proposes. The facility checks its witnesses itself, asks the engine what the
withheld cells of a line are together (their union can be computed from its total), and starts again with more
cells withheld until nothing unsafe can be formed; otherwise the table is not proved and does not leave.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.queries import Computed, Region
from sdcgate.facility.boxes import box_table
from sdcgate.facility.figures import denominators
from sdcgate.facility.inspector import Inspector
from sdcgate.facility.knowledge import COUNTS
from sdcgate.facility.panels import most_records
from sdcgate.facility.plan import Plan
from sdcgate.facility.ports import Pattern, ProtectionService, answered_in, nothing_withheld
from sdcgate.facility.unions import surely_safe
from sdcgate.facility.watching import Stage, watcher
from sdcgate.facility.weights import WEIGHTED_PREFIX, judged_by
from sdcgate.methods.cells import (
    MISSING,
    Axis,
    BoolArray,
    Facts,
    FloatArray,
    IntArray,
    MeasureFacts,
    State,
    additive_relations,
    shape_of,
)
from sdcgate.methods.rules import Finding
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.differences import line_residuals
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.witnesses import Witnesses, verify

ROUNDS = 12
MOST_COUNTED = 10_000
"""Cells in all unions that are counted at once, to find those that make the withheld ones of a line safe."""


@dataclass(frozen=True, slots=True, eq=False)
class Protected:
    """Which cells of a table are withheld, each shape (cells,), and whether that is proved."""

    secret: BoolArray = field(repr=False)
    """Withheld cells of which nobody may learn more."""
    marked: BoolArray = field(repr=False)
    """All withheld cells: the secret ones and shares of them, which count as known all the same."""
    proved: bool = False
    witnesses: Witnesses | None = field(default=None, repr=False)
    """Of the last pattern that was proved on the way here."""
    impossible: bool = False
    """Whether the protection service found that no pattern protects these cells: a reason to refuse, only."""
    in_time: bool = True
    """Whether it came to an end before the clock did."""


def make_problem(
    plan: Plan,
    computed: Computed,
    facts: Facts,
    known: Mapping[str, BoolArray],
    known_sums: Mapping[str, tuple[IntArray, ...]],
    costs: FloatArray,
    findings: Sequence[Finding] = (),
) -> Problem:
    """What an intruder can know of the table, quantity by quantity, and how uncertain he must stay.

    All totals are in it, asked for or not. Of the sums of unsafe cells the levels of `findings` are required
    where the policy says so.
    """
    policy = plan.policy
    # Of a panel in which all are in every wave totals tell each wave. Where they are neither asked nor known
    # the joint audit looks for that once they are. Statistics and models show no count.
    told = plan.margins or bool((known[COUNTS] & (facts.records > 0)).any())
    in_waves = told and not plan.beneath
    upper, lower = None, None
    if policy.levels_of_rules:
        weighted = policy.rules.contributions.weighted and plan.only_weighted
        upper, lower = sum_levels(facts, findings, WEIGHTED_PREFIX if weighted else "")
    return Problem(
        axes=computed.axes,
        facts=facts,
        units_additive=computed.units_additive,
        varying_axes=computed.varying,
        count_width=policy.count_width,
        sum_width=policy.sum_width,
        zeros_withheld=policy.zeros_withheld,
        records_per_unit=plan.dataset.records_per_unit,
        most_records=most_records(plan, computed.axes) if in_waves else None,
        known=known[COUNTS],
        known_measures=np.array([known[measure.name] for measure in facts.measures], dtype=np.bool_).reshape(
            len(facts.measures), len(facts)
        ),
        absent=np.zeros(len(facts), dtype=np.bool_),
        known_sums=known_sums[COUNTS],
        known_measure_sums=tuple(known_sums[measure.name] for measure in facts.measures),
        costs=costs,
        upper_levels=upper,
        lower_levels=lower,
    )


def sum_levels(facts: Facts, findings: Sequence[Finding], prefix: str = "") -> tuple[FloatArray, FloatArray]:
    """Levels above and below each measure's sums that rules ask of its cells, (measures, cells) each.

    They are the strictest of all rules that a cell breaks. With the `prefix` of weighted figures they are of
    these, as weighted contributions were judged.
    """
    shape = (len(facts.measures), len(facts))
    upper, lower = np.zeros(shape), np.zeros(shape)
    places = {measure.name: place for place, measure in enumerate(facts.measures)}
    for finding in findings:
        place, cells = places.get(prefix + finding.measure), list(finding.cells)
        if place is None:
            continue
        for side, levels in ((upper, finding.levels.upper), (lower, finding.levels.lower)):
            if levels:
                side[place, cells] = np.maximum(side[place, cells], levels)
    return upper, lower


def empty_codes(
    axes: tuple[Axis, ...], counts: IntArray, structural_zeros: BoolArray | None = None
) -> BoolArray:
    """Cells of codes that nobody in the table has: they stay zeros that everybody sees, shape (cells,).

    That nobody has a sensitive code tells something of everybody; that nobody's is missing does not, nor that
    nobody has codes that exclude each other (`structural_zeros`).
    """
    shape = shape_of(axes)
    counts = counts.reshape(shape)
    empty = np.zeros(shape, dtype=np.bool_)
    for position, axis_here in enumerate(axes):
        others = tuple(axis for axis in range(len(axes)) if axis != position)
        nobody = counts.sum(axis=others) == 0
        if axis_here.sensitive:
            nobody &= np.array([code == MISSING for code in axis_here.codes])
        empty |= nobody.reshape([-1 if axis == position else 1 for axis in range(len(axes))])
    return empty.reshape(-1) if structural_zeros is None else empty.reshape(-1) | structural_zeros


def protect(
    plan: Plan,
    problem: Problem,
    unsafe: BoolArray,
    service: ProtectionService,
    inspector: Inspector,
    remaining: Callable[[], float],
    witnesses: Witnesses | None = None,
) -> Protected:
    """Withhold the unsafe cells and what would reveal them, until nothing unsafe can be formed.

    `witnesses` are of an earlier pattern that these cells go beyond.
    """
    must, known, impossible, in_time = unsafe, problem.wholly_known, False, True
    for _ in range(ROUNDS):
        pattern = _pattern(problem, must & ~known, plan, service, remaining, witnesses)
        withheld = pattern.withheld | must
        if pattern.proof is not Proof.PROVED:
            impossible, in_time = pattern.proof is Proof.REFUTED, pattern.in_time
            break
        witnesses = pattern.witnesses
        residuals = _residuals_to_break(plan, problem, withheld, inspector)
        if not residuals.any():
            # What everybody knows needs no proof, and with its mark it tells nothing more.
            proved = _proved(problem, withheld & ~known, pattern)
            marked = _with_shares(withheld, denominators(problem.axes, plan.layout))
            return Protected(withheld, marked, proved, witnesses)
        if not (residuals & ~withheld & ~known).any():
            break
        must = withheld | residuals
    return Protected(must, must, impossible=impossible, in_time=in_time)


def as_before(plan: Plan, problem: Problem, withheld: BoolArray) -> Protected:
    """The same cells withheld as before, with the shares of them, where nothing else would leave."""
    return Protected(withheld, _with_shares(withheld, denominators(problem.axes, plan.layout)), proved=True)


def _with_shares(withheld: BoolArray, shares: IntArray) -> BoolArray:
    """Withheld cells and those whose percentage would be one of them: it leaves only with its denominator."""
    if len(shares) == 0:
        return withheld
    while not np.array_equal(withheld, more := withheld | withheld[shares].any(axis=0)):
        withheld = more
    return withheld


def _pattern(
    problem: Problem,
    must: BoolArray,
    plan: Plan,
    service: ProtectionService,
    remaining: Callable[[], float],
    witnesses: Witnesses | None,
) -> Pattern:
    if not must.any():
        return nothing_withheld(len(must))
    if np.any(problem.facts.units < problem.floors(must)):
        # An empty cell cannot be withheld where zeros are published, and the service takes no such problem.
        return Pattern(must, Proof.UNPROVED, None)
    with watcher().stage(Stage.PROTECT):
        # The policy's time, whatever is left of the caller's: it is what patterns depend on.
        return service.protect_table(
            problem, must, _seconds(plan), remaining(), witnesses, plan.policy.protection_effort_ms
        )


def _seconds(plan: Plan) -> float:
    """What the policy allows a proof."""
    return plan.policy.protection_time_limit_ms / 1000.0


def seconds_to_prove(plan: Plan, remaining: Callable[[], float]) -> float:
    """What the policy allows a proof, and no more than leaves time for the answer."""
    return min(_seconds(plan), answered_in(remaining()))


def _proved(problem: Problem, withheld: BoolArray, pattern: Pattern) -> bool:
    """Check the witnesses here: what the service says of its own pattern counts for nothing."""
    if not withheld.any():
        return True
    if pattern.proof is not Proof.PROVED or pattern.witnesses is None:
        return False
    return not verify(problem, withheld, pattern.witnesses).any()


def _residuals_to_break(plan: Plan, problem: Problem, withheld: BoolArray, inspector: Inspector) -> BoolArray:
    """For each line whose withheld cells together are unsafe: one more cell of the line to withhold.

    Quantity by quantity: where a line's total is not known in a measure, nothing of it can be subtracted.
    """
    chosen = np.zeros_like(withheld)
    unknown = problem.unknown_quantities(withheld)
    measures: list[tuple[int, tuple[MeasureFacts, ...]]] = [(0, ())]
    weighted_apart = plan.policy.rules.contributions.weighted
    by_name = {measure.name: measure for measure in problem.facts.measures}
    measures += [
        (place, (by_name[of],))
        for place, name in enumerate(by_name, start=2)
        if (of := judged_by(name, weighted_apart))
    ]
    everything = np.full(len(withheld), State.PUBLISHED, dtype=np.int64)
    table = box_table(plan, problem.axes, problem.facts, everything)
    for row, judged in measures:
        residuals = [
            (parent, parts)
            for parent, parts in line_residuals(problem.axes, unknown[row])
            if len(parts) > 1 and not _sure(problem, table, parts, judged, inspector)
        ]
        regions = [_union(table, parts) for _, parts in residuals]
        unsafe = inspector.unsafe(regions, [measure.name for measure in judged])
        broken = [residuals[place] for place in np.flatnonzero(unsafe)]
        chosen[_cells_to_add(problem, withheld, broken, judged, table, inspector)] = True
    return chosen


def _sure(
    problem: Problem,
    table: BoxTable,
    parts: IntArray,
    measures: Sequence[MeasureFacts],
    inspector: Inspector,
) -> bool:
    """Whether the union of some cells need not be counted."""
    groups = inspector.groups
    if inspector.also or (groups and any(groups.restricts(table.box(int(cell))) for cell in parts)):
        return False
    return surely_safe(problem.facts, parts, measures, inspector.rules)


def _union(table: BoxTable, cells: IntArray) -> Region:
    """The records of some cells together."""
    return Region(inside=tuple(table.box(int(cell)) for cell in cells), outside=())


def _cells_to_add(
    problem: Problem,
    withheld: BoolArray,
    lines: Sequence[tuple[int, IntArray]],
    measures: tuple[MeasureFacts, ...],
    table: BoxTable,
    inspector: Inspector,
) -> list[int]:
    """For each line, a parent and its withheld parts, the cheapest cell that makes these parts safe together.

    Where none does the cheapest is the first step; where none is left to withhold, the total.
    """
    chosen: list[int] = []
    to_count: list[tuple[IntArray, IntArray]] = []
    for parent, parts in lines:
        free = _free_cells(problem, withheld, parent, parts)
        first_is_enough = _sure(problem, table, np.append(parts, free[:1]), measures, inspector)
        if len(free) < 2 or first_is_enough:
            chosen.append(int(free[0]) if len(free) else parent)
        else:
            to_count.append((parts, free))
    most = max(MOST_COUNTED // max(sum(len(parts) + 1 for parts, _ in to_count), 1), 1)
    to_count = [(parts, free[:most]) for parts, free in to_count]
    regions = [_union(table, np.append(parts, cell)) for parts, free in to_count for cell in free]
    unsafe = inspector.unsafe(regions, [measure.name for measure in measures])
    ends = np.cumsum([len(free) for _, free in to_count])[:-1]
    for (_, free), wrong in zip(to_count, np.split(unsafe, ends), strict=False):
        chosen.append(int(free[np.argmin(wrong)]))
    return chosen


def _free_cells(problem: Problem, withheld: BoolArray, parent: int, parts: IntArray) -> IntArray:
    """Cells of the line that are shown and hold somebody, the cheapest first."""
    lines = additive_relations(problem.axes)
    for relation in np.flatnonzero(lines.parents == parent):
        line = lines.parts(int(relation))
        if not np.isin(parts, line).all():
            continue
        free = line[~withheld[line] & ~problem.wholly_known[line]]
        free = free[problem.facts.records[free] > 0]
        if len(free):
            return free[np.argsort(problem.prices[free], kind="stable")]
    return np.zeros(0, dtype=np.int64)
