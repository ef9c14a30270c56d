"""What `sdcgate protect` does: a table counted from records, protected, proved, summed up and written."""

import csv
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

import numpy as np

from sdcgate.cli.linked_tables import withhold
from sdcgate.cli.released_tables import released_values
from sdcgate.engine.counted_table import CountedTable, count_table
from sdcgate.methods.cells import Axis, BoolArray, Facts, FloatArray, KeyArray, cell_codes
from sdcgate.methods.tables.adjusting import Adjustment, with_adjustment
from sdcgate.methods.tables.adjustment import AdjustedTable
from sdcgate.methods.tables.adjustment_demands import Demands, Weighting
from sdcgate.methods.tables.controlled_rounding import Found
from sdcgate.methods.tables.perturbation import (
    CellKeys,
    Perturbed,
    Rounding,
    RoundingKind,
    with_cell_keys,
    with_rounding,
)
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.ptable import NoiseParameters, PTable, ptable
from sdcgate.methods.tables.ptable_checks import ptable_from_csv
from sdcgate.methods.tables.rounding import Intervals
from sdcgate.methods.tables.utility import Utility

WITHHOLD, CELL_KEYS, RANDOM = "withhold", "cell-keys", "random"
CONTROLLED, ADJUSTMENT = "controlled", "adjustment"
MOST_NAMED = 5
"""Cells that a message names."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of `sdcgate protect`.

    `noise` is D, V, js and p_stay, `ptable` the text of a CSV, `most_change` and `margin_share` the most
    by which a count, and a total as a share of it, may change in an adjustment.
    """

    by: tuple[str, ...]
    also_by: tuple[tuple[str, ...], ...]
    unit: str
    minimum: int
    method: str
    base: int
    noise: tuple[int, float, int, tuple[float, ...]]
    ptable: str
    secret: bytes | None = field(repr=False)
    released: tuple[Path, ...]
    weighting: str
    most_change: float | None
    margin_share: float | None
    delimiter: str
    exact: bool
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class ProtectedTable:
    """A table as it may be published: values with withheld cells, or intervals."""

    axes: tuple[Axis, ...]
    counts: str
    values: FloatArray | None = field(repr=False)
    intervals: Intervals | None = field(repr=False)
    withheld: BoolArray = field(repr=False)
    proof: Proof
    unsafe: int
    unprotected: int
    utility: Utility | None = field(default=None, repr=False)
    steps: int = 0
    adjusted: AdjustedTable | None = field(default=None, repr=False)
    pattern: Protection | None = field(default=None, repr=False)
    exact: bool = False
    others: tuple["ProtectedTable", ...] = field(default=(), repr=False)
    """Tables that were protected together with it."""

    @property
    def proved(self) -> bool:
        """Whether the unsafe counts are proved to be hidden."""
        return self.proof is Proof.PROVED


def protected_table(file: Path, asked: Asked) -> ProtectedTable:
    """Count a table and protect it. Raises ValueError for what cannot be done."""
    if asked.method == CELL_KEYS and asked.secret is None:
        raise ValueError("--method cell-keys needs --key-file and --unit")
    if asked.released and asked.method not in (CONTROLLED, ADJUSTMENT):
        raise ValueError("--released is for --method controlled and --method adjustment")
    if asked.method != WITHHOLD and (asked.exact or asked.also_by):
        raise ValueError("--exact and --with are for --method withhold")
    if asked.method == ADJUSTMENT and asked.minimum < 2:
        raise ValueError("--method adjustment needs a --minimum of 2 or more")
    secret = asked.secret if asked.method in (CELL_KEYS, RANDOM) else None
    counted = count_table(file, asked.by, asked.unit, secret, asked.delimiter)
    if asked.method == WITHHOLD:
        more = (count_table(file, by, asked.unit, None, asked.delimiter) for by in asked.also_by)
        return _withheld([counted, *more], asked)
    if not counted.units_additive and asked.method != CELL_KEYS:
        raise ValueError(
            "some units are in several cells, so that their counts do not add up: withhold, or use cell-keys"
        )
    problem = _problem(counted, asked.minimum)
    unsafe = _unsafe(counted, asked.minimum)
    counts = "units" if asked.unit else "records"
    if asked.method == CELL_KEYS:
        method = CellKeys(_keys(counted), _noise(asked))
        return _changed(problem, unsafe, with_cell_keys(problem, unsafe, method, asked.seconds, counts))
    released = released_values(counted.axes, asked.released) if asked.released else None
    if asked.method == ADJUSTMENT:
        adjusted = with_adjustment(problem, unsafe, _adjustment(asked, released), asked.seconds, counts)
        return _changed(problem, unsafe, adjusted)
    kind = RoundingKind[asked.method.replace("-", "_").upper()]
    rounding = Rounding(
        kind,
        asked.base,
        keys=_keys(counted) if kind is RoundingKind.RANDOM else None,
        released=released,
    )
    return _changed(problem, unsafe, with_rounding(problem, unsafe, rounding, asked.seconds, counts))


def _problem(counted: CountedTable, minimum: int) -> Problem:
    """Units that add up are counted like records; otherwise both are known."""
    records = counted.units if counted.units_additive else counted.records
    nothing = np.zeros(len(records), dtype=np.bool_)
    return Problem(
        axes=counted.axes,
        facts=Facts(units=counted.units, records=records),
        units_additive=counted.units_additive,
        count_width=minimum,
        sum_width=0.0,
        zeros_withheld=False,
        records_per_unit=1 if counted.units_additive else counted.records_per_unit,
        known=nothing,
        absent=nothing,
    )


def _keys(counted: CountedTable) -> KeyArray:
    """The cells' keys; without a secret they are drawn anew."""
    if counted.keys is not None:
        return counted.keys
    return np.frombuffer(os.urandom(8 * len(counted.units)), dtype=np.uint64)


def _adjustment(asked: Asked, released: FloatArray | None) -> Adjustment:
    demands = Demands(asked.most_change, asked.margin_share, released=released)
    return Adjustment(Weighting[asked.weighting], minimum=asked.minimum, demands=demands)


def _noise(asked: Asked) -> PTable:
    if asked.ptable:
        return ptable_from_csv(asked.ptable)
    return ptable(NoiseParameters(*asked.noise))


def _withheld(tables: Sequence[CountedTable], asked: Asked) -> ProtectedTable:
    """The first table, and with it the others that are protected together with it."""
    problems = [_problem(table, asked.minimum) for table in tables]
    unsafe = [_unsafe(table, asked.minimum) for table in tables]
    found = withhold(problems, unsafe, asked.seconds, asked.exact)
    first, *others = (
        ProtectedTable(
            axes=problem.axes,
            counts="units" if asked.unit else "records",
            values=problem.facts.units.astype(np.float64),
            intervals=None,
            withheld=pattern.withheld,
            proof=pattern.proof,
            unsafe=int(small.sum()),
            unprotected=int(pattern.unprotected.sum()),
            pattern=pattern,
            exact=asked.exact,
        )
        for pattern, problem, small in zip(found, problems, unsafe, strict=True)
    )
    return replace(first, others=tuple(others))


def _unsafe(counted: CountedTable, minimum: int) -> BoolArray:
    unsafe: BoolArray = (counted.units > 0) & (counted.units < minimum)
    return unsafe


def _changed(problem: Problem, unsafe: BoolArray, found: Perturbed) -> ProtectedTable:
    fact = found.facts[0] if found.facts else None
    return ProtectedTable(
        axes=problem.axes,
        counts=fact.fact if fact else "",
        values=fact.values if fact else None,
        intervals=fact.intervals if fact else None,
        withheld=np.zeros(len(unsafe), dtype=np.bool_),
        proof=found.proof if fact else Proof.UNPROVED,
        unsafe=int(unsafe.sum()),
        unprotected=int(found.unprotected.sum()),
        utility=fact.utility if fact else None,
        steps=found.rounded.steps if found.rounded else 0,
        adjusted=found.adjusted,
    )


def summary(found: ProtectedTable) -> str:
    """What was done, for the one who did it: it is computed from true counts and is not for publication."""
    lines = [
        *_of_others(found.others),
        f"{len(found.withheld)} cells, {found.unsafe} unsafe, {found.proof.name}"
        + (f": {found.unprotected} not shown to be hidden" if found.unprotected else ""),
    ]
    if found.withheld.any():
        lines.append(f"{int(found.withheld.sum())} cells are withheld{_nearness_of_pattern(found)}")
    if found.steps > 1:
        lines.append(f"No table within one base adds up: values are less than {found.steps} bases away.")
    if found.adjusted is not None:
        lines.append(_nearness(found.adjusted, found.axes))
    if found.utility is not None:
        cells, utility = found.utility.all_cells, found.utility
        lines.append(
            f"{cells.changed} cells change, by {cells.mean_absolute:.2f} on average and "
            f"{cells.largest_absolute:g} at most; bias {cells.bias:+.3f}; {int(utility.moved_margins.sum())} "
            f"totals move; {utility.broken_relations} of {utility.relations} sums no longer hold."
        )
    return "\n".join(lines)


def _of_others(tables: Sequence[ProtectedTable]) -> list[str]:
    """A line for each table that was protected with the first one."""
    return [
        f"With {', '.join(axis.variable for axis in table.axes)}: {len(table.withheld)} cells, "
        f"{table.unsafe} unsafe, {int(table.withheld.sum())} withheld"
        + (f", {table.unprotected} not shown to be hidden." if table.unprotected else ".")
        for table in tables
    ]


def _nearness_of_pattern(found: ProtectedTable) -> str:
    """How far the withheld cells may be from the cheapest ones, where that was asked."""
    pattern = found.pattern
    if pattern is None or not (found.exact and found.proved):
        return "."
    if pattern.optimal:
        return f": those beside the unsafe ones cost {pattern.price:g}, and no others cost less."
    return (
        f": those beside the unsafe ones cost {pattern.price:g}, no others less than "
        f"{pattern.least_price:g}, so that they may be {pattern.gap:.1%} too dear."
    )


def _nearness(adjusted: AdjustedTable, axes: tuple[Axis, ...]) -> str:
    """How near an adjusted table is, or why there is none."""
    match adjusted.found:
        case Found.OPTIMAL:
            return f"No table is nearer than this one: {adjusted.distance:g}."
        case Found.FEASIBLE:
            return (
                f"Its distance is {adjusted.distance:g}; no table is nearer than {adjusted.least_distance:g}."
            )
        case Found.INFEASIBLE:
            text = "There is no such table."
        case _:
            return "No such table was found in time: give more --seconds, or ask less."
    if adjusted.too_strict:
        text += f" Too strict: {', '.join(adjusted.too_strict)}."
    places = np.flatnonzero(adjusted.stuck)[:MOST_NAMED].tolist()
    if places:
        codes = cell_codes(axes).T
        names = [
            ", ".join(axis.codes[code] for axis, code in zip(axes, codes[place], strict=True))
            for place in places
        ]
        text += f" Cells that can go neither way: {'; '.join(names)}."
    return text


def write_table(found: ProtectedTable, out: Path | None) -> None:
    """Write the table as CSV, to standard output where no file is named.

    Tables that were protected with it follow after an empty line, or go to `NAME-2.csv` and so on.
    """
    for place, table in enumerate((found, *found.others)):
        if out is None:
            sys.stdout.write("\n" if place else "")
            _write(table, sys.stdout)
            continue
        file = out.with_stem(f"{out.stem}-{place + 1}") if place else out
        with file.open("w", encoding="utf-8", newline="") as opened:
            _write(table, opened)


def _write(found: ProtectedTable, stream: TextIO) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    names = [axis.variable for axis in found.axes]
    intervals = found.intervals
    writer.writerow([*names, *((found.counts,) if intervals is None else ("lower", "upper"))])
    for cell, codes in enumerate(cell_codes(found.axes).T.tolist()):
        where = [axis.codes[code] for axis, code in zip(found.axes, codes, strict=True)]
        if intervals is not None:
            shown = [f"{intervals.lower[cell]:.0f}", f"{intervals.upper[cell]:.0f}"]
        elif found.values is None or found.withheld[cell]:
            shown = [""]
        else:
            shown = [f"{found.values[cell]:.0f}"]
        writer.writerow([*where, *shown])
