"""Group disclosure by a filter: a condition on a sensitive variable is a category of it, asked for alone.

What several conditions tell together, the whole variable tells: so a table under one is judged as if it
showed the variable, and in whatever order and by whatever levels it is asked, the same lines are withheld.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import CellQuery, Computed, Condition
from sdcgate.engine.structural_zeros import structural_zeros
from sdcgate.facility.plan import Plan
from sdcgate.facility.protection import empty_codes
from sdcgate.methods.cells import MISSING, TOTAL, Axis, BoolArray, Facts, IntArray, shape_of
from sdcgate.methods.rules import Finding, ReasonCode
from sdcgate.methods.tables.group_disclosure import group_disclosing
from sdcgate.methods.tables.sensitivity import CLOSE


@dataclass(frozen=True, slots=True, eq=False)
class Unfiltered:
    """What the conditions on sensitive variables are seen against."""

    units: IntArray | None = field(repr=False)
    """Units of the cells without the conditions on variables that are no dimensions; None without any."""
    shown: tuple[tuple[Condition, Computed], ...] = field(repr=False)
    """Each condition with the table that shows its variable instead, the last dimension if it was none."""
    known: BoolArray | None = field(default=None, repr=False)
    """Cells of which everybody knows that who is in them fulfils these conditions; None where of none."""

    def had_by_nobody(self, axes: tuple[Axis, ...]) -> BoolArray | None:
        """Cells of codes that nobody has without the conditions either, shape (cells,); None without any.

        That nobody of a code fulfils them tells of all who have it.
        """
        if not self.shown:
            return None
        # Of each condition the last table is the one without all others.
        _, table = self.shown[-1]
        empty = empty_codes(table.axes, table.facts.units).reshape(shape_of(table.axes))
        places = [
            [shown.codes.index(code) for code in mine.codes]
            for mine, shown in zip(axes, table.axes, strict=False)
        ]
        # By the condition's own variable, where this table does not show it, all together.
        places += [[shown.codes.index(TOTAL)] for shown in table.axes[len(axes) :]]
        return empty[np.ix_(*places)].reshape(-1)


def unfiltered(plan: Plan, compute: Callable[[CellQuery], Computed]) -> Unfiltered:
    """The tables that the conditions on sensitive variables take parts of; `compute` is the engine's."""
    conditions = sensitive_conditions(plan)
    hidden = tuple(c for c in conditions if not _is_dimension(plan, c))
    others = tuple(condition for condition in plan.filters if condition not in hidden)

    def table(dimensions: tuple[tuple[str, str], ...], filters: tuple[Condition, ...]) -> Computed:
        return compute(CellQuery(dimensions, filters, (), 1, valid=plan.valid))

    shown = []
    for condition in conditions if plan.policy.rules.group_disclosure is not None else ():
        mine = () if _is_dimension(plan, condition) else ((condition.variable, condition.level),)
        kept = tuple(other for other in plan.filters if other.variable != condition.variable)
        bare = tuple(other for other in kept if other not in conditions)
        dimensions = (*plan.dimensions, *mine)
        shown += [(condition, table(dimensions, those)) for those in dict.fromkeys((kept, bare))]
    if not hidden:
        return Unfiltered(None, tuple(shown))
    whole = table(plan.dimensions, others)
    known = _known_to_fulfil(plan.dataset, whole.axes, hidden, others)
    return Unfiltered(whole.facts.units, tuple(shown), known)


def _known_to_fulfil(
    dataset: Dataset, axes: tuple[Axis, ...], conditions: Iterable[Condition], others: tuple[Condition, ...]
) -> BoolArray | None:
    """Cells whose codes exclude what conditions leave out, shape (cells,); None where nothing is declared."""
    known = None
    for one in conditions:
        left_out = [code for code in dataset.level(one.variable, one.level).codes if code not in one.codes]
        contrary = replace(one, codes=tuple(code for code in left_out if code != MISSING))
        impossible = structural_zeros(dataset, axes, (*others, contrary))
        if impossible is None:
            return None
        known = impossible if known is None else known & impossible
    return known


def sensitive_conditions(plan: Plan) -> tuple[Condition, ...]:
    """Conditions on sensitive variables; that a value is known tells nothing of it."""
    return tuple(
        condition
        for condition in plan.filters
        if plan.dataset.sensitive(condition.variable) and not _any_value(plan, condition)
    )


def _is_dimension(plan: Plan, condition: Condition) -> bool:
    return any(variable == condition.variable for variable, _ in plan.dimensions)


def _any_value(plan: Plan, condition: Condition) -> bool:
    level = plan.dataset.level(condition.variable, condition.level)
    return set(level.codes) - {MISSING} <= set(condition.codes)


def group_disclosing_filters(plan: Plan, computed: Computed, without: Unfiltered) -> list[Finding]:
    """Cells of which a condition on a sensitive variable tells what (nearly) all of the group have in common.

    The condition and its contrary are the two categories of a line whose total is the group without it, and
    the variable's codes are a line of the table that shows it.
    """
    rule = plan.policy.rules.group_disclosure
    if rule is None:
        return []
    unsafe = _by_contrary(plan, computed.facts, without, rule.share)
    for condition, table in without.shown:
        unsafe |= _by_line(computed, condition, table, rule.share)
    cells = np.flatnonzero(unsafe)
    if not len(cells):
        return []
    return [
        Finding(ReasonCode.GROUP_DISCLOSURE, rule.consequence, tuple(cells.tolist()), "", 0.0, rule.share)
    ]


def _by_contrary(plan: Plan, facts: Facts, without: Unfiltered, share: float) -> BoolArray:
    """Cells that (nearly) all of the group are in, or are not in, and not by necessity; shape (cells,)."""
    units, nobody = without.units, np.zeros(len(facts), dtype=np.bool_)
    if units is None:
        return nobody
    harm_inside = harm_outside = False
    for condition in sensitive_conditions(plan):
        if not _is_dimension(plan, condition):
            level = plan.dataset.level(condition.variable, condition.level)
            harmless = {MISSING, *plan.dataset.harmless(condition.variable, condition.level)}
            harm_inside |= any(code not in harmless for code in condition.codes)
            harm_outside |= any(code not in harmless and code not in condition.codes for code in level.codes)
    least = share * units * (1 - CLOSE)
    known_inside = nobody if without.known is None else without.known
    known_outside = nobody if facts.structural_zeros is None else facts.structural_zeros
    inside = (facts.units >= least) & harm_inside & ~known_inside
    outside = (units - facts.units >= least) & harm_outside & ~known_outside
    unsafe: BoolArray = (units > 0) & (inside | outside)
    return unsafe


def _by_line(computed: Computed, condition: Condition, table: Computed, share: float) -> BoolArray:
    """Cells in lines that a table discloses in which the condition's variable is shown, shape (cells,)."""
    place = next(p for p, axis in enumerate(table.axes) if axis.variable == condition.variable)
    judged = tuple(replace(axis, sensitive=p == place) for p, axis in enumerate(table.axes))
    facts = table.facts
    found = group_disclosing(judged, facts.units, share, facts.structural_zeros).reshape(shape_of(table.axes))
    lines = np.asarray(found.any(axis=place, keepdims=True))
    if len(table.axes) > len(computed.axes):
        lines, place = lines[..., 0], len(computed.axes)
    for number, (mine, shown) in enumerate(zip(computed.axes, table.axes, strict=False)):
        # Under the condition the variable itself has fewer codes, of which all are in its line.
        if number != place:
            lines = _of_codes(lines, number, mine.codes, shown.codes)
    told: BoolArray = np.broadcast_to(lines, shape_of(computed.axes)).reshape(-1)
    return told


def _of_codes(lines: BoolArray, axis: int, mine: tuple[str, ...], shown: tuple[str, ...]) -> BoolArray:
    """Lines of some of the codes that an axis shows, as another condition leaves fewer of its variable.

    Their total is another group then: it is told where the total of all codes is, or each of them.
    """
    if mine == shown:
        return lines
    places = {code: place for place, code in enumerate(shown)}
    found: BoolArray = np.take(lines, [places[code] for code in mine], axis=axis)
    if TOTAL in mine and len(mine) > 1:
        total = mine.index(TOTAL)
        parts = np.delete(found, total, axis=axis)
        at = (slice(None),) * axis + (total,)
        found[at] |= parts.all(axis=axis)
    return found
