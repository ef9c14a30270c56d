"""Between what a table's counts lie as all that has left says, so that its pattern reckons with it."""

from dataclasses import replace

import numpy as np

from sdcgate.facility.knowledge import KnownQuantity, ReleasedTable
from sdcgate.facility.panels import panel_of
from sdcgate.facility.plan import Plan
from sdcgate.methods.tables.apriori_bounds import apriori_bounds
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.published_figures import CellBounds, FactOfCells
from sdcgate.methods.tables.quantities import RECORDS, UNITS, quantities_of


def with_bounds(problem: Problem, counts: ReleasedTable, known: KnownQuantity, plan: Plan) -> Problem:
    """A problem in which bounds of single cells are known that are less than its width from the truth.

    Others keep no withheld count from being as much less or more. They are not what makes an answer safe:
    that is the joint audit of exactly what would leave, which knows of all that left.
    """
    full = {**known.shapes.full, **counts.table.full}
    fixed, panel = dict(counts.table.fixed), panel_of(plan.dataset)
    bounds = apriori_bounds(counts.boxes, fixed, known.boxes, panel, full)
    truths = quantities_of(problem.facts)
    below, above = bounds.closer_than(problem.count_width, truths[[RECORDS, UNITS]])
    found = list[CellBounds]()
    for quantity in (RECORDS, UNITS):
        cells = np.flatnonzero(below[quantity] | above[quantity])
        if len(cells):
            lower = np.where(below[quantity], bounds.lower[quantity], -np.inf)[cells]
            upper = np.where(above[quantity], bounds.upper[quantity], np.inf)[cells]
            path = f"cell_bounds[{len(found)}]"
            found.append(CellBounds(FactOfCells(quantity, cells), lower, upper, path))
    return replace(problem, published=(*problem.published, *found)) if found else problem
