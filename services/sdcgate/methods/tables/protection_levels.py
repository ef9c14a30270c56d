"""Required protection levels: how far from its true value an unsafe cell must be able to lie.

A published sum that is U larger than the true one would be safe; so an intruder must hold it possible that it
is U larger, and U smaller, than it is. Levels of the rules on contributions: Hundepool et al., Statistical
Disclosure Control (2012), 4.3, upper protection levels of each rule; sliding levels: Fischetti and Salazar,
Solving the cell suppression problem on tabular data with linear constraints (2001), Management Science 47.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray, MeasureFacts
from sdcgate.methods.rules import ProtectionLevels


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Levels of every cell, each shape (cells,) or None where they are 0; hidden from repr."""

    upper: FloatArray | None = field(default=None, repr=False)
    lower: FloatArray | None = field(default=None, repr=False)
    sliding: FloatArray | None = field(default=None, repr=False)

    def of(self, cells: IntArray) -> ProtectionLevels:
        """The levels of some cells; () where all are 0."""
        return ProtectionLevels(
            _listed(self.upper, cells), _listed(self.lower, cells), _listed(self.sliding, cells)
        )


def _listed(levels: FloatArray | None, cells: IntArray) -> tuple[float, ...]:
    chosen = [] if levels is None else levels[cells].tolist()
    return tuple(chosen) if any(chosen) else ()


def dominance_excess(held: FloatArray, totals: FloatArray, share: float) -> FloatArray:
    """(n,k): by how much a total is too small for what the n largest hold; held / k - X, shape (cells,)."""
    excess: FloatArray = held / share - totals
    return excess


def prior_posterior_excess(target: FloatArray, remainder: FloatArray, p: float, q: float) -> FloatArray:
    """(p,q) and, with q = 1, p%: (p / q) x_1 less what the coalition does not know, shape (cells,)."""
    excess: FloatArray = p / q * target - remainder
    return excess


def linear_excess(sensitivity: FloatArray, rest: float) -> FloatArray:
    """A linear measure: what more of small contributors would make the cell safe, S / -w_rest."""
    excess: FloatArray = sensitivity / -rest
    return excess


def both_sides(excess: FloatArray, measure: MeasureFacts, weighted: bool = False) -> Levels:
    """The excess above and below, as far as the measure's public bounds leave room; shape (cells,).

    They are of its sums, or of its weighted ones where weighted contributions were judged. Nobody can be kept
    from knowing what the bounds say: where the sum may be all that they allow, a level beyond them asks
    nothing more. The intruder is taken to know the records, and their weights.
    """
    level = np.maximum(excess, 0.0)
    low, high = measure.lower_bound, measure.upper_bound
    sums, records = _weighted(measure) if weighted else (measure.sums, measure.valid_records)
    lower, upper = level, level
    if sums.size and low is not None and (records.size or low == 0):
        least = low * records if low else 0.0
        lower = np.minimum(level, np.maximum(sums - least, 0.0))
    if sums.size and high is not None and records.size:
        upper = np.minimum(level, np.maximum(high * records - sums, 0.0))
    return Levels(upper=upper, lower=lower)


def _weighted(measure: MeasureFacts) -> tuple[FloatArray, FloatArray]:
    """Weighted sums and weights of the records that have the measure; nothing where they are not known."""
    sums, weights = measure.weighted_sums, measure.valid_weight_sums
    not_negative = measure.lower_bound is not None and measure.lower_bound >= 0
    if sums is None and measure.weighted is not None and not_negative:
        sums = measure.weighted.totals
    nothing = np.zeros(0)
    return nothing if sums is None else sums, nothing if weights is None else weights
