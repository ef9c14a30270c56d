"""The joint audit of sums: what all releases together tell of what is withheld of a measure.

Published means are sums, as their counts have left; percentages are counts. Of other counts those are looked
at that cut nothing finer than the measure's own boxes do.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from sdcgate.facility.boxes import MEASURE_PRESENT, having_variable
from sdcgate.facility.decided_sums import cell_of
from sdcgate.facility.joint_look import Extent, Look, Wide, covering
from sdcgate.facility.leaving import Leaving
from sdcgate.facility.powers import Bounds
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combined_sums import CombinedSum
from sdcgate.methods.tables.joint_boxes import JointBoxes, Masks, Variables, restricts_only
from sdcgate.methods.tables.joint_domain import classes, joint_atoms, joint_domain
from sdcgate.methods.tables.joint_scopes import Scope
from sdcgate.methods.tables.joint_sums import (
    PART,
    ROOM,
    Amount,
    MeasureBoxes,
    P,
    Q,
    amounts,
    as_array,
    in_all_parts,
    of_all_parts,
    of_part,
)
from sdcgate.methods.tables.told_shares import MOST_BESIDE_SUMS

MOST_ATOMS = 600
"""Joint codes of the variables that are looked at together, beyond the table's own; each has three parts."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasureHistory:
    """What has left of a measure and of counts, tables about to leave among it."""

    having: str
    """The variable whose condition is that records have the measure."""
    of_measure: Leaving = field(repr=False)
    of_counts: Leaving = field(repr=False)
    earlier: Mapping[Box, Amount] = field(repr=False)
    """Sums of the measure's boxes that left or were withheld before."""
    here: Mapping[Box, Amount] = field(repr=False)
    """Those of the tables about to leave."""
    full: Mapping[str, int]
    """Full mask of every variable, that of having the measure among them."""
    of_everybody: bool
    """Whether no box is of the records only that have the measure."""
    _cuts: dict[Variables, Set[tuple[str, int]]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, quantity: str, of_measure: Leaving, of_counts: Leaving) -> "MeasureHistory":
        """What is known of a measure and of counts, with new tables of each."""
        here = dict(chain.from_iterable(table.amounts() for table in of_measure.tables))
        having = having_variable(quantity)
        full = {**of_measure.full, **of_counts.full}
        full |= {having: full.get(having, MEASURE_PRESENT)}
        everybody = having not in of_measure.boxes.variables | of_counts.boxes.variables
        return cls(having, of_measure, of_counts, of_measure.known.amounts, here, full, everybody)

    @property
    def boxes(self) -> JointBoxes:
        """Boxes of the measure."""
        return self.of_measure.boxes

    @property
    def counts(self) -> JointBoxes:
        """Boxes of counts."""
        return self.of_counts.boxes

    @property
    def notes(self) -> dict[Hashable, frozenset[Box]]:
        """What is noted as told of the measure; nothing that is to stay where shares are looked at."""
        return {} if self.of_counts.boxes.shares else self.of_measure.notes

    def plain(self, box: Box) -> Box:
        """A box without the condition that records have the measure: without it they add nothing to a sum."""
        return box if self.of_everybody else plain(box, self.having)

    def domain(self, first: Set[str], most_atoms: int) -> tuple[Variables, bool]:
        """The variables to look at together, beginning with some, and whether counts may cut finer.

        Finer than the measure's own boxes do: as long as that makes no more codes. Then variables that only
        counts have are looked at as well.
        """
        deciding = self.of_measure.deciding
        domain = joint_domain({*first, self.having}, self.boxes, self.full, most_atoms, deciding)
        together = self._together()
        if joint_atoms(domain, together, self.full) > most_atoms:
            return domain, False
        return joint_domain(domain, together, self.full, most_atoms), True

    def may_cut_finer(self, domain: Set[str], most_atoms: int) -> bool:
        """Whether a domain has few enough codes even as counts cut them, too."""
        return joint_atoms(domain, self._together(), self.full) <= most_atoms

    def _together(self) -> JointBoxes:
        """Boxes of counts, and by what masks the measure's own cut."""
        return self.counts.without({self.having}).cut_by(self.masks())

    def shared(self, names: Set[str]) -> Variables:
        """Variables, of some, by which some box of the measure is restricted."""
        return frozenset[str]().union(*self.boxes.masks) & names

    def masks(self) -> list[Masks]:
        """The masks of the measure's boxes, without the condition that records have it."""
        of_boxes = self.boxes.masks.values()
        bare = [
            {name: those for name, those in masks.items() if name != self.having}
            if self.having in masks
            else masks
            for masks in of_boxes
        ]
        return [masks for masks in bare if masks]

    def codes(self, domain: Set[str]) -> dict[str, int]:
        """Full masks of the variables of a domain."""
        return {name: self.full[name] for name in domain if name != self.having}

    def within(self, domain: Set[str], finer: bool = False) -> MeasureBoxes:
        """Everything known of the measure within some variables.

        `finer`: with counts that cut what the measure's boxes do not tell apart, too.
        """
        counts, shown = self.of_counts.within(domain), self.of_measure.within(domain)
        means, first = self.of_measure.boxes.shares_within(domain), self.of_counts.told_first
        # The mean of those of whom it was known how many they are is their sum, but for its rounding.
        of_known = [one.part for one in means if one.fine and one.part in counts and one.part not in first]
        shown = {**shown, **dict.fromkeys(of_known, 0)} if of_known else shown
        others = [one for one in means if one.part not in shown or one.part not in counts]
        shares = self.of_counts.shares_within(domain)
        if len(others) + len(shares) > MOST_BESIDE_SUMS:
            others, shares = [], []
        whole, told = self._bare(shown), self._told(counts, domain, finer)
        secrets = self._amounts(self.of_measure.secrets_within(domain))
        published = self._amounts(shown)
        records = {box: counts[box] for box in self._bare(told)}
        return MeasureBoxes(
            published,
            {box: amount for box, amount in secrets.items() if box not in published},
            set(whole),
            records,
            {self.plain(box): counts[box] for box in told if box not in records},
            only_sums={self.plain(box) for box in shown if box not in counts},
            combined=[
                *map(self._plainly, self.boxes.combined_within(domain)),
                *(self._plainly(mean.of_sums()) for mean in others),
            ],
            counted=list(self._counted_together(shares, domain, finer)),
        )

    def _counted_together(
        self, shares: Iterable[CombinedSum], domain: Set[str], finer: bool
    ) -> Iterator[CombinedSum]:
        """What is known of counts together as what is known of parts."""
        for one in shares:
            parts = [box for box, _ in one.parts]
            if len(self._told(parts, domain, finer)) == len(parts):
                yield replace(one, parts=tuple((self.counted(box), factor) for box, factor in one.parts))

    def _plainly(self, one: CombinedSum) -> CombinedSum:
        """What is known of sums together, of boxes without the condition that records have the measure."""
        return replace(one, parts=tuple((self.plain(box), factor) for box, factor in one.parts))

    def beside_counts(self, domain: Set[str], finer: bool) -> MeasureBoxes:
        """As `within`, with the withheld counts of those who have the measure, or of all."""
        return replace(self.within(domain, finer), uncounted=self.marked(domain, finer).keys())

    def marked(self, domain: Set[str], finer: bool) -> dict[Box, Box]:
        """Withheld counts within some variables by boxes of parts: everybody knows that none is empty."""
        hidden = self._told(self.of_counts.secrets_within(domain), domain, finer)
        parts = hidden if self.of_everybody else map(self.counted, hidden)
        return dict(zip(parts, hidden, strict=True))

    def cells(self, boxes: Set[Box]) -> set[int]:
        """The cells of the new tables that boxes, or parts of these, are."""
        tables = (*self.of_measure.tables, *self.of_counts.tables)
        cells = {self.plain(box): cell for table in tables for cell, box in enumerate(table.boxes)}
        return {cells[self.plain(cell_of(of_all_parts(box)))] for box in boxes}

    def counted(self, box: Box) -> Box:
        """A box of counts as one of parts: those of who has the measure, or all."""
        return box if self.of_everybody else counted(box, self.having)

    def as_counted(self, box: Box) -> Box:
        """A box of parts as the one of counts that it stands for."""
        return as_counted(box, self.having)

    def _bare(self, boxes: Iterable[Box]) -> Iterable[Box]:
        """Those that are not of the records only that have the measure."""
        return boxes if self.of_everybody else [box for box in boxes if self.plain(box) is box]

    def _told(self, counted: Iterable[Box], domain: Set[str], finer: bool) -> list[Box]:
        return list(counted) if finer else self.aligned(counted, domain)

    def _amounts(self, boxes: Iterable[Box]) -> dict[Box, Amount]:
        """What boxes have of the measure, by boxes without the condition that records have it."""
        earlier, here = self.earlier, self.here
        return {self.plain(box): earlier.get(box) or here[box] for box in boxes}

    def first_within(self, domain: Variables, told: Iterable[Box], finer: bool = False) -> set[Box]:
        """Boxes within a domain, of some that are told first: of the measure, or counts where these count."""
        inside = [box for box in told if restricts_only(box, domain)]
        return set(map(self.plain, self._told(inside, domain, finer)))

    def aligned(self, counted: Iterable[Box], domain: Set[str]) -> list[Box]:
        """Boxes, of those within a domain, that cut nothing that the measure's boxes do not tell apart."""
        names = frozenset(domain)
        if names not in self._cuts:
            self._cuts[names] = self._cutting(names)
        cutting = self._cuts[names]
        return [box for box in counted if cutting.isdisjoint(box)] if cutting else list(counted)

    def _cutting(self, domain: Variables) -> Set[tuple[str, int]]:
        """Variables and masks of counts, within a domain, that cut what the measure's boxes do not."""
        own, counts = self.boxes.masks_within(domain), self.counts.masks_within(domain)
        return {
            (name, mask)
            for name, full in self.codes(domain).items()
            for mask in counts[name] - own[name]
            if not _is_union(mask, classes(full, own[name]))
        }


def telling_sums(
    quantity: str,
    of_measure: Leaving,
    of_counts: Leaving,
    bounds: Bounds,
    share: float,
    floor: int,
    extent: Extent,
    wide: Wide | None = None,
    doubted: set[Box] | None = None,
) -> BoolArray:
    """Published cells of new tables without which no withheld sum is told too closely, shape (cells,).

    Of a measure without public bounds nothing is told but what the span finds.

    Args:
        quantity: the measure.
        of_measure: the new tables' sums of it, none where they have none, and what has left of it.
        of_counts: their counts, of the same cells, and what has left of counts.
        bounds: what everybody knows single values to be at least and at most.
        share: least width of a withheld sum, as a share of it.
        floor: what everybody knows a withheld count to be at least.
        extent: when to give up, and what people have in truth; how many codes are looked at is `MOST_ATOMS`.
        wide: what earlier turns of the same table have seen of this measure to be uncertain enough.
        doubted: withheld boxes that were perhaps told before, of all records; it grows.

    Raises:
        JointlyUnproved: it cannot be told in time.
    """
    # What a table tells by itself its own proof knows.
    nothing_before = of_measure.known.empty and of_counts.known.empty and not of_measure.decided
    if nothing_before or bounds == (None, None) or not of_measure.hides:
        return np.zeros(len(of_counts.tables[0].table), dtype=np.bool_)
    seen = {} if wide is None else wide
    kept_back, told = _telling(quantity, of_measure, of_counts, bounds, share, floor, extent, seen)
    if of_measure.certain and of_counts.certain:
        return kept_back
    if doubted is not None:
        doubted.update(map(of_all_parts, told))
    having = having_variable(quantity)
    only = told | {of_part(plain(box, having), P) for box in of_measure.unshared(of_measure.doubted)}
    if only and not kept_back.any():
        # What may have been told before is looked at again by what was for sure.
        in_doubt = of_measure.in_doubt, of_counts.in_doubt
        kept_back |= _telling(quantity, *in_doubt, bounds, share, floor, extent, seen, only)[0]
    return kept_back


def _telling(
    quantity: str,
    of_measure: Leaving,
    of_counts: Leaving,
    bounds: Bounds,
    share: float,
    floor: int,
    extent: Extent,
    wide: Wide,
    only: Set[Box] | None = None,
) -> tuple[BoolArray, Set[Box]]:
    """Cells to keep back for all that is withheld, or for some, and what may have been told before."""
    first = of_counts.tables[0].table
    kept_back = np.zeros(len(first), dtype=np.bool_)
    history = MeasureHistory.of(quantity, of_measure, of_counts)
    hidden_sums = {of_part(history.plain(box), P) for box in of_measure.withheld_first}
    asked_about = of_measure.variables if of_measure.tables else of_counts.variables
    domain, finer = history.domain(history.shared(asked_about), MOST_ATOMS)
    told = history.first_within(domain, of_measure.told_first | of_counts.told_first, finer)
    together = {one.told_by for one in history.boxes.combined_within(domain)} & of_measure.told_first
    if not (told or together):
        return kept_back, hidden_sums
    boxes, codes = history.within(domain, finer), history.codes(domain)
    if not boxes.secrets:
        return kept_back, hidden_sums
    found = amounts(boxes, bounds, codes, share)
    beside = dict.fromkeys(sorted(history.marked(domain, finer)), floor * found.record) if floor else {}
    hidden = beside.keys() & set(map(history.counted, of_counts.withheld_first))
    fresh = together | (found.published.keys() & set(chain.from_iterable(map(in_all_parts, told))))
    measured = extent.truth.measured(quantity, frozenset(codes))
    truth = None if measured is None else found.held(measured)
    look = Look(
        fresh,
        hidden,
        lambda those: as_array(found.widths, those),
        0,
        extent.deadline,
        ROOM,
        wide,
        lambda _: truth,
        only,
        beside,
    )
    names, secrets = frozenset(codes) | {PART}, list(found.secrets)
    scope = Scope(names, found.full, found.published, secrets, combined=found.combined)
    blamed = look.noted(scope, history.notes, ("sums", share, only is None, *found.rest_on))
    cells = [history.cells(rows) for rows in blamed]
    kept_back[covering(cells, first.records, extent.kept_back, floor)] = True
    return kept_back, look.doubted(hidden_sums)


def plain(box: Box, having: str) -> Box:
    """A box without the condition that records have a measure."""
    for place, (name, _) in enumerate(box):
        if name == having:
            return box[:place] + box[place + 1 :]
    return box


def counted(box: Box, having: str) -> Box:
    """A box of counts as one of parts: those of who has a measure, or all."""
    bare = plain(box, having)
    return box if bare is box else of_part(bare, P | Q)


def as_counted(box: Box, having: str) -> Box:
    """A box of parts as the one of counts that it stands for."""
    bare = of_all_parts(box)
    return box if bare == box else tuple(sorted((*bare, (having, MEASURE_PRESENT))))


def domain_of_counts(
    histories: Sequence[MeasureHistory], names: Set[str], most_atoms: int
) -> tuple[Variables, bool]:
    """The variables to look at together where counts beside sums are asked for, beginning with some.

    And whether counts may cut finer than the measures' boxes do: as long as that makes no more codes.
    """
    counts = histories[0].counts.without({one.having for one in histories})
    of_measures = [masks for one in histories for masks in one.masks()]
    full = {name: mask for one in histories for name, mask in one.full.items()}
    together = counts.cut_by(of_measures)
    if joint_atoms(names, together, full) <= most_atoms:
        return joint_domain(names, together, full, most_atoms), True
    return joint_domain(names, replace(counts, masks={}).cut_by(of_measures), full, most_atoms), False


def _is_union(mask: int, parts: Iterable[int]) -> bool:
    """Whether a mask cuts none of some parts."""
    return all(not part & mask or not part & ~mask for part in parts)
