"""A file whose PSUs are linked to areas: from figures to what they add to the risk of its people."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.psu_linkage import (
    AreaRisk,
    PsuLinkage,
    link_psus,
    psu_figures,
    risk_with_areas,
)


@dataclass(frozen=True, slots=True, eq=False)
class PsuFile:
    """A file with PSUs, and the areas that they may be."""

    areas: FloatArray = field(repr=False)
    """Published figures, shape (areas, variables)."""
    values: FloatArray = field(repr=False)
    """The same variables of the file's records, shape (records, variables)."""
    psus: IntArray = field(repr=False)
    """PSU of each record, 0..P-1, shape (records,)."""
    errors: tuple[float | None, ...]
    """Standard deviation of each variable's error; None: the standard error of the PSU's mean."""
    rounding: tuple[float, ...]
    """What each variable is rounded to multiples of, 0: it is not."""
    truth: IntArray | None = field(default=None, repr=False)
    """Position of each PSU's true area, -1 where it is not among them, shape (psus,); None: nobody knows."""
    people: IntArray | None = field(default=None, repr=False)
    """People of each area, shape (areas,)."""
    weights: FloatArray | None = field(default=None, repr=False)
    """Design weights of the records, shape (records,)."""
    codes: IntArray | None = field(default=None, repr=False)
    """Keys of the records, shape (records, keys)."""


@dataclass(frozen=True, slots=True, eq=False)
class PsuFileLinkage:
    """The links of the PSUs, and the risk of the people where it was asked for."""

    links: PsuLinkage
    risk: AreaRisk | None


def by_areas(file: PsuFile) -> PsuFileLinkage:
    """Link a file's PSUs to areas, and tell what that adds to the risk of its keys.

    An area of fewer people than a PSU has records is not possible. The risk is told where people, weights
    and keys are given: by the probability of the true area, where it is known, else of the likeliest; a PSU
    that is linked to no area adds nothing. Raises ValueError as `psu_linkage`.
    """
    shown = psu_figures(file.psus, file.values, file.weights)
    given = np.array([np.nan if one is None else one for one in file.errors])
    errors = np.where(np.isnan(given), shown.errors, given)
    possible = None if file.people is None else shown.records[:, None] <= file.people
    links = link_psus(shown.means, file.areas, errors, np.array(file.rounding), possible=possible)
    if file.people is None or file.weights is None or file.codes is None:
        return PsuFileLinkage(links, None)
    area = links.best if file.truth is None else file.truth
    chance = links.of_areas(area)
    people = np.where(chance > 0, file.people[np.maximum(area, 0)], shown.records)
    return PsuFileLinkage(links, risk_with_areas(file.codes, file.psus, file.weights, chance, people))
