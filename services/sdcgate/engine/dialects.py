"""Where the engine's databases differ in what Ibis writes for them: a small function for each difference."""

from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import Any


class Dialect(StrEnum):
    """The SQL that a database speaks, by Ibis's name."""

    DUCKDB = "duckdb"
    POSTGRESQL = "postgres"
    SPARK = "pyspark"


def largest(values: Any, ranks: int, dialect: Dialect) -> Any:
    """The `ranks` largest values of a group, the largest first; missing ones are left out."""
    import ibis

    if dialect is Dialect.POSTGRESQL:
        return values.collect(order_by=ibis.desc(values))[:ranks]
    kind = str(values.type())
    return _max_by(kind)(values, values, ranks) if dialect is Dialect.SPARK else _max(kind)(values, ranks)


def wide_sum(values: Any, dialect: Dialect, where: Any = None) -> Any:
    """The exact sum of 64-bit integers, which need not fit in 64 bits."""
    # DuckDB and PostgreSQL sum them in wider types by themselves; Spark would fail.
    return (values.cast("decimal(38, 0)") if dialect is Dialect.SPARK else values).sum(where=where)


def fitting_sum(values: Any, dialect: Dialect) -> Any:
    """The sum of 64-bit integers that fits in 64 bits, as such an integer where that is faster."""
    total = values.sum()
    return _int8()(total) if dialect is Dialect.POSTGRESQL else total


def nearest(values: Any, dialect: Dialect) -> Any:
    """Doubles as the nearest 64-bit integers."""
    return (values + 0.5).floor().cast("int64") if dialect is Dialect.SPARK else values.cast("int64")


def top(values: Any, ranks: int, dialect: Dialect) -> Any:
    """As `largest`, but of one the value itself: an array of all would be gathered for it."""
    return values.max() if ranks == 1 else largest(values, ranks, dialect)


def lower_median(table: Any, columns: Sequence[str], dialect: Dialect) -> Any:
    """One row with the value in the middle of each column, of an even number the lower of two."""
    import ibis

    if dialect is Dialect.DUCKDB:
        return table.agg(**{name: _quantile_disc()(table[name], 0.5) for name in columns})
    found = None
    for name in columns:
        counted = table.group_by(value=table[name]).agg(records=table.count())
        window = ibis.window(order_by=counted.value, preceding=None, following=0)
        summed = counted.mutate(below=counted.records.sum().over(window), every=counted.records.sum().over())
        one = summed.filter(2 * summed.below >= summed.every).agg(**{name: summed.value.min()})
        found = one if found is None else found.cross_join(one)
    return found


def the_one(values: Any, dialect: Dialect) -> Any:
    """The value of a group whose values are all the same."""
    return values.arbitrary() if dialect is Dialect.DUCKDB else values.max()


def in_order(records: Any, dialect: Dialect) -> Any:
    """A snapshot's records by unit and mark; DuckDB reads them so from the file."""
    return records if dialect is Dialect.DUCKDB else records.order_by(["unit", "record_mark"])


@cache
def _quantile_disc() -> Any:
    """DuckDB's quantile_disc(x, share) of doubles: a value of the column."""
    import ibis

    def quantile(x, share):  # type: ignore[no-untyped-def]
        ...

    signature = (("float64", "float64"), "float64")
    return ibis.udf.agg.builtin(quantile, name="quantile_disc", signature=signature)


@cache
def _max(kind: str) -> Any:
    """DuckDB's max(x, n) of a type."""
    import ibis

    def largest(x, n):  # type: ignore[no-untyped-def]
        ...

    return ibis.udf.agg.builtin(largest, name="max", signature=((kind, "int64"), f"array<{kind}>"))


@cache
def _max_by(kind: str) -> Any:
    """Spark's max_by(x, x, n) of a type."""
    import ibis

    def largest(x, by, n):  # type: ignore[no-untyped-def]
        ...

    # By its short name sqlglot takes it for the function of two arguments and drops the third.
    name = "system.builtin.max_by"
    return ibis.udf.agg.builtin(largest, name=name, signature=((kind, kind, "int64"), f"array<{kind}>"))


@cache
def _int8() -> Any:
    """PostgreSQL's conversion as a function: Ibis takes a sum for such an integer and leaves a cast out."""
    import ibis

    def int8(x: int) -> int:  # type: ignore[empty-body]
        ...

    return ibis.udf.scalar.builtin(int8)
