"""Group disclosure of what is no cell: a difference, or a group that several tables leave.

All people of a town and the young of it are told by illness, each table safe; the old are what is left, and
all of them may have the same illness.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Region
from sdcgate.facility.boxes import compressed
from sdcgate.methods.cells import MISSING, BoolArray, IntArray
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.sensitivity import CLOSE


@dataclass(frozen=True, slots=True)
class DisclosedGroups:
    """Judges groups of which a sensitive category is told by the share that has it."""

    share: float
    harmful: Mapping[str, int] = field(repr=False)
    """Of each sensitive variable the codes that it does harm to be known to have."""
    units: Callable[[Sequence[Region]], IntArray] = field(repr=False)
    """Counts the units of regions."""

    def category(self, box: Box) -> tuple[str, int] | None:
        """The sensitive variable that a box restricts to codes that all do harm, and these; or None."""
        for name, mask in box:
            harm = self.harmful.get(name, 0)
            if mask and not mask & ~harm:
                return name, mask
        return None

    def unsafe(self, regions: Sequence[Region]) -> BoolArray:
        """Regions of a category that (nearly) everybody has of the region without it, shape (regions,)."""
        found = [(place, whole) for place, one in enumerate(regions) for whole in self._wholes(one)]
        unsafe = np.zeros(len(regions), dtype=np.bool_)
        if found:
            parts = [regions[place] for place, _ in found]
            units = self.units([*parts, *(whole for _, whole in found)])
            inside, every = units[: len(parts)], units[len(parts) :]
            told = (every > 0) & (inside >= self.share * every * (1 - CLOSE))
            unsafe[[found[place][0] for place in np.flatnonzero(told).tolist()]] = True
        return unsafe

    def _wholes(self, region: Region) -> list[Region]:
        """The region without its category, for each sensitive variable of which it has one."""
        wholes = []
        for name, harm in self.harmful.items():
            inside = {dict(box).get(name) for box in region.inside}
            mask = inside.pop() if len(inside) == 1 else None
            outside = {dict(box).get(name, mask) for box in region.outside}
            if mask and not mask & ~harm and outside <= {mask}:
                parts = (
                    tuple(without(box, name) for box in boxes) for boxes in (region.inside, region.outside)
                )
                wholes.append(Region(*parts))
        return wholes


def without(box: Box, name: str) -> Box:
    """A box that does not restrict a variable."""
    return box if box == NOBODY else tuple(pair for pair in box if pair[0] != name)


def harmful_codes(dataset: Dataset) -> dict[str, int]:
    """Of each sensitive variable the codes that it does harm to be known to have, as boxes have them."""
    found = {}
    for variable in dataset.descriptor.variables:
        if variable.sensitive:
            level, harmless = dataset.level(variable.name), dataset.harmless(variable.name)
            masks = zip(level.codes, level.masks, strict=True)
            harm = sum({mask for code, mask in masks if code not in {*harmless, MISSING}})
            found[variable.name] = compressed(dataset, variable.name, harm)
    return found
