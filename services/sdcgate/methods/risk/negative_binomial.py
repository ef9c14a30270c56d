"""Risk of a key under the generalised negative binomial model of Rinott and Shlomo.

f_k is Poisson with mean pi_k lambda_k, F_k - f_k Poisson with mean (1 - pi_k) lambda_k, and lambda_k is gamma
with mean m_k and variance d_k m_k^2: d_k is the dispersion, 1/alpha_k in the sources. Given f_k, F_k - f_k is
negative binomial with alpha_k + f_k successes of probability rho_k = (1 + pi_k d_k m_k)/(1 + d_k m_k).

Dispersion 0 is the Poisson model of `loglinear`; an infinite one knows nothing of lambda_k and is the
individual risk of mu-ARGUS, `individual`, with p_k = pi_k. Sources: Rinott and Shlomo (2006), A generalized
negative binomial smoothing model; Handbook on SDC, 3.3.6, whose formula of tau_2 is misprinted: the exponent
alpha_k belongs to rho_k, rho (1 - rho^alpha)/(alpha (1 - rho)).
"""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

LEAST = 1e-250
"""Dispersions below this are taken as this one, which no figure can tell from 0."""
STEP = 0.08
"""Distance of the nodes of the double exponential quadrature."""


def negative_binomial_risk(
    counts: IntArray, means: FloatArray, dispersions: FloatArray, inclusion: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Pr(F_k = 1 | f_k = 1), 0 where f_k > 1, and E(1/F_k | f_k) of each key, shape (K,) each.

    `counts` f_k >= 1; `means` m_k > 0, the mean of lambda_k before f_k is seen; `dispersions` d_k from 0 to
    infinity; `inclusion` 0 < pi_k <= 1; shape (K,) each.

    E 1/(f + X) = rho int_0^1 v^(f-1) (rho + (1 - rho) v)^(alpha-1) dv, closed for f = 1, by double
    exponential quadrature in -log v else; relative error below 1e-12. Raises ValueError for what is out of
    range.
    """
    _check(counts, means, dispersions, inclusion)
    single = counts == 1
    # Who is in the sample for sure is not hidden among others.
    risks, unique = 1.0 / counts, np.where(single, 1.0, 0.0)
    alone = single & (inclusion < 1.0)
    unique[alone], risks[alone] = _of_uniques(means[alone], dispersions[alone], inclusion[alone])
    several = ~single & (inclusion < 1.0)
    risks[several] = _of_several(
        counts[several].astype(np.float64), means[several], dispersions[several], inclusion[several]
    )
    return unique, risks


def _check(counts: IntArray, means: FloatArray, dispersions: FloatArray, inclusion: FloatArray) -> None:
    problems = []
    if not counts.shape == means.shape == dispersions.shape == inclusion.shape or counts.ndim != 1:
        problems.append("counts, means, dispersions and inclusion must be one value a key each")
    if not np.all(counts >= 1):
        problems.append("counts must be at least 1")
    if not np.all((means > 0) & np.isfinite(means)):
        problems.append("means must be finite and above 0")
    if not np.all(dispersions >= 0):
        problems.append("dispersions must be at least 0")
    if not np.all((inclusion > 0) & (inclusion <= 1)):
        problems.append("inclusion must be a probability above 0 and at most 1")
    if problems:
        raise ValueError("; ".join(problems))


def _of_uniques(
    means: FloatArray, dispersions: FloatArray, inclusion: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """rho^(alpha + 1), and rho (1 - rho^alpha)/(alpha (1 - rho)), without the difference of near equals."""
    rest = 1.0 - inclusion
    unique, risks = np.empty(len(means)), np.empty(len(means))
    known = np.isfinite(dispersions)
    m, pi, left = means[known], inclusion[known], rest[known]
    d = np.maximum(dispersions[known], LEAST)
    with np.errstate(over="ignore"):
        log_rho = -np.log1p(d / (1.0 / (left * m) + d * pi / left))
    unique[known] = np.exp(log_rho / d + log_rho)
    risks[known] = (1.0 / m + pi * d) / left * -np.expm1(log_rho / d)
    unknown = ~known
    pi, left = inclusion[unknown], rest[unknown]
    unique[unknown] = pi
    # log(1/pi) by log1p, which is exact where pi is near 1.
    risks[unknown] = pi / left * np.log1p(left / pi)
    return unique, risks


def _of_several(
    f: FloatArray, means: FloatArray, dispersions: FloatArray, inclusion: FloatArray
) -> FloatArray:
    """E 1/(f + X) = rho int_0^inf e^(-f y) (1 - (1 - rho)(1 - e^-y))^(alpha - 1) dy, y = -log v."""
    d = np.maximum(dispersions, LEAST)
    with np.errstate(over="ignore"):
        spread, alpha = 1.0 / (d * means), 1.0 / d
    missing, rho = (1.0 - inclusion) / (1.0 + spread), (inclusion + spread) / (1.0 + spread)
    scale = 1.0 / (f + np.maximum(alpha - 1.0, 0.0) * missing)
    total = np.zeros(len(f))
    for x in np.arange(-3.8, 20.0, STEP).tolist():
        y = scale * np.exp(x - np.exp(-x))
        fallen = missing * np.expm1(-y)
        inner = np.where(fallen > -0.5, np.log1p(fallen), np.log(rho + missing * np.exp(-y)))
        total += np.exp((alpha - 1.0) * inner - f * y) * y * (1.0 + np.exp(-x))
    result: FloatArray = rho * total * STEP
    return result
