"""Whether a file is about people who are registered already under another name.

The ledger protects a source: the same people must not start a new history. Ids alone do not tell whose they
are, as many files number their people from 1; ids that go with the same answers do.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sdcgate.engine.dataset import Dataset, level_column
from sdcgate.engine.descriptor import DescriptorProblem
from sdcgate.engine.record_keys import unit_keys
from sdcgate.engine.registration import Prepared
from sdcgate.methods.cells import BoolArray, IntArray

SAME_PEOPLE = 0.5
"""Share of ids in common, and of these with the same answers, from which on people are the same."""
BY_CHANCE = 0.25
"""Share of people whose answers are those of somebody else, up to which the same answers tell who it is."""

Read = Callable[[str], npt.NDArray[Any]]
"""Reads a column of a snapshot's records."""


def lineage_problem(
    prepared: Prepared, known: Dataset, read: Read, secret: bytes
) -> DescriptorProblem | None:
    """What is wrong with the source of a file, held against a dataset of another source; None if nothing.

    A source that is only assumed must not have the ids of another; one that the steward names must not have
    its people, told by ids with the same answers to the same questions, unless he says why they are others.
    """
    descriptor = prepared.descriptor
    keys, theirs = unit_keys(prepared.unit_ids, known.source, secret), read("unit_key")
    if len(np.intersect1d(keys, theirs)) < SAME_PEOPLE * min(len(keys), known.n_units):
        return None
    people = f"{known.unit_label or 'unit'}s"
    if not descriptor.source:
        return DescriptorProblem(
            "source",
            f"has the unit ids of {known.name}: say `source: {known.source}` if they are the same {people}, "
            f"`source: {descriptor.name}` if they are others",
        )
    if _answer_alike(prepared, known, read, secret):
        return DescriptorProblem(
            "source",
            f"is said to be about other {people} than {known.name}, but ids that are in both go with the "
            f"same answers there: say `source: {known.source}`, or by `other_people` why they are others",
        )
    return None


def _answer_alike(prepared: Prepared, known: Dataset, read: Read, secret: bytes) -> bool:
    """Whether most of those whose ids are in both have the same answers in both, and others have not."""
    mine, theirs = _places(prepared, known, read, secret)
    columns = _shared_columns(prepared, known)
    if not len(mine) or not columns:
        return False
    same = np.ones(len(mine), dtype=np.bool_)
    others = np.ones(len(mine), dtype=np.bool_)
    for own, their in columns:
        first, second = prepared.columns[own][mine], read(their)[theirs]
        same &= _equal(first, second)
        others &= _equal(first, np.roll(second, len(second) // 2))
    return bool(same.mean() >= SAME_PEOPLE and others.mean() <= BY_CHANCE)


def _equal(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> BoolArray:
    """Where two columns agree; values that are missing in a snapshot are in none of the two compared."""
    equal: BoolArray = (first == second) | ~np.isfinite(second.astype(np.float64))
    return equal


def _places(prepared: Prepared, known: Dataset, read: Read, secret: bytes) -> tuple[IntArray, IntArray]:
    """The first record of each unit that is in both files, in either."""
    source = prepared.descriptor.source or prepared.descriptor.name
    own = _first_records(prepared.columns["unit_key"], unit_keys(prepared.unit_ids, source, secret))
    their = _first_records(read("unit_key"), unit_keys(prepared.unit_ids, known.source, secret))
    both = (own >= 0) & (their >= 0)
    return own[both], their[both]


def _first_records(of_records: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> IntArray:
    """The first record of each key; -1 where there is none."""
    keys, first = np.unique(of_records, return_index=True)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, first[places], -1).astype(np.int64)


def _shared_columns(prepared: Prepared, known: Dataset) -> list[tuple[str, str]]:
    """Columns, own and theirs, of what both ask in the same words and no unit answers twice."""
    single = known.records_per_unit == prepared.records_per_unit == 1
    variables = [
        (level_column(place, 0), known.column(variable.name))
        for place, variable in enumerate(prepared.descriptor.variables)
        if variable.name in known.code_lists
        and known.levels(variable.name)[0].codes == prepared.code_lists[variable.name][0].codes
        and not (known.varies(variable.name) or prepared.variation[variable.name].within_unit[0])
    ]
    measures = [
        (f"m{place}", known.measure_column(measure.name))
        for place, measure in enumerate(prepared.descriptor.measures)
        if single
        and measure.name in known.profiles
        and known.profiles[measure.name].decimals == measure.decimals
    ]
    return variables + measures
