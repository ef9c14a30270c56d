"""Which records lie in which regions: boxes against the combinations of codes that occur."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.aggregation import Statement, distinct_codes, view_name
from sdcgate.engine.database import Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import MEASURE_PREFIX, Box, Region
from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.tables.boxes import codes_within

if TYPE_CHECKING:
    import pyarrow as pa

MANY_BOXES = 16
"""From so many on boxes of a region are joined first. Each mask of a variable is looked up for all
combinations: of ten thousand codes withheld one by one that took gigabytes."""


def involved_columns(dataset: Dataset, regions: Sequence[Region]) -> dict[str, str]:
    """Column of each variable (or `measure:<name>`) that any box of the regions restricts.

    Raises UnknownName, and ValueError for a mask with bits beyond the variable's codes.
    """
    restricted: dict[str, int] = {}
    for region in regions:
        for box in (*region.inside, *region.outside):
            for variable, mask in box:
                restricted[variable] = restricted.get(variable, 0) | mask
                if mask < 0:
                    raise ValueError(f"the mask of {variable} is negative")
    for variable, mask in sorted(restricted.items()):
        if mask > dataset.full_mask(variable):
            raise ValueError(f"a mask of {variable} has bits beyond its codes")
    names = sorted(restricted)
    return dict(zip(names, code_columns(dataset, names), strict=True))


def code_columns(dataset: Dataset, variables: Sequence[str]) -> tuple[str, ...]:
    """Columns with the finest codes of variables; of `measure:<name>` the flag `<measure column>_missing`.

    Raises UnknownName.
    """
    return tuple(
        f"{dataset.measure_column(variable.removeprefix(MEASURE_PREFIX))}_missing"
        if variable.startswith(MEASURE_PREFIX)
        else dataset.column(variable)
        for variable in variables
    )


MOST_COMBINATIONS = 20_000
"""Combinations of codes of which aggregates are kept side by side."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionMembers:
    """Combinations of codes that lie in some region, and which of them lie in which."""

    codes: Mapping[str, IntArray]
    """Of each combination in the restricted columns, each shape (combinations,)."""
    combinations: int
    regions: IntArray
    """A region's number for each combination in it, ascending, shape (members,)."""
    members: IntArray
    """Which combination that is, shape (members,)."""

    @property
    def overlap(self) -> bool:
        """Whether some combination lies in several regions, and there are not too many of them."""
        return self.combinations < len(self.members) and self.combinations <= MOST_COMBINATIONS

    def by_region(self) -> "pa.Table":
        """The restricted columns and the region's number; a combination in several stands there for each."""
        return self._table(self.members, self.regions)

    def by_combination(self) -> "pa.Table":
        """The same with each combination once, as a region of its own."""
        every = np.arange(self.combinations, dtype=np.int64)
        return self._table(every, every)

    def _table(self, chosen: IntArray, regions: IntArray) -> "pa.Table":
        import pyarrow as pa

        return pa.table({**{name: values[chosen] for name, values in self.codes.items()}, "region": regions})


def region_members(
    database: Database, dataset: Dataset, regions: Sequence[Region], columns: Mapping[str, str]
) -> RegionMembers:
    """The combinations of codes of each region."""
    names = list(columns.values())
    if names:
        sql = database.compiled(
            ("distinct", view_name(dataset), tuple(names)), lambda: distinct_codes(dataset, names)
        )
        occurring = database.run(sql)
        codes = {name: occurring[name].to_numpy().astype(np.int64) for name in names}
    else:
        codes = {}
    by_variable = {variable: codes[column] for variable, column in columns.items()}
    atoms = len(next(iter(codes.values()))) if names else 1
    boxes = _Boxes(by_variable, atoms)
    chosen: list[IntArray] = []
    for region in regions:
        inside = boxes.union(region.inside) & ~boxes.union(region.outside)
        chosen.append(np.flatnonzero(inside))
    numbers = np.repeat(np.arange(len(regions), dtype=np.int64), [len(rows) for rows in chosen])
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *chosen])
    inside_some = np.zeros(atoms, dtype=np.bool_)
    inside_some[rows] = True
    used, members = np.flatnonzero(inside_some), (np.cumsum(inside_some) - 1)[rows]
    return RegionMembers({name: values[used] for name, values in codes.items()}, len(used), numbers, members)


def kinds_of_regions(dataset: Dataset) -> list[Statement]:
    """The statements that count regions."""
    kinds: list[Statement] = ["records and units"] if dataset.records_per_unit == 1 else ["records", "units"]
    if dataset.household == "id":
        kinds.append("households")
    if dataset.holdings:
        kinds.append("holdings")
    return kinds


def adds_up(kind: Statement, dataset: Dataset, variables: Set[str]) -> bool:
    """Whether what a statement counts adds up over the combinations of codes of some variables.

    Records do, and units of which each has all its records in one; a household or a holding may be in many.
    """
    if kind in ("households", "holdings"):
        return False
    return kind == "records" or dataset.varying is None or dataset.varying.isdisjoint(variables)


def _joined(boxes: Iterable[Box]) -> list[Box]:
    """Boxes with the same union: those that differ in one variable only are one."""
    joined = dict.fromkeys(boxes)
    for name in {variable: None for box in joined for variable, _ in box}:
        masks: dict[Box, int] = {}
        rest: list[Box] = []
        for box in joined:
            mask = dict(box).get(name)
            if mask is None:
                rest.append(box)
            else:
                others = tuple(pair for pair in box if pair[0] != name)
                masks[others] = masks.get(others, 0) | mask
        joined = dict.fromkeys((*rest, *((*others, (name, mask)) for others, mask in masks.items())))
    return list(joined)


class _Boxes:
    """Membership of combinations in boxes, each (variable, mask) worked out once."""

    def __init__(self, codes: Mapping[str, IntArray], atoms: int) -> None:
        self._codes = codes
        self._atoms = atoms
        self._known: dict[tuple[str, int], BoolArray] = {}

    def union(self, boxes: Sequence[Box]) -> BoolArray:
        """Which combinations lie in any of the boxes."""
        found = np.zeros(self._atoms, dtype=np.bool_)
        for box in _joined(boxes) if len(boxes) > MANY_BOXES else boxes:
            within = np.ones(self._atoms, dtype=np.bool_)
            for variable, mask in box:
                within &= self._restriction(variable, mask)
            found |= within
        return found

    def _restriction(self, variable: str, mask: int) -> BoolArray:
        key = (variable, mask)
        if key not in self._known:
            self._known[key] = codes_within(mask, self._codes[variable])
        return self._known[key]
