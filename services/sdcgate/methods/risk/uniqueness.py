"""Sample uniques against the population: Pr(PU), Pr(PU|SU), theta_s and theta_U, without knowing any F_k.

theta_U has an estimator from the design alone. The other measures need a model of the F_k; three are here,
which differ in how unequal the keys are. Sources: Skinner, Statistical Disclosure Control for Survey Data,
3.2, eqs. (2) to (6), and the papers that it names: Skinner and Elliot (2002), Skinner and Carter (2003),
Bethlehem, Keller and Pannekoek (1990), Skinner and Holmes (1993), Samuels (1998).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import exp, log, sqrt

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.keys import Keys

NODES = 61
NORMAL_95 = 1.959963984540054
FAR = 1e300


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its standard error."""

    value: float
    standard_error: float

    @property
    def interval(self) -> tuple[float, float]:
        """About 95%, within 0 and 1."""
        half = NORMAL_95 * self.standard_error
        return max(0.0, self.value - half), min(1.0, self.value + half)


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """Measures of uniqueness under a model of the population frequencies."""

    model: str
    parameters: tuple[tuple[str, float], ...]
    keys: float
    """Expected number of keys that occur in the population."""
    population_uniques: float
    """Expected number of keys with F_k = 1, N_1."""
    pr_pu: float
    """Share of the sample that is unique in the population, eq. (2)."""
    pr_pu_given_su: float
    """Share of the sample uniques that are unique in the population, eq. (3)."""
    theta_s: float
    """Mean of 1/F_k over sample uniques, eq. (4)."""
    theta_u: float
    """Chance that a match of a random person of the population with a sample unique is correct, eq. (5)."""
    log_likelihood: float
    expected_sizes: tuple[float, ...]
    """Expected numbers of keys with 1, 2, ..., 5 records, to hold against those of the sample."""


def sizes_of(keys: Keys) -> tuple[IntArray, IntArray]:
    """Frequencies of frequencies: the sizes f that occur, ascending, and how many keys n_f have each."""
    sizes, numbers = np.unique(keys.counts, return_counts=True)
    return sizes, numbers.astype(np.int64)


def theta_u(keys: Keys, weights: FloatArray) -> Estimate:
    """theta_U from the design: n_1 / (n_1 + D), D = sum over keys with f_k = 2 of phi_i + phi_j.

    phi = 1/pi - 1 with the inverse inclusion probabilities as `weights`, shape (records,), at least 1. Equal
    weights give n_1 / (n_1 + 2 (1/pi - 1) n_2) of Skinner and Elliot, unequal ones that of Skinner and
    Carter. D is design-unbiased for sum I(f_k = 1)(F_k - 1) key by key, so that under Poisson sampling the
    variance of D less its target is E sum [I(f_k = 2)(phi_i + phi_j)^2 + I(f_k = 1)(F_k - 1)^2]; the last
    term is estimated by D plus twice the sum over keys with f_k = 3 of
    the products phi_i phi_j of their pairs.

    Raises ValueError where weights are below 1 or not one a record; without sample uniques theta_U is not
    defined, and the estimate 0 with error 0 says that no sample unique can be matched.
    """
    if weights.shape != keys.group.shape:
        raise ValueError(f"weights: must be one a record, {len(keys.group)}, not {weights.shape}")
    if not (np.isfinite(weights).all() and np.all(weights >= 1.0)):
        raise ValueError("weights: must be inverse inclusion probabilities, finite and at least 1")
    uniques = int(np.sum(keys.counts == 1))
    if not uniques:
        return Estimate(0.0, 0.0)
    phi = weights - 1.0
    first = np.bincount(keys.group, weights=phi, minlength=len(keys.counts))
    second = np.bincount(keys.group, weights=phi * phi, minlength=len(keys.counts))
    pairs, triples = keys.counts == 2, keys.counts == 3
    others = float(first[pairs].sum())
    products = float((first[triples] ** 2 - second[triples]).sum() / 2.0)
    variance = float((first[pairs] ** 2).sum()) + others + 2.0 * products
    value = uniques / (uniques + others)
    return Estimate(value, value**2 / uniques * sqrt(variance))


def gamma_model(
    sizes: IntArray, numbers: IntArray, fraction: float, cells: float | None = None
) -> Uniqueness:
    """F_k Poisson with means from a gamma distribution: f_k negative binomial (Bethlehem et al. 1990).

    `sizes` and `numbers` from `sizes_of`, `fraction` the sampling fraction, 0 to 1. `cells`: how many keys
    are possible at all; where it is None, keys that do not occur are left out of the likelihood (truncated).
    With shape a and rate b, int lambda^j e^(-s lambda) g = Gamma(a + j) b^a / (Gamma(a) (b + s)^(a + j)).

    Raises ValueError for impossible arguments, ArithmeticError where the likelihood has no maximum.
    """
    _check(sizes, numbers, fraction)
    from scipy.special import gammaln

    f = sizes.astype(np.float64)

    def log_sizes(point: FloatArray) -> tuple[FloatArray, float]:
        a, b = exp(point[0]), exp(point[1])
        ratio = log(fraction / (b + fraction))
        zero = a * log(b / (b + fraction))
        return gammaln(a + f) - gammaln(a) - gammaln(f + 1.0) + zero + f * ratio, zero

    mean = float(np.average(f, weights=numbers)) / fraction
    point, likelihood = _maximise(log_sizes, numbers, cells, np.array([log(0.1), log(0.1 / mean)]))
    a, b = exp(point[0]), exp(point[1])
    possible = _possible(numbers, cells, log_sizes(point)[1])
    rest = 1.0 - fraction
    in_sample, in_all = -a * np.log1p(fraction / b), -a * np.log1p(1.0 / b)
    inverse = fraction * exp(in_sample) * -np.expm1(in_all - in_sample)
    unique_in_sample = fraction * a * exp(in_sample) / (b + fraction)
    ones_to_five = np.arange(1.0, 6.0)
    shape = gammaln(a + ones_to_five) - gammaln(a) - gammaln(ones_to_five + 1.0)
    expected = np.exp(shape + in_sample + ones_to_five * log(fraction / (b + fraction)))
    return _uniqueness(
        "gamma",
        (("shape", a), ("rate", b)),
        sizes,
        numbers,
        keys=possible * -np.expm1(in_all),
        population_uniques=possible * a * exp(in_all) / (b + 1.0),
        pr_pu_given_su=exp(in_all - in_sample) * (b + fraction) / (b + 1.0),
        theta_s=inverse / rest / unique_in_sample if rest > 0 else 1.0,
        others=rest * (a + 1.0) / (b + fraction),
        likelihood=likelihood,
        expected=possible * expected,
    )


def lognormal_model(
    sizes: IntArray, numbers: IntArray, fraction: float, cells: float | None = None
) -> Uniqueness:
    """F_k Poisson with means from a log-normal distribution (Skinner and Holmes 1993).

    Arguments and errors as `gamma_model`. Integrals over log lambda by Gauss-Hermite quadrature about the
    mode of each integrand, which is as accurate for keys of a million records as for unique ones.
    """
    _check(sizes, numbers, fraction)

    def log_sizes(point: FloatArray) -> tuple[FloatArray, float]:
        mu, sigma = float(point[0]), exp(point[1])
        logs = _log_poisson_lognormal(np.concatenate([[0], sizes]), fraction, mu, sigma)
        return logs[1:], float(logs[0])

    f = sizes.astype(np.float64)
    start = np.array([float(np.average(np.log(f / fraction), weights=numbers)) - 1.0, log(1.5)])
    point, likelihood = _maximise(log_sizes, numbers, cells, start)
    mu, sigma = float(point[0]), exp(point[1])
    possible = _possible(numbers, cells, log_sizes(point)[1])
    one, rest = np.array([1]), 1.0 - fraction
    log_unique = float(_log_poisson_lognormal(one, fraction, mu, sigma)[0])
    log_both = float(_log_poisson_lognormal(one, 1.0, mu, sigma)[0]) + log(fraction)
    log_pair = float(_log_poisson_lognormal(np.array([2]), fraction, mu, sigma)[0])
    zero_in_sample = exp(float(_log_poisson_lognormal(np.array([0]), fraction, mu, sigma)[0]))
    zero_in_all = exp(float(_log_poisson_lognormal(np.array([0]), 1.0, mu, sigma)[0]))
    inverse = fraction * (zero_in_sample - zero_in_all)
    expected = np.exp(_log_poisson_lognormal(np.arange(1, 6), fraction, mu, sigma))
    return _uniqueness(
        "lognormal",
        (("mu", mu), ("sigma", sigma)),
        sizes,
        numbers,
        keys=possible * (1.0 - zero_in_all),
        population_uniques=possible * exp(log_both) / fraction,
        pr_pu_given_su=exp(log_both - log_unique),
        theta_s=inverse / rest / exp(log_unique) if rest > 0 else 1.0,
        others=rest * 2.0 * exp(log_pair - log_unique) / fraction,
        likelihood=likelihood,
        expected=possible * expected,
    )


def poisson_dirichlet_model(
    sizes: IntArray, numbers: IntArray, fraction: float, discount: bool = True
) -> Uniqueness:
    """The sample's keys as a partition of Ewens (Samuels 1998) or, with `discount`, of Pitman.

    The number of keys has no bound. A key of one record stays alone through the N - n other persons with
    probability prod (t + theta - 1 + alpha) / (t + theta), and the others that join it are beta-binomial with
    parameters 1 - alpha and n + theta - 1 + alpha. alpha = 0 is Ewens' one-parameter partition.

    Arguments and errors as `gamma_model`.
    """
    _check(sizes, numbers, fraction)
    from scipy.special import gammaln

    f, n_f = sizes.astype(np.float64), numbers.astype(np.float64)
    n, keys = float(f @ n_f), float(n_f.sum())
    population = n / fraction

    def log_likelihood(theta: float, alpha: float) -> float:
        within = float(n_f @ (gammaln(f - alpha) - gammaln(1.0 - alpha)))
        new_keys = float(np.log(theta + alpha * np.arange(1.0, keys)).sum())
        return new_keys - float(gammaln(theta + n) - gammaln(theta + 1.0)) + within

    def of(point: FloatArray) -> tuple[float, float]:
        return exp(float(point[0])), 1.0 / (1.0 + exp(-float(point[1]))) if discount else 0.0

    start = np.array([log(keys), -1.0][: 2 if discount else 1])
    theta, alpha = of(_minimum(lambda point: -log_likelihood(*of(point)), start))
    others = population - n
    a, b = 1.0 - alpha, n + theta - 1.0 + alpha
    stays = gammaln(b + others) - gammaln(b) - gammaln(a + b + others) + gammaln(a + b)
    return _uniqueness(
        "pitman" if discount else "ewens",
        (("theta", theta), ("alpha", alpha)),
        sizes,
        numbers,
        keys=_pitman_keys(population, theta, alpha),
        population_uniques=_pitman_size(population, theta, alpha, 1),
        pr_pu_given_su=exp(float(stays)),
        theta_s=_inverse_mean(a, b, others),
        others=others * a / (a + b),
        likelihood=log_likelihood(theta, alpha),
        expected=np.array([_pitman_size(n, theta, alpha, size) for size in range(1, 6)]),
    )


def _check(sizes: IntArray, numbers: IntArray, fraction: float) -> None:
    problems = []
    if not len(sizes) or sizes.shape != numbers.shape:
        problems.append("sizes and numbers: must be one number of keys a size, and there must be keys")
    elif sizes.min() < 1 or numbers.min() < 1:
        problems.append("sizes and numbers: must be at least 1")
    if not 0.0 < fraction <= 1.0:
        problems.append("fraction: must be above 0 and at most 1")
    if problems:
        raise ValueError("; ".join(problems))


def _maximise(
    log_sizes: Callable[[FloatArray], tuple[FloatArray, float]],
    numbers: IntArray,
    cells: float | None,
    start: FloatArray,
) -> tuple[FloatArray, float]:
    """Parameters with the largest likelihood of the sizes, and that likelihood."""
    n_f = numbers.astype(np.float64)
    keys = float(n_f.sum())
    if cells is not None and not cells >= keys:
        raise ValueError(f"cells: must be at least the {keys:.0f} keys that occur")

    def loss(point: FloatArray) -> float:
        with np.errstate(all="ignore"):
            logs, zero = log_sizes(point)
            if cells is None:
                return float(keys * np.log1p(-np.exp(zero)) - n_f @ logs)
            return float(-(cells - keys) * zero - n_f @ logs)

    point = _minimum(loss, start)
    return point, -loss(point)


def _minimum(loss: Callable[[FloatArray], float], start: FloatArray) -> FloatArray:
    """Where a loss is least.

    Raises:
        ArithmeticError: it cannot be found.
    """
    from scipy.optimize import minimize

    def finite(point: FloatArray) -> float:
        try:
            with np.errstate(all="ignore"):
                value = loss(point)
        except OverflowError:
            return FAR
        return value if np.isfinite(value) else FAR

    options = {"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-9}
    found = minimize(finite, start, method="Nelder-Mead", options=options)
    if not found.success or found.fun >= FAR:
        raise ArithmeticError(
            "the likelihood has no maximum that can be found: the model does not fit these keys"
        )
    point: FloatArray = found.x
    return point


def _possible(numbers: IntArray, cells: float | None, log_zero: float) -> float:
    """How many keys are possible, those that do not occur in the sample among them."""
    return float(numbers.sum()) / -np.expm1(log_zero) if cells is None else cells


@cache
def _nodes() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of the Gauss-Hermite rule."""
    nodes, weights = np.polynomial.hermite.hermgauss(NODES)
    return nodes, weights


def _log_poisson_lognormal(counts: IntArray, scale: float, mu: float, sigma: float) -> FloatArray:
    """log of int Poisson(count; scale e^x) Normal(x; mu, sigma^2) dx, shape (counts,)."""
    from scipy.special import gammaln, logsumexp

    k = counts.astype(np.float64)[:, None]
    precision = 1.0 / sigma**2
    x = np.maximum(np.log((k + 1.0) / scale), mu)
    # The derivative is increasing and convex, and positive at the start: Newton's steps fall to the mode.
    for _ in range(100):
        step = (scale * np.exp(x) + (x - mu) * precision - k) / (scale * np.exp(x) + precision)
        x = x - step
        if np.max(np.abs(step)) < 1e-12:
            break
    width = np.sqrt(2.0 / (scale * np.exp(x) + precision))
    nodes, weights = _nodes()
    at = x + width * nodes[None, :]
    exponent = (
        k * (at + log(scale)) - scale * np.exp(at) - gammaln(k + 1.0) - (at - mu) ** 2 * precision / 2.0
    )
    logs = logsumexp(exponent + nodes[None, :] ** 2 + np.log(weights)[None, :], axis=1)
    result: FloatArray = logs + np.log(width[:, 0]) - log(sigma) - 0.5 * log(2.0 * np.pi)
    return result


def _inverse_mean(a: float, b: float, others: float) -> float:
    """E 1/(1 + X) of X beta-binomial(others, a, b): the mean of (b)_j / (a + b)_j over j = 0 ... others."""
    from scipy.special import digamma, gammaln

    if abs(a - 1.0) < 1e-7:
        return b * float(digamma(b + others + 1.0) - digamma(b)) / (others + 1.0)
    grown = exp(gammaln(b + others + 1.0) - gammaln(b) - gammaln(a + b + others) + gammaln(a + b))
    return (a + b - 1.0 - grown) / (a - 1.0) / (others + 1.0)


def _pitman_keys(count: float, theta: float, alpha: float) -> float:
    """Expected keys among `count` persons (Pitman)."""
    from scipy.special import digamma, gammaln

    if alpha < 1e-7:
        return theta * float(digamma(theta + count) - digamma(theta))
    growth = (
        gammaln(theta + count + alpha)
        - gammaln(theta + count)
        - gammaln(theta + alpha)
        + gammaln(theta + 1.0)
    )
    return exp(float(growth)) / alpha - theta / alpha


def _pitman_size(count: float, theta: float, alpha: float, size: int) -> float:
    """Expected keys of a size among `count` persons (Pitman)."""
    from scipy.special import gammaln

    if size > count:
        return 0.0
    chosen = gammaln(count + 1.0) - gammaln(size + 1.0) - gammaln(count - size + 1.0)
    inside = gammaln(size - alpha) - gammaln(1.0 - alpha)
    outside = gammaln(theta + alpha + count - size) - gammaln(theta + alpha)
    return exp(float(chosen + inside + outside - gammaln(theta + count) + gammaln(theta + 1.0)))


def _uniqueness(
    model: str,
    parameters: tuple[tuple[str, float], ...],
    sizes: IntArray,
    numbers: IntArray,
    *,
    keys: float,
    population_uniques: float,
    pr_pu_given_su: float,
    theta_s: float,
    others: float,
    likelihood: float,
    expected: FloatArray,
) -> Uniqueness:
    """The measures; `others` is the expected number of other persons with the key of a sample unique."""
    uniques = float(numbers[sizes == 1].sum())
    return Uniqueness(
        model=model,
        parameters=parameters,
        keys=keys,
        population_uniques=population_uniques,
        pr_pu=pr_pu_given_su * uniques / float(sizes @ numbers),
        pr_pu_given_su=pr_pu_given_su,
        theta_s=theta_s,
        theta_u=1.0 / (1.0 + others),
        log_likelihood=likelihood,
        expected_sizes=tuple(float(number) for number in expected),
    )
