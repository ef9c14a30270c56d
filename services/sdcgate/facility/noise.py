"""A computed table with the noise of its policy: figures that may leave, and what becomes known by them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import numpy as np

from sdcgate.facility.boxes import as_if_published
from sdcgate.facility.knowledge import ReleasedTable
from sdcgate.facility.plan import PERCENTAGES, Plan
from sdcgate.methods.cells import Axis, BoolArray, Facts, FloatArray, IntArray, KeyArray, MeasureFacts, State
from sdcgate.methods.cells import leaf_cells as inner_cells
from sdcgate.methods.rules import Finding, ReasonCode
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.cell_key import (
    DEVIATIONS,
    SumNoise,
    fractions_of_keys,
    keys_for,
    noise_of_counts,
    noisy_sums,
)
from sdcgate.methods.tables.noisy_boxes import NoisyTable
from sdcgate.methods.tables.ptable import PTable
from sdcgate.policy.cell_keys import CellKeyNoise

SUMS_BY_RECORDS = b"keys of sums are of records"
LEAST_WIDTH = 1e-9
"""A sum to which nobody contributes must stay uncertain, too."""


@dataclass(frozen=True, slots=True, eq=False)
class Noise:
    """The noise of a policy, ready to be drawn."""

    table: PTable
    sums: SumNoise | None
    digest: str
    """Tells it from other noise."""

    @classmethod
    def of(cls, noise: CellKeyNoise, records_per_unit: int = 1) -> "Noise":
        """The noise that a policy names, of units that have so many records at most."""
        table = noise.ptable()
        columns = (table.counts, table.noise, table.upper, np.array(noise.sum_shares))
        told = b"".join(column.tobytes() for column in columns)
        if records_per_unit > 1:
            # Sums that left when keys were of units are not asked again with those of records: two noises
            # of one sum are as good as a mean of both.
            told += SUMS_BY_RECORDS
        return cls(table, noise.sum_noise(), sha256(told).hexdigest())

    def counts(self, counts: IntArray, keys: KeyArray | None) -> IntArray:
        """Counts of units with noise, shape (cells,)."""
        fractions = fractions_of_keys(keys_for(_there(keys), "counts of units"))
        noisy: IntArray = counts + noise_of_counts(counts, fractions, self.table)
        return noisy

    def of_sums(self, measure: MeasureFacts) -> FloatArray:
        """Sums of a measure with noise, shape (cells,); missing where the policy has none."""
        if self.sums is None:
            return np.full(len(measure.sums), np.nan)
        never = np.zeros(len(measure.sums), dtype=np.bool_)
        return noisy_sums(
            measure.sums, measure.largest, _there(measure.sum_keys), self.sums, never, measure.name
        )

    def reach(self, measure: MeasureFacts) -> FloatArray:
        """The most by which noise can have changed the sums of a measure, shape (cells,)."""
        shares = np.array(self.sums.shares if self.sums is not None else ())
        reach: FloatArray = DEVIATIONS * measure.largest[:, : len(shares)] @ shares
        return reach


def _there(keys: KeyArray | None) -> KeyArray:
    if keys is None:
        raise LookupError("the engine has not computed the keys of the cells")
    return keys


def with_noise(plan: Plan, facts: Facts, noise: Noise) -> Facts:
    """A table's facts with noise. Figures of a measure are missing where too few units seem to have it.

    That is seen from the noisy count of them, so that a figure which is missing tells nothing more.
    """
    units = noise.counts(facts.units, facts.keys)
    least = plan.policy.rules.minimum_units
    weight = float(plan.dataset.weight_bounds[0])
    measures = []
    for measure in facts.measures:
        valid = noise.counts(measure.valid_units, measure.keys)
        sums = np.where(valid >= (least.units if least else 1), noise.of_sums(measure), np.nan)
        measures.append(
            replace(
                measure,
                sums=sums,
                valid_records=valid,
                valid_units=valid,
                weighted_sums=sums * weight,
                valid_weight_sums=_weighted(valid, weight),
            )
        )
    weights = _weighted(units, weight)
    return replace(facts, units=units, records=units, weight_sums=weights, measures=tuple(measures))


def _weighted(counts: IntArray, weight: float) -> FloatArray:
    weighted: FloatArray = counts.astype(np.float64) * weight
    return weighted


def left_cells(plan: Plan, axes: tuple[Axis, ...]) -> BoolArray:
    """Cells whose noisy figures leave, shown or in what is computed from them, shape (cells,)."""
    shown = inner_cells(axes)
    if plan.margins or any(figure.statistic in PERCENTAGES for figure in plan.figures):
        shown[:] = True
    # Whether there are enough in all is judged by the noisy total.
    shown[-1] |= plan.policy.rules.minimum_base is not None
    return shown


@dataclass(frozen=True, slots=True, eq=False)
class NoisyQuantities:
    """A computed table on its way to the quantities that become known of it."""

    plan: Plan
    axes: tuple[Axis, ...]
    facts: Facts = field(repr=False)
    noisy: Facts = field(repr=False)
    findings: Sequence[Finding]
    noise: Noise

    def tables(self) -> Iterator[NoisyTable]:
        """Counts of units; of each measure counts of those who have it, where others lack it, and sums."""
        counts, *parts = as_if_published(self.plan, self.axes, self.facts)
        left = left_cells(self.plan, self.axes)
        yield self._counts(counts, self.noisy.units, left, self._unsafe(""))
        place = 0
        for part in parts:
            if part.facts.measures:
                yield self._sums(part, place, left)
                place += 1
            else:
                yield self._counts(part, self.noisy.measures[place].valid_units, left, self._few(part))

    def total(self) -> NoisyTable:
        """The noisy count of the whole population, of which a rule on it tells."""
        counts, *_ = as_if_published(self.plan, self.axes, self.facts)
        nothing = np.zeros(len(self.facts), dtype=np.bool_)
        last = nothing.copy()
        last[-1] = True
        return self._counts(counts, self.noisy.units, last, nothing)

    def _counts(self, part: ReleasedTable, noisy: IntArray, left: BoolArray, unsafe: BoolArray) -> NoisyTable:
        true = part.facts.units.astype(np.float64)
        return NoisyTable(part.quantity, _in_states(part.table, left), true, noisy.astype(np.float64), unsafe)

    def _sums(self, part: ReleasedTable, place: int, left: BoolArray) -> NoisyTable:
        measure, noisy = self.facts.measures[place], self.noisy.measures[place].sums
        shown = left & np.isfinite(noisy)
        return NoisyTable(
            part.quantity,
            _in_states(part.table, shown),
            measure.sums,
            np.where(shown, noisy, measure.sums),
            self._unsafe(measure.name) | self._few(part),
            self.noise.reach(measure),
            np.maximum(self.plan.policy.sum_width * measure.largest[:, 0], LEAST_WIDTH),
        )

    def _unsafe(self, measure: str) -> BoolArray:
        """Cells in which a rule on counts, or on a measure, asks for uncertainty.

        Too few units of a measure may be those who lack it, and no sum is theirs: who have it are in `_few`.
        """
        unsafe = np.zeros(len(self.facts), dtype=np.bool_)
        for finding in self.findings:
            if finding.measure == measure and not (measure and finding.rule is ReasonCode.MINIMUM_UNITS):
                unsafe[list(finding.cells)] = True
        return unsafe

    def _few(self, part: ReleasedTable) -> BoolArray:
        """Cells in which a measure rests on too few units."""
        rule, units = self.plan.policy.rules.minimum_units, part.facts.units
        few: BoolArray = (units > 0) & (units < (rule.units if rule else 0))
        return few


def _in_states(table: BoxTable, left: BoolArray) -> BoxTable:
    return replace(table, states=np.where(left, State.PERTURBED, State.ABSENT).astype(np.int64))
