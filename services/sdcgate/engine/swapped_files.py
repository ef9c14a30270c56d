"""A file of microdata, swapped: named columns become codes, and the new values a file like the first.

Columns that are not named stay as they are, whatever their types; records stay in their order.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.encoding import canonical, number_of
from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.engine.swapping_draws import swapping_generator
from sdcgate.engine.table_columns import TableColumns, coded, lacking_columns
from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.microdata.rank_swapping import RankSwapping, rank_swap
from sdcgate.methods.microdata.rank_swapping_loss import RankSwappingLoss, rank_swapping_loss
from sdcgate.methods.microdata.swapping import (
    USUAL_K,
    USUAL_RATE,
    PlacedRecords,
    members_places,
    swap_households,
)
from sdcgate.methods.microdata.swapping_loss import SwappingLoss, check_invariants, swapping_loss

if TYPE_CHECKING:
    import pyarrow as pa

Heed = Callable[[], None]


@dataclass(frozen=True, slots=True)
class RecordSwap:
    """Which columns of a file are what, and how many households are swapped."""

    hierarchy: tuple[str, ...]
    """The geography, the widest level first."""
    household: str = ""
    """Id of the household; each record is one where empty."""
    similar: tuple[tuple[str, ...], ...] = ((),)
    risk_variables: tuple[str, ...] = ()
    k_anonymity: int = USUAL_K
    swap_rate: float = USUAL_RATE
    carry_along: tuple[str, ...] = ()
    """Columns that move with the geography."""
    tables: tuple[tuple[str, ...], ...] = ()
    """Variables of the tables that are compared."""
    missing: tuple[str, ...] = ()
    """Texts that stand for a missing value, beside empty ones."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Variables of all profiles that stay where they are: by them no area changes."""
        moved = {*self.hierarchy, *self.carry_along}
        first, *others = self.similar
        return tuple(
            name for name in dict.fromkeys(first) if name not in moved and all(name in one for one in others)
        )

    @property
    def compared(self) -> tuple[tuple[str, ...], ...]:
        """The tables that are compared: those asked for, or each variable that swapping looks at."""
        moved = {*self.hierarchy, *self.carry_along}
        looked_at = dict.fromkeys([*self.risk_variables, *(name for one in self.similar for name in one)])
        return self.tables or tuple((name,) for name in looked_at if name not in moved)

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """All columns, each with the option that names it."""
        lists = ("hierarchy", "risk_variables", "carry_along")
        nested = ("similar", "tables")
        return (
            *((f"{path}[{place}]", name) for path in lists for place, name in enumerate(getattr(self, path))),
            *(
                (f"{path}[{at}].variables[{place}]", name)
                for path in nested
                for at, one in enumerate(getattr(self, path))
                for place, name in enumerate(one)
            ),
            *([("household", self.household)] if self.household else []),
        )


@dataclass(frozen=True, slots=True)
class RankedColumn:
    """A column whose values are ranked."""

    name: str
    order: tuple[str, ...] = ()
    """Its categories from low to high, where its values are no numbers."""


@dataclass(frozen=True, slots=True)
class RankSwap:
    """Which columns are swapped by rank, and how far."""

    columns: tuple[RankedColumn, ...]
    rank_share: float
    missing: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """All columns, each with the option that names it."""
        return tuple((f"variables[{place}].column", one.name) for place, one in enumerate(self.columns))


def swap_records(
    table: "pa.Table", how: RecordSwap, secret: bytes, options: bytes, heed: Heed = lambda: None
) -> tuple["pa.Table", SwappingLoss]:
    """The table with its households swapped, and what that changed.

    The draws rest on `secret`, on `options` and on the columns that swapping looks at. What swapping never
    changes has been checked. `heed` is called now and then, and may end the work. Raises MicrodataUnusable
    with all problems.
    """
    problems = lacking_columns(how.named, table.column_names) or _misplaced(how)
    if problems:
        raise MicrodataUnusable(problems)
    reading = _Reading(TableColumns(table, how.missing, []))
    households = reading.households(how.household)
    areas = reading.codes("hierarchy", how.hierarchy, complete=True)
    carried = reading.codes("carry_along", how.carry_along)
    risk = reading.codes("risk_variables", how.risk_variables)
    similar = tuple(reading.codes(f"similar[{at}].variables", one) for at, one in enumerate(how.similar))
    drawn_from = reading.seen()
    tables = [reading.codes(f"tables[{at}].variables", one) for at, one in enumerate(how.compared)]
    kept = reading.codes("similar", how.kept)
    for path, names, codes in (
        ("hierarchy", how.hierarchy, areas),
        ("carry_along", how.carry_along, carried),
    ):
        reading.one_a_household(path, names, codes, households)
    if reading.columns.problems:
        raise MicrodataUnusable(reading.columns.problems)
    records = PlacedRecords(households, areas, risk, similar)
    heed()
    random = swapping_generator(secret, options, drawn_from)
    found = swap_households(records, random, how.swap_rate, how.k_anonymity)
    check_invariants(records, found, kept)
    places = members_places(records, found.partners)
    moved = _with_values_of(table, dict.fromkeys((*how.hierarchy, *how.carry_along), places))
    return moved, swapping_loss(records, found, tables, heed)


def swap_ranks(
    table: "pa.Table", how: RankSwap, secret: bytes, options: bytes, heed: Heed = lambda: None
) -> tuple["pa.Table", RankSwappingLoss]:
    """The table with values swapped by rank, each variable by draws of its own, and what that changed.

    The draws rest on `secret`, `options` and the variables. `heed` is called before each, and may end the
    work. Raises MicrodataUnusable with all problems.
    """
    problems = lacking_columns(how.named, table.column_names)
    names = [one.name for one in how.columns]
    if len(set(names)) < len(names):
        problems.append(("variables", "a variable stands more than once"))
    if problems:
        raise MicrodataUnusable(problems)
    reading = _Reading(TableColumns(table, how.missing, []))
    values = [reading.ranked(f"variables[{place}]", one) for place, one in enumerate(how.columns)]
    if reading.columns.problems:
        raise MicrodataUnusable(reading.columns.problems)
    random = swapping_generator(secret, options, reading.seen())
    found: list[RankSwapping] = []
    for place, one in enumerate(values):
        heed()
        try:
            found.append(rank_swap(one, how.rank_share, random))
        except ValueError as error:
            text = f"{error}, of the values of {names[place]!r}"
            raise MicrodataUnusable([("rank_share", text)]) from None
    sources = dict(zip(names, (one.sources for one in found), strict=True))
    return _with_values_of(table, sources), rank_swapping_loss(values, found)


class _Reading:
    """Columns as codes, each read once, and which have been read."""

    def __init__(self, columns: TableColumns) -> None:
        self.columns = columns
        self._read: dict[str, tuple[tuple[str, ...], IntArray]] = {}
        self._unreadable: set[str] = set()

    def seen(self) -> list[tuple[str, tuple[str, ...], IntArray]]:
        """All columns that have been read: name, distinct values, position of each record's."""
        return [(name, *found) for name, found in self._read.items()]

    def codes(self, path: str, names: Sequence[str], complete: bool = False) -> IntArray:
        """Codes of some columns, shape (records, columns), -1 where missing; a problem each that has none."""
        records = self.columns.table.num_rows
        found = np.full((records, len(names)), -1, dtype=np.int64)
        for place, name in enumerate(names):
            where = f"{path}[{place}]"
            if name in self._unreadable:
                continue
            if name not in self._read:
                texts = self.columns.texts(where, name)
                if texts is None:
                    self._unreadable.add(name)
                    continue
                self._read[name] = coded(texts)
            found[:, place] = self._read[name][1]
            if complete:
                self.columns.complete(where, name, found[:, place] < 0, "without a value")
        return found

    def households(self, name: str) -> IntArray:
        """The household of each record, numbered as they first appear: their names do not matter."""
        own = np.arange(self.columns.table.num_rows, dtype=np.int64)
        if not name:
            return own
        read = self.columns.ids("household", name)
        if read is None:
            return own
        if (read[1] < 0).any():  # a problem already; nobody is together with anybody
            return own
        _, first, found = np.unique(read[1], return_index=True, return_inverse=True)
        number = np.empty(len(first), dtype=np.int64)
        number[np.argsort(first)] = np.arange(len(first))
        households: IntArray = number[found]
        # Which records are together counts, not what their household is called.
        self._read.setdefault(name, ((), households))
        return households

    def one_a_household(self, path: str, names: Sequence[str], codes: IntArray, households: IntArray) -> None:
        """A problem for each column that differs within households."""
        first = np.unique(households, return_index=True)[1]
        for place, name in enumerate(names):
            differs = codes[:, place] != codes[first, place][households]
            if differs.any():
                several = len(np.unique(households[differs]))
                text = f"column {name!r} differs within {several} households: each must have one value"
                self.columns.problems.append((f"{path}[{place}]", text))

    def ranked(self, path: str, column: RankedColumn) -> FloatArray:
        """The numbers of a column, or the places of its categories in their order; NaN where missing."""
        texts = self.columns.texts(path, column.name)
        if texts is None:
            return np.full(self.columns.table.num_rows, np.nan)
        places = {canonical(text): float(place) for place, text in enumerate(column.order)}
        known = [
            places.get(canonical(text), np.nan) if places else number_of(text) for text in texts.distinct
        ]
        values = np.array([*known, np.nan])[texts.index]
        what = "that are not in `order`" if places else "that are no number; give their `order`"
        where = f"{path}.order" if places else f"{path}.column"
        self.columns.complete(where, column.name, (texts.index >= 0) & ~np.isfinite(values), what)
        self._read[column.name] = coded(texts)
        found: FloatArray = values
        return found


def _misplaced(how: RecordSwap) -> list[tuple[str, str]]:
    """Columns that cannot be what they are named for."""
    problems = []
    moved = [*how.hierarchy, *how.carry_along]
    if len(set(moved)) < len(moved):
        problems.append(("carry_along", "a column of the geography stands more than once"))
    fixed: Iterable[tuple[str, str]] = (
        (path, name) for path, name in how.named if path.startswith(("risk_variables", "tables"))
    )
    problems += [
        (path, f"column {name!r} is part of the geography, which moves")
        for path, name in fixed
        if name in moved
    ]
    if how.household in moved:
        problems.append(("household", "the household's id cannot be part of the geography"))
    return problems


def _with_values_of(table: "pa.Table", sources: dict[str, IntArray]) -> "pa.Table":
    """The table where record i has what record sources[name][i] had, in each column that is named."""
    import pyarrow as pa

    for name, source in sources.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), table[name].take(pa.array(source)))
    return table
