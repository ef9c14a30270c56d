"""Records and units of a panel together: as close as all ways in which people can be in years tell them."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from sdcgate.methods.tables.boxes import Box, make_box
from sdcgate.methods.tables.combinations import Combinations, Held
from sdcgate.methods.tables.joint_boxes import SURELY, UNITS, Counts, JointBoxes
from sdcgate.methods.tables.joint_intervals import joint_bounds
from sdcgate.methods.tables.joint_moves import agrees
from sdcgate.methods.tables.joint_panel import Together, together, without_kind
from sdcgate.methods.tables.joint_system import joint_system
from sdcgate.methods.tables.panel_links import Panel, is_link
from sdcgate.methods.tables.solver import Deadline

REGIONS, WAVES = 3, 3
FULL = {"region": (1 << REGIONS) - 1, "wave": (1 << WAVES) - 1}
PANEL = Panel(frozenset({"wave"}), WAVES, "wave")
PATTERNS = [[*pattern] for pattern in product((0, 1), repeat=WAVES) if any(pattern)]
"""In which waves a person can be."""


def box(region: int, wave: int) -> Box:
    return make_box([("region", region), ("wave", wave)], FULL)


def sums(of: Box, units: bool) -> np.ndarray:
    """How often people of each region and pattern count in a box."""
    masks = {**FULL, **dict(of)}
    waves = [wave for wave in range(WAVES) if masks["wave"] >> wave & 1]
    row = np.zeros((REGIONS, len(PATTERNS)))
    for place, pattern in enumerate(PATTERNS):
        records = sum(pattern[wave] for wave in waves)
        inside = [masks["region"] >> region & 1 for region in range(REGIONS)]
        row[:, place] = np.array(inside) * (min(records, 1) if units else records)
    return row.reshape(-1)


def left(seed: int) -> tuple[JointBoxes, np.ndarray]:
    """Some boxes that left and some withheld ones of some people, and these."""
    rng = np.random.default_rng(seed)
    people = rng.choice([0, 0, 1, 2, 5, 9], size=REGIONS * len(PATTERNS))
    regions, waves = (1, 2, 3, 4, 7), (1, 2, 4, 7)
    boxes = [box(region, wave) for region in regions for wave in waves]
    shown = rng.random(len(boxes)) < 0.5
    shown[boxes.index(())] = True
    counts = [Counts(*(round(float(sums(one, units) @ people)) for units in (False, True))) for one in boxes]
    published = [(one, counts[place]) for place, one in enumerate(boxes) if shown[place]]
    hidden = [one for place, one in enumerate(boxes) if not shown[place]]
    return JointBoxes().grown(published, hidden), people


def both_of(boxes: JointBoxes, most: int = 600, first=("region", "wave"), fresh=()) -> Together:
    (both,) = together(boxes, PANEL, frozenset(first), FULL, frozenset(fresh), most)
    return both


def layered(people: np.ndarray, layers: Sequence[Box]) -> list[Held]:
    """Records by region and wave, and units of each layer by regions, of whatever wave."""
    codes = np.array([*product(range(REGIONS), range(WAVES))])
    combinations = Combinations(("region", "wave"), codes)
    records = [sums(box(1 << region, 1 << wave), False) @ people for region, wave in codes]
    units = [
        [
            sums(tuple(sorted((("region", 1 << region), *layer))), True) @ people * (not wave)
            for region, wave in codes
        ]
        for layer in layers
    ]
    return [Held(combinations, np.array(amounts, dtype=np.float64)) for amounts in (records, *units)]


def bounds(both: Together, people: np.ndarray | None = None) -> dict[tuple[Box, bool], tuple[float, float]]:
    """Between what each withheld box lies, of records and not; begun with what is true, if given."""
    scope = both.scope
    held = None if people is None else both.held(lambda _, layers: layered(people, layers))
    system = joint_system(
        scope.domain,
        scope.published,
        scope.secrets,
        scope.full,
        limits=scope.limits,
        held=held,
        combined=scope.combined,
    )
    assert people is None or agrees(system, system.held, np.zeros(len(scope.secrets)))
    found = joint_bounds(system, 1e6, 0, Deadline(20.0))
    assert not found.unproved.any()
    named = [(both.plain(one), without_kind(one)[1]) for one in scope.secrets]
    return dict(zip(named, zip(found.lowest, found.highest, strict=True), strict=True))


def by_patterns(boxes: JointBoxes, of: np.ndarray) -> tuple[float, float]:
    """The same by SciPy, of how many people there are of each region and pattern."""
    rows, totals = [], []
    for units in (False, True):
        for one, count in boxes.within(FULL.keys(), units).items():
            rows.append(sums(one, units))
            totals.append(count)
    ends = [linprog(sign * of, A_eq=np.array(rows), b_eq=totals) for sign in (1, -1)]
    assert all(end.status == 0 for end in ends)
    return float(ends[0].fun), float(-ends[1].fun)


@pytest.mark.parametrize("told", [False, True], ids=["from nothing", "from what is true"])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_those_of_all_patterns_of_waves_that_people_can_be_in(seed, told):
    boxes, people = left(seed)
    found = bounds(both_of(boxes), people if told else None)
    assert len(found) > 4
    for (one, records), (lowest, highest) in found.items():
        of = sums(one, not records)
        assert (lowest, highest) == pytest.approx(by_patterns(boxes, of), abs=1e-5)
        assert lowest - 1e-6 <= of @ people <= highest + 1e-6


def test_without_a_wave_a_unit_may_have_all_its_records_in_one():
    """Of 4 records and 3 units two of one unit may lie in the first wave, but no three of all."""
    boxes = JointBoxes().grown([((), Counts(4, 3))], [box(7, 1)])
    ends = {}
    for wave in ("wave", ""):
        panel = Panel(frozenset({"wave"}), 3, wave)
        (*_, both) = together(boxes, panel, {"region", "wave"}, FULL, frozenset(), 600)
        ends[wave] = bounds(both)[box(7, 1), True]
    assert ends == {"wave": pytest.approx((0, 3), abs=1e-5), "": pytest.approx((0, 4), abs=1e-5)}


def test_layers_of_fresh_boxes_are_looked_at_first_where_not_all_can_be():
    boxes = JointBoxes().grown(
        [(box(region, wave), Counts(9, 9)) for region in (1, 2, 4) for wave in (1, 2)]
        + [(box(1, 4), Counts(1, 1)), ((), Counts(60, 30))],
        [],
    )
    first, last = box(1, 1), box(1, 4)
    assert len(both_of(boxes, 21, fresh=[last]).of_units([first, last])) == 2
    assert both_of(boxes, 15, fresh=[last]).of_units([first, last]) == both_of(
        boxes, 15, fresh=[last]
    ).of_units([last])
    assert together(boxes, PANEL, {"region", "wave"}, FULL, frozenset(), 8) == []


def test_what_links_records_and_units_is_no_box_that_was_told():
    boxes, _ = left(0)
    both = both_of(boxes)
    links = [one.told_by for one in both.scope.combined if is_link(one.told_by)]
    assert len(links) == len(set(links)) == len(both.scope.combined) > 0
    for one in both.scope.published:
        assert not is_link(one)
        told, records = without_kind(both.told(one))
        assert told == both.plain(one)
        assert {one} == (both.of_records([told]) if records else both.of_units([told]))


def test_boxes_that_restrict_other_variables_are_left_out():
    boxes, _ = left(1)
    both = both_of(boxes, first=("wave",), most=8)
    assert both.scope.domain == {"wave", "*kind"}
    assert both.of_records([box(1, 1)]) == both.of_units([box(1, 1)]) == set()


ILL = {"region": 0b11, "ill": 0b11, "wave": 0b111}
STATES = [*product((None, 0, 1), repeat=WAVES)][1:]
"""What somebody is in each wave: not there, well or ill."""


def counted(of: Box, units: bool) -> np.ndarray:
    """How often people of each of two regions, and of each of `STATES`, count in a box."""
    masks = {**ILL, **dict(of)}
    row = np.zeros((2, len(STATES)))
    for place, states in enumerate(STATES):
        there = [
            state is not None and masks["wave"] >> wave & 1 and masks["ill"] >> state & 1
            for wave, state in enumerate(states)
        ]
        records = sum(map(bool, there))
        inside = np.array([masks["region"] >> region & 1 for region in range(2)])
        row[:, place] = inside * (min(records, 1) if units else records)
    return row.reshape(-1)


@pytest.mark.parametrize("wave", ["wave", ""])
@pytest.mark.parametrize("seed", range(10))
def test_where_more_varies_than_the_wave_nothing_is_said_that_is_not_true(seed, wave):
    """Bounds are no closer than those over all ways in which people can be well and ill in three waves."""
    rng = np.random.default_rng(seed)
    people = rng.choice([0, 0, 0, 1, 2, 5], size=2 * len(STATES))
    masks = product((1, 2, 3), (1, 2, 3), (1, 2, 3, 4, 6, 7))
    boxes = [make_box([("region", r), ("ill", i), ("wave", w)], ILL) for r, i, w in masks]
    shown = rng.random(len(boxes)) < 0.5
    shown[boxes.index(())] = True
    told = [Counts(*(round(float(counted(one, units) @ people)) for units in (False, True))) for one in boxes]
    published = [(one, told[place]) for place, one in enumerate(boxes) if shown[place]]
    hidden = [one for place, one in enumerate(boxes) if not shown[place]]
    known = JointBoxes().grown(published, hidden)
    panel = Panel(frozenset({"wave", "ill"}), WAVES, wave)
    (both,) = together(known, panel, frozenset(ILL), ILL, frozenset(), 600)
    found = bounds(both)
    rows = [counted(one, units) for units in (False, True) for one in known.within(ILL.keys(), units)]
    totals = [count for units in (False, True) for count in known.within(ILL.keys(), units).values()]
    exact = 0
    for (one, records), (lowest, highest) in found.items():
        of = counted(one, not records)
        ends = [linprog(sign * of, A_eq=np.array(rows), b_eq=totals) for sign in (1, -1)]
        least, most = ends[0].fun, -ends[1].fun
        assert lowest <= least + 1e-4
        assert highest >= most - 1e-4
        exact += lowest >= least - 1e-4 and highest <= most + 1e-4
    assert exact > 0.7 * len(found)


def test_whoever_has_as_many_records_as_there_are_waves_is_in_each_of_them():
    """Ten people have twenty records of one place in two waves: ten in each."""
    full = {"place": 0b11, "wave": 0b11}
    panel = Panel(frozenset({"place", "wave"}), 2, "wave")
    place = make_box([("place", 1)], full)
    first = make_box([("place", 1), ("wave", 1)], full)
    boxes = JointBoxes().grown([(place, Counts(20, 10)), ((), Counts(60, 40))], [first])
    (both,) = together(boxes, panel, frozenset(full), full, frozenset(), 600)
    assert bounds(both)[first, True] == pytest.approx((10, 10), abs=1e-4)


def test_of_two_parts_of_three_waves_what_they_have_in_common_is_counted_once():
    """Twenty in the first two waves and twenty in the last two are thirty in all: ten in the middle."""
    units = UNITS | UNITS << SURELY
    parts = {3: 20, 6: 20, 7: 30}
    told = [(box(7, waves), Counts(99, people, units)) for waves, people in parts.items()]
    found = bounds(both_of(JointBoxes().grown(told, [box(7, 2)])))
    assert found[box(7, 2), False] == pytest.approx((0, 10), abs=1e-4)
