"""Group disclosure of what is no cell: a difference, or a group that several tables leave.

All people of a town and the young of it are told by illness, each table safe; the old are what is left, and
all of them may have the same illness, or none of them may be well.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Region
from sdcgate.facility.boxes import compressed
from sdcgate.methods.cells import MISSING, BoolArray, IntArray
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.sensitivity import CLOSE


@dataclass(frozen=True, slots=True)
class SensitiveCodes:
    """Codes of a sensitive variable as boxes have them."""

    valid: int
    """All but missing."""
    missing: int
    harmful: int
    """Those that it does harm to be known to have."""
    unions: tuple[int, ...]
    """Classes of several codes that do harm: all together where others do none, codes of coarser levels."""

    def restricted(self, mask: int) -> bool:
        """Whether a mask tells anything of who has answered."""
        return mask & self.valid not in (0, self.valid)

    def shared(self, mask: int) -> bool:
        """Whether it does harm that all of a group who have answered have one of a mask's codes."""
        mine = mask & self.valid
        if not self.restricted(mine):
            return False
        one = mine.bit_count() == 1 and not mine & ~self.harmful
        return one or any(not mine & ~union for union in (self.harmful, *self.unions) if union != self.valid)

    def told(self, mask: int) -> tuple[int, ...]:
        """The classes that the number of people with some codes tells something of."""
        if not self.restricted(mask):
            return ()
        mine, rest = mask & self.valid, self.valid & ~mask
        found = [] if mine & ~self.harmful else [mine]
        one_code = rest.bit_count() == 1
        if not rest & ~self.harmful and (one_code or self.harmful != self.valid):
            found.append(rest)
        found += [union for union in self.unions if not mine & ~union or not rest & ~union]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Group:
    """People of whom a class of a sensitive variable may be told."""

    people: Region
    """Whoever they are, without what they have."""
    variable: str
    mask: int
    """The class."""
    asked: bool = True
    """Whether the class itself is told; else that nobody has another code."""


@dataclass(frozen=True, slots=True)
class DisclosedGroups:
    """Judges groups of which a sensitive category is told by the share that has it."""

    share: float
    codes: Mapping[str, SensitiveCodes] = field(repr=False)
    """Of each sensitive variable."""
    units: Callable[[Sequence[Region]], IntArray] = field(repr=False)
    """Counts the units of regions."""

    def restricts(self, box: Box) -> bool:
        """Whether a box tells something of a sensitive variable."""
        return restricts(self.codes, box)

    def category(self, box: Box) -> tuple[str, int] | None:
        """The sensitive variable that a box restricts to codes that all do harm, and these; or None."""
        for name, mask in box:
            codes = self.codes.get(name)
            if codes is not None and mask & codes.valid and not mask & codes.valid & ~codes.harmful:
                return name, mask
        return None

    def classes(self) -> dict[str, tuple[int, ...]]:
        """Of each variable the classes of several codes, with and without who is missing."""
        return {
            name: tuple({mask: None for one in codes.unions for mask in (one, one | codes.missing)})
            for name, codes in self.codes.items()
        }

    def unsafe(self, regions: Sequence[Region]) -> BoolArray:
        """Regions of a category that tell of a class that (nearly) everybody has, shape (regions,)."""
        return unsafe_regions(self.codes, regions, self.disclosed)

    def disclosed(self, groups: Sequence[Group]) -> BoolArray:
        """Groups of which (nearly) all who have answered are in the class, shape (groups,)."""
        if not groups:
            return np.zeros(0, dtype=np.bool_)
        units = self.units(told_and_whole(self.codes, groups))
        inside, every = in_class(groups, units), units[len(groups) :]
        told: BoolArray = (every > 0) & (inside >= self.share * every * (1 - CLOSE))
        return told


def unsafe_regions(
    codes: Mapping[str, SensitiveCodes],
    regions: Sequence[Region],
    disclosed: Callable[[Sequence[Group]], BoolArray],
) -> BoolArray:
    """Regions of a category that tell of a class of a disclosed group, shape (regions,)."""
    found = [(place, group) for place, one in enumerate(regions) for group in _groups(codes, one)]
    unsafe = np.zeros(len(regions), dtype=np.bool_)
    if found:
        told = disclosed([group for _, group in found])
        unsafe[[found[place][0] for place in np.flatnonzero(told).tolist()]] = True
    return unsafe


def _groups(sensitive: Mapping[str, SensitiveCodes], region: Region) -> Iterator[Group]:
    """The region without its category, for each sensitive variable of which it has one, in each class."""
    for name, codes in sensitive.items():
        inside = {dict(box).get(name) for box in region.inside}
        mask = inside.pop() if len(inside) == 1 else None
        outside = {dict(box).get(name, mask) for box in region.outside}
        if mask and outside <= {mask}:
            parts = (tuple(without(box, name) for box in boxes) for boxes in (region.inside, region.outside))
            people = Region(*parts)
            for union in codes.told(mask):
                yield Group(people, name, union, asked=union == mask & codes.valid)


def restricts(codes: Mapping[str, SensitiveCodes], box: Box) -> bool:
    """Whether a box tells something of a sensitive variable."""
    return any(name in codes and codes[name].restricted(mask) for name, mask in box)


def told_and_whole(codes: Mapping[str, SensitiveCodes], groups: Sequence[Group]) -> list[Region]:
    """What is counted of groups: of each who is told of, and after these of each all who have answered."""
    valid = [codes[group.variable].valid for group in groups]
    told = [_within(g, g.mask if g.asked else v & ~g.mask) for g, v in zip(groups, valid, strict=True)]
    return [*told, *map(_within, groups, valid)]


def in_class(groups: Sequence[Group], counts: IntArray) -> IntArray:
    """How many of each group are in its class, by the counts of `told_and_whole`, shape (groups,)."""
    part, every = np.split(counts, 2)
    found: IntArray = np.where([group.asked for group in groups], part, every - part)
    return found


def _within(group: Group, mask: int) -> Region:
    """The people of a group who have one of some codes."""
    inside, outside = (
        tuple(box if box == NOBODY else tuple(sorted((*box, (group.variable, mask)))) for box in boxes)
        for boxes in (group.people.inside, group.people.outside)
    )
    return Region(inside, outside)


def without(box: Box, name: str) -> Box:
    """A box that does not restrict a variable."""
    return box if box == NOBODY else tuple(pair for pair in box if pair[0] != name)


def sensitive_codes(dataset: Dataset) -> dict[str, SensitiveCodes]:
    """The codes of each sensitive variable of a dataset."""
    found = {}
    for variable in dataset.descriptor.variables:
        if variable.sensitive:
            level, harmless = dataset.level(variable.name), dataset.harmless(variable.name)
            masks = dict(zip(level.codes, level.masks, strict=True))
            missing = masks.get(MISSING, 0)
            harm = sum(mask for code, mask in masks.items() if code not in {*harmless, MISSING})
            unions = (harm, *dataset.harmful_classes(variable.name))
            found[variable.name] = _occurring(dataset, variable.name, missing, harm, unions)
    return found


def _occurring(dataset: Dataset, name: str, missing: int, harm: int, unions: Sequence[int]) -> SensitiveCodes:
    every, gone, harmful, *classes = (
        compressed(dataset, name, mask) for mask in (dataset.full_mask(name), missing, harm, *unions)
    )
    valid = every & ~gone
    several = (union & valid for union in classes)
    kept = tuple(dict.fromkeys(union for union in several if union.bit_count() > 1 and union != valid))
    return SensitiveCodes(valid, gone, harmful, kept)
