"""The sums of logarithms, roots and inverses of measures that a model tells of, from its records."""

from collections.abc import Iterable, Mapping

import numpy as np

from sdcgate.engine.record_groups import RecordGroups
from sdcgate.facility.joint_look import JointlyUnproved
from sdcgate.facility.model_products import Function
from sdcgate.facility.model_records import Population
from sdcgate.facility.statistic_powers import ToldPower
from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.outputs.function_sums import function_sums
from sdcgate.methods.outputs.sample import Sample


def told_functions(
    functions: Mapping[Function, int],
    people: Population | None,
    coalition: int,
    groups: RecordGroups | None = None,
) -> list[ToldPower]:
    """The sums of functions in groups, or in all of a population, and in all of them together.

    `functions` are told up to these powers. None where nobody is there. Raises JointlyUnproved where nobody
    has read the records.
    """
    if not functions:
        return []
    if people is None:
        raise JointlyUnproved
    places, inside, number = _places(people, groups)
    if not inside.any():
        return []
    found = []
    for (measure, function), highest in sorted(functions.items()):
        values, units = people.records.measures[measure][inside], people.unit[inside]
        samples = Sample(values, places[inside], units, number)
        together = Sample(values, np.zeros(len(values), dtype=np.int64), units, 1)
        for order in range(1, highest + 1):
            found.append(
                ToldPower(
                    measure,
                    function_sums(samples, function, order, coalition),
                    function_sums(together, function, order, coalition),
                )
            )
    return found


def highest_of(functions: Iterable[tuple[Function, int]]) -> dict[Function, int]:
    """The functions of measures, each with the highest power of several."""
    found = dict[Function, int]()
    for function, order in functions:
        found[function] = max(order, found.get(function, 1))
    return found


def _places(people: Population, groups: RecordGroups | None) -> tuple[IntArray, BoolArray, int]:
    """The group of each record, whether it is in any, both shape (records,), and the number of groups."""
    places, inside = np.zeros(len(people.unit), dtype=np.int64), np.ones(len(people.unit), dtype=np.bool_)
    number = 1
    for one in groups.levels if groups is not None else ():
        own = np.array(one.places, dtype=np.int64)[people.codes[one.variable, one.level]]
        places, inside, number = places * one.number + own, inside & (own >= 0), number * one.number
    return places, inside, number
