"""How closely sums beside the points of a Lorenz curve tell their largest unit's value, run by run."""

import numpy as np
import pytest

from sdcgate.methods.outputs.inequality import lorenz_bounds
from sdcgate.methods.outputs.percentiles import Percentiles, percentiles
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_rules import PercentileUnits
from sdcgate.methods.rules import Consequence

RULE = PercentileUnits(4, 3, Consequence.REFUSE, (0.5, 0.25, 0.75, 0.9))


def closeness(held: dict[int, float], coalition: int, whole: dict[int, float]) -> float:
    """What all but the largest unit and the next ones add, as a share of what the largest has."""
    ranked = sorted(held, key=lambda unit: -held[unit])
    rest = sum(held[unit] for unit in ranked[coalition + 1 :])
    return rest / max(whole[unit] for unit in ranked if held[unit] == held[ranked[0]])


def by_hand(sample: Sample, found: Percentiles, coalition: int) -> list[float]:
    """The worst run beside each point, each unit's amounts added up one after the other."""
    order = np.argsort(sample.values, kind="stable")
    points = np.flatnonzero(found.available[0])
    ends = [0, *(found.before[0] + found.window_records[0])[points].tolist()]
    parts = [*zip(ends, [*found.before[0][points].tolist(), len(order)], strict=True)]
    least = [0.0, *found.values[0, points].tolist()]
    worst = [np.inf] * (len(parts) + 1)
    for first in range(len(parts)):
        for last in range(first, len(parts)):
            held, more = dict[int, float](), dict[int, float]()
            for part in range(first, last + 1):
                for place in order[slice(*parts[part])].tolist():
                    unit, value = int(sample.units[place]), float(sample.values[place])
                    held[unit] = held.get(unit, 0.0) + value
                    more[unit] = more.get(unit, 0.0) + max(value - least[part], 0.0)
            if len(held) > 1 and len(set(held.values())) == 1:
                continue
            told = closeness(held, coalition, held)
            if last == len(parts) - 1:
                told = closeness(more, coalition, held)
            for at in (first, last + 1):
                worst[at] = min(worst[at], told)
    return worst[1:-1]


@pytest.mark.parametrize("coalition", [1, 2, 4])
@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_runs_beside_points_are_as_closely_told_as_each_unit_added_up_says(seed, each, coalition):
    rng = np.random.default_rng(seed)
    units = rng.permutation(np.repeat(np.arange(60), rng.integers(1, each + 1, 60)))
    values = np.round(rng.lognormal(2, 1.5, len(units)), 2)
    sample = Sample(values, np.zeros(len(units), dtype=np.int64), units, 1)
    found = percentiles(sample, RULE, 0.0, coalition)
    told = [one.closeness[0] for one in lorenz_bounds(sample, found, coalition)]
    expected = by_hand(sample, found, coalition)
    assert len(expected) == np.count_nonzero(found.available[0]) > 0
    assert np.array(told)[found.available[0]] == pytest.approx(expected, rel=1e-9)
