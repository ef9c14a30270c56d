"""Measures that add up: whoever has the whole and all parts but one has the last part.

Found in the data where it holds to rounding in every record, or declared by the steward (`parts`) where it
nearly does.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sdcgate.engine.descriptor import Measure
from sdcgate.methods.cells import BoolArray, FloatArray

MOST_MEASURES = 100
"""So many are compared; beyond them only what is declared is known."""
NEARLY = 1e-5
"""A direction along which normalised values spread no more than so much may be a relation."""
RECORDS_EACH = 3
"""Fewer records a measure add up in some way by chance."""


def additive_measures(
    declared: Sequence[Measure], values: Mapping[str, FloatArray], valid: Mapping[str, BoolArray]
) -> tuple[tuple[str, ...], ...]:
    """Sets of measures of which any one follows from the others, each by name and all in order.

    `values` (records,) are those of each measure, `valid` (records,) who has it. A relation is one of the
    records that have all of its measures.
    """
    found = {tuple(sorted({one.name, *one.parts})) for one in declared if one.parts}
    names = [one.name for one in declared if one.name in values][:MOST_MEASURES]
    complete = np.all([valid[name] for name in names], axis=0) if names else np.zeros(0, dtype=np.bool_)
    if np.count_nonzero(complete) >= RECORDS_EACH * max(len(names), 1):
        steps = {one.name: 10.0**-one.decimals for one in declared}
        columns = np.column_stack([values[name][complete] for name in names])
        found |= _relations(names, columns, np.array([steps[name] for name in names]))
    return tuple(sorted(found))


def _relations(names: Sequence[str], columns: FloatArray, steps: FloatArray) -> set[tuple[str, ...]]:
    """Sets of columns that add up, up to the rounding of each, after they were weighted.

    Deviations from means do where the columns add up to a constant: of age and year of birth one is told by
    the other and the number of people.
    """
    columns = columns - columns.mean(axis=0)
    sizes = np.sqrt(np.square(columns).mean(axis=0))
    filled = np.flatnonzero(sizes > 0)
    scaled = columns[:, filled] / sizes[filled]
    spread, directions = np.linalg.eigh(scaled.T @ scaled / len(scaled))
    flat = directions[:, spread < NEARLY**2 * len(filled)].T
    found = set()
    for row in _reduced(flat):
        places = filled[np.abs(row) > NEARLY]
        if len(places) > 1 and _adds_up(columns[:, places], steps[places]):
            found.add(tuple(sorted(names[place] for place in places)))
    return found


def _reduced(rows: FloatArray) -> FloatArray:
    """The reduced row echelon form: each relation in as few measures as can be."""
    rows = rows.copy()
    for place in range(len(rows)):
        rest = np.abs(rows[place:])
        row, column = np.unravel_index(int(np.argmax(rest)), rest.shape)
        rows[[place, place + int(row)]] = rows[[place + int(row), place]]
        rows[place] /= rows[place, column]
        others = np.arange(len(rows)) != place
        rows[others] -= np.outer(rows[others, column], rows[place])
    return rows


def _adds_up(columns: FloatArray, steps: FloatArray) -> bool:
    """Whether the first column is a weighted sum of the others and a constant, but for rounding."""
    weights = np.linalg.lstsq(columns[:, 1:], columns[:, 0], rcond=None)[0]
    off = columns[:, 0] - columns[:, 1:] @ weights
    return bool(np.ptp(off) / 2 <= steps[0] + np.abs(weights) @ steps[1:])
