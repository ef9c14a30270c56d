"""What the engine is asked and what it answers: cells of a table, and regions of records."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sdcgate.methods.cells import Axis, Facts, FloatArray, IntArray, KeyArray
from sdcgate.methods.outputs.households import Households
from sdcgate.methods.rules import ABSOLUTE_VALUES, Contributions

MEASURE_PREFIX = "measure:"
"""Boxes say `measure:<name>` of a measure: bit 0 is "has a value", bit 1 is missing."""

Box = tuple[tuple[str, int], ...]
"""A cell as a set of records: (variable, bit mask over its finest codes), sorted by variable.

`_U` is the last bit; variables whose mask is full are left out, so `()` is everybody.
"""


@dataclass(frozen=True, slots=True)
class Condition:
    """The variable has one of these codes of that level (the finest where the level is empty)."""

    variable: str
    level: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CellQuery:
    """A table: (variable, level) of each dimension, conditions that all hold, measures to sum.

    `ranks` is how many of the largest contributors of each cell are wanted, `contributions` what they
    contribute beside absolute values. Only records that have each of the measures in `valid` count.
    `keyed`: whether the cells' keys are wanted.
    """

    dimensions: tuple[tuple[str, str], ...] = ()
    filters: tuple[Condition, ...] = ()
    measures: tuple[str, ...] = ()
    ranks: int = 2
    contributions: Contributions = ABSOLUTE_VALUES
    valid: tuple[str, ...] = ()
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class RecordsQuery:
    """Columns of the records that fulfil all conditions and have each of the measures."""

    levels: tuple[tuple[str, str], ...] = ()
    measures: tuple[str, ...] = ()
    filters: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records by column, in the snapshot's order; each array has shape (records,). They stay in the house."""

    codes: Mapping[tuple[str, str], IntArray] = field(repr=False)
    """Positions of the codes of each (variable, level), `_U` last."""
    measures: Mapping[str, FloatArray] = field(repr=False)
    unit: IntArray = field(repr=False)
    """Unit of each record, numbered from 0 among those that are there."""
    unit_keys: KeyArray = field(repr=False)
    """Secret key of each unit, shape (units,)."""
    weights: FloatArray | None = field(repr=False)
    """Weight of each record; None where the dataset has none."""
    households: Households | None = field(default=None, repr=False)
    """None where the dataset has none."""


@dataclass(frozen=True, slots=True)
class Region:
    """The records that lie in any box of `inside` and in none of `outside`."""

    inside: tuple[Box, ...]
    outside: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """The cells of a table, row-major, every axis with `_U` (unless filtered out) and `_T` last.

    `varying` are the positions of the axes that take several codes within one unit: along these the units of
    a total are fewer than the sum of its parts.
    """

    axes: tuple[Axis, ...]
    facts: Facts
    varying: frozenset[int]

    @property
    def units_additive(self) -> bool:
        """Whether the units of all totals are the sum of those of their parts."""
        return not self.varying
