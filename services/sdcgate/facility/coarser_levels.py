"""The levels of a variable from the one asked on, as partitions of its codes; from public code lists."""

from sdcgate.engine.dataset import Dataset
from sdcgate.methods.tables.redesign import Partition, partition


def coarser_levels(
    dataset: Dataset, variable: str, level: str, codes: tuple[str, ...]
) -> tuple[list[str], list[Partition]]:
    """The level asked and each coarser one that joins codes anew, by name and as partitions of `codes`.

    `codes` are those in question: a filter on the same variable leaves some of the level's.
    """
    levels = dataset.levels(variable)
    asked = dataset.level(variable, level)
    places = [asked.positions[code] for code in codes]
    names, partitions = [level], [tuple(range(len(places)))]
    for coarser in levels[dataset.level_position(variable, level) + 1 :]:
        above = dict(zip(asked.members, coarser.members, strict=True))
        joined = partition([above.get(place, -1) for place in places])
        if joined != partitions[-1]:
            names.append(coarser.name)
            partitions.append(joined)
    return names, partitions
