"""What of a model may leave once it is checked: estimates and figures of fit, nothing per record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from sdcgate.methods.cells import FloatArray

CONFIDENCE = 0.95


class Reference(StrEnum):
    """The distribution that statistics are compared with."""

    NORMAL = "normal"
    STUDENT = "t"


@dataclass(frozen=True, slots=True, eq=False)
class ModelEstimate:
    """Parameters in the order of `names`, arrays of shape (parameters,); hidden from repr, as they may be
    withheld.
    """

    family: str
    names: tuple[str, ...]
    equations: tuple[str, ...]
    """The part of the model that each parameter belongs to; empty where there is one part."""
    estimates: FloatArray = field(repr=False)
    standard_errors: FloatArray = field(repr=False)
    statistics: FloatArray = field(repr=False)
    p_values: FloatArray = field(repr=False)
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    reference: Reference
    degrees: float
    """Degrees of freedom of the reference distribution; inf where it is the normal one."""
    confidence: float
    residual_degrees: int
    records: int
    units: int
    fit: Mapping[str, float] = field(repr=False)
    """Figures of the whole model by name: `r_squared`, `log_likelihood`, `aic`, ..."""

    @property
    def free_degrees(self) -> int:
        """Degrees of freedom of what is uncertain: of residuals, or of fewer clusters or primary units.

        Errors are sums of squares of what these have; of two units drawn in a stratum they tell each one's.
        """
        return int(min(self.residual_degrees, self.degrees))


def inferred(
    family: str,
    names: tuple[str, ...],
    estimates: FloatArray,
    variances: FloatArray,
    *,
    records: int,
    units: int,
    residual_degrees: int,
    fit: Mapping[str, float],
    degrees: float = np.inf,
    confidence: float = CONFIDENCE,
    equations: tuple[str, ...] = (),
) -> ModelEstimate:
    """Statistics, p-values and confidence intervals from estimates and their variances.

    Student's t with so many degrees of freedom, the normal distribution where they are infinite.
    """
    from scipy.special import ndtr, ndtri, stdtr, stdtrit

    errors = np.sqrt(variances)
    statistics = estimates / errors
    tail = (1.0 + confidence) / 2.0
    normal = not np.isfinite(degrees)
    below = ndtr(-np.abs(statistics)) if normal else stdtr(degrees, -np.abs(statistics))
    reach = (ndtri(tail) if normal else stdtrit(degrees, tail)) * errors
    return ModelEstimate(
        family=family,
        names=names,
        equations=equations or ("",) * len(names),
        estimates=estimates,
        standard_errors=errors,
        statistics=statistics,
        p_values=2.0 * below,
        lower=estimates - reach,
        upper=estimates + reach,
        reference=Reference.NORMAL if normal else Reference.STUDENT,
        degrees=float(degrees),
        confidence=confidence,
        residual_degrees=residual_degrees,
        records=records,
        units=units,
        fit=fit,
    )


def information(log_likelihood: float, records: int, parameters: int) -> dict[str, float]:
    """Log-likelihood with the criteria of Akaike (1974) and Schwarz (1978)."""
    return {
        "log_likelihood": log_likelihood,
        "aic": -2.0 * log_likelihood + 2.0 * parameters,
        "bic": -2.0 * log_likelihood + float(np.log(records)) * parameters,
    }
