"""The threshold rule as a section of a file's assessment: minimums by size and by class of key variables."""

from collections.abc import Callable, Iterable
from math import comb, prod

from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.file_report import ThresholdSection, UnsafeCombination
from sdcgate.methods.risk.microdata import UnitFile
from sdcgate.methods.risk.threshold import (
    Combination,
    combinations_by_class,
    combinations_up_to,
    threshold_rule,
)

MOST_COMBINATIONS = 200_000
"""Combinations of key variables that are looked at. Waves of a unit multiply key variables."""
NAMED = 10
"""Combinations that are named."""


def threshold_section(
    units: UnitFile, options: Options, heed: Callable[[], None] | None = None
) -> ThresholdSection:
    """Combinations of key variables with values that too few units of the file have.

    All of up to some key variables, and those that have one of each class of a minimum by class; of a
    combination that is both the larger minimum counts. Raises ValueError where there are more than
    `MOST_COMBINATIONS`, before any of them is made.
    """
    minimums = options.by_size[: len(units.keys)]
    _check_number(units, options, len(minimums))
    identifying = [key.identifying for key in units.keys]
    combined = _largest(
        [
            *combinations_up_to(len(units.keys), minimums),
            *(
                combination
                for one in options.class_minimums
                for combination in combinations_by_class(identifying, one.classes, one.minimum)
            ),
        ]
    )
    found = threshold_rule(units.codes, combined, missing=options.missing, named=0, heed=heed)
    unsafe = [
        UnsafeCombination(one.keys, one.cells, one.unsafe_cells, one.unsafe_units)
        for one in sorted(found.combinations, key=lambda one: (-one.unsafe_units, one.keys))
        if one.unsafe_cells
    ]
    return ThresholdSection(
        minimums, options.class_minimums, len(combined), found.unsafe_units, tuple(unsafe[:NAMED])
    )


def _check_number(units: UnitFile, options: Options, largest: int) -> None:
    variables = len(units.keys)
    number = sum(comb(variables, size) for size in range(1, largest + 1))
    for one in options.class_minimums:
        number += prod(sum(key.identifying >= wanted for key in units.keys) for wanted in one.classes)
    if number > MOST_COMBINATIONS:
        raise ValueError(
            f"{number} combinations of {variables} key variables are too many to look at: "
            "take fewer key variables or fewer dimensions"
        )


def _largest(combined: Iterable[Combination]) -> list[Combination]:
    """Each combination once, with the largest of its minimums."""
    minimums: dict[tuple[int, ...], int] = {}
    for one in combined:
        minimums[one.keys] = max(one.minimum, minimums.get(one.keys, 0))
    return [Combination(keys, minimum) for keys, minimum in minimums.items()]
