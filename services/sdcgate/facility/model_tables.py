"""The tables that a model implies, judged one after the other as if they left, and what they withhold."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import CellQuery
from sdcgate.facility.boxes import as_if_published
from sdcgate.facility.judging import Computation, Judge
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.model_plan import ImpliedTable, Level, ModelPlan, implied_tables
from sdcgate.facility.outcomes import Outcome
from sdcgate.facility.redesign import NotWhole
from sdcgate.methods.cells import MISSING, TOTAL, Axis, BoolArray, IntArray, State, shape_of
from sdcgate.methods.outputs.design import Column, Indicator
from sdcgate.methods.outputs.formula import Factor, Numeric
from sdcgate.methods.outputs.model_facts import ModelFacts
from sdcgate.methods.rules import Consequence, ReasonCode

References = Mapping[Level, str]
"""The code that the coefficients of a variable's level are relative to."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedTable:
    """An implied table with the states that its cells would leave in."""

    implied: ImpliedTable
    axes: tuple[Axis, ...]
    states: IntArray = field(repr=False)
    units: IntArray = field(repr=False)

    def withholds(self, codes: Mapping[str, Sequence[str]]) -> bool:
        """Whether a cell is withheld among the products of these codes; of other variables the total."""
        at = [
            [axis.codes.index(code) for code in codes.get(axis.variable, (TOTAL,)) if code in axis.codes]
            for axis in self.axes
        ]
        chosen = self.states.reshape(shape_of(self.axes))[np.ix_(*at)]
        return bool((chosen == State.WITHHELD).any())


def compute_tables(engine: Engine, judge: Judge, plan: ModelPlan) -> list[tuple[ImpliedTable, Computation]]:
    """The cells of all tables that a model implies."""
    lacking = lacked_measures(engine, plan)
    tables = implied_tables(plan, lacking)
    computed = judge.compute_together([table.plan for table in tables])
    return list(zip(tables, computed, strict=True))


def lacked_measures(engine: Engine, plan: ModelPlan) -> tuple[str, ...]:
    """The formula's measures that a record of the population lacks: a condition that all meet is none."""
    # What every record of the dataset has need not be counted in a part of them.
    measures = tuple(name for name in plan.valid if plan.dataset.profiles[name].has_missing)
    if not measures:
        return ()
    total = engine.compute(plan.dataset, CellQuery((), plan.population, measures, 1)).facts
    return tuple(m.name for m in total.measures if (m.valid_records != total.records).any())


def judge_tables(
    judge: Judge,
    whole: Judge,
    tables: Sequence[tuple[ImpliedTable, Computation]],
    known: Knowledge,
    left: Callable[[], float],
    approved: bool,
) -> tuple[list[Outcome], list[JudgedTable]]:
    """Judge each as if those before it had left; ends at the first that is held.

    Only the table of one factor may lose cells: of another no pattern is looked for, as with any the model is
    refused. `whole` is a judge that refuses what would have to be protected. Tables of two terms together are
    among the outcomes alone: no coefficient is one of their cells.
    """
    outcomes: list[Outcome] = []
    judged: list[JudgedTable] = []
    for implied, computed in tables:
        mine = judge if len(implied.factors) == 1 else whole
        try:
            outcome = mine.judge(implied.plan, computed, known, left, approved)
        except NotWhole:
            findings = mine.findings(implied.plan, computed, left)
            nothing = np.zeros(0, dtype=np.int64)
            outcome = Outcome(Consequence.REFUSE, (ReasonCode.MINIMUM_UNITS,), nothing, findings)
        if implied.crossed and outcome.consequence is None and (outcome.states == State.WITHHELD).any():
            # It was asked before, and nothing new is told by what it withholds; estimates would tell that.
            outcome = Outcome(
                Consequence.REFUSE, (ReasonCode.MINIMUM_UNITS,), outcome.states, outcome.findings
            )
        outcomes.append(outcome)
        if outcome.consequence is not None:
            break
        known = known.grown(outcome.released)
        table = computed.table
        if not implied.crossed:
            judged.append(JudgedTable(implied, table.axes, outcome.states, table.facts.units))
    return outcomes, judged


def only_differencing(
    whole: Judge, table: tuple[ImpliedTable, Computation], known: Knowledge, left: Callable[[], float]
) -> JudgedTable | None:
    """The table as if all of it left, where no rule but the comparison with earlier answers holds it."""
    implied, computed = table
    try:
        outcome = whole.judge(implied.plan, computed, known, left)
    except NotWhole:
        return None
    rules = {finding.rule for finding in outcome.findings} | set(outcome.codes)
    if rules - {ReasonCode.DIFFERENCING} or (outcome.states == State.WITHHELD).any():
        return None
    states = np.full(len(computed.table.facts), State.PUBLISHED, dtype=np.int64)
    return JudgedTable(implied, computed.table.axes, states, computed.table.facts.units)


def population_of(table: tuple[ImpliedTable, Computation]) -> tuple[int, int]:
    """Records and mark of the people of an implied table, who are those of the model."""
    implied, computed = table
    counts, *_ = as_if_published(implied.plan, computed.table.axes, computed.table.facts)
    return counts.populations()[-1]


def choose_references(judged: Sequence[JudgedTable], named: References) -> dict[Level, str]:
    """For each factor the code named, otherwise the first that somebody has and that no table withholds."""
    found = dict(named)
    for table in judged:
        for level in table.implied.factors:
            if level in found:
                continue
            axis = next(axis for axis in table.axes if axis.variable == level[0])
            present = _present(table, axis)
            shown = [code for code in present if not any(_withholds_code(t, level, code) for t in judged)]
            found[level] = (shown or present or [""])[0]
    return found


def codes_told(judged: Sequence[JudgedTable]) -> dict[Level, tuple[str, ...]]:
    """Codes of the factors that somebody has or that a table withholds: nobody is told which it is."""
    found: dict[Level, tuple[str, ...]] = {}
    for table in judged:
        for level in table.implied.factors:
            axis = next(axis for axis in table.axes if axis.variable == level[0])
            present = set(_present(table, axis))
            found[level] = tuple(
                code
                for code in axis.codes
                if code not in (TOTAL, MISSING)
                and (code in present or any(_withholds_code(t, level, code) for t in judged))
            )
    return found


def codes_taken_together(
    judged: Sequence[JudgedTable], references: References
) -> dict[Level, tuple[str, ...]]:
    """Codes of each factor that a table withholds, beside others that are shown; the first stands for all.

    What a fit leaves unexplained, which every standard error tells, would else tell how they differ. Not of
    factors with interactions: cells of a withheld code may be shown.
    """
    found: dict[Level, tuple[str, ...]] = {}
    crossed = {level for table in judged if len(table.implied.factors) > 1 for level in table.implied.factors}
    for level, codes in codes_told(judged).items():
        if level in crossed:
            continue
        hidden = [code for code in codes if any(_withholds_code(table, level, code) for table in judged)]
        if 1 < len(hidden) < len(codes):
            first = references[level] if references[level] in hidden else hidden[0]
            found[level] = (first, *(code for code in hidden if code != first))
    return found


def hidden_apart(judged: Sequence[JudgedTable], together: Mapping[Level, tuple[str, ...]]) -> bool:
    """Whether people of withheld cells would have columns of their own: they are not fitted as one.

    Whether such columns can be estimated, and how much rests on one of these people, would tell of them.
    """
    for table in judged:
        if not (table.states == State.WITHHELD).any():
            continue
        if len(table.implied.factors) != 1:
            return True
        (level,) = table.implied.factors
        hidden = {
            code
            for axis in table.axes
            if axis.variable == level[0]
            for code in axis.codes
            if code != TOTAL and _withholds_code(table, level, code)
        }
        if not hidden or not hidden <= {*together.get(level, ())}:
            return True
    return False


def withheld_columns(
    columns: Sequence[Column], judged: Sequence[JudgedTable], references: References
) -> BoolArray:
    """Columns whose coefficient would tell of a withheld cell, shape (columns,).

    With all interactions a coefficient is a difference of cells in each of which some of its codes stand for
    their references, and the other factors are at theirs; it is withheld where any of these cells is, and
    where a total of them is. The rest are then functions of published cells. A factor of which a term has
    the reference, too, is coded in full: its coefficients are relative to nothing.
    """
    in_full = {
        (column.term, part.variable)
        for column in columns
        for part in column.parts
        if isinstance(part, Indicator) and references[part.variable, part.level] == part.code
    }
    return np.array([_withheld(column, judged, references, in_full) for column in columns], dtype=np.bool_)


def with_judged_table(plan: ModelPlan, facts: ModelFacts, judged: Sequence[JudgedTable]) -> ModelFacts:
    """Facts that say so where a model is a table by another name which has been judged as a table.

    Codes used as numbers that make as many columns as there are combinations of them are a factor: 0 and 1
    tell what the factor's coefficient tells.
    """
    parts = {part for term in plan.formula.terms for part in term}
    of_numbers = {part.measure for part in parts if isinstance(part, Numeric)}
    if not facts.pattern_units.size or facts.implied_table is not None or of_numbers - plan.coded.keys():
        return facts
    levels = {(part.variable, part.level) for part in parts if isinstance(part, Factor)}
    levels |= {plan.coded[name] for name in of_numbers}
    if not any(levels <= {*table.implied.factors} for table in judged):
        return facts
    return replace(facts, implied_table=tuple(sorted(levels)))


def withholds_all(table: JudgedTable) -> bool:
    """Whether a cell is withheld that stands behind coefficients of all."""
    return table.implied.all_or_none and bool((table.states == State.WITHHELD).any())


def _withheld(
    column: Column,
    judged: Sequence[JudgedTable],
    references: References,
    in_full: Set[tuple[int, str]],
) -> bool:
    own = {part.variable: part.code for part in column.parts if isinstance(part, Indicator)}
    for table in judged:
        factors = {variable: references[variable, level] for variable, level in table.implied.factors}
        if not own.keys() <= factors.keys():
            continue
        outcome = {axis.variable: axis.codes for axis in table.axes if axis.variable not in factors}
        others = [variable for variable in factors if variable not in own]
        for totals in product((False, True), repeat=len(others)):
            codes: dict[str, Sequence[str]] = {
                variable: (code,) if (column.term, variable) in in_full else (code, factors[variable])
                for variable, code in own.items()
            }
            codes |= {
                variable: (TOTAL if total else factors[variable],)
                for variable, total in zip(others, totals, strict=True)
            }
            if table.withholds(codes | outcome):
                return True
    return False


def _present(table: JudgedTable, axis: Axis) -> list[str]:
    """Codes of an axis that somebody has, in order."""
    place = table.axes.index(axis)
    totals = tuple(slice(None) if at == place else -1 for at in range(len(table.axes)))
    units = table.units.reshape(shape_of(table.axes))[totals]
    codes = zip(axis.codes, units.tolist(), strict=True)
    return [code for code, count in codes if count and code not in (TOTAL, MISSING)]


def _withholds_code(table: JudgedTable, level: Level, code: str) -> bool:
    if level not in table.implied.factors:
        return False
    shown = {
        axis.variable: axis.codes for axis in table.axes if axis.variable not in dict(table.implied.factors)
    }
    return table.withholds({**shown, level[0]: (code,)})
