"""What is wrong with arrays, told by names and positions, never by values, which may be withheld."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray

SHOWN = 10


def at_positions(wrong: BoolArray, problem: str) -> list[str]:
    """The problem with the first positions that have it; nothing where none has. `wrong` is 1-d."""
    positions = np.flatnonzero(wrong)
    return [problem + named(positions)] if len(positions) else []


def named(positions: IntArray) -> str:
    """The first positions in words: ` (positions 1, 2 and 8 more)`; nothing where there are none."""
    if not len(positions):
        return ""
    first = ", ".join(str(position) for position in positions[:SHOWN])
    more = f" and {len(positions) - SHOWN} more" if len(positions) > SHOWN else ""
    return f" (positions {first}{more})"


@dataclass(frozen=True, slots=True, eq=False)
class FactProblem:
    """What is wrong with a column, and the cells that it is wrong in; none where it is the whole column."""

    path: str
    """Path of the column, as messages have it: `facts.measures[0].sums`."""
    message: str
    cells: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)

    def __str__(self) -> str:
        return f"{self.path} {self.message}{named(self.cells)}"


class FactsError(ValueError):
    """Facts that do not fit together; `problems` has all that is wrong, never a value."""

    def __init__(self, problems: list[FactProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, problems)))
