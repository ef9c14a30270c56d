"""Log-linear models of the keys: lambda_k of every possible key from margins that are well filled.

f_k is Poisson with mean mu_k = pi lambda_k and F_k - f_k Poisson with mean (1 - pi) lambda_k; log lambda_k is
linear in main effects and interactions of the key variables. A model is named by its generators: the margins
that it fits, such as (0, 1) for key variables 0 and 1 with all that they imply. Sources: Skinner, Statistical
Disclosure Control for Survey Data, 3.3, eqs. (7) to (10); Handbook on SDC, 3.3.6; Elamir and Skinner (2006);
Skinner and Shlomo (2008).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from math import prod, sqrt

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.keys import Keys, checked_codes, checked_weights, group_keys, weight_sums
from sdcgate.methods.risk.proportional_fitting import MOST_VISITS, Fitted, Margin, proportional_fit

Generator = tuple[int, ...]

LARGEST_TABLE = 64_000_000
"""Cells of the full table that are held in memory, 8 bytes each."""
LARGE_MEAN = 200.0
"""Poisson means above which moments are integrated, not summed."""
TOLERANCE = 1e-2
"""Records by which a fitted margin may differ from its count."""
REFINED_TOLERANCE = 5e-2
REFINED_ROUNDS = 25


@dataclass(frozen=True, slots=True, eq=False)
class KeyTable:
    """The keys of a file as cells of the table of all possible keys, row-major over `shape`."""

    keys: Keys
    shape: tuple[int, ...]
    """Categories of each key variable; missing is one where it occurs."""
    cells: IntArray = field(repr=False)
    """Cell of each key, shape (K,)."""
    codes: IntArray = field(repr=False)
    """Category of each key on each key variable, shape (K, variables)."""
    population: FloatArray = field(repr=False)
    """Sum of the weights of each key's records, shape (K,)."""
    fraction: float
    """Sampling fraction pi: records over the sum of all weights."""


@dataclass(frozen=True, slots=True, eq=False)
class LogLinear:
    """A fitted model."""

    generators: tuple[Generator, ...]
    pseudo: bool
    """Whether the weighted counts were fitted (pseudo maximum likelihood) in place of the counts."""
    smooth: bool
    """Whether its margins were drawn towards a simpler model before they were fitted, see `refine`."""
    means: FloatArray = field(repr=False)
    """Expected sample counts mu of the keys that occur, shape (K,)."""
    table: FloatArray = field(repr=False)
    """Expected sample counts mu of all possible keys, shape (cells,)."""
    rounds: int
    deviation: float
    """Largest difference between a fitted margin and its count, in records."""
    converged: bool
    """Whether that was within the tolerance when rounds or work had run out."""
    visits: float
    """Cells that its fit visited."""


def key_table(codes: IntArray, weights: FloatArray | None = None, fraction: float | None = None) -> KeyTable:
    """The table of a file's keys.

    `codes` (records, variables), -1 missing; `weights` (records,), finite and above 0, or else the sampling
    `fraction`, above 0 and at most 1.

    Raises ValueError for wrong arguments, and where the table has more than `LARGEST_TABLE` cells: recode.
    """
    columns = checked_codes(codes)
    keys = group_keys(columns)
    if not len(keys):
        raise ValueError("codes must have at least one record")
    if (weights is None) == (fraction is None):
        raise ValueError("give weights or fraction, one of them")
    if weights is not None:
        weights = checked_weights(weights, len(columns))
        fraction = min(1.0, len(columns) / float(weights.sum()))
    elif fraction is None or not 0.0 < fraction <= 1.0:
        raise ValueError("fraction must be above 0 and at most 1")
    own = columns[keys.first].astype(np.int64)
    largest = own.max(axis=0)
    own = np.where(own < 0, largest + 1, own)
    shape = tuple(int(count) for count in own.max(axis=0) + 1)
    if prod(shape) > LARGEST_TABLE:
        raise ValueError(
            f"the key variables span {prod(shape)} cells, and {LARGEST_TABLE} fit: recode, or leave one out"
        )
    sums = weight_sums(keys, weights) if weights is not None else keys.counts / fraction
    cells = np.ravel_multi_index(tuple(own.T), shape)
    return KeyTable(keys, shape, np.asarray(cells, dtype=np.int64), own, sums, float(fraction))


def main_effects(variables: int) -> tuple[Generator, ...]:
    """The model of independence."""
    return tuple((variable,) for variable in range(variables))


def all_two_way(variables: int) -> tuple[Generator, ...]:
    """The model with all interactions of two variables."""
    return tuple(combinations(range(variables), 2)) or ((0,),)


def hierarchical(generators: Iterable[Iterable[int]], variables: int) -> tuple[Generator, ...]:
    """Generators without those that others imply, and with a main effect of each variable.

    Raises ValueError where a generator names a variable that is not there.
    """
    given = {tuple(sorted(set(generator))) for generator in generators} | set(main_effects(variables))
    if any(variable < 0 or variable >= variables for generator in given for variable in generator):
        raise ValueError(f"generators must name key variables 0 to {variables - 1}")
    kept = [one for one in given if one and not any(set(one) < set(other) for other in given)]
    return tuple(sorted(kept))


def fit(
    table: KeyTable,
    generators: Iterable[Iterable[int]],
    *,
    pseudo: bool = False,
    start: LogLinear | None = None,
    tolerance: float = TOLERANCE,
    most_visits: float = MOST_VISITS,
) -> LogLinear:
    """Fit a hierarchical model by iterative proportional fitting on the full table.

    `pseudo`: fit the weighted counts, sum of z_k (F^_k - lambda_k) = 0 (Skinner and Shlomo, pseudo maximum
    likelihood), for weights that differ; else the counts. `start`: a model whose generators are implied by
    these ones, from which the fit goes on.

    Memory is 8 bytes a cell. A model that has not met its margins within the tolerance after
    `MAXIMUM_ROUNDS` rounds, or `most_visits` visits of cells, is not `converged` and has its `deviation`.
    Raises ValueError for generators of other variables.
    """
    model = hierarchical(generators, len(table.shape))
    counts = table.population * table.fraction if pseudo else table.keys.counts.astype(np.float64)
    margins = [Margin.of_keys(generator, table.shape, table.codes, counts) for generator in model]
    means = np.ones(prod(table.shape)) if start is None else start.table.copy()
    fitted = proportional_fit(means, table.shape, margins, tolerance, most_visits=most_visits)
    return _model(table, model, means, fitted, pseudo=pseudo)


def refine(
    table: KeyTable,
    base: LogLinear,
    order: int,
    tolerance: float = REFINED_TOLERANCE,
    most_visits: float = MOST_VISITS,
) -> LogLinear:
    """All interactions of `order` variables, drawn towards a simpler model where the sample cannot bear them.

    Each margin is (1 - s) its counts + s what `base` expects, with a share s of its own, see `prior_share`.
    From main effects this is a smoothed all-two-way model, from that one a smoothed all-three-way model.
    Smoothed margins need not agree with each other to the last record: the fit stops when they nearly do.

    Raises ValueError where `order` is below 2, or `base` a fit of weighted counts.
    """
    if order < 2:
        raise ValueError("order must be at least 2")
    if base.pseudo:
        raise ValueError("base must be a fit of the counts: shares are found by leaving out records")
    counts = table.keys.counts.astype(np.float64)
    generators = tuple(combinations(range(len(table.shape)), order))
    margins = []
    for generator in generators:
        margin = Margin.of_keys(generator, table.shape, table.codes, counts)
        expected = margin.of_table(base.table, table.shape)
        share = prior_share(margin.counts, expected)
        margins.append(Margin(generator, (1.0 - share) * margin.counts + share * expected))
    means = base.table.copy()
    fitted = proportional_fit(means, table.shape, margins, tolerance, REFINED_ROUNDS, most_visits)
    return _model(table, generators or base.generators, means, fitted, smooth=True)


def _model(
    table: KeyTable,
    generators: tuple[Generator, ...],
    means: FloatArray,
    fitted: Fitted,
    *,
    pseudo: bool = False,
    smooth: bool = False,
) -> LogLinear:
    return LogLinear(
        generators=generators,
        pseudo=pseudo,
        smooth=smooth,
        means=means[table.cells],
        table=means,
        rounds=fitted.rounds,
        deviation=fitted.deviation,
        # Smoothed margins need not agree to the last record: all their rounds are as good as an end.
        converged=fitted.converged or (smooth and fitted.rounds == REFINED_ROUNDS),
        visits=fitted.visits,
    )


def prior_share(counts: FloatArray, expected: FloatArray) -> float:
    """How far to draw counts of a margin towards what a simpler model expects, 0 to 1.

    The share is a/(n + a), where a prior of a records, spread as expected, foretells each record best from
    all others: sum of x log[(x - 1 + a q)/(n - 1 + a)] is largest, q the expected share of a cell. Source:
    the pseudo-Bayes smoothing of Fienberg and Holland, with a by leaving out one record at a time.
    """
    n = float(counts.sum())
    filled = counts > 0
    if n < 2.0 or not np.all(expected[filled] > 0):
        return 1.0 if n < 2.0 else 0.0
    x, q = counts[filled], expected[filled] / float(expected.sum())
    priors = np.geomspace(0.1, 1e4 * n, 120)
    likelihoods = [float(np.log((x - 1.0 + a * q) / (n - 1.0 + a)) @ x) for a in priors]
    best = float(priors[int(np.argmax(likelihoods))])
    return best / (n + best)


@dataclass(frozen=True, slots=True, eq=False)
class LogLinearRisk:
    """Risk of the keys of a file under a model, by the probability that F_k has each value given f_k."""

    unique: FloatArray = field(repr=False)
    """Pr(F_k = 1 | f_k = 1), 0 where f_k > 1, shape (K,); eq. (9)."""
    risks: FloatArray = field(repr=False)
    """E(1/F_k | f_k), shape (K,); eq. (8) and its extension to f_k > 1."""
    tau_1: float
    """Expected number of sample uniques that are unique in the population."""
    tau_2: float
    """Expected number of correct matches of sample uniques."""
    tau: float
    """Expected number of correct matches of all records, sum of f_k E(1/F_k | f_k)."""
    variance: float
    """Of sum I(f_k = 1)/F_k about tau_2, where the model's lambda are the true ones."""


def risk(table: KeyTable, model: LogLinear, inclusion: FloatArray | None = None) -> LogLinearRisk:
    """Risk of each key under a model.

    `inclusion`: inclusion probability pi_k of each key, above 0 and at most 1, shape (K,), where they differ
    (Poisson sampling, f_k of mean pi_k lambda_k). By default f_k over the key's sum of weights for a pseudo
    fit, which estimates lambda_k itself, and the sampling fraction else. Raises ValueError where it is wrong.
    """
    counts = table.keys.counts
    if inclusion is None:
        own = np.minimum(counts / table.population, 1.0)
        inclusion = own if model.pseudo else np.full(len(counts), table.fraction)
    elif inclusion.shape != counts.shape or not np.all((inclusion > 0) & (inclusion <= 1)):
        raise ValueError("inclusion must be a probability above 0 and at most 1 for each key")
    means = (1.0 - inclusion) * model.means / (table.fraction if model.pseudo else inclusion)
    single = counts == 1
    unique = np.where(single, np.exp(-means), 0.0)
    risks, squares = inverse_moments(counts, means)
    return LogLinearRisk(
        unique=unique,
        risks=risks,
        tau_1=float(unique.sum()),
        tau_2=float(risks[single].sum()),
        tau=float(counts @ risks),
        variance=float((squares - risks**2)[single].sum()),
    )


def inverse_moments(counts: IntArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """E 1/(f + X) and E 1/(f + X)^2 of X Poisson(mean), shape (K,).

    For f = 1 the first is (1 - e^-m)/m. The Poisson probabilities are summed over the values that carry all
    but 1e-16 of them. For large means these would be many:
    E 1/(f + X)^n = int_0^inf u^(n-1) e^(-f u - m (1 - e^-u)) du by Gauss-Laguerre quadrature in (f + m) u.
    """
    from sdcgate.methods.risk.table_loops import inverse_moments_by_sums

    first, second = np.empty(len(counts)), np.empty(len(counts))
    large = means > LARGE_MEAN
    first[large], second[large] = _by_quadrature(counts[large], means[large])
    rest = ~large
    sums, squares = np.empty(int(rest.sum())), np.empty(int(rest.sum()))
    inverse_moments_by_sums(counts[rest].astype(np.int64), means[rest].astype(np.float64), sums, squares)
    first[rest], second[rest] = sums, squares
    return first, second


def _by_quadrature(counts: IntArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The moments for means above `LARGE_MEAN`, one node after the other; relative error below 1e-13."""
    nodes, weights = np.polynomial.laguerre.laggauss(32)
    scale = counts + means
    first, second = np.zeros(len(scale)), np.zeros(len(scale))
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        u = node / scale
        part = weight * np.exp(means * (np.expm1(-u) + u))
        first += part
        second += node * part
    return first / scale, second / scale**2


@dataclass(frozen=True, slots=True)
class Criteria:
    """Skinner and Shlomo's criteria: estimates of the bias of tau_1 and tau_2 under a model.

    Above 0 the model is too simple and overstates the risk, below 0 it is too rich and understates it. The
    standardised ones are about normal where the model fits.
    """

    bias_1: float
    bias_2: float
    standardised_1: float
    standardised_2: float
    variance_2: float
    """Variance of bias_2 where the model holds."""
    squares_2: float
    """Sum of the squares of what each possible key adds to bias_2: a variance that needs no model."""

    @property
    def fits(self) -> bool:
        """Whether tau_2 is not seen to be biased, at 95%."""
        return abs(self.standardised_2) <= 1.96


def criteria(table: KeyTable, model: LogLinear) -> Criteria:
    """How well a model serves the risk of sample uniques.

    B = sum over all possible keys of P(f = 1) [-h' (f - mu)/pi + h'' ((f - mu)^2 - f)/(2 pi^2)] at lambda,
    with h = e^-t for tau_1 and h = (1 - e^-t)/t for tau_2, t = (1 - pi) lambda. The first is the printed
    B_1 = sum lambda e^-lambda (1 - pi) {(f - mu) + (1 - pi) [(f - mu)^2 - f]/(2 pi)}. Their variances take
    the f as Poisson: f - mu and (f - mu)^2 - f are uncorrelated and have the variances mu and 2 mu^2.
    Source: Skinner and Shlomo (2008).
    """
    from sdcgate.methods.risk.table_loops import criteria_of_empty_cells, criteria_of_filled_cells

    fraction = table.fraction
    if fraction >= 1.0:
        return Criteria(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    bias_1, variance_1, bias_2, variance_2, squares_2 = criteria_of_empty_cells(model.table, fraction)
    means = model.table[table.cells]
    counts = table.keys.counts.astype(np.float64)
    counts = table.population * fraction if model.pseudo else counts
    more_1, more_2, more_squares = criteria_of_filled_cells(means, counts, fraction)
    bias_1, bias_2, squares_2 = bias_1 + more_1, bias_2 + more_2, squares_2 + more_squares
    standardised = _standardised(bias_1, variance_1), _standardised(bias_2, variance_2)
    return Criteria(float(bias_1), float(bias_2), *standardised, float(variance_2), float(squares_2))


def _standardised(bias: float, variance: float) -> float:
    return float(bias / sqrt(variance)) if variance > 0 else 0.0
