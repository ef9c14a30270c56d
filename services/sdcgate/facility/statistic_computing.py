"""Computing a statistic from the records of its population, as a worker does it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.facility.statistic_powers import ToldPower, told_powers
from sdcgate.facility.statistic_records import Population
from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.every_statistic import compute_statistic
from sdcgate.methods.outputs.hexagonal_bins import Grid, HexagonalBins, grid_of, hexagonal_bins
from sdcgate.methods.outputs.percentiles import Percentiles
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistic_rules import StatisticRules
from sdcgate.methods.outputs.statistics import Computed, compute
from sdcgate.wire.models import significant


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What a worker needs to compute a statistic."""

    statistic: Statistic
    people: Population = field(repr=False)
    rules: StatisticRules
    largest: int
    """The n of a concentration ratio."""
    errors: bool
    measures: tuple[str, ...] = ()
    highest_power: int = 1
    """The highest power of the measures of which it tells sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """A statistic as a worker computed it."""

    computed: Computed = field(repr=False)
    second: Percentiles | None = field(default=None, repr=False)
    """Of hexagonal bins the released percentiles of the second measure."""
    powers: tuple[ToldPower, ...] = field(default=(), repr=False)
    """The sums of powers that it tells of."""


@dataclass(frozen=True, slots=True, eq=False)
class Hexagons:
    """The bins of a group that may be shown, on their grid."""

    grid: Grid
    bins: HexagonalBins = field(repr=False)


def compute_task(task: Task) -> Done:
    """The statistic with its facts, and what else its answer is judged by."""
    people, rules = task.people, task.rules
    if task.statistic is Statistic.HEXAGONAL_BINS:
        heights = people.sample.with_values(_heights(people))
        other = compute(Statistic.PERCENTILES, heights, rules, errors=False)
        second = other.released(assess_statistic(other.statistic, other.facts, rules))
        return Done(compute(Statistic.PERCENTILES, people.sample, rules, errors=False), second)
    found = compute_statistic(task.statistic, people.sample, rules, people.columns, task.largest, task.errors)
    powers = told_powers(task.statistic, people, task.measures, task.highest_power, rules.table.coalition)
    return Done(found, None, powers)


def bin_groups(
    people: Population, grids: Mapping[int, Grid], minimum: int, households: float
) -> dict[int, Hexagons]:
    """Hexagons of each group that has a grid."""
    heights = _heights(people)
    return {
        group: Hexagons(grid, hexagonal_bins(people.sample, heights, group, grid, minimum, households))
        for group, grid in grids.items()
    }


def grids_of(first: Percentiles, second: Percentiles, groups: Sequence[int], digits: int) -> dict[int, Grid]:
    """The grids of these groups from percentiles as they leave; of no group without two different ones."""
    x, y = rounded(first, digits), rounded(second, digits)
    found = {group: grid_of(x, y, group) for group in groups}
    return {group: grid for group, grid in found.items() if grid is not None}


def rounded(found: Percentiles, digits: int) -> Percentiles:
    """Percentiles as they leave: what is drawn and computed from them tells no more digits."""
    shape = found.values.shape
    return replace(
        found,
        values=np.array(limited(found.values.reshape(-1), digits)).reshape(shape),
        lorenz=np.array(limited(found.lorenz.reshape(-1), digits)).reshape(shape),
    )


def limited(values: FloatArray, digits: int) -> list[float]:
    """Values with so many significant digits."""
    return [significant(float(value), digits) for value in values]


def warm_up() -> None:
    """Load what statistics need."""
    import scipy.special
    import scipy.stats  # noqa: F401


def _heights(people: Population) -> FloatArray:
    if people.columns.second is None:
        raise LookupError("hexagonal bins need a second measure")
    return people.columns.second
