"""Targeted record swapping: households at risk change places with like households of other areas.

Pre-tabular protection of a census: the file is changed once, and every table is counted from the changed
file. A household is at risk at a level of the geography where a member has a combination of the risk
variables that fewer than k persons of the area have. It is swapped with a like household outside that area;
then further households are swapped until the swap rate is reached.

Shlomo, Tudor and Groom, "Data swapping for protecting census tables", PSD 2010, LNCS 6344; documentation of
recordSwap in the R package sdcMicro, after the method that the ESSnet for the census of 2021 recommends.
Draws with unequal probabilities: Efraimidis and Spirakis, "Weighted random sampling with a reservoir",
Information Processing Letters 97, 2006.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.microdata.grouping import joint_codes, like_households

USUAL_RATE = 0.05
USUAL_K = 3
_ROOM = 1e-9
"""Rounding of rate times households that still counts as the whole number."""


@dataclass(frozen=True, slots=True, eq=False)
class PlacedRecords:
    """Records of households in a geography; codes count from 0, -1 is missing."""

    households: IntArray
    """Household of each record, 0 to H - 1, each with at least one record, shape (records,)."""
    areas: IntArray
    """Codes of the geography from the widest level to the finest, shape (records, levels), the same for all
    members of a household. A code counts within the area above it."""
    risk: IntArray
    """Codes of the risk variables, shape (records, variables); without variables nobody is at risk."""
    similar: tuple[IntArray, ...]
    """Similarity profiles in the order in which they are tried, each of shape (records, variables)."""


@dataclass(frozen=True, slots=True, eq=False)
class Swapping:
    """Who changed places. It undoes the protection: it must never leave with the changed file."""

    partners: IntArray = field(repr=False)
    """The household whose place each one has; itself where it has its own, shape (H,)."""
    at_risk: IntArray
    """The widest level at which each household is at risk, the number of levels where at none, (H,)."""
    swapped_at: IntArray = field(repr=False)
    """The level across which each was swapped, -1 where it was not, (H,)."""
    profiles: IntArray = field(repr=False)
    """The similarity profile that each was swapped by, -1 where it was not, (H,)."""


def swap_households(
    records: PlacedRecords,
    random: np.random.Generator,
    rate: float = USUAL_RATE,
    k: int = USUAL_K,
) -> Swapping:
    """Choose the households that change places.

    Levels are gone through from the widest to the finest. Households at risk at a level, and not swapped yet,
    are swapped with like households of another area of that level: by the first profile that has one, and
    those likelier whose risk is higher (1 over the smallest count of a member). At the finest level
    further pairs are drawn likewise until `rate` times the number of households are swapped, spread over
    its areas by the households that each still lacks. Those at risk are swapped even where they are more than
    the rate; who has no like household elsewhere stays. Without risk variables this is random swapping.

    Raises ValueError where shapes, codes, `rate` (0 to 1) or `k` (0 or more) are wrong, and with the number
    of households whose members are in several areas.
    """
    _check(records, rate, k)
    levels = records.areas.shape[1]
    households = int(records.households.max()) + 1
    areas = _areas(records, households)
    counts = _smallest_counts(records, households)
    # Who is at risk in an area is so in every part of it: the number of such levels tells the widest.
    at_risk = levels - (counts < k).sum(axis=1) * bool(records.risk.shape[1])
    draw = _Draw(areas, [like_households(records.households, one) for one in records.similar])
    waits = np.empty(households)
    for level in range(levels):
        # The smallest of exponential waits with rates p are drawn without replacement in proportion to p.
        waits = random.exponential(size=households) * counts[:, level]
        draw.at(level, waits)
        risky = np.flatnonzero(at_risk <= level)
        for household in risky[np.argsort(waits[risky])].tolist():
            draw.swap(household)
    _fill(draw, areas[:, -1], waits, rate, random)
    return Swapping(
        partners=np.array(draw.partners, dtype=np.int64),
        at_risk=at_risk.astype(np.int64),
        swapped_at=np.array(draw.levels, dtype=np.int64),
        profiles=np.array(draw.profiles, dtype=np.int64),
    )


def members_places(records: PlacedRecords, partners: IntArray) -> IntArray:
    """The record whose geography each record gets, shape (records,); its own where it was not swapped."""
    first = np.unique(records.households, return_index=True)[1]
    own = np.arange(len(records.households))
    moved = partners[records.households] != records.households
    places: IntArray = np.where(moved, first[partners[records.households]], own).astype(np.int64)
    return places


class _Draw:
    """Households that may still be swapped, and draws of partners among them."""

    def __init__(self, areas: IntArray, alike: Sequence[IntArray]) -> None:
        households = len(areas)
        self._areas = areas
        self._alike = alike
        self._queues: list[_Queues | None] = []
        self._level, self._waits = 0, np.zeros(households)
        self.taken = bytearray(households)
        self.partners = list(range(households))
        self.levels = [-1] * households
        self.profiles = [-1] * households

    def at(self, level: int, waits: FloatArray) -> None:
        """Swap across this level from here on; of like households the one that waits least comes first."""
        self._level, self._waits = level, waits
        self._queues = [None] * len(self._alike)

    def swap(self, household: int) -> bool:
        """Swap a household with a like one of another area; whether it was free and there was one."""
        if self.taken[household]:
            return False
        for profile, alike in enumerate(self._alike):
            queues = self._queues[profile]
            if queues is None:
                queues = _Queues(alike, self._areas[:, self._level], self._waits, self.taken)
                self._queues[profile] = queues
            other = queues.first_elsewhere(household)
            if other >= 0:
                for one, partner in ((household, other), (other, household)):
                    self.taken[one] = 1
                    self.partners[one] = partner
                    self.levels[one] = self._level
                    self.profiles[one] = profile
                return True
        return False


class _Queues:
    """Households that are alike, in a queue an area, by the time that each waits."""

    def __init__(self, alike: IntArray, area: IntArray, waits: FloatArray, taken: bytearray) -> None:
        free = np.flatnonzero(np.frombuffer(taken, dtype=np.uint8) == 0)
        order = free[np.lexsort((waits[free], area[free], alike[free]))]
        kinds, places = alike[order], area[order]
        begins = np.ones(len(order), dtype=np.bool_)
        begins[1:] = (kinds[1:] != kinds[:-1]) | (places[1:] != places[:-1])
        heads = np.flatnonzero(begins)
        self._order, self._waits = order.tolist(), waits[order].tolist()
        self._next, self._ends = heads.tolist(), np.append(heads[1:], len(order)).tolist()
        self._place = places[heads].tolist()
        of_kind = kinds[heads]
        self._first = np.searchsorted(of_kind, np.arange(int(alike.max()) + 2)).tolist()
        self._alike, self._area = alike, area
        self._heaps: dict[int, list[tuple[float, int]]] = {}
        self._taken = taken

    def first_elsewhere(self, household: int) -> int:
        """The like household of another area that waits least, -1 where there is none."""
        kind, own = int(self._alike[household]), int(self._area[household])
        heap = self._heaps.get(kind)
        if heap is None:
            queues = range(self._first[kind], self._first[kind + 1])
            heap = [(self._waits[self._next[queue]], queue) for queue in queues]
            heapify(heap)
            self._heaps[kind] = heap
        aside: tuple[float, int] | None = None
        found = -1
        while heap:
            queue = heap[0][1]
            candidate = self._order[self._next[queue]]
            if self._taken[candidate]:
                self._advance(heap, queue)
            elif self._place[queue] == own:
                aside = heappop(heap)
            else:
                found = candidate
                break
        if aside is not None:
            heappush(heap, aside)
        return found

    def _advance(self, heap: list[tuple[float, int]], queue: int) -> None:
        """Let the next of the queue at the top of the heap come forward."""
        self._next[queue] += 1
        if self._next[queue] < self._ends[queue]:
            heapreplace(heap, (self._waits[self._next[queue]], queue))
        else:
            heappop(heap)


def _fill(draw: _Draw, area: IntArray, waits: FloatArray, rate: float, random: np.random.Generator) -> None:
    """Swap further pairs across the finest level until the rate is reached: first where most are lacking."""
    taken = np.frombuffer(bytes(draw.taken), dtype=np.uint8) > 0
    pairs = int((rate * len(area) - taken.sum()) / 2 + _ROOM)
    if pairs <= 0:
        return
    sizes = np.bincount(area)
    lacking = np.maximum(rate * sizes - np.bincount(area[taken], minlength=len(sizes)), 0.0)
    # Where an area finds no partners for its quota, the rest may come from anywhere.
    for quota in (_quotas(lacking, pairs, random), np.full(len(sizes), pairs)):
        left = quota.tolist()
        for household in np.argsort(waits).tolist():
            if pairs == 0:
                return
            if left[area[household]] and draw.swap(household):
                left[area[household]] -= 1
                pairs -= 1


def _quotas(lacking: FloatArray, pairs: int, random: np.random.Generator) -> IntArray:
    """So many pairs spread over areas in proportion to what they lack, rounded at random to that sum."""
    ends = np.cumsum(lacking)
    points = (np.arange(pairs) + random.random()) * (ends[-1] / pairs)
    areas = np.minimum(np.searchsorted(ends, points, side="right"), len(ends) - 1)
    return np.bincount(areas, minlength=len(ends)).astype(np.int64)


def _areas(records: PlacedRecords, households: int) -> IntArray:
    """The area of each household at each level, shape (H, levels)."""
    first = np.unique(records.households, return_index=True)[1]
    own = records.areas[first]
    elsewhere = (records.areas != own[records.households]).any(axis=1)
    if elsewhere.any():
        several = len(np.unique(records.households[elsewhere]))
        raise ValueError(f"{several} households are in several areas: each must be in one")
    levels = records.areas.shape[1]
    areas = np.empty((households, levels), dtype=np.int64)
    for level in range(levels):
        areas[:, level] = joint_codes(own[:, : level + 1])
    return areas


def _smallest_counts(records: PlacedRecords, households: int) -> FloatArray:
    """Of each household and level the fewest persons of the area that a member shares all risk values with.

    Shape (H, levels); 1 over it is the household's risk. Without risk variables all have 1.
    """
    levels = records.areas.shape[1]
    if not records.risk.shape[1]:
        return np.ones((households, levels))
    smallest = np.full((households, levels), np.inf)
    kinds = joint_codes(records.risk)[:, None]
    for level in range(levels):
        codes = joint_codes(np.hstack([records.areas[:, : level + 1], kinds]))
        counts = np.bincount(codes)[codes].astype(np.float64)
        np.minimum.at(smallest[:, level], records.households, counts)
    return smallest


def _check(records: PlacedRecords, rate: float, k: int) -> None:
    number = len(records.households)
    if number == 0:
        raise ValueError("there must be at least one record")
    if np.bincount(np.maximum(records.households, 0)).min() == 0 or records.households.min() < 0:
        raise ValueError("households must be numbered from 0 without gaps")
    for name, codes in (
        ("areas", records.areas),
        ("risk", records.risk),
        *((f"similar[{place}]", one) for place, one in enumerate(records.similar)),
    ):
        if codes.ndim != 2 or len(codes) != number:
            raise ValueError(f"{name} must have the shape (records, variables), not {codes.shape}")
        if codes.min(initial=0) < -1:
            raise ValueError(f"{name}: codes must be -1 (missing) or from 0 upwards")
    if not records.areas.shape[1]:
        raise ValueError("areas must have at least one level")
    if not records.similar:
        raise ValueError("similar must have at least one profile; one without variables compares sizes alone")
    if not 0.0 <= rate <= 1.0:
        raise ValueError("rate is a share of the households: 0.05 for 5%")
    if k < 0:
        raise ValueError("k must be 0 or more")
