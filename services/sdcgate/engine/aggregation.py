"""The queries of the engine as Ibis expressions.

A query is put together from two parts that are compiled apart, because compiling costs as much as running:
a *projection* (which records, in which cell) and a *statement* over it (what is aggregated), which is the
same for all tables with measures of the same kind. Sums are integers: scaled values times scaled weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import Any, Literal

from sdcgate.engine.dataset import Dataset, code_type
from sdcgate.engine.record_keys import MARK_BITS

RECORDS = "records"
MEMBERS = "members"
Statement = Literal["records", "units", "units at once", "records and units", "households"]
_PRODUCT_FITS = 2**62
SHORT_RUN = 8
"""Neighbouring codes that are named one by one in a condition."""


@dataclass(frozen=True, slots=True)
class MeasureShape:
    """What of a measure decides how it is aggregated."""

    has_missing: bool
    may_be_negative: bool
    product_fits: bool
    """Whether each value times each weight fits in 64 bits."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides the text of a statement: two queries of one shape differ in their projection only."""

    measures: tuple[MeasureShape, ...]
    ranks: int
    weighted: bool
    household: Literal["", "id", "size"]


def shape_of_query(dataset: Dataset, measures: Sequence[str], ranks: int) -> Shape:
    """The shape of a query for these measures. Raises UnknownName."""
    heaviest = dataset.weight_bounds[1] * 10**dataset.weight_decimals if dataset.weighted else 1.0
    shapes = []
    for name in measures:
        dataset.measure(name)
        profile = dataset.profiles[name]
        largest = max(abs(profile.minimum), abs(profile.maximum))
        shapes.append(
            MeasureShape(profile.has_missing, profile.minimum < 0, largest * heaviest < _PRODUCT_FITS)
        )
    return Shape(tuple(shapes), ranks, dataset.weighted, dataset.household)


def view_name(dataset: Dataset) -> str:
    """Name of the view over the snapshot's Parquet file."""
    return f"{dataset.name}@{dataset.version}"


def snapshot_table(dataset: Dataset) -> Any:
    """The snapshot as an unbound Ibis table."""
    import ibis

    columns = {"unit": "int64", "unit_key": "uint64", "record_mark": "int64"}
    for variable in dataset.descriptor.variables:
        for level in dataset.levels(variable.name):
            columns[dataset.column(variable.name, level.name)] = code_type(len(level.codes))
    columns |= {dataset.measure_column(measure.name): "int64" for measure in dataset.descriptor.measures}
    if dataset.weighted:
        columns["weight"] = "int64"
    if dataset.household:
        columns["household"] = "int64"
    return ibis.table(columns, name=view_name(dataset))


CellColumns = tuple[tuple[tuple[str, int], ...], ...]
"""For each cell column the (snapshot column, number of codes) of its dimensions."""


def cells_projection(
    dataset: Dataset,
    cells: CellColumns,
    conditions: Sequence[tuple[str, tuple[int, ...]]],
    measures: Sequence[str],
) -> Any:
    """The records that fulfil the conditions (column, positions), each with its cell in every `cells`.

    Cell column i, `c<i>`, numbers the cells of its dimensions row-major.
    """
    import ibis

    table = snapshot_table(dataset)
    for column, positions in conditions:
        table = table.filter(_among(table[column], positions))
    numbered = {}
    for position, dimensions in enumerate(cells):
        cell: Any = ibis.literal(0, type="int64")
        for at, (column, codes) in enumerate(dimensions):
            code = table[column].cast("int64")
            cell = code if at == 0 else cell * codes + code
        numbered[f"c{position}"] = cell
    return table.select(**_carried(table, dataset, measures), **numbered)


def _among(column: Any, positions: Sequence[int]) -> Any:
    """Whether a column is one of ascending positions; runs as ranges, so that long lists make short SQL."""
    starts = [at for at, position in enumerate(positions) if at == 0 or position != positions[at - 1] + 1]
    runs = [
        (positions[at], positions[end - 1])
        for at, end in zip(starts, [*starts[1:], len(positions)], strict=True)
    ]
    long = [column.between(first, last) for first, last in runs if last - first >= SHORT_RUN]
    short = [at for first, last in runs if last - first < SHORT_RUN for at in range(first, last + 1)]
    return reduce(or_, [*long, column.isin(short)] if short else long)


def regions_projection(dataset: Dataset, columns: Sequence[str], measures: Sequence[str]) -> Any:
    """Each record once for every region it lies in, the region's number as its cell `c0`.

    The table `members` says which region the records with the same codes in `columns` belong to; the column
    `<measure column>_missing` is 1 where the measure is missing.
    """
    import ibis

    table = _with_missing_flags(snapshot_table(dataset), columns)
    members = ibis.table({**dict.fromkeys(columns, "int64"), "region": "int64"}, name=MEMBERS)
    joined = table.cross_join(members) if not columns else table.join(members, list(columns))
    return joined.select(**_carried(joined, dataset, measures), c0=joined.region)


def distinct_codes(dataset: Dataset, columns: Sequence[str]) -> Any:
    """Combinations of codes that occur in some columns."""
    table = _with_missing_flags(snapshot_table(dataset), columns)
    return table.select(*columns).distinct()


def _with_missing_flags(table: Any, columns: Sequence[str]) -> Any:
    flags = [column for column in columns if column.endswith("_missing")]
    return table.mutate(
        **{flag: table[flag.removesuffix("_missing")].isnull().cast("int64") for flag in flags}
    )


def _carried(table: Any, dataset: Dataset, measures: Sequence[str]) -> Mapping[str, Any]:
    carried = {"unit": table["unit"], "record_mark": table["record_mark"]}
    carried |= {name: table[name] for name in ("weight", "household") if name in table.columns}
    return carried | {
        f"m{position}": table[dataset.measure_column(measure)] for position, measure in enumerate(measures)
    }


@cache
def _largest() -> Any:
    """DuckDB's max(x, n): the n largest values, largest first."""
    import ibis

    def largest(x: int, n: int) -> list[int]:  # type: ignore[empty-body]
        ...

    return ibis.udf.agg.builtin(largest, name="max")


def statement(kind: Statement, shape: Shape, cell: str) -> Any:
    """What is aggregated by cell over the projection `records`.

    - `records`: what adds up over records;
    - `units`: first collapsed to (cell, unit), then aggregated by cell;
    - `units at once`: the same where every unit has all its records in one cell, so collapsing by unit does;
    - `records and units`: both, where every unit has one record;
    - `households`: distinct household ids.
    """
    import ibis

    columns = {"unit": "int64", "record_mark": "int64", cell: "int64"}
    columns |= {name: "int64" for name in ("weight",) if shape.weighted}
    columns |= {name: "int64" for name in ("household",) if shape.household}
    columns |= {f"m{position}": "int64" for position in range(len(shape.measures))}
    records = ibis.table(columns, name=RECORDS)
    if kind == "records":
        return records.group_by(cell=records[cell]).agg(**_of_records(records, shape))
    if kind == "records and units":
        both = _of_records(records, shape) | _of_units(records, shape)
        return records.group_by(cell=records[cell]).agg(**both)
    if kind == "households":
        return records.group_by(cell=records[cell]).agg(households=records["household"].nunique())
    by_unit = _by_unit(records, shape, cell, at_once=kind == "units at once")
    return by_unit.group_by("cell").agg(**_of_units(by_unit, shape))


def _of_records(records: Any, shape: Shape) -> dict[str, Any]:
    aggregates = {"records": records.count(), "marks": records["record_mark"].sum() % 2**MARK_BITS}
    if shape.weighted:
        aggregates["weights"] = records["weight"].sum()
    for position, measure in enumerate(shape.measures):
        value = records[f"m{position}"]
        aggregates[f"sum{position}"] = value.sum()
        aggregates[f"minimum{position}"] = value.min()
        aggregates[f"maximum{position}"] = value.max()
        if measure.has_missing:
            aggregates[f"valid{position}"] = value.count()
        if shape.weighted:
            factor = value if measure.product_fits else value.cast("decimal(38, 0)")
            aggregates[f"weighted{position}"] = (factor * records["weight"]).sum()
            if measure.has_missing:
                aggregates[f"valid_weights{position}"] = records["weight"].sum(where=value.notnull())
    return aggregates


def _by_unit(records: Any, shape: Shape, cell: str, at_once: bool) -> Any:
    aggregates = {f"m{position}": records[f"m{position}"].sum() for position in range(len(shape.measures))}
    for position, measure in enumerate(shape.measures):
        if measure.has_missing:
            aggregates[f"lacks{position}"] = records[f"m{position}"].isnull().any()
    if shape.weighted:
        aggregates["weight"] = records["weight"].min()
    if shape.household == "size":
        aggregates["household"] = records["household"].min()
    if at_once:
        aggregates["cell"] = records[cell].arbitrary()
        return records.group_by("unit").agg(**aggregates)
    return records.group_by(cell=records[cell], unit=records["unit"]).agg(**aggregates)


def _of_units(by_unit: Any, shape: Shape) -> dict[str, Any]:
    """Aggregates of a relation with a row a unit and cell; a unit without a value has NULL."""
    aggregates = {"units": by_unit.count()}
    if shape.weighted:
        aggregates["unit_weights"] = by_unit["weight"].sum()
    if shape.household == "size":
        aggregates["household_shares"] = by_unit["household"].sum()
    for position, measure in enumerate(shape.measures):
        contribution = by_unit[f"m{position}"]
        if measure.may_be_negative:
            contribution = contribution.abs()
            aggregates[f"absolute{position}"] = contribution.sum()
        aggregates[f"largest{position}"] = _largest()(contribution, shape.ranks)
        if measure.has_missing:
            aggregates[f"valid_units{position}"] = contribution.count()
            lacks = (
                by_unit[f"lacks{position}"]
                if f"lacks{position}" in by_unit.columns
                else contribution.isnull()
            )
            aggregates[f"lacking_units{position}"] = lacks.sum()
    return aggregates
