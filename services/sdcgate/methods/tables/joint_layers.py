"""What units by what varies within them tell of units by what does not: least and greatest numbers of these.

There are as many persons in all years as in any one, and no more than in the years of which each has one. So
each published box of a part of the records, a layer, says between what the units of the box without it lie.
What several boxes of a layer tell together is not said here, where there may be any number of layers; of few
joint codes `joint_panel` asks for it.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_boxes import RECORDS, UNITS, JointBoxes
from sdcgate.methods.tables.joint_panel import Panel


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
        if not names - panel.varying <= domain:
            continue
        for box, counts in shown.counts.items():
            fixed, layer = panel.parts(box)
            if not boxes.told(fixed) & UNITS:
                told = found.setdefault(fixed, _Told())
                if counts.told & UNITS:
                    told.units[layer] = counts.units
                if counts.told & RECORDS:
                    told.records[layer] = counts.records
    far = 4.0 * max((bound for told in found.values() for bound in told.amounts()), default=0.0) + 100.0
    return [
        CombinedSum(box, ((fixed, 1.0),), (least + most) / 2, (most - least) / 2, rounded=True)
        for fixed, told in found.items()
        for box, (least, most) in told.between(fixed, panel, full, fresh, far).items()
    ]


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
        found = dict[Box, tuple[float, float]]()
        leasts = [(units, layer) for layer, units in self.units.items()]
        leasts += [(-(-records // panel.most(layer, full)), layer) for layer, records in self.records.items()]
        mosts = [(-records, layer) for layer, records in self.records.items() if not layer]
        mosts += [(-units, layer) for units, layer in self._divided(full, fixed, fresh)]
        for bounds, at_least in ((leasts, True), (mosts, False)):
            told = [(bound, _joined(fixed, layer)) for bound, layer in bounds]
            before = max([one for one in told if one[1] not in fresh], default=None)
            now = max([one for one in told if one[1] in fresh], default=None)
            for one in (before, now):
                if one is None or (one is now and before is not None and before[0] >= now[0]):
                    continue
                bound, box = one
                least, most = found.get(box, (0.0, far))
                found[box] = (max(least, bound), most) if at_least else (least, min(most, -bound))
        return {box: ends for box, ends in found.items() if ends != (0.0, far)}

    def _divided(self, full: Mapping[str, int], fixed: Box, fresh: Set[Box]) -> Iterator[tuple[int, Box]]:
        """Units of layers added up that are everybody together, each sum with a layer that tells it."""
        by_name: dict[str, list[tuple[int, Box]]] = {}
        for layer in self.units:
            if len(layer) == 1:
                by_name.setdefault(layer[0][0], []).append((layer[0][1], layer))
        for name, masks in sorted(by_name.items()):
            for chosen in (masks, [one for one in masks if _joined(fixed, one[1]) not in fresh]):
                parts = _covering(full[name], chosen)
                if parts:
                    new = [layer for layer in parts if _joined(fixed, layer) in fresh]
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
