"""Odds ratios and risk ratios of two-by-two tables, and the shares and modes that tables imply."""

from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.means import variance_of_totals
from sdcgate.methods.outputs.sample import Sample, added
from sdcgate.methods.outputs.statistic_facts import ImpliedCells


@dataclass(frozen=True, slots=True, eq=False)
class RatioEstimates:
    """Ratios of groups with errors of their logarithms, each shape (groups,); NaN where not defined."""

    values: FloatArray = field(repr=False)
    log_standard_errors: FloatArray = field(repr=False)

    def interval(self, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Confidence interval, normal on the scale of logarithms."""
        reach = NormalDist().inv_cdf((1 + confidence) / 2) * self.log_standard_errors
        return self.values * np.exp(-reach), self.values * np.exp(reach)


@dataclass(frozen=True, slots=True, eq=False)
class TwoByTwo:
    """Tables of an exposure by an outcome, one a group, shape (groups, 2, 2).

    Row 0 are the exposed, column 0 those with the outcome. The ratios with any two totals of the table give
    all four counts: the table is judged, and its cells are what leaves.
    """

    counts: FloatArray = field(repr=False)
    """Records, or sums of their weights."""
    units: IntArray = field(repr=False)
    """Distinct units."""
    sample: Sample = field(repr=False)
    cell: IntArray = field(repr=False)
    """Cell of each record, 0 to 3, row-major."""

    @property
    def implied(self) -> ImpliedCells:
        """The cells as the checks take them."""
        homes = households_of_cells(self.sample, self.cell, 4)
        return ImpliedCells("two by two", self.units.reshape(len(self.units), 4), homes)

    def odds_ratios(self) -> RatioEstimates:
        """Odds of the outcome among the exposed, over those among the others.

        Without weights, strata and several records a unit the error is that of Woolf, On estimating the
        relation between blood group and disease (1955), Annals of Human Genetics 19, times n / (n - 1).
        """
        (a, b), (c, d) = np.moveaxis(self.counts, 0, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._estimates(a * d / (b * c), (1 / a, -1 / b, -1 / c, 1 / d))

    def risk_ratios(self) -> RatioEstimates:
        """Share with the outcome among the exposed, over that among the others.

        In the same case the error is that of Katz et al., Obtaining confidence intervals for the risk ratio
        in cohort studies (1978), Biometrics 34.
        """
        (a, b), (c, d) = np.moveaxis(self.counts, 0, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            exposed, others = 1 / (a + b), 1 / (c + d)
            steps = (1 / a - exposed, -exposed, others - 1 / c, others)
            return self._estimates(a * exposed / (c * others), steps)

    def _estimates(self, ratios: FloatArray, steps: tuple[FloatArray, ...]) -> RatioEstimates:
        """Ratios with errors by linearisation: `steps` are the logarithm's derivatives by the four counts."""
        known = np.isfinite(ratios) & (ratios > 0)
        by_cell = np.where(known, np.stack(steps), 0.0)
        linearised = self.sample.counted * by_cell[self.cell, self.sample.groups]
        variances, _ = variance_of_totals(self.sample, linearised)
        return RatioEstimates(np.where(known, ratios, np.nan), np.sqrt(np.where(known, variances, np.nan)))


def two_by_two(sample: Sample, exposed: BoolArray, outcome: BoolArray) -> TwoByTwo:
    """The tables of two indicators, each shape (records,); the sample's values are not used."""
    cell = 2 * (~exposed).astype(np.int64) + (~outcome).astype(np.int64)
    counts, units = tables_of_groups(sample, cell, 4)
    return TwoByTwo(counts.reshape(-1, 2, 2), units.reshape(-1, 2, 2), sample, cell)


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """The most frequent category of each group: its position, share of the weights, and of the units."""

    categories: IntArray = field(repr=False)
    """Position, the first of several as frequent; -1 of an empty group."""
    shares: FloatArray = field(repr=False)
    unit_shares: FloatArray = field(repr=False)
    """What the rule on modal shares compares."""
    implied: ImpliedCells
    """Units in the most frequent category, and with a record in any other."""


def modes(sample: Sample, categories: IntArray, number: int) -> Modes:
    """The most frequent of `number` categories; `categories` are positions, shape (records,)."""
    counts, units = tables_of_groups(sample, categories, number)
    modal = counts.argmax(axis=1)
    rows = np.arange(len(modal))
    others = sample.distinct_units(categories != modal[sample.groups])
    occupied = sample.records_of_groups > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts[rows, modal] / counts.sum(axis=1)
        of_units = np.where(occupied, units[rows, modal] / sample.units_of_groups, 0.0)
    cells = np.stack([units[rows, modal], others], axis=1)
    homes = households_of_cells(sample, (categories != modal[sample.groups]).astype(np.int64), 2)
    return Modes(np.where(occupied, modal, -1), shares, of_units, ImpliedCells("mode", cells, homes))


def shares_of_most_frequent_values(sample: Sample) -> FloatArray:
    """Share of each group's units that have the value that most have, 0 of an empty group, shape (groups,).

    Where (nearly) all have one value, whatever tells it tells it of each of them.
    """
    order = np.lexsort((sample.units, sample.values, sample.groups))
    groups, values, units = sample.groups[order], sample.values[order], sample.units[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = (groups[1:] != groups[:-1]) | (values[1:] != values[:-1])
    counts = begins.copy()
    counts[1:] |= units[1:] != units[:-1]
    by_value = np.bincount(np.cumsum(begins) - 1, counts)
    most = np.zeros(sample.number_of_groups)
    np.maximum.at(most, groups[begins], by_value)
    shares: FloatArray = most / np.maximum(sample.units_of_groups, 1)
    return shares


def implied_by_share(sample: Sample, has: BoolArray) -> ImpliedCells:
    """The table of a proportion: units with a record that has it, and with one that has it not."""
    cells = [sample.distinct_units(has), sample.distinct_units(~has)]
    homes = households_of_cells(sample, (~has).astype(np.int64), 2)
    return ImpliedCells("proportion", np.stack(cells, axis=1), homes)


def tables_of_groups(sample: Sample, cell: IntArray, number: int) -> tuple[FloatArray, IntArray]:
    """Weights and distinct units of each group's cells, shape (groups, number)."""
    shape = (sample.number_of_groups, number)
    flat = sample.groups * number + cell
    size = shape[0] * number
    span = int(sample.units.max()) + 1
    units = np.bincount(np.unique(flat * span + sample.units) // span, minlength=size)
    return added(flat, sample.counted, size).reshape(shape), units.reshape(shape)


def households_of_cells(sample: Sample, cell: IntArray, number: int) -> FloatArray | None:
    """Households of each group's cells, shape (groups, number); None where they are not known."""
    found = sample.households_at(sample.groups * number + cell, sample.number_of_groups * number)
    return None if found is None else found.reshape(sample.number_of_groups, number)
