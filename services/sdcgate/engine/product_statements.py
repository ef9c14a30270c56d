"""The statements about cross-products of measures by group, as Ibis expressions: each row is of a group.

As in `moment_statements`: sums are of whole numbers, settings come as a table, and what is asked is a
projection that is compiled apart.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from sdcgate.engine.aggregation import MEMBERS, RECORDS, Conditions, chosen_records
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect, fitting_sum, largest, nearest, wide_sum
from sdcgate.engine.linear_statements import SETTINGS, UNIT_BITS
from sdcgate.methods.outputs.residual_shares import DETERMINED

UNIT = 2.0**UNIT_BITS
ResidualShape = tuple[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], ...]
"""The measures in each residual, and in each row of its leverage."""


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


def units_of_values(measures: int, places: tuple[int, ...], single: bool) -> Any:
    """By group and values of some measures together: distinct units."""
    table = _records(measures)
    values = {f"value{number}": table[f"x{place}"] for number, place in enumerate(places)}
    return table.group_by(g=table.g, **values).agg(units=table.count() if single else table.unit.nunique())


def products(measures: int, dialect: Dialect) -> Any:
    """By group: sums of products of the measures' deviations, each as a share of the farthest.

    Settings by group: the mean of each measure as `centre<i>` and `shift<i>`; `factor<i>`, 1 over the
    greatest distance from it.
    """
    places = range(measures)
    apart = _deviations(measures)
    found = {
        f"product{a}_{b}": wide_sum(nearest(apart[f"z{a}"] * apart[f"z{b}"] * UNIT, dialect), dialect)
        for a in places
        for b in places
        if a <= b
    }
    return apart.group_by("g").agg(**found)


def residuals(shape: ResidualShape, measures: int, ranks: int, single: bool, dialect: Dialect) -> Any:
    """By `whole`: of each residual the `ranks` largest that units hold of its squares.

    Settings by group, beside those of `products`: `whole`, in which it is taken together with others; `step`,
    in what squares are counted; `base` of the leverages; `weight<k>_<i>` of measure i in residual k, and
    `lever<k>_<row>_<i>`.
    """
    import ibis

    names = [f"weight{k}_{i}" for k, (part, _) in enumerate(shape) for i in part]
    names += [
        f"lever{k}_{row}_{i}"
        for k, (_, rows) in enumerate(shape)
        for row, part in enumerate(rows)
        for i in part
    ]
    apart = _deviations(measures, ["step", "base", *names], ("whole",))

    def weighed(name: str, part: Sequence[int]) -> Any:
        return reduce(add, (apart[f"{name}_{i}"] * apart[f"z{i}"] for i in part))

    def held(k: int) -> Any:
        part, rows = shape[k]
        free = 1.0 - apart.base
        for row, levers in enumerate(rows):
            free = free - _power(weighed(f"lever{k}_{row}", levers))
        square = _power(weighed(f"weight{k}", part)) / ibis.ifelse(free > DETERMINED, free, 1.0)
        return nearest(ibis.ifelse(free > DETERMINED, square, 0.0) * apart.step, dialect)

    every = range(len(shape))
    table = apart.select(whole=apart.whole, unit=apart.unit, **{f"held{k}": held(k) for k in every})
    if not single:
        sums = {f"held{k}": fitting_sum(table[f"held{k}"], dialect) for k in every}
        table = table.group_by(["whole", "unit"]).agg(**sums)
    return table.group_by("whole").agg(
        **{f"top{k}": largest(table[f"held{k}"], ranks, dialect) for k in every}
    )


def _power(value: Any) -> Any:
    return value * value


def _deviations(measures: int, doubles: Sequence[str] = (), whole: Sequence[str] = ()) -> Any:
    """The records with `z<i>`, the deviation of each measure as a share of the farthest, and settings."""
    import ibis

    places = range(measures)
    every = [*(f"{name}{place}" for name in ("shift", "factor") for place in places), *doubles]
    columns = dict.fromkeys(("g", *whole, *(f"centre{place}" for place in places)), "int64")
    settings = ibis.table({**columns, **dict.fromkeys(every, "float64")}, name=SETTINGS)
    table = _records(measures).join(settings, "g")

    def deviation(place: int) -> Any:
        # A difference of whole numbers keeps the digits that one of doubles would lose.
        apart = (table[f"x{place}"] - table[f"centre{place}"]).cast("float64") - table[f"shift{place}"]
        return apart * table[f"factor{place}"]

    kept = ("g", "unit", *whole, *doubles)
    return table.select(*kept, **{f"z{place}": deviation(place) for place in places})


def _records(measures: int) -> Any:
    import ibis

    columns = ("g", "unit", *(f"x{place}" for place in range(measures)))
    return ibis.table(dict.fromkeys(columns, "int64"), name=RECORDS)
