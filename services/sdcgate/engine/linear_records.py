"""Records of a linear model as an Ibis relation: its cell by the factors, its numbers, its weight.

Records stay in the database: what is selected from this relation are sums, extremes and counts of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from sdcgate.engine.aggregation import RECORDS, Conditions, chosen_records, view_name
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Condition
from sdcgate.engine.table_plan import plan_conditions
from sdcgate.methods.outputs.design import SplinePiece, Transformed
from sdcgate.methods.outputs.splines import PiecewisePolynomial

Number = tuple[Transformed | SplinePiece, ...]
"""A product of transformed measures: what a column is where its indicators are 1."""


@dataclass(frozen=True, slots=True)
class LinearQuery:
    """What a linear model takes from the records that fulfil all conditions and have the measures.

    A record's *cell* is its codes at `levels`, row-major; `numbers` are products of transformed measures, the
    last of them the outcome. `numbered` has variables that are measures by their codes: the whole number of
    each code of the finest level.
    """

    levels: tuple[tuple[str, str], ...]
    numbers: tuple[Number, ...]
    filters: tuple[Condition, ...] = ()
    valid: tuple[str, ...] = ()
    numbered: tuple[tuple[str, tuple[int, ...]], ...] = ()
    weighted: bool = False

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of all measures in the numbers, in order."""
        return tuple(sorted({part.measure for number in self.numbers for part in number}))

    def as_it_is(self, number: int) -> str:
        """The measure that a number is, untransformed; empty for others."""
        parts = self.numbers[number]
        plain = len(parts) == 1 and isinstance(parts[0], Transformed) and not parts[0].transformation
        return parts[0].measure if plain else ""


@dataclass(frozen=True, slots=True)
class LinearRecords:
    """The relation of a query, as what decides its text."""

    dataset: Dataset
    query: LinearQuery
    conditions: Conditions
    cells: tuple[tuple[str, int], ...]
    """Snapshot column and number of codes of each level."""

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells the texts of two statements over such relations apart: nothing of who is in them."""
        query = self.query
        return query.numbers, query.weighted, tuple(map(self.scale, query.measures))

    @property
    def projection_key(self) -> tuple[Any, ...]:
        """What tells two relations apart, their columns `carried` aside."""
        query = self.query
        named = query.measures, query.valid, query.numbered, query.weighted
        return view_name(self.dataset), self.conditions, self.cells, *named

    def scale(self, measure: str) -> int:
        """What a measure's values are multiplied by in the snapshot."""
        return self.dataset.profiles[measure].scale if measure in self.dataset.profiles else 1

    def relation(self, carried: Sequence[str] = ()) -> Any:
        """Columns `unit`, `cell`, `weight` if there are weights, `x<i>` of each measure: whole numbers.

        By the name that a statement has for them: what they are in the snapshot says the projection, which
        is compiled apart, so that a statement is written once for all populations.
        """
        import ibis

        names = ["unit", "cell", *(["weight"] if self.query.weighted else [])]
        names += [f"x{place}" for place in range(len(self.query.measures))]
        return ibis.table(dict.fromkeys((*names, *carried), "int64"), name=RECORDS)

    def projection(self, carried: Sequence[str] = ()) -> Any:
        """The relation in the snapshot, with further columns of it."""
        import ibis

        dataset, query = self.dataset, self.query
        table = chosen_records(dataset, self.conditions, query.valid)
        cell: Any = ibis.literal(0, type="int64")
        for at, (column, codes) in enumerate(self.cells):
            code = table[column].cast("int64")
            cell = code if at == 0 else cell * codes + code
        numbered = dict(query.numbered)
        values = {
            f"x{place}": _of_codes(table[dataset.column(name)], numbered[name])
            if name in numbered
            else table[dataset.measure_column(name)]
            for place, name in enumerate(query.measures)
        }
        weight = {"weight": table["weight"]} if query.weighted else {}
        more = {name: table[name].cast("int64") for name in carried}
        return table.select(unit=table["unit"], cell=cell, **weight, **values, **more)

    def number(self, records: Any, place: int) -> Any:
        """A number of the relation's records as a double, NULL where it is not defined."""
        measures = self.query.measures
        parts = []
        for part in self.query.numbers[place]:
            whole = records[f"x{measures.index(part.measure)}"].cast("float64")
            value = whole / float(self.scale(part.measure))
            if isinstance(part, SplinePiece):
                parts.append(_polynomial(part.polynomial, value))
            else:
                parts.append(_TRANSFORMED[part.transformation](value))
        return reduce(mul, parts)


def linear_records(dataset: Dataset, query: LinearQuery) -> LinearRecords:
    """The relation of a query. Raises UnknownName, ValueError for a condition without codes."""
    cells = tuple((dataset.column(*level), len(dataset.level(*level).codes)) for level in query.levels)
    return LinearRecords(dataset, query, plan_conditions(dataset, query.filters), cells)


def _of_codes(column: Any, numbers: tuple[int, ...]) -> Any:
    """What codes are as numbers: public, so they may stand in the text."""
    import ibis

    codes = column.cast("int64")
    shift = numbers[0]
    rising = all(number == place + shift for place, number in enumerate(numbers[:-1]))
    # The last is what is missing, which no condition of a model leaves in.
    if rising:
        return codes + shift
    return ibis.cases(*((codes == place, number) for place, number in enumerate(numbers)), else_=0).cast(
        "int64"
    )


def _defined(where: Any, result: Any) -> Any:
    import ibis

    return ibis.ifelse(where, result, ibis.null("float64"))


def _log1p(value: Any) -> Any:
    """The logarithm of 1 + x with the digits of a small x (Kahan): log(u) x / (u - 1), u = 1 + x."""
    import ibis

    one_more = value + 1.0
    lost = one_more == 1.0
    rest = ibis.ifelse(lost, 1.0, one_more - 1.0)
    inside = ibis.ifelse(value > -1.0, one_more, 1.0)
    return _defined(value > -1.0, ibis.ifelse(lost, value, inside.ln() * value / rest))


def _log(value: Any) -> Any:
    import ibis

    return _defined(value > 0.0, ibis.ifelse(value > 0.0, value, 1.0).ln())


def _sqrt(value: Any) -> Any:
    import ibis

    return _defined(value >= 0.0, ibis.ifelse(value >= 0.0, value, 0.0).sqrt())


def _inverse(value: Any) -> Any:
    import ibis

    return _defined(value > 0.0, 1.0 / ibis.ifelse(value > 0.0, value, 1.0))


_TRANSFORMED: Mapping[str, Any] = {
    "": lambda value: value,
    "log": _log,
    "log1p": _log1p,
    "sqrt": _sqrt,
    "square": lambda value: value * value,
    "cube": lambda value: value * value * value,
    "inverse": _inverse,
}


def _polynomial(polynomial: PiecewisePolynomial, value: Any) -> Any:
    """A piecewise polynomial by Horner's rule; its knots are the descriptor's."""
    import ibis

    def piece(start: float, coefficients: tuple[float, ...]) -> Any:
        beyond = value - start
        return reduce(
            lambda sum_, one: sum_ * beyond + one, reversed(coefficients[:-1]), _double(coefficients[-1])
        )

    pieces = [piece(*one) for one in zip(polynomial.starts, polynomial.coefficients, strict=True)]
    bounds = polynomial.starts[1:]
    if not bounds:
        return pieces[0]
    branches = [(value < bound, one) for bound, one in zip(bounds, pieces, strict=False)]
    return ibis.cases(*branches, else_=pieces[-1])


def _double(number: float) -> Any:
    import ibis

    return ibis.literal(number, type="float64")
