"""Cells that everybody knows nobody can be in: two codes that exclude each other, as the steward says.

Codes that share no record of the file may exclude each other, or may by chance; only what is declared is
common knowledge, so that a table that shows it tells nothing of anybody.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Condition
from sdcgate.engine.table_plan import allowed_masks
from sdcgate.methods.cells import TOTAL, Axis, BoolArray, shape_of


def structural_zeros(
    dataset: Dataset, axes: tuple[Axis, ...], filters: Sequence[Condition]
) -> BoolArray | None:
    """Cells that take two codes which exclude each other, shape (cells,); None where nothing is declared.

    A cell takes a code where its axis, or a condition, leaves no other of the variable.
    """
    declared = dataset.descriptor.exclusive
    if not declared:
        return None
    allowed, shape = allowed_masks(dataset, filters), shape_of(axes)
    found = np.zeros(shape, dtype=np.bool_)
    for group in declared:
        taken = np.zeros(shape, dtype=np.int64)
        for one in group.codes:
            taken += _takes(dataset, axes, allowed, one.variable, dataset.mask(one.variable, "", [one.code]))
        found |= taken > 1
    return found.reshape(-1)


def _takes(
    dataset: Dataset, axes: tuple[Axis, ...], allowed: Mapping[str, int], variable: str, code: int
) -> BoolArray:
    """Cells that leave a variable one code, to be broadcast over the axes."""
    condition = allowed.get(variable, dataset.full_mask(variable))
    for place, axis in enumerate(axes):
        if axis.variable == variable:
            level = dataset.level(variable, axis.level)
            masks = dict(zip(level.codes, level.masks, strict=True))
            left = [condition if name == TOTAL else masks[name] & condition for name in axis.codes]
            takes = np.array([mask != 0 and not mask & ~code for mask in left], dtype=np.bool_)
            return takes.reshape([-1 if other == place else 1 for other in range(len(axes))])
    return np.array(condition != 0 and not condition & ~code)
