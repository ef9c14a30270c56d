"""What protection that changes values does to a table: how far from the truth, and what no longer adds up."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import Axis, BoolArray, FloatArray, additive_relations, leaf_cells
from sdcgate.methods.tables.problem import ADDITION_ERROR


@dataclass(frozen=True, slots=True)
class Distances:
    """How far published values of some cells are from the true ones."""

    cells: int
    changed: int
    bias: float
    """Mean of published minus true values."""
    mean_absolute: float
    root_mean_square: float
    largest_absolute: float
    mean_relative: float
    """Mean of absolute changes over true values, of cells whose true value is not 0; NaN where all are."""
    hellinger: float
    """Hellinger's distance, sqrt(sum (sqrt t - sqrt p)^2 / 2); NaN where a value is negative."""
    hellinger_utility: float
    """1 minus that distance over the square root of the true total (Langsrud and Heldal 2018); may be NaN."""
    false_zeros: int
    """Cells that are not 0 and are published as 0."""
    false_positives: int
    """Cells that are 0 and are not published as 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Utility:
    """What became of a table."""

    all_cells: Distances
    inner_cells: Distances
    margins: Distances
    moved_margins: BoolArray = field(repr=False)
    """Margins that are not published as they are, shape (cells,)."""
    relations: int
    """Sums that the true table fulfils."""
    broken_relations: int
    """Those that the published table does not."""
    largest_gap: float
    """The most by which the published parts of a total differ from it."""
    mean_gap: float
    """The mean absolute difference of published totals and parts, over all sums."""


def table_utility(axes: tuple[Axis, ...], true: FloatArray, published: FloatArray) -> Utility:
    """Compare a published table with the true one; shapes (cells,), all values finite.

    Raises ValueError where shapes do not fit or a value is not finite.
    """
    inner = leaf_cells(axes)
    if true.shape != inner.shape or published.shape != inner.shape:
        raise ValueError(f"must be one value for each of {len(inner)} cells")
    if not (np.all(np.isfinite(true)) and np.all(np.isfinite(published))):
        raise ValueError("values must be finite")
    relations = additive_relations(axes)
    gaps = np.zeros(0)
    if len(relations):
        sums = np.add.reduceat(published[relations.children], relations.offsets[:-1])
        gaps = np.abs(sums - published[relations.parents])
    room = ADDITION_ERROR * np.abs(published).max(initial=0.0)
    return Utility(
        all_cells=distances(true, published),
        inner_cells=distances(true[inner], published[inner]),
        margins=distances(true[~inner], published[~inner]),
        moved_margins=~inner & (true != published),
        relations=len(relations),
        broken_relations=int((gaps > room).sum()),
        largest_gap=float(gaps.max(initial=0.0)),
        mean_gap=float(gaps.mean()) if len(gaps) else 0.0,
    )


def distances(true: FloatArray, published: FloatArray) -> Distances:
    """Distances of published values from true ones, shapes (cells,); 0 where there is no cell."""
    cells = len(true)
    if not cells:
        return Distances(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)
    change = published - true
    size = np.abs(change)
    filled = true != 0
    hellinger = _hellinger(true, published)
    total = float(true.sum())
    return Distances(
        cells=cells,
        changed=int(np.count_nonzero(change)),
        bias=float(change.mean()),
        mean_absolute=float(size.mean()),
        root_mean_square=float(np.sqrt(np.mean(change**2))),
        largest_absolute=float(size.max()),
        mean_relative=float((size[filled] / np.abs(true[filled])).mean()) if filled.any() else np.nan,
        hellinger=hellinger,
        hellinger_utility=1 - hellinger / float(np.sqrt(total)) if total > 0 else np.nan,
        false_zeros=int(np.count_nonzero(filled & (published == 0))),
        false_positives=int(np.count_nonzero(~filled & (published != 0))),
    )


def _hellinger(true: FloatArray, published: FloatArray) -> float:
    if true.min() < 0 or published.min() < 0:
        return float("nan")
    return float(np.sqrt(np.sum((np.sqrt(true) - np.sqrt(published)) ** 2) / 2))
