"""The statements of a linear model over its records, as Ibis expressions: each row is of a cell or of all.

Sums are of whole numbers: products of centred numbers of at most 1 in units of 2^-60, so that the order in
which workers finish does not show. What depends on the data (centres, coefficients) comes as tables, never in
the text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sdcgate.engine.dialects import Dialect, fitting_sum, lower_median, nearest, the_one, top, wide_sum
from sdcgate.engine.linear_records import LinearRecords

SETTINGS, COEFFICIENTS, GROUPS = "settings", "coefficients", "grouped"
UNIT_BITS = 60
"""Products of numbers up to 1 are summed in units of 2^-60: sixteen of them fit in 64 bits."""
LEVERAGE_BITS = 50
"""Leverages of one unit's records sum to more than 1."""
SQUARE_BITS = 61
SAMPLED = 5000
"""Records in which more than a few different values end the search for measures of few values."""
ALL_BUT_ONE = 1e-10
"""As `influence.ALL_BUT_ONE`."""


@dataclass(frozen=True, slots=True)
class ProjectionShape:
    """What decides the text of the statements about influence.

    `mixed` are the numbers that some column multiplies with indicators: their coefficients differ by cell.
    `apart` has for each column whose values have to be counted the number that it is, 0 for an indicator,
    and whether it is multiplied with indicators.
    """

    columns: int
    numbers: int
    """Numbers of the predictors; the outcome is one more."""
    with_cells: bool
    mixed: frozenset[int]
    apart: tuple[tuple[int, int, bool], ...]
    """(column, number from 1, multiplied with indicators)."""
    single: bool
    """Whether units have one record."""
    largest: int

    def varies(self, *numbers: int) -> bool:
        """Whether a coefficient of a product of numbers, 0 the constant, differs by cell."""
        return bool(self.mixed.intersection(numbers)) or (0 in numbers and self.with_cells)

    @property
    def names(self) -> dict[str, bool]:
        """Names of all coefficients, with whether they differ by cell."""
        every = range(self.numbers + 1)
        found = {f"p{j}_{a}": self.varies(a) for j in range(self.columns) for a in every}
        found |= {f"h{a}_{b}": self.varies(a, b) for a in every for b in every if a <= b}
        found |= {f"e{a}": self.varies(a) for a in every}
        found |= {f"on{j}": self.with_cells for j, a, mixed in self.apart if mixed or not a}
        found |= {f"middle{j}": False for j, _, _ in self.apart}
        return found | {"outcome": False, "exact": False, "freedom": False}


def ranges(records: LinearRecords, dialect: Dialect) -> Any:
    """By cell: records, weights, and of each measure and number its extremes; sums of measures."""
    table, query = records.relation(), records.query
    found = {"records": table.count()}
    if query.weighted:
        found |= {"weights": wide_sum(table.weight, dialect), "lightest": table.weight.min()}
        found |= {"heaviest": table.weight.max()}
    for place in range(len(query.measures)):
        value = table[f"x{place}"]
        found[f"sum{place}"] = wide_sum(value, dialect)
        found |= {f"least{place}": value.min(), f"most{place}": value.max()}
    for place in range(len(query.numbers)):
        if not query.as_it_is(place):
            value = records.number(table, place)
            found |= {f"lowest{place}": value.min(), f"highest{place}": value.max()}
    return table.group_by("cell").agg(**found)


def moments(records: LinearRecords, dialect: Dialect) -> Any:
    """By cell: sums of the centred and scaled numbers, of their squares and products."""
    import ibis

    query = records.query
    table = _with_settings(records)
    numbers = range(len(query.numbers))
    centred = {f"z{a}": _centred(records, table, a) for a in numbers}
    weight = {"w": table.weight.cast("float64") * table.weight_unit} if query.weighted else {}
    table = table.select(cell=table.cell, **centred, **weight)
    unit = ibis.literal(2.0**UNIT_BITS, type="float64")

    def summed(product: Any) -> Any:
        weighted = product * table.w if query.weighted else product
        return wide_sum(nearest(weighted * unit, dialect), dialect)

    found = {f"first{a}": summed(table[f"z{a}"]) for a in numbers}
    found |= {
        f"second{a}_{b}": summed(table[f"z{a}"] * table[f"z{b}"]) for a in numbers for b in numbers if a <= b
    }
    return table.group_by("cell").agg(**found)


def medians(records: LinearRecords, shape: ProjectionShape, dialect: Dialect) -> Any:
    """The value in the middle, the lower of two, of each column in `apart` that is no indicator."""
    table = records.relation()
    mixed = [column for column, _, of_cell in shape.apart if of_cell]
    if mixed:
        names = [f"on{column}" for column in mixed]
        table = table.join(_unbound(COEFFICIENTS, names, ("cell",)), "cell")
    values = {
        f"middle{column}": records.number(table, number - 1) * (table[f"on{column}"] if of_cell else 1.0)
        for column, number, of_cell in shape.apart
        if number
    }
    return lower_median(table.select(**values), list(values), dialect)


def sampled(records: LinearRecords, numbers: Sequence[int]) -> Any:
    """Different values of each measure, and of some numbers, among some records."""
    table = records.relation().limit(SAMPLED)
    found = {f"values{place}": table[f"x{place}"].nunique() for place in range(len(records.query.measures))}
    return table.agg(**found, **{f"numbers{a}": records.number(table, a).nunique() for a in numbers})


def different(records: LinearRecords, measures: Sequence[int], numbers: Sequence[int]) -> Any:
    """How many different values some measures and numbers have among all records."""
    table = records.relation()
    found = {f"values{place}": table[f"x{place}"].nunique() for place in measures}
    return table.agg(**found, **{f"numbers{a}": records.number(table, a).nunique() for a in numbers})


@dataclass(frozen=True, slots=True)
class Grouping:
    """What units are counted by: the cells' groups, and values of measures and of numbers.

    Numbers in `active` count as 0 in the cells where no column has them.
    """

    by_cell: bool
    measures: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    active: tuple[int, ...] = ()
    most: int | None = None
    """Rows that are wanted at most."""


def units_by(records: LinearRecords, grouping: Grouping, single: bool) -> Any:
    """Units of each group that occurs, in the order of the groups."""
    import ibis

    table = records.relation()
    if grouping.by_cell:
        columns = dict.fromkeys(("cell", "g", *(f"active{a}" for a in grouping.active)), "int64")
        table = table.join(ibis.table(columns, name=GROUPS), "cell")
    keys: dict[str, Any] = {"g": table.g} if grouping.by_cell else {}
    keys |= {f"x{place}": table[f"x{place}"] for place in grouping.measures}
    for a in grouping.numbers:
        value = records.number(table, a)
        keys[f"n{a}"] = ibis.ifelse(table[f"active{a}"] == 1, value, 0.0) if a in grouping.active else value
    units = table.count() if single else table.unit.nunique()
    if not keys:
        return table.agg(units=units)
    table = table.select(unit=table.unit, **keys)
    counted = table.group_by(list(keys)).agg(units=table.count() if single else table.unit.nunique())
    return counted.order_by(list(keys)) if grouping.most is None else counted.limit(grouping.most)


def influence(records: LinearRecords, shape: ProjectionShape, dialect: Dialect) -> Any:
    """One row: the largest shares, DFBETAS and leverage of a unit, records fitted exactly, units apart.

    `moved` are squares of DFBETAS where units have one record. `kept` units cannot be left out.
    """
    import ibis

    table = _influential(records, shape, dialect)
    found = {"leverage": table.leverage.max(), "exact": table.exact.sum(), "units": table.count()}
    found |= {"residual": table.held.max(), "kept": ibis.ifelse(table.possible, 0, 1).sum()}
    for j in range(shape.columns):
        share = table[f"share{j}"]
        found[f"top{j}"] = top(share, shape.largest, dialect)
        # The squared score of a single record is its share of the information times its squared residual.
        moved = share if shape.single else table[f"score{j}"].abs()
        found[f"moved{j}"] = (moved * table.ratio).max()
    found |= {f"apart{j}": table[f"apart{j}"].sum() for j, _, _ in shape.apart}
    return table.agg(**found)


def informed(records: LinearRecords, shape: ProjectionShape, dialect: Dialect) -> Any:
    """One row: the largest share of each coefficient's information of a unit that cannot be left out."""
    table = _influential(records, shape, dialect)
    table = table.filter(~table.possible)
    return table.agg(**{f"informed{j}": table[f"share{j}"].max() for j in range(shape.columns)})


def _influential(records: LinearRecords, shape: ProjectionShape, dialect: Dialect) -> Any:
    """Each unit's leverage, shares and scores, whether it can be left out, and by what scores then count."""
    import ibis

    table = _projected(records, shape, () if shape.single else ("unit",), scored=not shape.single)
    if not shape.single:
        whole = {"leverage": (table.leverage, LEVERAGE_BITS), "square": (table.square, UNIT_BITS)}
        for name in ("share", "score"):
            whole |= {f"{name}{j}": (table[f"{name}{j}"], UNIT_BITS) for j in range(shape.columns)}
        sums: dict[str, Any] = {
            name: fitting_sum(nearest(value * 2.0**bits, dialect), dialect).cast("float64") / 2.0**bits
            for name, (value, bits) in whole.items()
        }
        sums |= {f"apart{j}": table[f"apart{j}"].max() for j, _, _ in shape.apart}
        freedom = the_one(table.freedom, dialect)
        table = table.group_by("unit").agg(**sums, freedom=freedom, exact=fitting_sum(table.exact, dialect))
    left = 1.0 - table.leverage
    above = ibis.ifelse(left > 0.0, left, 1.0)
    # Not above 0 where a unit has all leverage or all of the squared residuals.
    held = table.square / above
    by = left * ibis.greatest(1.0 - held, 0.0).sqrt() / table.freedom
    table = table.mutate(by=by, held=held, possible=by > ALL_BUT_ONE / table.freedom)
    ratio = table.square / (table.by * table.by) if shape.single else 1.0 / table.by
    return table.mutate(ratio=ibis.ifelse(table.possible, ratio, 0.0))


def score_squares(
    records: LinearRecords, shape: ProjectionShape, dialect: Dialect, by: str, stratum: str
) -> Any:
    """By stratum: clusters, and of each coefficient the sums over clusters of their scores and their squares.

    Clusters are records where `by` is empty, units where it is `unit`, otherwise codes of a snapshot column.
    """
    import ibis

    carried = tuple(name for name in dict.fromkeys((by, stratum)) if name)
    table = _projected(records, replace(shape, apart=()), carried, scored=True)
    j_s = range(shape.columns)
    table = table.mutate(of=table[stratum] if stratum else ibis.literal(0, type="int64"))
    whole = {f"s{j}": nearest(table[f"score{j}"] * 2.0**UNIT_BITS, dialect) for j in j_s}
    if by:
        sums = {f"s{j}": fitting_sum(value, dialect) for j, value in enumerate(whole.values())}
        table = table.group_by(by=table[by]).agg(stratum=table.of.min(), **sums)
    else:
        table = table.select(stratum=table.of, **whole)
    table = table.cross_join(_unbound(SETTINGS, [f"unit{j}" for j in j_s]))
    found: dict[str, Any] = {"clusters": table.count()}
    for j in j_s:
        score = table[f"s{j}"]
        found[f"first{j}"] = wide_sum(score, dialect)
        double = score.cast("float64") / 2.0**UNIT_BITS
        square = double * double * table[f"unit{j}"]
        found[f"second{j}"] = wide_sum(nearest(square, dialect), dialect)
    return table.group_by("stratum").agg(**found)


def _projected(records: LinearRecords, shape: ProjectionShape, carried: Sequence[str], scored: bool) -> Any:
    """Each record's leverage, shares, scores if wanted and squared residual, as shares of their sums."""
    query, outcome = records.query, shape.numbers
    by_cell = [name for name, varies in shape.names.items() if varies]
    of_all = [name for name, varies in shape.names.items() if not varies]
    table = _with_settings(records, of_all, [name for name in carried if name != "unit"])
    if by_cell:
        table = table.join(_unbound(COEFFICIENTS, by_cell, ("cell",)), "cell")
    # After the join: DuckDB hands on what it has beside the cells by reference, which takes longer to read.
    table = table.mutate(**{f"z{a}": _centred(records, table, a) for a in range(outcome + 1)})

    def combined(name: str) -> Any:
        terms = [table[f"{name}{a}"] * table[f"z{a - 1}"] for a in range(1, outcome + 1)]
        return sum(terms, table[f"{name}0"])

    squares = combined("h0_")
    for a in range(1, outcome + 1):
        for b in range(a, outcome + 1):
            squares = squares + table[f"h{a}_{b}"] * table[f"z{a - 1}"] * table[f"z{b - 1}"]
    residual = table.outcome * table[f"z{outcome}"] - combined("e")
    made = {"residual": residual, "leverage": squares}
    made |= {f"p{j}": combined(f"p{j}_") for j in range(shape.columns)}
    made |= {"weighing": table.weight.cast("float64") * table.weight_unit} if query.weighted else {}
    kept = {name: table[name] for name in ("freedom", "exact", *carried)}
    apart = {f"apart{one[0]}": _apart(records, table, *one) for one in shape.apart}
    table = table.select(**kept, **made, **apart)
    # All pass. Without it DuckDB writes every column out in terms of the joined ones, and plans for a second.
    table = table.filter(table.leverage > -1.0)
    return _as_shares(table, shape, query.weighted, carried, scored)


def _as_shares(
    table: Any, shape: ProjectionShape, weighted: bool, carried: Sequence[str], scored: bool
) -> Any:
    import ibis

    def times(value: Any) -> Any:
        return value * table.weighing if weighted else value

    found = {"leverage": times(table.leverage), "square": times(table.residual * table.residual)}
    for j in range(shape.columns):
        projection = table[f"p{j}"]
        found[f"share{j}"] = times(projection * projection)
        if scored:
            found[f"score{j}"] = times(table.residual * projection)
    exact = ibis.ifelse(table.residual.abs() <= table.exact, 1, 0).cast("int64")
    kept = {name: table[name] for name in ("freedom", *carried)}
    apart = {f"apart{j}": table[f"apart{j}"] for j, _, _ in shape.apart}
    return table.select(**kept, **found, **apart, exact=exact)


def _apart(records: LinearRecords, table: Any, column: int, number: int, mixed: bool) -> Any:
    """1 where a column has not its middle value."""
    import ibis

    middle = table[f"middle{column}"]
    if not number:
        return ibis.ifelse(table[f"on{column}"] == middle, 0, 1).cast("int64")
    value = records.number(table, number - 1)
    value = value * table[f"on{column}"] if mixed else value
    return ibis.ifelse(value == middle, 0, 1).cast("int64")


def _with_settings(records: LinearRecords, names: Sequence[str] = (), carried: Sequence[str] = ()) -> Any:
    """The records with the centre and the scale of each number, and other settings."""
    query = records.query
    numbers = range(len(query.numbers))
    whole = [f"centre{a}" for a in numbers if query.as_it_is(a)]
    doubles = [f"centre{a}" for a in numbers if not query.as_it_is(a)] + [f"scale{a}" for a in numbers]
    settings = _unbound(SETTINGS, list(dict.fromkeys([*doubles, *names, "weight_unit"])), whole)
    return records.relation(carried).cross_join(settings)


def _centred(records: LinearRecords, table: Any, place: int) -> Any:
    """A number less its centre, as a share of its farthest distance from it: at most 1."""
    measure = records.query.as_it_is(place)
    if measure:
        value = table[f"x{records.query.measures.index(measure)}"]
        # A difference of whole numbers keeps the digits that a difference of doubles would lose.
        return (value - table[f"centre{place}"]).cast("float64") * table[f"scale{place}"]
    return (records.number(table, place) - table[f"centre{place}"]) * table[f"scale{place}"]


def _unbound(name: str, doubles: Sequence[str], whole: Sequence[str] = ()) -> Any:
    import ibis

    columns: Mapping[str, str] = {**dict.fromkeys(whole, "int64"), **dict.fromkeys(doubles, "float64")}
    return ibis.table(columns, name=name)
