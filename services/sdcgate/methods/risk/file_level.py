"""File-level risk: what the risks of single units add up to for a file that is to be released.

Expected correct matches and re-identification rate: Polettini, Some Remarks on the Individual Risk
Methodology, 2003; Handbook on Statistical Disclosure Control, 3.3.3 and 3.3.5; Shlomo, Accessing Microdata
via the Internet (Israel CBS, 2003), III.A and V. Thresholds on the risk from a rate: Handbook, 3.3.5.

A cell is a key with f_k units, each of risk r_k. Where missing values are wildcards each record is a cell of
its own, with `units` of one; where households are judged, each household with its size.
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.positions import at_positions

AT_BOUND = 1e-9
"""A risk within this of a threshold, relatively, is at it, and what is at a threshold is unsafe."""
LOG_CLASSES = (0.0, *(exp(-power) for power in range(8, 1, -1)), 1.0)
"""Bounds of classes as in Shlomo 2003, Figures 2 and 3: up to e^-8 = 0.03%, ..., above e^-2 = 13.5%."""


@dataclass(frozen=True, slots=True)
class FileRisk:
    """The risk of a file under one key."""

    units: int
    """Units of the sample n."""
    key_cells: int
    """Keys with at least one unit."""
    sample_uniques: int
    """Keys with one unit, f_k = 1."""
    expected_matches: float
    """Expected correct matches over all units, tau_1 = sum of f_k r_k."""
    expected_matches_uniques: float
    """Expected correct matches over sample uniques, tau_2 = sum of r_k over f_k = 1."""
    reidentification_rate: float
    """xi = tau_1 / n; psi is its percentage."""
    uniques_share: float
    """tau_2 / n, the share of the sample that Israel CBS judges a file by (1% under restricted access)."""
    uniques_rate: float
    """tau_2 / sample uniques: how likely a match with a sample unique is correct; 0 where there is none."""
    maximum: float
    """Largest r_k."""


@dataclass(frozen=True, slots=True, eq=False)
class RiskHistogram:
    """Units by classes of their risk; class c is above edges[c] and up to edges[c + 1]."""

    edges: FloatArray
    """Bounds, shape (classes + 1,)."""
    units: IntArray
    """Units in each class, shape (classes,)."""
    key_cells: IntArray
    """Keys in each class, shape (classes,)."""
    expected_matches: FloatArray
    """Expected correct matches of the class's units, shape (classes,)."""


@dataclass(frozen=True, slots=True)
class RiskThreshold:
    """A threshold r* on the risk of a unit, and what it does to the re-identification rate."""

    risk: float | None
    """r*: units with r_k >= r* are unsafe; None where the file needs no threshold."""
    rate: float
    """Bound of the rate once no unit's risk is above r*: sum of f_k min(r_k, r*) / n."""
    unsafe_units: int
    unsafe_cells: int


def file_risk(frequencies: IntArray, risks: FloatArray, units: IntArray | None = None) -> FileRisk:
    """The risk of a file from the frequency f_k >= 1 and the risk r_k of each of its keys, shape (cells,).

    `units` are the units that a cell stands for, by default f_k. Any estimate of the risk may be passed.
    Raises ValueError where there is no cell, or a value is out of range.
    """
    f, r, n = _checked(frequencies, risks, units)
    uniques = f == 1
    total, matches, matches_uniques = int(n.sum()), float(n @ r), float(n[uniques] @ r[uniques])
    unique_units = int(n[uniques].sum())
    return FileRisk(
        units=total,
        key_cells=len(f),
        sample_uniques=unique_units,
        expected_matches=matches,
        expected_matches_uniques=matches_uniques,
        reidentification_rate=matches / total,
        uniques_share=matches_uniques / total,
        uniques_rate=matches_uniques / unique_units if unique_units else 0.0,
        maximum=float(r.max()),
    )


def risk_histogram(
    risks: FloatArray, units: IntArray, edges: tuple[float, ...] = LOG_CLASSES
) -> RiskHistogram:
    """Units, keys and expected matches by classes of the risk.

    `risks` and `units` (cells,); `edges` rise from 0 to at least the largest risk. Raises ValueError where a
    value is out of range, or a risk lies in no class.
    """
    _, r, n = _checked(units, risks, units)
    bounds = np.asarray(edges, dtype=np.float64)
    if len(bounds) < 2 or bounds[0] != 0 or not (np.diff(bounds) > 0).all() or not bounds[-1] >= r.max():
        raise ValueError("edges must rise from 0 to at least the largest risk")
    place = np.clip(np.searchsorted(bounds, r, side="left") - 1, 0, None)
    classes = len(bounds) - 1
    return RiskHistogram(
        edges=bounds,
        units=np.rint(np.bincount(place, n, classes)).astype(np.int64),
        key_cells=np.bincount(place, minlength=classes).astype(np.int64),
        expected_matches=np.bincount(place, n * r, classes).astype(np.float64),
    )


def threshold_for_rate(risks: FloatArray, units: IntArray, rate: float) -> RiskThreshold:
    """The largest threshold r* that keeps the protected file's re-identification rate at `rate` xi* or below.

    Keys with r_k >= r* are unsafe and are protected until their risk is r* at most, which bounds the rate by
    xi(r*) = sum of f_k min(r_k, r*) / n (Handbook, 3.3.5). It rises with r* in straight pieces, so that r* is
    exact here; the handbook searches among the risks that occur.

    `risks` and `units` (cells,), `rate` above 0 and below 1. Raises ValueError where a value is out of range.
    """
    _, r, n = _checked(units, risks, units)
    if not 0 < rate < 1:
        raise ValueError("rate must lie between 0 and 1")
    order = np.argsort(r)
    r_sorted, n_sorted = r[order], n[order].astype(np.float64)
    matches = n_sorted * r_sorted
    safe_matches = np.cumsum(matches) - matches
    others = np.cumsum(n_sorted[::-1])[::-1]
    allowed = rate * others[0]
    if matches.sum() < allowed * (1 - AT_BOUND):
        return RiskThreshold(None, float(matches.sum() / others[0]), 0, 0)
    reached = safe_matches + r_sorted * others >= allowed * (1 - AT_BOUND)
    first = int(np.argmax(reached))
    threshold = float((allowed - safe_matches[first]) / others[first])
    return rate_for_threshold(r, n, min(threshold, float(r_sorted[first])))


def target_threshold(risks: FloatArray, units: IntArray, rate: float | None) -> RiskThreshold | None:
    """`threshold_for_rate`, or None where no rate is asked for."""
    return None if rate is None else threshold_for_rate(risks, units, rate)


def rate_for_threshold(risks: FloatArray, units: IntArray, threshold: float) -> RiskThreshold:
    """The re-identification rate that a threshold r* on the risk of a unit leaves, and what it makes unsafe.

    `risks` and `units` (cells,), `threshold` above 0 and at most 1. Raises ValueError where a value is out of
    range.
    """
    _, r, n = _checked(units, risks, units)
    if not 0 < threshold <= 1:
        raise ValueError("threshold must be above 0 and at most 1")
    unsafe = at_least(r, threshold)
    return RiskThreshold(
        risk=threshold,
        rate=float(n @ np.minimum(r, threshold) / n.sum()),
        unsafe_units=int(n[unsafe].sum()),
        unsafe_cells=int(unsafe.sum()),
    )


def at_least(risks: FloatArray, thresholds: FloatArray | float) -> BoolArray:
    """Which risks are at their threshold or above it, and not surely below: NaN is above every threshold."""
    unsafe: BoolArray = ~(np.asarray(risks) < np.asarray(thresholds) * (1 - AT_BOUND))
    return unsafe


def _checked(
    frequencies: IntArray, risks: FloatArray, units: IntArray | None
) -> tuple[IntArray, FloatArray, IntArray]:
    f, r = np.asarray(frequencies), np.asarray(risks, dtype=np.float64)
    n = f if units is None else np.asarray(units)
    problems = []
    if f.ndim != 1 or f.shape != r.shape or n.shape != r.shape:
        problems.append(
            f"frequencies {f.shape}, risks {r.shape} and units {n.shape} must be one value a cell"
        )
    elif not len(r):
        problems.append("risks: there is no cell, so there is no risk to tell")
    elif f.dtype.kind not in "iu" or n.dtype.kind not in "iu":
        problems.append("frequencies and units must be integers")
    else:
        problems += at_positions(f < 1, "frequencies must be at least 1")
        problems += at_positions(n < 1, "units must be at least 1")
        problems += at_positions(~((r >= 0) & (r <= 1)), "risks must lie between 0 and 1")
    if problems:
        raise ValueError("; ".join(problems))
    return f.astype(np.int64), r, n.astype(np.int64)
