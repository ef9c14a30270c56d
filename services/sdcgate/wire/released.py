"""Changed values of a table that have left already, between messages and arrays."""

from typing import Any

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.wire.problems import FieldProblem, Problems
from sdcgate.wire.protection import TableToProtect
from sdcgate.wire.tables import floats, positions


def released_from_message(released: Any, values: Any, table: TableToProtect, path: str) -> FloatArray | None:
    """Values that have left, NaN where none has, shape (cells,); None where none is named.

    `path` is the method's. Raises InvalidMessageError for positions outside of the table, and for values that
    are not finite or not one a position.
    """
    if not released and not values:
        return None
    count = len(table.problem.facts)
    problems = Problems()
    cells = problems.of(positions, released, count, f"{path}.released", table.order)
    left = floats(values)
    if len(left) != len(released):
        text = f"must have {len(released)} values, one for each of `released`, not {len(left)}"
        problems.found.append(FieldProblem(f"{path}.released_values", text))
    if not np.all(np.isfinite(left)):
        problems.found.append(FieldProblem(f"{path}.released_values", "must be finite"))
    problems.check()
    found = np.full(count, np.nan)
    found[cells] = left
    return found
