"""Means, totals, ratios and proportions of groups with design-based standard errors.

A mean with the number of records is a sum; with its standard error it is a sum of squares too. Of two
populations that differ by one unit these tell the unit's value: what protects are the rules on populations.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.sample import Sample, added
from sdcgate.methods.outputs.statistic_rules import Reliability


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Estimates of groups, each shape (groups,); NaN of an empty group."""

    values: FloatArray = field(repr=False)
    standard_errors: FloatArray = field(repr=False)
    """NaN where a group has one cluster only."""
    degrees_of_freedom: IntArray = field(repr=False)
    """Clusters less strata that the group occurs in, at least 0."""

    @property
    def coefficients_of_variation(self) -> FloatArray:
        """Standard errors as shares of the absolute estimates; infinite of an estimate of 0 with an error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares: FloatArray = self.standard_errors / np.abs(self.values)
        return shares


def totals(sample: Sample) -> Estimates:
    """Weighted totals, sum(w y)."""
    contributions = sample.counted * sample.values
    return estimates_of(sample, sample.sums(contributions), contributions)


def means(sample: Sample) -> Estimates:
    """Weighted means, sum(w y) / sum(w). Of an indicator they are proportions."""
    return ratios(sample, np.ones(len(sample.values)))


def ratios(sample: Sample, denominators: FloatArray) -> Estimates:
    """Ratios of weighted totals, R = sum(w y) / sum(w x), x being `denominators`, shape (records,).

    Linearised: the error of R is that of the total of w (y - R x) / sum(w x). NaN where sum(w x) is 0.
    Source: Cochran, Sampling Techniques (1977), 6.3; Lohr, Sampling: Design and Analysis (2010), 9.1.
    """
    weights = sample.counted
    with np.errstate(divide="ignore", invalid="ignore"):
        below = sample.sums(weights * denominators)
        values = sample.sums(weights * sample.values) / below
        linearised = weights * (sample.values - values[sample.groups] * denominators) / below[sample.groups]
    return estimates_of(sample, values, linearised)


def unreliable(estimates: Estimates, units: IntArray, rule: Reliability) -> BoolArray:
    """Groups whose estimate is too uncertain to be used, shape (groups,): a warning that leaves with it.

    Too few units make an estimate unreliable as well as unsafe (Shlomo, Accessing Microdata via the Internet,
    2003, V); an estimate without a standard error is unreliable.
    """
    certain = estimates.coefficients_of_variation <= rule.coefficient_of_variation
    exact = estimates.standard_errors == 0
    flagged: BoolArray = ~((certain | exact) & (units >= rule.units))
    return flagged


def estimates_of(sample: Sample, values: FloatArray, linearised: FloatArray) -> Estimates:
    """Estimates, shape (groups,), with the errors of the totals of their linearised variable, (records,)."""
    occupied = sample.records_of_groups > 0
    variances, degrees = variance_of_totals(sample, linearised)
    return Estimates(np.where(occupied, values, np.nan), np.sqrt(variances), degrees)


def variance_of_totals(sample: Sample, contributions: FloatArray) -> tuple[FloatArray, IntArray]:
    """Variances of the totals of weighted contributions, and degrees of freedom, each shape (groups,).

    By strata h with n_h clusters drawn: (1 - f_h) n_h / (n_h - 1) times the sum of squared deviations of the
    clusters' totals from their mean, a cluster without records in the group having 0. In a stratum of a
    single cluster the deviation is that from the mean of all clusters, which errs on the large side. NaN
    where a group's strata have one cluster in all. Source: Lohr (2010), 9.1 and 9.6; Wolter, Introduction to
    Variance Estimation (2007), 6.
    """
    groups, strata, sums, occurring = _cluster_totals(sample, contributions)
    count = sample.number_of_groups
    drawn = _drawn(sample, strata, occurring)
    keys, of_clusters = np.unique(groups * len(drawn) + strata, return_inverse=True)
    key_groups, n = keys // len(drawn), drawn[keys % len(drawn)].astype(np.float64)
    present = np.bincount(of_clusters).astype(np.float64)
    n = np.maximum(n, present)
    averages = added(of_clusters, sums, len(keys)) / n
    every = added(key_groups, n, count)
    overall = added(groups, sums, count) / np.maximum(every, 1)
    centres = np.where(n > 1, averages, overall[key_groups])
    squares = added(of_clusters, (sums - centres[of_clusters]) ** 2, len(keys))
    squares += (n - present) * centres**2
    fractions = sample.design.fractions
    sampled = np.ones(len(keys)) if fractions is None else 1 - fractions[keys % len(drawn)]
    by_stratum = sampled * np.where(n > 1, n / np.maximum(n - 1, 1), 1.0) * squares
    variances = added(key_groups, by_stratum, count)
    degrees = every - np.bincount(key_groups, minlength=count)
    return np.where(every > 1, variances, np.nan), np.maximum(degrees, 0).astype(np.int64)


def primary_units(sample: Sample) -> IntArray:
    """Clusters with records in each group, shape (groups,)."""
    groups, *_ = _cluster_totals(sample, np.zeros(len(sample.values)))
    return np.bincount(groups, minlength=sample.number_of_groups)


def _cluster_totals(
    sample: Sample, contributions: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Of each group and cluster with records there: group, stratum, total, cluster."""
    design = sample.design
    clusters = sample.units if design.clusters is None else design.clusters
    strata = np.zeros(len(clusters), dtype=np.int64) if design.strata is None else design.strata
    span = int(clusters.max()) + 1
    # A cluster that lies in two strata is one in each: there it was drawn twice.
    of_strata, cluster = np.unique(strata * span + clusters, return_inverse=True)
    pairs, of_records = np.unique(sample.groups * len(of_strata) + cluster, return_inverse=True)
    sums = added(of_records, contributions, len(pairs))
    occurring = pairs % len(of_strata)
    return pairs // len(of_strata), of_strata[occurring] // span, sums, occurring


def _drawn(sample: Sample, strata: IntArray, clusters: IntArray) -> IntArray:
    """Clusters drawn in each stratum: as declared, else those that have a record of any group."""
    if sample.design.sampled is not None:
        return sample.design.sampled
    _, first = np.unique(clusters, return_index=True)
    return np.bincount(strata[first])
