"""Shares that were told of groups whose size nobody knows: of counts, or means of a measure.

That 20.8% of those who answered are ill tells nothing of how many these are. Together with a table that
shows how many answered it does, and also the other way round. Published counts and sums know nothing of it,
so it is known of both together: part and whole are in a proportion, up to its rounding.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import ceil, inf

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combined_sums import CombinedSum

TOLERANCE = 1e-9
"""By how much computing may be off, for a number's size."""
SHARE_OF = "share of "
"""With it begins the variable by which a box is the name of a share."""
FINE = 0.02
"""A mean that is told up to this share of it counts as told: policies want sums to be more uncertain."""
MOST, MOST_BESIDE_SUMS = 40, 30
"""So many shares that leave more than one number are looked at together, those of the smallest groups; beside
sums of a measure, and with its means, only where there are no more. Each is an equation by itself."""


def without_share(box: Box) -> Box:
    """The part of which a share was told, by the share's name; any other box itself."""
    return tuple(pair for pair in box if not pair[0].startswith(SHARE_OF))


@dataclass(frozen=True, slots=True)
class Share:
    """A share, or a mean, that was told."""

    part: Box
    """The box of which a share is told; of a mean its sum."""
    whole: Box
    """What it is a share of; of a mean the box itself, by the records that have the measure."""
    low: float
    """Rounding leaves values from here on."""
    high: float
    whole_records: int
    """What the whole has in truth."""

    @property
    def name(self) -> Box:
        """A name of its own, as a sum's."""
        return tuple(sorted((*self.part, (f"{SHARE_OF}{self.whole}", 1))))

    @property
    def middle(self) -> float:
        """The middle of the values that rounding leaves."""
        return (self.low + self.high) / 2.0

    @property
    def fine(self) -> bool:
        """Whether so little is lost by rounding that a known whole tells the part."""
        return bool(is_fine((self.high - self.low) / 2.0, abs(self.middle)))

    @property
    def room(self) -> float:
        """By how much the part may be off that share of the whole, as large as the whole is in truth."""
        return (self.high - self.low) / 2.0 * self.whole_records

    def told_too(self, other: "Share") -> "Share":
        """What two figures of the same tell of it; the closer one where rounding sets them apart."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            return min(self, other, key=lambda one: one.high - one.low)
        return replace(self, low=low, high=high)

    def of_counts(self, known: Mapping[Box, float]) -> CombinedSum:
        """The part less its share of the whole is nothing; where one of them is known, what the other is."""
        box, (low, high) = self.part, (0.0, inf)
        if self.whole in known:
            box, (low, high) = _other(self, self.whole, known[self.whole])
        elif self.part in known:
            box, (low, high) = _other(self, self.part, known[self.part])
        if high < inf:
            parts, total, room = ((box, 1.0),), (low + high) / 2.0, (high - low) / 2.0
            return CombinedSum(self.name, parts, total, room, rounded=True)
        two = ((self.part, 1.0), (self.whole, -self.middle))
        return CombinedSum(self.name, two, 0.0, self.room, rounded=True)

    def of_sums(self) -> CombinedSum:
        """What values are beyond the mean adds up to nothing."""
        return CombinedSum(self.name, ((self.part, 1.0),), 0.0, self.room, rounded=True, less=self.middle)


def is_fine(half: FloatArray | float, values: FloatArray | float) -> BoolArray | bool:
    """Whether a half of what rounding leaves is little beside values, none negative."""
    return half <= FINE * values


def of_the_smallest(shares: Iterable[Share], most: int) -> list[Share]:
    """So many shares at most: those of the smallest groups, of which rounding leaves least."""
    return sorted(shares, key=lambda share: share.whole_records)[:most]


def settled(published: Mapping[Box, float], shares: Iterable[Share]) -> tuple[dict[Box, int], list[Share]]:
    """Counts that shares tell of known ones, and the shares that say more.

    A count is told where only one whole number has that share of a known one, or only one has a known one as
    that share of it; it then tells others. Shares of which both counts are told say nothing more.

    Args:
        published: known counts.
        shares: shares of counts, each once.
    """
    # Of a table of counts with its percentages nearly all shares are of known ones.
    saying = [share for share in shares if not (share.part in published and share.whole in published)]
    if not saying:
        return {}, []
    having, told = defaultdict[Box, list[Share]](list), dict[Box, int]()
    for share in saying:
        having[share.part].append(share)
        having[share.whole].append(share)
        if share.high == 0.0 and share.part not in published:
            told[share.part] = 0
    known = {**published, **told}
    waiting = [box for box in having if box in known]
    while waiting:
        box = waiting.pop()
        for share in having[box]:
            other, (low, high) = _other(share, box, known[box])
            least, most = ceil(low * (1.0 - TOLERANCE) - TOLERANCE), high * (1.0 + TOLERANCE) + TOLERANCE
            if other not in known and least <= most < least + 1:
                known[other] = told[other] = least
                waiting.append(other)
    left = [share for share in saying if not (share.part in known and share.whole in known)]
    return told, left


def _other(share: Share, box: Box, count: float) -> tuple[Box, tuple[float, float]]:
    """The other box of a share, and between what its count lies."""
    if box == share.whole:
        return share.part, (share.low * count, share.high * count)
    return share.whole, (count / share.high if share.high else 0.0, count / share.low if share.low else inf)
