"""A file of areas and a file with PSUs, as their linkage takes them."""

from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.linked_files import FILES, LinkedColumns
from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.engine.table_columns import TableColumns, coded, lacking_columns
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.file_psus import PsuFile

if TYPE_CHECKING:
    import pyarrow as pa


def psu_file_of_tables(
    original: "pa.Table", released: "pa.Table", columns: LinkedColumns
) -> tuple[PsuFile, tuple[str, ...]]:
    """The areas (`original`, a row an area), the file with PSUs (`released`), and the PSUs' names.

    Raises MicrodataUnusable with all problems.
    """
    found = []
    for place, table in enumerate((original, released)):
        found += _of_file(place, lacking_columns(columns.named(place), table.column_names))
        if not table.num_rows:
            found.append((FILES[place], "has no records"))
    if found:
        raise MicrodataUnusable(found)
    areas = TableColumns(original, columns.missing, [])
    people = TableColumns(released, columns.missing, [])
    figures, values = [], []
    for place, variable in enumerate(columns.variables):
        ours, theirs = variable.columns
        figures.append(areas.numbers(f"variables[{place}].column", ours))
        values.append(people.numbers(f"variables[{place}].column", theirs))
    psus = people.ids("psu", columns.psu)
    counts = areas.numbers("count", columns.count)
    sizes = areas.numbers("size", columns.size)
    if sizes is not None and not (sizes > 0).all():
        areas.problems.append(("size", "sizes must be above 0"))
    weights = people.numbers("design_weight", columns.design_weight)
    keys = [people.texts(f"keys[{place}]", name) for place, name in enumerate(columns.keys)]
    if counts is not None and not ((counts >= 1) & (counts == np.rint(counts)) & (counts < 2**53)).all():
        areas.problems.append(("count", "people must be whole numbers, at least 1"))
    if weights is not None and not (weights > 0).all():
        people.problems.append(("design_weight", "weights must be above 0"))
    truth = _truth(areas, people, columns.unit_id, None if psus is None else psus[1])
    problems = [*_of_file(0, areas.problems), *_of_file(1, people.problems)]
    if problems or psus is None:
        raise MicrodataUnusable(list(dict.fromkeys(problems)))
    file = PsuFile(
        areas=np.column_stack([one for one in figures if one is not None]),
        values=np.column_stack([one for one in values if one is not None]),
        psus=psus[1],
        errors=tuple(one.error for one in columns.variables),
        rounding=tuple(one.rounding for one in columns.variables),
        truth=truth,
        people=None if counts is None else counts.astype(np.int64),
        weights=weights,
        sizes=sizes,
        codes=np.column_stack([coded(one)[1] for one in keys if one is not None]) if keys else None,
    )
    return file, psus[0]


def _truth(areas: TableColumns, people: TableColumns, name: str, psus: IntArray | None) -> IntArray | None:
    """Position of each PSU's true area, -1 where it is not in the list; None where nobody knows."""
    ours, theirs = areas.ids("id", name), people.ids("id", name)
    if ours is None or theirs is None or psus is None:
        return None
    if len(ours[0]) < len(ours[1]):
        areas.problems.append(("id", f"stands {len(ours[1]) - len(ours[0])} times more than once"))
        return None
    at = {area: place for place, area in enumerate(ours[0])}
    row = np.empty(len(ours[0]) + 1, dtype=np.int64)
    row[ours[1]], row[-1] = np.arange(len(ours[1])), -1
    of_record = row[np.array([at.get(area, -1) for area in theirs[0]], dtype=np.int64)][theirs[1]]
    truth = np.full(psus.max() + 1, -1, dtype=np.int64)
    truth[psus] = of_record
    several = int((truth[psus] != of_record).sum())
    if several:
        people.problems.append(("id", f"{several} records are of another area than others of their PSU"))
    return truth


def _of_file(place: int, problems: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(path, f"{FILES[place]}: {message}") for path, message in problems]
