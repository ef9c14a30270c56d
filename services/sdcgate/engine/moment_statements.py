"""The statements about a measure's moments as Ibis expressions: each row is of a group of records.

How closely moments tell the value farthest out of a group depends on who is left of it beside a coalition:
the units that hold most of its squared deviations. Who these are is found and used within one statement, so
that neither units nor their values leave the database. Sums are of whole numbers, as in `linear_statements`,
so that the order in which workers finish does not show; what depends on the data comes as a table, never in
the text. They are over a projection, the records and their groups, that is compiled apart: so they are
written once, whatever is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sdcgate.engine.aggregation import MEMBERS, RECORDS, Conditions, chosen_records, members_at
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect, fitting_sum, largest, nearest, wide_sum
from sdcgate.engine.linear_statements import SETTINGS, UNIT_BITS
from sdcgate.methods.outputs.moments import TOGETHER

ENDS = (0, 1)
"""The least value and the greatest."""
KNOWN = tuple(f"known{end}" for end in ENDS)
UNIT = 2.0**UNIT_BITS


@dataclass(frozen=True, slots=True)
class MomentShape:
    """What decides the text of a statement, beside its records."""

    single: bool
    """Whether units have one record."""
    several: bool
    """Whether there are several groups."""
    coalition: int = 0
    highest: int = 2
    """The highest power that is wanted."""


def projection(
    dataset: Dataset,
    measure: str,
    conditions: Conditions,
    valid: Sequence[str],
    columns: Sequence[str] | None = None,
) -> Any:
    """The records of a measure: `g`, the group; `unit`; `x`, the measure as the snapshot's whole number.

    They fulfil the conditions and have all of `valid`. `columns` are those by which `members` says in which
    regions a record lies, once for each; None: all records are one group.
    """
    import ibis

    table = chosen_records(dataset, conditions, valid)
    value = dataset.measure_column(measure)
    if columns is None:
        return table.select(g=ibis.literal(0, type="int64"), unit=table["unit"], x=table[value])
    members = members_at(columns)
    joined = table.join(members, list(columns)) if columns else table.cross_join(members)
    return joined.select(g=joined.region, unit=joined["unit"], x=joined[value])


def projection_of_several(
    dataset: Dataset, measures: Sequence[str], conditions: Conditions, columns: Sequence[str]
) -> Any:
    """As `projection`, of several measures: each record once for each of its groups.

    `members` says by `columns` which groups these are, and of which of the measures by `place`.
    """
    import ibis

    table = chosen_records(dataset, conditions, tuple(sorted(measures)))
    values = [dataset.measure_column(name) for name in measures]
    members = ibis.table(dict.fromkeys((*columns, "place", "region"), "int64"), name=MEMBERS)
    joined = table.join(members, list(columns)) if columns else table.cross_join(members)
    x = joined[values[0]]
    if len(values) > 1:
        x = ibis.cases(*((joined.place == place, joined[name]) for place, name in enumerate(values)))
    return joined.select(g=joined.region, unit=joined["unit"], x=x)


def totals_of_units(records: Any, dialect: Dialect) -> Any:
    """A projection with a record for each unit of a group, its total."""
    return records.group_by(["g", "unit"]).agg(x=fitting_sum(records.x, dialect))


def ranges(dialect: Dialect) -> Any:
    """By group: records, sum, least and greatest value."""
    table = _records()
    return table.group_by("g").agg(
        records=table.count(), sum=wide_sum(table.x, dialect), least=table.x.min(), most=table.x.max()
    )


def powers(shape: MomentShape, dialect: Dialect) -> Any:
    """By group: sums of powers of the values and of these without signs, over the greatest; units' largest.

    Settings: `factor`, 1 over the greatest absolute value; `step`, in what the sums of a unit are counted.
    """
    table = _with_settings(shape, ("factor", "step"))
    table = table.select("g", "unit", "step", y=table.x.cast("float64") * table.factor)
    orders = range(2, shape.highest + 1)
    found: dict[str, Any] = {}
    for order in orders:
        power = _power(table.y, order)
        found[f"sum{order}"] = wide_sum(nearest(power * UNIT, dialect), dialect)
        if order % 2:
            found[f"absolute{order}"] = wide_sum(nearest(power.abs() * UNIT, dialect), dialect)
    of_groups = table.group_by("g").agg(**found)
    if shape.single:
        return of_groups
    held = {
        f"held{order}": fitting_sum(nearest(_power(table.y, order).abs() * table.step, dialect), dialect)
        for order in orders
    }
    by_unit = table.group_by(["g", "unit"]).agg(**held)
    greatest = {f"largest{order}": by_unit[f"held{order}"].max() for order in orders}
    of_units = by_unit.group_by("g").agg(units=by_unit.count(), **greatest)
    return of_groups.join(of_units, "g")


def left(shape: MomentShape, dialect: Dialect) -> Any:
    """By group, for each end: records that are left beside its coalition, their sum and extremes.

    Settings: `least`, `most`; the mean as `centre` and `shift`; `factor`, 1 over the greatest distance from
    it; `step`.
    """
    table = _beside_coalitions(shape, dialect)
    # A row a coalition first: of a few rows a filter costs nothing.
    parts = table.group_by(["g", *KNOWN]).agg(
        records=table.count(), sum=wide_sum(table.x, dialect), least=table.x.min(), most=table.x.max()
    )
    found: dict[str, Any] = {}
    for end, known in enumerate(KNOWN):
        there = parts[known] == 0
        found |= {
            f"records{end}": parts.records.sum(where=there),
            f"sum{end}": parts["sum"].sum(where=there),
            f"least{end}": parts.least.min(where=there),
            f"most{end}": parts.most.max(where=there),
        }
    return parts.group_by("g").agg(**found)


def spread(shape: MomentShape, dialect: Dialect) -> Any:
    """By group, for each end: squares of who is left about their own mean, powers about the mean of all.

    Where fourth powers are wanted, third ones with their sign and fourth ones about the own mean as well.

    Settings, beside those of `left`: for each end the own mean as `centre<end>` and `shift<end>`;
    `factor<end>`, 1 over the greatest distance from it, and `far<end>`, 1 over that from the mean of all.
    """
    import ibis

    doubles = tuple(f"{name}{end}" for end in ENDS for name in ("shift", "factor", "far"))
    whole = tuple(f"centre{end}" for end in ENDS)
    table = _beside_coalitions(shape, dialect, doubles, whole)
    found: dict[str, Any] = {}
    for end, known in enumerate(KNOWN):
        # Those who are not left may lie so much farther out that no 64 bits would hold them.
        there = table[known] == 0
        own = (table.x - table[f"centre{end}"]).cast("float64") - table[f"shift{end}"]
        own = ibis.ifelse(there, own * table[f"factor{end}"], 0.0)
        found[f"squares{end}"] = wide_sum(nearest(own * own * UNIT, dialect), dialect)
        if shape.highest >= TOGETHER:
            found[f"cubes{end}"] = wide_sum(nearest(_power(own, 3) * UNIT, dialect), dialect)
            found[f"fourths{end}"] = wide_sum(nearest(_power(own, 4) * UNIT, dialect), dialect)
        apart = ibis.ifelse(there, _deviation(table) * table[f"far{end}"], 0.0)
        for order in range(3, shape.highest + 1):
            power = _power(apart, order).abs()
            found[f"power{order}_{end}"] = wide_sum(nearest(power * UNIT, dialect), dialect)
    return table.group_by("g").agg(**found)


def _records() -> Any:
    import ibis

    return ibis.table(dict.fromkeys(("g", "unit", "x"), "int64"), name=RECORDS)


def _beside_coalitions(
    shape: MomentShape,
    dialect: Dialect,
    doubles: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
) -> Any:
    """The records, with `known<end>` 1 where their unit is of the coalition beside that end's, or 0."""
    import ibis

    table = _with_settings(shape, ("shift", "factor", "step", *doubles), ("centre", "least", "most", *whole))
    known = _coalitions(table, shape, dialect)
    joined = table.left_join(known, ["g", "unit"])
    none = ibis.literal(0, type="int64")
    return joined.select(*table.columns, **{name: ibis.coalesce(joined[name], none) for name in KNOWN})


def _coalitions(table: Any, shape: MomentShape, dialect: Dialect) -> Any:
    """A few rows a group: units that hold most, and whether they are of the coalition beside either end's.

    Beside its own unit, the coalition of an end is the `coalition` units that hold most.
    """
    import ibis

    farthest = _farthest(_units(table, shape, dialect), shape.coalition + 1, shape.several, dialect)
    # Of several units with the least value the first is meant, of those with the greatest the last.
    ends = table.group_by("g").agg(
        end0=table.unit.min(where=table.x == table.least), end1=table.unit.max(where=table.x == table.most)
    )
    found = farthest.join(ends, "g")
    one, none = (ibis.literal(number, type="int64") for number in (1, 0))
    is_end = {f"is{end}": ibis.ifelse(found.unit == found[f"end{end}"], one, none) for end in ENDS}
    found = found.mutate(**is_end)
    among = {f"among{end}": found[f"is{end}"].max().over(group_by=found.g) for end in ENDS}
    found = found.mutate(**among)
    known = {}
    for end in ENDS:
        first = (found["rank"] < shape.coalition) | (found[f"among{end}"] == 1)
        known[f"known{end}"] = ibis.ifelse((found[f"is{end}"] == 0) & first, one, none)
    return found.select("g", "unit", **known)


def _units(table: Any, shape: MomentShape, dialect: Dialect) -> Any:
    """A row a unit and group with what it holds of the squared deviations."""
    deviation = _deviation(table)
    if shape.single:
        # A double by itself keeps digits of those near the mean that a whole number would not.
        return table.select("g", "unit", held=deviation * deviation)
    scaled = deviation * table.factor
    square = nearest(scaled * scaled * table.step, dialect)
    return table.group_by(["g", "unit"]).agg(held=fitting_sum(square, dialect))


def _farthest(units: Any, count: int, several: bool, dialect: Dialect) -> Any:
    """The units of each group that hold most, with their `rank` from 0; of equals the first unit is."""
    import ibis

    order = [ibis.desc(units.held), units.unit]
    # Not all are sorted for a few: only these are ranked.
    if several:
        most = units.group_by("g").agg(most=largest(units.held, count, dialect))
        enough = most.select("g", least_of_them=most.most[most.most.length() - 1])
        units = units.join(enough, "g")
        units = units.filter(units.held >= units.least_of_them).select("g", "unit", "held")
    else:
        units = units.order_by(order).limit(count)
    order = [ibis.desc(units.held), units.unit]
    ranked = units.mutate(rank=ibis.row_number().over(group_by=units.g, order_by=order))
    return ranked.filter(ranked["rank"] < count)


def _deviation(table: Any) -> Any:
    """From the mean of all: a difference of whole numbers keeps the digits that one of doubles would lose."""
    return (table.x - table.centre).cast("float64") - table["shift"]


def _with_settings(shape: MomentShape, doubles: tuple[str, ...], whole: tuple[str, ...] = ()) -> Any:
    import ibis

    columns = {"g": "int64", **dict.fromkeys(whole, "int64"), **dict.fromkeys(doubles, "float64")}
    table, settings = _records(), ibis.table(columns, name=SETTINGS)
    # Of one group there is one row.
    return table.join(settings, "g") if shape.several else table.cross_join(settings.drop("g"))


def _power(value: Any, order: int) -> Any:
    found = value
    for _ in range(order - 1):
        found = found * value
    return found
