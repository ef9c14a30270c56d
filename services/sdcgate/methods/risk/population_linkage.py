"""Linkage of a sample to its population: by key counts where it is known, by numbers measured with error.

Key counts: Shlomo, *Accessing Microdata via the Internet*, Israel CBS, 2003, III.A and III.B (Table 2).
Numbers: Fuller, *Masking procedures for microdata disclosure limitation*, Journal of Official Statistics 9
(1993), as Skinner, *Statistical Disclosure Control for Survey Data*, 3.1 and 3.3, has it.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.positions import at_positions
from sdcgate.methods.risk.interval_disclosure import checked_numbers
from sdcgate.methods.risk.keys import checked_codes, group_keys

LARGEST = 50_000
"""Records whose numbers are compared with each other."""
_FARTHEST = 1e140
_ENTRIES = 4_000_000
"""Pairs that are held at once."""


@dataclass(frozen=True, slots=True, eq=False)
class PopulationLinkage:
    """Sample uniques looked up in the population; the rows of the paper's Table 2."""

    sample_keys: int
    sample_uniques: int
    population_keys: int
    population_uniques: int
    matched: int
    """Sample uniques whose key is in the population."""
    unmatched: int
    """Sample uniques whose key is not: errors in either file, or people that the population lacks."""
    expected_matches: float
    """Average number of correct matches: sum of 1/F_k over the matched sample uniques."""
    one_to_one: int
    """Sample uniques whose key one person of the population has."""
    population_counts: IntArray = field(repr=False)
    """F_k of each record's key, 0 where the population lacks it, shape (records,)."""

    @property
    def share_of_population_uniques(self) -> float:
        """Share of the population's keys that are unique."""
        return self.population_uniques / self.population_keys

    @property
    def expected_matches_with_unmatched(self) -> float:
        """The average if the unmatched were like the matched: a cautious reading of linkage errors."""
        return self.expected_matches * self.sample_uniques / self.matched if self.matched else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class MeasurementErrorRisk:
    """Identification by numbers that carry error, a value a record."""

    correct: FloatArray = field(repr=False)
    """Probability that the record is the person whose true numbers the intruder has, shape (records,)."""
    best: IntArray = field(repr=False)
    """The record that is most likely that person, shape (records,)."""
    best_probability: FloatArray = field(repr=False)
    """Its probability: what the intruder believes, shape (records,)."""

    @property
    def expected_matches(self) -> float:
        """Persons whose most likely record is their own."""
        return float((self.best == np.arange(len(self.best))).sum())


def link_to_population(
    codes: IntArray, population: IntArray, counts: IntArray | None = None
) -> PopulationLinkage:
    """Look up the keys of a sample in the population's.

    `codes` (records, keys) are the sample's; `population` (rows, keys) are people, or keys with `counts`
    (rows,) of the people who have them, at least 1 (a key may stand in several rows). Codes must mean the
    same in both; missing (-1) is a category.

    Raises ValueError where codes or counts are wrong or the files have different keys.
    """
    ours, theirs = checked_codes(codes), checked_codes(population)
    if ours.shape[1] != theirs.shape[1]:
        raise ValueError("codes and population must have the same keys")
    if not len(ours) or not len(theirs):
        raise ValueError("codes and population must have at least one record")
    people = np.ones(len(theirs), dtype=np.int64) if counts is None else np.asarray(counts)
    if people.shape != (len(theirs),) or people.dtype.kind not in "iu":
        raise ValueError("counts must be one integer a row of the population")
    wrong = at_positions(people < 1, "counts must be at least 1")
    if wrong:
        raise ValueError(wrong[0])
    keys = group_keys(np.vstack([ours, theirs]))
    here, there = keys.group[: len(ours)], keys.group[len(ours) :]
    f = np.bincount(here, minlength=len(keys))
    in_population = np.bincount(there, people, len(keys)).astype(np.int64)
    of_uniques = in_population[f == 1]
    matched = of_uniques[of_uniques > 0]
    return PopulationLinkage(
        sample_keys=int((f > 0).sum()),
        sample_uniques=len(of_uniques),
        population_keys=int((in_population > 0).sum()),
        population_uniques=int((in_population == 1).sum()),
        matched=len(matched),
        unmatched=len(of_uniques) - len(matched),
        expected_matches=float((1.0 / matched).sum()),
        one_to_one=int((matched == 1).sum()),
        population_counts=in_population[here],
    )


def measurement_error_risk(
    original: FloatArray, masked: FloatArray, error: FloatArray, outside: int = 0
) -> MeasurementErrorRisk:
    """Risk of each person whose true numbers an intruder has, where the file's carry error.

    Masked is original plus normal noise of covariance `error` (variables, variables), which the intruder
    knows; `original` and `masked` (records, variables) have the same order. Record j is person i with
    probability proportional to w_j = phi(z_j - x_i; error) / phi(z_j - mean; covariance of the masked): what
    x_i makes of z_j, against what anybody would. `outside` people of the population are not in the file, each
    with w = 1; 0 where the intruder knows that the person is in it. The intruder's own errors: add their
    covariance to `error`.

    Raises ValueError for wrong shapes, values that are not finite, an error that is no covariance, and more
    than `LARGEST` records: all pairs are compared, a part at a time.
    """
    x, z = _checked(original, "original"), _checked(masked, "masked")
    if x.shape != z.shape:
        raise ValueError("original and masked must have the same shape")
    if outside < 0:
        raise ValueError("outside must be at least 0")
    root = _root(np.asarray(error, dtype=np.float64), x.shape[1])
    at, to = _whitened(x, root), _whitened(z, root)
    if not ((np.abs(at) < _FARTHEST).all() and (np.abs(to) < _FARTHEST).all()):
        raise ValueError(f"original and masked must be within {_FARTHEST:g} standard errors of 0")
    unusual = _unusual(to)
    best, correct = np.zeros(len(x), dtype=np.int64), np.zeros(len(x))
    best_probability = np.zeros(len(x))
    for part in np.array_split(np.arange(len(x)), len(x) * len(x) // _ENTRIES + 1):
        logs = unusual - 0.5 * _squares(at[part], to)
        largest = logs.max(axis=1, keepdims=True)
        top = np.maximum(largest, 0.0) if outside else largest
        weights = np.exp(logs - top)
        total = weights.sum(axis=1)
        if outside:
            total += outside * np.exp(-top[:, 0])
        rows = np.arange(len(part))
        best[part] = logs.argmax(axis=1)
        correct[part] = weights[rows, part] / total
        best_probability[part] = weights[rows, best[part]] / total
    return MeasurementErrorRisk(correct, best, best_probability)


def _whitened(numbers: FloatArray, root: FloatArray) -> FloatArray:
    """Numbers on axes on which the error is of variance 1 and uncorrelated."""
    return np.asarray(np.linalg.solve(root, numbers.T).T, dtype=np.float64)


def _squares(first: FloatArray, second: FloatArray) -> FloatArray:
    """Squared distances of all pairs of points; by differences, for products cancel."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(first, second, "sqeuclidean"), dtype=np.float64)


def _unusual(masked: FloatArray) -> FloatArray:
    """-log of how common each masked record is in the population, but for the constants of the error's
    density.

    `masked` is whitened: its covariance holds that of the error, and so is at least 1 in all directions.
    """
    inner = (masked - masked.mean(axis=0)).T
    values, vectors = np.linalg.eigh(inner @ inner.T / len(masked))
    values = np.maximum(values, 1.0)
    along = vectors.T @ inner
    common = -0.5 * (along**2 / values[:, None]).sum(axis=0) - 0.5 * np.log(values).sum()
    return np.asarray(-common, dtype=np.float64)


def _root(error: FloatArray, variables: int) -> FloatArray:
    """Cholesky root of the error's covariance. Raises ValueError where it has none."""
    problem = "error must be a symmetric positive definite covariance, a row a variable"
    if error.shape != (variables, variables) or not np.isfinite(error).all():
        raise ValueError(problem)
    if not np.allclose(error, error.T, rtol=1e-9, atol=0.0):
        raise ValueError(problem)
    try:
        return np.asarray(np.linalg.cholesky(error), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise ValueError(problem) from None


def _checked(numbers: FloatArray, name: str) -> FloatArray:
    """The numbers of a file. Raises ValueError where they are not usable, or too many."""
    values = checked_numbers(numbers, name)
    if len(values) > LARGEST:
        raise ValueError(f"{name} must have at most {LARGEST} records: take a sample, or parts that differ")
    return values
