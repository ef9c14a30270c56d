"""Probabilistic record linkage: agreement of categories, weighed by how much it tells (Fellegi and Sunter).

Every pair of an original and a masked record has a pattern: the variables on which it agrees. A pattern's
index is the logarithm of its probability among matches over that among the rest. Sources: Handbook on SDC,
3.3.8.2; Fellegi and Sunter (1969); Jaro (1989) for the EM algorithm; Torra and Domingo-Ferrer (2003).

No pair is ever looked at. How many pairs agree at least on a set of variables follows from the frequencies of
its keys in both files, and how many agree on exactly that set by inclusion and exclusion.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.keys import checked_codes, group_keys
from sdcgate.methods.risk.linkage import checked_truth

LARGEST_PATTERN = 14
"""Variables that are compared: the sets of them are 2 to that power."""
_TIE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class FellegiSunter:
    """The model of agreement, and a row for each pattern: pattern s has bit j where variable j agrees."""

    share: float
    """Share of all pairs that are matches."""
    matches: FloatArray
    """m_j: probability that variable j agrees in a match, shape (variables,)."""
    others: FloatArray
    """u_j: probability that it agrees in another pair, shape (variables,)."""
    pairs: FloatArray = field(repr=False)
    """Pairs of each pattern, shape (2^variables,)."""
    index: FloatArray = field(repr=False)
    """log2 of P(pattern | match) / P(pattern | other), shape (2^variables,)."""
    of_matches: FloatArray = field(repr=False)
    """P(pattern | match)."""
    of_others: FloatArray = field(repr=False)
    """P(pattern | other)."""

    @property
    def telling(self) -> BoolArray:
        """Variables that agree more often in matches than elsewhere; the others are not used."""
        return _telling(self.matches, self.others)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where a pair is linked (index >= lt), not linked (index <= nlt), or left to a clerk (between)."""

    lt: float
    nlt: float
    false_links: float
    """P(linked | other) that results."""
    false_non_links: float
    """P(not linked | match) that results."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilisticLinks:
    """Matches by record: one row a masked record."""

    index: FloatArray = field(repr=False)
    """The highest index it has with any original; minus infinity where no original is in its block."""
    linked_to: IntArray = field(repr=False)
    """An original with that index, -1 where none is in its block."""
    ties: IntArray = field(repr=False)
    """Originals with that index."""
    correct: FloatArray = field(repr=False)
    """Chance that the best link is right: 1/ties where the true original is among them, else 0."""
    linked: BoolArray = field(repr=False)
    """Whether that index reaches LT."""
    clerical: BoolArray = field(repr=False)
    """Whether it lies between the thresholds."""

    @property
    def expected_matches(self) -> float:
        """Expected number of right links among those that are linked."""
        return float(self.correct[self.linked].sum())


def fit_fellegi_sunter(
    original: IntArray,
    masked: IntArray,
    blocks: tuple[IntArray, IntArray] | None = None,
    matches: float | None = None,
    iterations: int = 1000,
    heed: Callable[[], None] | None = None,
) -> FellegiSunter:
    """The model by EM, variables independent within matches and within the rest; nobody's match is known.

    `original` and `masked` are codes (records, variables); missing (-1) agrees with nothing. Numbers have to
    be coded first. `blocks` are codes of both files that must agree for a pair to be compared. `matches`, the
    number of true matches where it is known, keeps the share of matches fixed. `heed` is called before each
    pattern is counted: it may raise to end it.

    Raises ValueError for files that do not fit, too many variables, or EM that finds no class of matches.
    """
    ours, theirs, fixed = _compared(original, masked, blocks)
    variables = ours.shape[1] - fixed
    pairs = _pairs_by_pattern(ours, theirs, fixed, heed)
    total = float(pairs.sum())
    if total <= 0:
        raise ValueError("blocks must have pairs of records to compare")
    if matches is not None and not 0 < matches < total:
        raise ValueError("matches must be above 0 and below the number of pairs")
    agree = _agreement(variables)
    share = (matches if matches is not None else min(len(ours), len(theirs)) / 2) / total
    m, u = np.full(variables, 0.9), np.clip(pairs @ agree / total, 1e-6, 1 - 1e-6)
    for _ in range(iterations):
        likely = _probability(agree, m), _probability(agree, u)
        posterior = share * likely[0] / (share * likely[0] + (1.0 - share) * likely[1])
        weight = pairs * posterior
        if not 0.0 < weight.sum() < total:
            raise ValueError("EM finds no class of matches: give matches, or other variables")
        earlier = np.concatenate([m, u])
        m = np.clip(weight @ agree / weight.sum(), 1e-9, 1 - 1e-9)
        u = np.clip((pairs - weight) @ agree / (total - weight.sum()), 1e-9, 1 - 1e-9)
        share = share if matches is not None else float(weight.sum()) / total
        if np.abs(np.concatenate([m, u]) - earlier).max() < 1e-10:
            break
    useful = np.where(_telling(m, u), 1.0, 0.0)
    index = agree @ (useful * np.log2(m / u)) + (1 - agree) @ (useful * np.log2((1 - m) / (1 - u)))
    return FellegiSunter(share, m, u, pairs, index, _probability(agree, m), _probability(agree, u))


def thresholds(model: FellegiSunter, false_links: float, false_non_links: float) -> Thresholds:
    """LT and NLT from the largest acceptable P(linked | other) and P(not linked | match).

    Patterns are linked from the highest index downwards, and not linked from the lowest upwards, as far as
    the probabilities allow; a pattern that may be both is linked. Raises ValueError for probabilities out of
    range.
    """
    for name, value in (("false_links", false_links), ("false_non_links", false_non_links)):
        if not 0.0 <= value < 1.0:
            raise ValueError(f"{name} must be from 0 to below 1")
    levels = np.unique(np.round(model.index, 9))
    place = np.searchsorted(levels, np.round(model.index, 9))
    others = np.bincount(place, model.of_others, len(levels))
    matches = np.bincount(place, model.of_matches, len(levels))
    above = np.cumsum(others[::-1])[::-1] <= false_links * (1.0 + _TIE)
    below = (np.cumsum(matches) <= false_non_links * (1.0 + _TIE)) & ~above
    lt = float(levels[above].min()) if above.any() else float("inf")
    nlt = float(levels[below].max()) if below.any() else float("-inf")
    return Thresholds(lt, nlt, float(others[above].sum()), float(matches[below].sum()))


def link_by_agreement(
    model: FellegiSunter,
    original: IntArray,
    masked: IntArray,
    at: Thresholds,
    blocks: tuple[IntArray, IntArray] | None = None,
    truth: IntArray | None = None,
    heed: Callable[[], None] | None = None,
) -> ProbabilisticLinks:
    """The best links of every masked record, by a fitted model; arguments as there.

    `truth` (masked records,) is the position of each record's original, -1 where it has none; by default the
    files have the same order. A variable that agrees no more often in matches than elsewhere is not used.
    Raises ValueError where the files do not fit the model or each other.
    """
    ours, theirs, fixed = _compared(original, masked, blocks)
    if ours.shape[1] - fixed != len(model.matches):
        raise ValueError("original and masked must have the variables of the model")
    own = checked_truth(truth, len(ours), len(theirs))
    useful = np.flatnonzero(model.telling)
    levels = np.round(model.index, 9)
    keys = group_keys(ours)
    distinct, counts = ours[keys.first], keys.counts
    patterns = sorted(_subsets(useful), key=lambda s: (-levels[s], -s.bit_count()))
    best = np.full(len(theirs), -np.inf)
    ties, linked_to = np.zeros(len(theirs), dtype=np.int64), np.full(len(theirs), -1)
    for pattern in patterns:
        waiting = np.flatnonzero((ties == 0) | (best == levels[pattern]))
        if not len(waiting):
            break
        if heed is not None:
            heed()
        found, example = _agreeing(distinct, counts, theirs[waiting], fixed, pattern)
        fresh = (ties[waiting] == 0) & (found > 0)
        linked_to[waiting[fresh]] = keys.first[example[fresh]]
        ties[waiting] += found
        best[waiting[found > 0]] = levels[pattern]
    known = np.flatnonzero((own >= 0) & (ties > 0))
    same = (ours[own[known]] == theirs[known]) & (theirs[known] >= 0)
    blocked = (ours[own[known], :fixed] == theirs[known, :fixed]).all(axis=1)
    place = (same[:, fixed:] << np.arange(len(model.matches))).sum(axis=1)
    right = known[blocked & (levels[place] == best[known])]
    correct = np.zeros(len(theirs))
    correct[right] = 1.0 / ties[right]
    linked = best >= at.lt
    return ProbabilisticLinks(best, linked_to, ties, correct, linked, ~linked & (best > at.nlt))


def _telling(matches: FloatArray, others: FloatArray) -> BoolArray:
    """Variables whose agreement speaks for a match."""
    return np.asarray(matches > others * (1.0 + 1e-6))


def _agreement(variables: int) -> FloatArray:
    """Which variables agree in each pattern, shape (2^variables, variables)."""
    patterns = np.arange(1 << variables)[:, None]
    return ((patterns >> np.arange(variables)) & 1).astype(np.float64)


def _probability(agree: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Probability of each pattern where variables agree independently."""
    return np.exp(agree @ np.log(probabilities) + (1.0 - agree) @ np.log1p(-probabilities))


def _subsets(variables: IntArray) -> list[int]:
    """All patterns of some variables."""
    patterns = [0]
    for variable in variables.tolist():
        patterns += [pattern | 1 << variable for pattern in patterns]
    return patterns


def _compared(
    original: IntArray, masked: IntArray, blocks: tuple[IntArray, IntArray] | None
) -> tuple[IntArray, IntArray, int]:
    """Both files with the variables of the blocks in front, and how many these are."""
    ours, theirs = checked_codes(original), checked_codes(masked)
    if ours.shape[1] != theirs.shape[1]:
        raise ValueError("original and masked must have the same variables")
    if not len(ours) or not len(theirs):
        raise ValueError("original and masked must have at least one record")
    if ours.shape[1] > LARGEST_PATTERN:
        raise ValueError(f"at most {LARGEST_PATTERN} variables can be compared; choose, or use blocks")
    if blocks is None:
        return ours, theirs, 0
    first, second = checked_codes(blocks[0]), checked_codes(blocks[1])
    if len(first) != len(ours) or len(second) != len(theirs) or first.shape[1] != second.shape[1]:
        raise ValueError("blocks must have a row a record and the same variables in both files")
    return np.hstack([first, ours]), np.hstack([second, theirs]), first.shape[1]


def _agreeing(
    originals: IntArray, counts: IntArray, masked: IntArray, fixed: int, pattern: int
) -> tuple[IntArray, IntArray]:
    """How many originals agree with each masked record at least on a pattern and on the blocks, and one.

    Where there are none the one means nothing.
    """
    chosen = [fixed + place for place in range(originals.shape[1] - fixed) if pattern >> place & 1]
    columns = [*range(fixed), *chosen]
    if not columns:
        return np.full(len(masked), counts.sum()), np.zeros(len(masked), dtype=np.int64)
    keys = group_keys(np.vstack([originals[:, columns], masked[:, columns]]))
    here, there = keys.group[: len(originals)], keys.group[len(originals) :]
    known = (originals[:, chosen] >= 0).all(axis=1)
    found = np.bincount(here[known], counts[known], len(keys)).astype(np.int64)[there]
    example = np.zeros(len(keys), dtype=np.int64)
    example[here[known]] = np.flatnonzero(known)
    return np.where((masked[:, chosen] >= 0).all(axis=1), found, 0), example[there]


def _pairs_by_pattern(
    ours: IntArray, theirs: IntArray, fixed: int, heed: Callable[[], None] | None = None
) -> FloatArray:
    """Pairs of an original and a masked record that agree on exactly each set of variables."""
    here, there = group_keys(ours), group_keys(theirs)
    variables = ours.shape[1] - fixed
    pairs = np.zeros(1 << variables, dtype=np.int64)
    for pattern in range(len(pairs)):
        if heed is not None:
            heed()
        found, _ = _agreeing(ours[here.first], here.counts, theirs[there.first], fixed, pattern)
        pairs[pattern] = int(found @ there.counts)
    for variable in range(variables):
        halves = pairs.reshape(-1, 2, 1 << variable)
        halves[:, 0] -= halves[:, 1]
    return pairs.astype(np.float64)
