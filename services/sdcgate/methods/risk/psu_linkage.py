"""Primary sampling units linked to known areas by the figures that a file shows of them.

A file that names its PSUs by arbitrary numbers may show figures of the area (a tax rate, the number of
pupils) or lets them be estimated from its records; who finds the same figures published knows the area, and
the area becomes a key variable. Source: Skinner, *Statistical Disclosure Control for Survey Data*, 2009, 3.5;
the posterior is Bayes' rule, the risk within an area that of `individual`.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.positions import at_positions
from sdcgate.methods.risk.individual import individual_risk
from sdcgate.methods.risk.keys import checked_codes, checked_weights, group_keys, weight_sums

LARGEST = 4_000_000
"""PSUs times areas whose posterior is held."""
LARGEST_ONE_TO_ONE = 5_000
"""PSUs or areas that are linked all at once."""
_NARROW = 1e-4
_NEAR = 1e-9
"""Relative difference up to which two figures are the same."""


@dataclass(frozen=True, slots=True, eq=False)
class PsuFigures:
    """What a file shows of its PSUs: area-level variables, and means that are estimated from the records."""

    means: FloatArray = field(repr=False)
    """Weighted mean of each variable, shape (psus, variables)."""
    errors: FloatArray = field(repr=False)
    """Its standard error; 0 of a variable that is the same throughout each PSU, shape (psus, variables)."""
    records: IntArray = field(repr=False)
    """Records of each PSU, shape (psus,)."""


@dataclass(frozen=True, slots=True, eq=False)
class PsuLinkage:
    """Which area each PSU is in, as an intruder sees it."""

    posterior: FloatArray = field(repr=False)
    """Probability of each area, shape (psus, areas); a row of zeros where no area fits."""
    best: IntArray = field(repr=False)
    """The most likely area, the first of several; -1 where no area fits, shape (psus,)."""
    best_probability: FloatArray = field(repr=False)
    """Its probability: what the intruder believes, 0 where no area fits, shape (psus,)."""
    ties: IntArray = field(repr=False)
    """Areas that are as likely as it, shape (psus,)."""

    @property
    def expected_matches(self) -> float:
        """PSUs that are linked rightly to their most likely area, if the errors are as they were given."""
        return float(self.best_probability.sum())

    def of_areas(self, areas: IntArray) -> FloatArray:
        """Probability of one area for each PSU, 0 where it is -1 (none), shape (psus,)."""
        at = np.asarray(areas)
        if at.shape != self.best.shape or at.dtype.kind != "i":
            raise ValueError("areas must be one position of an area a PSU")
        if (at < -1).any() or (at >= self.posterior.shape[1]).any():
            raise ValueError("areas must be positions of areas, or -1 for none")
        return np.where(at >= 0, self.posterior[np.arange(len(at)), np.maximum(at, 0)], 0.0)

    def right(self, truth: IntArray) -> FloatArray:
        """Chance that the most likely area is the true one, where ties are drawn, shape (psus,)."""
        found = self.of_areas(truth)
        top = (found > 0) & (found >= self.best_probability * (1 - _NEAR))
        return np.where(top, 1.0 / np.maximum(self.ties, 1), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class AreaRisk:
    """Risk of each record, without and with what is known of its PSU's area; each of shape (records,)."""

    without: FloatArray = field(repr=False)
    """Individual risk of the record's key in the whole file: the intruder has no idea of areas."""
    within: FloatArray = field(repr=False)
    """Individual risk of the key among the people of the area: the intruder knows it for certain."""
    with_area: FloatArray = field(repr=False)
    """The larger of `without` and the area's probability times `within`."""

    @property
    def added(self) -> float:
        """Expected correct matches that the figures of the areas add."""
        return float((self.with_area - self.without).sum())


def psu_figures(psus: IntArray, values: FloatArray, weights: FloatArray | None = None) -> PsuFigures:
    """Means of variables in each PSU with their standard errors.

    `psus` (records,) numbers 0..P-1, each occurring; `values` (records, variables); `weights` (records,) 1
    where left out. The standard error is sqrt(s^2 sum w^2) / sum w with s^2 the variance within PSUs, pooled
    over all: as if records were drawn independently within a PSU. Raises ValueError for wrong input.
    """
    at, numbers = _checked_psus(psus), _checked(values, "values")
    if len(at) != len(numbers):
        raise ValueError("values must have a row a record")
    weight = np.ones(len(at)) if weights is None else checked_weights(weights, len(at))
    records = np.bincount(at)
    totals = np.bincount(at, weight)
    centre = numbers.mean(axis=0)
    means = np.column_stack([np.bincount(at, weight * (one - c)) / totals + c for one, c in _pairs(numbers)])
    away = numbers - means[at]
    scale = np.maximum(np.abs(numbers).max(axis=0), np.abs(centre))
    same = np.abs(away).max(axis=0) <= _NEAR * scale
    free = max(len(at) - len(records), 1)
    variance = np.where(same, 0.0, (away**2).sum(axis=0) / free)
    shares = np.sqrt(np.bincount(at, weight**2)) / totals
    return PsuFigures(means, shares[:, None] * np.sqrt(variance), records)


def link_psus(
    figures: FloatArray,
    areas: FloatArray,
    errors: FloatArray | float = 0.0,
    rounding: FloatArray | float = 0.0,
    prior: FloatArray | None = None,
    possible: BoolArray | None = None,
) -> PsuLinkage:
    """Posterior of each PSU's area: prior times the likelihood of its figures.

    `figures` (psus, variables) as the file shows them, `areas` (areas, variables) as they are published. A
    figure is the area's plus a normal error of standard deviation `errors` ((variables,) or (psus,
    variables): noise, sampling error), then rounded to multiples of `rounding` (variables,); with neither it
    is the area's, to 1e-9 relative. Errors of variables are independent. `prior` (areas,) is how likely a PSU
    is to be in an area before anything is seen: alike where left out, its size where PSUs were drawn by size.
    `possible` (psus, areas) is False where a PSU cannot be in an area.

    Each PSU is linked on its own: two may be in the same area. Raises ValueError for wrong input and more
    than `LARGEST` pairs.
    """
    logs = _log_likelihood(figures, areas, errors, rounding)
    if prior is not None:
        shares = np.asarray(prior, dtype=np.float64)
        if shares.shape != logs.shape[1:] or not np.isfinite(shares).all() or (shares < 0).any():
            raise ValueError("prior must be one finite number of at least 0 an area")
        with np.errstate(divide="ignore"):
            logs += np.log(shares)
    if possible is not None:
        allowed = np.asarray(possible)
        if allowed.shape != logs.shape or allowed.dtype.kind != "b":
            raise ValueError("possible must be true or false for each PSU and area")
        logs[~allowed] = -np.inf
    top = logs.max(axis=1, keepdims=True)
    fits = np.isfinite(top[:, 0])
    posterior = np.exp(logs - np.where(np.isfinite(top), top, 0.0))
    posterior /= np.where(fits, posterior.sum(axis=1), 1.0)[:, None]
    best = posterior.argmax(axis=1)
    highest = posterior[np.arange(len(best)), best]
    ties = (posterior >= highest[:, None] * (1 - _NEAR)).sum(axis=1)
    return PsuLinkage(posterior, np.where(fits, best, -1), highest, np.where(fits, ties, 0))


def link_psus_one_to_one(linkage: PsuLinkage) -> IntArray:
    """Areas of all PSUs at once, none twice, with the largest product of posteriors; -1 where none is left.

    For an intruder who knows that each PSU is an area of its own. Raises ValueError for more than
    `LARGEST_ONE_TO_ONE` PSUs or areas.
    """
    from scipy.optimize import linear_sum_assignment

    if max(linkage.posterior.shape) > LARGEST_ONE_TO_ONE:
        raise ValueError(f"one to one takes at most {LARGEST_ONE_TO_ONE} PSUs and areas")
    with np.errstate(divide="ignore"):
        logs = np.log(linkage.posterior)
    # Dearer than all that fit together: as many PSUs as can be are linked to an area that fits.
    floor = np.where(np.isfinite(logs), logs, 0.0).min() * (len(logs) + 1) - 1.0
    rows, columns = linear_sum_assignment(np.where(np.isfinite(logs), logs, floor), maximize=True)
    found = np.full(len(logs), -1, dtype=np.int64)
    found[rows] = np.where(np.isfinite(logs[rows, columns]), columns, -1)
    return found


def risk_with_areas(
    codes: IntArray, psus: IntArray, weights: FloatArray, probabilities: FloatArray, people: FloatArray
) -> AreaRisk:
    """Risk of each record's key where an intruder has the posterior of its PSU's area.

    A target who lives in area a and has key k is the record of PSU i with key k with the probability
    P(i is a) * E(1/F_ka): a record of another area he cannot be, and of the F_ka people with his key in his
    own he is one. `codes` (records, keys), `psus` (records,), design `weights` (records,); `probabilities`
    (psus,) of each PSU's true area, `people` (psus,) who live there. Weights within a PSU are scaled to
    `people`: as they stand they stand for areas that were not drawn, too.

    Raises ValueError for wrong input, and where an area has fewer people than its PSU has records.
    """
    keys, at = checked_codes(codes), _checked_psus(psus)
    if len(keys) != len(at):
        raise ValueError("psus must have one number a record")
    weight = checked_weights(weights, len(at))
    chance, size = np.asarray(probabilities, dtype=np.float64), np.asarray(people, dtype=np.float64)
    records = np.bincount(at)
    if chance.shape != records.shape or not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError("probabilities must be one number from 0 to 1 a PSU")
    if size.shape != records.shape or not np.isfinite(size).all() or (size < records).any():
        raise ValueError("people must be at least the records of the PSU, a finite number a PSU")
    scaled = weight * (size / np.bincount(at, weight))[at]
    without = _risk(keys, weight)
    within = _risk(np.column_stack([keys, at]), scaled)
    return AreaRisk(without, within, np.maximum(without, chance[at] * within))


def _risk(codes: IntArray, weights: FloatArray) -> FloatArray:
    """Individual risk of each record by its key; a key never has fewer people than records."""
    keys = group_keys(codes)
    sums = np.maximum(weight_sums(keys, weights), keys.counts)
    return individual_risk(keys.counts, keys.counts / sums)[keys.group]


def _log_likelihood(
    figures: FloatArray, areas: FloatArray, errors: FloatArray | float, rounding: FloatArray | float
) -> FloatArray:
    """Log of how likely each PSU's figures are in each area, but for a constant a PSU."""
    ours, theirs = _checked(figures, "figures"), _checked(areas, "areas")
    if ours.shape[1] != theirs.shape[1]:
        raise ValueError("figures and areas must have the same variables")
    if len(ours) * len(theirs) > LARGEST:
        raise ValueError(f"PSUs times areas must be at most {LARGEST}")
    spread = _spread(errors, ours.shape, "errors")
    steps = _spread(rounding, ours.shape, "rounding")
    logs = np.zeros((len(ours), len(theirs)))
    for place in range(ours.shape[1]):
        away = np.abs(ours[:, place, None] - theirs[None, :, place])
        scale = np.maximum(np.abs(ours[:, place, None]), np.abs(theirs[None, :, place]))
        logs += _log_density(away, scale, spread[:, place, None], steps[:, place, None])
    return logs


def _log_density(away: FloatArray, scale: FloatArray, spread: FloatArray, step: FloatArray) -> FloatArray:
    """Log density of figures that lie `away` from an area's; of rounded ones their probability."""
    from scipy.special import log_ndtr

    unit = np.where(spread > 0, spread, 1.0)
    z = away / unit
    normal = -0.5 * np.minimum(z, 1e150) ** 2
    width = step / unit
    upper, lower = log_ndtr(width / 2 - z), log_ndtr(-width / 2 - z)
    with np.errstate(divide="ignore", invalid="ignore"):
        rounded = np.where(np.isfinite(upper), upper + np.log1p(-np.exp(lower - upper)), -np.inf)
        # Of a narrow step the two cancel: there its probability is the density times its width.
        narrow = normal - 0.5 * np.log(2 * np.pi) + np.log(width)
    rounded = np.where((width < _NARROW) & (width * z < _NARROW), narrow, rounded)
    noisy = np.where(step > 0, rounded, normal)
    inside = np.where(away <= step / 2 + _NEAR * scale, 0.0, -np.inf)
    return np.asarray(np.where(spread > 0, noisy, inside), dtype=np.float64)


def _spread(given: FloatArray | float, shape: tuple[int, ...], name: str) -> FloatArray:
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in ((), shape[1:], shape) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name} must be finite and at least 0: one number, one a variable, or a row a PSU")
    return np.broadcast_to(values, shape)


def _pairs(numbers: FloatArray) -> list[tuple[FloatArray, float]]:
    """Columns with their means; means of differences do not cancel."""
    return [(one, float(one.mean())) for one in numbers.T]


def _checked_psus(psus: IntArray) -> IntArray:
    """PSUs of records. Raises ValueError where they are not numbered from 0 without gaps."""
    values = np.asarray(psus)
    if values.ndim != 1 or values.dtype.kind != "i" or not len(values):
        raise ValueError("psus must be one integer a record, of at least one record")
    if values.min() < 0 or values.max() >= len(values) or (np.bincount(values) == 0).any():
        raise ValueError("psus must be numbered from 0 without gaps")
    return values.astype(np.int64)


def _checked(numbers: FloatArray, name: str) -> FloatArray:
    """Figures as floats. Raises ValueError where they are not usable."""
    values = np.asarray(numbers)
    if values.ndim != 2 or values.dtype.kind not in "iuf" or not values.size:
        raise ValueError(f"{name} must be numbers in rows and columns, at least one")
    values = values.astype(np.float64)
    wrong = at_positions(np.asarray(~(np.abs(values) < 1e140).all(axis=1)), f"{name} must be finite")
    if wrong:
        raise ValueError(wrong[0])
    return values
