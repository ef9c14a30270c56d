"""Which boxes must be looked at together where a table was asked of one group, and others of other groups.

A group here is the box of a table's filters, whose own count has left. If every other box lies in it, apart
from it or around it, what is known splits: inside, nothing tells more of what lies outside than the group's
count does. So the boxes in the group are looked at by themselves, and of all others only those that restrict
nothing but the filters' variables, if the rest lie in groups of their own whose counts left before. What is
known of several boxes together goes with them. This is exact. Where it cannot be seen all are looked at
together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from sdcgate.methods.tables.boxes import NOBODY, Box, intersection, is_inside
from sdcgate.methods.tables.combined_sums import CombinedSum, boxes_of
from sdcgate.methods.tables.joint_boxes import (
    NOTHING_HIDDEN,
    NOTHING_SHOWN,
    JointBoxes,
    Variables,
    variables_of,
)


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """Boxes that are looked at together."""

    domain: Variables
    """The variables that they restrict at most."""
    full: Mapping[str, int]
    """All codes that a box can have, of each of these."""
    published: Mapping[Box, float] = field(repr=False)
    """Records, units, or what `joint_sums` makes of a measure."""
    secrets: list[Box] = field(repr=False)
    """Withheld boxes that never left."""
    limits: Mapping[Box, float] = field(default_factory=dict, repr=False)
    """Boxes of which only a most is known."""
    combined: Sequence[CombinedSum] = field(default=(), repr=False)
    """What is known of several boxes together."""

    @property
    def extent(self) -> tuple[tuple[str, int], ...]:
        """Variables with their codes: of two scopes with the same, the later one knows all of the earlier."""
        return tuple((name, self.full[name]) for name in sorted(self.domain))


def scopes(
    boxes: JointBoxes,
    domain: Variables,
    full: Mapping[str, int],
    group: Mapping[str, int],
    fresh: Set[Box],
    units: bool = False,
) -> list[Scope]:
    """What has to be looked at to find what fresh boxes tell.

    Args:
        boxes: everything that left or was withheld, the fresh ones among them.
        domain: the variables that are looked at.
        full: full mask of every variable.
        group: masks of filters that all fresh boxes lie within.
        fresh: boxes that are new.
        units: look at units rather than records.
    """
    published, secrets = boxes.within(domain, units), boxes.secrets_within(domain, units)
    limits, combined = boxes.limits_within(domain), boxes.combined_within(domain)
    whole = [Scope(domain, full, published, secrets, limits, combined)]
    by_variables = _by_variables(boxes, domain)
    filters = {name: mask for name, mask in group.items() if name in domain and mask != full[name]}
    masks = _closed(filters, by_variables, full)
    here = tuple(sorted(masks.items()))
    if not masks or here not in published or not _apart(here, by_variables, published, fresh):
        return whole
    inside, names = set(_inside(here, by_variables)), frozenset(masks)
    within = {box: count for box, count in published.items() if box in inside}
    limited = {box: most for box, most in limits.items() if box in inside}
    told_here = [one for one in combined if all(is_inside(box, here) for box, _ in one.parts)]
    told_around = boxes.combined_within(names)
    apart = [one for one in combined if one not in told_here and one not in told_around]
    if not all(_elsewhere(box, here, published, fresh) for box in boxes_of(apart)):
        return whole
    hidden = [box for box in secrets if box in inside]
    return [
        Scope(domain, {**full, **masks}, within, hidden, limited, told_here),
        Scope(
            names,
            full,
            boxes.within(names, units),
            boxes.secrets_within(names, units),
            boxes.limits_within(names),
            told_around,
        ),
    ]


def _elsewhere(box: Box, here: Box, published: Mapping[Box, int], fresh: Set[Box]) -> bool:
    """Whether a box lies in a group apart that left before."""
    names = {name for name, _ in here}
    group = tuple(pair for pair in box if pair[0] in names)
    left_before = len(group) == len(here) and group in published and group not in fresh
    return left_before and not _meet(group, here)


ByVariables = Mapping[Variables, list[Box]]


def _by_variables(boxes: JointBoxes, domain: Variables) -> ByVariables:
    """All boxes by the variables that they restrict."""
    found = {
        names: [
            *boxes.published.get(names, NOTHING_SHOWN).counts,
            *boxes.secret.get(names, NOTHING_HIDDEN).boxes,
        ]
        for names in boxes.masks
        if names and names <= domain and names != {NOBODY[0][0]}
    }
    for box in boxes.limits_within(domain):
        found[variables_of(box)].append(box)
    return found


def _closed(masks: dict[str, int], by_variables: ByVariables, full: Mapping[str, int]) -> dict[str, int]:
    """The filters, wider until every box lies in them, apart from them or around them."""
    while masks and (crossing := next(_crossing(masks, by_variables), None)) is not None:
        theirs = dict(crossing)
        masks = {name: mask | theirs[name] for name, mask in masks.items() if name in theirs}
        masks = {name: mask for name, mask in masks.items() if mask != full[name]}
    return masks


def _crossing(masks: Mapping[str, int], by_variables: ByVariables) -> Iterator[Box]:
    """Parts of boxes on the filters' variables that lie neither in the filters, nor apart or around."""
    for names, boxes in by_variables.items():
        common = sorted(names & masks.keys())
        for part in _parts(common, names, boxes):
            theirs = dict(part)
            if any(not theirs[name] & masks[name] for name in common):
                continue
            inside = len(common) == len(masks) and all(not theirs[name] & ~masks[name] for name in common)
            around = len(common) == len(names) and all(not masks[name] & ~theirs[name] for name in common)
            if not inside and not around:
                yield part


def _parts(common: list[str], names: Variables, boxes: Iterable[Box]) -> set[Box]:
    """What boxes of the same variables restrict of some of them."""
    if not common:
        return {()}
    found = set(map(_getter(common, names), boxes))
    return {(part,) for part in found} if len(common) == 1 else found


def _getter(common: list[str], names: Variables) -> "itemgetter[Any]":
    """What a box of some variables restricts of others among them: one pair by itself, or several."""
    return itemgetter(*(place for place, name in enumerate(sorted(names)) if name in common))


def _apart(here: Box, by_variables: ByVariables, published: Mapping[Box, int], fresh: Set[Box]) -> bool:
    """Whether all boxes elsewhere that restrict more lie in groups apart, whose counts left before.

    Boxes that restrict only the filters' variables must not cut such a group.
    """
    names = frozenset(name for name, _ in here)
    groups, cutting = {here}, set[Box]()
    for variables, boxes in by_variables.items():
        found = _parts(sorted(names & variables), variables, boxes)
        if variables <= names:
            cutting |= found
        elif names <= variables:
            groups |= {part for part in found if not is_inside(part, here)}
        else:
            # It reaches over the filters, or it would have been apart.
            return False
    others = groups - {here}
    if any(group in fresh or group not in published for group in others):
        return False
    cut = any(_meet(one, group) and one != group for one in groups for group in groups)
    return not cut and all(is_inside(group, one) for one in cutting for group in others if _meet(one, group))


def _meet(one: Box, other: Box) -> bool:
    """Whether two boxes have anything in common."""
    return intersection(one, other) != NOBODY


def _inside(here: Box, by_variables: ByVariables) -> Iterator[Box]:
    """Boxes that lie in a group."""
    names = [name for name, _ in here]
    for variables, boxes in by_variables.items():
        if variables.issuperset(names):
            found = {part for part in _parts(names, variables, boxes) if is_inside(part, here)}
            kept = {part[0] for part in found} if len(names) == 1 else found
            places = map(_getter(names, variables), boxes)
            yield from (box for box, part in zip(boxes, places, strict=True) if part in kept)
