"""The columns of a data file that a descriptor names, encoded; what is wrong in them becomes problems.

A problem says in which records something is wrong, never what stands there: that is a person's answer, or,
in a column too many, his name. The steward has the file.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.descriptor import Descriptor, DescriptorProblem, Measure, Variable
from sdcgate.engine.descriptor_checks import MAXIMUM_DECIMALS
from sdcgate.engine.encoding import (
    LARGEST_SUM,
    Texts,
    absolute_total,
    canonical,
    code_positions,
    read_texts,
    scaled_values,
)
from sdcgate.methods.cells import BoolArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

HOUSEHOLD_SHARES = 10 * lcm(*range(1, 21))
"""A unit of a household of s members counts HOUSEHOLD_SHARES // s: exact up to 20 members."""
UNKNOWN_HOUSEHOLD = 0
"""Number of the household of records without an id, which is counted nowhere."""
_SHOWN_ROWS = 5


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """One pass over a file. Each method returns None where it added a problem that leaves it no column."""

    descriptor: Descriptor
    code_lists: Mapping[str, tuple[LevelCodes, ...]]
    table: "pa.Table"
    problems: list[DescriptorProblem]

    def unit_ids(self) -> tuple[tuple[str, ...], IntArray] | None:
        """Distinct unit ids, and each row's place among them; with no unit column each row is a unit."""
        if not self.descriptor.unit.column:
            rows = range(self.table.num_rows)
            return tuple(f"row {row}" for row in rows), np.arange(len(rows))
        texts = self._texts(self.descriptor.unit.column)
        if texts is None:
            return None
        without = texts.index < 0
        if without.any():
            self._add(
                "unit.column", f"every record needs one; the file has {_counted(without, 'without it')}"
            )
            return None
        ids, index = np.unique(np.array([canonical(text) for text in texts.distinct]), return_inverse=True)
        return tuple(str(unit) for unit in ids), index[texts.index]

    def variable(self, position: int, variable: Variable) -> IntArray | None:
        """Position of each row's finest code; texts that are no code are a problem."""
        column = variable.column or variable.name
        texts = self._texts(column, variable.missing)
        levels = self.code_lists.get(variable.name)
        if texts is None or levels is None:
            return None
        positions, undeclared = code_positions(texts, levels[0].positions, variable.floor)
        if undeclared.any():
            what = "with values that are no declared code"
            self._add(f"variables[{position}]", f"column {column!r} has {_counted(undeclared, what)}")
        return positions

    def measure(self, position: int, measure: Measure) -> tuple[IntArray, BoolArray] | None:
        """Scaled values, and which rows have one; what is no number or beyond the bounds is a problem."""
        column = measure.column or measure.name
        texts = self._texts(column)
        if texts is None or not 0 <= measure.decimals <= MAXIMUM_DECIMALS:
            return None
        path = f"measures[{position}]"
        scaled, valid, bad = scaled_values(texts, measure.decimals)
        if bad.any():
            what = "with values that are no finite number or too large"
            self._add(path, f"column {column!r} has {_counted(bad, what)}")
        elif absolute_total(scaled) >= LARGEST_SUM:
            self._add(f"{path}.decimals", "the values are too large to be summed exactly: declare fewer")
        lower, upper = measure.lower_bound, measure.upper_bound
        if lower is not None and math.isfinite(lower):
            lowest = math.ceil(Decimal(str(lower)).scaleb(measure.decimals))
            self._beyond(f"{path}.lower_bound", valid & (scaled < lowest))
        if upper is not None and math.isfinite(upper):
            highest = math.floor(Decimal(str(upper)).scaleb(measure.decimals))
            self._beyond(f"{path}.upper_bound", valid & (scaled > highest))
        return scaled, valid

    def weights(self) -> IntArray | None:
        """Scaled weights; those that are missing, not finite or not positive are a problem."""
        weight = self.descriptor.weight
        texts = self._texts(weight.column) if weight is not None else None
        if weight is None or texts is None or not 0 <= weight.decimals <= MAXIMUM_DECIMALS:
            return None
        scaled, valid, bad = scaled_values(texts, weight.decimals)
        no_number = bad | ~valid
        if no_number.any():
            self._add("weight.column", f"the file has {_counted(no_number, 'without a finite weight')}")
        not_positive = ~no_number & (scaled <= 0)
        if not_positive.any():
            what = f"with a weight that is not positive with {weight.decimals} decimals"
            self._add("weight.column", f"the file has {_counted(not_positive, what)}")
        if absolute_total(scaled) >= LARGEST_SUM:
            self._add("weight.decimals", "the weights are too large to be summed exactly: declare fewer")
        return scaled

    def household_shares(self) -> IntArray | None:
        """Each record's share of a household, where only its size is known.

        Unknown households must not make the count larger: a size that is missing or 0 is read as the largest
        of the file.
        """
        household = self.descriptor.household
        if household is None or household.column:
            return None
        texts = self._texts(household.size_column)
        if texts is None:
            return None
        sizes, _, bad = scaled_values(texts, 0)
        largest = int(sizes.max())
        if bad.any() or largest <= 0 or bool((sizes < 0).any()):
            self._add("household.size_column", "sizes must be whole numbers, not negative and not all 0")
            return None
        return HOUSEHOLD_SHARES // np.where(sizes == 0, largest, sizes)

    def household_ids(self) -> tuple[tuple[str, ...], IntArray] | None:
        """The distinct ids of households, the empty one first, and each record's place among them.

        Unknown households must not make the count larger: records without an id are of the empty one, which
        counts for nothing, as they may be of any that is counted. None where there are no ids.
        """
        household = self.descriptor.household
        texts = self._texts(household.column) if household is not None and household.column else None
        if texts is None:
            return None
        ids, index = np.unique(np.array([canonical(text) for text in texts.distinct]), return_inverse=True)
        places = np.append(index + 1, UNKNOWN_HOUSEHOLD)[texts.index].astype(np.int64)
        return ("", *map(str, ids)), places

    def holding(self, units: tuple[tuple[str, ...], IntArray] | None) -> IntArray | None:
        """Dense ids of holdings; a unit without one is a holding itself."""
        holding = self.descriptor.holding
        texts = self._texts(holding.column) if holding is not None else None
        if texts is None or units is None:
            return None
        ids, index = np.unique(np.array([canonical(text) for text in texts.distinct]), return_inverse=True)
        alone = len(ids) + units[1]
        places = index[texts.index] if len(ids) else alone
        return np.where(texts.index < 0, alone, places).astype(np.int64)

    def waiver(self) -> IntArray | None:
        """1 where a record says that its unit gave a waiver, 0 elsewhere, where the value is missing too."""
        waiver = self.descriptor.waiver
        texts = self._texts(waiver.column) if waiver is not None else None
        if waiver is None or texts is None:
            return None
        meaning = {canonical(code) for code in waiver.codes}
        given = np.array([canonical(text) in meaning for text in texts.distinct] + [False])
        return given[texts.index].astype(np.int64)

    def _add(self, path: str, message: str) -> None:
        self.problems.append(DescriptorProblem(path, message))

    def _beyond(self, path: str, rows: BoolArray) -> None:
        if rows.any():
            self._add(path, f"the file has {_counted(rows, 'with values beyond it')}")

    def _texts(self, column: str, missing: tuple[str, ...] = ()) -> Texts | None:
        if column not in self.table.column_names:
            return None
        return read_texts(self.table[column], (*self.descriptor.data.missing, *missing))


def _counted(rows: BoolArray, what: str) -> str:
    """How many rows, what is wrong with them, and which records of the file they are, from 1."""
    numbers = (np.flatnonzero(rows) + 1).tolist()
    more = len(numbers) - _SHOWN_ROWS
    shown = ", ".join(map(str, numbers[:_SHOWN_ROWS])) + (f" and {more} more" if more > 0 else "")
    plural = "s" if len(numbers) > 1 else ""
    return f"{len(numbers)} row{plural} {what}: record{plural} {shown}"
