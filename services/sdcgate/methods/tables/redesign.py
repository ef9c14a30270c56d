"""The least coarsening of a table that passes: a search over partitions of the codes of its dimensions.

Redesign joins categories of an unsafe table until what is shown is safe (Skinner, Statistical Disclosure
Control for Survey Data, 2009, 2.3.1, after Willenborg and de Waal, 2001). A design has a partition
of the finest codes of each dimension: a registered level, adjacent categories of one parent joined, or one
group, which is the dimension dropped. What it costs is entropy (Shlomo, Accessing Microdata via the
Internet, 2003, IV). Joining never adds entropy, so designs are taken up by entropy, the finest first and each
one's coarser neighbours after it, as recodings of a file are; the first that pass are the best.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import prod

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

Partition = tuple[int, ...]
"""The group of each finest code of a dimension, numbered in the order in which they first occur."""
Design = tuple[Partition, ...]
"""One partition a dimension."""

DIGITS = 12
"""Decimal places to which entropies are compared: rounding must not put a coarser design before a finer."""
MOST_DESIGNS = 20_000
"""Designs that are taken up before a search gives up."""


def partition(groups: Sequence[int] | IntArray) -> Partition:
    """Groups of codes, numbered in the order in which they first occur."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(int(group), len(numbers)) for group in groups)


def refines(finer: Partition, coarser: Partition) -> bool:
    """Whether each group of the one lies in a group of the other; a partition refines itself."""
    return len(set(zip(finer, coarser, strict=True))) == len(set(finer))


@dataclass(frozen=True, slots=True)
class Ladder:
    """How a dimension may be coarsened.

    Raises ValueError where the first level is not the finest.
    """

    levels: tuple[Partition, ...]
    """Its levels; in the first each code is a group. Of others one need not be nested in the other."""
    mergeable: bool = False
    """Whether adjacent categories may be joined where a next coarser level, if there is one, joins them."""
    droppable: bool = True
    """Whether the table may do without the dimension."""
    apart: frozenset[int] = frozenset()
    """Codes that are not joined with a neighbour: the missing one."""

    def __post_init__(self) -> None:
        if not self.levels or self.levels[0] != tuple(range(len(self.levels[0]))):
            raise ValueError("levels: the first must have each code as a group")

    @property
    def dropped(self) -> Partition:
        """All codes in one group."""
        return (0,) * len(self.levels[0])

    def coarser(self, here: Partition) -> Iterator[Partition]:
        """The next steps from a partition: the next levels, two neighbours joined, the dimension dropped."""
        above = [level for level in self.levels if refines(here, level) and level != here]
        nearest = [level for level in above if not any(refines(one, level) for one in above if one != level)]
        found = [*nearest]
        if self.mergeable:
            found += [step for parents in nearest or [self.dropped] for step in self._joined(here, parents)]
        yield from (step for step in found if self.droppable or step != self.dropped)
        if self.droppable and here != self.dropped:
            yield self.dropped

    def _joined(self, here: Partition, parents: Partition) -> Iterator[Partition]:
        """Each pair of adjacent groups of one parent as one group."""
        last: dict[int, int] = {}
        apart = {here[code] for code in self.apart}
        # Groups are numbered in the order of their first codes, which is the order along the dimension.
        for group in range(max(here) + 1):
            if group in apart:
                continue
            parent = parents[here.index(group)]
            if parent in last:
                yield partition([last[parent] if one == group else one for one in here])
            last[parent] = group


@dataclass(frozen=True, slots=True)
class Redesigned:
    """A design that passes."""

    design: Design
    entropy: float
    """Of the distribution over its cells, in bits."""
    loss: float
    """Entropy that is lost, as a share of the finest design's."""


@dataclass(frozen=True, slots=True)
class Redesign:
    """What a search found."""

    designs: tuple[Redesigned, ...]
    """Those that pass, the least loss first; none is a coarsening of another."""
    judged: int
    """Designs that were judged."""
    finished: bool
    """Whether no design of less loss can be missing."""


def search_designs(
    ladders: Sequence[Ladder],
    entropy: Callable[[Design], float],
    passes: Callable[[Design], bool],
    wanted: int = 3,
    hopeless: Callable[[Design], bool] | None = None,
    over: Callable[[], bool] | None = None,
    most: int = MOST_DESIGNS,
) -> Redesign:
    """Search the designs of least loss of entropy that pass, of which none is a coarsening of another.

    `entropy` must not grow from a design to a coarser one. `passes` is asked of as few designs as possible;
    it may hold for any of them, as a coarsening need not pass each rule that a design passes. `hopeless`, if
    given, is quick, and says of a design that neither it nor any finer one passes: what is joined to a cell
    below a threshold on units lies below it, too. It is asked of each partition by itself first. The search
    gives up after `most` designs, and once `over` says so.

    Raises ValueError where less than one design is wanted.
    """
    if wanted < 1:
        raise ValueError("wanted: at least one design")
    search = _Search(ladders, entropy, hopeless)
    found: list[Redesigned] = []
    judged = taken = 0
    while (here := search.next()) is not None:
        if taken >= most or (over is not None and over()):
            return Redesign(tuple(found), judged, finished=False)
        taken += 1
        if any(coarsens(here, better.design) for better in found):
            continue
        if not search.is_hopeless(here):
            judged += 1
            if passes(here):
                found.append(search.redesigned(here))
                if len(found) == wanted:
                    break
                continue
        search.expand(here)
    return Redesign(tuple(found), judged, finished=True)


def coarsens(design: Design, finer: Design) -> bool:
    """Whether a design joins what another one shows; a design coarsens itself."""
    return all(refines(one, other) for one, other in zip(finer, design, strict=True))


class _Search:
    """Designs that wait, by entropy; of as much entropy those of more cells first."""

    def __init__(
        self,
        ladders: Sequence[Ladder],
        entropy: Callable[[Design], float],
        hopeless: Callable[[Design], bool] | None,
    ) -> None:
        self._ladders, self._entropy, self._hopeless = ladders, entropy, hopeless
        self._alone: dict[tuple[int, Partition], bool] = {}
        finest = tuple(ladder.levels[0] for ladder in ladders)
        self._most = entropy(finest)
        self._known: set[Design] = set()
        self._waiting: list[tuple[float, int, Design]] = []
        self._wait(finest)

    def next(self) -> Design | None:
        """The design of most entropy of those that wait."""
        return heappop(self._waiting)[2] if self._waiting else None

    def expand(self, design: Design) -> None:
        """Let the coarser neighbours of a design wait."""
        for place, ladder in enumerate(self._ladders):
            for step in ladder.coarser(design[place]):
                self._wait((*design[:place], step, *design[place + 1 :]))

    def is_hopeless(self, design: Design) -> bool:
        """Whether the design cannot pass, by one of its partitions alone or all together."""
        if self._hopeless is None:
            return False
        return any(self._is_alone_hopeless(place, one) for place, one in enumerate(design)) or self._hopeless(
            design
        )

    def redesigned(self, design: Design) -> Redesigned:
        """A design with what it costs."""
        entropy = self._entropy(design)
        return Redesigned(design, entropy, 1.0 - entropy / self._most if self._most > 0 else 0.0)

    def _is_alone_hopeless(self, place: int, one: Partition) -> bool:
        key = (place, one)
        if key not in self._alone and self._hopeless is not None:
            alone = [ladder.dropped for ladder in self._ladders]
            alone[place] = one
            self._alone[key] = self._hopeless(tuple(alone))
        return self._alone[key]

    def _wait(self, design: Design) -> None:
        if design not in self._known:
            self._known.add(design)
            cells = prod(max(one) + 1 for one in design)
            heappush(self._waiting, (-round(self._entropy(design), DIGITS), -cells, design))


@dataclass(frozen=True, slots=True, eq=False)
class CountEntropy:
    """The entropy of counts over the cells of a design, in bits; `counts` has an axis a dimension."""

    counts: FloatArray = field(repr=False)

    def __call__(self, design: Design) -> float:
        """The entropy of a design; 0 where nobody is counted."""
        cells = collapsed(self.counts, design).reshape(-1)
        shares = cells[cells > 0] / cells.sum() if cells.any() else cells[:0]
        return float(-(shares * np.log2(shares)).sum())


def code_entropy(design: Design) -> float:
    """The entropy of a design where all combinations of finest codes are as likely, in bits.

    It depends on code lists alone, and on nothing that anybody counted.
    """
    bits = 0.0
    for one in design:
        shares = np.bincount(one) / len(one)
        bits -= float((shares * np.log2(shares)).sum())
    return bits


def collapsed(values: FloatArray, design: Design, join: np.ufunc = np.add) -> FloatArray:
    """Values of the cells of a design, an axis a dimension: sums of the finest cells' unless `join` says."""
    for place, one in enumerate(design):
        groups = np.asarray(one)
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], np.arange(groups.max() + 1))
        values = join.reduceat(np.take(values, order, axis=place), starts, axis=place)
    return values
