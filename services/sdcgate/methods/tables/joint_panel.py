"""Records and units of a panel looked at together, where units have several records.

Units do not add up over what varies within them. But those that have a record in some part of it, a layer
such as one year or all years, add up over everything else. So each layer's units are amounts of their own,
beside the records, and for each joint code of what does not vary within a unit it is known of them:

- a layer has no more units than a larger one, and than the layers together into which it is divided;
- it has no more units than records, and no more records than each unit can have there: one in each wave.

That is exact where layers are waves and all waves; of others that lie across each other a little less is said
than is true of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from itertools import combinations, permutations, product
from math import prod
from operator import or_

import numpy as np

from sdcgate.methods.tables.boxes import Box, intersection, is_inside
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_boxes import JointBoxes, Variables, restricts_only
from sdcgate.methods.tables.joint_domain import classes, joint_atoms, joint_domain
from sdcgate.methods.tables.joint_scopes import Scope

KEPT = 256
"""Layers of which it is remembered how they lie in each other."""
MOST_TOGETHER = 600
"""So many joint codes, each layer's units by themselves, are looked at together."""
KIND = "*kind"
"""A variable of which boxes of records have the first code, and those of a layer's units one of their own."""
RECORDS_KIND = 1
LINK = "*link"
"""A variable by which what links kinds is named."""


@dataclass(frozen=True, slots=True)
class Panel:
    """How units have several records, as everybody knows."""

    varying: Variables
    """Variables that may vary within a unit."""
    most_records: int
    """So many records a unit has at most."""
    wave: str = ""
    """The variable of which each record of a unit has another code; empty where there is none."""

    def parts(self, box: Box) -> tuple[Box, Box]:
        """What a box restricts of what does not vary within a unit, and of what does."""
        fixed = tuple(pair for pair in box if pair[0] not in self.varying)
        return fixed, tuple(pair for pair in box if pair[0] in self.varying)

    def most(self, layer: Box, full: Mapping[str, int]) -> int:
        """How many records each unit of a layer has in it at most."""
        if not self.wave or self.wave not in full:
            return self.most_records
        return min(self.most_records, dict(layer).get(self.wave, full[self.wave]).bit_count())


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Boxes of records and of units within some variables, each with its kind."""

    scope: Scope
    _panel: Panel = field(repr=False)
    _layers: Mapping[Box, int] = field(repr=False)
    """Each layer with its mask of `KIND`."""

    @property
    def layers(self) -> tuple[Box, ...]:
        """The layers, in the order of their kinds."""
        return tuple(self._layers)

    def held(self, layered: Callable[[Variables, Sequence[Box]], Sequence[Held] | None]) -> Held | None:
        """What people have in truth by all variables, where it is known.

        `layered` has it by those that are none of kinds: records, and units of each of some layers.
        """
        by_kind = layered(self.scope.domain - {KIND}, self.layers)
        if by_kind is None:
            return None
        # The codes that a unit has of what varies do not matter: boxes of units say nothing of it.
        codes = [
            np.column_stack([one.combinations.codes, np.full(len(one.amounts), kind)])
            for kind, one in enumerate(by_kind)
        ]
        variables = (*by_kind[0].combinations.variables, KIND)
        amounts = np.concatenate([one.amounts for one in by_kind])
        return Held(Combinations(variables, np.concatenate(codes)), amounts)

    def of_records(self, boxes: Iterable[Box]) -> set[Box]:
        """Boxes as those of records; those that restrict other variables are left out."""
        return {_of_kind(box, RECORDS_KIND) for box in boxes if self._within(box)}

    def of_units(self, boxes: Iterable[Box]) -> set[Box]:
        """Boxes as those of units."""
        parts = [self._panel.parts(box) for box in boxes if self._within(box)]
        return {_of_kind(fixed, self._layers[layer]) for fixed, layer in parts if layer in self._layers}

    def plain(self, box: Box) -> Box:
        """A box without its kind."""
        kind = dict(box).get(KIND, RECORDS_KIND)
        layer = () if kind == RECORDS_KIND else self.layers[kind.bit_length() - 2]
        return tuple(sorted((*(pair for pair in box if pair[0] != KIND), *layer)))

    def told(self, box: Box) -> Box:
        """The same with the first code of its kind for records, and the second for units."""
        kind = 1 if dict(box).get(KIND, RECORDS_KIND) == RECORDS_KIND else 2
        return _of_kind(self.plain(box), kind)

    def _within(self, box: Box) -> bool:
        return restricts_only(box, self.scope.domain)


def together(
    boxes: JointBoxes, panel: Panel, first: Set[str], full: Mapping[str, int], fresh: Set[Box], most: int
) -> list[Together]:
    """What is known of records and units together, of some variables and others as long as there is room.

    Of the first variables alone, with as many layers as can be, and of others with them.

    Args:
        boxes: everything that left or was withheld.
        panel: how units have records.
        first: variables that are looked at in any case.
        full: full mask of every variable.
        fresh: boxes of records that are new.
        most: so many joint codes are looked at, each layer's units by themselves.

    Returns:
        None where the first variables alone are too many. Where layers are, those of fresh boxes are taken
        first, then those of which most is known.
    """
    own, chosen = {panel.parts(box)[1] for box in fresh}, list[Together]()
    alone = frozenset(first)
    # Others have to do with each other by fewer boxes, and take as long.
    wider = joint_domain(first, boxes, full, most // 4)
    for domain, room in {wider: most // 2, alone: most}.items():
        if joint_atoms(domain, boxes, full) > room:
            continue
        found = _Kinds(boxes.with_shares(domain, fresh), panel, domain, full, own, room)
        if found.size <= room:
            chosen.append(Together(found.scope(), panel, found.layers))
    return chosen


@dataclass(frozen=True, slots=True)
class _Nested:
    """Which of some layers lie in which, each a bit of a mask."""

    layers: Sequence[Box]
    _bits: Mapping[Box, int]
    _inside: Mapping[Box, int]
    """Others that lie in each."""
    _around: Mapping[Box, int]
    """Others in which it lies."""

    @classmethod
    @lru_cache(maxsize=KEPT)
    def of(cls, layers: tuple[Box, ...]) -> "_Nested":
        """As the layers' descriptions say: one table's turns and doubts ask for the same ones."""
        bits = {layer: 1 << place for place, layer in enumerate(layers)}
        inside, around = dict.fromkeys(layers, 0), dict.fromkeys(layers, 0)
        for one, other in permutations(layers, 2):
            if is_inside(one, other):
                inside[other] |= bits[one]
                around[one] |= bits[other]
        return cls(layers, bits, inside, around)

    def inside(self, layer: Box) -> list[Box]:
        """The others that lie in a layer."""
        inside = self._inside[layer]
        return [one for one in self.layers if self._bits[one] & inside]

    def largest(self, layers: Sequence[Box]) -> list[Box]:
        """Those that lie in no other of them."""
        among = self._mask(layers)
        return [one for one in layers if not self._around[one] & among]

    def smallest(self, layers: Sequence[Box]) -> list[Box]:
        """Those in which no other of them lies."""
        among = self._mask(layers)
        return [one for one in layers if not self._inside[one] & among]

    def _mask(self, layers: Sequence[Box]) -> int:
        return reduce(or_, (self._bits[one] for one in layers), 0)


class _Kinds:
    def __init__(
        self,
        boxes: JointBoxes,
        panel: Panel,
        domain: Variables,
        full: Mapping[str, int],
        own: Set[Box],
        most: int,
    ) -> None:
        self._boxes, self._panel, self._domain = boxes, panel, domain
        masks = boxes.masks_within(domain)
        self._classes = {name: classes(full[name], those) for name, those in masks.items()}
        fixed = [name for name in sorted(domain) if name not in panel.varying]
        self._fixed = {name: self._classes[name] for name in fixed}
        self._varying = prod(len(self._classes[name]) for name in domain & panel.varying)
        self._atoms = prod(map(len, self._fixed.values()))
        units, hidden = boxes.within(domain, units=True), boxes.secrets_within(domain, units=True)
        limits = boxes.limits_within(domain)
        self._parts = {box: panel.parts(box) for box in (*units, *hidden, *limits)}
        known = Counter(map(self._layer, (*units, *hidden, *limits)))
        # Of each wave everybody knows that a unit has one record there.
        known.update(
            ((panel.wave, mask),) for mask in self._classes.get(panel.wave, ()) if mask != full[panel.wave]
        )
        known.update(dict.fromkeys(own & known.keys(), known.total()))
        known[()] += 3 * known.total()
        chosen = known.most_common(max(1, most // self._atoms - self._varying))
        self.layers = {layer: 2 << place for place, (layer, _) in enumerate(chosen)}
        self._nested = _Nested.of((*self.layers,))
        self._full = {**full, KIND: (2 << len(self.layers)) - 1}
        self._units = {box: count for box, count in units.items() if self._looked_at(box)}
        self._hidden = [box for box in hidden if self._looked_at(box)]
        self._limits = {box: count for box, count in limits.items() if self._looked_at(box)}

    @property
    def size(self) -> int:
        """How many joint codes there are: those of records, and those of each layer's units."""
        return (self._varying + len(self.layers)) * self._atoms

    def _looked_at(self, box: Box) -> bool:
        return self._layer(box) in self.layers

    def _layer(self, box: Box) -> Box:
        return self._parts[box][1]

    def scope(self) -> Scope:
        """All that is known, with what links records and units."""
        records, hidden = self._boxes.within(self._domain), self._boxes.secrets_within(self._domain)
        published: dict[Box, float] = {_of_kind(box, RECORDS_KIND): count for box, count in records.items()}
        published |= {self._of_units(box): count for box, count in self._units.items()}
        secrets = [_of_kind(box, RECORDS_KIND) for box in hidden]
        secrets += dict.fromkeys(self._of_units(box) for box in self._hidden)
        limits = {self._of_units(box): most for box, most in self._limits.items()}
        far = 4.0 * max([*published.values(), *limits.values(), 25.0])
        combined = [*self._links(far), *self._shares()]
        return Scope(self._domain | {KIND}, self._full, published, secrets, limits, combined)

    def _shares(self) -> Iterator[CombinedSum]:
        """What figures that are rounded tell of several boxes of records."""
        for one in self._boxes.combined_within(self._domain):
            if one.rounded:
                parts = tuple((_of_kind(box, RECORDS_KIND), factor) for box, factor in one.parts)
                yield replace(one, parts=parts)

    def _of_units(self, box: Box) -> Box:
        fixed, layer = self._parts[box]
        return _of_kind(fixed, self.layers[layer])

    def _links(self, far: float) -> Iterator[CombinedSum]:
        """What links records and units, for each joint code of what does not vary within a unit."""
        known, number = [*self._inequalities()], 0
        halves = [
            0.0 if equal else far * sum(factor for _, factor in terms if factor > 0) / 2
            for terms, equal in known
        ]
        # Each part is in many of them.
        named = {part for terms, _ in known for part, _ in terms}
        for codes in product(*self._fixed.values()):
            pairs = zip(self._fixed, codes, strict=True)
            atom = [(name, code) for name, code in pairs if code != self._full[name]]
            of_atom = {part: tuple(sorted((*atom, *part))) for part in named}
            for (terms, _), half in zip(known, halves, strict=True):
                number += 1
                parts = tuple([(of_atom[part], factor) for part, factor in terms])
                yield CombinedSum(((LINK, number),), parts, half, half, rounded=True)

    def _inequalities(self) -> Iterator[tuple[list[tuple[Box, float]], bool]]:
        """Sums that are not negative, as boxes with factors; and whether they are nothing."""
        within = {layer: self._nested.inside(layer) for layer in self.layers}
        for layer, kind in self.layers.items():
            units, records = ((KIND, kind),), (*layer, (KIND, RECORDS_KIND))
            most = self._panel.most(layer, self._full)
            yield [(records, 1.0), (units, -1.0)], most == 1
            if most > 1:
                yield [(units, float(most)), (records, -1.0)], False
            for wave in self._waves(layer):
                # Whoever is there has no more records in some waves than there are waves.
                there = tuple(sorted((*dict([*layer, *wave]).items(), (KIND, RECORDS_KIND))))
                yield [(units, float(self._panel.most(wave, self._full))), (there, -1.0)], False
            for smaller in self._nested.largest(within[layer]):
                yield from self._of_smaller(layer, smaller)
            yield from ((terms, False) for terms in self._of_two(layer, within[layer]))
            for parts in self._divided(layer, within[layer]):
                yield [*((((KIND, self.layers[part]),), 1.0) for part in parts), (units, -1.0)], False

    def _waves(self, layer: Box) -> Iterator[Box]:
        """Waves that a layer goes beyond, or parts of some, as boxes tell them apart."""
        wave = self._panel.wave
        own = dict(layer).get(wave, self._full.get(wave, 0))
        return (((wave, mask),) for mask in self._classes.get(wave, ()) if mask & own == mask != own)

    def _of_smaller(self, layer: Box, smaller: Box) -> Iterator[tuple[list[tuple[Box, float]], bool]]:
        """What a layer's units and records have to do with those of one within it."""
        units, fewer = ((KIND, self.layers[layer]),), ((KIND, self.layers[smaller]),)
        all_, some = (*layer, (KIND, RECORDS_KIND)), (*smaller, (KIND, RECORDS_KIND))
        yield [(units, 1.0), (fewer, -1.0)], False
        # Whoever is in the larger one alone has a record there.
        yield [(all_, 1.0), (some, -1.0), (units, -1.0), (fewer, 1.0)], False

    def _of_two(self, layer: Box, smaller: Sequence[Box]) -> Iterator[list[tuple[Box, float]]]:
        """What two layers have to do with each other that are a larger one together."""
        units, most = ((KIND, self.layers[layer]),), self._panel.most(layer, self._full)
        for name in sorted(self._domain & self._panel.varying):
            whole = dict(layer).get(name, self._full[name])
            own = [(dict(one)[name], one) for one in smaller if _only_by(name, one, dict(layer))]
            for (mask, one), (other, two) in combinations(own, 2):
                if mask | other != whole:
                    continue
                first, second = ((KIND, self.layers[one]),), ((KIND, self.layers[two]),)
                common = intersection(one, two)
                if mask & other and common in self.layers:
                    both = ((KIND, self.layers[common]),)
                    yield [(first, 1.0), (second, 1.0), (units, -1.0), (both, -1.0)]
                for part, mine, theirs in ((one, first, second), (two, second, first)):
                    # Whoever is in both has one record less than he could have in either.
                    if not mask & other and most > 1 and self._panel.most(part, self._full) == most:
                        there = (*part, (KIND, RECORDS_KIND))
                        yield [(mine, most - 1.0), (theirs, -1.0), (units, 1.0), (there, -1.0)]

    def _divided(self, layer: Box, smaller: Sequence[Box]) -> Iterator[list[Box]]:
        """Smaller layers that are a larger one together, as codes of one variable divide it."""
        whole = dict(layer)
        for name in sorted(self._domain & self._panel.varying):
            mask = whole.get(name, self._full[name])
            own = [one for one in smaller if _only_by(name, one, whole)]
            for parts in (self._nested.smallest(own), self._nested.largest(own)):
                covered = 0
                for part in parts:
                    covered |= dict(part)[name]
                if covered == mask:
                    yield parts


def without_kind(box: Box) -> tuple[Box, bool]:
    """A box that was told, without its kind; and whether it is of records."""
    return tuple(pair for pair in box if pair[0] != KIND), dict(box)[KIND] == RECORDS_KIND


def without_link(box: Box) -> Box:
    """A box by which something is named, without the number of what it names."""
    return tuple(pair for pair in box if pair[0] != LINK)


def is_link(box: Box) -> bool:
    """Whether a box names what links kinds."""
    return any(name == LINK for name, _ in box)


def _of_kind(box: Box, kind: int) -> Box:
    return tuple(sorted((*box, (KIND, kind))))


def _only_by(name: str, one: Box, whole: Mapping[str, int]) -> bool:
    """Whether a layer lies in another one by no other variable."""
    others = {other: mask for other, mask in one if other != name}
    return name in dict(one) and others == {other: mask for other, mask in whole.items() if other != name}
