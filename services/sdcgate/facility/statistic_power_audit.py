"""What a statistic's sums of powers tell together with all that has left: the audit of variances.

Sums of squares are subtracted as sums are. A group whose variance a rule withholds must not follow from the
variance of the whole and those of the other groups, nor may the difference of two populations have a variance
that the rule withholds. What would tell such a one is kept back, group by group.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import Region
from sdcgate.facility.atoms import unsafe_atoms_told
from sdcgate.facility.differencing import TooManyDifferences
from sdcgate.facility.joint_look import Extent, JointlyUnproved
from sdcgate.facility.joint_sums import telling_sums
from sdcgate.facility.judged_regions import JudgedRegions
from sdcgate.facility.knowledge import COUNTS, Knowledge, KnownQuantity, ReleasedTable
from sdcgate.facility.leaving import Leaving
from sdcgate.facility.powers import Summed
from sdcgate.facility.region_moments import Moments, moments_of_regions
from sdcgate.facility.region_residuals import Products, residuals_of_regions
from sdcgate.facility.statistic_plan import StatisticPlan
from sdcgate.facility.statistic_powers import (
    PowerTable,
    ToldPower,
    power_table,
    products_told,
    samples_of,
    values_of,
)
from sdcgate.facility.statistic_records import Population
from sdcgate.facility.weights import bounds_of
from sdcgate.methods.cells import Axis, BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.function_sums import closest_told
from sdcgate.methods.outputs.power_sums import surely_apart
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.tables.boxes import NOBODY, intersection
from sdcgate.methods.tables.nesting import Nested
from sdcgate.methods.tables.released_cells import Near
from sdcgate.methods.tables.sensitivity import CLOSE
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.span import SpanBudgetExceeded

TURNS = 20
"""How often samples are kept back that would tell of others, before all are."""
MOST_PAIRS = 2_000
"""Differences whose records are looked at for one statistic."""
UNPROVED = (SpanBudgetExceeded, JointlyUnproved, TooManyDifferences)
"""What says that it cannot be told in time."""


@dataclass(frozen=True, slots=True, eq=False)
class PowersLeft:
    """What may leave of a statistic's sums of powers."""

    kept_back: BoolArray = field(repr=False)
    """Groups that show nothing for the sake of others, shape (groups,)."""
    released: tuple[ReleasedTable, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """One quantity of a statistic beside what is known of it."""

    table: PowerTable
    sample: Sample | None = field(repr=False)
    """The values of its samples; None where sums of them were computed where the data lie."""
    squares: FloatArray | None = field(repr=False)
    """Sums of squares of the same measure, shape (cells,); None where they are not told with it."""
    known: KnownQuantity
    regions: JudgedRegions = field(repr=False)
    derivable: BoolArray = field(repr=False)
    """Cells that follow from what has left, shape (cells,)."""
    products: JudgedRegions | None = field(repr=False)
    """Of one look at a statistic that tells products of its measures: they count as known with squares."""

    @property
    def told(self) -> BoolArray:
        """Cells of which something is told, shape (cells,)."""
        found: BoolArray = self.table.released.facts.units > 0
        return found

    @property
    def beside(self) -> bool:
        """Whether there are samples beside the whole."""
        return bool(self.table.cells[0] != len(self.told) - 1)

    def leaving(self, samples: BoolArray, secret: BoolArray) -> ReleasedTable:
        """The table as it would leave: the whole counts as known wherever it may be."""
        published = np.zeros(len(secret), dtype=np.bool_)
        published[self.table.cells[samples]] = True
        published[-1] |= self.beside and not secret[-1]
        withheld = secret & ~published & ~self.derivable & self.told
        return self.table.in_states(published, withheld)

    def same(self, cells: BoolArray) -> BoolArray:
        """With cells of the same boxes."""
        boxes = self.table.released.boxes
        chosen = {boxes[cell] for cell in np.flatnonzero(cells).tolist()}
        return np.array([box in chosen for box in boxes], dtype=np.bool_)


class PowerAudit:
    """One statistic at one head of the ledger.

    Args:
        engine: looks at the records of differences.
        plan: the statistic.
        known: what has left.
        still_time: raises once the caller has gone.
        left: seconds that are left.
    """

    def __init__(
        self,
        engine: Engine,
        plan: StatisticPlan,
        known: Knowledge,
        still_time: Callable[[], None],
        left: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._plan = plan
        self._known = known
        self._still_time = still_time
        self._remaining = left
        rule = plan.policy.rules.p_percent
        self._share, self._coalition = (rule.share, rule.coalition) if rule is not None else (-1.0, 1)

    def audited(
        self,
        powers: Sequence[ToldPower],
        people: Population | None,
        axes: tuple[Axis, ...],
        sums: Sequence[ReleasedTable],
        groups: BoolArray,
        weighted: bool = False,
    ) -> PowersLeft:
        """What may leave of the groups that the statistic would show.

        Args:
            powers: the sums of powers that it tells.
            people: its population; None where its sums were computed where the data lie.
            axes: of its table.
            sums: what its table releases.
            groups: those that it would show, shape (groups,).
            weighted: whether weights that variables decide are in the sums that it tells.

        Raises:
            SpanBudgetExceeded, JointlyUnproved, TooManyDifferences: it cannot be told in time.
        """
        own = {table.quantity: table for table in sums}
        tables = [
            power_table(self._plan, axes, own[told.measure], replace(told, weighted=weighted))
            for told in powers
        ]
        units = powers[0].of_samples.units
        of_group = len(units) // len(groups)
        shown = np.repeat(groups, of_group) & (units > 0)
        samples = self._samples(powers, people)
        leaving, released = self._left_of(tables, shown, samples)
        return PowersLeft(groups & (shown & ~leaving).reshape(-1, of_group).any(axis=1), released)

    def _samples(self, powers: Sequence[ToldPower], people: Population | None) -> list[Sample | None]:
        if people is None:
            return [None] * len(powers)
        sample = samples_of(self._plan.statistic, people)
        values = values_of(people, self._plan.measures)
        return [sample.with_values(values[told.measure]) for told in powers]

    def _left_of(
        self, tables: Sequence[PowerTable], shown: BoolArray, samples: Sequence[Sample | None]
    ) -> tuple[BoolArray, tuple[ReleasedTable, ...]]:
        """The samples that may leave, shape (samples,), and the tables as they would."""
        squares = {
            table.told.measure: table.released.facts.measures[0].sums
            for table in tables
            if table.told.summed == Summed(table.told.measure, 2, weighted=table.told.weighted)
        }
        looks = [
            self._look(table, sample, squares.get(table.told.measure))
            for table, sample in zip(tables, samples, strict=True)
        ]
        looks[0] = replace(looks[0], products=self._products([*squares]))
        secret = [self._secret(look, shown) for look in looks]
        leaving = shown.copy()
        for look, own in zip(looks, secret, strict=True):
            leaving &= ~own[look.table.cells]
        for _ in range(TURNS):
            kept = [self._kept_back(look, leaving, own) for look, own in zip(looks, secret, strict=True)]
            if not any(cells.any() for cells in kept):
                break
            for look, own, cells in zip(looks, secret, kept, strict=True):
                own[look.same(cells)] = True
                leaving &= ~own[look.table.cells]
        else:
            leaving[:] = False
        released = [look.leaving(leaving, own) for look, own in zip(looks, secret, strict=True)]
        if any(self._tells_others(look, table) for look, table in zip(looks, released, strict=True)):
            leaving[:] = False
            released = [look.leaving(leaving, own) for look, own in zip(looks, secret, strict=True)]
        return leaving, tuple(released)

    def _look(self, table: PowerTable, sample: Sample | None, squares: FloatArray | None) -> _Look:
        known, told = self._known.of(table.released.quantity), table.told.summed
        moments = Moments(told.measure, told.order, self._share, self._coalition, told.function)
        regions = moments_of_regions(self._engine, self._plan.dataset, moments, self._still_time)
        derivable = known.derivable(table.released, self._still_time)
        return _Look(table, sample, squares, known, regions, derivable, None)

    def _products(self, measures: Sequence[str]) -> JudgedRegions | None:
        """What judges the products of some measures; None where none are told."""
        rule, plan = self._plan.rules.residual_share, self._plan
        if rule is None or len(measures) < 2 or not products_told(plan):
            return None
        products = Products(tuple(measures), rule.share, self._coalition)
        return residuals_of_regions(self._engine, plan.dataset, products, self._still_time)

    def _secret(self, look: _Look, shown: BoolArray) -> BoolArray:
        """Cells that break the rule, were withheld before or lie in an unsafe difference; shape (cells,)."""
        table = look.table
        unsafe = table.closeness <= self._share * (1 + CLOSE)
        unsafe |= look.known.withheld_before(table.released)
        unsafe |= self._beside_other_weights(look)
        wanted = np.zeros(len(unsafe), dtype=np.bool_)
        wanted[table.cells[shown]] = True
        wanted[-1] = True
        wanted &= ~unsafe
        pairs = look.known.published.nested(table.released.table, Near(np.inf))
        if look.products is not None:
            # Squares that are known tell no products.
            unsafe |= self._in_differences(look, pairs, wanted[pairs.new_cells], look.products)
        kept = (wanted & ~look.derivable)[pairs.new_cells]
        kept &= ~self._surely_apart(look, pairs.new_cells, pairs.old_cells)
        unsafe |= self._in_differences(look, pairs, kept, look.regions)
        return unsafe & look.told

    def _beside_other_weights(self, look: _Look) -> BoolArray:
        """Cells that meet a population of which the same left with other weights, shape (cells,).

        Weighted sums less plain ones are sums over those who weigh more, whom variables tell.
        """
        told = look.table.told.summed
        other = self._known.of(replace(told, weighted=not told.weighted).quantity)
        left = [box for box in other.amounts if not other.boxes.withheld(box)]
        return np.array(
            [
                any(intersection(box, earlier) != NOBODY for earlier in left)
                for box in look.table.released.boxes
            ],
            dtype=np.bool_,
        )

    def _in_differences(self, look: _Look, pairs: Nested, kept: BoolArray, judge: JudgedRegions) -> BoolArray:
        """Cells whose difference with a released one, of some pairs, breaks a rule, shape (cells,)."""
        table, known = look.table, look.known
        found = np.zeros(len(table.released.table), dtype=np.bool_)
        regions: dict[tuple[int, int], tuple[Region, list[int]]] = {}
        for place in np.flatnonzero(kept).tolist():
            cell, row = int(pairs.new_cells[place]), int(pairs.old_cells[place])
            mine, theirs = table.released.boxes[cell], known.published.box(row)
            inner, outer = (mine, theirs) if pairs.new_inside_old[place] else (theirs, mine)
            population = (int(pairs.difference_records[place]), int(pairs.difference_marks[place]))
            regions.setdefault(population, (Region((outer,), (inner,)), []))[1].append(cell)
            if len(regions) > MOST_PAIRS:
                raise TooManyDifferences(f"more than {MOST_PAIRS} differences to look at")
        unsafe = judge.unsafe([region for region, _ in regions.values()])
        for (_, cells), is_unsafe in zip(regions.values(), unsafe.tolist(), strict=True):
            found[cells] |= is_unsafe
        return found

    def _surely_apart(self, look: _Look, cells: IntArray, rows: IntArray) -> BoolArray:
        """Pairs of a cell and a released one whose difference is safe whatever its values are."""
        dataset, told = self._plan.dataset, look.table.told
        if not len(cells) or dataset.records_per_unit > 1 or told.summed.function or look.squares is None:
            # Squares of records say nothing of how far units' totals lie apart, nor of functions.
            return np.zeros(len(cells), dtype=np.bool_)
        squares = self._known.of(Summed(told.measure, 2, weighted=told.weighted).quantity).amounts
        sums = self._known.of(told.measure).amounts
        boxes = [look.known.published.box(row) for row in rows.tolist()]
        nothing = np.array([np.nan] * 3)
        theirs = np.array(
            [
                (squares[box].total, sums[box].total, sums[box].records)
                if box in squares and box in sums
                else nothing
                for box in boxes
            ]
        )
        mine = np.column_stack([look.squares, look.table.totals, look.table.released.table.records])[cells]
        q, s, n = np.abs(mine - theirs).T
        sign = np.sign(mine[:, 2] - theirs[:, 2])
        s = sign * (mine[:, 1] - theirs[:, 1])
        lower = dataset.measure(told.measure).lower_bound
        spread = 1.0 if lower is not None and lower >= 0 else 2.0
        earlier = look.known.published.facts().measures[0].largest[rows, 0]
        here = look.table.released.facts.measures[0].largest[cells, 0]
        widest = spread * np.maximum(earlier, here) ** (1 / told.of_samples.order)
        with np.errstate(invalid="ignore", divide="ignore"):
            deviations = q - s**2 / n
        found = surely_apart(
            deviations,
            n,
            widest,
            told.of_samples.order,
            self._share * (1 + CLOSE),
            self._coalition,
        )
        # A comparison with a NaN is not "safe".
        apart: BoolArray = found & np.isfinite(deviations)
        return apart

    def _kept_back(self, look: _Look, leaving: BoolArray, secret: BoolArray) -> BoolArray:
        """Cells without which nothing secret follows of the sums that would leave, shape (cells,)."""
        table = look.leaving(leaving, secret)
        kept = look.known.revealing([table], self._still_time)
        if not kept.any():
            kept = self._beside_unsafe_rest(look, leaving, secret)
        if not kept.any():
            kept = self._telling(look, table)
        return kept

    def _beside_unsafe_rest(self, look: _Look, leaving: BoolArray, secret: BoolArray) -> BoolArray:
        """What is kept back where the whole less all samples that leave breaks the rule, shape (cells,).

        It is the smallest sample that leaves or, where that is not enough, the whole, unless that is known.
        """
        kept = np.zeros(len(secret), dtype=np.bool_)
        if secret[-1] or leaving.all() or not leaving.any() or not look.beside:
            return kept
        if self._is_apart(look, ~leaving):
            return kept
        units = np.where(leaving, look.table.told.of_samples.units, np.iinfo(np.int64).max)
        smallest = int(np.argmin(units))
        with_smallest = ~leaving
        with_smallest[smallest] = True
        if look.derivable[-1] or self._is_apart(look, with_smallest):
            kept[look.table.cells[smallest]] = True
        else:
            kept[-1] = True
        return kept

    def _is_apart(self, look: _Look, samples: BoolArray) -> bool:
        """Whether some samples together keep the rules; nobody does."""
        boxes = look.table.released.boxes
        cells = look.table.cells[samples & (look.table.told.of_samples.records > 0)].tolist()
        if not cells:
            return True
        region = Region(tuple(boxes[cell] for cell in cells))
        if look.products is not None and look.products.unsafe([region])[0]:
            return False
        if look.sample is None:
            return not look.regions.unsafe([region])[0]
        members = samples[look.sample.groups]
        nowhere = np.zeros(int(np.count_nonzero(members)), dtype=np.int64)
        together = Sample(look.sample.values[members], nowhere, look.sample.units[members], 1)
        told = look.table.told.summed
        (closeness,) = closest_told(together, told.function, told.order, self._coalition)
        return bool(closeness > self._share * (1 + CLOSE))

    def _telling(self, look: _Look, table: ReleasedTable) -> BoolArray:
        """Cells without which no withheld sum of powers is bounded too closely."""
        counts = ReleasedTable(COUNTS, table.table, table.facts, table.boxes).perhaps()
        policy = self._plan.policy
        return telling_sums(
            table.quantity,
            Leaving(look.known, [table]),
            Leaving(self._known.of(COUNTS), [counts]),
            bounds_of(self._plan.dataset, table.quantity),
            policy.sum_width,
            policy.count_floor,
            Extent(
                policy.joint_codes, Deadline(min(self._remaining(), policy.protection_time_limit_ms / 1000))
            ),
        )

    def _tells_others(self, look: _Look, table: ReleasedTable) -> bool:
        """Whether a group that nobody asked for, and whose variance the rule withholds, would follow."""
        if look.known.empty:
            return False
        span = look.known.with_tables([table], self._still_time)
        judges = (look.regions, *((look.products,) if look.products is not None else ()))
        return any(unsafe_atoms_told(table, look.known, span, judge) for judge in judges)
