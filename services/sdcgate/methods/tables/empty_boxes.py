"""Boxes in which nobody can be, as boxes that were published to be empty cover them, be it together.

Adding and subtracting does not find them: it is as counts are not negative that nothing has no parts. Linear
programs do, within the variables that they look at. Here it is found over any variables, box by box: the box
is cut along one variable into parts, and these along others, until an empty box contains each part or none
meets one of them, as it is found out whether clauses leave a point (splitting: Davis, Logemann and Loveland,
Communications of the ACM 5, 1962).
"""

from collections.abc import Container, ItemsView, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from sdcgate.methods.tables.boxes import NOBODY, Box, divided

MOST_PARTS = 2_000
"""Parts of one box that are looked at; of ordinary boxes it takes a few dozen."""


class CoverUndecided(Exception):
    """Whether boxes cover another takes too many parts to tell."""


@dataclass(frozen=True, slots=True, eq=False)
class BoxIndex:
    """Boxes of which it is asked which of them meet another; never changed, `grown` gives another.

    Some of them are told as flags: the bit of each is its place.
    """

    boxes: tuple[Box, ...] = ()
    _having: Mapping[str, Mapping[int, int]] = field(default_factory=dict, repr=False)
    """Those that have a mask on a variable."""
    _outside: dict[Box, Box] = field(default_factory=dict, repr=False)
    """Of boxes that were not covered a part that none met; it grows, and what is grown from these has it."""
    _covered: dict[Box, bool] = field(default_factory=dict, init=False, repr=False)
    """What was found of whether all of them cover a box."""

    def grown(self, boxes: Iterable[Box]) -> "BoxIndex":
        """With more boxes, each once; nobody's box is none."""
        known = {*self.boxes, NOBODY}
        more = [box for box in dict.fromkeys(boxes) if box not in known]
        if not more:
            return self
        having = {name: dict(those) for name, those in self._having.items()}
        for place, box in enumerate(more, len(self.boxes)):
            for name, mask in box:
                those = having.setdefault(name, {})
                those[mask] = those.get(mask, 0) | 1 << place
        return BoxIndex((*self.boxes, *more), having, self._outside)

    @property
    def everything(self) -> int:
        """All of them."""
        return (1 << len(self.boxes)) - 1

    def flags(self, boxes: Container[Box]) -> int:
        """Those that are among some boxes."""
        return sum(1 << place for place, box in enumerate(self.boxes) if box in boxes)

    def chosen(self, flags: int) -> list[Box]:
        """Some of them."""
        return [box for place, box in enumerate(self.boxes) if flags >> place & 1]

    def meeting(self, box: Box, among: int | None = None) -> int:
        """Those, of some, that have codes in common with a box on every variable."""
        left = self.everything if among is None else among
        for name, mask in box:
            left &= ~_union(those for own, those in self._on(name) if not own & mask)
        return left

    def covering(self, box: Box, full: Mapping[str, int], among: int | None = None, rather: int = 0) -> int:
        """Some boxes that contain all of a box, together; none where they do not.

        Args:
            box: the box; somebody could be in it.
            full: full mask of every variable.
            among: those that are looked at; all unless given.
            rather: those that are taken where there is a choice.

        Raises:
            CoverUndecided: it takes too many parts to tell.
        """
        if (part := self._outside.get(box)) is not None and self._leaves(part, box, full, among):
            return 0
        search = _Splitting(self, full, rather)
        found = search.covering(dict(box), self.meeting(box, among))
        if found is None:
            self._outside[box] = search.outside
        return found or 0

    def _leaves(self, part: Box, box: Box, full: Mapping[str, int], among: int | None) -> bool:
        """Whether boxes do not contain all of a part of a box: what few have come to since is soon seen."""
        search = _Splitting(self, full)
        try:
            left = search.covering(dict(part), self.meeting(part, among)) is None
        except CoverUndecided:
            return False
        if left:
            self._outside[box] = search.outside
        return left

    def covers(self, box: Box, full: Mapping[str, int]) -> bool:
        """Whether boxes contain all of a box, together; not where it takes too many parts to tell."""
        if box not in self._covered:
            try:
                self._covered[box] = self.covering(box, full) > 0
            except CoverUndecided:
                self._covered[box] = False
        return self._covered[box]

    def cutting(self, region: Mapping[str, int], full: Mapping[str, int], among: int) -> dict[str, int]:
        """Those, of some, that do not have all codes of a region on a variable, by these variables."""
        found: dict[str, int] = {}
        for name in self._having:
            mask = region.get(name, full[name])
            if cut := among & _union(those for own, those in self._on(name) if mask & ~own):
                found[name] = cut
        return found

    def masks(self, name: str, among: int) -> list[int]:
        """The masks of some of them on a variable, in order."""
        return sorted(mask for mask, those in self._on(name) if those & among)

    def _on(self, name: str) -> ItemsView[int, int]:
        """The masks on a variable, and which of them have each."""
        return self._having.get(name, {}).items()


@dataclass(slots=True)
class _Splitting:
    """The search for boxes that contain a region."""

    index: BoxIndex
    full: Mapping[str, int]
    rather: int = 0
    parts: int = 0
    outside: Box = ()
    """A part that none meets, where there is one."""

    def covering(self, region: Mapping[str, int], meeting: int) -> int | None:
        """Boxes, of those meeting a region, that contain all of it together; None where they do not."""
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise CoverUndecided
        if not meeting:
            self.outside = tuple(sorted(region.items()))
            return None
        cutting = self.index.cutting(region, self.full, meeting)
        containing = meeting & ~_union(cutting.values())
        if containing:
            chosen = containing & self.rather or containing
            return chosen & -chosen
        name = max(cutting, key=lambda one: (cutting[one].bit_count(), one))
        whole = region.get(name, self.full[name])
        parts = divided(whole, self.index.masks(name, cutting[name]))
        # What few boxes meet is most likely what none contains.
        left = [(self.index.meeting(((name, part),), meeting), part) for part in parts]
        found = 0
        for those, part in sorted(left, key=lambda one: (one[0].bit_count(), one[1])):
            beside = self.covering({**region, name: part}, those)
            if beside is None:
                return None
            found |= beside
        return found


def _union(flags: Iterable[int]) -> int:
    return reduce(or_, flags, 0)
