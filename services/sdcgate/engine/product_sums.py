"""Counts, means and cross-products of measures by group, computed where the records lie."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sdcgate.engine import product_statements as statements
from sdcgate.engine.aggregation import MEMBERS, RECORDS, view_name
from sdcgate.engine.database import ComputationFailed, Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.group_ranges import GroupRanges, doubles, inverse, whole
from sdcgate.engine.linear_statements import SETTINGS
from sdcgate.engine.product_statements import UNIT
from sdcgate.engine.queries import Condition
from sdcgate.engine.record_groups import RecordGroups
from sdcgate.engine.table_plan import plan_conditions
from sdcgate.methods.cells import FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ProductQuery:
    """Measures of the records that fulfil all conditions and have all of these, by groups."""

    measures: tuple[str, ...]
    groups: RecordGroups
    filters: tuple[Condition, ...] = ()


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
        self._members = query.groups.members(dataset)
        conditions, columns = plan_conditions(dataset, query.filters), query.groups.columns(dataset)
        measures, valid = query.measures, tuple(sorted(query.measures))
        self._projection = database.compiled(
            ("products of", view_name(dataset), measures, conditions, columns),
            lambda: statements.projection(dataset, measures, conditions, valid, columns),
        )

    def products(self) -> GroupProducts:
        """Counts, means and cross-products of all groups."""
        number, size = self._query.groups.number, len(self._query.measures)
        dialect = self._database.dialect
        rows = self._run("ranges", lambda: statements.ranges(size, dialect))
        there, counts = np.array(whole(rows, "g"), dtype=np.int64), whole(rows, "records")
        found = GroupProducts(
            np.zeros(number, dtype=np.int64),
            np.zeros(number, dtype=np.int64),
            np.zeros((number, size)),
            np.zeros((number, size, size)),
        )
        if not len(there):
            return found
        found.records[there] = counts
        found.units[there] = counts if self._single else self._units(there)
        scales = [self._dataset.profiles[name].scale for name in self._query.measures]
        ranges = [
            GroupRanges(there, counts, *(whole(rows, f"{kind}{place}") for kind in ("sum", "least", "most")))
            for place in range(size)
        ]
        for place, (one, scale) in enumerate(zip(ranges, scales, strict=True)):
            found.means[there, place] = [
                total / n / scale for total, n in zip(one.sums, one.records, strict=True)
            ]
        if size:
            found.centred[there] = self._centred(there, ranges, scales)
        return found

    def units_of_values(self, measure: str) -> IntArray:
        """Units of each value of a measure, ascending, in each group; shape (groups, values)."""
        place, size = self._query.measures.index(measure), len(self._query.measures)
        rows = self._run(
            "units of values",
            lambda: statements.units_of_values(size, place, self._single),
            place,
            self._single,
        )
        values, places = np.unique(np.array(whole(rows, "value"), dtype=np.int64), return_inverse=True)
        found = np.zeros((self._query.groups.number, len(values)), dtype=np.int64)
        found[whole(rows, "g"), places] = whole(rows, "units")
        return found

    def _units(self, there: IntArray) -> list[int]:
        size = len(self._query.measures)
        rows = self._run("units", lambda: statements.units(size))
        _same_groups(rows, there)
        return whole(rows, "units")

    def _centred(self, there: IntArray, ranges: Sequence[GroupRanges], scales: Sequence[int]) -> FloatArray:
        """Sums of products of deviations, shape (groups that are there, measures, measures)."""
        import pyarrow as pa

        size, dialect = len(ranges), self._database.dialect
        farthest = [one.farthest(one.mean) for one in ranges]
        settings: dict[str, Any] = {"g": there}
        for place, one in enumerate(ranges):
            settings[f"centre{place}"] = np.array(one.mean.centres, dtype=np.int64)
            settings |= {f"shift{place}": one.mean.shifts, f"factor{place}": inverse(farthest[place])}
        rows = self._run("products", lambda: statements.products(size, dialect), settings=pa.table(settings))
        _same_groups(rows, there)
        reaches = [reach / scale for reach, scale in zip(farthest, scales, strict=True)]
        found = np.zeros((len(there), size, size))
        for a in range(size):
            for b in range(a, size):
                shares = doubles(rows, f"product{a}_{b}") / UNIT
                found[:, a, b] = found[:, b, a] = shares * reaches[a] * reaches[b]
        return found

    def _run(
        self, kind: str, build: Callable[[], Any], *more: Any, settings: "pa.Table | None" = None
    ) -> "pa.Table":
        """The rows of a statement, by group."""
        self._in_time()
        sql = self._database.compiled(("products", kind, len(self._query.measures), *more), build)
        tables = {MEMBERS: self._members, **({} if settings is None else {SETTINGS: settings})}
        # A statement may begin with tables of its own, so it stands inside.
        text = f"WITH {RECORDS} AS ({self._projection}) SELECT * FROM ({sql}) AS found"  # noqa: S608
        return self._database.run(text, tables).sort_by("g")


def _same_groups(rows: "pa.Table", there: Sequence[int] | IntArray) -> None:
    if whole(rows, "g") != list(there):
        raise ComputationFailed("a sum by groups did not see all of them")
