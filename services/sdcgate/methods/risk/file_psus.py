"""A file whose PSUs are linked to areas: from figures to what they add to the risk of its people."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.psu_linkage import (
    AreaRisk,
    PsuLinkage,
    link_psus,
    link_psus_one_to_one,
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
    sizes: FloatArray | None = field(default=None, repr=False)
    """What PSUs were drawn in proportion to, above 0, shape (areas,); None: areas are alike."""


@dataclass(frozen=True, slots=True, eq=False)
class PsuFileLinkage:
    """The links of the PSUs, and the risk of the people where it was asked for."""

    links: PsuLinkage
    risk: AreaRisk | None
    together: IntArray | None = field(default=None, repr=False)
    """The area of each PSU where no two are in one, -1 where none is left, shape (psus,); where asked for."""

    def right_together(self, truth: IntArray) -> int:
        """PSUs that are then linked to their true area, of `truth` (psus,)."""
        return 0 if self.together is None else int(((self.together == truth) & (truth >= 0)).sum())


def by_areas(file: PsuFile, one_to_one: bool = False) -> PsuFileLinkage:
    """Link a file's PSUs to areas, and tell what that adds to the risk of its keys.

    An area of fewer people than a PSU has records is not possible. The risk is told where people, weights
    and keys are given: by the probability of the true area, where it is known, else of the likeliest; a PSU
    that is linked to no area adds nothing. With `one_to_one` all PSUs are linked at once, too. Raises
    ValueError as `psu_linkage`.
    """
    shown = psu_figures(file.psus, file.values, file.weights)
    given = np.array([np.nan if one is None else one for one in file.errors])
    errors = np.where(np.isnan(given), shown.errors, given)
    possible = None if file.people is None else shown.records[:, None] <= file.people
    prior = None if file.sizes is None else file.sizes / file.sizes.max()
    links = link_psus(shown.means, file.areas, errors, np.array(file.rounding), prior, possible)
    together = link_psus_one_to_one(links) if one_to_one else None
    if file.people is None or file.weights is None or file.codes is None:
        return PsuFileLinkage(links, None, together)
    area = links.best if file.truth is None else file.truth
    chance = links.of_areas(area)
    people = np.where(chance > 0, file.people[np.maximum(area, 0)], shown.records)
    risk = risk_with_areas(file.codes, file.psus, file.weights, chance, people)
    return PsuFileLinkage(links, risk, together)
