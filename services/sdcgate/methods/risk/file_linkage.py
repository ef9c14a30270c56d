"""Two files of one source linked, original and released: every way of linkage, with matches by record.

What an agency asks before masked records leave: how many of them can be given their name again, and which.
The ways themselves are in modules of their own (`linkage`, `probabilistic_linkage`, `interval_disclosure`,
`population_linkage`); here they are given two files and what is known of who is who.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.interval_disclosure import Interval, IntervalDisclosure, interval_disclosure
from sdcgate.methods.risk.linkage import (
    LARGEST_ASSIGNMENT,
    Links,
    Metric,
    Records,
    Scale,
    link_by_distance,
    link_one_to_one,
)
from sdcgate.methods.risk.population_linkage import (
    MeasurementErrorRisk,
    PopulationLinkage,
    link_to_population,
    measurement_error_risk,
)
from sdcgate.methods.risk.probabilistic_linkage import (
    LARGEST_PATTERN,
    FellegiSunter,
    ProbabilisticLinks,
    Thresholds,
    fit_fellegi_sunter,
    link_by_agreement,
    thresholds,
)

LARGEST_DISTANCE = 200_000
"""Records of a file that are linked by distance."""
LARGEST_COMPARISON = 500_000_000
"""Records of both files times the sets of variables that are compared."""

Heed = Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)
class LinkedFiles:
    """Two files with the same variables."""

    original: Records
    released: Records
    truth: IntArray | None = field(repr=False)
    """Position of the original that each released record was made from, -1 where none is; None: unknown."""
    counts: IntArray | None = field(default=None, repr=False)
    """People that each row of the original stands for, shape (rows,); None: one each."""

    @property
    def known(self) -> IntArray:
        """The truth, -1 for everybody where it is not known."""
        return np.full(len(self.released), -1) if self.truth is None else self.truth


@dataclass(frozen=True, slots=True)
class DistanceOptions:
    """How distances are measured."""

    metric: Metric = Metric.EUCLIDEAN
    scale: Scale = Scale.OWN
    weights: tuple[float, ...] | None = None
    """Of the numbers, then of the categories; 1 each where None."""
    one_to_one: bool = False


@dataclass(frozen=True, slots=True)
class ProbabilisticOptions:
    """What errors are accepted, and what is known of the matches."""

    false_links: float = 0.001
    """Largest acceptable P(linked | no match)."""
    false_non_links: float = 0.05
    """Largest acceptable P(not linked | match)."""
    matches: float | None = None
    """Number of true matches, where it is known."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilisticLinkage:
    """The model, its thresholds, and the links."""

    model: FellegiSunter
    at: Thresholds
    links: ProbabilisticLinks

    @property
    def classes(self) -> tuple[float, float, float]:
        """Pairs of records that are linked, left to a clerk, and not linked."""
        index = np.round(self.model.index, 9)
        linked, apart = index >= self.at.lt, index <= self.at.nlt
        between = ~linked & ~apart
        pairs = self.model.pairs
        return float(pairs[linked].sum()), float(pairs[between].sum()), float(pairs[apart & ~linked].sum())


def by_distance(files: LinkedFiles, options: DistanceOptions, heed: Heed | None = None) -> Links:
    """Nearest and second nearest originals of every released record.

    Raises ValueError for files that are too large, before anything is computed, and as `link_by_distance`.
    """
    largest = LARGEST_ASSIGNMENT if options.one_to_one else LARGEST_DISTANCE
    if max(len(files.original), len(files.released)) > largest:
        way = "one to one" if options.one_to_one else "by distance"
        raise ValueError(f"files of at most {largest} records are linked {way}: take a sample of both")
    weights = None if options.weights is None else np.array(options.weights)
    if options.one_to_one:
        if files.original.blocks is not None:
            raise ValueError("blocks are not used where records are linked one to one: leave them out")
        return link_one_to_one(
            files.original, files.released, options.metric, options.scale, weights, files.known
        )
    return link_by_distance(
        files.original, files.released, options.metric, options.scale, weights, files.known, heed
    )


def by_agreement(
    files: LinkedFiles, options: ProbabilisticOptions, heed: Heed | None = None
) -> ProbabilisticLinkage:
    """Fellegi and Sunter's linkage of the categories of two files.

    Raises ValueError for too many variables or comparisons, before anything is computed, for error rates out
    of range, and as `fit_fellegi_sunter`.
    """
    variables = files.original.codes.shape[1]
    if variables > LARGEST_PATTERN:
        raise ValueError(f"at most {LARGEST_PATTERN} variables can be compared; choose, or use blocks")
    compared = (len(files.original) + len(files.released)) << variables
    if compared > LARGEST_COMPARISON:
        raise ValueError(
            f"records times sets of variables are {compared}, more than {LARGEST_COMPARISON}: "
            "compare fewer variables, or take a sample"
        )
    original, released = files.original.codes, files.released.codes
    blocks = None
    if files.original.blocks is not None and files.released.blocks is not None:
        blocks = files.original.blocks, files.released.blocks
    model = fit_fellegi_sunter(original, released, blocks, options.matches, heed=heed)
    at = thresholds(model, options.false_links, options.false_non_links)
    links = link_by_agreement(model, original, released, at, blocks, files.known, heed)
    return ProbabilisticLinkage(model, at, links)


def by_intervals(
    files: LinkedFiles, widths: Sequence[float], interval: Interval, heed: Heed | None = None
) -> tuple[IntervalDisclosure, ...]:
    """Original numbers within the intervals around the released ones, for each width.

    Records of the released file without an original are left out. Raises ValueError where the truth is not
    known or nobody is in both files, and as `interval_disclosure`.
    """
    before, after = _known_numbers(files)
    found = []
    for width in widths:
        if heed is not None:
            heed()
        found.append(interval_disclosure(before, after, width, interval))
    return tuple(found)


def by_counts(files: LinkedFiles) -> PopulationLinkage:
    """The released file's sample uniques looked up in the original, the population."""
    return link_to_population(files.released.codes, files.original.codes, files.counts)


def by_errors(
    files: LinkedFiles, errors: Sequence[float] | None, outside: int
) -> tuple[MeasurementErrorRisk, FloatArray]:
    """Risk of the people whose record is known, where an intruder has their original numbers.

    `errors` are standard deviations, of errors that are independent; where None the covariance of released
    minus original, which a masking agency publishes or others guess. Returns the standard deviations, too.
    Raises ValueError where the truth is not known or nobody is in both files, and as
    `measurement_error_risk`.
    """
    before, after = _known_numbers(files)
    if errors is None:
        if len(after) < 2 or (np.std(after - before, axis=0) == 0).any():
            raise ValueError("the differences of the files have no variance: give each variable its error")
        covariance = np.atleast_2d(np.cov(after - before, rowvar=False))
    else:
        covariance = np.diag(np.square(np.asarray(errors, dtype=np.float64)))
    found = measurement_error_risk(before, after, covariance, outside)
    return found, np.sqrt(np.diag(covariance))


def _known_numbers(files: LinkedFiles) -> tuple[FloatArray, FloatArray]:
    """Original and released numbers of the records whose original is known.

    Raises ValueError where the truth is not known or nobody is in both files.
    """
    if files.truth is None:
        raise ValueError("it must be known who is who: name an id, or say that the order is the same")
    known = np.flatnonzero(files.truth >= 0)
    if not len(known):
        raise ValueError("no record of the released file has its original")
    return files.original.numbers[files.truth[known]], files.released.numbers[known]
