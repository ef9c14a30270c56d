"""Several files of one source: what can be linked through the variables that two releases share.

One survey was released twice, each time with other variables in detail. Who has both links them through what
they share, and has a file with the key of both, which nobody released (Shlomo, Accessing Microdata via the
Internet, Israel CBS, 2003, I; Handbook on Statistical Disclosure Control, 3.2.2). Where a shared variable is
coded crosswise, ages 0-9 in one and 5-14 in the other, both codes together tell ages 5-9.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.keys import Missing, group_keys, weight_sums
from sdcgate.methods.risk.level_agreement import Agreement, Release, Shared


@dataclass(frozen=True, slots=True)
class Coherence:
    """How the levels of one shared variable lie to each other."""

    first_codes: int
    second_codes: int
    joint_codes: int
    """Pairs of codes with a finest code in common: the codes that both releases together tell."""
    coherent: bool
    """Whether one level groups the other's codes: then both together tell no more than the finer one."""


@dataclass(frozen=True, slots=True)
class KeyRisk:
    """The risk of a key by the design, over all units."""

    key_cells: int
    sample_uniques: int
    expected_matches: float


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """How well the units of the first release find themselves in the second, by the shared variables."""

    candidates: IntArray = field(repr=False)
    """Units of the second release that each unit of the first agrees with, shape (units,)."""
    single: int
    """Units of the first that agree with exactly one of the second."""
    one_to_one: int
    """Those whose only one agrees with nobody else."""
    expected: float
    """Expected correct links where one of those that agree is taken at random: with ids exactly, without
    them as if everybody of the first release were in the second."""


@dataclass(frozen=True, slots=True)
class LinkedRisk:
    """What two releases together make of the risk; known where ids tell who is who."""

    common: int
    """Units of both releases."""
    first: KeyRisk
    """The key of the first release, of its own units."""
    second: KeyRisk
    shared: KeyRisk
    """The shared variables, of common units, at the codes that both releases together tell."""
    union: KeyRisk
    """Both keys together, of common units, as if all were linked rightly."""
    through_links: float
    """Expected correct matches of the union's key where links are taken at random: the sum over common units
    of the probability of the right link times the risk of the union's key."""


@dataclass(frozen=True, slots=True)
class SeveralFiles:
    """What two releases of one source tell together."""

    coherence: tuple[Coherence, ...]
    """Of each shared variable."""
    links: Links
    risk: LinkedRisk | None
    """None where no ids tell who is who."""


@dataclass(frozen=True, slots=True)
class LinkedReleases:
    """What is told of a release beside another one."""

    other: str
    """Name of the other release."""
    variables: tuple[str, ...]
    """What they share, as both call it; `age / age:ten_years` where the levels differ."""
    units: tuple[int, int]
    """Units of both."""
    found: SeveralFiles


def several_files(
    first: Release,
    second: Release,
    shared: tuple[Shared, ...],
    missing: Missing = Missing.CATEGORY,
    heed: Callable[[], None] | None = None,
) -> SeveralFiles:
    """What can be linked between two releases of one source, and what risk the linked file has.

    A missing value of a shared variable agrees with a missing one, or with `Missing.WILDCARD` with all.
    `heed` is called before each part of the pairs that are compared: it may raise to end it.

    Raises ValueError where nothing is shared, columns or levels do not fit the codes, only one release has
    ids, or crosswise levels make too many pairs of keys.
    """
    if not shared:
        raise ValueError("shared: name at least one variable that both releases have")
    if (first.ids is None) != (second.ids is None):
        raise ValueError("ids: give them for both releases or for none")
    links, partners = _linked(first, second, shared, missing, heed)
    risk = None if partners is None else _risk(first, second, shared, partners)
    return SeveralFiles(tuple(coherence(one) for one in shared), links, risk)


def coherence(shared: Shared) -> Coherence:
    """How the levels of a shared variable lie to each other."""
    pairs = shared.pairs
    first, second = (len(np.unique(column)) for column in pairs.T)
    return Coherence(first, second, len(pairs), len(pairs) == max(first, second))


@dataclass(frozen=True, slots=True, eq=False)
class _Partners:
    """Rows of the common units in both releases, and how probable the right link of each is."""

    first: IntArray
    second: IntArray
    right: FloatArray


def _linked(
    first: Release,
    second: Release,
    shared: tuple[Shared, ...],
    missing: Missing,
    heed: Callable[[], None] | None,
) -> tuple[Links, _Partners | None]:
    agreement = Agreement(first, second, shared, missing)
    candidates, back, only = agreement.counts(heed)
    mutual = (candidates == 1) & (only >= 0)
    mutual[mutual] = back[only[mutual]] == 1
    of_units = candidates[agreement.first.group]
    partners = None
    if first.ids is not None and second.ids is not None:
        _, rows, others = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
        agrees = agreement.agree(agreement.first.group[rows], agreement.second.group[others])
        right = np.where(agrees, 1.0 / np.maximum(of_units[rows], 1), 0.0)
        partners = _Partners(rows.astype(np.int64), others.astype(np.int64), right)
    expected = (1.0 / of_units[of_units > 0]).sum() if partners is None else partners.right.sum()
    single, one_to_one = int((of_units == 1).sum()), int(agreement.first.counts[mutual].sum())
    return Links(of_units, single, one_to_one, float(expected)), partners


def _risk(first: Release, second: Release, shared: tuple[Shared, ...], partners: _Partners) -> LinkedRisk:
    rows, others = partners.first, partners.second
    own, theirs = (_key_risk(one.codes, one.weights)[0] for one in (first, second))
    if not len(rows):
        nobody = KeyRisk(0, 0, 0.0)
        return LinkedRisk(0, own, theirs, nobody, nobody, 0.0)
    weights = None
    if first.weights is not None:
        common = first.weights[rows]
        weights = common * (first.weights.sum() / common.sum())
    joint = np.column_stack(
        [
            first.codes[rows][:, [one.first for one in shared]],
            second.codes[others][:, [one.second for one in shared]],
        ]
    )
    union, risks = _key_risk(np.column_stack([first.codes[rows], second.codes[others]]), weights)
    through_links = float(partners.right @ risks)
    return LinkedRisk(len(rows), own, theirs, _key_risk(joint, weights)[0], union, through_links)


def _key_risk(codes: IntArray, weights: FloatArray | None) -> tuple[KeyRisk, FloatArray]:
    """The risk of a key, and each unit's."""
    keys = group_keys(codes)
    cells = individual_risk(keys.counts, sampling_probabilities(keys.counts, weight_sums(keys, weights)))
    found = KeyRisk(len(keys), int((keys.counts == 1).sum()), float(cells @ keys.counts))
    return found, cells[keys.group]
