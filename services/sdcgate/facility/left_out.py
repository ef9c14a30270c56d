"""Units left out of a model at random, where with all of them it would disclose with earlier answers.

Who is left out rests on secret keys and on the population alone: whatever is asked of the same people, the
same are left out, and of other people others. Each cell that the model says something of loses as many units
as a cell must have, so that its difference to what left exactly is never of few.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sdcgate.facility.model_records import Population
from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.outputs.design import Records, VariableLevel
from sdcgate.methods.tables.splitmix import finalised

WORDS = 2.0**64


def without_some(
    people: Population, tables: Sequence[tuple[VariableLevel, ...]], share: float, units: int
) -> Population | None:
    """The population without a share of its units.

    `tables` are the dimensions of the tables that a model implies. None where a cell of them would lose, or
    keep, fewer than so many units.
    """
    left_out = _left_out(people, share)
    for dimensions in tables:
        cells = _cells(people, dimensions)
        pairs = np.unique(np.column_stack([cells, people.unit]), axis=0)
        gone = left_out[pairs[:, 1]]
        lost, kept = (np.bincount(pairs[chosen, 0], minlength=1) for chosen in (gone, ~gone))
        size = int(cells.max(initial=0)) + 1
        for counted in (lost, kept):
            if len(counted) < size or counted.min() < units:
                return None
    return _kept(people, ~left_out[people.unit])


def _left_out(people: Population, share: float) -> BoolArray:
    """Whether each unit is left out, shape (units,)."""
    with np.errstate(over="ignore"):
        of_population = finalised(np.array([people.unit_keys.sum(dtype=np.uint64)], dtype=np.uint64))
        words = finalised(people.unit_keys ^ of_population)
    return np.asarray(words < np.uint64(share * WORDS), dtype=np.bool_)


def _cells(people: Population, dimensions: tuple[VariableLevel, ...]) -> IntArray:
    """Each record's cell, numbered from 0 among those that somebody is in."""
    if not dimensions:
        return np.zeros(len(people.unit), dtype=np.int64)
    codes = np.column_stack([people.codes[level] for level in dimensions])
    _, cells = np.unique(codes, axis=0, return_inverse=True)
    return np.asarray(cells.reshape(-1), dtype=np.int64)


def _kept(people: Population, kept: BoolArray) -> Population:
    records = people.records
    _, unit = np.unique(people.unit[kept], return_inverse=True)
    return replace(
        people,
        records=Records(
            {level: codes[kept] for level, codes in records.codes.items()},
            {name: values[kept] for name, values in records.measures.items()},
            int(kept.sum()),
        ),
        codes={level: codes[kept] for level, codes in people.codes.items()},
        unit=unit.astype(np.int64),
        weights=None if people.weights is None else people.weights[kept],
        groups=people.groups[kept],
        strata=None if people.strata is None else people.strata[kept],
        clusters=None if people.clusters is None else people.clusters[kept],
    )
