"""Steps 4 to 7 where a policy protects by cell keys: all cells get noise, and what left is proved together.

What is refused, or shown without a value, is so by noisy figures; only what is referred depends on true ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import MEASURE_PREFIX
from sdcgate.facility.knowledge import COUNTS, Knowledge, NoisyRelease
from sdcgate.facility.noise import Noise, NoisyQuantities, left_cells, with_noise
from sdcgate.facility.outcomes import NoisyAnswer, Outcome
from sdcgate.facility.plan import Plan
from sdcgate.methods.cells import Axis, BoolArray, Facts, FloatArray, IntArray, State
from sdcgate.methods.rules import Consequence, ReasonCode
from sdcgate.methods.tables.assessment import Assessment
from sdcgate.methods.tables.boxes import Box, BoxTable
from sdcgate.methods.tables.cell_key import DEVIATIONS
from sdcgate.methods.tables.noisy_boxes import (
    Atoms,
    NoisyTable,
    Room,
    answers_of,
    in_multiples,
    largest_may_rise,
    movable,
    only_multiple,
    room_of_counts,
    room_of_sums,
    within_reach,
)

MIXED = (
    "Tables of this dataset left under another protection before: with cells withheld, with other noise, or "
    "with none. What both tell together is not proved; an output checker will look at this table."
)


@dataclass(frozen=True, slots=True, eq=False)
class Perturbing:
    """One table at one head of the ledger, on its way to figures with noise."""

    engine: Engine
    plan: Plan
    axes: tuple[Axis, ...]
    facts: Facts = field(repr=False)
    known: Knowledge
    judgement: Assessment
    still_time: Callable[[], None]

    def outcome(self, noise: Noise) -> Outcome:
        """What may be decided."""
        if self.known.other_versions:
            return self.held(Consequence.REFER, ReasonCode.VERSION_DIFFERENCE)
        if mixed(self.known, noise):
            return replace(self.held(Consequence.REFER, ReasonCode.UNPROVED), message=MIXED)
        noisy = with_noise(self.plan, self.facts, noise)
        found = NoisyQuantities(self.plan, self.axes, self.facts, noisy, self.judgement.findings, noise)
        release = NoisyRelease(tuple(found.tables()), noise.digest)
        together = NoisyTogether.of(self.engine, self.plan.dataset, self.known, release)
        self.still_time()
        # First of all: whoever may have no more answers is not told either whether a population is too small.
        limits = self.plan.policy.cell_keys
        most = limits.maximum_answers if limits is not None else None
        if most is not None and together.most_answers() > most:
            return self.held(self.plan.policy.differencing_consequence, ReasonCode.DIFFERENCING)
        # From here on even what is held tells on which side of the rule the noisy total lies.
        base = self.plan.policy.rules.minimum_base
        total = None if base is None else NoisyRelease((found.total(),), noise.digest)
        if base is not None and noisy.units[-1] < base.units:
            return replace(self.held(base.consequence, ReasonCode.MINIMUM_BASE), noisy_total=total)
        if self.judgement.unchecked or together.unproved(noise):
            held = self.held(self.plan.policy.unproved_consequence, ReasonCode.UNPROVED)
            return replace(held, noisy_total=total)
        states = np.where(left_cells(self.plan, self.axes), State.PERTURBED, State.ABSENT).astype(np.int64)
        findings = self.judgement.findings
        return Outcome(
            None, (ReasonCode.PERTURBED,), states, findings, self.judgement, noisy=NoisyAnswer(noisy, release)
        )

    def held(self, consequence: Consequence, code: ReasonCode) -> Outcome:
        """Nothing leaves."""
        nothing = np.full(len(self.facts), State.ABSENT, dtype=np.int64)
        return Outcome(consequence, (code,), nothing, self.judgement.findings, self.judgement)


def mixed(known: Knowledge, noise: Noise) -> bool:
    """Whether cells of the source were withheld, or left with other noise."""
    withheld = any(quantity.boxes.secret for quantity in known.quantities.values())
    return withheld or any(release.noise != noise.digest for release in known.noisy)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTogether:
    """All that left of a version of a source with noise, and what is known of it exactly."""

    tables: tuple[NoisyTable, ...]
    atoms: Atoms
    exact: tuple[Box, ...] = field(repr=False)
    """Boxes whose counts are known."""
    exact_sums: frozenset[str]
    """Measures of which sums are known."""
    dataset: Dataset

    @classmethod
    def of(
        cls, engine: Engine, dataset: Dataset, known: Knowledge, release: NoisyRelease | None = None
    ) -> "NoisyTogether":
        """What left, and what is about to."""
        before = tuple(table for earlier in known.noisy for table in earlier.tables)
        new = release.tables if release is not None else ()
        counts = known.of(COUNTS)
        exact = tuple(counts.boxes.within(set(counts.shapes.full)))
        variables = {name for table in (*before, *new) for name in table.table.variables()}
        variables |= {name for box in exact for name, _ in box}
        atoms = atoms_of(engine, dataset, tuple(sorted(variables)))
        sums = frozenset(quantity for quantity in known.quantities if quantity != COUNTS)
        return cls((*before, *new), atoms, exact, sums, dataset)

    def most_answers(self) -> int:
        """How many noisy figures of one kind any one record is in."""
        kinds: dict[str, list[BoxTable]] = {}
        for table in self.tables:
            kinds.setdefault(table.quantity, []).append(table.table)
        return max((int(answers_of(same, self.atoms).max(initial=0)) for same in kinds.values()), default=0)

    def unproved(self, noise: Noise) -> dict[int, BoolArray]:
        """Unsafe cells of which it is not shown that two values are possible, by the number of the table."""
        counts = [table for table in self.tables if not table.of_sums]
        sums = [table for table in self.tables if table.of_sums]
        room = room_of_counts(counts, self.atoms, noise.table)
        may = movable(room, self.atoms, self.exact, self._alone, self._with_sums)
        found = {}
        for number, table in enumerate(self.tables):
            cells = table.unsafe & table.left
            if not cells.any():
                continue
            if table.of_sums:
                cells = self._sums_without_witness(table, sums, noise)
            else:
                cells &= ~(within_reach(table, self.atoms, may.astype(np.float64)) > 0)
                if self.exact:
                    # Who comes into a cell as another one of it goes leaves its count as it is.
                    cells |= self._counts_that_stay(table, room, table.unsafe & table.left & ~cells)
            if cells.any():
                found[number] = cells
        return found

    @property
    def _alone(self) -> bool:
        """Whether every unit has one record."""
        return self.dataset.records_per_unit == 1

    @property
    def _with_sums(self) -> bool:
        """Whether sums left, or are known."""
        return bool(self.exact_sums) or any(table.of_sums for table in self.tables)

    def _counts_that_stay(self, table: NoisyTable, room: Room, cells: BoolArray) -> BoolArray:
        """Of some cells those whose count may not change beside what is known exactly."""
        found, having = np.zeros_like(cells), self.atoms.cells_of(table.table)
        for cell in np.flatnonzero(cells).tolist():
            inside = (having == cell).any(axis=1)
            may = movable(room, self.atoms, self.exact, self._alone, self._with_sums, inside)
            found[cell] = not may.any()
        return found

    def _sums_without_witness(self, table: NoisyTable, sums: list[NoisyTable], noise: Noise) -> BoolArray:
        unsafe = table.unsafe & table.left
        if noise.sums is None or table.quantity in self.exact_sums:
            return unsafe
        measure = self.dataset.measure(table.quantity)
        same = [other for other in sums if other.quantity == table.quantity]
        signed = measure.lower_bound is None or measure.lower_bound < 0
        room = room_of_sums(same, self.atoms, noise.sums.most, signed)
        # The largest contribution is no more than this; so are all that may be more.
        largest = table.reach / (DEVIATIONS * noise.sums.shares[0])
        # Nobody has a tenth of a visit more.
        unit = 10.0**-measure.decimals
        width = in_multiples(table.width, unit)
        rises = largest + width <= (np.inf if measure.upper_bound is None else measure.upper_bound)
        unsafe = unsafe & ~(rises & (within_reach(table, self.atoms, room.more) >= width))
        if measure.lower_bound is None or measure.lower_bound == 0:
            # Where nothing is below 0 only the largest contribution surely can be less: it is in any atom.
            every = measure.lower_bound is not None
            unsafe = unsafe & ~(within_reach(table, self.atoms, room.less, every) >= width)
            if every and len(noise.sums.shares) == 1 and self._alone:
                # One visit more may be as much as there is, and then there is more noise as well.
                coarse = unsafe & rises & (width > table.width)
                unsafe = unsafe & ~self._largest_rises(table, same, coarse, largest, width, noise)
            if every:
                # A sum of 0.7 visits is one visit: neither none nor two have such noise.
                alone = only_multiple(table.noisy, unit, noise.sums.most)
                unsafe = unsafe | (table.unsafe & table.left & alone)
        return unsafe

    def _largest_rises(
        self,
        table: NoisyTable,
        same: Sequence[NoisyTable],
        cells: BoolArray,
        largest: FloatArray,
        width: FloatArray,
        noise: Noise,
    ) -> BoolArray:
        """Of some cells those whose largest contribution may be more, in whichever atom it is."""
        share = noise.sums.most if noise.sums is not None else 0.0
        found = np.zeros(len(cells), dtype=np.bool_)
        for one, more in {(float(largest[cell]), float(width[cell])) for cell in np.flatnonzero(cells)}:
            alike = cells & (largest == one) & (width == more)
            may = largest_may_rise(same, self.atoms, one, more, share).astype(np.float64)
            found |= alike & (within_reach(table, self.atoms, may, every=True) > 0)
        return found


def atoms_of(engine: Engine, dataset: Dataset, variables: tuple[str, ...]) -> Atoms:
    """The combinations of codes that occur, with codes as boxes have them: places among those that occur."""
    codes, records = engine.occurring_codes(dataset, variables)
    places = [
        column if name.startswith(MEASURE_PREFIX) else _places(dataset.occurring(name))[column]
        for name, column in zip(variables, codes.T, strict=True)
    ]
    gathered = np.array(places, dtype=np.int64).reshape(len(variables), len(codes)).T
    return Atoms(variables, gathered, records)


def _places(occurring: int) -> IntArray:
    """For each code how many of the codes before it occur."""
    bits = np.array([occurring >> code & 1 for code in range(occurring.bit_length())], dtype=np.int64)
    return np.cumsum(bits) - bits
