"""What record swapping changed and what it left as it was: who moved, which tables differ, by how much."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import IntArray
from sdcgate.methods.microdata.grouping import joint_codes, like_households
from sdcgate.methods.microdata.swapping import PlacedRecords, Swapping, members_places
from sdcgate.methods.tables.utility import distances


class NotInvariant(RuntimeError):
    """Something that swapping never changes has changed: the changed file must not be used."""


@dataclass(frozen=True, slots=True)
class LevelMoves:
    """What happened at one level of the geography."""

    at_risk: int
    """Households at risk at this level and at none that is wider."""
    stayed: int
    """Those of them that were not swapped: no like household was found elsewhere."""
    narrower: int
    """Those of them that were swapped, but within their area of this level."""
    moved_households: int
    """Households whose area of this level is another one."""
    moved_records: int


@dataclass(frozen=True, slots=True)
class TableChange:
    """What became of a table of areas by some variables; its cells have a record before or after."""

    level: int
    table: int
    """Which of the tables that were asked for."""
    cells: int
    changed: int
    mean_absolute: float
    """Mean absolute difference of the counts of records."""
    largest_absolute: float
    hellinger: float
    """Hellinger's distance of the cells' shares, sqrt(sum (sqrt p - sqrt q)^2 / 2), 0 to 1."""


@dataclass(frozen=True, slots=True)
class SwappingLoss:
    """The report on a swapped file."""

    households: int
    records: int
    swapped_households: int
    swapped_records: int
    by_profile: tuple[int, ...]
    """Households that were swapped by each similarity profile."""
    levels: tuple[LevelMoves, ...]
    tables: tuple[TableChange, ...]


def swapping_loss(
    records: PlacedRecords,
    swapping: Swapping,
    tables: Sequence[IntArray],
    heed: Callable[[], None] = lambda: None,
) -> SwappingLoss:
    """Compare a file with its swapped version.

    `tables` are codes (records, variables) that are counted by the areas of every level. `heed` is called
    before each comparison, and may end the work. Raises ValueError where a shape does not fit.
    """
    number = len(records.households)
    if any(one.ndim != 2 or len(one) != number for one in tables):
        raise ValueError("tables must have the shape (records, variables)")
    swapped = swapping.swapped_at >= 0
    places = members_places(records, swapping.partners)
    moved_to = records.areas[places]
    return SwappingLoss(
        households=len(swapped),
        records=number,
        swapped_households=int(swapped.sum()),
        swapped_records=int(swapped[records.households].sum()),
        by_profile=tuple(int((swapping.profiles == one).sum()) for one in range(len(records.similar))),
        levels=tuple(_moves(records, swapping, moved_to, level) for level in range(records.areas.shape[1])),
        tables=tuple(_changes(records.areas, moved_to, tables, heed)),
    )


def check_invariants(records: PlacedRecords, swapping: Swapping, kept: IntArray) -> None:
    """Hold a swapped file against what swapping never changes.

    Partners are each other's; every area has the same households and persons as before, by the variables
    `kept` (records, variables) that are in all similarity profiles. All else follows from this: a table
    without geography is counted from columns that nobody touches. Raises NotInvariant.
    """
    partners = swapping.partners
    everybody = np.arange(len(partners))
    if not np.array_equal(partners[partners], everybody):
        raise NotInvariant("partners of a swap are not each other's")
    if not np.array_equal(partners == everybody, swapping.swapped_at < 0):
        raise NotInvariant("who was swapped is not who has another's place")
    alike = like_households(records.households, kept)
    area = joint_codes(records.areas)[np.unique(records.households, return_index=True)[1]]
    before = joint_codes(np.column_stack([area, alike]))
    if (alike[partners] != alike).any() or not np.array_equal(
        np.sort(before), np.sort(joint_codes(np.column_stack([area[partners], alike])))
    ):
        raise NotInvariant("an area has other households than before")


def _moves(records: PlacedRecords, swapping: Swapping, moved_to: IntArray, level: int) -> LevelMoves:
    risky = swapping.at_risk == level
    elsewhere = (records.areas[:, : level + 1] != moved_to[:, : level + 1]).any(axis=1)
    return LevelMoves(
        at_risk=int(risky.sum()),
        stayed=int((risky & (swapping.swapped_at < 0)).sum()),
        narrower=int((risky & (swapping.swapped_at > level)).sum()),
        moved_households=len(np.unique(records.households[elsewhere])),
        moved_records=int(elsewhere.sum()),
    )


def _changes(
    before: IntArray, after: IntArray, tables: Sequence[IntArray], heed: Callable[[], None]
) -> Iterator[TableChange]:
    for table, columns in enumerate(tables):
        for level in range(before.shape[1]):
            heed()
            yield _change(before[:, : level + 1], after[:, : level + 1], columns, level, table)


def _change(before: IntArray, after: IntArray, columns: IntArray, level: int, table: int) -> TableChange:
    """Compare the table of areas by some variables before and after."""
    codes = joint_codes(np.vstack([np.hstack([before, columns]), np.hstack([after, columns])]))
    cells = int(codes.max()) + 1
    counts = [np.bincount(half, minlength=cells).astype(np.float64) for half in np.split(codes, 2)]
    found = distances(counts[0], counts[1])
    return TableChange(
        level=level,
        table=table,
        cells=found.cells,
        changed=found.changed,
        mean_absolute=found.mean_absolute,
        largest_absolute=found.largest_absolute,
        hellinger=found.hellinger / float(np.sqrt(len(columns))),
    )
