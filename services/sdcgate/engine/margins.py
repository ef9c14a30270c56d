"""From rows of aggregates to arrays of cells: totals from finer cells where they add, and the facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sdcgate.engine.aggregation import Shape
from sdcgate.engine.contributions import SHIFTED, WEIGHTED
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.record_columns import HOUSEHOLD_SHARES
from sdcgate.engine.record_keys import MARK_BITS
from sdcgate.methods.cells import Contributors, Facts, FloatArray, IntArray, KeyArray, MeasureFacts

if TYPE_CHECKING:
    import pyarrow as pa

Array = npt.NDArray[Any]
_LOW_BITS = 40
_LOW_MASK = (1 << _LOW_BITS) - 1
_RECORDS = ("records", "marks", "weights", "sum", "minimum", "maximum", "valid", "weighted", "valid_weights")
_RANKED = tuple(f"{kind}{name}" for kind in ("", SHIFTED, WEIGHTED) for name in ("largest", "unwaived"))
_WORDS = ("marks", "keys")
"""Sums of which the lower 64 bits count."""
_HALVED = ("weighted", f"{WEIGHTED}absolute")
_RESPONDENTS = (*_RANKED, "absolute", f"{WEIGHTED}absolute", "holdings", "valid_holdings")


@dataclass(slots=True)
class CellArrays:
    """Integer aggregates of cells by name, each of shape `shape` (and a last axis of ranks or of halves).

    Names are those of aggregation's columns. Weighted sums have two halves, the upper bits and the lower 40,
    as 64 bits do not hold them; the largest contributions have ranks, and are floats where they are weighted.
    """

    shape: tuple[int, ...]
    arrays: dict[str, Array] = field(default_factory=dict, repr=False)

    def place(self, rows: "pa.Table", where: Sequence[Array], ranks: int) -> None:
        """Writes the rows' aggregates into the cells at these positions, a position array an axis."""
        named = [name for name in rows.column_names if name != "cell"]
        self._put({name: _values(rows[name], name, ranks) for name in named}, where)

    def put(self, cells: "CellArrays", where: Sequence[Array]) -> None:
        """Writes cells in a row into those at these positions, as `place`."""
        self._put(cells.arrays, where)

    def _put(self, found: Mapping[str, Array], where: Sequence[Array]) -> None:
        for name, values in found.items():
            if name not in self.arrays:
                self.arrays[name] = np.full((*self.shape, *values.shape[1:]), _empty(name), values.dtype)
            self.arrays[name][tuple(where)] = values

    def total(self, axis: int, names: Sequence[str]) -> None:
        """Fills the last position of an axis from the others, where aggregates of disjoint cells combine."""
        for name in names:
            cells = np.moveaxis(self.arrays[name], axis, 0)
            parts = cells[:-1]
            kind = _kind(name)
            if kind == "minimum":
                cells[-1] = parts.min(axis=0, initial=_empty(name))
            elif kind == "maximum":
                cells[-1] = parts.max(axis=0, initial=_empty(name))
            elif kind in _RANKED:
                ranks = cells.shape[-1]
                merged = np.moveaxis(parts, 0, -2)
                merged = merged.reshape(*merged.shape[:-2], -1)
                cells[-1] = -np.sort(-merged, axis=-1)[..., :ranks] if merged.shape[-1] else 0
            else:
                cells[-1] = parts.sum(axis=0)

    def united(self, unions: IntArray, parts: IntArray, number: int) -> "CellArrays":
        """Aggregates of `number` unions of cells that share no record and no respondent.

        Union `unions[i]`, ascending, has the cell `parts[i]`, for each i. What is not in place is empty.
        """
        starts = np.flatnonzero(np.diff(unions, prepend=-1))
        ends, there = np.append(starts, len(unions))[1:], unions[starts]
        found = CellArrays((number,))
        for name, cells in self.arrays.items():
            united = np.full((number, *cells.shape[1:]), _empty(name), cells.dtype)
            kind = _kind(name)
            if kind in _RANKED:
                for union, start, end in zip(there.tolist(), starts.tolist(), ends.tolist(), strict=True):
                    every = cells[parts[start:end]].reshape(-1)
                    united[union] = np.sort(every)[::-1][: cells.shape[1]]
            elif len(starts):
                combine = {"minimum": np.minimum, "maximum": np.maximum}.get(kind, np.add)
                united[there] = combine.reduceat(cells[parts], starts, axis=0)
            if kind in _HALVED:
                # Both halves as those of one sum are: else the last digit of what they make would differ.
                united[:, 0] += united[:, 1] >> _LOW_BITS
                united[:, 1] &= _LOW_MASK
            found.arrays[name] = united
        return found

    def names(self, of_records: bool) -> list[str]:
        """Names of the aggregates that add over records, or else of those over units."""
        return [name for name in self.arrays if (_kind(name) in _RECORDS) == of_records]

    def names_of_respondents(self) -> list[str]:
        """Names of the aggregates over units that are over holdings where there are any."""
        return [name for name in self.arrays if _kind(name) in _RESPONDENTS]


def _kind(name: str) -> str:
    return name.rstrip("0123456789")


def _empty(name: str) -> int:
    return {"minimum": np.iinfo(np.int64).max, "maximum": np.iinfo(np.int64).min}.get(_kind(name), 0)


def _values(column: "pa.ChunkedArray", name: str, ranks: int) -> Array:
    """A column of aggregates as numpy integers."""
    import pyarrow as pa

    merged = column.combine_chunks()
    if isinstance(merged, pa.ChunkedArray):
        merged = merged.chunk(0) if merged.num_chunks else pa.array([], type=column.type)
    kind = _kind(name)
    if kind in _RANKED:
        return _ranked(merged, ranks, wide=kind.startswith(WEIGHTED))
    high, low = _words(merged, _empty(name))
    if kind in _WORDS:
        return low
    if kind in _HALVED:
        upper = (high << (64 - _LOW_BITS)) | (low >> np.uint64(_LOW_BITS)).view(np.int64)
        return np.stack([upper, (low & np.uint64(_LOW_MASK)).view(np.int64)], axis=1)
    return low.view(np.int64)


def _words(column: "pa.Array", null: int) -> tuple[IntArray, npt.NDArray[np.uint64]]:
    """Upper (signed) and lower (unsigned) 64 bits of 128- or 64-bit integers, NULL as `null`."""
    import pyarrow as pa

    missing = column.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_decimal(column.type):
        words = np.frombuffer(column.buffers()[1], dtype="<i8")
        pairs = words[2 * column.offset : 2 * (column.offset + len(column))].reshape(-1, 2)
        low, high = pairs[:, 0].copy(), pairs[:, 1].copy()
    else:
        low = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        high = low >> 63
    low[missing], high[missing] = null, null >> 63
    return high, low.view(np.uint64)


def _ranked(column: "pa.ListArray", ranks: int, wide: bool) -> Array:
    """Lists of at most `ranks` values as rows filled up with 0; `wide` ones may be beyond 64 bits: floats."""
    lengths = column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    high, low = _words(column.flatten(), 0)
    values = high * 2.0**64 + low if wide else low.view(np.int64)
    filled = np.zeros((len(lengths), ranks), dtype=values.dtype)
    filled[np.arange(ranks) < lengths[:, None]] = values
    return filled


def facts_of(cells: CellArrays, dataset: Dataset, measures: Sequence[str], shape: Shape) -> Facts:
    """The facts of cells, row-major: integers become values only here.

    Where a measure has no value in a cell, its smallest and largest value are 0, as `valid_records` says.
    A weight that is the same for all multiplies counts.
    """
    arrays: Mapping[str, Array] = {
        name: array.reshape(-1, *array.shape[len(cells.shape) :]) for name, array in cells.arrays.items()
    }
    units: IntArray = arrays["units"]
    records: IntArray = arrays["records"]
    constant = dataset.weight_bounds[0]
    scale = 10.0**dataset.weight_decimals
    if dataset.weighted:
        weight_sums: FloatArray = arrays["weights"] / scale
        unit_weight_sums: FloatArray = arrays["unit_weights"] / scale
    else:
        weight_sums, unit_weight_sums = (
            records.astype(np.float64) * constant,
            units.astype(np.float64) * constant,
        )
    facts = [_measure_facts(arrays, position, dataset, name, shape) for position, name in enumerate(measures)]
    return Facts(
        units=units,
        records=records,
        households=_households(arrays),
        weight_sums=weight_sums,
        unit_weight_sums=unit_weight_sums,
        measures=tuple(facts),
        holdings=_counts(arrays, "holdings") if dataset.holdings else None,
        marks=_marks(arrays, "marks").view(np.int64),
        keys=arrays.get("keys"),
    )


def _households(arrays: Mapping[str, Array]) -> FloatArray | None:
    """Households of each cell; never more than units, though a unit may have moved between households."""
    if "households" in arrays:
        return np.minimum(arrays["households"], arrays["units"]).astype(np.float64)
    if "household_shares" in arrays:
        shares: FloatArray = arrays["household_shares"] / float(HOUSEHOLD_SHARES)
        return shares
    return None


def _counts(arrays: Mapping[str, Array], name: str) -> IntArray:
    """Counts of an aggregate; none where no record was."""
    return arrays.get(name, np.zeros_like(arrays["units"]))


def _measure_facts(
    arrays: Mapping[str, Array], position: int, dataset: Dataset, name: str, shape: Shape
) -> MeasureFacts:
    measure = dataset.measure(name)
    scale = 10.0**measure.decimals
    sums = arrays[f"sum{position}"]
    valid = arrays.get(f"valid{position}", arrays["records"])
    has_value = valid > 0
    if dataset.weighted:
        upper, lower = arrays[f"weighted{position}"].T
        product_scale = 10.0 ** (measure.decimals + dataset.weight_decimals)
        weighted = (upper * 2.0**_LOW_BITS + lower) / product_scale
        valid_weights = arrays.get(f"valid_weights{position}", arrays["weights"])
        valid_weight_sums = valid_weights / 10.0**dataset.weight_decimals
    else:
        weighted, valid_weight_sums = (
            sums / scale * dataset.weight_bounds[0],
            valid * dataset.weight_bounds[0],
        )
    plain = _contributors(arrays, "", position, shape, arrays.get(f"absolute{position}", sums) / scale, scale)
    keys = arrays.get(f"keys{position}", arrays.get("keys"))
    return MeasureFacts(
        name=name,
        sums=sums / scale,
        valid_records=valid,
        valid_units=arrays.get(f"valid_units{position}", arrays["units"]),
        largest=plain.largest,
        absolute_sums=plain.totals,
        minima=np.where(has_value, arrays[f"minimum{position}"], 0) / scale,
        maxima=np.where(has_value, arrays[f"maximum{position}"], 0) / scale,
        lower_bound=measure.lower_bound,
        upper_bound=measure.upper_bound,
        weighted_sums=weighted,
        valid_weight_sums=valid_weight_sums,
        lacking_units=arrays.get(f"lacking_units{position}", np.zeros_like(sums)),
        unwaived_largest=plain.unwaived,
        shifted=_shifted(arrays, position, shape, (sums, valid), scale),
        weighted=_weighted(arrays, position, shape, weighted, scale * 10.0**dataset.weight_decimals),
        valid_holdings=_counts(arrays, _first(arrays, f"valid_holdings{position}", "holdings"))
        if dataset.holdings
        else None,
        keys=keys,
        sum_keys=keys
        if keys is None or dataset.records_per_unit == 1
        else _marks(arrays, f"marks{position}", "marks"),
    )


def _marks(arrays: Mapping[str, Array], *names: str) -> KeyArray:
    """Sums of records' marks, of the first name that there is."""
    found: KeyArray = arrays[_first(arrays, *names)] & np.uint64((1 << MARK_BITS) - 1)
    return found


def _first(arrays: Mapping[str, Array], *names: str) -> str:
    return next((name for name in names if name in arrays), names[-1])


def _shifted(
    arrays: Mapping[str, Array], position: int, shape: Shape, summed: tuple[IntArray, IntArray], scale: float
) -> Contributors | None:
    """Contributions above the lower bound, where they are wanted; `summed` are sums and valid records."""
    shift = shape.measures[position].shift
    if not shift:
        return None
    sums, valid = summed
    return _contributors(arrays, SHIFTED, position, shape, (sums + shift * valid) / scale, scale)


def _weighted(
    arrays: Mapping[str, Array], position: int, shape: Shape, sums: FloatArray, scale: float
) -> Contributors | None:
    """Weighted contributions, where they are wanted."""
    if not shape.respondents.weighted:
        return None
    halves = arrays.get(f"{WEIGHTED}absolute{position}")
    totals = sums if halves is None else (halves[:, 0] * 2.0**_LOW_BITS + halves[:, 1]) / scale
    return _contributors(arrays, WEIGHTED, position, shape, totals, scale)


def _contributors(
    arrays: Mapping[str, Array], kind: str, position: int, shape: Shape, totals: FloatArray, scale: float
) -> Contributors:
    nobody = np.zeros((len(totals), shape.respondents.ranks))
    unwaived = arrays.get(f"{kind}unwaived{position}", nobody) / scale if shape.respondents.waivers else None
    return Contributors(arrays.get(f"{kind}largest{position}", nobody) / scale, totals, unwaived)
