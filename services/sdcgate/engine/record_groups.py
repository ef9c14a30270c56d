"""Groups of records by their codes at some levels, as a table that statements join.

The table says of each combination of codes to which group it belongs. So a statement's text names columns
only, and is the same whatever the groups are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.methods.cells import IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class GroupedLevel:
    """A level, and the place of each of its codes: several may have one, -1 has who is in no group."""

    variable: str
    level: str
    places: tuple[int, ...]
    number: int
    """Places there are."""

    @property
    def undivided(self) -> "GroupedLevel":
        """The level with one place for all codes that have any."""
        return replace(self, places=tuple(min(place, 0) for place in self.places), number=1)


@dataclass(frozen=True, slots=True)
class RecordGroups:
    """Groups numbered row-major by the places of each level; without levels all records are one."""

    levels: tuple[GroupedLevel, ...]

    @property
    def number(self) -> int:
        """Groups there are, empty ones too."""
        return prod(one.number for one in self.levels)

    @property
    def combinations(self) -> int:
        """Combinations of codes."""
        return prod(len(one.places) for one in self.levels)

    def columns(self, dataset: Dataset) -> tuple[str, ...]:
        """The snapshot's columns of the levels. Raises UnknownName."""
        return tuple(dataset.column(one.variable, one.level) for one in self.levels)

    @property
    def together(self) -> "RecordGroups":
        """One group, by the same levels."""
        return RecordGroups(tuple(one.undivided for one in self.levels))

    def members(self, dataset: Dataset) -> "pa.Table":
        """The codes of combinations that are in a group, and the group as `region`. Raises UnknownName."""
        import pyarrow as pa

        shape = tuple(len(one.places) for one in self.levels)
        codes = np.unravel_index(np.arange(prod(shape)), shape) if shape else ()
        group: IntArray = np.zeros(prod(shape), dtype=np.int64)
        inside = np.ones(len(group), dtype=np.bool_)
        for one, code in zip(self.levels, codes, strict=True):
            place = np.array(one.places, dtype=np.int64)[code]
            inside &= place >= 0
            group = group * one.number + place
        columns = zip(self.columns(dataset), codes, strict=True)
        found = {name: np.asarray(code[inside], dtype=np.int64) for name, code in columns}
        return pa.table({**found, "region": group[inside]})


def joined_members(dataset: Dataset, divisions: Sequence[RecordGroups], times: int) -> "pa.Table":
    """The members of all divisions, `times` over: `place` counts these, and `region` the groups of all.

    Divisions are by the same levels. Raises UnknownName.
    """
    import pyarrow as pa

    every = [one.members(dataset) for one in divisions]
    found, before = [], 0
    for place in range(times):
        for division, members in zip(divisions, every, strict=True):
            region = members["region"].to_numpy() + before
            columns = {name: members[name] for name in members.column_names if name != "region"}
            found.append(pa.table({**columns, "place": np.full(len(region), place), "region": region}))
            before += division.number
    return pa.concat_tables(found)
