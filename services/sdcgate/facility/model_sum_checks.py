"""The facts that a linear model's rules are about, from sums: what `facts_of` says of the records."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sdcgate.engine.database import ComputationFailed
from sdcgate.engine.linear_statements import SQUARE_BITS, UNIT_BITS, Grouping, ProjectionShape
from sdcgate.engine.linear_sums import LinearSums, ScoreSums, UnitInfluence
from sdcgate.facility.model_plan import Level
from sdcgate.facility.model_sum_population import CellPopulation
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cell_influence import projection_coefficients
from sdcgate.methods.outputs.cell_sums import CellSums
from sdcgate.methods.outputs.design import Indicator
from sdcgate.methods.outputs.estimates import ModelEstimate
from sdcgate.methods.outputs.formula import Factor, Numeric, Term, term_text
from sdcgate.methods.outputs.implied_tables import FEW_VALUES, columns_within, usual_or_other
from sdcgate.methods.outputs.influence import ALL_BUT_ONE
from sdcgate.methods.outputs.linear_algebra import gram
from sdcgate.methods.outputs.model_facts import ColumnFacts, ModelFacts, TermFacts
from sdcgate.methods.outputs.ols import LinearSolution
from sdcgate.methods.outputs.sandwich import Covariance, ScoreSquares, refuse_lonely

NOBODY: IntArray = np.zeros(0, dtype=np.int64)
MOST_APART = 2**50
"""Whole numbers up to it stay different doubles when they are divided by their scale."""


@dataclass(frozen=True, eq=False)
class SumChecks:
    """A fitted model on its way through its checks."""

    sums: LinearSums = field(repr=False)
    people: CellPopulation = field(repr=False)
    found: CellSums = field(repr=False)
    solution: LinearSolution = field(repr=False)
    largest: int
    weight_unit: float
    outcome_of_classes: bool
    """Whether the outcome has few values in the whole dataset."""
    enough: int | None = None
    """Units apart of a column that are enough for the rules; None: all have to be counted."""

    def influence(self) -> UnitInfluence:
        """What the most influential units do to the coefficients. Raises ComputationFailed."""
        people = self.people
        found = self.sums.influence(self.shape, people.scalings, people.ranges.cells, self.coefficients)
        if found.units != people.units:
            raise ComputationFailed("the checks of a model did not see all units")
        return found

    def score_squares(
        self, influence: UnitInfluence, covariance: Covariance, stratum: str, psu: str
    ) -> ScoreSquares:
        """Variances of the coefficients by their scores, summed within records, units or primary units.

        ModelProblemError where a stratum has a single primary unit.
        """
        people, by_design = self.people, covariance is Covariance.DESIGN
        by = "" if covariance is Covariance.ROBUST else "unit"
        by = psu if by_design and psu else by
        # A squared score is at most its unit's share of the information: large units make small steps.
        most = influence.top[:, 0] if by in ("", "unit") else np.ones(len(influence.top))
        steps = 2.0**SQUARE_BITS / np.maximum(most, 2.0**-SQUARE_BITS)
        sums = self.sums.score_sums(
            self.shape,
            people.scalings,
            people.ranges.cells,
            self.coefficients,
            steps,
            by,
            stratum if by_design else "",
        )
        scale = np.diag(self.solution.inverse) * self.solution.residual_sum
        if by_design:
            clusters = np.array(sums.clusters)
            refuse_lonely(clusters)
            return ScoreSquares(_within_strata(sums, steps) * scale, int(clusters.sum()), len(clusters))
        squares = np.sum(np.array(sums.second, dtype=object), axis=0).astype(np.float64) / steps
        return ScoreSquares(squares * scale, sum(sums.clusters) if by else 0)

    def facts(self, estimate: ModelEstimate, influence: UnitInfluence) -> ModelFacts:
        """All that the rules on models look at."""
        people, design = self.people, self.people.design
        moved = np.where(influence.informed > ALL_BUT_ONE, np.inf, influence.moved)
        columns = ColumnFacts(
            estimate.names,
            tuple(column.term for column in design.columns),
            self._units_apart(influence),
            np.cumsum(influence.top, axis=1),
            moved,
        )
        products = self.found.products
        raw = products.centred + products.weight * np.outer(products.means, products.means)
        return ModelFacts(
            estimate.family,
            people.units,
            people.records,
            len(estimate.names),
            estimate.free_degrees,
            columns,
            tuple(self._of_term(term) for term in design.terms),
            influence.leverage,
            estimate.fit["r_squared"],
            influence.exact / people.records,
            self._outcome_units(),
            condition=gram(raw[:-1, :-1]).condition,
            implied_table=self._implied_table(),
            pattern_units=self._pattern_units(),
            residual_share=influence.residual,
        )

    @cached_property
    def shape(self) -> ProjectionShape:
        """What decides the text of the statements on influence."""
        return ProjectionShape(
            len(self.people.design.columns),
            len(self.people.query.numbers) - 1,
            bool(self.people.query.levels),
            frozenset(a for _, a, mixed in self._varying if a and mixed),
            tuple(one for one in self._varying if one[0] not in self._already_apart),
            self.sums.single,
            self.largest,
        )

    @cached_property
    def _varying(self) -> tuple[tuple[int, int, bool], ...]:
        """Columns that are no constant: the number each is, 0 for an indicator, and whether it is both."""
        found = []
        numbers = self.people.columns.numbers.tolist()
        for j, (column, a) in enumerate(zip(self.people.design.columns, numbers, strict=True)):
            indicators = any(isinstance(part, Indicator) for part in column.parts)
            if a or indicators:
                found.append((j, a, bool(a) and indicators))
        return tuple(found)

    @cached_property
    def _already_apart(self) -> dict[int, int]:
        """Units apart of columns for which not all records have to be looked at again.

        Those of an indicator are in the cells. Of a number a few records may show enough: all of these but
        those of one value are apart, whichever its middle value is.
        """
        people, found = self.people, dict[int, int]()
        if not self.sums.single:
            return found
        for j, a, mixed in self._varying:
            if not a:
                ones = people.columns.on[:, j] == 1.0
                found[j] = int(people.ranges.records[ones != bool(self._middle(j))].sum())
            elif not mixed and self.enough is not None:
                others = int(self._different[0][a - 1]) - 1
                if others >= self.enough:
                    found[j] = others
        return found

    @cached_property
    def coefficients(self) -> dict[str, FloatArray]:
        """What the statements on influence evaluate."""
        people = self.people
        on = {f"on{j}": people.columns.on[:, j] for j, _, _ in self.shape.apart}
        middle = self.sums.medians(self.shape, people.ranges.cells, on)
        found = projection_coefficients(
            self.found,
            people.design,
            people.columns,
            self.solution,
            people.scalings,
            people.largest_outcome,
            self.weight_unit,
        )
        middles = {f"middle{j}": np.array([middle.get(j, self._middle(j))]) for j, _, _ in self.shape.apart}
        return {**found, **on, **middles}

    def _middle(self, column: int) -> float:
        """The value in the middle of an indicator."""
        people = self.people
        ones = int(people.ranges.records @ people.columns.on[:, column].astype(np.int64))
        return float(people.records - ones <= (people.records - 1) // 2)

    def _units_apart(self, influence: UnitInfluence) -> IntArray:
        found = np.zeros(len(self.people.design.columns), dtype=np.int64)
        for j, units in (self._already_apart | influence.apart).items():
            found[j] = units
        return found

    @cached_property
    def _different(self) -> tuple[IntArray, dict[str, int], dict[int, int]]:
        """Different values of numbers among some records; of few-valued measures and numbers among all."""
        query = self.people.query
        every = range(len(query.numbers))
        plain = {a: query.measures.index(query.as_it_is(a)) for a in every if self._as_whole(a)}
        values, others = self.sums.sampled([a for a in every if a not in plain])
        numbers = np.array([others[a] if a in others else values[plain[a]] for a in every], dtype=np.int64)
        last = len(query.numbers) - 1
        measures = [place for place, count in enumerate(values.tolist()) if count <= FEW_VALUES]
        few, of_numbers = self.sums.different(measures, [last] if numbers[last] <= FEW_VALUES else [])
        return numbers, {query.measures[place]: count for place, count in few.items()}, of_numbers

    def _as_whole(self, number: int) -> bool:
        """Whether a number differs where its measure does: it is the measure, which doubles tell apart."""
        measure = self.people.query.as_it_is(number)
        if not measure:
            return False
        place, ranges = self.people.query.measures.index(measure), self.people.ranges
        return bool(max(-ranges.least[place].min(), ranges.most[place].max()) <= MOST_APART)

    def _is_few(self, measure: str) -> bool:
        return self._different[1].get(measure, FEW_VALUES + 1) <= FEW_VALUES

    def _outcome_units(self) -> IntArray:
        last = len(self.people.query.numbers) - 1
        if self._different[2].get(last, FEW_VALUES + 1) > FEW_VALUES:
            return NOBODY
        units = self.sums.units_by(Grouping(by_cell=False, numbers=(last,)))
        return units if self.outcome_of_classes else usual_or_other(units, self.people.units)

    def _of_term(self, term: Term) -> TermFacts:
        factors = tuple((part.variable, part.level) for part in term if isinstance(part, Factor))
        numbers = sorted({part.measure for part in term if isinstance(part, Numeric)})
        few = [name for name in numbers if self._is_few(name)]
        if not factors and not few:
            return TermFacts(term_text(term))
        units = self._units_of(factors, few)
        return TermFacts(
            term_text(term),
            factors,
            units,
            saturated=len(term) == len(factors) and columns_within(term, self.people.design) == len(units),
            of_values=bool(few),
        )

    def _units_of(self, factors: tuple[Level, ...], few: list[str]) -> IntArray:
        """Units of each combination of codes, and of values, that occurs."""
        groups = self._groups(factors)
        query, ranges = self.people.query, self.people.ranges
        if self.sums.single and not few:
            return np.bincount(groups, ranges.records).astype(np.int64)
        measures = tuple(query.measures.index(name) for name in few)
        return self.sums.units_by(Grouping(bool(factors), measures), groups, cells=ranges.cells)

    def _groups(self, factors: tuple[Level, ...]) -> IntArray:
        """Each cell's combination of codes, numbered in order among those that occur."""
        codes = [self.people.positions[level] for level in factors]
        cells = len(self.people.ranges.cells)
        rows = np.column_stack(codes) if codes else np.zeros((cells, 1), dtype=np.int64)
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)

    def _implied_table(self) -> tuple[Level, ...] | None:
        parts = {part for term in self.people.design.terms for part in term}
        if any(isinstance(part, Numeric) for part in parts):
            return None
        factors = tuple(sorted({(f.variable, f.level) for f in parts if isinstance(f, Factor)}))
        count = int(self._groups(factors).max()) + 1
        return factors if len(self.people.design.columns) == count else None

    def _pattern_units(self) -> IntArray:
        """Units of each distinct row of the columns, where there are no more of these than columns."""
        people, most = self.people, len(self.people.design.columns)
        on = people.columns.on
        groups = np.unique(on, axis=0, return_inverse=True)[1].reshape(-1)
        if int(groups.max()) + 1 > most:
            return NOBODY
        numbers = tuple(range(self.shape.numbers))
        if not numbers and self.sums.single:
            return np.bincount(groups, people.ranges.records).astype(np.int64)
        alone = [a for a in numbers if a + 1 not in self.shape.mixed]
        if numbers and any(self._different[0][a] > most for a in alone):
            return NOBODY
        by_cell = bool(people.query.levels)
        active = {
            a: on[:, people.columns.of_number(a + 1)].max(axis=1, initial=0.0).astype(np.int64)
            for a in numbers
            if by_cell
        }
        units = self.sums.units_by(
            Grouping(by_cell, numbers=numbers, active=tuple(active), most=most + 1),
            groups,
            active,
            people.ranges.cells,
        )
        return units if len(units) <= most else NOBODY


def _within_strata(sums: ScoreSums, steps: FloatArray) -> FloatArray:
    """Sums over strata of n / (n - 1) times squares about the stratum's mean (Binder 1983)."""
    total = np.zeros(len(steps))
    for count, first, second in zip(sums.clusters, sums.first, sums.second, strict=True):
        squares = np.array(second, dtype=np.float64) / steps
        means = np.array(first, dtype=np.float64) / 2.0**UNIT_BITS / count
        total += count / (count - 1) * (squares - count * means**2)
    return total
