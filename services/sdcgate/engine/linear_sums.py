"""Sums, extremes and counts of a linear model's records, computed where the records lie."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sdcgate.engine import linear_statements as statements
from sdcgate.engine.aggregation import RECORDS
from sdcgate.engine.database import Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.linear_records import LinearQuery, linear_records
from sdcgate.engine.linear_statements import COEFFICIENTS, GROUPS, SETTINGS, Grouping, ProjectionShape
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.cell_sums import CellMoments, Scaling

if TYPE_CHECKING:
    import pyarrow as pa

WITH = "WITH "
Coefficients = Mapping[str, FloatArray]
"""By name, one value or one a cell."""


@dataclass(frozen=True, slots=True, eq=False)
class CellRanges:
    """What a first look at the records tells of each cell that occurs, the cells ascending."""

    cells: IntArray = field(repr=False)
    records: IntArray = field(repr=False)
    """Shape (cells,)."""
    weights: tuple[int, ...] = field(repr=False)
    """Sums of the snapshot's whole weights; records where there are none."""
    lightest: int = field(repr=False)
    heaviest: int = field(repr=False)
    """Of all whole weights, 1 where there are none."""
    sums: tuple[int, ...] = field(repr=False)
    """Of each measure, in the snapshot's whole numbers, over all records."""
    least: IntArray = field(repr=False)
    most: IntArray = field(repr=False)
    """Of measures, whole, shape (measures, cells)."""
    lowest: FloatArray = field(repr=False)
    highest: FloatArray = field(repr=False)
    """Of numbers, shape (numbers, cells); NaN where one is not defined for any record."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitInfluence:
    """What the most influential units do, and how many units are apart; nothing says which they are."""

    units: int
    exact: int = field(repr=False)
    """Records whose outcome is fitted but for rounding."""
    leverage: float = field(repr=False)
    residual: float = field(repr=False)
    """The largest share of the squared residuals, by how much less would be left without the unit."""
    top: FloatArray = field(repr=False)
    """The largest shares of each coefficient's information, shape (columns, largest)."""
    moved: FloatArray = field(repr=False)
    """Largest DFBETAS of the units that can be left out, shape (columns,)."""
    informed: FloatArray = field(repr=False)
    """Largest share of a unit that cannot, shape (columns,)."""
    apart: dict[int, int] = field(repr=False)
    """Units apart of the columns that were asked."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSums:
    """Clusters of each stratum, and sums over them of their scores and of these squared, as whole numbers."""

    clusters: tuple[int, ...]
    first: tuple[tuple[int, ...], ...] = field(repr=False)
    """In units of 2^-60, by stratum and column."""
    second: tuple[tuple[int, ...], ...] = field(repr=False)


class LinearSums:
    """The statements of one query on one snapshot; what they return is sums, not records."""

    def __init__(self, database: Database, dataset: Dataset, query: LinearQuery) -> None:
        self._database = database
        self._records = linear_records(dataset, query)
        self._single = dataset.records_per_unit == 1

    @property
    def single(self) -> bool:
        """Whether units have one record."""
        return self._single

    def ranges(self) -> CellRanges:
        """Records, weights and extremes by cell. Raises ComputationFailed, as all of these."""
        dialect, query = self._database.dialect, self._records.query
        rows = self._run("ranges", lambda: statements.ranges(self._records, dialect)).sort_by("cell")
        measures, numbers = range(len(query.measures)), range(len(query.numbers))
        records = _integers(rows, "records")
        least, most = (
            np.array([_integers(rows, f"{name}{at}") for at in measures], dtype=np.int64).reshape(
                len(query.measures), len(records)
            )
            for name in ("least", "most")
        )
        ends = []
        for name, of_measures in (("lowest", least), ("highest", most)):
            found = np.empty((len(numbers), len(records)))
            for a in numbers:
                measure = query.as_it_is(a)
                found[a] = (
                    of_measures[query.measures.index(measure)] / self._records.scale(measure)
                    if measure
                    else _doubles(rows, f"{name}{a}")
                )
            ends.append(found)
        if query.weighted and len(records):
            lightest, heaviest = (
                int(_integers(rows, "lightest").min()),
                int(_integers(rows, "heaviest").max()),
            )
        else:
            lightest = heaviest = 1
        return CellRanges(
            _integers(rows, "cell"),
            records,
            tuple(_whole(rows, "weights" if query.weighted else "records")),
            lightest,
            heaviest,
            tuple(sum(_whole(rows, f"sum{at}")) for at in measures),
            least,
            most,
            *ends,
        )

    def moments(self, scalings: Sequence[Scaling], ranges: CellRanges) -> CellMoments:
        """Sums of the scaled numbers, their squares and products, for the cells of `ranges`."""
        dialect, numbers = self._database.dialect, range(len(scalings))
        settings = self._settings(scalings, {"weight_unit": np.array([1.0 / ranges.heaviest])})
        rows = self._run(
            "moments", lambda: statements.moments(self._records, dialect), tables={SETTINGS: settings}
        ).sort_by("cell")
        first = np.array([_whole(rows, f"first{a}") for a in numbers], dtype=object)
        second = np.empty((len(scalings), *first.shape), dtype=object)
        for a in numbers:
            for b in numbers[a:]:
                second[a, b] = second[b, a] = _whole(rows, f"second{a}_{b}")
        return CellMoments(ranges.weights, ranges.heaviest, first, second)

    def sampled(self, numbers: Sequence[int] = ()) -> tuple[IntArray, dict[int, int]]:
        """Different values of all measures and of some numbers among the first records, up to some."""
        key = tuple(numbers)
        rows = self._run("sampled", lambda: statements.sampled(self._records, numbers), key)
        measures = range(len(self._records.query.measures))
        values = np.array([int(_integers(rows, f"values{at}")[0]) for at in measures], dtype=np.int64)
        return values, {a: int(_integers(rows, f"numbers{a}")[0]) for a in numbers}

    def different(
        self, measures: Sequence[int], numbers: Sequence[int]
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Different values of some measures and of some numbers among all records."""
        if not measures and not numbers:
            return {}, {}
        key = (tuple(measures), tuple(numbers))
        rows = self._run("different", lambda: statements.different(self._records, measures, numbers), *key)
        values = {at: int(_integers(rows, f"values{at}")[0]) for at in measures}
        return values, {a: int(_integers(rows, f"numbers{a}")[0]) for a in numbers}

    def units_by(
        self,
        grouping: Grouping,
        groups: IntArray | None = None,
        active: Mapping[int, IntArray] | None = None,
        cells: IntArray | None = None,
    ) -> IntArray:
        """Units of each group that occurs; `groups` has each cell's, `active` where a number counts."""
        tables = {}
        if grouping.by_cell:
            columns = {"cell": cells, "g": groups, **{f"active{a}": of for a, of in (active or {}).items()}}
            tables[GROUPS] = _table(columns, np.int64)
        rows = self._run(
            "units by",
            lambda: statements.units_by(self._records, grouping, self._single),
            grouping,
            self._single,
            tables=tables,
        )
        return _integers(rows, "units")

    def medians(
        self, shape: ProjectionShape, cells: IntArray, coefficients: Coefficients
    ) -> dict[int, float]:
        """The middle value of each column of `shape.apart` that is no indicator."""
        wanted = [column for column, number, _ in shape.apart if number]
        if not wanted:
            return {}
        names = [f"on{column}" for column, _, mixed in shape.apart if mixed]
        tables = {COEFFICIENTS: self._of_cells(cells, coefficients, names)} if names else {}
        dialect = self._database.dialect
        rows = self._run(
            "medians", lambda: statements.medians(self._records, shape, dialect), shape.apart, tables=tables
        )
        return {column: float(_doubles(rows, f"middle{column}")[0]) for column in wanted}

    def influence(
        self,
        shape: ProjectionShape,
        scalings: Sequence[Scaling],
        cells: IntArray,
        coefficients: Coefficients,
    ) -> UnitInfluence:
        """What the most influential units do to the coefficients."""
        dialect, columns = self._database.dialect, range(shape.columns)
        tables = self._tables(shape, scalings, cells, coefficients)
        rows = self._run(
            "influence", lambda: statements.influence(self._records, shape, dialect), shape, tables=tables
        )
        moved = np.array([_doubles(rows, f"moved{j}")[0] for j in columns])
        shares = np.zeros(shape.columns)
        if int(_integers(rows, "kept")[0]):
            # Nearly all units can be left out: where one cannot, the shares of such units are worth a look.
            kept = self._run(
                "informed", lambda: statements.informed(self._records, shape, dialect), shape, tables=tables
            )
            shares = np.array([_doubles(kept, f"informed{j}")[0] for j in columns])
        tops = [np.ravel(np.array(rows[f"top{j}"][0].as_py(), dtype=np.float64)) for j in columns]
        return UnitInfluence(
            int(_integers(rows, "units")[0]),
            int(_integers(rows, "exact")[0]),
            float(_doubles(rows, "leverage")[0]),
            min(float(_doubles(rows, "residual")[0]), 1.0),
            np.array([np.pad(one, (0, shape.largest - len(one))) for one in tops]),
            np.sqrt(moved) if shape.single else moved,
            shares,
            {column: int(_integers(rows, f"apart{column}")[0]) for column, _, _ in shape.apart},
        )

    def score_sums(
        self,
        shape: ProjectionShape,
        scalings: Sequence[Scaling],
        cells: IntArray,
        coefficients: Coefficients,
        units_of_squares: FloatArray,
        by: str = "",
        stratum: str = "",
    ) -> ScoreSums:
        """Sums over clusters of scores and of their squares, in units of the squares that are given."""
        dialect = self._database.dialect
        squares = {f"unit{j}": one for j, one in enumerate(units_of_squares[:, None])}
        rows = self._run(
            "scores",
            lambda: statements.score_squares(self._records, shape, dialect, by, stratum),
            shape,
            by,
            stratum,
            tables=self._tables(shape, scalings, cells, {**coefficients, **squares}),
            carried=tuple(name for name in dict.fromkeys((by, stratum)) if name not in ("", "unit")),
        )
        columns = range(shape.columns)
        first, second = (
            tuple(zip(*(_whole(rows, f"{name}{j}") for j in columns), strict=True))
            for name in ("first", "second")
        )
        return ScoreSums(tuple(_whole(rows, "clusters")), first, second)

    def _tables(
        self,
        shape: ProjectionShape,
        scalings: Sequence[Scaling],
        cells: IntArray,
        coefficients: Coefficients,
    ) -> dict[str, "pa.Table"]:
        by_cell = [name for name, varies in shape.names.items() if varies]
        constant = {name: values[:1] for name, values in coefficients.items() if name not in by_cell}
        tables = {SETTINGS: self._settings(scalings, constant)}
        return tables | ({COEFFICIENTS: self._of_cells(cells, coefficients, by_cell)} if by_cell else {})

    def _of_cells(self, cells: IntArray, coefficients: Coefficients, names: Sequence[str]) -> "pa.Table":
        found = {name: np.broadcast_to(coefficients[name], cells.shape) for name in names}
        return _table({"cell": cells}, np.int64, found)

    def _settings(self, scalings: Sequence[Scaling], more: Coefficients) -> "pa.Table":
        query = self._records.query
        plain = [bool(query.as_it_is(a)) for a in range(len(scalings))]
        whole = {f"centre{a}": np.array([one.whole]) for a, one in enumerate(scalings) if plain[a]}
        doubles = {f"centre{a}": np.array([one.centre]) for a, one in enumerate(scalings) if not plain[a]}
        doubles |= {f"scale{a}": np.array([one.factor]) for a, one in enumerate(scalings)}
        return _table(whole, np.int64, {**doubles, **more})

    def _run(
        self,
        kind: str,
        build: Callable[[], Any],
        *more: Any,
        tables: Mapping[str, "pa.Table"] | None = None,
        carried: tuple[str, ...] = (),
    ) -> "pa.Table":
        statement = self._database.compiled(("linear", kind, self._records.key, *more), build)
        projection = self._database.compiled(
            ("records of linear", self._records.projection_key, carried),
            lambda: self._records.projection(carried),
        )
        # A statement may begin with tables of its own.
        further = f", {statement[len(WITH) :]}" if statement.startswith(WITH) else f" {statement}"
        return self._database.run(f"{WITH}{RECORDS} AS ({projection}){further}", tables)


def _table(whole: Mapping[str, Any], kind: Any, doubles: Mapping[str, Any] | None = None) -> "pa.Table":
    import pyarrow as pa

    columns = {name: np.asarray(values).astype(kind) for name, values in whole.items()}
    columns |= {name: np.array(values, dtype=np.float64) for name, values in (doubles or {}).items()}
    return pa.table(columns)


def _whole(rows: "pa.Table", name: str) -> list[int]:
    return [0 if value is None else int(value) for value in rows[name].to_pylist()]


def _integers(rows: "pa.Table", name: str) -> IntArray:
    return np.array(_whole(rows, name), dtype=np.int64)


def _doubles(rows: "pa.Table", name: str) -> FloatArray:
    values = rows[name].to_pylist()
    return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
