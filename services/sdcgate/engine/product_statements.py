"""The statements about cross-products of measures by group, as Ibis expressions: each row is of a group.

As in `moment_statements`: sums are of whole numbers, settings come as a table, and what is asked is a
projection that is compiled apart.
"""

from collections.abc import Sequence
from typing import Any

from sdcgate.engine.aggregation import MEMBERS, RECORDS, Conditions, chosen_records
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect, nearest, wide_sum
from sdcgate.engine.linear_statements import SETTINGS, UNIT_BITS

UNIT = 2.0**UNIT_BITS


def projection(
    dataset: Dataset,
    measures: Sequence[str],
    conditions: Conditions,
    valid: Sequence[str],
    columns: Sequence[str],
) -> Any:
    """Columns `g`, `unit` and `x<i>` of each measure, of the records that fulfil the conditions.

    They have all measures of `valid`. The table `members` has the group of each combination of codes in
    `columns`.
    """
    import ibis

    table = chosen_records(dataset, conditions, valid)
    members = ibis.table({**dict.fromkeys(columns, "int64"), "region": "int64"}, name=MEMBERS)
    joined = table.join(members, list(columns)) if columns else table.cross_join(members)
    values = {f"x{place}": joined[dataset.measure_column(name)] for place, name in enumerate(measures)}
    return joined.select(g=joined.region, unit=joined["unit"], **values)


def ranges(measures: int, dialect: Dialect) -> Any:
    """By group: records, and of each measure its sum, least and greatest value."""
    table = _records(measures)
    found: dict[str, Any] = {"records": table.count()}
    for place in range(measures):
        value = table[f"x{place}"]
        found[f"sum{place}"] = wide_sum(value, dialect)
        found |= {f"least{place}": value.min(), f"most{place}": value.max()}
    return table.group_by("g").agg(**found)


def units(measures: int) -> Any:
    """By group: distinct units."""
    table = _records(measures)
    return table.group_by("g").agg(units=table.unit.nunique())


def units_of_values(measures: int, place: int, single: bool) -> Any:
    """By group and value of a measure: distinct units."""
    table = _records(measures)
    value = table[f"x{place}"]
    return table.group_by(g=table.g, value=value).agg(units=table.count() if single else table.unit.nunique())


def products(measures: int, dialect: Dialect) -> Any:
    """By group: sums of products of the measures' deviations, each as a share of the farthest.

    Settings by group: the mean of each measure as `centre<i>` and `shift<i>`; `factor<i>`, 1 over the
    greatest distance from it.
    """
    import ibis

    places = range(measures)
    doubles = [f"{name}{place}" for name in ("shift", "factor") for place in places]
    columns = {"g": "int64", **{f"centre{place}": "int64" for place in places}}
    settings = ibis.table({**columns, **dict.fromkeys(doubles, "float64")}, name=SETTINGS)
    table = _records(measures).join(settings, "g")

    def deviation(place: int) -> Any:
        # A difference of whole numbers keeps the digits that one of doubles would lose.
        apart = (table[f"x{place}"] - table[f"centre{place}"]).cast("float64") - table[f"shift{place}"]
        return apart * table[f"factor{place}"]

    apart = table.select(g=table.g, **{f"z{place}": deviation(place) for place in places})
    found = {
        f"product{a}_{b}": wide_sum(nearest(apart[f"z{a}"] * apart[f"z{b}"] * UNIT, dialect), dialect)
        for a in places
        for b in places
        if a <= b
    }
    return apart.group_by("g").agg(**found)


def _records(measures: int) -> Any:
    import ibis

    columns = ("g", "unit", *(f"x{place}" for place in range(measures)))
    return ibis.table(dict.fromkeys(columns, "int64"), name=RECORDS)
