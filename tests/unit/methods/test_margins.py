"""Totals that contradict their parts are found, column by column, and nothing else is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_tables import axis, table
from sdcgate.methods.cells import Axis, Facts
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.assessment import assess_table
from sdcgate.methods.tables.margins import margin_problems

AREAS = Axis("area", "area", ("n1", "n2", "s1", "n", "s", "_T"), (3, 3, 4, 5, 5, -1))
SEX = axis("sex", ["f", "m"])
AXES = (AREAS, SEX)


def made(units_of_panel=False):
    """A table counted from records, with its hierarchy; persons may have records in several areas."""
    generator = np.random.default_rng(7)
    area, sex = generator.integers(0, 3, 80), generator.integers(0, 2, 80)
    persons = generator.integers(0, 40, 80) if units_of_panel else np.arange(80)
    income = generator.normal(0, 50, 80)
    groups = [[0], [1], [2], [0, 1], [2], [0, 1, 2]]
    inner = table((axis("area", ["n1", "n2", "s1"]), SEX), np.stack([area, sex], 1), persons, {"x": income})
    records = np.array([[_sum(inner.records, g, c) for c in range(3)] for g in groups]).reshape(-1)
    sums = np.array([[_sum(inner.measures[0].sums, g, c) for c in range(3)] for g in groups]).reshape(-1)
    units = np.array(
        [
            [
                len(np.unique(persons[np.isin(area, g) & (np.isin(sex, [c]) if c < 2 else True)]))
                for c in range(3)
            ]
            for g in groups
        ]
    ).reshape(-1)
    measure = replace(
        inner.measures[0], sums=sums, valid_records=records, valid_units=units,
        largest=np.zeros((0, 0)), absolute_sums=np.zeros(0), minima=np.zeros(0), maxima=np.zeros(0),
    )  # fmt: skip
    weights = records * 1.1
    return Facts(units, records, weight_sums=weights, unit_weight_sums=units * 1.5, measures=(measure,))


def _sum(column, group, code):
    return column.reshape(4, 3)[group, code].sum()


def wrong(facts):
    return {problem.path: problem.cells.tolist() for problem in margin_problems(AXES, facts)}


@pytest.mark.parametrize("panel", [False, True])
def test_tables_counted_from_records_contradict_nothing(panel):
    facts = made(panel)
    assert (facts.units.sum() != facts.records.sum()) == panel
    assert wrong(facts) == {}


def changed(column, cell, by):
    copy = column.copy()
    copy[cell] += by
    return copy


def test_each_column_that_adds_up_is_compared():
    facts = made()
    (measure,) = facts.measures
    total = 5 * 3 + 2
    assert wrong(replace(facts, records=changed(facts.records, total, 1))) == {"facts.records": [total]}
    assert wrong(replace(facts, weight_sums=changed(facts.weight_sums, 0, 0.5))).keys() == {
        "facts.weight_sums"
    }
    for name in ("sums", "valid_records"):
        broken = replace(measure, **{name: changed(getattr(measure, name), total, -2)})
        path = f"facts.measures[0].{name}"
        assert wrong(replace(facts, measures=(broken,))) == {path: [total]}


def test_a_wrong_inner_cell_shows_in_the_totals_above_it():
    facts = made()
    assert wrong(replace(facts, records=changed(facts.records, 0, 1))) == {"facts.records": [2, 9]}


def test_distinct_units_lie_between_the_largest_part_and_the_sum():
    facts = made(True)
    north, parts = 3 * 3, (0, 3)
    most, both = facts.units[list(parts)].max(), facts.units[list(parts)].sum()
    for units, fits in [(most, True), (most - 1, False), (both, True), (both + 1, False)]:
        found = wrong(replace(facts, units=changed(facts.units, north, units - facts.units[north])))
        # The total of both sexes may break as well.
        assert (north in found.get("facts.units", [])) != fits


def test_a_unit_may_weigh_less_in_the_total_than_in_a_part():
    # One person, with weight 5 in 1980 and 1 in 1981, counts with the smaller one over both years.
    years = (axis("year", ["1980", "1981"]),)
    facts = Facts(np.array([1, 1, 1]), np.array([1, 1, 2]), unit_weight_sums=np.array([5.0, 1.0, 1.0]),
                  households=np.array([0.5, 0.2, 0.2]), weight_sums=np.array([5.0, 1.0, 6.0]))  # fmt: skip
    assert margin_problems(years, facts) == []


def test_sums_may_err_by_a_billionth_and_no_more():
    facts = made()
    (measure,) = facts.measures
    size = np.abs(measure.sums).max()
    for error, fits in [(5e-10, True), (5e-9, False)]:
        sums = changed(measure.sums, 17, error * size)
        assert (wrong(replace(facts, measures=(replace(measure, sums=sums),))) == {}) == fits


def test_without_parts_there_is_nothing_to_compare():
    loose = (replace(AREAS, parents=(-1,) * 6), replace(SEX, parents=(-1,) * 3))
    assert margin_problems(loose, replace(made(), records=np.arange(18))) == []


def test_a_table_that_contradicts_itself_is_not_judged_and_no_figure_is_told():
    facts = made()
    with pytest.raises(FactsError) as caught:
        assess_table(AXES, replace(facts, records=changed(facts.records, 17, 123456)), Rules(), None, None)
    (problem,) = caught.value.problems
    assert problem.path == "facts.records"
    assert "positions 17" in str(caught.value)
    assert "1234" not in str(caught.value)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 17), st.integers(1, 5))
def test_no_record_can_be_moved_without_being_seen(cell, by):
    facts = made()
    assert wrong(replace(facts, records=changed(facts.records, cell, by))).keys() == {"facts.records"}


def test_where_no_fact_is_known_there_is_nothing_to_compare():
    nothing = np.zeros(0, dtype=np.int64)
    assert margin_problems(AXES, Facts(nothing, nothing)) == []
