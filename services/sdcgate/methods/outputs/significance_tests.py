"""Tests of two samples and of tables: what leaves is a statistic, its degrees of freedom and a p-value.

Student's t with unequal variances: Welch (1947), Biometrika 34; Pearson's chi-squared (1900); the rank sum of
Mann and Whitney (1947), with the normal approximation corrected for ties; the largest difference of two
distribution functions: Kolmogorov (1933) and Smirnov (1939), of which only the difference leaves and not
where it is.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A test. Hidden from repr: its figures may be withheld."""

    test: str
    statistic: float = field(repr=False)
    degrees: float | None = field(repr=False)
    """Of freedom; None where the test has none."""
    p_value: float = field(repr=False)


@dataclass(frozen=True, slots=True)
class GroupMoments:
    """A sample by its sufficient statistics; the variance is divided by records less one."""

    records: int
    mean: float = field(repr=False)
    variance: float = field(repr=False)


def welch_test(first: GroupMoments, second: GroupMoments) -> SignificanceTest:
    """Equal means of two samples; ModelProblemError where neither varies or one has a single record."""
    from scipy.special import stdtr

    if min(first.records, second.records) < 2:
        raise ModelProblemError([ModelProblem("groups", "each group needs at least two records")])
    parts = first.variance / first.records, second.variance / second.records
    if not sum(parts) > 0:
        raise ModelProblemError([ModelProblem("outcome", "does not vary in either group")])
    statistic = (first.mean - second.mean) / np.sqrt(sum(parts))
    spread = parts[0] ** 2 / (first.records - 1) + parts[1] ** 2 / (second.records - 1)
    degrees = sum(parts) ** 2 / spread
    return SignificanceTest(
        "welch_t", float(statistic), float(degrees), float(2.0 * stdtr(degrees, -abs(statistic)))
    )


def chi_squared_test(counts: IntArray) -> SignificanceTest:
    """Independence of rows and columns of a table of records, without Yates's correction.

    Empty rows and columns are left out; ModelProblemError where fewer than two of either are left.
    """
    from scipy.special import chdtrc

    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    if min(table.shape) < 2:
        raise ModelProblemError([ModelProblem("table", "has fewer than two rows or columns with records")])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(np.sum((table - expected) ** 2 / expected))
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    return SignificanceTest("chi_squared", statistic, float(degrees), float(chdtrc(degrees, statistic)))


def mann_whitney_test(first: FloatArray, second: FloatArray) -> SignificanceTest:
    """Whether values of one sample tend to be larger; the statistic is the first one's U."""
    _refuse_samples(first, second)
    from scipy.stats import mannwhitneyu

    found = mannwhitneyu(first, second, alternative="two-sided", method="asymptotic")
    return SignificanceTest("mann_whitney", float(found.statistic), None, float(found.pvalue))


def kolmogorov_smirnov_test(first: FloatArray, second: FloatArray) -> SignificanceTest:
    """Whether two samples have one distribution, by the asymptotic law."""
    _refuse_samples(first, second)
    from scipy.stats import ks_2samp

    found = ks_2samp(first, second, method="asymp")
    return SignificanceTest("kolmogorov_smirnov", float(found.statistic), None, float(found.pvalue))


def _refuse_samples(first: FloatArray, second: FloatArray) -> None:
    if not len(first) or not len(second):
        raise ModelProblemError([ModelProblem("groups", "a group has no records")])
    together = np.concatenate([first, second])
    if not np.all(np.isfinite(together)):
        raise ModelProblemError([ModelProblem("outcome", "has values that are no numbers")])
    if np.ptp(together) == 0:
        raise ModelProblemError([ModelProblem("outcome", "does not vary in this population")])
