"""What is wrong with single columns of facts: shapes, kinds, ranges. An empty column is not known."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.positions import FactProblem

Problems = Iterator[FactProblem]


def misshapen(path: str, values: npt.NDArray[np.generic] | None, n_cells: int, kinds: str = "if") -> Problems:
    """Complaints about a column that has not one number a cell, of one of numpy's `kinds`."""
    if values is None or not values.size:
        return
    if values.shape != (n_cells,):
        yield FactProblem(path, f"must be one value for each of {n_cells} cells, not {values.shape}")
    if values.dtype.kind not in kinds:
        yield FactProblem(path, f"must be {'integers' if kinds == 'i' else 'numbers'}, not {values.dtype}")


def where(path: str, wrong: BoolArray, message: str) -> Problems:
    """The problem of a column, where some cell has it."""
    if np.count_nonzero(wrong):
        yield FactProblem(path, message, np.flatnonzero(wrong))


def not_weights(path: str, values: FloatArray | None) -> Problems:
    """Complaints about what must be finite and not negative."""
    if values is not None:
        yield from where(path, ~((values >= 0) & np.isfinite(values)), "must be finite and not negative")
