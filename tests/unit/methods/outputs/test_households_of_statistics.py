"""Windows, tails, cells and hexagons of statistics, and how many households' people are in them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.outputs.every_statistic import compute_statistic
from sdcgate.methods.outputs.hexagonal_bins import Grid, hexagonal_bins
from sdcgate.methods.outputs.households import Households, households_by_id, households_by_size
from sdcgate.methods.outputs.percentiles import percentiles
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_assessment import assess_statistic
from sdcgate.methods.outputs.statistic_facts import Statistic, StatisticFacts
from sdcgate.methods.outputs.statistic_rules import PercentileUnits, usual_rules
from sdcgate.methods.outputs.statistics import Columns, compute
from sdcgate.methods.outputs.window_spans import told_of_few
from sdcgate.methods.rules import Consequence, MinimumHouseholds, MinimumUnits, ReasonCode, Rules
from sdcgate.wire.statistic_facts import statistic_request, statistic_to_assess

PROTECT = Consequence.PROTECT
RULES = usual_rules(Rules(MinimumUnits(10, PROTECT), minimum_households=MinimumHouseholds(3, PROTECT)))
EVERYBODY = RULES.percentiles or PercentileUnits(10, 10, PROTECT)


def people(values: Sequence[float], homes: Households | None, units: np.ndarray | None = None) -> Sample:
    of = np.asarray(values, dtype=np.float64)
    who = np.arange(len(of)) if units is None else units
    return Sample(of, np.zeros(len(of), dtype=np.int64), who, 1, households=homes)


def families(*sizes: int) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes)


def rules_found(statistic: Statistic, facts: StatisticFacts) -> set[ReasonCode]:
    return {finding.rule for finding in assess_statistic(statistic, facts, RULES).findings}


drawn = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 8)), min_size=6, max_size=20)


@given(drawn, st.integers(2, 12), st.floats(1, 4), st.booleans(), st.randoms(use_true_random=False))
def test_a_percentile_has_the_households_in_its_window_and_beside_it(made, units, least, by_id, random):
    """Counted here family by family, or by sizes person by person; values are nearly the families' own."""
    family = families(*(size for _, size in made))
    values = np.array([made[one][0] + random.choice((0, 0.25)) for one in family])
    size = np.array([made[one][1] for one in family])
    homes = households_by_id(family) if by_id else households_by_size(np.arange(len(family)), 1 / size)
    sample = people(values, homes)
    found = percentiles(sample, PercentileUnits(units, units, PROTECT), least)
    order = np.argsort(values, kind="stable")
    windows = []
    for place in np.flatnonzero(found.available[0]).tolist():
        first = int(np.searchsorted(values[order], found.lowest[0, place])) + int(found.skipped[0, place])
        windows.append((first, first + int(found.window_records[0, place])))

    def counted(run: np.ndarray) -> float:
        return len(set(family[run])) if by_id else float((1 / size[run]).sum())

    edges = [0, *(edge for window in sorted(windows) for edge in window), len(order)]
    for place, (first, last) in enumerate(pairwise(edges)):
        is_end = place in (0, len(edges) - 2)
        if windows and (is_end or first < last):
            assert counted(order[first:last]) >= least * (1 - 1e-9)
            assert last - first >= units


def test_a_window_grows_until_it_has_the_households_and_no_further() -> None:
    """Twelve in the middle are two families; the third one's first member is taken in."""
    family = families(*[2] * 10, 6, 6, *[2] * 10)
    found = percentiles(people(family, households_by_id(family)), EVERYBODY, 3)
    middle = found.points.index(0.5)
    assert found.window_households is not None
    assert found.window_households[0, middle] == 3
    assert found.window_units[0, middle] == 13
    assert percentiles(people(family, None), EVERYBODY, 3).window_units[0, middle] == 10


def test_households_that_are_not_asked_change_no_percentile() -> None:
    values = np.random.default_rng(2).lognormal(7, 1, 400)
    family = families(*[4] * 100)
    with_homes = percentiles(people(values, households_by_id(family)), EVERYBODY, 0.0)
    assert np.array_equal(
        with_homes.values, percentiles(people(values, None), EVERYBODY).values, equal_nan=True
    )


def test_a_unit_that_moved_between_households_counts_once() -> None:
    """Two people with three addresses are two households at most."""
    units = np.array([0, 0, 1])
    sample = people([1.0, 1.0, 1.0], households_by_id(np.arange(3)), units)
    assert sample.households_of_groups is not None
    assert sample.households_of_groups.tolist() == [2]


def test_of_several_sizes_a_unit_counts_the_largest_household() -> None:
    homes = households_by_size(np.array([0, 0, 1]), np.array([1.0, 0.25, 0.5]))
    assert homes.shares.tolist() == [0.25, 0.5]


def test_an_extreme_that_one_family_shares_breaks_the_rule_and_that_of_three_does_not() -> None:
    values = np.array([9.0] * 12 + [5.0] * 30 + [0.0] * 12)
    homes = households_by_id(families(12, *[3] * 10, 4, 4, 4))
    for statistic, expected in ((Statistic.MAXIMUM, {ReasonCode.EXTREME_VALUE}), (Statistic.MINIMUM, set())):
        facts = compute(statistic, people(values, homes), RULES).facts
        assert rules_found(statistic, facts) == expected


def test_the_largest_of_a_concentration_ratio_and_the_others_are_three_households_each() -> None:
    values = np.arange(60.0, 0, -1)
    for sizes, safe in (([5, 5, *[2] * 25], False), ([4, 3, 3, *[2] * 25], True), ([*[2] * 5, 50], False)):
        sample = people(values, households_by_id(families(*sizes)))
        facts = compute(Statistic.CONCENTRATION_RATIO, sample, RULES, largest=10).facts
        found = rules_found(Statistic.CONCENTRATION_RATIO, facts)
        assert (ReasonCode.IMPLIED_TABLE not in found) == safe, sizes


def test_cells_of_shares_are_three_households_each() -> None:
    has = np.arange(60) < 12
    sample = people(np.ones(60), households_by_id(families(6, 6, *[2] * 24)))
    for statistic, columns in (
        (Statistic.PROPORTION, Columns(has=has)),
        (Statistic.MODE, Columns(categories=has.astype(np.int64), number_of_categories=2)),
        (Statistic.ODDS_RATIO, Columns(has=has, exposed=np.arange(60) % 2 == 0)),
    ):
        facts = compute(statistic, sample, RULES, columns).facts
        assert ReasonCode.IMPLIED_TABLE in rules_found(statistic, facts), statistic


def test_a_group_of_two_households_shows_nothing() -> None:
    sample = people(np.arange(60.0), households_by_id(families(30, 30)))
    facts = compute(Statistic.MEAN, sample, RULES, errors=False).facts
    assert rules_found(Statistic.MEAN, facts) == {ReasonCode.MINIMUM_HOUSEHOLDS}


@pytest.mark.parametrize(
    "statistic", [Statistic.MEAN, Statistic.MAXIMUM, Statistic.PERCENTILES, Statistic.CONCENTRATION_RATIO]
)
def test_a_minimum_of_households_that_nobody_knows_is_never_met(statistic: Statistic) -> None:
    facts = compute(statistic, people(np.arange(100.0), None), RULES, errors=False).facts
    found = assess_statistic(statistic, facts, RULES)
    assert ReasonCode.MINIMUM_HOUSEHOLDS in found.unchecked
    assert any("households" in fact for fact in found.absent)


def test_facts_of_households_are_the_same_on_the_wire() -> None:
    sample = people(np.arange(100.0), households_by_size(np.arange(100), np.full(100, 1 / 3)))
    for statistic in (Statistic.PERCENTILES, Statistic.RANGE, Statistic.CONCENTRATION_RATIO):
        facts = compute(statistic, sample, RULES).facts
        told = statistic_to_assess(statistic_request(statistic, facts, RULES, False))
        assert assess_statistic(statistic, told.facts, told.rules) == assess_statistic(
            statistic, facts, RULES
        )
        for one, other in zip(facts.percentiles, told.facts.percentiles, strict=True):
            assert np.array_equal(one.window_households, other.window_households)
            assert np.array_equal(one.side_households, other.side_households)
        for one, other in zip(facts.extremes, told.facts.extremes, strict=True):
            assert np.array_equal(one.sharing_households, other.sharing_households)
        for one, other in zip(facts.implied, told.facts.implied, strict=True):
            assert np.array_equal(one.households, other.households)


def test_a_hexagon_of_two_families_is_withheld_with_another_one() -> None:
    """Three places: twelve people of two families, twenty of ten, and thirty of fifteen."""
    x = np.repeat([0.0, 100.0, 200.0], [12, 20, 30])
    family = families(6, 6, *[2] * 25)
    grid = Grid((0.0, 0.0), (10.0, 10.0))
    shown = hexagonal_bins(people(x, None), x, 0, grid, 10, 3)
    assert sorted(shown.units.tolist()) == [12, 20, 30]
    shown = hexagonal_bins(people(x, households_by_id(family)), x, 0, grid, 10, 3)
    assert shown.units.tolist() == [30]
    assert shown.withheld_units == 32


def test_windows_that_are_apart_by_a_family_tell_of_it() -> None:
    """Moved by ten records at either end they tell of twenty people, who are two families."""
    windows = [np.arange(0, 40), np.arange(10, 50)]
    units, family = np.arange(50), families(10, *[2] * 15, 10)
    assert not told_of_few(windows, units, 10)
    assert told_of_few(windows, units, 10, households_by_id(family), 3)
    assert not told_of_few(windows, units, 10, households_by_id(family), 2)
    alone = households_by_size(units, np.full(50, 1 / 10))
    assert told_of_few(windows, units, 10, alone, 2.5)
    assert not told_of_few(windows, units, 10, alone, 2)


def test_wrong_households_are_named() -> None:
    facts = compute(Statistic.RANGE, people(np.arange(100.0), None), RULES).facts
    wrong = replace(
        facts, extremes=tuple(replace(one, sharing_households=np.ones(2)) for one in facts.extremes)
    )
    with pytest.raises(ValueError, match="sharing_households"):
        assess_statistic(Statistic.RANGE, wrong, RULES)


def test_steps_of_a_survival_curve_that_few_households_have_are_taken_together() -> None:
    """Each family of ten has one time: a step of one is that family's."""
    homes = families(*[10] * 12)
    sample = people(homes.astype(np.float64), households_by_id(homes))
    has = Columns(has=np.ones(len(homes), dtype=np.bool_))
    alone = compute_statistic(Statistic.KAPLAN_MEIER, replace(sample, households=None), RULES, has)
    together = compute_statistic(Statistic.KAPLAN_MEIER, sample, RULES, has)
    assert len(alone.curves[0].x) == 12
    assert len(together.curves[0].x) == 3
    assert [table.households[0].tolist() for table in together.facts.implied if table.name == "events"] == [
        [4.0, 4.0, 4.0]
    ]
    assert not rules_found(Statistic.KAPLAN_MEIER, together.facts)


def test_of_two_families_there_is_no_curve() -> None:
    homes = families(30, 30)
    sample = people(np.arange(60.0), households_by_id(homes))
    has = Columns(has=np.ones(60, dtype=np.bool_))
    found = compute_statistic(Statistic.KAPLAN_MEIER, sample, RULES, has)
    assert ReasonCode.IMPLIED_TABLE in rules_found(Statistic.KAPLAN_MEIER, found.facts)
