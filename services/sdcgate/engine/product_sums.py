"""Counts, means and cross-products of measures by group, computed where the records lie."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sdcgate.engine import product_statements as statements
from sdcgate.engine.aggregation import MEMBERS, RECORDS, view_name
from sdcgate.engine.database import ComputationFailed, Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.group_ranges import GroupRanges, doubles, inverse, whole
from sdcgate.engine.linear_statements import SETTINGS, UNIT_BITS
from sdcgate.engine.product_statements import UNIT
from sdcgate.engine.queries import Condition, Region
from sdcgate.engine.record_groups import RecordGroups
from sdcgate.engine.regions import involved_columns, region_members
from sdcgate.engine.table_plan import plan_conditions
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.residual_shares import Residuals

if TYPE_CHECKING:
    import pyarrow as pa

MOST_WEIGHTS = 600
"""In one statement, or those of one residual."""


@dataclass(frozen=True, slots=True)
class ProductQuery:
    """Measures of the records that fulfil all conditions and have all of these, by groups."""

    measures: tuple[str, ...]
    groups: RecordGroups | tuple[Region, ...]
    """A record may be in several regions."""
    filters: tuple[Condition, ...] = ()
    valid: tuple[str, ...] = ()
    """Further measures that they have."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupProducts:
    """Sums over the records of each group, 0 of an empty one; hidden from repr."""

    records: IntArray = field(repr=False)
    """Shape (groups,)."""
    units: IntArray = field(repr=False)
    """Distinct ones, shape (groups,)."""
    means: FloatArray = field(repr=False)
    """Shape (groups, measures)."""
    centred: FloatArray = field(repr=False)
    """Sums of products of deviations from the group's means, shape (groups, measures, measures)."""


@dataclass(frozen=True, slots=True, eq=False)
class _LookedAt:
    """The groups that occur, ascending, and where their values lie."""

    there: IntArray
    counts: list[int] = field(repr=False)
    means: FloatArray = field(repr=False)
    """Shape (groups that occur, measures)."""
    reaches: FloatArray = field(repr=False)
    """How far values lie from these at most."""
    settings: dict[str, Any] = field(repr=False)
    """Of `statements.products`."""


class ProductSums:
    """The statements of one query on one snapshot; what they return is sums by group, not records.

    `in_time` is called before each statement; what it raises ends the work. All methods raise UnknownName and
    ComputationFailed.
    """

    def __init__(
        self, database: Database, dataset: Dataset, query: ProductQuery, in_time: Callable[[], None]
    ) -> None:
        self._database, self._dataset, self._query = database, dataset, query
        self._in_time = in_time
        self._single = dataset.records_per_unit == 1
        conditions, groups = plan_conditions(dataset, query.filters), query.groups
        if isinstance(groups, RecordGroups):
            columns, self._number = groups.columns(dataset), groups.number
            self._members = groups.members(dataset)
        else:
            in_time()
            involved = involved_columns(dataset, groups)
            columns, self._number = tuple(involved.values()), len(groups)
            self._members = region_members(database, dataset, groups, involved).by_region()
        measures, valid = query.measures, tuple(sorted({*query.measures, *query.valid}))
        self._projection = database.compiled(
            ("products of", view_name(dataset), measures, valid, conditions, columns),
            lambda: statements.projection(dataset, measures, conditions, valid, columns),
        )

    def products(self) -> GroupProducts:
        """Counts, means and cross-products of all groups."""
        number, size = self._number, len(self._query.measures)
        found = GroupProducts(
            np.zeros(number, dtype=np.int64),
            np.zeros(number, dtype=np.int64),
            np.zeros((number, size)),
            np.zeros((number, size, size)),
        )
        looked = self._looked_at
        there = looked.there
        if not len(there):
            return found
        found.records[there] = looked.counts
        found.units[there] = looked.counts if self._single else self._units(there)
        found.means[there] = looked.means
        if size:
            found.centred[there] = self._centred(looked)
        return found

    def largest_held(self, residuals: Residuals, wholes: IntArray, ranks: int) -> FloatArray:
        """What the largest units hold of squared residuals, shape (wholes, residuals, ranks).

        As `largest_held` of `residual_shares` finds it in records: of the residuals of the query's groups, of
        which those with one number in `wholes` are taken together.
        """
        looked, number = self._looked_at, int(wholes.max()) + 1
        found = np.zeros((number, len(residuals.names), ranks))
        if not len(looked.there):
            return found
        sizes = [len(one) + sum(map(len, rows)) for one, rows in _shape_of(residuals)]
        for start, end in pairwise(_cuts(sizes, MOST_WEIGHTS)):
            found[:, start:end] = self._held(residuals.between(start, end), wholes, ranks, number)
        return found

    def _settings_of(
        self, residuals: Residuals, shape: statements.ResidualShape, wholes: IntArray
    ) -> dict[str, Any]:
        """Of `statements.residuals`: deviations are shares of the farthest, weights by how far that is."""
        looked = self._looked_at
        there = looked.there
        step = 2.0 ** (UNIT_BITS - (self._dataset.records_per_unit - 1).bit_length())
        settings: dict[str, Any] = {**looked.settings, "whole": wholes[there]}
        settings |= {"step": np.full(len(there), step), "base": residuals.base[there]}
        weights = residuals.weights[there] * looked.reaches[:, None, :]
        levers = residuals.levers[there] * looked.reaches[:, None, None, :]
        for k, (part, rows) in enumerate(shape):
            settings |= {f"weight{k}_{i}": weights[:, k, i] for i in part}
            used = [row for row in range(levers.shape[2]) if residuals.levers[:, k, row].any()]
            for at, (row, columns) in enumerate(zip(used, rows, strict=True)):
                settings |= {f"lever{k}_{at}_{i}": levers[:, k, row, i] for i in columns}
        return settings

    def _held(self, residuals: Residuals, wholes: IntArray, ranks: int, number: int) -> FloatArray:
        import pyarrow as pa

        shape = _shape_of(residuals)
        settings = self._settings_of(residuals, shape, wholes)
        size, dialect = len(self._query.measures), self._database.dialect
        rows = self._run(
            "residuals",
            lambda: statements.residuals(shape, size, ranks, self._single, dialect),
            shape,
            ranks,
            self._single,
            settings=pa.table(settings),
            by="whole",
        )
        there = whole(rows, "whole")
        if there != np.unique(settings["whole"]).tolist():
            raise ComputationFailed("squares by groups did not see all of them")
        found = np.zeros((number, len(shape), ranks))
        for k in range(len(shape)):
            for place, values in zip(there, rows[f"top{k}"].to_pylist(), strict=True):
                found[place, k, : len(values)] = np.array([int(one) for one in values]) / settings["step"][0]
        return found

    @cached_property
    def _looked_at(self) -> _LookedAt:
        """A first look at the records: how many there are, and where they lie."""
        size, dialect = len(self._query.measures), self._database.dialect
        rows = self._run("ranges", lambda: statements.ranges(size, dialect))
        there, counts = np.array(whole(rows, "g"), dtype=np.int64), whole(rows, "records")
        settings: dict[str, Any] = {"g": there}
        reaches, means = np.zeros((len(there), size)), np.zeros((len(there), size))
        for place, name in enumerate(self._query.measures):
            scale = self._dataset.profiles[name].scale
            sums, least, most = (whole(rows, f"{kind}{place}") for kind in ("sum", "least", "most"))
            one = GroupRanges(there, counts, sums, least, most)
            farthest = one.farthest(one.mean)
            settings[f"centre{place}"] = np.array(one.mean.centres, dtype=np.int64)
            settings |= {f"shift{place}": one.mean.shifts, f"factor{place}": inverse(farthest)}
            reaches[:, place] = farthest / scale
            means[:, place] = [total / n / scale for total, n in zip(sums, counts, strict=True)]
        return _LookedAt(there, counts, means, reaches, settings)

    def units_of_values(self, *measures: str) -> IntArray:
        """Units of each combination of values of some measures, ascending, in each group.

        Shape (groups, combinations), those that nobody has among them.
        """
        places, size = tuple(map(self._query.measures.index, measures)), len(self._query.measures)
        rows = self._run(
            "units of values",
            lambda: statements.units_of_values(size, places, self._single),
            places,
            self._single,
        )
        cells, count = np.zeros(len(rows), dtype=np.int64), 1
        for number in range(len(places)):
            read = np.array(whole(rows, f"value{number}"), dtype=np.int64)
            values, of_rows = np.unique(read, return_inverse=True)
            cells, count = cells * len(values) + of_rows, count * len(values)
        found = np.zeros((self._number, count), dtype=np.int64)
        found[whole(rows, "g"), cells] = whole(rows, "units")
        return found

    def _units(self, there: IntArray) -> list[int]:
        size = len(self._query.measures)
        rows = self._run("units", lambda: statements.units(size))
        _same_groups(rows, there)
        return whole(rows, "units")

    def _centred(self, looked: _LookedAt) -> FloatArray:
        import pyarrow as pa

        there, reaches = looked.there, looked.reaches
        size, dialect, settings = reaches.shape[1], self._database.dialect, pa.table(looked.settings)
        rows = self._run("products", lambda: statements.products(size, dialect), settings=settings)
        _same_groups(rows, there)
        found = np.zeros((len(there), size, size))
        for a in range(size):
            for b in range(a, size):
                shares = doubles(rows, f"product{a}_{b}") / UNIT
                found[:, a, b] = found[:, b, a] = shares * reaches[:, a] * reaches[:, b]
        return found

    def _run(
        self,
        kind: str,
        build: Callable[[], Any],
        *more: Any,
        settings: "pa.Table | None" = None,
        by: str = "g",
    ) -> "pa.Table":
        """The rows of a statement, by group."""
        self._in_time()
        sql = self._database.compiled(("products", kind, len(self._query.measures), *more), build)
        tables = {MEMBERS: self._members, **({} if settings is None else {SETTINGS: settings})}
        # A statement may begin with tables of its own, so it stands inside.
        text = f"WITH {RECORDS} AS ({self._projection}) SELECT * FROM ({sql}) AS found"  # noqa: S608
        return self._database.run(text, tables).sort_by(by)


def _shape_of(residuals: Residuals) -> statements.ResidualShape:
    """The measures that a statement weighs, one at least for each residual."""
    return tuple(
        (tuple(one.tolist()) or (0,), tuple(tuple(row.tolist()) for row in rows))
        for one, rows in residuals.parts
    )


def _cuts(sizes: Sequence[int], most: int) -> list[int]:
    """Where to cut so that the sizes between two cuts add up to no more than `most`, or are of one."""
    cuts, held = [0], 0
    for place, size in enumerate(sizes):
        if held and held + size > most:
            cuts.append(place)
            held = 0
        held += size
    return [*cuts, len(sizes)]


def _same_groups(rows: "pa.Table", there: Sequence[int] | IntArray) -> None:
    if whole(rows, "g") != list(there):
        raise ComputationFailed("a sum by groups did not see all of them")
