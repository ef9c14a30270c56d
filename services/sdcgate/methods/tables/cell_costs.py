"""What it costs to withhold each cell: kinds of cost by name.

Frequency, one for each cell, a magnitude and the distance from what has to be withheld are the kinds of
tau-ARGUS (COST_FREQ, COST_UNITY, COST_RESPONSE, COST_DIST), each to a power (its lambda). How codes of a
classification lie apart is told below, and is ours.
"""

from enum import IntEnum

import numpy as np

from sdcgate.methods.cells import Axis, BoolArray, Facts, FloatArray, IntArray, shape_of


class CostKind(IntEnum):
    """What a cell is charged by; the numbers are the wire's."""

    RECORDS = 1
    UNIT = 2
    VALUE = 3
    DISTANCE = 4


def cell_costs(
    kind: CostKind,
    axes: tuple[Axis, ...],
    facts: Facts,
    unsafe: BoolArray,
    measure: int = 0,
    power: float = 1.0,
) -> FloatArray:
    """Costs of one kind to a power, all above 0, shape (cells,).

    RECORDS are the records and one; UNIT one; VALUE the absolute sum of a measure, counted in thousandths of
    the mean one, and one at least, so that empty cells are not free; DISTANCE one and how far the nearest
    unsafe cell is. Raises ValueError if the facts have no such measure.
    """
    if kind is CostKind.VALUE:
        if not 0 <= measure < len(facts.measures):
            raise ValueError("the facts have no such measure")
        sizes = np.abs(facts.measures[measure].sums)
        least = float(sizes.mean()) / 1000 or 1.0
        costs = np.maximum(sizes / least, 1.0)
    elif kind is CostKind.DISTANCE:
        costs = 1 + distances_to(axes, unsafe).astype(np.float64)
    elif kind is CostKind.UNIT:
        costs = np.ones(len(facts))
    else:
        costs = facts.records.astype(np.float64) + 1
    powered: FloatArray = costs**power
    return powered


def distances_to(axes: tuple[Axis, ...], cells: BoolArray) -> IntArray:
    """How far the nearest of some cells is from each, shape (cells,): the sum over the classifications.

    0 everywhere if there are none. What is nearest is found along one axis after the other, as sums allow.
    """
    shape = shape_of(axes)
    if not cells.any():
        return np.zeros(len(cells), dtype=np.int64)
    apart = [code_distances(axis) for axis in axes]
    far = 1 + sum(int(one.max(initial=0)) for one in apart)
    nearest = np.where(cells, 0, far).reshape(shape)
    for place, one in enumerate(apart):
        lines = np.moveaxis(nearest, place, 0).reshape(shape[place], -1)
        moved = np.stack([(one[code][:, None] + lines).min(axis=0) for code in range(shape[place])])
        others = (*shape[:place], *shape[place + 1 :])
        nearest = np.moveaxis(moved.reshape(shape[place], *others), 0, place)
    found: IntArray = nearest.reshape(-1)
    return found


def code_distances(axis: Axis) -> IntArray:
    """How far any two codes lie apart, shape (codes, codes).

    Parts of one code lie as far apart as they stand in its order. A code is as far from each of its parts as
    it has parts: it tells as much as all of them. Others go by way of these.
    """
    count = len(axis.codes)
    apart = np.full((count, count), np.iinfo(np.int64).max // 4, dtype=np.int64)
    np.fill_diagonal(apart, 0)
    roots = np.array([code for code, above in enumerate(axis.parents) if above < 0], dtype=np.int64)
    for code, parts in [*axis.parts(), (-1, roots)]:
        order = np.arange(len(parts))
        apart[np.ix_(parts, parts)] = np.abs(order[:, None] - order)
        if code >= 0:
            apart[code, parts] = apart[parts, code] = len(parts)
    for by in range(count):
        np.minimum(apart, apart[:, by, None] + apart[by], out=apart)
    return apart
