"""What a table tells together with all that has left: in the linear span, and by bounds over all tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.queries import MEASURE_PREFIX
from sdcgate.facility.atoms import Sensitive, unsafe_atoms_told
from sdcgate.facility.counts_beside_sums import OfMeasure, telling_counts
from sdcgate.facility.decided_sums import MOST, DecidedTable, told_of
from sdcgate.facility.emptying import emptying
from sdcgate.facility.implied_measures import known_by_others
from sdcgate.facility.inspector import Inspector
from sdcgate.facility.joint_audit import telling
from sdcgate.facility.joint_look import UNKNOWN, Extent, Truth, Wide, Width
from sdcgate.facility.joint_sums import telling_sums
from sdcgate.facility.knowledge import COUNTS, Knowledge, KnownQuantity, ReleasedTable
from sdcgate.facility.leaving import Leaving
from sdcgate.facility.panels import panel_of
from sdcgate.facility.plan import Plan
from sdcgate.facility.population_limits import PopulationLimit, limit_tells
from sdcgate.facility.powers import Bounds
from sdcgate.facility.protection import seconds_to_prove
from sdcgate.facility.told_extremes import narrowing
from sdcgate.facility.weights import bounds_of, judged_by
from sdcgate.methods.cells import BoolArray, State
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.combined_sums import Decided
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import Combination


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """A table and what is known at one head of the ledger.

    What is about to leave comes as the table's quantities, counts first, in the states that they would leave
    in. Methods raise what `still_time` raises, and SpanBudgetExceeded or JointlyUnproved where it cannot be
    told in time.
    """

    plan: Plan
    known: Knowledge
    still_time: Callable[[], None]
    """Raises TimeOver once the caller has gone: long work for nobody would be in the way of the others."""
    truth: Truth = UNKNOWN
    """The joint audit begins with it."""
    decided: Mapping[str, Sequence[Decided]] = field(default_factory=dict, repr=False)
    """Quantities that variables decide: their sums tell of counts."""
    wide: dict[str, Wide] = field(default_factory=dict, repr=False)
    """What the joint audit has seen of each quantity to be uncertain enough; it grows."""
    doubted: dict[str, set[Box]] = field(default_factory=dict, repr=False)
    """Withheld boxes that were perhaps told before, by quantity; it grows."""

    def known_cells(self, new: Sequence[ReleasedTable], left: Knowledge) -> dict[str, BoolArray]:
        """Cells of which a quantity can be computed from what has `left`, also as nobody is in them."""
        known: dict[str, BoolArray] = {}
        for quantity in new:
            before = left.of(quantity.quantity)
            # The first table of a quantity has its own population; those that follow are parts of it.
            if quantity.quantity in known:
                continue
            known[quantity.quantity] = before.published.among(quantity.boxes)
            empty = left.of(new[0].quantity).empty_cells(quantity)
            known[quantity.quantity] |= empty
            if not before.empty:
                known[quantity.quantity] |= before.derivable(quantity, self.still_time, empty)
            if quantity.facts.measures:
                groups = known_by_others(self.plan.dataset, quantity, left, self.still_time)
                # Measures may add up to a constant for everybody: then it takes how many they are, too.
                known[quantity.quantity] |= groups & known[COUNTS]
        return known

    def reveals(self, left: Sequence[ReleasedTable]) -> bool:
        """Whether of any quantity a withheld box is in the span of what has left and is about to."""
        return any(self._derivable(quantity, left) for quantity in _quantities(left))

    def revealing(self, left: Sequence[ReleasedTable]) -> BoolArray:
        """Cells without which nothing withheld is in the exact linear span of all that has left."""
        revealing = np.zeros(len(left[0].boxes), dtype=np.bool_)
        for quantity in _quantities(left):
            if self._derivable(quantity, left):
                of, floor = _of(left, quantity), self.plan.policy.count_floor
                sums = self._sums_of(quantity, left)
                known = self._spanned(quantity, left)
                revealing |= known.revealing(of, self.still_time, (), floor, sums)
        return revealing

    def telling(
        self, left: Sequence[ReleasedTable], remaining: Callable[[], float], each: int = 1
    ) -> BoolArray:
        """Cells without which no withheld count or sum is told too closely by all that has left.

        So many for `each` that is, or all where these are fewer.
        """
        leaving, extent = self._leaving(left), replace(self._extent(remaining), kept_back=each)
        counts = leaving[left[0].quantity]
        more = self._emptying(counts)
        # What counts tell and what sums of each measure do are systems by themselves. They are asked one
        # after the other: little of the work is a solver's, and threads would begin what is not needed.
        if not more.any():
            more = self._counts_telling(counts, extent)
        if not more.any():
            more = self._counts_told_by_sums(left, leaving, extent)
        if more.any():
            return more
        of_sums = (
            self._sums_telling(quantity, leaving[quantity], counts, extent)
            for quantity in self._watched_measures(left)
        )
        return next((sums for sums in of_sums if sums.any()), more)

    def _leaving(self, left: Sequence[ReleasedTable]) -> dict[str, Leaving]:
        """What is about to leave and what has left, by quantity."""
        quantities = [*_quantities(left), *self.known.quantities]
        return {
            one: Leaving(self.known.of(one), _of(left, one), self._told_of(one, left)) for one in quantities
        }

    def _told_of(self, quantity: str, left: Sequence[ReleasedTable]) -> list[DecidedTable]:
        """Sums about to leave that tell of a quantity, as variables decide what is summed."""
        telling = told_of(quantity, self.decided)
        return [DecidedTable(table, one) for table in left for one in telling.get(table.quantity, ())]

    def _emptying(self, counts: Leaving) -> BoolArray:
        """Empty cells by which a withheld box is seen to be empty, over whatever variables."""
        more = emptying(counts)
        if not (more.any() or counts.certain):
            # What may have been told before is looked at again by what was for sure.
            more = emptying(counts.in_doubt)
        return more

    def _counts_telling(self, counts: Leaving, extent: Extent) -> BoolArray:
        panel = panel_of(self.plan.dataset)
        wide = self.wide.setdefault(COUNTS, {})
        doubted = self.doubted.setdefault(COUNTS, set())
        return telling(counts, self._count_width(), extent, panel, wide, doubted)

    def _sums_telling(self, quantity: str, sums: Leaving, counts: Leaving, extent: Extent) -> BoolArray:
        bounds, policy = self._bounds_of(quantity), self.plan.policy
        share, floor = policy.sum_width, policy.count_floor
        wide, doubted = self.wide.setdefault(quantity, {}), self.doubted.setdefault(quantity, set())
        return telling_sums(quantity, sums, counts, bounds, share, floor, extent, wide, doubted)

    def _counts_told_by_sums(
        self, left: Sequence[ReleasedTable], leaving: Mapping[str, Leaving], extent: Extent
    ) -> BoolArray:
        """Cells without which sums of a measure tell no withheld count too closely."""
        counts = leaving[left[0].quantity]
        measures = [
            OfMeasure(quantity, leaving[quantity], (low, high), wide)
            for quantity in self._measures_that_left(left)
            for low, high in [self._bounds_of(quantity)]
            for wide in [self.wide.setdefault(quantity, {})]
            if low is not None and high is not None
        ]
        doubted, width = self.doubted.setdefault(COUNTS, set()), self._count_width()
        return telling_counts(measures, counts, width, extent, doubted)

    def limit_tells(self, limit: PopulationLimit, remaining: Callable[[], float]) -> bool:
        """Whether that a population is so small would tell a withheld count too closely."""
        known, width = self.known.of(COUNTS), self._count_width()
        extent, panel = self._extent(remaining), panel_of(self.plan.dataset)
        # What may have been told before is looked at again by what was for sure.
        worlds = [known] if known.sure is None else [known, known.surely()]
        return any(
            limit_tells(limit, world.boxes, world.shapes.full, width, extent, panel) for world in worlds
        )

    def crossing(self, left: Sequence[ReleasedTable], inspector: Inspector, unsafe: BoolArray) -> BoolArray:
        """Cells without which no unsafe group that several filters cut out is in any span, shape (cells,).

        `unsafe` are cells that do not keep the rules themselves.
        """
        weighted_apart = inspector.rules.contributions.weighted
        for table in left:
            measure = judged_by(table.quantity, weighted_apart)
            if table.facts.measures and measure:
                more = self._without_groups(table, left, inspector, measures=(measure,))
                if more.any():
                    return more
        counts = _of(left, left[0].quantity)
        # Rules of counts ask for enough people: where a cell has them, larger groups have. Of changes that
        # does not hold, as those of two cells may cancel.
        groups = np.zeros(len(unsafe), dtype=np.bool_)
        for table in _not_of_measures(counts):
            enough = None if inspector.also else ~unsafe & (table.table.records > 0)
            groups |= self._without_groups(table, left, inspector, enough, sensitive=inspector.groups)
        return groups

    def _without_groups(
        self,
        first: ReleasedTable,
        left: Sequence[ReleasedTable],
        inspector: Inspector,
        enough: BoolArray | None = None,
        measures: Sequence[str] = (),
        sensitive: Sensitive | None = None,
    ) -> BoolArray:
        """Cells of a quantity without which no unsafe group of `first` is in its span, shape (cells,)."""
        known = self.known.of(first.quantity)
        if known.empty and not _withholds(first):
            # All that it shows is safe, and so is what that leaves of it.
            return np.zeros(len(first.boxes), dtype=np.bool_)
        known = self._spanned(first.quantity, left)
        tables, sums = _of(left, first.quantity), self._sums_of(first.quantity, left)
        decided = [] if sums is None else self._told_of(first.quantity, left)
        shown = first.table.of_state(State.PUBLISHED)
        span = known.with_tables(tables, self.still_time, () if sums is None else sums(shown))
        # Weights part codes that no table does.
        parted = known.boxes.combining(told for one in decided for told in one.sums())
        parting = replace(known, boxes=parted) if decided else known
        groups = unsafe_atoms_told(first, parting, span, inspector, enough, measures, sensitive)
        if not groups:
            return np.zeros(len(first.boxes), dtype=np.bool_)
        return known.revealing(tables, self.still_time, groups, self.plan.policy.count_floor, sums)

    def _derivable(self, quantity: str, left: Sequence[ReleasedTable]) -> bool:
        tables, sums = _of(left, quantity), self._sums_of(quantity, left)
        told = () if sums is None else sums(tables[0].table.of_state(State.PUBLISHED))
        return self._spanned(quantity, left).reveals(tables, self.still_time, told)

    def _spanned(self, quantity: str, left: Sequence[ReleasedTable]) -> KnownQuantity:
        """What is known of a quantity, with the variables by which the table's other sums tell of it.

        A measure may be asked for the first time, weighted and not, by others than decide the weights.
        """
        known, told = self.known.of(quantity), self._told_of(quantity, left)
        full = {name: mask for one in told for name, mask in one.decided.full.items()}
        return known.knowing(full, self.still_time) if full.keys() - known.shapes.full.keys() else known

    def _sums_of(
        self, quantity: str, left: Sequence[ReleasedTable]
    ) -> Callable[[BoolArray], list[Combination]] | None:
        """What cells of the table tell of several boxes of a quantity together; None where they tell nothing.

        Sums of variables that decide what is summed, as far as there are no more than `MOST` boxes.
        """
        if self.plan.beneath:
            # Weighted shares and models are judged by what they tell of withheld cells.
            return None
        decided = self._told_of(quantity, left)
        cells = sum(len(one.decided.parts) * len(one.table.boxes) for one in decided)
        if not decided or cells > MOST:
            return None
        spanned = [told for one in decided for told in one.spanned()]
        return lambda chosen: [parts for cell, parts in spanned if chosen[cell]]

    def _extent(self, remaining: Callable[[], float]) -> Extent:
        """How much the joint audit looks at, and how long."""
        deadline = Deadline(seconds_to_prove(self.plan, remaining))
        return Extent(self.plan.policy.joint_codes, deadline, self.truth)

    def _count_width(self) -> Width:
        """How uncertain a withheld count must stay."""
        return Width(self.plan.policy.count_width, self.plan.policy.count_floor)

    def _bounds_of(self, quantity: str) -> Bounds:
        """Between what everybody's values lie, as is declared or was told."""
        return bounds_of(self.plan.dataset, quantity, narrowing(self.known.windows))

    def _watched_measures(self, left: Sequence[ReleasedTable]) -> list[str]:
        """The table's measures, and those of which something was withheld earlier: counts bound sums."""
        own = [table.quantity for table in left if table.facts.measures]
        quantities = self.known.quantities.items()
        earlier = [q for q, known in quantities if q != COUNTS and known.surely().boxes.secret]
        return list(dict.fromkeys([*own, *earlier]))

    def _measures_that_left(self, left: Sequence[ReleasedTable]) -> list[str]:
        """The table's measures, and those of which anything has left: sums bound counts."""
        own = [table.quantity for table in left if table.facts.measures]
        earlier = [q for q, known in self.known.quantities.items() if q != COUNTS and not known.empty]
        return list(dict.fromkeys([*own, *earlier]))


def _withholds(table: ReleasedTable) -> bool:
    return bool((table.table.states != State.PUBLISHED).any())


def _not_of_measures(counts: Sequence[ReleasedTable]) -> list[ReleasedTable]:
    """A table's counts, and those of the people of one weight, but for who has a measure."""
    of_records = [
        table
        for table in counts[1:]
        if not any(name.startswith(MEASURE_PREFIX) for name, _ in table.table.fixed)
    ]
    return [counts[0], *of_records]


def _quantities(left: Sequence[ReleasedTable]) -> list[str]:
    return list(dict.fromkeys(table.quantity for table in left))


def _of(left: Sequence[ReleasedTable], quantity: str) -> list[ReleasedTable]:
    return [table for table in left if table.quantity == quantity]
