"""The queries of the engine as Ibis expressions.

A query is put together from two parts that are compiled apart, because compiling costs as much as running:
a *projection* (which records, in which cell) and a *statement* over it (what is aggregated), which is the
same for all tables with measures of the same kind. Sums are integers: scaled values times scaled weights.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Literal

from sdcgate.engine.contributions import MeasureShape, Respondents, collapsed, of_respondents, shift_of
from sdcgate.engine.dataset import Dataset, code_type
from sdcgate.engine.dialects import Dialect, fitting_sum, in_order, the_one, wide_sum
from sdcgate.engine.record_columns import UNKNOWN_HOUSEHOLD
from sdcgate.engine.record_keys import MARK_BITS
from sdcgate.methods.rules import Contributions

RECORDS = "records"
MEMBERS = "members"
Statement = Literal["records", "units", "units at once", "records and units", "households", "holdings"]
_PRODUCT_FITS = 2**62
_LONGEST_NAME = 63
"""Letters of a name that PostgreSQL tells apart."""
SHORT_RUN = 8
"""Neighbouring codes that are named one by one in a condition."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides the text of a statement: two queries of one shape differ in their projection only."""

    measures: tuple[MeasureShape, ...]
    respondents: Respondents
    weighted: bool
    household: Literal["", "id", "size"]
    keyed: bool = False
    """Whether the keys of a cell's units are summed."""

    @property
    def dialect(self) -> Dialect:
        """What the database speaks."""
        return self.respondents.dialect


def shape_of_query(
    dataset: Dataset,
    measures: Sequence[str],
    ranks: int,
    contributions: Contributions,
    keyed: bool = False,
    dialect: Dialect = Dialect.DUCKDB,
) -> Shape:
    """The shape of a query for these measures. Raises UnknownName."""
    heaviest = dataset.weight_bounds[1] * 10**dataset.weight_decimals if dataset.weighted else 1.0
    shapes = []
    for name in measures:
        shift = shift_of(dataset.measure(name), contributions)
        profile = dataset.profiles[name]
        largest = max(abs(profile.minimum), abs(profile.maximum))
        fits = largest * heaviest < _PRODUCT_FITS
        shapes.append(MeasureShape(profile.has_missing, profile.minimum < 0, fits, shift))
    wanted = contributions.weighted and dataset.weighted
    respondents = Respondents(ranks, dataset.holdings, dataset.waivers, wanted, dialect)
    return Shape(tuple(shapes), respondents, dataset.weighted, dataset.household, keyed)


def view_name(dataset: Dataset) -> str:
    """Name of the table or view that a query reads the snapshot's records from."""
    name = f"{dataset.name}@{dataset.version}"
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.sha256(dataset.name.encode()).hexdigest()[:16]
    return f"{dataset.name[: _LONGEST_NAME // 2]}#{digest}@{dataset.version}"


def snapshot_table(dataset: Dataset) -> Any:
    """The snapshot as an unbound Ibis table."""
    import ibis

    columns = {"unit": "int64", "unit_key": "uint64", "record_mark": "int64"}
    for variable in dataset.descriptor.variables:
        for level in dataset.levels(variable.name):
            columns[dataset.column(variable.name, level.name)] = code_type(len(level.codes))
    for name in dataset.exclusive:
        columns[dataset.column(name)] = code_type(dataset.full_mask(name).bit_length())
    columns |= {dataset.measure_column(measure.name): "int64" for measure in dataset.descriptor.measures}
    if dataset.weighted:
        columns["weight"] = "int64"
    if dataset.household:
        columns["household"] = "int64"
    columns |= dict.fromkeys(dataset.respondent_columns, "int64")
    return ibis.table(columns, name=view_name(dataset))


Conditions = Sequence[tuple[str, tuple[int, ...]]]
"""Column and positions of the codes that a record may have in it."""
CellColumns = tuple[tuple[tuple[str, int], ...], ...]
"""For each cell column the (snapshot column, number of codes) of its dimensions."""


def cells_projection(
    dataset: Dataset,
    cells: CellColumns,
    conditions: Conditions,
    measures: Sequence[str],
    valid: Sequence[str] = (),
) -> Any:
    """The records that fulfil the conditions and have the `valid` measures, with their cells in `cells`.

    Cell column i, `c<i>`, numbers the cells of its dimensions row-major.
    """
    import ibis

    table = chosen_records(dataset, conditions, valid)
    numbered = {}
    for position, dimensions in enumerate(cells):
        cell: Any = ibis.literal(0, type="int64")
        for at, (column, codes) in enumerate(dimensions):
            code = table[column].cast("int64")
            cell = code if at == 0 else cell * codes + code
        numbered[f"c{position}"] = cell
    return table.select(**_carried(table, dataset, measures), **numbered)


def chosen_records(dataset: Dataset, conditions: Conditions, valid: Sequence[str]) -> Any:
    """The snapshot's records that fulfil all conditions and have each of the measures."""
    table = snapshot_table(dataset)
    for column, positions in conditions:
        table = table.filter(_among(table[column], positions))
    for measure in valid:
        table = table.filter(table[dataset.measure_column(measure)].notnull())
    return table


def records_projection(
    dataset: Dataset,
    conditions: Conditions,
    columns: Sequence[str],
    measures: Sequence[str],
    dialect: Dialect = Dialect.DUCKDB,
) -> Any:
    """Unit, weight, household and some columns of those who fulfil the conditions and have the measures."""
    table = in_order(chosen_records(dataset, conditions, measures), dialect)
    own = (("weight", dataset.weighted), ("household", dataset.household))
    names = ["unit", "unit_key", *(name for name, there in own if there), *columns]
    values = {measure: table[dataset.measure_column(measure)] for measure in measures}
    return table.select(*names, **{f"measure_{place}": value for place, value in enumerate(values.values())})


def column_in_order(dataset: Dataset, column: str) -> Any:
    """One column of the snapshot's records, by unit and mark."""
    table = snapshot_table(dataset)
    return table.order_by(["unit", "record_mark"]).select(column)


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
    table, members = _with_missing_flags(snapshot_table(dataset), columns), members_at(columns)
    joined = table.cross_join(members) if not columns else table.join(members, list(columns))
    return joined.select(**_carried(joined, dataset, measures), c0=joined.region)


def members_at(columns: Sequence[str]) -> Any:
    """The table that says which regions the codes in some columns belong to."""
    import ibis

    return ibis.table({**dict.fromkeys(columns, "int64"), "region": "int64"}, name=MEMBERS)


def distinct_codes(dataset: Dataset, columns: Sequence[str]) -> Any:
    """Combinations of codes that occur in some columns."""
    table = _with_missing_flags(snapshot_table(dataset), columns)
    return table.select(*columns).distinct()


def counted_codes(dataset: Dataset, columns: Sequence[str], units: bool = False) -> Any:
    """Combinations of codes that occur in some columns, each with the `count` of its records, or units."""
    table = _with_missing_flags(snapshot_table(dataset), columns)
    count = table["unit"].nunique() if units else table.count()
    return table.group_by(list(columns)).agg(count=count) if columns else table.agg(count=count)


def _with_missing_flags(table: Any, columns: Sequence[str]) -> Any:
    import ibis

    yes, no = (ibis.literal(flag, type="int64") for flag in (1, 0))
    flags = [column for column in columns if column.endswith("_missing")]
    return table.mutate(
        **{flag: ibis.ifelse(table[flag.removesuffix("_missing")].isnull(), yes, no) for flag in flags}
    )


def _carried(table: Any, dataset: Dataset, measures: Sequence[str]) -> Mapping[str, Any]:
    carried = {name: table[name] for name in ("unit", "unit_key", "record_mark")}
    extra = ("weight", "household", "holding", "waiver")
    carried |= {name: table[name] for name in extra if name in table.columns}
    return carried | {
        f"m{position}": table[dataset.measure_column(measure)] for position, measure in enumerate(measures)
    }


def statement(kind: Statement, shape: Shape, cell: str) -> Any:
    """What is aggregated by cell over the projection `records`.

    - `records`: what adds up over records;
    - `units`: first collapsed to (cell, unit), then aggregated by cell;
    - `units at once`: the same where every unit has all its records in one cell, so collapsing by unit does;
    - `records and units`: both, where every unit has one record;
    - `households`: distinct household ids, of those that are known;
    - `holdings`: first collapsed to (cell, holding), then aggregated by cell.
    """
    import ibis

    columns = {"unit": "int64", "record_mark": "int64", cell: "int64"}
    columns |= {name: "uint64" for name in ("unit_key",) if shape.keyed}
    columns |= {name: "int64" for name in ("weight",) if shape.weighted}
    columns |= {name: "int64" for name in ("household",) if shape.household}
    columns |= {name: "int64" for name in ("holding",) if shape.respondents.holdings}
    columns |= {name: "int64" for name in ("waiver",) if shape.respondents.waivers}
    columns |= {f"m{position}": "int64" for position in range(len(shape.measures))}
    records = ibis.table(columns, name=RECORDS)
    if kind == "records":
        return records.group_by(cell=records[cell]).agg(**_of_records(records, shape))
    if kind == "records and units":
        both = _of_records(records, shape) | _of_units(records, shape)
        return records.group_by(cell=records[cell]).agg(**both)
    if kind == "households":
        household = records["household"]
        known = household.nunique(where=household != UNKNOWN_HOUSEHOLD)
        return records.group_by(cell=records[cell]).agg(households=known)
    if kind == "holdings":
        by_holding = _by_holding(records, shape, cell)
        return by_holding.group_by("cell").agg(**_of_holdings(by_holding, shape))
    by_unit = _by_unit(records, shape, cell, at_once=kind == "units at once")
    return by_unit.group_by("cell").agg(**_of_units(by_unit, shape))


def _of_records(records: Any, shape: Shape) -> dict[str, Any]:
    marks = wide_sum(records["record_mark"], shape.dialect)
    aggregates = {"records": records.count(), "marks": marks % 2**MARK_BITS}
    if shape.weighted:
        aggregates["weights"] = records["weight"].sum()
    for position, measure in enumerate(shape.measures):
        value = records[f"m{position}"]
        aggregates[f"sum{position}"] = value.sum()
        aggregates[f"minimum{position}"] = value.min()
        aggregates[f"maximum{position}"] = value.max()
        if measure.has_missing:
            aggregates[f"valid{position}"] = value.count()
            if shape.keyed:
                there = wide_sum(records["record_mark"], shape.dialect, where=value.notnull())
                aggregates[f"marks{position}"] = there % 2**MARK_BITS
        if shape.weighted:
            factor = value if measure.product_fits else value.cast("decimal(38, 0)")
            aggregates[f"weighted{position}"] = wide_sum(factor * records["weight"], shape.dialect)
            if measure.has_missing:
                aggregates[f"valid_weights{position}"] = records["weight"].sum(where=value.notnull())
    return aggregates


def _by_unit(records: Any, shape: Shape, cell: str, at_once: bool) -> Any:
    aggregates = _values(records, shape)
    if not shape.respondents.holdings:
        aggregates |= collapsed(records, shape.measures, shape.respondents)
    for position, measure in enumerate(shape.measures):
        if measure.has_missing:
            aggregates[f"lacks{position}"] = records[f"m{position}"].isnull().any()
    if shape.keyed:
        aggregates["unit_key"] = records["unit_key"].max()
    if shape.weighted:
        aggregates["weight"] = records["weight"].min()
    if shape.household == "size":
        aggregates["household"] = records["household"].min()
    if at_once:
        aggregates["cell"] = the_one(records[cell], shape.dialect)
        return records.group_by("unit").agg(**aggregates)
    return records.group_by(cell=records[cell], unit=records["unit"]).agg(**aggregates)


def _values(records: Any, shape: Shape) -> dict[str, Any]:
    return {
        f"m{position}": fitting_sum(records[f"m{position}"], shape.dialect)
        for position in range(len(shape.measures))
    }


def _by_holding(records: Any, shape: Shape, cell: str) -> Any:
    aggregates = _values(records, shape) | collapsed(records, shape.measures, shape.respondents)
    return records.group_by(cell=records[cell], holding=records["holding"]).agg(**aggregates)


def _of_holdings(by_holding: Any, shape: Shape) -> dict[str, Any]:
    """Aggregates of a relation with a row a holding and cell: holdings and what they contribute."""
    aggregates = {"holdings": by_holding.count()}
    for position, measure in enumerate(shape.measures):
        if measure.has_missing:
            aggregates[f"valid_holdings{position}"] = by_holding[f"m{position}"].count()
    return aggregates | of_respondents(by_holding, shape.measures, shape.respondents)


def _of_units(by_unit: Any, shape: Shape) -> dict[str, Any]:
    """Aggregates of a relation with a row a unit and cell; a unit without a value has NULL."""
    aggregates = {"units": by_unit.count()}
    if shape.keyed:
        # 128 bits hold them; their lower 64 are the sum modulo 2^64.
        aggregates["keys"] = wide_sum(by_unit["unit_key"], shape.dialect)
    if shape.weighted:
        aggregates["unit_weights"] = by_unit["weight"].sum()
    if shape.household == "size":
        aggregates["household_shares"] = by_unit["household"].sum()
    if not shape.respondents.holdings:
        aggregates |= of_respondents(by_unit, shape.measures, shape.respondents)
    for position, measure in enumerate(shape.measures):
        value = by_unit[f"m{position}"]
        if measure.has_missing:
            aggregates[f"valid_units{position}"] = value.count()
            lacks = by_unit[f"lacks{position}"] if f"lacks{position}" in by_unit.columns else value.isnull()
            aggregates[f"lacking_units{position}"] = lacks.sum()
            if shape.keyed:
                keys = wide_sum(by_unit["unit_key"], shape.dialect, where=value.notnull())
                aggregates[f"keys{position}"] = keys
    return aggregates
