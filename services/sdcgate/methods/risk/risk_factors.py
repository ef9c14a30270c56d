"""Factors of the individual risk that do not come from the data: what an intruder has, and whether one tries.

Benedetti, Capobianchi and Franconi, Individual Risk of Disclosure Using Sampling Design Information, 3.1: the
final risk of unit i is rho_i = d_i e_i t_i r_i, the product of independent events.
"""

from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.positions import at_positions


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """Three probabilities, each one number or one for each unit of shape (units,); 1 is the worst case."""

    quality: float | FloatArray = 1.0
    """d: that the unit's key is the same in the file and in the intruder's list (errors, changes since)."""
    coverage: float | FloatArray = 1.0
    """e: that the unit stands in the intruder's list."""
    attempt: float | FloatArray = 1.0
    """t: that somebody tries to identify the unit."""


def final_risk(risks: FloatArray, factors: Factors) -> FloatArray:
    """rho = d e t r of each unit, shape (units,).

    `risks` (units,) lie in [0, 1], and so do the factors: each is a probability that an agency states and has
    to defend. Raises ValueError where one does not, is not a number, or has another shape.
    """
    r = np.asarray(risks, dtype=np.float64)
    problems = at_positions(~((r >= 0) & (r <= 1)), "risks must lie between 0 and 1")
    product = r
    for name in ("quality", "coverage", "attempt"):
        factor = np.asarray(getattr(factors, name), dtype=np.float64)
        if factor.shape not in ((), r.shape):
            problems.append(f"{name} {factor.shape} must be one number, or one for each of {len(r)} units")
            continue
        wrong = ~((factor >= 0) & (factor <= 1))
        if factor.ndim == 0 and wrong:
            problems.append(f"{name} must lie between 0 and 1")
        elif factor.ndim:
            problems += at_positions(wrong, f"{name} must lie between 0 and 1")
        product = product * factor
    if problems:
        raise ValueError("; ".join(problems))
    return product
