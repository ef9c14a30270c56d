"""Systems of normal equations, and which column makes them singular."""

from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray

LARGEST_CONDITION = 1e6
"""Of columns scaled to unit length; its square is that of the normal equations."""


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """Cross-products of columns scaled to unit diagonal, and what they were scaled by."""

    scaled: FloatArray
    scale: FloatArray

    @property
    def condition(self) -> float:
        """Condition number of the scaled columns (the square root of that of their cross-products)."""
        if not len(self.scaled):
            return 1.0
        smallest, largest = np.linalg.eigvalsh(self.scaled)[[0, -1]]
        return float(np.sqrt(largest / smallest)) if smallest > 0 else float("inf")

    def inverse(self) -> FloatArray:
        """Inverse of the cross-products."""
        return np.asarray(np.linalg.inv(self.scaled) / np.outer(self.scale, self.scale), dtype=np.float64)

    def solve(self, right: FloatArray) -> FloatArray:
        """Solution of the normal equations, once refined."""
        target = right / self.scale
        solution = np.linalg.solve(self.scaled, target)
        solution += np.linalg.solve(self.scaled, target - self.scaled @ solution)
        return np.asarray(solution / self.scale, dtype=np.float64)


def gram(cross_products: FloatArray) -> Gram:
    """Cross-products scaled; a column of zeros keeps its scale."""
    scale = np.sqrt(np.diag(cross_products))
    scale = np.where(scale > 0, scale, 1.0)
    return Gram(cross_products / np.outer(scale, scale), scale)


def dependent_columns(scaled: FloatArray, tolerance: float = 1.0 / LARGEST_CONDITION**2) -> IntArray:
    """Columns that depend on those before them: whose squared length the others leave at most `tolerance`.

    `scaled` are cross-products with ones (or zeros) in the diagonal; positions rise.
    """
    left = scaled.copy()
    found: list[int] = []
    for place in range(len(left)):
        pivot = left[place, place]
        if not pivot > tolerance:
            found.append(place)
            left[place:, place] = left[place, place:] = 0.0
            continue
        line = left[place, place:] / pivot
        left[place + 1 :, place + 1 :] -= np.outer(left[place + 1 :, place], line[1:])
    return np.array(found, dtype=np.int64)
