"""Sums of squares of several measures of one population, and how closely they tell its outermost values.

As `MomentSums.of_population` of each, for units of one record: then who is left beside a coalition is the sum
of all less a few outermost values. Sums of whole numbers are exact, so that nothing is lost by subtracting
them, and one statement tells all there is to know of all measures. It returns sums and a few extremes of
each, no units.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from sdcgate.engine.aggregation import Conditions, chosen_records, view_name
from sdcgate.engine.database import Database
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.dialects import Dialect, largest
from sdcgate.engine.table_plan import plan_conditions
from sdcgate.methods.outputs.moments import beyond
from sdcgate.methods.outputs.power_sums import PowerSums

if TYPE_CHECKING:
    import pyarrow as pa

    from sdcgate.engine.moment_sums import MomentQuery

HALF_BITS = 31
"""A whole number of up to 62 bits is squared by halves, so that 64 bits hold every product."""


@dataclass(frozen=True, slots=True)
class Outermost:
    """What is known of a measure's whole numbers: the counts and sums of all, and the outermost values."""

    records: int = field(repr=False)
    total: int = field(repr=False)
    squares: int = field(repr=False)
    lowest: tuple[int, ...] = field(repr=False)
    """The smallest, ascending: one more than the coalition."""
    highest: tuple[int, ...] = field(repr=False)
    """The greatest, descending: as many."""

    def closeness(self, scale: float) -> float | None:
        """How closely count, mean and variance tell the value farthest out, as `moment_bounds` has it.

        None where two values lie as far from the mean on both sides, so that they alone do not say which of
        their units is in the coalition; and where there are too few records to be sure.
        """
        coalition = len(self.lowest) - 1
        farthest = self._farthest()
        if farthest is None:
            return None
        found = []
        for side, value in enumerate((self.lowest[0], self.highest[0])):
            own = next((place for place, one in enumerate(farthest) if one[0] == side), coalition)
            known = [one for place, (_, one) in enumerate(farthest) if place != own]
            n = self.records - coalition
            total = self.total - sum(known)
            squares = self.squares - sum(one * one for one in known)
            # n^2 times the variance, and n times the distance from the mean: both are whole.
            reach = sqrt((n - 1) * (n * squares - total * total)) / n
            apart = abs(n * value - total) / n
            ends = (np.array([one / scale]) for one in (reach, apart, value))
            found.append(float(beyond(*ends)[0]))
        return min(found)

    def _farthest(self) -> list[tuple[int, int]] | None:
        """The values farthest from the mean, one more than the coalition, with their sides; None at a tie."""
        ends = [list(self.lowest), list(self.highest)]
        wanted = len(self.lowest)
        if self.records <= 2 * wanted:
            return None
        found = []
        for _ in range(wanted):
            low, high = (abs(self.records * end[0] - self.total) for end in ends)
            if low == high:
                return None
            side = int(high > low)
            found.append((side, ends[side].pop(0)))
        return found


def squares_at_once(
    database: Database, dataset: Dataset, queries: Sequence["MomentQuery"]
) -> list[tuple[PowerSums, ...] | None]:
    """As `MomentSums.of_population` of each; None where that has to be asked.

    The queries are of the same records: the measures of all stand in each one's `valid`. It is asked of units
    of several records, of higher powers, and of databases other than DuckDB, which sort all values for the
    outermost. Raises UnknownName, ComputationFailed, ValueError for queries of other records.
    """
    found: list[tuple[PowerSums, ...] | None] = [None] * len(queries)
    places = [place for place, query in enumerate(queries) if _at_once(database, dataset, query)]
    if not places:
        return found
    chosen = [queries[place] for place in places]
    first, measures = chosen[0], tuple(query.measure for query in chosen)
    if len({(query.valid, query.filters, query.coalition) for query in chosen}) > 1:
        raise ValueError("the measures are of different records")
    conditions, ranks = plan_conditions(dataset, first.filters), first.coalition + 1
    wide = tuple(_bits(dataset, name) > HALF_BITS for name in measures)
    sql = database.compiled(
        ("squares at once", view_name(dataset), measures, wide, conditions, first.valid, ranks),
        lambda: _statement(dataset, measures, wide, conditions, first.valid, ranks),
    )
    rows = database.run(sql)
    for at, place in enumerate(places):
        scale = float(dataset.profiles[measures[at]].scale)
        found[place] = _power_sums(_outermost(rows, at, wide[at]), scale)
    return found


def _at_once(database: Database, dataset: Dataset, query: "MomentQuery") -> bool:
    single = dataset.records_per_unit == 1 and query.highest == 2
    fits = _bits(dataset, query.measure) <= 2 * HALF_BITS
    return single and fits and query.measure in query.valid and database.dialect is Dialect.DUCKDB


def _bits(dataset: Dataset, measure: str) -> int:
    """Bits of the longest of a measure's whole numbers."""
    profile = dataset.profiles[measure]
    return max(abs(profile.minimum), abs(profile.maximum)).bit_length()


def _statement(
    dataset: Dataset,
    measures: Sequence[str],
    wide: Sequence[bool],
    conditions: Conditions,
    valid: Sequence[str],
    ranks: int,
) -> Any:
    """One row: records; of each measure its sum, its squares' and its outermost values."""
    table = chosen_records(dataset, conditions, valid)
    found: dict[str, Any] = {"records": table.count()}
    for place, (name, is_wide) in enumerate(zip(measures, wide, strict=True)):
        x = table[dataset.measure_column(name)]
        # The mirrored values' greatest are the smallest.
        mirrored = largest(-x, ranks, Dialect.DUCKDB)
        found |= {f"sum{place}": x.sum(), f"most{place}": largest(x, ranks, Dialect.DUCKDB)}
        found |= {f"least{place}": mirrored}
        if is_wide:
            upper, lower = x >> HALF_BITS, x & (2**HALF_BITS - 1)
            parts = {"upper": upper * upper, "mixed": upper * lower, "squares": lower * lower}
            found |= {f"{part}{place}": value.sum() for part, value in parts.items()}
        else:
            found[f"squares{place}"] = (x * x).sum()
    return table.agg(**found)


def _outermost(rows: "pa.Table", place: int, wide: bool) -> Outermost | None:
    """What a row tells of a measure; None of no records."""

    def whole(name: str) -> int:
        return int(rows[name][0].as_py())

    if not whole("records"):
        return None
    squares = whole(f"squares{place}")
    if wide:
        squares += (whole(f"upper{place}") << 2 * HALF_BITS) + (whole(f"mixed{place}") << HALF_BITS + 1)
    return Outermost(
        whole("records"),
        whole(f"sum{place}"),
        squares,
        tuple(-int(one) for one in rows[f"least{place}"][0].as_py()),
        tuple(int(one) for one in rows[f"most{place}"][0].as_py()),
    )


def _power_sums(of: Outermost | None, scale: float) -> tuple[PowerSums, ...] | None:
    if of is None:
        return ()
    closeness = of.closeness(scale)
    if closeness is None:
        return None
    greatest = max(-of.lowest[0], of.highest[0]) / scale
    squares, records = np.array([of.squares / scale / scale]), np.array([of.records], dtype=np.int64)
    return (
        PowerSums(
            2,
            totals=np.array([of.total / scale]),
            sums=squares,
            absolute_sums=squares,
            largest=np.array([greatest**2]),
            closeness=np.array([closeness]),
            units=records,
            records=records,
        ),
    )
