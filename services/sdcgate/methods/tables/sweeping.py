"""Many withheld cells tried at once: tables that move as many as possible of those not yet proved.

Directions vary from one table to the next, so that few tables prove most of a pattern. Whether what is left
is too narrow a sweep does not say. Of large patterns a part is swept after the other, and what is withheld
elsewhere stands still: a program of 60,000 cells takes a hundred times as long as ten of 6,000 together. What
parts do at the same turn makes one table.
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray, shape_of
from sdcgate.methods.tables.directions import directions
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.quantities import SUMS
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.witnesses import Tables, agreeing, no_tables, true_sums

SWEEPS = 12
LARGEST_PART = 5_000
"""Withheld cells that are swept at once; measured: from 4,000 to 16,000 it takes the same."""
SWEEPS_OF_PARTS = 24
"""Of a part, whose cells are small: few of a line can rise at once, as the others pay for it."""
STALE = 3
"""Tables of sums in a row that prove nothing new, after which no more are sought."""


def sweep(search: Search, deadline: Deadline, sums: bool = True) -> None:
    """Find tables that move as many cells as possible by their width at once; of counts only if told."""
    if search.withheld.sum() > LARGEST_PART:
        _sweep_parts(search, deadline, sums)
    else:
        _sweep_whole(search, deadline, sums, SWEEPS)


def _sweep_whole(search: Search, deadline: Deadline, sums: bool, most: int) -> None:
    """Sweep all of a pattern at once, no more than so often."""
    _sweep_counts(search, deadline, most)
    for measure in search.measures if sums else ():
        _sweep_sums(search, measure, deadline, most)


def _sweep_parts(search: Search, deadline: Deadline, sums: bool) -> None:
    """Sweep a large pattern part by part."""
    narrow = np.logical_or.reduce(search.narrow(), axis=0)
    found = []
    for part in _parts(search.problem, search.withheld):
        if (narrow & part).any():
            own = Search(search.problem, part, no_tables(search.problem))
            own.highest, own.lowest = search.highest.copy(), search.lowest.copy()
            _sweep_whole(own, deadline, sums, SWEEPS_OF_PARTS)
            found.append(own.tables)
    for turn in range(max(map(len, found), default=0)):
        moved = [tables.chosen(np.array([turn])) for tables in found if turn < len(tables)]
        together = _together(search.problem, moved)
        alike = agreeing(search.problem, search.withheld, together).all()
        for tables in [together] if alike else moved:
            search.add(tables)


def _parts(problem: Problem, withheld: BoolArray) -> list[BoolArray]:
    """Parts of a pattern of about the same size, shape (cells,) each: blocks of codes of the longest axis.

    Lines along all other axes stay whole. Totals along it are in every part, as parts could not move without
    those that are withheld.
    """
    places, total = _along_longest(problem)
    cells = np.flatnonzero(withheld & ~total)
    cells = cells[np.argsort(places[cells], kind="stable")]
    size = max(LARGEST_PART // 2, LARGEST_PART - int((withheld & total).sum()))
    parts = []
    for own in np.array_split(cells, 1 + len(cells) // size):
        part = withheld & total
        part[own] = True
        parts.append(part)
    return parts


def _along_longest(problem: Problem) -> tuple[IntArray, BoolArray]:
    """Place of each cell along the longest axis, and whether it is a total along that one, shape (cells,).

    Without axes the cells are taken as they come.
    """
    cells = np.arange(len(problem.facts))
    if not problem.axes:
        return cells, np.isin(cells, problem.relations.parents)
    shape = shape_of(problem.axes)
    longest = int(np.argmax(shape))
    places: IntArray = np.unravel_index(cells, shape)[longest]
    return places, np.isin(places, problem.axes[longest].parents)


def _together(problem: Problem, moved: list[Tables]) -> Tables:
    """One table that moves as several do together."""
    facts, truth = problem.facts, true_sums(problem)[:, None]
    return Tables(
        facts.records + np.sum([one.records - facts.records for one in moved], axis=0),
        facts.units + np.sum([one.units - facts.units for one in moved], axis=0),
        truth + np.sum([one.sums - truth for one in moved], axis=0),
    )


def _sweep_counts(search: Search, deadline: Deadline, most: int) -> None:
    """Tables that lie a width apart in as many counts as possible, integers where vertices are none.

    First of counts beside which sums may stay as they are: a cell that has nobody leaves its sum to others,
    and where many do at once there are seldom sums that fit.
    """
    model, width = search.model(*search.counts), float(search.problem.count_width)
    rows, whole, free = list(search.counts), False, not search.measures
    bounds = model.bounds() if free else model.beside_true_sums()
    for turn in range(most):
        wanted = search.narrow()[rows][:, model.cells]
        if not wanted.any() or deadline.over:
            return
        # Records and units go the same way, as far as tables found already do not reach.
        way = directions(model.size, turn)
        highest, lowest = search.highest[rows][:, model.cells], search.lowest[rows][:, model.cells]
        aims = np.where(wanted, way, 0.0).reshape(-1)
        left = np.where(way > 0, width + lowest, width - highest).reshape(-1)
        left = np.where(aims != 0, left, width)
        progress = _swept(search, aims, left, bounds, whole, deadline)
        if progress == 0 and not whole:
            whole = True
            progress = _swept(search, aims, left, bounds, whole, deadline)
        if progress < width * len(rows):
            if free:
                return
            bounds, free = model.bounds(), True


def _swept(
    search: Search,
    aims: FloatArray,
    widths: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    whole: bool,
    deadline: Deadline,
) -> float:
    """Enter the table that goes farthest as it is aimed; returns how much wider narrow counts are."""
    model, before = search.model(*search.counts), search.spread()
    moved = model.reach(aims, widths, bounds, deadline, whole)
    if moved is not None:
        search.enter(model, moved, deadline)
    return search.spread() - before


def _sweep_sums(search: Search, measure: int, deadline: Deadline, most: int) -> None:
    """Tables with the true counts and other sums."""
    model, steps = search.model(SUMS + measure), search.sum_steps(measure)
    bounds, stale = model.bounds(), 0
    for turn in range(most):
        wanted = search.narrow()[SUMS + measure][model.cells]
        if not wanted.any() or stale >= STALE or deadline.over:
            return
        side = search.required.sides(search.highest, search.lowest)[SUMS + measure][model.cells]
        aims = np.where(wanted, np.where(side != 0, side, directions(len(wanted), turn)), 0.0)
        values = model.reach(aims, steps, bounds, deadline)
        found = values is not None and search.enter(model, values, deadline)
        stale = 0 if found else stale + 1
