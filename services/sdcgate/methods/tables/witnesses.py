"""Witnesses of a pattern's protection, and their verification without a solver.

A witness is a complete table that agrees with everything the intruder knows, so that he cannot tell it from
the true one. A withheld cell is proved to be wide enough by two of them that lie far enough apart in it.
Whoever has the true table can check this by addition, and need not trust whoever found the witnesses.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.problem import MOST_RECORDS, SMALLEST_WIDTH, Problem, units_agree
from sdcgate.methods.tables.quantities import quantities_of

MOST_TABLES = 100_000
ROUNDING = 1e-3 * SMALLEST_WIDTH
"""By how much a witness's sums may miss an equation or a bound, as a share of the largest unknown sum.

It is far below the least width of a withheld sum, so that no cell can be proved by rounding.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Witnesses:
    """Complete tables, told by the cells that are not known; all others are as in the true table.

    `cells` are positions, shape (k,); `records` and `units` have shape (tables, k), `sums` shape
    (measures, tables, k). The true table is a witness always and need not be among them.
    """

    cells: IntArray = field(repr=False)
    records: IntArray = field(repr=False)
    units: IntArray = field(repr=False)
    sums: FloatArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Witnesses written out in full: records and units (tables, cells), sums (measures, tables, cells)."""

    records: IntArray = field(repr=False)
    units: IntArray = field(repr=False)
    sums: FloatArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.records)

    def joined(self, others: "Tables") -> "Tables":
        """These tables, then others."""
        return Tables(
            np.concatenate([self.records, others.records]),
            np.concatenate([self.units, others.units]),
            np.concatenate([self.sums, others.sums], axis=1),
        )

    def chosen(self, which: BoolArray | IntArray) -> "Tables":
        """Some of the tables; `which` are flags, shape (tables,), or positions."""
        return Tables(self.records[which], self.units[which], self.sums[:, which])


def no_witnesses(problem: Problem) -> Witnesses:
    """Nothing but the true table."""
    cells, tables = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int64)
    return Witnesses(cells, tables, tables, np.zeros((len(problem.facts.measures), 0, 0)))


def no_tables(problem: Problem) -> Tables:
    """No table but the true one."""
    none = np.zeros((0, len(problem.facts)), dtype=np.int64)
    return Tables(none, none, np.zeros((len(problem.facts.measures), 0, len(problem.facts))))


def verify(problem: Problem, withheld: BoolArray, witnesses: Witnesses) -> BoolArray:
    """Withheld cells that the witnesses do not prove to be wide enough, shape (cells,); all False is proof.

    If any witness is malformed or disagrees with anything known, none counts and every withheld cell is
    returned. A withheld cell that is known can never be proved, nor can any where a measure has no bound.
    Never raises: a pattern that cannot be read is returned as unproved in every cell of the table.
    """
    everything = np.ones(len(problem.facts), dtype=np.bool_)
    if (
        not isinstance(withheld, np.ndarray)
        or withheld.dtype != np.bool_
        or withheld.shape != everything.shape
    ):
        return everything
    try:
        tables = _written_out(problem, witnesses)
        if tables is None or not bool(np.all(agreeing(problem, withheld, tables))):
            return withheld.copy()
        return withheld & ~proved_cells(problem, withheld, tables)
    except Exception:
        # Whatever it was that could not be read, it proves nothing.
        return withheld.copy()


def proved_cells(problem: Problem, withheld: BoolArray, tables: Tables) -> BoolArray:
    """Withheld cells in which two of the tables, the true one among them, lie far enough apart."""
    proved: BoolArray = withheld & ~problem.wholly_known
    if problem.unbounded(withheld) or np.any(problem.facts.units < problem.floors(withheld)):
        return np.zeros_like(proved)
    for narrow in too_narrow(problem, withheld, tables):
        proved = proved & ~narrow
    return proved


def too_narrow(problem: Problem, withheld: BoolArray, tables: Tables) -> BoolArray:
    """Where the tables lie too close together: a row for records, for units, and for each measure.

    Shape (2 + measures, cells). Units are never too close where they follow the records.
    """
    narrow: BoolArray = required(problem, withheld).unmet(*reach(problem, tables)) & withheld
    return narrow


@dataclass(frozen=True, slots=True, eq=False)
class Required:
    """What tables must reach: records, units, each measure; shape (2 + measures, cells) each."""

    widths: FloatArray = field(repr=False)
    """How far apart two of them must lie."""
    above: FloatArray = field(repr=False)
    """How far above the true one some must lie."""
    below: FloatArray = field(repr=False)
    """How far below it some must lie."""

    @property
    def farthest(self) -> FloatArray:
        """As far as any table need go, up or down."""
        return np.maximum(self.widths, np.maximum(self.above, self.below))

    def sides(self, highest: FloatArray, lowest: FloatArray) -> FloatArray:
        """1 where tables lack a level above the true one only, -1 where below it only, 0 elsewhere."""
        lack: FloatArray = (highest < self.above).astype(np.float64) - (-lowest < self.below)
        return lack

    def unmet(self, highest: FloatArray, lowest: FloatArray) -> BoolArray:
        """Where tables that reach so far above and below the true one do not suffice."""
        unmet: BoolArray = (highest - lowest < self.widths) | (highest < self.above) | (-lowest < self.below)
        return unmet


def required(problem: Problem, withheld: BoolArray) -> Required:
    """What is required of each quantity of each cell, were it withheld.

    Nothing is required of a quantity that is known from elsewhere: what is withheld is the others. Levels up
    to a public bound are met by what rounding leaves of them.
    """
    counts = np.full((2, len(problem.facts)), float(problem.count_width))
    if problem.units_follow:
        counts[1] = 0.0
    unknown, known = problem.unknown(withheld), problem.known_quantities
    widths = np.concatenate([counts, problem.sum_widths(unknown)])
    sides = []
    for levels in (problem.upper_levels, problem.lower_levels):
        side = np.zeros_like(widths)
        if levels is not None:
            scales = [problem.scale(measure, unknown) for measure in range(len(levels))]
            side[2:] = np.maximum(levels - SMALLEST_WIDTH * np.array(scales)[:, None], 0.0)
        sides.append(np.where(known, 0.0, side))
    return Required(np.where(known, 0.0, widths), *sides)


def reach(problem: Problem, tables: Tables) -> tuple[FloatArray, FloatArray]:
    """Greatest and least deviation from the true table, itself among them; (2 + measures, cells) each."""
    truth = (problem.facts.records, problem.facts.units, *true_sums(problem))
    found = (tables.records, tables.units, *tables.sums)
    ends = np.zeros((2, len(truth), len(problem.facts)))
    for row, (values, true) in enumerate(zip(found, truth, strict=True)):
        if len(values):
            ends[:, row] = np.maximum(values.max(axis=0) - true, 0), np.minimum(values.min(axis=0) - true, 0)
    return ends[0], ends[1]


def agreeing(problem: Problem, withheld: BoolArray, tables: Tables) -> BoolArray:
    """Which tables agree with everything that is known under a pattern, shape (tables,)."""
    records, units = tables.records, tables.units
    known = ~problem.unknown_quantities(withheld)
    agree = np.all((records == problem.facts.records)[:, known[0]], axis=1)
    agree &= np.all((units == problem.facts.units)[:, known[1]], axis=1)
    agree &= np.all(problem.equations.residuals(records - problem.facts.records) == 0, axis=1)
    agree &= np.all(units >= problem.floors(withheld), axis=1)
    agree &= np.all((units <= records) & (records <= problem.most_in_cells * units), axis=1)
    if problem.units_follow:
        agree &= np.all(units == records, axis=1)
    else:
        agree &= units_agree(problem, units)
    for measure in range(len(problem.facts.measures)):
        scale = problem.scale(measure, problem.unknown(withheld))
        agree &= _sums_agree(problem, measure, known[2 + measure], records, tables.sums[measure], scale)
    if len(problem.told):
        agree &= _as_published(problem, withheld, tables)
    result: BoolArray = agree
    return result


def _as_published(problem: Problem, withheld: BoolArray, tables: Tables) -> BoolArray:
    """Which tables agree with published ratios, rounded values and bounds of cells, shape (tables,).

    Hidden sums may miss them by what they may miss an equation by; counts by nothing.
    """
    told, truths = problem.told, quantities_of(problem.facts)
    values = np.concatenate([np.array([tables.records, tables.units], dtype=np.float64), tables.sums])
    scales = np.zeros(len(truths))
    for measure in range(len(problem.facts.measures)):
        scales[2 + measure] = ROUNDING * problem.scale(measure, problem.unknown(withheld))
    hidden = problem.unknown_quantities(withheld)[told.quantities, told.cells]
    blurs = np.abs(told.factors) * scales[told.quantities] * hidden
    room = told.blur(truths) + np.add.reduceat(blurs, told.starts)
    fall, rise = told.room(truths)
    moved = told.totals(values - truths[:, None])
    agree: BoolArray = np.all((moved >= fall - room) & (moved <= rise + room), axis=1)
    return agree


def agreeing_tables(problem: Problem, withheld: BoolArray, witnesses: Witnesses) -> Tables:
    """The witnesses that agree with all that is known under a pattern; none if they are malformed."""
    tables = _written_out(problem, witnesses)
    return no_tables(problem) if tables is None else tables.chosen(agreeing(problem, withheld, tables))


def _sums_agree(
    problem: Problem, measure: int, known: BoolArray, records: IntArray, sums: FloatArray, scale: float
) -> BoolArray:
    """Which tables' sums of one measure add up, keep its bounds and are as known, shape (tables,).

    Additions are checked on the differences from the true table, so that great known sums do not blur them.
    """
    facts = problem.facts.measures[measure]
    room = ROUNDING * scale
    valid = records - problem.missing(measure)
    agree: BoolArray = np.all((sums == facts.sums)[:, known], axis=1) & np.all(valid >= 0, axis=1)
    left = problem.sum_equations[measure].residuals(sums - facts.sums)
    agree &= np.all(np.abs(left) <= room, axis=1)
    # A sum over no records is zero, whatever the bounds.
    agree &= np.all((valid > 0) | (np.abs(sums) <= room), axis=1)
    with np.errstate(over="ignore"):
        # A bound beyond what a float holds is infinite: it excludes nothing.
        if facts.lower_bound is not None:
            agree &= np.all(sums >= facts.lower_bound * valid - room, axis=1)
        if facts.upper_bound is not None:
            agree &= np.all(sums <= facts.upper_bound * valid + room, axis=1)
    return agree


def _written_out(problem: Problem, witnesses: Witnesses) -> Tables | None:
    """The witnesses as complete tables; None if they are malformed."""
    columns = (np.asarray(a) for a in (witnesses.cells, witnesses.records, witnesses.units))
    cells, records, units = columns
    sums = np.asarray(witnesses.sums, dtype=np.float64)
    facts = problem.facts
    shape = (len(records), len(cells))
    whole = all(counts.dtype.kind in "iu" for counts in (cells, records, units))
    fits = records.shape == units.shape == shape and sums.shape == (len(facts.measures), *shape)
    if not (whole and fits) or len(records) > MOST_TABLES:
        return None
    inside = bool(np.all((cells >= 0) & (cells < len(facts)))) and len(np.unique(cells)) == len(cells)
    # Within these limits no sum can overflow.
    sane = bool(np.all((records >= 0) & (records <= MOST_RECORDS) & (units >= 0) & (units <= MOST_RECORDS)))
    if not (inside and sane and bool(np.all(np.isfinite(sums)))):
        return None
    full = Tables(
        np.tile(facts.records, (len(records), 1)),
        np.tile(facts.units, (len(records), 1)),
        np.tile(true_sums(problem)[:, None, :], (1, len(records), 1)),
    )
    full.records[:, cells], full.units[:, cells], full.sums[:, :, cells] = records, units, sums
    return full


def true_sums(problem: Problem) -> FloatArray:
    """True sums of all measures, shape (measures, cells)."""
    measures = problem.facts.measures
    return np.array([m.sums for m in measures], dtype=np.float64).reshape(len(measures), len(problem.facts))


def needed(problem: Problem, withheld: BoolArray, tables: Tables) -> Tables:
    """The tables without those that prove nothing the others do not prove, the first ones left out first.

    What a table adds is told from how far the others reach together. Halves are looked at for that, so that
    many tables take little more than a few, and one that adds nothing is left out whole.
    """
    wanted = required(problem, withheld)
    lacking = wanted.unmet(*reach(problem, tables)) & withheld
    kept = np.ones(len(tables), dtype=np.bool_)

    def thin(first: int, last: int, highest: FloatArray, lowest: FloatArray) -> None:
        """Leave out what the others, which reach so far, can do without of the tables from first to last."""
        if np.array_equal(wanted.unmet(highest, lowest) & withheld, lacking):
            kept[first:last] = False
        elif last - first > 1:
            halves = (first, (first + last) // 2), ((first + last) // 2, last)
            for half, other in (halves, halves[::-1]):
                others = np.arange(*other)
                above, below = reach(problem, tables.chosen(others[kept[others]]))
                thin(*half, np.maximum(highest, above), np.minimum(lowest, below))

    thin(0, len(tables), *reach(problem, no_tables(problem)))
    return tables.chosen(kept)


def as_witnesses(problem: Problem, withheld: BoolArray, tables: Tables) -> Witnesses:
    """Tables told by their unknown cells."""
    cells = np.flatnonzero(problem.unknown(withheld))
    return Witnesses(cells, tables.records[:, cells], tables.units[:, cells], tables.sums[:, :, cells])
