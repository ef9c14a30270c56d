"""A new table against a million cells that have left: the pairs of nested cells whose difference is small."""

import itertools
from functools import partial

import numpy as np

from run import Result, median_ms, result
from sdcgate.methods.cells import Facts, State
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.released_cells import Near, ReleasedCells

VARIABLES = [f"v{number}" for number in range(12)]
CODES = 10
FULL = dict.fromkeys(VARIABLES, (1 << CODES + 1) - 1)
TABLES = 1_000
AIM = 50.0


def released_cells() -> list[Result]:
    """A thousand tables of a thousand cells, all of other variables or filters; aim 50 ms."""
    rng = np.random.default_rng(1)
    shapes = list(itertools.combinations(VARIABLES, 3))
    rng.shuffle(shapes)
    left = ReleasedCells()
    for number in range(TABLES):
        new = _table(rng, shapes, number)
        everything = np.ones(len(new), dtype=np.bool_)
        left = left.grown(new, new.boxes(), Facts(new.records, new.records), everything)
    results = []
    for filtered in (True, False):
        new = _table(rng, shapes, TABLES, filtered)
        taken = median_ms(partial(left.nested, new, Near(10.0)))
        said = "with a filter" if filtered else "without"
        results.append(
            result(f"nested cells, new table {said}", len(left), taken, AIM, "aim 50 ms; records drawn")
        )
    return results


def _table(
    rng: np.random.Generator, shapes: list[tuple[str, ...]], number: int, filtered: bool = True
) -> BoxTable:
    """A table of three variables, filtered by a fourth; its figures are drawn."""
    names = sorted(shapes[number % len(shapes)])
    axes = tuple((name, tuple(1 << code for code in range(CODES))) for name in names)
    others = [name for name in VARIABLES if name not in names]
    condition = (others[number // len(shapes) % len(others)], int(rng.integers(1, 1 << CODES + 1)))
    size = CODES ** len(axes)
    records, marks = rng.integers(10, 5000, size), rng.integers(0, 2**61, size)
    return BoxTable(
        axes, (condition,) if filtered else (), FULL, np.full(size, State.PUBLISHED), records, marks
    )
