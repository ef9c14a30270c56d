"""True facts of cells between messages and arrays. Values by column are checked here, with numpy."""

from typing import Any

import numpy as np

from sdcgate.methods.cells import BoolArray, Contributors, Facts, FloatArray, IntArray, MeasureFacts
from sdcgate.methods.positions import FactsError, named
from sdcgate.wire.dimensions import CellOrder
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, join
from sdcgate_proto.sdcgate.types.v1 import table_pb2

IN_ORDER = CellOrder()


def integers(values: Any) -> IntArray:
    """A packed integer field as an array."""
    # Repeated fields hand over their memory to numpy; reading them one by one takes a hundred times as long.
    return np.array(values, dtype=np.int64)


def floats(values: Any) -> FloatArray:
    """A packed field of doubles as an array."""
    return np.array(values, dtype=np.float64)


def positions(values: Any, count: int, path: str, order: CellOrder = IN_ORDER) -> IntArray:
    """Places of a sender's cells; raises InvalidMessageError where one is no cell or stands twice."""
    array = integers(values)
    if array.size and (array.min() < 0 or array.max() >= count):
        raise InvalidMessageError([FieldProblem(path, f"has positions outside of the table's {count} cells")])
    if np.unique(array).size != array.size:
        raise InvalidMessageError([FieldProblem(path, "names a cell twice")])
    return order.places_of(array)


def mask(values: Any, count: int, path: str, order: CellOrder = IN_ORDER) -> BoolArray:
    """A sender's cells as a mask of places, shape (count,)."""
    result = np.zeros(count, dtype=np.bool_)
    result[positions(values, count, path, order)] = True
    return result


def listed(mask: BoolArray, order: CellOrder = IN_ORDER) -> list[int]:
    """The sender's positions of the places where a mask is true, ascending."""
    found: list[int] = np.sort(order.cells_at(np.flatnonzero(mask))).tolist()
    return found


def facts_problems(
    error: FactsError, given: table_pb2.CellFacts, order: CellOrder = IN_ORDER, path: str = ""
) -> list[FieldProblem]:
    """What is wrong with facts, as their sender knows paths and positions: one problem a column."""
    standing = _standing(given)
    found: dict[str, FieldProblem] = {}
    for problem in error.problems:
        where = standing.get(problem.path, problem.path)
        text = problem.message + named(np.sort(order.cells_at(problem.cells)))
        if where != problem.path and where.endswith("units"):
            text += ", as each unit has one record where records are not given"
        found.setdefault(where, FieldProblem(join(path, where), text))
    return list(found.values())


def _standing(given: table_pb2.CellFacts) -> dict[str, str]:
    """Paths of columns that were not given, with those of the columns that stand for them."""
    counts = "facts.records" if given.records else "facts.units" if given.units else "facts"
    paths = {} if given.records and given.units else dict.fromkeys(("facts.units", "facts.records"), counts)
    for place, measure in enumerate(given.measures):
        if not measure.valid_records:
            path = f"facts.measures[{place}]"
            paths[f"{path}.valid_records"] = f"{path}.valid_units" if measure.valid_units else f"{path}.sums"
    return paths


def facts_to_message(facts: Facts) -> table_pb2.CellFacts:
    """Write true facts. Marks, weighted sums and weights of measures stay in the facility."""
    return table_pb2.CellFacts(
        units=facts.units.tolist(),
        records=facts.records.tolist(),
        households=_listed(facts.households),
        weight_sums=_listed(facts.weight_sums),
        unit_weight_sums=_listed(facts.unit_weight_sums),
        measures=[_measure_to_message(measure) for measure in facts.measures],
        holdings=_listed(facts.holdings),
        structural_zeros=[] if facts.structural_zeros is None else listed(facts.structural_zeros),
    )


def _measure_to_message(measure: MeasureFacts) -> table_pb2.MeasureFacts:
    return table_pb2.MeasureFacts(
        measure=measure.name,
        sums=measure.sums.tolist(),
        valid_records=measure.valid_records.tolist(),
        valid_units=measure.valid_units.tolist(),
        largest=measure.largest.reshape(-1).tolist(),
        ranks=measure.largest.shape[1] if measure.largest.size else 0,
        absolute_sums=measure.absolute_sums.tolist(),
        minima=measure.minima.tolist(),
        maxima=measure.maxima.tolist(),
        lower_bound=measure.lower_bound,
        upper_bound=measure.upper_bound,
        lacking_units=_listed(measure.lacking_units),
        unwaived_largest=_flat(measure.unwaived_largest),
        shifted=_contributors_to_message(measure.shifted),
        weighted=_contributors_to_message(measure.weighted),
        valid_holdings=_listed(measure.valid_holdings),
    )


def _contributors_to_message(contributors: Contributors | None) -> table_pb2.Contributors | None:
    if contributors is None:
        return None
    return table_pb2.Contributors(
        largest=_flat(contributors.largest),
        totals=contributors.totals.tolist(),
        unwaived=_flat(contributors.unwaived),
        variances=_listed(contributors.variances),
    )


def _flat(rows: FloatArray | None) -> list[Any]:
    found: list[Any] = [] if rows is None else rows.reshape(-1).tolist()
    return found


def _listed(values: FloatArray | IntArray | None) -> list[Any]:
    found: list[Any] = [] if values is None else values.tolist()
    return found


def facts_from_message(message: table_pb2.CellFacts, count: int, path: str = "facts") -> Facts:
    """Read true facts of `count` cells, units and records among them.

    Raises InvalidMessageError with every column that has a wrong length, NaN, infinity or a negative count.
    """
    columns = _Columns(count)
    facts = columns.facts(message, path)
    for name in ("units", "records"):
        if not getattr(facts, name).size:
            columns.problem(join(path, name), f"must have {count} values, one a cell, not 0")
    for position, measure in enumerate(facts.measures):
        for name in ("sums", "valid_records", "valid_units"):
            if not getattr(measure, name).size:
                columns.problem(
                    f"{path}.measures[{position}].{name}", f"must have {count} values, one a cell, not 0"
                )
    if not columns.problems and np.any(facts.units > facts.records):
        columns.problem(join(path, "units"), "must not exceed the records of a cell")
    if not columns.problems and np.any((facts.units == 0) != (facts.records == 0)):
        columns.problem(join(path, "units"), "must be 0 exactly where records are 0")
    if columns.problems:
        raise InvalidMessageError(columns.problems)
    return facts


def given_facts_from_message(
    message: table_pb2.CellFacts, count: int, path: str = "facts", order: CellOrder = IN_ORDER
) -> Facts:
    """Read those facts of `count` cells that a sender knows; the others are empty.

    What is in columns of the right length is for `methods.tables.fact_checks` to look at. Raises
    InvalidMessageError, with all that is wrong, where a length, a bound or a measure's name is.
    """
    columns = _Columns(count, order, values_too=False)
    facts = columns.facts(message, path)
    if columns.problems:
        columns = _Columns(count, order)
        columns.facts(message, path)
        raise InvalidMessageError(columns.problems)
    return facts


class _Columns:
    """Reads the columns of one set of cells and collects their problems. An empty column is not known."""

    def __init__(self, count: int, order: CellOrder = IN_ORDER, values_too: bool = True) -> None:
        self.count = count
        self._values_too = values_too
        self.problems: list[FieldProblem] = []
        self._order = order

    def problem(self, path: str, message: str) -> None:
        """Note what is wrong."""
        self.problems.append(FieldProblem(path, message))

    def facts(self, message: table_pb2.CellFacts, path: str) -> Facts:
        """All columns."""
        facts = Facts(
            units=self.counts(message.units, join(path, "units")),
            records=self.counts(message.records, join(path, "records")),
            households=self.weights(message.households, join(path, "households")),
            weight_sums=self.weights(message.weight_sums, join(path, "weight_sums")),
            unit_weight_sums=self.weights(message.unit_weight_sums, join(path, "unit_weight_sums")),
            measures=tuple(
                self.measure(measure, f"{path}.measures[{position}]")
                for position, measure in enumerate(message.measures)
            ),
            holdings=self.some_counts(message.holdings, join(path, "holdings")),
            structural_zeros=self.cells(message.structural_zeros, join(path, "structural_zeros")),
        )
        names = [measure.name for measure in facts.measures]
        if len(set(names)) != len(names):
            self.problem(join(path, "measures"), "names a measure twice")
        return facts

    def measure(self, message: table_pb2.MeasureFacts, path: str) -> MeasureFacts:
        """The columns of one measure."""
        lower = message.lower_bound if message.HasField("lower_bound") else None
        upper = message.upper_bound if message.HasField("upper_bound") else None
        if not all(bound is None or np.isfinite(bound) for bound in (lower, upper)):
            self.problem(path, "bounds must be finite; leave out what nobody knows")
        elif lower is not None and upper is not None and lower > upper:
            self.problem(join(path, "lower_bound"), "must not exceed upper_bound")
        return MeasureFacts(
            name=message.measure,
            sums=self.values(message.sums, join(path, "sums")),
            valid_records=self.counts(message.valid_records, join(path, "valid_records")),
            valid_units=self.counts(message.valid_units, join(path, "valid_units")),
            largest=self.rows(message.largest, join(path, "largest"), message.ranks),
            absolute_sums=self.values(message.absolute_sums, join(path, "absolute_sums")),
            minima=self.values(message.minima, join(path, "minima")),
            maxima=self.values(message.maxima, join(path, "maxima")),
            lower_bound=lower,
            upper_bound=upper,
            lacking_units=self.some_counts(message.lacking_units, join(path, "lacking_units")),
            unwaived_largest=self.some_rows(
                message.unwaived_largest, join(path, "unwaived_largest"), message.ranks
            ),
            shifted=self.contributors(message, "shifted", path),
            weighted=self.contributors(message, "weighted", path),
            valid_holdings=self.some_counts(message.valid_holdings, join(path, "valid_holdings")),
        )

    def contributors(self, measure: table_pb2.MeasureFacts, name: str, path: str) -> Contributors | None:
        """The columns of other contributions of a measure, or None."""
        if not measure.HasField(name):
            return None
        message, path = getattr(measure, name), join(path, name)
        return Contributors(
            largest=self.rows(message.largest, join(path, "largest"), measure.ranks),
            totals=self.values(message.totals, join(path, "totals")),
            unwaived=self.some_rows(message.unwaived, join(path, "unwaived"), measure.ranks),
            variances=self.weights(message.variances, join(path, "variances")),
        )

    def cells(self, values: Any, path: str) -> BoolArray | None:
        """The cells that a sender names as a mask, or None where he names none."""
        if not len(values):
            return None
        try:
            return mask(values, self.count, path, self._order)
        except InvalidMessageError as error:
            self.problems.extend(error.problems)
            return None

    def some_counts(self, values: Any, path: str) -> IntArray | None:
        """Counts, one a cell, or None."""
        return self.counts(values, path) if len(values) else None

    def some_rows(self, values: Any, path: str, width: int) -> FloatArray | None:
        """Finite values, a row of `width` a cell, or None."""
        return self.rows(values, path, width) if len(values) else None

    def counts(self, values: Any, path: str) -> IntArray:
        """Counts, one a cell, or none."""
        array = integers(values)
        self._length(array.size, path, 1)
        if self._values_too:
            self._none(array < 0, path, "must not be negative")
        return self._order.arranged(array)

    def values(self, values: Any, path: str, width: int = 1) -> FloatArray:
        """Finite values, `width` a cell, or none."""
        array = floats(values)
        self._length(array.size, path, width)
        if self._values_too:
            self._none(~np.isfinite(array), path, "must be finite numbers", width)
        return self._order.arranged(array) if width == 1 else array

    def rows(self, values: Any, path: str, width: int) -> FloatArray:
        """Finite values, a row of `width` a cell, or none."""
        if len(values) and not width:
            self.problem(path, "must be empty, or `ranks` say how many stand for each cell")
            return np.zeros((0, 0))
        array = self.values(values, path, width)
        if array.size != self.count * width:
            return np.zeros((0, width))
        return self._order.arranged(array.reshape(self.count, width))

    def weights(self, values: Any, path: str) -> FloatArray | None:
        """Values that are not negative, one a cell, or None."""
        if not len(values):
            return None
        array = self.values(values, path)
        if self._values_too:
            self._none(array < 0, path, "must not be negative")
        return array

    def _none(self, wrong: BoolArray, path: str, message: str, width: int = 1) -> None:
        """Note the sender's cells that are wrong, where any is."""
        if np.count_nonzero(wrong):
            self.problem(path, message + named(np.unique(np.flatnonzero(wrong) // width)))

    def _length(self, size: int, path: str, width: int) -> None:
        if size not in (0, self.count * width):
            each = "one a cell" if width == 1 else f"{width} a cell"
            self.problem(path, f"must have {self.count * width} values, {each}, not {size}")
