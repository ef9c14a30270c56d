"""Tables of the same records in one scan: the cells of each are unions of those of all their dimensions."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.margins import CellArrays
from sdcgate.engine.queries import CellQuery
from sdcgate.engine.table_plan import TablePlan, cell_positions, plan_statements, plan_table
from sdcgate.methods.cells import shape_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_TOGETHER = 1000
"""Cells of all dimensions: with many more of them a scan takes longer than one for each table."""


def query_of_all(dataset: Dataset, queries: Sequence[CellQuery]) -> CellQuery | None:
    """The table with the dimensions of all; None where it is none or larger, or where its cells do not add.

    Units add where each has one record. Raises UnknownName.
    """
    first = queries[0]
    if len(queries) < 2 or any(replace(query, dimensions=first.dimensions) != first for query in queries):
        return None
    dimensions = tuple(dict.fromkeys(level for query in queries for level in query.dimensions))
    if len({variable for variable, _ in dimensions}) < len(dimensions):
        return None
    if prod(len(dataset.level(*level).codes) for level in dimensions) > MOST_TOGETHER:
        return None
    every = replace(first, dimensions=dimensions)
    adds = plan_statements(dataset, plan_table(dataset, every)) == [(0, "records and units")]
    return every if adds else None


def margin_of(
    rows: "pa.Table", every: CellQuery, dataset: Dataset, query: CellQuery, plan: TablePlan
) -> CellArrays:
    """The cells of one table, its totals aside, from the rows of the table with all dimensions.

    Integers are summed as the database sums them, so that the result is what a scan of its own tells.
    """
    widths = [len(dataset.level(*level).codes) for level in every.dimensions]
    numbers = rows["cell"].to_numpy()
    codes = np.unravel_index(numbers, widths or (1,))
    at = [every.dimensions.index(level) for level in query.dimensions]
    own = np.zeros(len(numbers), dtype=np.int64)
    for place in at:
        own = own * widths[place] + codes[place]
    cells, union = np.unique(own, return_inverse=True)
    order = np.argsort(union, kind="stable")
    parts = CellArrays((len(numbers),))
    parts.place(rows, [np.arange(len(numbers))], query.ranks)
    arrays = CellArrays((1, *shape_of(plan.axes)))
    arrays.put(parts.united(union[order], order, len(cells)), cell_positions(plan, 0, cells))
    return arrays
