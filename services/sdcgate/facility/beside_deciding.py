"""What everybody knows of a variable that stands in boxes beside the one that decides it: who cannot be.

The variables of a table's axes are told by what decides them, but only one of them can be: a second stands as
it is. That nobody in a southern town is in the north is told by no table then, and known all the same.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.boxes import compressed, occurring_places
from sdcgate.facility.knowledge import KnownQuantity
from sdcgate.methods.tables.boxes import Box, BoxTable
from sdcgate.methods.tables.joint_boxes import Counts

NOBODY_THERE = Counts(0, 0)


def beside_deciding(dataset: Dataset, counts: KnownQuantity, new: Iterable[BoxTable] = ()) -> KnownQuantity:
    """Counts that have left, with the boxes that are empty by what decides the variables in play.

    In play are those of all that left, and of `new` tables.
    """
    names = set(counts.shapes.full).union(*(table.full for table in new))
    empty = [
        (box, NOBODY_THERE)
        for name in sorted(names)
        if name in dataset.variation and dataset.variation[name].determined_by in names
        for box in _impossible(dataset, name)
    ]
    if not empty:
        return counts
    sure = None if counts.sure is None else counts.sure.grown(empty, ())
    nobody = [box for box, _ in empty]
    told = counts.nobody.grown(nobody, nobody, ())
    return replace(counts, boxes=counts.boxes.grown(empty, ()), sure=sure, nobody=told)


def _impossible(dataset: Dataset, name: str) -> Iterator[Box]:
    """For each code of a variable that occurs the codes of the deciding one that do not go with it."""
    variation = dataset.variation[name]
    deciding = variation.determined_by
    going = [variation.decided[code] for code in occurring_places(dataset, deciding).tolist()]
    for code in occurring_places(dataset, name).tolist():
        others = sum(1 << place for place, own in enumerate(going) if own != code)
        if others:
            yield tuple(sorted(((name, compressed(dataset, name, 1 << code)), (deciding, others))))
