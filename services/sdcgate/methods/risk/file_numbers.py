"""Numbers that identify by being far from others, as a section of a file's assessment."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.density import largest_units, neighbourhoods
from sdcgate.methods.risk.keys import group_keys

LARGEST = 3
"""Units that everybody knows, for they are the largest of their categories."""
SEVERAL_RECORDS = "units have several records: numbers are compared where each unit has one"
ONE_RECORD = "numbers are compared where each record is a unit: leave out the unit"


@dataclass(frozen=True, slots=True)
class NumberWidth:
    """How far two values of a number may be apart and still be confused."""

    name: str
    width: float
    """Above 0, in the number's unit or as a share of the value."""
    relative: bool = False
    """Whether the width is a share of the value."""


@dataclass(frozen=True, slots=True, eq=False)
class FileNumbers:
    """Numbers that an intruder is taken to know nearly."""

    widths: tuple[NumberWidth, ...]
    values: FloatArray = field(repr=False)
    """Finite, above 0 where the width is relative, shape (records, numbers)."""


@dataclass(frozen=True, slots=True)
class NumbersSection:
    """Units that stand alone with their numbers among those of their key."""

    numbers: tuple[NumberWidth, ...]
    minimum: int
    """How many others a unit must be confused with."""
    isolated: int
    """Units with fewer neighbours than the minimum."""
    outside: int
    """Isolated units that are near no unit that is not."""
    largest: int
    """Units among the `LARGEST` largest of their key in some number."""


def numbers_section(
    numbers: FileNumbers,
    codes: IntArray,
    minimum: int,
    most_pairs: float = np.inf,
    heed: Callable[[], None] | None = None,
) -> NumbersSection:
    """Count units whose numbers stand alone among those of the same key, missing values as a category.

    `codes` (units, keys) as the values of `numbers`; `heed` as in `neighbourhoods`. Raises ValueError for
    values or a minimum out of range, and where keys with many units would have more than `most_pairs` pairs
    to compare.
    """
    counts = group_keys(codes).counts.astype(np.float64)
    if float(counts @ counts) > most_pairs:
        raise ValueError(
            "too many records have the same key to compare them for one who waits: give more key variables, "
            "or use the command line"
        )
    shares = np.array([one.relative for one in numbers.widths])
    if (numbers.values[:, shares] <= 0).any():
        raise ValueError("numbers with a relative width must be above 0")
    points = numbers.values.copy()
    points[:, shares] = np.log(numbers.values[:, shares])
    widths = np.array([np.log1p(one.width) if one.relative else one.width for one in numbers.widths])
    found = neighbourhoods(points, widths, minimum, codes, heed)
    return NumbersSection(
        numbers=numbers.widths,
        minimum=minimum,
        isolated=int(found.isolated.sum()),
        outside=int(found.outside.sum()),
        largest=int(largest_units(numbers.values, LARGEST, codes).among.sum()),
    )
