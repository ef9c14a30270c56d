"""Which estimate to trust: the expected number of correct matches of sample uniques, with an interval.

The design-based estimate knows only weights and is far too low where keys are many: Israel CBS found it 4.7,
2.9 and 1.4 times below the truth (Shlomo 2003, Table 2). The recommended one fits all interactions of two and
then of three variables, each drawn towards the simpler model where the sample cannot bear it, and takes off
the bias that Skinner and Shlomo's criterion still sees. docs/methods/which-estimate.md has the study that it
was held against.
"""

from dataclasses import dataclass, field
from math import comb, exp, prod, sqrt

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.loglinear import (
    Criteria,
    KeyTable,
    LogLinear,
    all_two_way,
    criteria,
    fit,
    key_table,
    main_effects,
    refine,
    risk,
)
from sdcgate.methods.risk.proportional_fitting import MOST_VISITS

NORMAL_95 = 1.959963984540054
EQUAL_WEIGHTS = 1e-9
"""Relative spread of the weights below which they count as equal."""
DOUBTFUL = 0.25
"""A bias that is a larger share of the estimate than this is not known well enough to be taken off alone."""
MODEL_ERROR = 0.01
"""What a model of the keys is off by at best: one standard deviation, as a share of the estimate from a small
sample. Intervals of large samples were too short without it."""
LARGEST_THREE_WAY = 2_000_000_000
"""Cells times margins up to which interactions of three variables are fitted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One estimate of the expected correct matches of sample uniques."""

    name: str
    tau_2: float
    criterion: Criteria | None = None
    converged: bool = True
    """Whether its model met its margins before rounds or work ran out."""


@dataclass(frozen=True, slots=True, eq=False)
class Recommendation:
    """The estimate to trust, beside the others."""

    tau_2: float
    """Expected number of correct matches of sample uniques."""
    interval: tuple[float, float]
    """About 95% for the true sum of 1/F_k over sample uniques."""
    doubtful: bool
    """Whether the models disagree so much that the estimate is a compromise and the interval spans them, or
    it rests on fewer keys than the file has."""
    sample_uniques: int
    candidates: tuple[Candidate, ...]
    """Design-based, main effects, all two-way, and the smoothed models."""
    risks: FloatArray = field(repr=False)
    """E(1/F_k | f_k) of each key that was fitted, shape (K,), in line with tau_2."""
    fewer: str = ""
    """Where it rests on fewer keys than the file has, see `fewer_keys`: on which, and how it errs."""

    @property
    def says(self) -> str:
        """The recommendation in words."""
        low, high = self.interval
        unfinished = [candidate.name for candidate in self.candidates if not candidate.converged]
        text = self.fewer or (
            f"About {self.tau_2:,.0f} of the {self.sample_uniques:,} sample uniques would be matched "
            f"correctly (95%: {low:,.0f} to {high:,.0f}); the design-based estimate is "
            f"{self.candidates[0].tau_2:,.0f}."
        )
        if self.doubtful and not self.fewer:
            text += " The models disagree: treat the upper end as the estimate."
        if unfinished:
            text += f" Not fitted to the end: {', '.join(unfinished)}."
        return text


def recommend(
    codes: IntArray, weights: FloatArray | None = None, fraction: float | None = None
) -> Recommendation:
    """The recommended estimate of tau_2 for a file, with risks of its keys.

    `codes` (records, variables), -1 missing; `weights` (records,) or else the sampling `fraction`. Models are
    fitted to the counts; where weights differ each key has its own inclusion probability, f_k over its sum of
    weights, and the bias is taken as the same share as under the mean one.

    tau_2 is tau of the smoothed model without its bias: tau - B_2 where B_2 is below 0, else
    tau exp(-B_2/tau), which is the same for a small one and cannot fall to 0. Where B_2 is more than a
    quarter of tau, it is the mean of that and the smoothed two-way estimate. Its variance is that of the sum
    of 1/F_k given the model, plus that of B_2 (the larger of the model's and the one that is seen), plus
    `MODEL_ERROR`. Raises ValueError for wrong arguments and for a table too large to fit, see `key_table`.
    """
    table = key_table(codes, weights, fraction)
    simple = fit(table, main_effects(len(table.shape)))
    return recommend_from(table, weights, simple, fit(table, all_two_way(len(table.shape)), start=simple))


def recommend_from(
    table: KeyTable,
    weights: FloatArray | None,
    simple: LogLinear,
    rich: LogLinear,
    most_visits: float = MOST_VISITS,
) -> Recommendation:
    """The same where main effects and all two-way interactions are fitted to the counts already.

    `weights` (records,) of the table's records, None where all are equal; each further fit may visit
    `most_visits` cells. A model that was not fitted to the end makes the recommendation doubtful.
    """
    inclusion = _inclusion(table, weights)
    pairs = refine(table, simple, 2, most_visits=most_visits)
    triples = refine(table, pairs, 3, most_visits=most_visits) if _bears_three_way(table) else pairs
    candidates = (
        Candidate("design-based", _by_design(table)),
        _candidate("main effects", table, simple, inclusion),
        _candidate("all two-way", table, rich, inclusion),
        _candidate("all two-way, smoothed", table, pairs, inclusion),
        _candidate("all three-way, smoothed", table, triples, inclusion),
    )
    return _chosen(table, triples, inclusion, candidates)


def _chosen(
    table: KeyTable, model: LogLinear, inclusion: FloatArray | None, candidates: tuple[Candidate, ...]
) -> Recommendation:
    single = table.keys.counts == 1
    uniques = float(single.sum())
    found, criterion = risk(table, model, inclusion), criteria(table, model)
    plain = risk(table, model).tau_2
    scale = found.tau_2 / plain if plain > 0 else 1.0
    bias = scale * criterion.bias_2
    value, simpler = _without(bias, found.tau_2), candidates[-2].tau_2
    of_bias = scale**2 * max(criterion.variance_2, criterion.squares_2)
    of_model = (1.0 - table.fraction) * (MODEL_ERROR * value) ** 2
    half = NORMAL_95 * sqrt(found.variance + of_bias + of_model)
    low, high = value - half, value + half
    unfinished = not all(candidate.converged for candidate in candidates)
    doubtful = unfinished or abs(bias) > DOUBTFUL * found.tau_2
    if doubtful:
        low, high = min(low, found.tau_2), max(high, simpler, found.tau_2)
        value = (value + simpler) / 2.0
    value = float(np.clip(value, 0.0, uniques))
    share = value / found.tau_2 if found.tau_2 > 0 else 1.0
    risks = np.minimum(np.where(single, found.risks * share, found.risks), 1.0 / table.keys.counts)
    interval = (max(0.0, low), min(uniques, high))
    return Recommendation(value, interval, doubtful, int(uniques), candidates, risks)


def _without(bias: float, tau: float) -> float:
    return tau * exp(-bias / tau) if bias > 0 and tau > 0 else tau - bias


def _bears_three_way(table: KeyTable) -> bool:
    variables = len(table.shape)
    return variables > 2 and prod(table.shape) * comb(variables, 3) <= LARGEST_THREE_WAY


def _inclusion(table: KeyTable, weights: FloatArray | None) -> FloatArray | None:
    """Inclusion probability of each key; None where all are the sampling fraction."""
    if weights is None or float(np.ptp(weights)) <= EQUAL_WEIGHTS * float(np.max(weights)):
        return None
    own: FloatArray = np.minimum(table.keys.counts / table.population, 1.0)
    return own


def _by_design(table: KeyTable) -> float:
    single = table.keys.counts == 1
    probabilities = np.minimum(1.0 / table.population[single], 1.0)
    return float(individual_risk(table.keys.counts[single], probabilities).sum())


def _candidate(name: str, table: KeyTable, model: LogLinear, inclusion: FloatArray | None) -> Candidate:
    return Candidate(name, risk(table, model, inclusion).tau_2, criteria(table, model), model.converged)
