"""The cells of a design: what a table would be with categories joined, from the facts of its finest cells.

Only what follows from the finest cells is told: each unit is in one of them, so units, records, weights and
sums add up and the largest contributors are among the largest of the parts. Households and holdings may
extend over several cells: there are at least as many as in the largest part, and who contributes most is
unknown where holdings do.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sdcgate.methods.cells import (
    MISSING,
    TOTAL,
    Axis,
    BoolArray,
    Contributors,
    Facts,
    FloatArray,
    IntArray,
    MeasureFacts,
    shape_of,
)
from sdcgate.methods.tables.assessment import Key
from sdcgate.methods.tables.group_disclosure import harmful_unions
from sdcgate.methods.tables.redesign import Design, Ladder, Partition, partition

Joined = Callable[[Any], Any]

BETWEEN = "\x1f"
"""Between the codes of a joined category: no code of anybody's has it."""


@dataclass(frozen=True, slots=True, eq=False)
class Finest:
    """The finest cells of a table, row-major, an axis a dimension."""

    axes: tuple[Axis, ...]
    """The finest codes, without parents."""
    paths: tuple[tuple[tuple[int, ...], ...], ...]
    """For each dimension and finest code the codes above it in the whole table, from the code itself up."""
    facts: Facts = field(repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of finest codes of each dimension."""
        return shape_of(self.axes)


def finest_cells(axes: tuple[Axis, ...], facts: Facts) -> Finest:
    """The finest cells of a table that may have totals, at all levels of hierarchies."""
    codes, paths = [], []
    for axis in axes:
        inner = [code for code in range(len(axis.codes)) if code not in set(axis.parents)]
        kept = [code for code in inner if axis.codes[code] != TOTAL] or inner
        codes.append(np.array(kept, dtype=np.int64))
        paths.append(tuple(_path(axis, code) for code in kept))
    grid = np.arange(int(np.prod(shape_of(axes), dtype=np.int64))).reshape(shape_of(axes))
    cells = grid[np.ix_(*codes)].reshape(-1)
    finest = [
        replace(
            axis,
            codes=tuple(axis.codes[code] for code in kept),
            parents=(-1,) * len(kept),
            labels=(),
            classes=tuple(tuple(np.flatnonzero(within[kept]).tolist()) for within in harmful_unions(axis)),
        )
        for axis, kept in zip(axes, codes, strict=True)
    ]
    return Finest(tuple(finest), tuple(paths), _mapped(facts, _Chosen(cells)))


def ladder(axis: Axis, paths: tuple[tuple[int, ...], ...], mergeable: bool, droppable: bool) -> Ladder:
    """How a dimension may be coarsened: by the codes above its finest, one step of the hierarchy at a time.

    `axis` and `paths` are a dimension's of `Finest`. Where branches differ in length the longer are cut
    first.
    """
    levels: list[Partition] = [tuple(range(len(axis.codes)))]
    for depth in range(max(map(len, paths)) - 1, 0, -1):
        cut = partition([path[-min(depth, len(path))] for path in paths])
        if cut != levels[-1] and max(cut) > 0:
            levels.append(cut)
    apart = frozenset(place for place, code in enumerate(axis.codes) if code == MISSING)
    return Ladder(tuple(levels), mergeable, droppable, apart)


def _path(axis: Axis, code: int) -> tuple[int, ...]:
    """A code and those above it, without the total."""
    found = [code]
    while (above := axis.parents[found[-1]]) >= 0 and axis.codes[above] != TOTAL:
        found.append(above)
    return tuple(found)


def groups_of(
    finest: Finest, axes: tuple[Axis, ...], place: int, one: Partition
) -> list[tuple[str, list[str]]]:
    """The categories of a dimension of a design: each with its finest codes.

    A category that is a code of the whole table, whose axes are `axes`, has its name, others their first and
    last code.
    """
    codes, paths = finest.axes[place].codes, finest.paths[place]
    found = []
    for group in range(max(one) + 1):
        parts = [code for code in range(len(one)) if one[code] == group]
        names = [codes[code] for code in parts]
        below = {
            above: [code for code in range(len(one)) if above in paths[code]] for above in paths[parts[0]]
        }
        whole = [axes[place].codes[above] for above, under in below.items() if under == parts]
        found.append((whole[0] if whole else f"{names[0]}..{names[-1]}", names))
    return found


def designed(finest: Finest, design: Design) -> tuple[tuple[Axis, ...], Facts]:
    """Axes and facts of a design with all its totals; dropped dimensions have no axis."""
    axes = tuple(
        _joined_axis(axis, one) for axis, one in zip(finest.axes, design, strict=True) if max(one) > 0
    )
    return axes, _mapped(finest.facts, _Design(finest.shape, design))


def _joined_axis(axis: Axis, one: Partition) -> Axis:
    """A dimension with joined codes: harmless are those all of whose parts are, missing stays missing."""
    groups = max(one) + 1
    parts = [[axis.codes[code] for code in range(len(one)) if one[code] == group] for group in range(groups)]
    names = [BETWEEN.join(names) for names in parts]
    return replace(
        axis,
        codes=(*names, TOTAL),
        parents=(*((groups,) * groups), -1),
        harmless=tuple(
            name for name, own in zip(names, parts, strict=True) if set(own) <= set(axis.harmless)
        ),
        classes=tuple(
            tuple(group for group in range(groups) if _inside(one, group, codes)) for codes in axis.classes
        ),
    )


def _inside(one: Partition, group: int, codes: tuple[int, ...]) -> bool:
    """Whether all codes that are joined to a group are among some codes."""
    return all(code in codes for code, own in enumerate(one) if own == group)


def key_of(axes: tuple[Axis, ...], facts: Facts) -> Key | None:
    """The key of a design's individual risk; None without identifying dimensions, units or weights."""
    if facts.unit_weight_sums is None or not facts.units.size or not any(axis.identifying for axis in axes):
        return None
    chosen = np.ones(shape_of(axes), dtype=np.bool_)
    for place, axis in enumerate(axes):
        total = np.arange(len(axis.codes)) == len(axis.codes) - 1
        along = [-1 if other == place else 1 for other in range(len(axes))]
        chosen &= (~total if axis.identifying else total).reshape(along)
    cells = chosen.reshape(-1)
    return Key(facts.units[cells], facts.unit_weight_sums[cells])


class _Chosen:
    """Takes some cells."""

    def __init__(self, cells: IntArray) -> None:
        self._cells = cells

    def joined(self, values: Any, join: np.ufunc = np.add) -> Any:  # noqa: ARG002
        return values[self._cells] if np.size(values) else values

    def top(self, rows: FloatArray) -> FloatArray:
        return rows[self._cells] if rows.size else rows


class _Design:
    """Joins finest cells to those of a design, totals last along each axis that is kept."""

    def __init__(self, shape: tuple[int, ...], design: Design) -> None:
        self._shape, self._design = shape, design

    def joined(self, values: Any, join: np.ufunc = np.add) -> Any:
        if not np.size(values):
            return values
        cells = values.reshape(self._shape)
        for place, one in enumerate(self._design):
            parts = [join.reduce(cells.compress(own, axis=place), axis=place) for own in self._groups(one)]
            cells = np.stack(parts, axis=place)
        return cells.reshape(-1)

    def top(self, rows: FloatArray) -> FloatArray:
        """The largest of each cell's parts; rows of contributions, largest first."""
        if not rows.size:
            return rows
        ranks = rows.shape[1]
        cells = rows.reshape(*self._shape, ranks)
        for place, one in enumerate(self._design):
            parts = []
            for own in self._groups(one):
                together = np.moveaxis(cells.compress(own, axis=place), place, -2)
                flat = together.reshape(*together.shape[:-2], -1)
                parts.append(-np.sort(-flat, axis=-1)[..., :ranks])
            cells = np.stack(parts, axis=place)
        return cells.reshape(-1, ranks)

    def _groups(self, one: Partition) -> list[BoolArray]:
        """Which codes are in each group, and in the total; in one group alone the total is that group."""
        codes = np.asarray(one)
        groups = [codes == group for group in range(max(one) + 1)]
        return groups if len(groups) == 1 else [*groups, np.ones(len(one), dtype=np.bool_)]


def _mapped(facts: Facts, cells: "_Chosen | _Design") -> Facts:
    """Facts of other cells, as far as they follow."""
    structural = facts.structural_zeros
    measures = [
        measure if facts.holdings is None else _without_contributors(measure) for measure in facts.measures
    ]
    return Facts(
        units=cells.joined(facts.units),
        records=cells.joined(facts.records),
        weight_sums=_some(facts.weight_sums, cells.joined),
        unit_weight_sums=_some(facts.unit_weight_sums, cells.joined),
        measures=tuple(_mapped_measure(measure, cells) for measure in measures),
        households=_least(facts.households, cells),
        holdings=_least(facts.holdings, cells),
        structural_zeros=None if structural is None else cells.joined(structural, np.logical_and),
    )


def _mapped_measure(measure: MeasureFacts, cells: "_Chosen | _Design") -> MeasureFacts:
    having = measure.valid_records if measure.valid_records.size else measure.valid_units
    valid = cells.joined(having)
    return replace(
        measure,
        sums=cells.joined(measure.sums),
        valid_records=cells.joined(measure.valid_records),
        valid_units=cells.joined(measure.valid_units),
        lacking_units=_some(measure.lacking_units, cells.joined),
        absolute_sums=cells.joined(measure.absolute_sums),
        weighted_sums=_some(measure.weighted_sums, cells.joined),
        valid_weight_sums=_some(measure.valid_weight_sums, cells.joined),
        largest=cells.top(measure.largest),
        unwaived_largest=_some(measure.unwaived_largest, cells.top),
        shifted=_contributors(measure.shifted, cells),
        weighted=_contributors(measure.weighted, cells),
        minima=_extreme(measure.minima, having, valid, np.inf, cells, np.minimum),
        maxima=_extreme(measure.maxima, having, valid, -np.inf, cells, np.maximum),
        valid_holdings=_least(measure.valid_holdings, cells),
    )


def _without_contributors(measure: MeasureFacts) -> MeasureFacts:
    """Without contributions of holdings: one that is in two parts has the sum of them."""
    nobody = np.zeros((0, 0))
    return replace(measure, largest=nobody, unwaived_largest=None, shifted=None, weighted=None)


def _least(counts: Any, cells: "_Chosen | _Design") -> Any:
    """How many there are at least, of what may be in several parts."""
    return None if counts is None else cells.joined(counts, np.maximum)


def _extreme(
    values: FloatArray,
    having: IntArray,
    valid: IntArray,
    nobody: float,
    cells: "_Chosen | _Design",
    join: np.ufunc,
) -> FloatArray:
    """Smallest or largest values, 0 where nobody has one; unknown where that is."""
    if not values.size or not having.size:
        return np.zeros(0)
    found = cells.joined(np.where(having > 0, values, nobody), join)
    return np.where(valid > 0, found, 0.0)


def _some(values: Any, joined: Joined) -> Any:
    return None if values is None else joined(values)


def _contributors(known: Contributors | None, cells: "_Chosen | _Design") -> Contributors | None:
    if known is None:
        return None
    return Contributors(
        cells.top(known.largest), cells.joined(known.totals), _some(known.unwaived, cells.top)
    )
