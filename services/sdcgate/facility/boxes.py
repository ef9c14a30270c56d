"""The cells of a planned table as boxes: what a cell is as a set, whatever table it stands in."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

import numpy as np

from sdcgate.engine.code_lists import mask_of
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import MEASURE_PREFIX, Condition, Region
from sdcgate.engine.table_plan import allowed_masks
from sdcgate.facility.knowledge import COUNTS, ReleasedTable
from sdcgate.facility.plan import Plan
from sdcgate.facility.powers import summed_in
from sdcgate.facility.weights import WEIGHTED_PREFIX
from sdcgate.methods.cells import TOTAL, Axis, BoolArray, Facts, IntArray, MeasureFacts, State, shape_of
from sdcgate.methods.tables.boxes import NOBODY, Box, BoxTable, bits

MEASURE_PRESENT = 1
MEASURE_FULL = 3


def box_table(plan: Plan, axes: tuple[Axis, ...], facts: Facts, states: IntArray) -> BoxTable:
    """The boxes of a computed table with the states its cells leave in.

    Only codes that occur in the data count: a condition that everybody meets is none.
    """
    dataset = plan.dataset
    filters = {
        condition.variable: dataset.mask(condition.variable, condition.level, condition.codes)
        for condition in plan.filters
    }
    shown: dict[str, tuple[int, ...]] = {}
    for axis in axes:
        level = dataset.level(axis.variable, axis.level)
        every = filters.pop(axis.variable, dataset.full_mask(axis.variable))
        shown[axis.variable] = tuple(
            every if code == TOTAL else level.mask_at(level.positions[code]) & every for code in axis.codes
        )
    shown, filters = told_by_deciding(dataset, shown, filters)
    filters |= {f"{MEASURE_PREFIX}{measure}": MEASURE_PRESENT for measure in plan.valid}
    fixed = {name: compressed(dataset, name, mask) for name, mask in filters.items()}
    full = {name: compressed(dataset, name, dataset.full_mask(name)) for name in (*shown, *fixed)}
    return BoxTable(
        axes=tuple(
            (name, tuple(compressed(dataset, name, m) for m in masks)) for name, masks in shown.items()
        ),
        fixed=tuple(sorted((name, mask) for name, mask in fixed.items() if mask != full[name])),
        full=full,
        states=states,
        records=facts.records,
        marks=facts.marks if facts.marks is not None else np.zeros(len(facts), dtype=np.int64),
    )


def told_by_deciding(
    dataset: Dataset, shown: dict[str, tuple[int, ...]], filters: dict[str, int]
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Axes and filters on variables that another one decides, told by that one.

    Coinsurance of 95 is a set of plans. Axes side by side that one variable decides are one axis, of what
    their codes leave of it together. Where others stand between them (`parted`) they stay as they are.
    """
    axes: dict[str, tuple[int, ...]] = {}
    rest, apart = dict(filters), _standing_apart(dataset, list(shown))
    for name, masks in shown.items():
        deciding = dataset.variation[name].determined_by
        told, own = deciding or name, masks
        if told in apart:
            axes[name] = masks
            continue
        if deciding:
            within = rest.pop(deciding, dataset.full_mask(deciding))
            own = tuple(_preimage(dataset, name, mask) & within for mask in masks)
        axes[told] = tuple(one & other for one in axes[told] for other in own) if told in axes else own
    for name in list(rest):
        deciding = dataset.variation[name].determined_by
        if deciding in axes:
            wanted = _preimage(dataset, name, rest.pop(name))
            axes[deciding] = tuple(mask & wanted for mask in axes[deciding])
        elif deciding:
            wanted = _preimage(dataset, name, rest.pop(name))
            rest[deciding] = rest.get(deciding, dataset.full_mask(deciding)) & wanted
    return axes, rest


def parted(dataset: Dataset, variables: Sequence[str]) -> bool:
    """Whether others stand between variables that the same one decides: a box then tells less than it is."""
    return bool(_standing_apart(dataset, variables))


def _standing_apart(dataset: Dataset, variables: Sequence[str]) -> set[str]:
    """Variables that are, or decide, several of some variables with others between them."""
    told = [name for name, _ in groupby(dataset.variation[name].determined_by or name for name in variables)]
    return {name for name in told if told.count(name) > 1}


def _preimage(dataset: Dataset, variable: str, mask: int) -> int:
    """Codes of the deciding variable that go with the codes of a mask."""
    decided = dataset.variation[variable].decided
    return sum(1 << code for code, image in enumerate(decided) if image >= 0 and mask >> image & 1)


def compressed(dataset: Dataset, variable: str, mask: int) -> int:
    """A mask over the codes that occur, in their order."""
    return _gathered(mask, dataset.occurring(variable))


def codes_left(dataset: Dataset, variable: str, conditions: Iterable[Condition]) -> int:
    """The finest codes of a variable that conditions leave, as a mask."""
    left = dataset.full_mask(variable)
    for one in conditions:
        if one.variable == variable:
            left &= dataset.mask(variable, one.level, one.codes)
    return left


def occurring_places(dataset: Dataset, variable: str) -> IntArray:
    """The finest codes of a variable that occur, in order: bit k of a box's mask is the kth of them."""
    return _places(dataset.occurring(variable))


def expanded(dataset: Dataset, box: Box) -> Box:
    """A box as the engine takes it, over all finest codes."""
    return tuple((name, _spread(mask, dataset.occurring(name))) for name, mask in box)


def expanded_region(dataset: Dataset, region: Region) -> Region:
    """A region as the engine takes it, over all finest codes, without boxes that nobody can be in."""
    inside, outside = (
        tuple(expanded(dataset, box) for box in boxes if box != NOBODY)
        for boxes in (region.inside, region.outside)
    )
    return Region(inside, outside)


@lru_cache(maxsize=8192)
def _gathered(mask: int, occurring: int) -> int:
    inside = mask & occurring
    if inside == occurring:
        return (1 << occurring.bit_count()) - 1
    if not inside:
        return 0
    if inside.bit_count() == 1:
        # Of many codes each has a mask of its own.
        return 1 << (occurring & (inside - 1)).bit_count()
    size = occurring.bit_length()
    return mask_of(bits(inside, size)[bits(occurring, size)])


@lru_cache(maxsize=8192)
def _spread(mask: int, occurring: int) -> int:
    if mask.bit_count() == 1:
        # Of many codes each has a mask of its own.
        places = _places(occurring)
        place = mask.bit_length() - 1
        return 1 << int(places[place]) if place < len(places) else 0
    spread = bits(occurring, occurring.bit_length())
    places = np.flatnonzero(spread)
    spread[places] = bits(mask, len(places))
    return mask_of(spread)


@lru_cache(maxsize=64)
def _places(occurring: int) -> IntArray:
    return np.flatnonzero(bits(occurring, occurring.bit_length()))


def of_occurring_codes(plan: Plan, axes: tuple[Axis, ...]) -> BoolArray:
    """Cells each of whose codes somebody in the file has, and no condition leaves out, shape (cells,)."""
    dataset, allowed = plan.dataset, allowed_masks(plan.dataset, plan.filters)
    found = np.ones(shape_of(axes), dtype=np.bool_)
    for place, axis in enumerate(axes):
        level = dataset.level(axis.variable, axis.level)
        left = allowed.get(axis.variable, -1) & dataset.occurring(axis.variable)
        has = [code == TOTAL or bool(level.mask_at(level.positions[code]) & left) for code in axis.codes]
        found &= np.reshape(has, [-1 if other == place else 1 for other in range(len(axes))])
    return found.reshape(-1)


def as_if_published(plan: Plan, axes: tuple[Axis, ...], facts: Facts) -> list[ReleasedTable]:
    """A computed table as the quantities that it shows, all cells published."""
    everything = np.full(len(facts), State.PUBLISHED, dtype=np.int64)
    return quantities(box_table(plan, axes, facts, everything), facts)


def quantities(table: BoxTable, facts: Facts) -> list[ReleasedTable]:
    """A table as the quantities that it shows: counts, and the sums of each measure.

    The records that have a measure are another population than the cells' where some lack it; a mean tells of
    its size, so it counts as released as well, and the difference can be one person.
    """
    boxes = tuple(table.boxes())
    found = [ReleasedTable(COUNTS, table, replace(facts, measures=()), boxes)]
    for measure in facts.measures:
        lacking = measure.valid_records != facts.records
        population, of_population = table, boxes
        of_measure = replace(
            facts,
            units=measure.valid_units,
            records=measure.valid_records,
            holdings=measure.valid_holdings,
        )
        if lacking.any():
            population = _having(table, measure, lacking)
            of_population = tuple(population.boxes())
            counts = replace(of_measure, households=None, measures=())
            found.append(ReleasedTable(COUNTS, population, counts, of_population))
        of_measure = replace(of_measure, measures=(_kept(measure),))
        found.append(ReleasedTable(measure.name, population, of_measure, of_population))
    return found


def _kept(measure: MeasureFacts) -> MeasureFacts:
    """What later answers need of a measure: differences are bounded by absolute contributions only."""
    return replace(measure, unwaived_largest=None, shifted=None, weighted=None)


def having_variable(quantity: str) -> str:
    """The variable that a box restricts whose records have the measure of a quantity."""
    measure = summed_in(quantity).measure
    return f"{MEASURE_PREFIX}{measure.removeprefix(WEIGHTED_PREFIX)}"


def _having(table: BoxTable, measure: MeasureFacts, lacking: BoolArray) -> BoxTable:
    """The boxes of the records that have a measure."""
    variable = having_variable(measure.name)
    return replace(
        table,
        fixed=tuple(sorted((*table.fixed, (variable, MEASURE_PRESENT)))),
        full={**table.full, variable: MEASURE_FULL},
        records=measure.valid_records,
        marks=marks_of_boxes(table, lacking, variable),
    )


def marks_of_boxes(table: BoxTable, cells: BoolArray, about: str) -> IntArray:
    """A table's marks, with one of the box's own in some cells, shape (cells,), by what these are about.

    The engine's mark there is of more records than are meant: one below zero stands in.
    """
    marks = np.array(table.marks)
    for cell in np.flatnonzero(cells).tolist():
        name = repr((about, table.box(cell))).encode()
        marks[cell] = -1 - (int.from_bytes(hashlib.blake2b(name, digest_size=8).digest()) >> 2)
    return marks
