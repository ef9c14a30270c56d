"""Individual risk: the probability that a unit of the sample is correctly matched to the population.

Given the f_k units of the sample with key k, their number F_k in the population is taken as negative
binomial with f_k successes of probability p_k, and the risk is r_k = E(1/F_k | f_k). Sources: Benedetti,
Capobianchi and Franconi, Individual Risk of Disclosure Using Sampling Design Information, eq. (2) to (6);
Polettini, Some Remarks on the Individual Risk Methodology; Shlomo, Accessing Microdata via the Internet
(Israel CBS, 2003), III.A.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import log

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.positions import at_positions


@dataclass(frozen=True, slots=True)
class TableRisk:
    """Individual risk summed over the identifying key of a table."""

    base_units: int
    """Units in the filtered population n."""
    key_cells: int
    """Cells of the key with f_k > 0."""
    sample_uniques: int
    """Cells of the key with f_k = 1."""
    expected_matches_uniques: float
    """Expected correct matches over sample uniques, sum of r_k over f_k = 1."""
    expected_matches: float
    """Expected correct matches over all cells, sum of f_k r_k."""
    reidentification_rate: float
    """Expected correct matches over all cells as a share of the key's units, xi."""
    maximum: float
    """Largest r_k; 0 where there is no unit."""


def individual_risk(frequencies: IntArray, probabilities: FloatArray) -> FloatArray:
    """Individual risk r_k of each cell of a key.

    r_k = p_k * integral_0^1 s^(f_k - 1) / (p_k + (1 - p_k) s) ds = (p_k / f_k) 2F1(1, 1; f_k + 1; 1 - p_k),
    which is eq. (4) of Benedetti, Capobianchi and Franconi with its upper limit corrected to 1/p_k.

    `frequencies` f_k >= 1 and `probabilities` 0 < p_k <= 1 (f_k over the estimated F_k) have the same shape
    (cells,), and so has the result, which lies in (0, 1/f_k]. The relative error is below 1e-12 for f_k up
    to 10^6 and p_k from 1e-9. Raises ValueError where a frequency or probability is out of range.
    """
    f, p = np.asarray(frequencies), np.asarray(probabilities, dtype=np.float64)
    problems = []
    if f.dtype.kind not in "iu":
        problems.append(f"frequencies must be integers, not {f.dtype}")
    if f.ndim != 1 or f.shape != p.shape:
        problems.append(f"frequencies {f.shape} and probabilities {p.shape} must be one value a cell each")
    if not problems:
        problems += at_positions(f < 1, "frequencies must be at least 1")
        problems += at_positions(~((p > 0) & (p <= 1)), "probabilities must be above 0 and at most 1")
    if problems:
        raise ValueError("; ".join(problems))
    risks = np.empty(len(f), dtype=np.float64)
    _kernel()(f.astype(np.int64), p, risks)
    if not np.isfinite(risks).all():
        raise ArithmeticError("individual risk is not finite: treat the key as unsafe and report this")
    return risks


def sampling_probabilities(frequencies: IntArray, weight_sums: FloatArray) -> FloatArray:
    """p_k = f_k / F_k with F_k estimated by sums of weights; eq. (6) of Benedetti, Capobianchi and Franconi.

    `frequencies` f_k >= 1 and `weight_sums` have the same shape (cells,). A sum below f_k (weights below 1,
    or a census whose weights were rounded) is read as F_k = f_k, p_k = 1: the population cannot have fewer.
    Raises ValueError where a frequency is below 1 or a sum is not finite and above 0.
    """
    f, sums = np.asarray(frequencies), np.asarray(weight_sums, dtype=np.float64)
    if f.ndim != 1 or f.shape != sums.shape:
        raise ValueError(f"frequencies {f.shape} and weight sums {sums.shape} must be one value a cell each")
    problems = at_positions(~(f >= 1), "frequencies must be at least 1")
    problems += at_positions(~((sums > 0) & np.isfinite(sums)), "weight sums must be finite and above 0")
    if problems:
        raise ValueError("; ".join(problems))
    probabilities: FloatArray = f / np.maximum(sums, f)
    return probabilities


def table_risk(frequencies: IntArray, weight_sums: FloatArray, base_units: int) -> TableRisk:
    """Individual risk of a table by its identifying key.

    `frequencies` f_k are the sample's units in each cell of the key, `weight_sums` the sums of their weights
    (estimates of F_k), shape (cells,); `base_units` is the filtered population n. Cells with f_k = 0 are
    ignored; p_k is f_k / F_k, and 1 where F_k < f_k, as in a census. Every unit of the base belongs to some
    cell of the key (missing values are a category), so the frequencies add up to n at least; to more where a
    filter of the base is not part of the key, or where units have several codes.

    tau over sample uniques and over all cells: Shlomo 2003, III.A; re-identification rate
    xi = sum f_k r_k / sum f_k: Polettini. Raises ValueError where frequencies, weights and base do not agree.
    """
    f, weights = np.asarray(frequencies), np.asarray(weight_sums, dtype=np.float64)
    problems = []
    if f.dtype.kind not in "iu":
        problems.append(f"frequencies must be integers, not {f.dtype}")
    if f.ndim != 1 or f.shape != weights.shape:
        problems.append(
            f"frequencies {f.shape} and weight sums {weights.shape} must be one value a cell each"
        )
    if not problems:
        problems += at_positions(f < 0, "frequencies must not be negative")
        problems += at_positions(
            ~((weights >= 0) & np.isfinite(weights)), "weight sums must be finite, not negative"
        )
        if int(f.sum()) < base_units:
            problems.append("the key misses units of the base: give every unit a cell, missing as a category")
    if problems:
        raise ValueError("; ".join(problems))
    f, weights = f[f > 0].astype(np.int64), weights[f > 0]
    if not len(f):
        return TableRisk(base_units, 0, 0, 0.0, 0.0, 0.0, 0.0)
    risks = individual_risk(f, f / np.maximum(weights, f))
    uniques = f == 1
    expected = float(f @ risks)
    return TableRisk(
        base_units=base_units,
        key_cells=len(f),
        sample_uniques=int(uniques.sum()),
        expected_matches_uniques=float(risks[uniques].sum()),
        expected_matches=expected,
        reidentification_rate=expected / int(f.sum()),
        maximum=float(risks.max()),
    )


def warm_up() -> None:
    """Compile the kernel, or load it compiled: call before a service says that it is ready."""
    individual_risk(np.ones(1, dtype=np.int64), np.ones(1))


@cache
def _kernel() -> Callable[[IntArray, FloatArray, FloatArray], None]:
    """Compiled `_fill_risks`; numba is imported here because it takes half a second."""
    import numba

    signature = "void(int64[::1], float64[::1], float64[::1])"
    try:
        compiled = numba.njit(signature, nogil=True, cache=True)(_fill_risks)
    except (RuntimeError, OSError):  # no folder that numba may write its cache to
        compiled = numba.njit(signature, nogil=True)(_fill_risks)
    kernel: Callable[[IntArray, FloatArray, FloatArray], None] = compiled
    return kernel


def _fill_risks(frequencies: IntArray, probabilities: FloatArray, risks: FloatArray) -> None:
    """Write the risk of each cell to `risks`.

    Where p <= 1/2 and f <= 20: upward recurrence of I_f = integral_0^1 s^(f-1) / (p + q s) ds from
    I_1 = -ln(p)/q by q I_(f+1) = 1/f - p I_f, whose errors do not grow as p <= q (20 is where both ways
    take the same time). Elsewhere: the series
    2F1(1, 1; f + 1; q) = sum_n n! q^n / ((f + 1) ... (f + n)), whose terms are positive and fall like 2^-n
    (p > 1/2) or like 1/C(f + n, n).
    """
    for cell in range(len(frequencies)):
        f = frequencies[cell]
        p = probabilities[cell]
        q = 1.0 - p
        if p <= 0.5 and f <= 20:
            integral = -log(p) / q
            for step in range(1, f):
                integral = (1.0 / step - p * integral) / q
            risks[cell] = p * integral
        else:
            term = 1.0
            total = 1.0
            n = 0.0
            while term > 1e-17 * total:
                n += 1.0
                term *= q * n / (f + n)
                total += term
            risks[cell] = p / f * total
