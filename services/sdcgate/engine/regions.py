"""Which records lie in which regions: boxes against the combinations of codes that occur."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.aggregation import distinct_codes, view_name
from sdcgate.engine.database import Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import MEASURE_PREFIX, Box, Region
from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.tables.boxes import codes_within

if TYPE_CHECKING:
    import pyarrow as pa


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


def region_members(
    database: Database, dataset: Dataset, regions: Sequence[Region], columns: Mapping[str, str]
) -> "pa.Table":
    """The combinations of codes of each region: the restricted columns, and the region's number.

    A combination that lies in several regions stands there once for each.
    """
    import pyarrow as pa

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
    return pa.table({**{name: values[rows] for name, values in codes.items()}, "region": numbers})


class _Boxes:
    """Membership of combinations in boxes, each (variable, mask) worked out once."""

    def __init__(self, codes: Mapping[str, IntArray], atoms: int) -> None:
        self._codes = codes
        self._atoms = atoms
        self._known: dict[tuple[str, int], BoolArray] = {}

    def union(self, boxes: Sequence[Box]) -> BoolArray:
        """Which combinations lie in any of the boxes."""
        found = np.zeros(self._atoms, dtype=np.bool_)
        for box in boxes:
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
