"""Many withheld cells tried at once: tables that move as many as possible of those not yet proved.

Directions vary from one table to the next, so that few tables prove most of a pattern. Whether what is left
is too narrow a sweep does not say.
"""

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.tables.directions import directions
from sdcgate.methods.tables.quantities import SUMS
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.solver import Deadline

SWEEPS = 12
STALE = 3
"""Tables of sums in a row that prove nothing new, after which no more are sought."""


def sweep(search: Search, deadline: Deadline) -> None:
    """Find tables that move as many cells as possible by their width at once."""
    _sweep_counts(search, deadline)
    for measure in search.measures:
        _sweep_sums(search, measure, deadline)


def _sweep_counts(search: Search, deadline: Deadline) -> None:
    """Tables that lie a width apart in as many counts as possible, integers where vertices are none."""
    model, width = search.model(*search.counts), float(search.problem.count_width)
    rows, bounds, whole = list(search.counts), model.bounds(), False
    for turn in range(SWEEPS):
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
            return


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


def _sweep_sums(search: Search, measure: int, deadline: Deadline) -> None:
    """Tables with the true counts and other sums."""
    model, steps = search.model(SUMS + measure), search.sum_steps(measure)
    bounds, stale = model.bounds(), 0
    for turn in range(SWEEPS):
        wanted = search.narrow()[SUMS + measure][model.cells]
        if not wanted.any() or stale >= STALE or deadline.over:
            return
        side = search.required.sides(search.highest, search.lowest)[SUMS + measure][model.cells]
        aims = np.where(wanted, np.where(side != 0, side, directions(len(wanted), turn)), 0.0)
        values = model.reach(aims, steps, bounds, deadline)
        found = values is not None and search.enter(model, values, deadline)
        stale = 0 if found else stale + 1
