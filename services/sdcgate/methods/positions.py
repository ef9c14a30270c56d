"""Naming in error texts where an array is wrong: positions, never values, which may be withheld."""

import numpy as np

from sdcgate.methods.cells import BoolArray

SHOWN = 10


def at_positions(wrong: BoolArray, problem: str) -> list[str]:
    """The problem with the first positions that have it; nothing where none has. `wrong` is 1-d."""
    positions = np.flatnonzero(wrong)
    if not len(positions):
        return []
    named = ", ".join(str(position) for position in positions[:SHOWN])
    more = f" and {len(positions) - SHOWN} more" if len(positions) > SHOWN else ""
    return [f"{problem} (positions {named}{more})"]
