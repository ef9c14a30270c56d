"""Sums of powers of a measure, and how closely they tell its outermost values, where the records lie."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sdcgate.engine import moment_statements as statements
from sdcgate.engine.aggregation import MEMBERS, RECORDS, view_name
from sdcgate.engine.database import ComputationFailed, Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.group_ranges import GroupRanges, doubles, inverse, whole
from sdcgate.engine.linear_statements import SETTINGS, UNIT_BITS
from sdcgate.engine.moment_statements import ENDS, UNIT, MomentShape
from sdcgate.engine.queries import Condition, Region
from sdcgate.engine.record_groups import RecordGroups, joined_members
from sdcgate.engine.regions import involved_columns, region_members
from sdcgate.engine.squares_at_once import squares_at_once
from sdcgate.engine.table_plan import plan_conditions
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.moments import TOGETHER, beyond
from sdcgate.methods.outputs.moments_together import farthest, recurrence_of_sums
from sdcgate.methods.outputs.power_sums import PowerSums

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class MomentQuery:
    """A measure of the records that have it and all of `valid`, its moments up to the `highest`.

    `coalition` units beside the one that is estimated put together what they know.
    """

    measure: str
    highest: int
    coalition: int
    valid: tuple[str, ...] = ()
    filters: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class DivisionQuery:
    """Measures of the records that have them all, divided in several ways; otherwise as `MomentQuery`."""

    measures: tuple[str, ...]
    highest: int
    coalition: int
    divisions: tuple[RecordGroups, ...]
    """All by the same levels; with one place for all its codes a level does not divide."""
    filters: tuple[Condition, ...] = ()


class MomentSums:
    """The statements about one dataset's moments; what they return is sums and extremes, not records.

    `in_time` is called before each statement; what it raises ends the work. All methods raise UnknownName and
    ComputationFailed.
    """

    def __init__(self, database: Database, dataset: Dataset, in_time: Callable[[], None]) -> None:
        self._database = database
        self._dataset = dataset
        self._in_time = in_time
        # Sums of a unit's records fit in 64 bits by these.
        self._step = 2.0 ** (UNIT_BITS - (dataset.records_per_unit - 1).bit_length())

    def of_population(self, query: MomentQuery) -> tuple[PowerSums, ...]:
        """Sums of powers, from the second to the highest, of all records together; none of no records."""
        asked = self._asked(query)
        groups = self._ranges(asked)
        if not groups.records:
            return ()
        return self._powers(asked, groups, self._closeness(asked, groups))

    def of_populations(self, queries: Sequence[MomentQuery]) -> list[tuple[PowerSums, ...]]:
        """As `of_population` of each, of the same records: in one statement where that will do."""
        self._in_time()
        at_once = squares_at_once(self._database, self._dataset, queries)
        return [
            self.of_population(query) if found is None else found
            for query, found in zip(queries, at_once, strict=True)
        ]

    def of_divisions(self, query: DivisionQuery) -> tuple[tuple[tuple[PowerSums, ...], ...], ...]:
        """By measure and division: sums of powers, from the second to the highest, of each group.

        Of an empty group they are 0. As many statements as for one measure and one group.
        """
        dataset, measures, divisions = self._dataset, query.measures, query.divisions
        conditions, columns = plan_conditions(dataset, query.filters), divisions[0].columns(dataset)
        members = joined_members(dataset, divisions, len(measures))
        projections = self._projections(
            ("moments of divisions", view_name(dataset), measures, conditions, columns),
            lambda: statements.projection_of_several(dataset, measures, conditions, columns),
        )
        shape = MomentShape(dataset.records_per_unit == 1, True, query.coalition, query.highest)
        each = sum(one.number for one in divisions)
        scales = np.repeat([float(dataset.profiles[name].scale) for name in measures], each)
        asked = _Asked(*projections, shape, scales, {MEMBERS: members})
        there = self._ranges(asked)
        if not there.records:
            raise ComputationFailed("the audit of powers did not see anybody")
        found = self._powers(asked, there, self._closeness(asked, there))
        every = [one.placed(there.numbers, each * len(measures)) for one in found]
        ends = np.cumsum([0, *(one.number for one in divisions)]).tolist()
        return tuple(
            tuple(
                tuple(one.part(slice(at + start, at + end)) for one in every) for start, end in pairwise(ends)
            )
            for at in range(0, each * len(measures), each)
        )

    def of_regions(self, query: MomentQuery, regions: Sequence[Region]) -> FloatArray:
        """How closely the moments of each region's records tell the value farthest out, shape (regions,).

        The least of all orders, infinite of a region without records. Raises ValueError for a mask with bits
        beyond a variable's codes.
        """
        columns = involved_columns(self._dataset, regions)
        self._in_time()
        members = region_members(self._database, self._dataset, regions, columns)
        asked = self._asked(query, tuple(columns.values()), {MEMBERS: members.by_region()})
        groups = self._ranges(asked)
        found = np.full(len(regions), np.inf)
        if groups.records:
            found[groups.numbers] = self._closeness(asked, groups).min(axis=0)
        return found

    def _asked(
        self,
        query: MomentQuery,
        columns: tuple[str, ...] | None = None,
        tables: Mapping[str, "pa.Table"] | None = None,
    ) -> "_Asked":
        dataset, measure = self._dataset, query.measure
        conditions = plan_conditions(dataset, query.filters)
        valid = tuple(sorted({measure, *query.valid}))
        projections = self._projections(
            ("moments of", view_name(dataset), measure, conditions, valid, columns),
            lambda: statements.projection(dataset, measure, conditions, valid, columns),
        )
        single = dataset.records_per_unit == 1
        shape = MomentShape(single, columns is not None, query.coalition, query.highest)
        scale = np.array(float(dataset.profiles[measure].scale))
        return _Asked(*projections, shape, scale, tables or {})

    def _projections(self, key: tuple[Any, ...], build: Callable[[], Any]) -> tuple[str, str]:
        """The records, and units' totals in their place; the same where units have one record."""
        records, dialect = self._database.compiled(key, build), self._database.dialect
        if self._dataset.records_per_unit == 1:
            return records, records
        totals = self._database.compiled(
            ("totals", *key), lambda: statements.totals_of_units(build(), dialect)
        )
        return records, totals

    def _ranges(self, asked: "_Asked") -> GroupRanges:
        dialect = self._database.dialect
        rows = self._run("ranges", lambda: statements.ranges(dialect), asked)
        numbers = np.array(whole(rows, "g"), dtype=np.int64)
        return GroupRanges(numbers, *(whole(rows, name) for name in _OF_GROUPS))

    def _powers(self, asked: "_Asked", groups: GroupRanges, closeness: FloatArray) -> tuple[PowerSums, ...]:
        """Of each order, with the closeness of all orders up to it."""
        dialect, shape, scale = self._database.dialect, asked.shape, asked.scale_of(groups.numbers)
        greatest = np.array([max(-a, b) for a, b in zip(groups.least, groups.most, strict=True)], np.float64)
        settings = _table(groups, {"factor": inverse(greatest), "step": self._steps(groups)})
        rows = self._run("powers", lambda: statements.powers(shape, dialect), asked, settings)
        self._same_groups(rows, groups)
        greatest = greatest / scale
        counted = np.array(groups.records, dtype=np.int64)
        units = counted if shape.single else np.array(whole(rows, "units"), dtype=np.int64)
        totals = np.array(groups.sums, dtype=np.float64) / scale
        found = []
        for order in range(2, shape.highest + 1):
            sums = doubles(rows, f"sum{order}") / UNIT * greatest**order
            found.append(
                PowerSums(
                    order,
                    totals=totals,
                    sums=sums,
                    absolute_sums=doubles(rows, f"absolute{order}") / UNIT * greatest**order
                    if order % 2
                    else sums,
                    largest=greatest**order
                    if shape.single
                    else doubles(rows, f"largest{order}") / self._step * greatest**order,
                    closeness=closeness[: order - 1].min(axis=0),
                    units=units,
                    records=counted,
                )
            )
        return tuple(found)

    def _closeness(self, asked: "_Asked", groups: GroupRanges) -> FloatArray:
        """By order from the second, shape (orders, groups): of records or, where nearer, of units' totals."""
        found = self._of_ends(asked, groups)
        if asked.shape.single:
            return found
        totals = asked.of_units
        of_units = self._ranges(totals)
        if of_units.numbers.tolist() != groups.numbers.tolist():
            raise ComputationFailed("the audit of powers did not see all groups")
        nearer: FloatArray = np.minimum(found, self._of_ends(totals, of_units))
        return nearer

    def _of_ends(self, asked: "_Asked", groups: GroupRanges) -> FloatArray:
        """By order from the second, the nearer of both ends, shape (orders, groups)."""
        scale, every = asked.scale_of(groups.numbers), groups.mean
        settings = self._settings_of_all(groups)
        ends = self._left(asked, groups, settings)
        rows = self._spread(asked, groups, settings, ends)
        found = []
        for end, left, values in zip(ENDS, ends, (groups.least, groups.most), strict=True):
            n, value = (np.array(one, dtype=np.float64) for one in (left.records, values))
            squares = doubles(rows, f"squares{end}") / UNIT
            widest, mean = left.farthest(left.mean), left.mean
            bounds = [(widest * np.sqrt((n - 1) / n * squares), mean.distances(values))]
            for order in range(3, asked.shape.highest + 1):
                sums = doubles(rows, f"power{order}_{end}") / UNIT
                bounds.append((left.farthest(every) * sums ** (1 / order), every.distances(values)))
            closest = [beyond(reach / scale, own / scale, value / scale) for reach, own in bounds]
            if asked.shape.highest >= TOGETHER:
                own = mean.distances(values)
                reach = widest * _reach_together(rows, end, left.records, own * inverse(widest))
                together = beyond(reach / scale, own / scale, value / scale)
                closest[TOGETHER - 2] = np.minimum(closest[TOGETHER - 2], together)
            found.append(closest)
        closeness: FloatArray = np.min(found, axis=0)
        if not np.isfinite(closeness).all():
            raise ComputationFailed("the audit of powers found what is no number")
        return closeness

    def _left(self, asked: "_Asked", groups: GroupRanges, settings: "_Settings") -> list[GroupRanges]:
        """Who is left beside the coalition of each end."""
        shape, dialect = asked.shape, self._database.dialect
        rows = self._run("left", lambda: statements.left(shape, dialect), asked, _table(groups, settings))
        self._same_groups(rows, groups)
        found = [
            GroupRanges(groups.numbers, *(whole(rows, f"{name}{end}") for name in _OF_GROUPS)) for end in ENDS
        ]
        if min(count for left in found for count in left.records) < 1:
            # The unit of an end is in no coalition beside it.
            raise ComputationFailed("the audit of powers did not see all units")
        return found

    def _spread(
        self,
        asked: "_Asked",
        groups: GroupRanges,
        settings: "_Settings",
        ends: Sequence[GroupRanges],
    ) -> "pa.Table":
        """Sums of squares and powers of those who are left."""
        shape, dialect = asked.shape, self._database.dialect
        more = dict(settings)
        for end, left in zip(ENDS, ends, strict=True):
            more |= {f"centre{end}": left.mean.centres, f"shift{end}": left.mean.shifts}
            more[f"factor{end}"] = inverse(left.farthest(left.mean))
            more[f"far{end}"] = inverse(left.farthest(groups.mean))
        rows = self._run("spread", lambda: statements.spread(shape, dialect), asked, _table(groups, more))
        self._same_groups(rows, groups)
        return rows

    def _settings_of_all(self, groups: GroupRanges) -> "_Settings":
        return {
            "centre": groups.mean.centres,
            "least": groups.least,
            "most": groups.most,
            "shift": groups.mean.shifts,
            "factor": inverse(groups.farthest(groups.mean)),
            "step": self._steps(groups),
        }

    def _steps(self, groups: GroupRanges) -> FloatArray:
        return np.full(len(groups.numbers), self._step)

    def _same_groups(self, rows: "pa.Table", groups: GroupRanges) -> None:
        if whole(rows, "g") != groups.numbers.tolist():
            raise ComputationFailed("the audit of powers did not see all groups")

    def _run(
        self, kind: str, build: Callable[[], Any], asked: "_Asked", settings: "pa.Table | None" = None
    ) -> "pa.Table":
        """The rows of a statement, by group."""
        self._in_time()
        sql = self._database.compiled(("moments", kind, asked.shape), build)
        tables = {**asked.tables, **({} if settings is None else {SETTINGS: settings})}
        # A statement may begin with tables of its own, so it stands inside.
        text = f"WITH {RECORDS} AS ({asked.projection}) SELECT * FROM ({sql}) AS found"  # noqa: S608
        return self._database.run(text, tables).sort_by("g")


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """The records of a question, and what decides the text of its statements."""

    projection: str
    totals: str
    """The projection of units' totals."""
    shape: MomentShape
    scale: FloatArray
    """What values are multiplied by in the snapshot: of all groups, or of each."""
    tables: Mapping[str, "pa.Table"] = field(repr=False)
    """Those that the projection names."""

    @property
    def of_units(self) -> "_Asked":
        """The same question of units' totals."""
        return replace(self, projection=self.totals, shape=replace(self.shape, single=True))

    def scale_of(self, groups: IntArray) -> FloatArray:
        """What the values of groups are multiplied by."""
        return self.scale[groups] if self.scale.ndim else self.scale


def _reach_together(rows: "pa.Table", end: int, records: list[int], own: FloatArray) -> FloatArray:
    """How far out an end can lie by all moments together, as a share of the farthest, shape (groups,)."""
    squares, cubes, fourths = (whole(rows, f"{name}{end}") for name in ("squares", "cubes", "fourths"))
    found = recurrence_of_sums(records, squares, cubes, fourths, int(UNIT))
    return farthest(found if end else found.reflected, own)


_Settings = Mapping[str, list[int] | FloatArray]
_OF_GROUPS = ("records", "sum", "least", "most")


def _table(groups: GroupRanges, settings: "_Settings") -> "pa.Table":
    """Settings by group; lists are of whole numbers."""
    import pyarrow as pa

    columns: dict[str, Any] = {"g": groups.numbers}
    for name, values in settings.items():
        columns[name] = np.array(values, dtype=np.int64) if isinstance(values, list) else values
    return pa.table(columns)
