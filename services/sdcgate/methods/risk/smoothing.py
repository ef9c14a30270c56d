"""Local smoothing of the keys along ordered variables: lambda_k of a key from keys like it.

People of 34 with eleven years of school are about as many as people of 35 with eleven or twelve. The expected
count of a key is fitted in its own neighbourhood: keys at most c categories away on every ordinal variable
and equal on the nominal ones, nearer ones with more weight, by a polynomial of the logarithm. What neighbours
foretell badly is the dispersion, and the key's own count is then weighed against them: the generalised
negative binomial model, see `negative_binomial`.

Sources: Rinott and Shlomo (2006), A generalized negative binomial smoothing model for sample disclosure risk
estimation (PSD 2006); Rinott and Shlomo (2007), A smoothing model for sample disclosure risk estimation (IMS
Lecture Notes 54); Handbook on SDC, 3.3.6. Of our own: a narrow neighbourhood is drawn by a prior towards a
wider one, and the widest towards independence; a key is left out of its own neighbourhood, so that its count
is used once; and widths, degrees, priors and dispersion are those that foretell the counts best.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import exp, log, sqrt

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.keys import Keys, checked_codes, checked_weights, group_keys, weight_sums
from sdcgate.methods.risk.negative_binomial import negative_binomial_risk
from sdcgate.methods.risk.neighbourhoods import DEGREES, KeyField, Neighbourhood

WIDTHS = (12, 8, 5, 3, 2, 1)
"""Distances c that are tried where none is given, from wide to narrow."""
PRIORS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
TRIED_KEYS = 4000
"""Keys by which neighbourhoods and dispersion are chosen, spread evenly over the file."""
LEAST_DISPERSION, LARGEST_DISPERSION = 1e-4, 1e3
"""Between which the dispersion is looked for where none is given."""
LEAST_MEAN = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Smoothing:
    """Smoothed expected counts of the keys that occur."""

    keys: Keys
    neighbourhoods: tuple[Neighbourhood, ...]
    """From wide to narrow; the means of each are the base of the next, those of independence of the first."""
    dispersion: float
    """Of lambda_k about what the neighbours tell, beyond the chance in their counts."""
    score: float
    """Mean log Pr(f_k | f_k >= 1, the other keys)."""
    means: FloatArray = field(repr=False)
    """Expected sample count of each key, by the other keys, shape (K,)."""
    dispersions: FloatArray = field(repr=False)
    """Of each key: the dispersion, and the chance in the counts of its neighbours; shape (K,)."""
    inclusion: FloatArray = field(repr=False)
    """Inclusion probability of each key, shape (K,)."""

    @property
    def bandwidth(self) -> int | None:
        """Distance of the narrowest neighbourhood; None where nothing nearer than any distance helps."""
        return self.neighbourhoods[-1].width if self.neighbourhoods else None


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedRisk:
    """Risk of the keys under the generalised negative binomial model."""

    unique: FloatArray = field(repr=False)
    """Pr(F_k = 1 | f_k = 1), 0 where f_k > 1, shape (K,)."""
    risks: FloatArray = field(repr=False)
    """E(1/F_k | f_k), shape (K,); of each record: risks[keys.group]."""
    tau_1: float
    """Expected number of sample uniques that are unique in the population."""
    tau_2: float
    """Expected number of correct matches of sample uniques."""
    tau: float
    """Expected number of correct matches of all records, sum of f_k E(1/F_k | f_k)."""
    expected_uniques: float
    """Sample uniques that the neighbours foretell among the keys that occur."""
    found_uniques: int
    standardised: float
    """Found less expected over its standard error: about normal where the model fits. Above 1.96 there are
    more sample uniques than it explains, so that it understates the risk; below -1.96 it overstates it."""

    @property
    def fits(self) -> bool:
        """Whether the sample uniques are as many as the model explains, at 95%."""
        return abs(self.standardised) <= 1.96


def smooth(
    codes: IntArray,
    ordinal: Sequence[int],
    weights: FloatArray | None = None,
    fraction: float | None = None,
    neighbourhoods: Sequence[Neighbourhood] | None = None,
    dispersion: float | None = None,
) -> Smoothing:
    """Expected counts of the keys by their neighbourhoods.

    `codes` (records, variables), -1 missing, which is near to nothing but missing; `ordinal`: the variables
    that are ordered, codes one apart being neighbours; `weights` (records,), finite and above 0, or else the
    sampling `fraction`, above 0 and at most 1. Unequal weights give each key its own inclusion probability.

    What is not given is chosen: one neighbourhood after the other, from wide to narrow, that makes the counts
    of `TRIED_KEYS` keys likelier by more than one unit of the logarithm, each count given that the key occurs
    and what the other keys are; and the `dispersion` (0 to infinity) likewise. Without neighbourhoods, `()`,
    the means are those of the log-linear model of independence. Raises ValueError for wrong arguments.
    """
    columns = checked_codes(codes)
    keys = group_keys(columns)
    inclusion = _inclusion(keys, weights, fraction)
    axes = _checked_axes(ordinal, columns.shape[1])
    if dispersion is not None and not dispersion >= 0:
        raise ValueError("dispersion must be at least 0")
    fitting = _Fitting(KeyField.of(keys, columns[keys.first].astype(np.int64), axes), dispersion)
    if neighbourhoods is None:
        fitting.choose()
    else:
        for neighbourhood in neighbourhoods:
            fitting.add(neighbourhood)
    return fitting.result(keys, inclusion)


def smoothed_risk(smoothing: Smoothing) -> SmoothedRisk:
    """Risk of each key, and of the file."""
    counts = smoothing.keys.counts
    unique, risks = negative_binomial_risk(
        counts, smoothing.means / smoothing.inclusion, smoothing.dispersions, smoothing.inclusion
    )
    single = counts == 1
    alone = np.exp(_log_likelihood(np.ones(len(counts)), smoothing.means, smoothing.dispersions)).clip(
        max=1.0
    )
    expected, spread = float(alone.sum()), sqrt(float((alone * (1.0 - alone)).sum()))
    found = int(single.sum())
    return SmoothedRisk(
        unique=unique,
        risks=risks,
        tau_1=float(unique.sum()),
        tau_2=float(risks[single].sum()),
        tau=float(counts @ risks),
        expected_uniques=expected,
        found_uniques=found,
        standardised=(found - expected) / spread if spread > 0 else 0.0,
    )


class _Fitting:
    """Means of all keys, and how well they foretell the keys that are tried."""

    def __init__(self, field_: KeyField, dispersion: float | None) -> None:
        keys = len(field_.counts)
        self._field = field_
        self._given = dispersion
        self._everywhere = np.arange(keys)
        self._tried = np.unique(np.linspace(0, keys - 1, min(keys, TRIED_KEYS)).astype(np.int64))
        self._means = np.maximum(field_.base, LEAST_MEAN)
        self._chance = np.zeros(keys)
        self._chosen: list[Neighbourhood] = []
        self._dispersion, self._score = self._scored(self._means[self._tried], self._chance[self._tried])

    def choose(self) -> None:
        """Add the best neighbourhood of each width, from wide to narrow, where it helps."""
        for width in (None, *self._field.widths(WIDTHS)):
            sums = self._field.sums(self._tried, width)
            degrees = DEGREES if width is not None else (0,)
            choices = [Neighbourhood(width, *one) for one in product(degrees, PRIORS)]
            scores = [self._tried_score(one, sums) for one in choices]
            if max(scores) > self._score + 1.0 / len(self._tried):
                self.add(choices[int(np.argmax(scores))])

    def add(self, neighbourhood: Neighbourhood) -> None:
        """Fit a neighbourhood to all keys, with the means so far as its base."""
        sums = self._field.sums(self._everywhere, neighbourhood.width)
        ratios = self._field.ratios(self._everywhere, self._means, sums, neighbourhood)
        self._means = np.maximum(self._means * ratios, LEAST_MEAN)
        self._chance = _chance(sums, neighbourhood)
        self._chosen.append(neighbourhood)
        self._dispersion, self._score = self._scored(self._means[self._tried], self._chance[self._tried])

    def result(self, keys: Keys, inclusion: FloatArray) -> Smoothing:
        """The smoothing, with the keys in their own order."""
        back = np.empty(len(keys), dtype=np.int64)
        back[self._field.order] = self._everywhere
        return Smoothing(
            keys=keys,
            neighbourhoods=tuple(self._chosen),
            dispersion=self._dispersion,
            score=self._score,
            means=self._means[back],
            dispersions=self._dispersion + self._chance[back],
            inclusion=inclusion,
        )

    def _tried_score(self, neighbourhood: Neighbourhood, sums: FloatArray) -> float:
        base = self._means[self._tried]
        means = np.maximum(base * self._field.ratios(self._tried, base, sums, neighbourhood), LEAST_MEAN)
        return self._scored(means, _chance(sums, neighbourhood))[1]

    def _scored(self, means: FloatArray, chance: FloatArray) -> tuple[float, float]:
        """The best dispersion and its score, of the keys that are tried."""
        counts = self._field.counts[self._tried]

        def score(log_dispersion: float) -> float:
            return float(_log_likelihood(counts, means, exp(log_dispersion) + chance).mean())

        if self._given is not None:
            return self._given, float(_log_likelihood(counts, means, self._given + chance).mean())
        best, value = _highest(score, log(LEAST_DISPERSION), log(LARGEST_DISPERSION))
        return exp(best), value


def _chance(sums: FloatArray, neighbourhood: Neighbourhood) -> FloatArray:
    """Relative variance of a mean by the chance in the counts of the neighbours: infinite without any."""
    records, squares = sums[:, 0] + neighbourhood.prior, sums[:, 1] + neighbourhood.prior
    chance: FloatArray = np.divide(squares, records**2, out=np.full(len(sums), np.inf), where=records > 0)
    return chance


def _highest(score: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Where a function of one number is highest, to 0.01: a grid, then golden sections about its best."""
    grid = np.linspace(low, high, 17).tolist()
    values = [score(one) for one in grid]
    at = int(np.argmax(values))
    left, right = grid[max(0, at - 1)], grid[min(16, at + 1)]
    ratio = (sqrt(5.0) - 1.0) / 2.0
    while right - left > 0.01:
        lower, upper = right - ratio * (right - left), left + ratio * (right - left)
        if score(lower) > score(upper):
            right = upper
        else:
            left = lower
    middle = (left + right) / 2.0
    return max(((middle, score(middle)), (grid[at], values[at])), key=lambda one: one[1])


def _log_likelihood(counts: FloatArray, means: FloatArray, dispersions: FloatArray) -> FloatArray:
    """log Pr(f | f >= 1) of f negative binomial with a mean and variance mean + dispersion mean^2."""
    from scipy.special import gammaln

    # Outside of these bounds the figures stay the same, or gamma functions lose their digits.
    d = np.clip(dispersions, 1e-9, 1e9)
    alpha = 1.0 / d
    log_zero = -alpha * np.log1p(d * means)
    inside = gammaln(counts + alpha) - gammaln(alpha) - gammaln(counts + 1.0)
    result: FloatArray = (
        inside + log_zero - counts * np.log1p(1.0 / (d * means)) - np.log(-np.expm1(log_zero))
    )
    return result


def _inclusion(keys: Keys, weights: FloatArray | None, fraction: float | None) -> FloatArray:
    if not len(keys):
        raise ValueError("codes must have at least one record")
    if (weights is None) == (fraction is None):
        raise ValueError("give weights or fraction, one of them")
    if weights is not None:
        sums = weight_sums(keys, checked_weights(weights, len(keys.group)))
        own: FloatArray = np.minimum(keys.counts / sums, 1.0)
        return own
    if fraction is None or not 0.0 < fraction <= 1.0:
        raise ValueError("fraction must be above 0 and at most 1")
    return np.full(len(keys), fraction)


def _checked_axes(ordinal: Sequence[int], variables: int) -> list[int]:
    axes = sorted(set(ordinal))
    if not axes:
        raise ValueError("ordinal must name at least one key variable that is ordered")
    if axes[0] < 0 or axes[-1] >= variables:
        raise ValueError(f"ordinal must name key variables 0 to {variables - 1}")
    return axes
