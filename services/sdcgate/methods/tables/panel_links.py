"""What links records and units of a panel, and units of its layers: inequalities as sums with factors.

For each joint code of what does not vary within a unit it is known of the units that have a record in a
layer, such as one year or all years:

- a layer has no more units than a larger one, and than the layers together into which it is divided;
- it has no more units than records, and no more records than each unit can have there: one in each wave.

That is exact where layers are waves and all waves; of others that lie across each other a little less is said
than is true of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations, permutations, product
from operator import or_

from sdcgate.methods.tables.boxes import Box, intersection, is_inside
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_boxes import Variables

KEPT = 32
"""Systems of which the links are remembered."""
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
        fixed, layer = list[tuple[str, int]](), list[tuple[str, int]]()
        for pair in box:
            (layer if pair[0] in self.varying else fixed).append(pair)
        return tuple(fixed), tuple(layer)

    def most(self, layer: Box, full: Mapping[str, int]) -> int:
        """How many records each unit of a layer has in it at most."""
        if not self.wave or self.wave not in full:
            return self.most_records
        return min(self.most_records, dict(layer).get(self.wave, full[self.wave]).bit_count())


Codes = tuple[tuple[str, tuple[int, ...]], ...]
"""Variables, each with masks that are apart from each other."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of a panel, and by which codes of other variables each is looked at."""

    panel: Panel
    layers: tuple[Box, ...]
    """In the order of their kinds."""
    fixed: Codes
    """Variables that do not vary within a unit, with the codes that boxes tell apart."""
    varying: Variables
    """Those that do."""
    waves: tuple[int, ...]
    """The codes of the wave that boxes tell apart."""
    full: tuple[tuple[str, int], ...]
    """Full mask of every variable."""


def kinds(layers: Iterable[Box]) -> dict[Box, int]:
    """Each of some layers with its mask of `KIND`, in their order."""
    return {layer: 2 << place for place, layer in enumerate(layers)}


@lru_cache(maxsize=KEPT)
def links(of: Layers, far: float) -> tuple[CombinedSum, ...]:
    """What links records and units, for each joint code of what does not vary within a unit.

    One table's turns and doubts ask for the same ones. Nothing is known to be more than `far`.
    """
    return tuple(_Links(of).everywhere(far))


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
    def of(cls, layers: tuple[Box, ...]) -> "_Nested":
        """As the layers' descriptions say."""
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


class _Links:
    def __init__(self, of: Layers) -> None:
        self._panel, self.layers, self._waves_apart = of.panel, kinds(of.layers), of.waves
        self._nested, self._fixed = _Nested.of(of.layers), dict(of.fixed)
        self._varying, self._full = sorted(of.varying), dict(of.full)

    def everywhere(self, far: float) -> Iterator[CombinedSum]:
        """For each joint code of what does not vary within a unit."""
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
        return (((wave, mask),) for mask in self._waves_apart if mask & own == mask != own)

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
        for name in self._varying:
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
        for name in self._varying:
            mask = whole.get(name, self._full[name])
            own = [one for one in smaller if _only_by(name, one, whole)]
            for parts in (self._nested.smallest(own), self._nested.largest(own)):
                covered = 0
                for part in parts:
                    covered |= dict(part)[name]
                if covered == mask:
                    yield parts


def without_link(box: Box) -> Box:
    """A box by which something is named, without the number of what it names."""
    return tuple(pair for pair in box if pair[0] != LINK)


def is_link(box: Box) -> bool:
    """Whether a box names what links kinds."""
    return any(name == LINK for name, _ in box)


def of_kind(box: Box, kind: int) -> Box:
    """A box with its kind."""
    return tuple(sorted((*box, (KIND, kind))))


def _only_by(name: str, one: Box, whole: Mapping[str, int]) -> bool:
    """Whether a layer lies in another one by no other variable."""
    others = {other: mask for other, mask in one if other != name}
    return name in dict(one) and others == {other: mask for other, mask in whole.items() if other != name}
