"""Which variables decide others in the data: whoever knows the plan knows the coinsurance.

Cells of both are sets of people under different names; told by the deciding variable they can be compared.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST = 4_000_000
"""Combinations of codes up to which two variables are compared."""

Codes = npt.NDArray[Any]


def dependencies(
    columns: Mapping[str, Codes], sizes: Mapping[str, int]
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """For each variable that another decides: that one, and the code decided by each of its codes.

    `columns` are positions of finest codes, a value a record, `sizes` numbers of codes. -1 stands for codes
    that no record has. Where variables decide each other the first by name stands for all of them; a deciding
    variable is never itself among the decided.
    """
    decides: dict[str, dict[str, tuple[int, ...]]] = {name: {} for name in columns}
    for one in columns:
        for other in columns:
            if one != other and sizes[one] * sizes[other] <= LARGEST:
                image = _image(columns[one], columns[other], sizes[one], sizes[other])
                if image is not None:
                    decides[one][other] = image
    decided_by = {name: [one for one in columns if name in decides[one]] for name in columns}
    roots = {
        name for name in columns if all(name in decided_by[one] and name < one for one in decided_by[name])
    }
    found = {}
    for name in columns:
        candidates = sorted((sizes[one], one) for one in decided_by[name] if one in roots)
        if name not in roots and candidates:
            deciding = candidates[0][1]
            found[name] = (deciding, decides[deciding][name])
    return found


def _image(one: Codes, other: Codes, size: int, other_size: int) -> tuple[int, ...] | None:
    """The code of `other` that each code of `one` goes with; None where some goes with several."""
    pairs = np.bincount(one.astype(np.int64) * other_size + other, minlength=size * other_size)
    together = pairs.reshape(size, other_size) > 0
    if together.sum(axis=1).max() > 1:
        return None
    return tuple(np.where(together.any(axis=1), together.argmax(axis=1), -1).tolist())
