"""What units and records of a panel tell of each other, box by box: least and greatest numbers.

There are as many persons in all years as in any one, and no more than in the years of which each has one. So
each published box of a part of the records, a layer, says between what the units of the box without it lie.
What several boxes of a layer tell together is not said here, where there may be any number of layers; of few
joint codes `joint_panel` asks for it.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_boxes import (
    NOTHING_SHOWN,
    RECORDS,
    UNITS,
    JointBoxes,
    variables_of,
)
from sdcgate.methods.tables.panel_links import LINK, Panel

FAR = 1e6
"""What nothing is known to have less than, a box has at most: far more than there are people."""


def told_by_layers(
    boxes: JointBoxes, panel: Panel, domain: Set[str], full: Mapping[str, int], fresh: Set[Box]
) -> list[CombinedSum]:
    """Between what the units of boxes lie that restrict nothing that varies, and were not published.

    Args:
        boxes: everything that left.
        panel: how units have several records.
        domain: variables, of which none varies, that boxes restrict at most.
        full: full mask of every variable.
        fresh: boxes that are new. What others tell is said beside what they do.

    Returns:
        Each told by the box that it comes from, which restricts more.
    """
    found = dict[Box, _Told]()
    for names, shown in boxes.published.items():
        fixed_names = names - panel.varying
        if not fixed_names <= domain:
            continue
        without = boxes.published.get(fixed_names, NOTHING_SHOWN).units
        for fixed, within in shown.parted(panel.varying).items():
            if fixed in without:
                continue
            told = found.setdefault(fixed, _Told())
            for layer, counts in within:
                if counts.told & UNITS:
                    told.units[layer] = counts.units
                if counts.told & RECORDS:
                    told.records[layer] = counts.records
    far = max([FAR, *(10.0 * amount for told in found.values() for amount in told.amounts())])
    return [
        CombinedSum(box, ((fixed, 1.0),), (least + most) / 2, (most - least) / 2, rounded=True)
        for fixed, told in found.items()
        for box, (least, most) in told.between(fixed, panel, full, fresh, far).items()
    ]


def most_records_told(
    boxes: JointBoxes, panel: Panel, domain: Set[str], full: Mapping[str, int], fresh: Set[Box]
) -> list[CombinedSum]:
    """How many records withheld boxes of some waves have at most, as units of what lies around them tell.

    Of fifteen people a year has no more than fifteen records, whatever all years have.

    Args:
        boxes: everything that left or was withheld.
        panel: how units have several records.
        domain: variables that boxes restrict at most.
        full: full mask of every variable.
        fresh: boxes whose units are new. What others tell is said beside what they do.

    Returns:
        Each named by the box whose units tell it (`without_link`).
    """
    found, anywhere = list[CombinedSum](), panel.most((), full)
    # Elsewhere each unit may have all its records.
    in_waves = (those for names, those in boxes.secret.items() if panel.wave in names and names <= domain)
    for box in chain.from_iterable(those.of_records for those in in_waves):
        fixed, layer = panel.parts(box)
        each, bounds = panel.most(layer, full), dict[bool, tuple[int, Box]]()
        if each == anywhere:
            continue
        for around in {(), *(tuple(pair for pair in layer if pair != one) for one in layer)} - {layer}:
            wider = _joined(fixed, around)
            counts = boxes.counts(wider)
            if counts is not None and counts.told & UNITS:
                new, most = wider in fresh, each * counts.units
                bounds[new] = min(bounds.get(new, (most, wider)), (most, wider))
        if bounds:
            inside = _at_most(boxes, box)
            bounds = {new: bound for new, bound in bounds.items() if bound[0] < inside}
        if True in bounds and False in bounds and bounds[False][0] <= bounds[True][0]:
            del bounds[True]
        for most, wider in bounds.values():
            name = (*wider, (LINK, 1 + len(found)))
            found.append(CombinedSum(name, ((box, 1.0),), most / 2, most / 2, rounded=True))
    return found


def _at_most(boxes: JointBoxes, box: Box) -> float:
    """How many records a box has at most, as a line says: a total less what was told of the others."""
    most = np.inf
    shown = boxes.published.get(variables_of(box), NOTHING_SHOWN)
    for name, own in box:
        rest = tuple(pair for pair in box if pair[0] != name)
        total = boxes.counts(rest)
        if total is None or not total.told & RECORDS:
            continue
        left, taken = total.records, own
        line = [(part[0][1], counts) for part, counts in shown.parted(frozenset({name})).get(rest, ())]
        for mask, counts in sorted(line, key=lambda one: one[0].bit_count()):
            if counts.told & RECORDS and not mask & taken:
                left, taken = left - counts.records, taken | mask
        most = min(most, left)
    return most


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """What is told of a box and the layers within it."""

    units: dict[Box, int] = field(default_factory=dict, repr=False)
    records: dict[Box, int] = field(default_factory=dict, repr=False)

    def amounts(self) -> Iterator[int]:
        """All that is told."""
        yield from self.units.values()
        yield from self.records.values()

    def between(
        self, fixed: Box, panel: Panel, full: Mapping[str, int], fresh: Set[Box], far: float
    ) -> dict[Box, tuple[float, float]]:
        """The least and the most that the box has, by the box that tells it: without fresh ones, and with."""
        found, named = dict[Box, tuple[float, float]](), self._named(fixed)
        leasts = [(units, layer) for layer, units in self.units.items()]
        leasts += [(-(-records // panel.most(layer, full)), layer) for layer, records in self.records.items()]
        mosts = [(-records, layer) for layer, records in self.records.items() if not layer]
        mosts += [(-units, layer) for units, layer in self._divided(full, named, fresh)]
        for bounds, at_least in ((leasts, True), (mosts, False)):
            told = [(bound, named[layer]) for bound, layer in bounds]
            before = max([one for one in told if one[1] not in fresh], default=None)
            now = max([one for one in told if one[1] in fresh], default=None)
            for one in (before, now):
                if one is None or (one is now and before is not None and before[0] >= now[0]):
                    continue
                bound, box = one
                least, most = found.get(box, (0.0, far))
                found[box] = (max(least, bound), most) if at_least else (least, min(most, -bound))
        return {box: ends for box, ends in found.items() if ends != (0.0, far)}

    def _named(self, fixed: Box) -> dict[Box, Box]:
        """The box of each layer."""
        return {layer: _joined(fixed, layer) for layer in {**self.units, **self.records}}

    def _divided(
        self, full: Mapping[str, int], named: Mapping[Box, Box], fresh: Set[Box]
    ) -> Iterator[tuple[int, Box]]:
        """Units of layers added up that are everybody together, each sum with a layer that tells it."""
        by_name: dict[str, list[tuple[int, Box]]] = {}
        for layer in self.units:
            if len(layer) == 1:
                by_name.setdefault(layer[0][0], []).append((layer[0][1], layer))
        for name, masks in sorted(by_name.items()):
            for chosen in (masks, [one for one in masks if named[one[1]] not in fresh]):
                parts = _covering(full[name], chosen)
                if parts:
                    new = [layer for layer in parts if named[layer] in fresh]
                    yield sum(self.units[layer] for layer in parts), (new or parts)[0]


def _joined(fixed: Box, layer: Box) -> Box:
    return tuple(sorted((*fixed, *layer)))


def _covering(full: int, masks: Sequence[tuple[int, Box]]) -> list[Box]:
    """Layers that take in all codes of a variable, the smallest first; none where they do not."""
    covered, chosen = 0, list[Box]()
    for mask, layer in sorted(masks, key=lambda one: (one[0].bit_count(), one[0])):
        if mask & ~covered:
            covered |= mask
            chosen.append(layer)
    return chosen if covered == full else []
