"""The engine: registers datasets, computes cells of tables and facts of regions where the data lie."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.aggregation import (
    MEMBERS,
    RECORDS,
    Shape,
    Statement,
    cells_projection,
    counted_codes,
    members_at,
    regions_projection,
    shape_of_query,
    statement,
    view_name,
)
from sdcgate.engine.backends import open_backend
from sdcgate.engine.changes import Changes, changes
from sdcgate.engine.counted_units import Levels, counted, counting, together, unit_by_unit, varying
from sdcgate.engine.dataset import Dataset, UnknownDataset
from sdcgate.engine.decided_columns import decided_values, distinct_values
from sdcgate.engine.descriptor import Descriptor, DescriptorInvalid, DescriptorProblem
from sdcgate.engine.dialects import Dialect
from sdcgate.engine.lineage import lineage_problem
from sdcgate.engine.linear_records import LinearQuery
from sdcgate.engine.linear_sums import LinearSums
from sdcgate.engine.margins import CellArrays, facts_of
from sdcgate.engine.moment_sums import MomentSums
from sdcgate.engine.patience import to_the_end
from sdcgate.engine.product_sums import ProductQuery, ProductSums
from sdcgate.engine.queries import MEASURE_PREFIX, CellQuery, Computed, Records, RecordsQuery, Region
from sdcgate.engine.record_keys import with_cell_keys
from sdcgate.engine.records import read_records
from sdcgate.engine.regions import (
    adds_up,
    code_columns,
    involved_columns,
    kinds_of_regions,
    region_members,
)
from sdcgate.engine.registered_files import registered_numbers, registered_releases
from sdcgate.engine.registration import Prepared, prepare
from sdcgate.engine.release import release_file
from sdcgate.engine.releases import TwoReleases
from sdcgate.engine.snapshot import ReadColumn, SnapshotDamaged, same_content
from sdcgate.engine.structural_zeros import structural_zeros
from sdcgate.engine.table_plan import (
    TablePlan,
    cell_positions,
    fill_totals,
    plan_conditions,
    plan_statements,
    plan_table,
)
from sdcgate.engine.tables_together import margin_of, query_of_all
from sdcgate.engine.version_change import changed_units, comparable
from sdcgate.methods.cells import Facts, FloatArray, IntArray, shape_of
from sdcgate.methods.risk.file_numbers import FileNumbers, NumberWidth
from sdcgate.methods.risk.release_rules import ReleaseFile
from sdcgate.methods.risk.scenarios import CountedUnits
from sdcgate.methods.rules import ABSOLUTE_VALUES, Contributions

if TYPE_CHECKING:
    import pyarrow as pa

SECRET_BYTES = 32
SUMS_FROM = 100_000
"""Records from which on DuckDB's sums for a linear model take less time than moving the records."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered dataset; `created` is False where this very version was there already."""

    dataset: Dataset
    created: bool


class Engine:
    """Datasets in immutable snapshots, made of files under `data_root`.

    By itself it is DuckDB over files under `store`; `url` names another place where snapshots lie and
    queries run (`backends.open_backend`), with the same cells. `secret`, 32 bytes, keys unit keys and record
    marks; snapshots are tied to their secret. What does not fit in DuckDB's memory goes to `spill`, a folder
    of this engine's own; to one in the store where it is not given. All methods may be called from many
    threads.
    """

    def __init__(
        self,
        data_root: Path,
        store: Path,
        secret: bytes,
        *,
        threads: int | None = None,
        memory_limit: str | None = None,
        spill: Path | None = None,
        url: str = "",
    ) -> None:
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"the engine's secret has {SECRET_BYTES} bytes")
        self._data_root = data_root
        self._secret = secret
        self._snapshots, self._database = open_backend(
            url, store.resolve(), secret, threads=threads, memory_limit=memory_limit, spill=spill
        )
        self._loaded: dict[tuple[str, int], Dataset] = {}
        self._lock = threading.RLock()

    def register(self, descriptor: Descriptor) -> Registration:
        """Checks a dataset and copies it into a snapshot, as the next version if anything changed.

        It is not given up with the time of whoever asked: a large file would be begun anew again and again.
        Raises DescriptorInvalid with all problems.
        """
        with to_the_end():
            return self._register(prepare(descriptor, self._data_root, self._secret))

    def _register(self, prepared: Prepared) -> Registration:
        descriptor = prepared.descriptor
        with self._lock:
            self._check_lineage(prepared)
            while True:
                numbers = self._snapshots.versions().get(descriptor.name, [])
                if numbers:
                    newest = self._load(descriptor.name, numbers[-1])
                    if same_content(newest, prepared):
                        return Registration(newest, False)
                try:
                    version = numbers[-1] + 1 if numbers else 1
                    dataset = self._snapshots.write(prepared, version)
                except FileExistsError:
                    continue
                self._loaded[dataset.name, dataset.version] = dataset
                return Registration(dataset, True)

    def problems(self, descriptor: Descriptor) -> tuple[DescriptorProblem, ...]:
        """All that keeps a dataset from being registered; nothing is written."""
        try:
            self._check_lineage(prepare(descriptor, self._data_root, self._secret))
        except DescriptorInvalid as invalid:
            return invalid.problems
        return ()

    def _check_lineage(self, prepared: Prepared) -> None:
        """Refuse a source of its own for people that are registered under another.

        Raises DescriptorInvalid.
        """
        descriptor = prepared.descriptor
        if not prepared.unit_ids or (descriptor.source and descriptor.other_people):
            return
        # All of them: in one that cannot be read there may be the same people.
        for name in self._snapshots.versions():
            known = self.dataset(name)
            if (descriptor.source or descriptor.name) in (known.source, known.name):
                continue
            if problem := lineage_problem(prepared, known, self._columns(known), self._secret):
                raise DescriptorInvalid((problem,))

    def datasets(self) -> list[Dataset]:
        """All datasets by name, each in its newest version; those whose snapshot cannot be read are left out.

        Nothing is answered from such a one, and the others go on being answered.
        """
        found = []
        for name in self._snapshots.versions():
            with suppress(SnapshotDamaged):
                found.append(self.dataset(name))
        return found

    def dataset(self, name: str, version: int | None = None) -> Dataset:
        """A dataset, in its newest version unless said otherwise. Raises UnknownDataset, SnapshotDamaged."""
        numbers = self._snapshots.versions().get(name, [])
        if not numbers:
            raise UnknownDataset(f"no dataset {name!r} is registered")
        if version is not None and version not in numbers:
            raise UnknownDataset(f"dataset {name!r} has no version {version}")
        return self._load(name, numbers[-1] if version is None else version)

    def warm_up(self) -> list[SnapshotDamaged]:
        """Verifies the newest snapshots and runs a first query on each, so that no caller waits for it.

        Where there are none yet, what writes queries is loaded. Returns what is wrong with those that nothing
        can be answered from.
        """
        self._database.compiled("the first", lambda: members_at(("code",)).count())
        damaged = []
        for name in self._snapshots.versions():
            try:
                dataset = self.dataset(name)
                first = dataset.descriptor.variables[0].name
                measures = tuple(measure.name for measure in dataset.descriptor.measures[:1])
                self.compute(dataset, CellQuery(((first, ""),), measures=measures))
            except SnapshotDamaged as error:
                damaged.append(error)
        return damaged

    def close(self) -> None:
        """Ends the database."""
        self._database.close()

    def compute(self, dataset: Dataset, query: CellQuery) -> Computed:
        """The cells of a table: full product of its axes, `_U` and `_T` included, empty cells zero.

        Raises UnknownName for what the descriptor does not declare, ValueError for a variable that is a
        dimension twice or a condition without codes, SnapshotDamaged.
        """
        plan = plan_table(dataset, query)
        arrays = CellArrays((1, *shape_of(plan.axes)))
        for cell, rows in self._scans(dataset, query, plan):
            arrays.place(rows, cell_positions(plan, cell, rows["cell"].to_numpy()), query.ranks)
        return self._computed(dataset, query, plan, arrays)

    def compute_together(self, dataset: Dataset, queries: Sequence[CellQuery]) -> list[Computed]:
        """As `compute` of each, in one scan of the records where that is faster. Raises what it does."""
        every = query_of_all(dataset, queries) if queries else None
        if every is None:
            return [self.compute(dataset, query) for query in queries]
        (_, rows), *_ = self._scans(dataset, every, plan_table(dataset, every))
        plans = [plan_table(dataset, query) for query in queries]
        return [
            self._computed(dataset, query, plan, margin_of(rows, every, dataset, query, plan))
            for query, plan in zip(queries, plans, strict=True)
        ]

    def _scans(self, dataset: Dataset, query: CellQuery, plan: TablePlan) -> Iterator[tuple[int, "pa.Table"]]:
        """The rows of each statement of a table, with the position of its cell column."""
        if query.ranks < 1:
            raise ValueError("ranks: at least the largest contributor is computed")
        conditions = plan_conditions(dataset, query.filters)
        cells = plan.cell_columns()
        projection = self._database.compiled(
            ("cells", view_name(dataset), cells, conditions, query.measures, query.valid),
            lambda: cells_projection(dataset, cells, conditions, query.measures, query.valid),
        )
        self._attach(dataset)
        for cell, kind in plan_statements(dataset, plan):
            yield cell, self._run(kind, self._shape(dataset, query), cell, projection)

    def _computed(self, dataset: Dataset, query: CellQuery, plan: TablePlan, arrays: CellArrays) -> Computed:
        fill_totals(arrays, dataset, plan)
        facts = facts_of(arrays, dataset, query.measures, self._shape(dataset, query))
        impossible = structural_zeros(dataset, plan.axes, query.filters)
        facts = replace(with_cell_keys(facts, self._secret), structural_zeros=impossible)
        return Computed(plan.axes, facts, plan.varying)

    def _shape(self, dataset: Dataset, query: CellQuery) -> Shape:
        return shape_of_query(
            dataset, query.measures, query.ranks, query.contributions, query.keyed, self._database.dialect
        )

    def region_facts(
        self,
        dataset: Dataset,
        regions: Sequence[Region],
        measures: Sequence[str] = (),
        ranks: int = 2,
        contributions: Contributions = ABSOLUTE_VALUES,
    ) -> Facts:
        """Facts of each region's records: units are distinct units that have a record there, and so on.

        Two to five queries whatever the number of regions; where regions overlap, most of them count each
        record once. Raises UnknownName, ValueError for a mask with bits beyond a variable's codes,
        SnapshotDamaged.
        """
        shape = shape_of_query(dataset, measures, ranks, contributions, dialect=self._database.dialect)
        self._attach(dataset)
        columns = involved_columns(dataset, regions)
        members = region_members(self._database, dataset, regions, columns)
        names = tuple(columns.values())
        projection = self._database.compiled(
            ("regions", view_name(dataset), names, tuple(measures)),
            lambda: regions_projection(dataset, names, measures),
        )
        arrays, overlap = CellArrays((len(regions),)), members.overlap
        parts = CellArrays((members.combinations,))
        for kind in kinds_of_regions(dataset):
            apart = overlap and adds_up(kind, dataset, columns.keys())
            table = members.by_combination() if apart else members.by_region()
            rows = self._run(kind, shape, 0, projection, table)
            (parts if apart else arrays).place(rows, [rows["cell"].to_numpy()], ranks)
        arrays.arrays |= parts.united(members.regions, members.members, len(regions)).arrays
        return facts_of(arrays, dataset, tuple(measures), shape)

    def occurring_codes(
        self, dataset: Dataset, variables: Sequence[str], units: bool = False
    ) -> tuple[IntArray, IntArray]:
        """The finest codes of variables that occur together, (combinations, variables), and their records.

        Or their `units`, which add up where no variable varies within a unit. A variable may be
        `measure:<name>`: 0 where the measure is there, 1 where it is missing. Raises UnknownName,
        SnapshotDamaged.
        """
        self._attach(dataset)
        columns = code_columns(dataset, variables)
        key = ("occurring", view_name(dataset), columns, units)
        sql = self._database.compiled(key, lambda: counted_codes(dataset, columns, units))
        rows = self._database.run(sql)
        codes = [rows[column].to_numpy().astype(np.int64) for column in columns]
        table = np.array(codes, dtype=np.int64).reshape(len(columns), len(rows)).T
        order = np.lexsort(table.T) if columns else np.zeros(1, dtype=np.int64)
        return table[order], rows["count"].to_numpy().astype(np.int64)[order]

    def distinct_values(self, dataset: Dataset, measure: str = "") -> int:
        """How many different values a measure, or the weight, has. Raises UnknownName, SnapshotDamaged."""
        self._attach(dataset)
        return distinct_values(self._database, dataset, measure)

    def decided_values(
        self, dataset: Dataset, variables: Sequence[str], measure: str = ""
    ) -> tuple[IntArray, FloatArray] | None:
        """What records have of a measure, or weigh, by the codes of variables; None where these do not say.

        Combinations of finest codes, (combinations, variables), and values. Raises UnknownName,
        SnapshotDamaged.
        """
        self._attach(dataset)
        return decided_values(self._database, dataset, variables, measure)

    def finest_codes(self, dataset: Dataset, variable: str) -> IntArray:
        """The finest code of each record, in an array as narrow as it is stored.

        Of `measure:<name>` 0 where the measure is there, 1 where it is missing. Raises UnknownName,
        SnapshotDamaged.
        """
        if variable.startswith(MEASURE_PREFIX):
            return np.isnan(self.values(dataset, variable.removeprefix(MEASURE_PREFIX))).astype(np.int8)
        return np.asarray(self._columns(dataset)(dataset.column(variable)))

    def unit_of_records(self, dataset: Dataset) -> IntArray:
        """The number of each record's unit, from 0 on. Raises SnapshotDamaged."""
        return np.asarray(self._columns(dataset)("unit"))

    def values(self, dataset: Dataset, measure: str) -> FloatArray:
        """The value of each record, NaN where it is missing. Raises UnknownName, SnapshotDamaged."""
        scaled = self._columns(dataset)(dataset.measure_column(measure))
        return np.asarray(scaled / dataset.profiles[measure].scale, dtype=np.float64)

    def records(self, dataset: Dataset, query: RecordsQuery) -> Records:
        """Columns of a population's records, for methods that need records; nothing of them leaves the house.

        Raises UnknownName, SnapshotDamaged.
        """
        self._attach(dataset)
        return read_records(self._database, dataset, query)

    def linear_sums(self, dataset: Dataset, query: LinearQuery) -> LinearSums:
        """What a linear model needs of its records, as sums that are computed where they lie.

        Raises UnknownName, SnapshotDamaged.
        """
        self._attach(dataset)
        return LinearSums(self._database, dataset, query)

    def moment_sums(self, dataset: Dataset, in_time: Callable[[], None]) -> MomentSums:
        """What moments of measures tell, computed where the records lie; `in_time` before each statement.

        Raises SnapshotDamaged.
        """
        self._attach(dataset)
        return MomentSums(self._database, dataset, in_time)

    def product_sums(self, dataset: Dataset, query: ProductQuery, in_time: Callable[[], None]) -> ProductSums:
        """Cross-products of measures by group, computed where the records lie; `in_time` as in `moment_sums`.

        Raises UnknownName, SnapshotDamaged, ValueError for a mask with bits beyond a variable's codes.
        """
        self._attach(dataset)
        return ProductSums(self._database, dataset, query, in_time)

    @property
    def embedded(self) -> bool:
        """Whether the data lie in this process, where a question costs no more than its work."""
        return self._database.dialect is Dialect.DUCKDB

    def sums_rather_than_records(self, dataset: Dataset) -> bool:
        """Whether sums cost less than the records they are of: always where these would leave a database."""
        return not self.embedded or dataset.n_records >= SUMS_FROM

    def counted_units(self, dataset: Dataset, levels: Levels, households: bool = False) -> CountedUnits:
        """Units by the codes of some levels, with the sum of their weights.

        Counted in the database where no level varies within units. With `households` a row is one unit, with
        its household's id. Raises UnknownName, ValueError where there is no level, SnapshotDamaged.
        """
        if not levels:
            raise ValueError("levels: name at least one")
        if households or varying(dataset, levels):
            units = unit_by_unit(dataset, self._columns(dataset), levels)
            return units if households else together(units)
        self._attach(dataset)
        key = ("counted", view_name(dataset), tuple(levels))
        sql = self._database.compiled(key, lambda: counting(dataset, levels, self._database.dialect))
        return counted(dataset, levels, self._database.run(sql))

    def release(self, dataset: Dataset, release_date: date | None = None) -> ReleaseFile:
        """The dataset as the rules for the release of files see it, unit by unit. Raises SnapshotDamaged."""
        read = self._columns(dataset)
        return release_file(dataset, read, release_date=release_date, weights_released=dataset.weighted)

    def releases(self, first: tuple[Dataset, Levels], second: tuple[Dataset, Levels]) -> TwoReleases:
        """Two datasets of one source by units, at some levels, and what they share.

        Raises MicrodataUnusable where nothing is shared, SnapshotDamaged.
        """
        own, other = ((one, self._columns(one), levels) for one, levels in (first, second))
        return registered_releases(own, other)

    def changed_units(self, first: Dataset, second: Dataset) -> int | None:
        """Units that differ between two versions; None where a question need not mean the same in both.

        Raises SnapshotDamaged.
        """
        if not comparable(first, second):
            return None
        return changed_units([self._columns(dataset) for dataset in (first, second)])

    def changes(self, first: Dataset, second: Dataset) -> Changes | None:
        """What differs between two versions, unit by unit; None where it cannot be told figure by figure.

        Where records are the units, their numbers are of one file only. Raises SnapshotDamaged.
        """
        told = comparable(first, second) and second.descriptor.unit.column
        if not told or first.additive or second.additive:
            return None
        return changes((first, second), (self._columns(first), self._columns(second)))

    def numbers(
        self, dataset: Dataset, levels: Levels, widths: Sequence[NumberWidth]
    ) -> tuple[FileNumbers, IntArray]:
        """Measures of a dataset as numbers that an intruder knows nearly, and the key, by units.

        Raises ValueError where units have several records or no value, SnapshotDamaged.
        """
        return registered_numbers(dataset, self._columns(dataset), levels, widths)

    def _run(
        self, kind: Statement, shape: Shape, cell: int, projection: str, members: "pa.Table | None" = None
    ) -> "pa.Table":
        sql = self._database.compiled(
            ("statement", kind, shape, cell), lambda: statement(kind, shape, f"c{cell}")
        )
        tables = {} if members is None else {MEMBERS: members}
        return self._database.run(f"WITH {RECORDS} AS ({projection}) {sql}", tables)

    def _load(self, name: str, version: int) -> Dataset:
        with self._lock:
            if (name, version) not in self._loaded:
                self._loaded[name, version] = self._snapshots.read(name, version)
            return self._loaded[name, version]

    def _attach(self, dataset: Dataset) -> None:
        """Makes a dataset readable, once its records were verified."""
        self._snapshots.verify(dataset)
        self._database.attach(dataset)

    def _columns(self, dataset: Dataset) -> ReadColumn:
        """The columns of a dataset, once its records were verified."""
        self._snapshots.verify(dataset)
        return self._snapshots.columns(dataset)
