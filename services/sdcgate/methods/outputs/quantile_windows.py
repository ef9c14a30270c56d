"""The quantiles that a released quantile regression averages over.

The coefficients of one quantile are solved from as many records as it has parameters: with a dummy for each
category they are single records' values, as percentiles are. A percentile that leaves is the mean of a window
of units; so is the plane: the mean of the planes at quantiles one unit of the smallest category apart.
"""

from collections.abc import Sequence

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.design import Design, Indicator
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError
from sdcgate.methods.outputs.quantile_planes import Plane

NOTHING = 1e-9
"""Of the largest, smaller parts of a sum are rounding."""


def window(quantile: float, units: int, smallest: int) -> FloatArray:
    """So many quantiles about one, a unit of the smallest category apart, with as many units on either side.

    They lie halfway between its units, so that in each it is another one that the quantile is.

    ModelProblemError where the category has not units enough for that.
    """
    if units <= 1:
        return np.array([quantile])
    first = np.floor(quantile * smallest - (units - 1) / 2) + 0.5
    found = (first + np.arange(units)) / smallest
    beside = units / smallest
    if found[0] < beside or found[-1] > 1.0 - beside:
        message = "has too few units beside it in a category; ask one nearer to 0.5, or coarser factors"
        raise ModelProblemError([ModelProblem("quantile", message)])
    return np.asarray(found, dtype=np.float64)


def smallest_category(design: Design, values: FloatArray, units: IntArray) -> int:
    """Units of the smallest category of any term, its reference among them; all where there is no factor."""
    least = number_of_units(units)
    of_terms: dict[int, list[int]] = {}
    for place, column in enumerate(design.columns):
        # A measure that is 0 for a few people makes no category of them.
        if any(isinstance(part, Indicator) for part in column.parts):
            of_terms.setdefault(column.term, []).append(place)
    for places in of_terms.values():
        patterns = values[:, places] != 0
        rest = ~patterns.any(axis=1)
        for chosen in (*patterns.T, rest):
            if chosen.any():
                least = min(least, number_of_units(units[chosen]))
    return least


def fewest_units(planes: Sequence[Plane], values: FloatArray, outcome: FloatArray, units: IntArray) -> int:
    """On how few units a coefficient of the mean plane rests, or its height over the columns of a record.

    A plane is solved from its records: b = X^-1 y. So its height x'b over columns x is a sum over these, with
    the weights x'X^-1, and that of the mean plane one over the records of all planes. Over a record that all
    planes go through it is this record's outcome, however many planes there are; records far out in their
    columns are such. Records that are alike in columns and outcome count with all their units. 0 where it is
    not known which records a plane is solved from.
    """
    through = np.array([plane.through for plane in planes])
    if through.min() < 0:
        return 0
    records, places = np.unique(through, return_inverse=True)
    places = places.reshape(through.shape)
    over = np.vstack([np.unique(values[records], axis=0), np.eye(values.shape[1])])
    parts = np.zeros((len(over), len(records)))
    for plane, own in zip(through, places, strict=True):
        parts[:, own] += np.linalg.solve(values[plane].T, over.T).T
    told = np.abs(parts) > NOTHING * np.abs(parts).max(axis=1, keepdims=True)
    members = _members(records, values, outcome, units)
    return int((told.astype(np.int64) @ members > 0).sum(axis=1).min())


def _members(records: IntArray, values: FloatArray, outcome: FloatArray, units: IntArray) -> IntArray:
    """1 where a unit has a record that is like one of these, shape (records, units that are there)."""
    # A number for each row of columns: rows of the same number are compared.
    keys = values @ np.random.default_rng(0).normal(size=values.shape[1])
    alike = np.flatnonzero(np.isin(keys, keys[records]) & np.isin(outcome, outcome[records]))
    _, who = np.unique(units[alike], return_inverse=True)
    members = np.zeros((len(records), int(who.max()) + 1), dtype=np.int64)
    for place, record in enumerate(records.tolist()):
        near = (keys[alike] == keys[record]) & (outcome[alike] == outcome[record])
        same = near & (values[alike] == values[record]).all(axis=1)
        members[place, who.reshape(-1)[same]] = 1
    return members
