"""Released tables of some people by region and sex, in memory."""

import numpy as np

from sdcgate.facility.knowledge import Knowledge, KnownQuantity, ReleasedTable
from sdcgate.methods.cells import Facts, State
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.span import Span

FULL = {"region": 0b1111, "sex": 0b111}
"""Three regions and two sexes, and of each the missing ones."""
PEOPLE = np.array([[31, 17, 2], [5, 23, 1], [11, 13, 3], [2, 3, 1]])


def released(
    axes: dict[str, tuple[int, ...]],
    withheld: tuple[int, ...] = (),
    people: np.ndarray = PEOPLE,
    **fixed: int,
) -> ReleasedTable:
    """A table of people: masks of the codes on its axes, positions of withheld cells, filters."""
    masks = [axes.get(name, (fixed.get(name, full),)) for name, full in FULL.items()]
    inside = [[[mask >> code & 1 for code in range(full.bit_length())] for mask in each]
              for each, full in zip(masks, FULL.values(), strict=True)]  # fmt: skip
    counts = np.einsum("ac,bd,cd->ab", *map(np.array, inside), people).reshape(-1)
    states = np.full(len(counts), State.PUBLISHED, dtype=np.int64)
    states[list(withheld)] = State.WITHHELD
    table = BoxTable(
        axes=tuple((name, axes[name]) for name in FULL if name in axes),
        fixed=tuple(sorted(fixed.items())),
        full=FULL,
        states=states,
        records=counts,
        marks=np.zeros(len(counts), dtype=np.int64),
    )
    return ReleasedTable("counts", table, Facts(units=counts, records=counts), tuple(table.boxes()))


def knowing(*tables: ReleasedTable) -> KnownQuantity:
    nothing = KnownQuantity(Span({}, rng=np.random.default_rng(7)))
    return Knowledge(0, {}, nothing).grown(tables).of("counts")


NORTH, SOUTH, WEST = 0b0001, 0b0010, 0b0100
WOMEN, MEN = 0b001, 0b010
BY_REGION = {"region": (NORTH, SOUTH, WEST, 0b1000, 0b1111)}
