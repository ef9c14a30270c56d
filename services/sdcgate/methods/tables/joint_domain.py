"""Which variables a joint audit is about: as many of those that tables share as its size allows.

Boxes that restrict variables outside are left out. That takes knowledge from the intruder: what is refuted
within some variables is refuted, what is not may still be within more.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from math import prod

from sdcgate.methods.tables.boxes import divided
from sdcgate.methods.tables.combined_sums import variables_together
from sdcgate.methods.tables.joint_boxes import JointBoxes, Masks, Variables


def joint_domain(
    first: Set[str],
    boxes: JointBoxes,
    full: Mapping[str, int],
    most_atoms: int,
    together: Iterable[Variables] = (),
) -> Variables:
    """The first variables, and others as long as the joint codes that boxes tell apart are at most so many.

    One after the other that comes which adds most boxes. `full` has the full mask of every variable. The
    first variables are taken whatever their size. Of those that come next `together`, each set comes as a
    whole or not at all: a sum of what two variables decide is nothing within one of them.
    """
    domain, masks = set(first), boxes.masks_within(first)
    if _atoms(masks, full) > most_atoms:
        return frozenset(domain)
    for those in together:
        wider = boxes.masks_within(domain | those)
        if _atoms(wider, full) <= most_atoms:
            domain, masks = domain | those, wider
    adding = _adding(domain, boxes)
    while candidates := _candidates(adding):
        name = min(candidates, key=lambda name: (-candidates[name], name))
        larger = boxes.masks_with(masks, name)
        if _atoms(larger, full) <= most_atoms:
            domain.add(name)
            masks = larger
            adding = [(others - {name}, count) for others, count in adding if others != {name}]
        else:
            adding = [(others, count) for others, count in adding if name not in others]
    return frozenset(domain)


def _adding(first: Set[str], boxes: JointBoxes) -> list[tuple[Variables, int]]:
    """Variables that boxes restrict besides first ones, where they restrict one of these; and how many do."""
    together = Counter(map(variables_together, boxes.combined.values()))
    together.update({names: len(those) for names, those in boxes.shares.items()})
    return [
        (others, boxes.size(names) + together[names])
        for names in boxes.masks.keys() | together.keys()
        if not names.isdisjoint(first) and (others := names - first)
    ]


def _candidates(adding: list[tuple[Variables, int]]) -> Counter[str]:
    """Variables by the number of boxes that one of them alone would add."""
    found: Counter[str] = Counter()
    for others, count in adding:
        if len(others) == 1:
            (name,) = others
            found[name] += count
    return found


def joint_atoms(domain: Set[str], boxes: JointBoxes, full: Mapping[str, int]) -> int:
    """How many joint codes of some variables their boxes tell apart."""
    return _atoms(boxes.masks_within(domain), full)


def _atoms(masks: Masks, full: Mapping[str, int]) -> int:
    """How many joint codes masks tell apart, by variable."""
    return prod(len(classes(full[name], those)) for name, those in masks.items())


@lru_cache(maxsize=4096)
def classes(full: int, masks: frozenset[int]) -> tuple[int, ...]:
    """The finest codes of a variable as masks of those that no mask tells apart."""
    return tuple(divided(full, sorted(masks)))
