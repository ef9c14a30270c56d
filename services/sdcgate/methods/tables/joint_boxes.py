"""All boxes of one quantity that have left or were withheld, by the variables that they restrict.

Records add up over any boxes; units do where no unit has records in several of them. Boxes of variables that
vary within a unit are left out where units are looked at.

A box may have left by its records and not by its units, and what a share or a mean tells of a count it tells
perhaps: that is reckoned with as known, and counts as news once it is shown.

A joint audit is about some variables: it takes every box that restricts no others, whatever table it was in.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.combined_sums import CombinedSum, variables_together
from sdcgate.methods.tables.told_shares import MOST, Share, of_the_smallest, settled

Variables = frozenset[str]
Masks = Mapping[str, frozenset[int]]
RECORDS, UNITS = 1, 2
"""What may be told of a box, as flags; of a measure the first stands for its sum."""
SURELY = 2
"""By so many bits the flags of what is told for sure are shifted."""
PERHAPS = RECORDS | UNITS
EVERYTHING = PERHAPS | PERHAPS << SURELY
_NAME: Callable[[tuple[str, int]], str] = itemgetter(0)


class Counts(NamedTuple):
    """What a box has, and what is told of it."""

    records: int
    units: int
    told: int = EVERYTHING

    def with_more(self, earlier: "Counts | None") -> "Counts":
        """With what was told earlier."""
        return self if earlier is None else self._replace(told=self.told | earlier.told)


@dataclass(frozen=True, eq=False)
class Shown:
    """Published boxes that restrict the same variables."""

    counts: Mapping[Box, Counts] = field(default_factory=dict, repr=False)
    _parted: dict[Variables, "Parted"] = field(default_factory=dict, init=False, repr=False)

    def parted(self, names: Variables) -> "Parted":
        """The boxes by what they restrict of other variables: what they do of these, with their counts."""
        if names not in self._parted:
            found: dict[Box, list[tuple[Box, Counts]]] = {}
            for box, counts in self.counts.items():
                rest = tuple(pair for pair in box if pair[0] not in names)
                part = tuple(pair for pair in box if pair[0] in names)
                found.setdefault(rest, []).append((part, counts))
            self._parted[names] = found
        return self._parted[names]

    @cached_property
    def records(self) -> Mapping[Box, int]:
        """The records of those of which they are told."""
        return {box: counts.records for box, counts in self.counts.items() if counts.told & RECORDS}

    @cached_property
    def units(self) -> Mapping[Box, int]:
        """The same of units."""
        return {box: counts.units for box, counts in self.counts.items() if counts.told & UNITS}


Parted = Mapping[Box, Sequence[tuple[Box, Counts]]]
NOTHING_SHOWN = Shown()


@dataclass(frozen=True, eq=False)
class Hidden:
    """Withheld boxes that restrict the same variables."""

    boxes: Mapping[Box, None] = field(default_factory=dict, repr=False)
    shown: Shown = field(default=NOTHING_SHOWN, repr=False)
    """Published ones that restrict these."""

    @cached_property
    def of_records(self) -> list[Box]:
        """Those whose records, or sum, never left."""
        return [box for box in self.boxes if box not in self.shown.records]

    @cached_property
    def of_units(self) -> list[Box]:
        """Those whose units never left."""
        return [box for box in self.boxes if box not in self.shown.units]


NOTHING_HIDDEN = Hidden()


@dataclass(frozen=True, slots=True, eq=False)
class JointBoxes:
    """Published boxes with their counts, and withheld ones; never changed, `grown` gives another."""

    published: Mapping[Variables, Shown] = field(default_factory=dict, repr=False)
    secret: Mapping[Variables, Hidden] = field(default_factory=dict, repr=False)
    """Withheld boxes; those that are published too are not secret, and `secrets_within` leaves them out."""
    masks: Mapping[Variables, Masks] = field(default_factory=dict, repr=False)
    """The masks on each variable, of all boxes that restrict the same variables."""
    limits: Mapping[Box, int] = field(default_factory=dict, repr=False)
    """Boxes of which it is known that they have so many units at most."""
    combined: Mapping[Box, CombinedSum] = field(default_factory=dict, repr=False)
    """What is known of the records of several boxes together, by what told it."""
    shares: Mapping[Variables, Mapping[tuple[Box, Box], Share]] = field(default_factory=dict, repr=False)
    """Shares that were told, and means, by all variables that their boxes restrict and by these boxes."""

    @property
    def variables(self) -> Variables:
        """All variables that any box restricts."""
        return frozenset[str]().union(*self.masks)

    def grown(self, published: Iterable[tuple[Box, Counts]], secret: Iterable[Box]) -> "JointBoxes":
        """With more boxes, those of which anything is told. That nobody is in nobody's box tells nothing."""
        left, kept, masks = dict(self.published), dict(self.secret), dict(self.masks)
        counts: dict[Variables, dict[Box, Counts]] = {}
        for box, count in published:
            if count.told:
                names = variables_of(box)
                shown = counts.setdefault(names, {})
                shown[box] = count.with_more(shown.get(box, self._shown(names).get(box)))
        withheld: dict[Variables, dict[Box, None]] = {}
        for box in secret:
            withheld.setdefault(variables_of(box), {})[box] = None
        for names, shown in counts.items():
            left[names] = Shown({**self._shown(names), **shown})
        for names in dict.fromkeys((*withheld, *counts)):
            if hidden := {**kept.get(names, NOTHING_HIDDEN).boxes, **withheld.get(names, {})}:
                kept[names] = Hidden(hidden, left.get(names, NOTHING_SHOWN))
            masks[names] = _with_masks(
                masks.get(names, {}), (*counts.get(names, ()), *withheld.get(names, ()))
            )
        return JointBoxes(left, kept, masks, self.limits, self.combined, self.shares)

    def _shown(self, names: Variables) -> Mapping[Box, Counts]:
        """The published boxes that restrict the same variables."""
        return self.published.get(names, NOTHING_SHOWN).counts

    def cut_by(self, others: Iterable[Masks]) -> "JointBoxes":
        """With more masks, by the variables that they stand together on: which codes boxes tell apart."""
        masks = dict(self.masks)
        for one in others:
            names = frozenset(one)
            mine = masks.get(names)
            masks[names] = one if mine is None else {name: mine[name] | those for name, those in one.items()}
        return replace(self, masks=masks)

    def limited(self, box: Box, units: int) -> "JointBoxes":
        """With a box that is known to have so many units at most."""
        names = variables_of(box)
        masks = {**self.masks, names: _with_masks(self.masks.get(names, {}), (box,))}
        limits = {**self.limits, box: min(units, self.limits.get(box, units))}
        return replace(self, masks=masks, limits=limits)

    def combining(self, sums: Iterable[CombinedSum]) -> "JointBoxes":
        """With more that is known of several boxes together."""
        more = {one.told_by: one for one in sums}
        if not more:
            return self
        boxes: dict[Variables, list[Box]] = {}
        for one in more.values():
            for box, _ in one.parts:
                boxes.setdefault(variables_of(box), []).append(box)
        return replace(self, masks=self._with_masks(boxes), combined={**self.combined, **more})

    def sharing(self, shares: Iterable[Share]) -> "JointBoxes":
        """With more shares that were told; of the same two boxes all that was told of them."""
        more: dict[Variables, dict[tuple[Box, Box], Share]] = {}
        boxes: dict[Variables, list[Box]] = {}
        for one in shares:
            names = variables_of(one.part), variables_of(one.whole)
            together, both = frozenset().union(*names), (one.part, one.whole)
            those = more.setdefault(together, {})
            earlier = those.get(both) or self.shares.get(together, {}).get(both)
            those[both] = one if earlier is None else earlier.told_too(one)
            for restricted, box in zip(names, (one.part, one.whole), strict=True):
                boxes.setdefault(restricted, []).append(box)
        if not more:
            return self
        grown = {names: {**self.shares.get(names, {}), **those} for names, those in more.items()}
        return replace(self, masks=self._with_masks(boxes), shares={**self.shares, **grown})

    def _with_masks(self, boxes: Mapping[Variables, Iterable[Box]]) -> Mapping[Variables, Masks]:
        """The masks with those of more boxes, by the variables that these restrict."""
        own = {names: _with_masks(self.masks.get(names, {}), those) for names, those in boxes.items()}
        return {**self.masks, **own}

    def with_shares(self, variables: Set[str], fresh: Set[Box]) -> "JointBoxes":
        """With counts that shares tell within some variables, and what else these tell as sums of boxes.

        What shares tell of counts that are fresh programs find.
        """
        shares = self.shares_within(variables)
        if not shares:
            return self
        counts = {box: records for box, records in self.within(variables).items() if box not in fresh}
        told, left = settled(counts, shares)
        more = [(box, self._told_records(box, records)) for box, records in told.items()]
        known, those = {**counts, **told}, of_the_smallest(left, MOST)
        return replace(self.grown(more, ()), shares={}).combining(one.of_counts(known) for one in those)

    def _told_records(self, box: Box, records: int) -> Counts:
        """A box with its records, and what was told of its units."""
        earlier = self.counts(box)
        return Counts(records, 0 if earlier is None else earlier.units, RECORDS)

    def withholding(self, boxes: Iterable[Box]) -> "JointBoxes":
        """With boxes as withheld and never published, whatever was noted of them."""
        hidden = dict.fromkeys(boxes)
        left = {
            names: Shown({box: counts for box, counts in self._shown(names).items() if box not in hidden})
            for names in self.published.keys() & set(map(variables_of, hidden))
        }
        return replace(self, published={**self.published, **left}).grown((), hidden)

    def adding_up(self, varying: Set[str] | None, units: bool) -> "JointBoxes":
        """What tells of records, or of units: these add up over what does not vary within them.

        `varying` are variables that do, None where units are records. Limits are known of units.
        """
        if varying is None:
            return self
        if not units:
            return replace(self, limits={})
        return replace(self.without(varying), combined={}, shares={})

    def withheld(self, box: Box) -> bool:
        """Whether a box was ever withheld."""
        return box in self.secret.get(variables_of(box), NOTHING_HIDDEN).boxes

    def size(self, names: Variables) -> int:
        """How many boxes restrict the same variables; those that were published and withheld count twice."""
        hidden = self.secret.get(names, NOTHING_HIDDEN)
        return len(self._shown(names)) + len(hidden.boxes)

    def within(self, variables: Set[str], units: bool = False) -> dict[Box, int]:
        """Published boxes that restrict no other variables, with their records or their units."""
        found: dict[Box, int] = {}
        for names, shown in self.published.items():
            if names <= variables:
                found.update(shown.units if units else shown.records)
        found.pop(NOBODY, None)
        return found

    def told(self, box: Box) -> int:
        """What has been told of a box."""
        counts = self.counts(box)
        return 0 if counts is None else counts.told

    def counts(self, box: Box) -> Counts | None:
        """What a box has and what has been told of it; None of one that was not published."""
        return self._shown(variables_of(box)).get(box)

    def told_within(self, variables: Set[str]) -> dict[Box, int]:
        """Boxes that restrict no other variables, of which anything was told, with their records."""
        return {
            box: counts.records
            for names, shown in self.published.items()
            if names <= variables
            for box, counts in shown.counts.items()
            if box != NOBODY
        }

    def without(self, variables: Set[str]) -> "JointBoxes":
        """The boxes that restrict none of some variables."""
        if all(names.isdisjoint(variables) for names in self.masks):
            return self
        return JointBoxes(
            {names: shown for names, shown in self.published.items() if names.isdisjoint(variables)},
            {names: hidden for names, hidden in self.secret.items() if names.isdisjoint(variables)},
            {names: masks for names, masks in self.masks.items() if names.isdisjoint(variables)},
            {box: most for box, most in self.limits.items() if variables_of(box).isdisjoint(variables)},
            {
                told: one
                for told, one in self.combined.items()
                if variables_together(one).isdisjoint(variables)
            },
            {names: those for names, those in self.shares.items() if names.isdisjoint(variables)},
        )

    def limits_within(self, variables: Set[str]) -> dict[Box, int]:
        """Boxes that restrict no other variables, of which a most is known and not their count itself."""
        return {
            box: most
            for box, most in self.limits.items()
            if variables_of(box) <= variables and not self.told(box) & UNITS
        }

    def combined_within(self, variables: Set[str]) -> list[CombinedSum]:
        """What is known of boxes together that restrict no other variables."""
        return [one for one in self.combined.values() if variables_together(one) <= variables]

    def shares_within(self, variables: Set[str]) -> list[Share]:
        """Shares that were told of boxes that restrict no other variables."""
        return [one for names, those in self.shares.items() if names <= variables for one in those.values()]

    def secrets_within(self, variables: Set[str], units: bool = False) -> list[Box]:
        """Withheld boxes that restrict no other variables, and whose records, or units, never left."""
        found: list[Box] = []
        for names, hidden in self.secret.items():
            if names <= variables and NOBODY not in hidden.boxes:
                found += hidden.of_units if units else hidden.of_records
        return found

    def masks_within(self, variables: Set[str]) -> dict[str, frozenset[int]]:
        """The masks that boxes which restrict no other variables have on each of them."""
        return self._masks_of(dict.fromkeys(variables, frozenset[int]()), lambda names: names <= variables)

    def masks_with(self, masks: Masks, name: str) -> dict[str, frozenset[int]]:
        """Those within some variables, which are given, and one more."""
        variables = {*masks, name}
        return self._masks_of(
            {**masks, name: frozenset[int]()}, lambda names: name in names and names <= variables
        )

    def _masks_of(
        self, found: dict[str, frozenset[int]], chosen: Callable[[Variables], bool]
    ) -> dict[str, frozenset[int]]:
        """With the masks of boxes of chosen variables."""
        for names, masks in self.masks.items():
            if chosen(names):
                for name, those in masks.items():
                    found[name] |= those
        return found


def _with_masks(masks: Masks, boxes: Iterable[Box]) -> Masks:
    """Masks by variable, and those of boxes that restrict the same variables."""
    found = {name: set(those) for name, those in masks.items()}
    for box in boxes:
        for name, mask in box:
            found.setdefault(name, set()).add(mask)
    return {name: frozenset(those) for name, those in found.items()}


def variables_of(box: Box) -> Variables:
    """The variables that a box restricts."""
    return frozenset(map(_NAME, box))


def restricts_only(box: Box, variables: Variables) -> bool:
    """Whether a box restricts no other variables than some."""
    return variables.issuperset(map(_NAME, box))
