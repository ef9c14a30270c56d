from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from model_frames import made_frame
from sdcgate.methods.outputs.implied_tables import (
    Classified,
    implied_table,
    pattern_units,
    term_facts,
    units_apart,
    units_by_group,
)

MADE = made_frame(600)


def test_units_of_categories_and_combinations_are_distinct_units() -> None:
    _, design, _ = MADE.design("cost ~ site*plan + age")
    found = {term.text: term for term in term_facts(design, MADE.records, MADE.units, None)}
    frame = MADE.frame.assign(unit=MADE.units)
    assert list(found["site"].units) == list(frame.groupby("site", observed=True)["unit"].nunique())
    by_both = frame.groupby(["plan", "site"], observed=True)["unit"].nunique()
    assert list(found["plan:site"].units) == list(by_both)
    assert found["age"].units.size == 0


def test_values_of_a_number_that_has_few_are_counted_as_categories_are() -> None:
    coins = np.arange(600) % 3 + 1.0
    coins[:5] = 7.0
    _, design, _ = MADE.design("cost ~ site:income + income")
    records = replace(MADE.records, measures={**MADE.records.measures, "income": coins})
    frame = MADE.frame.assign(unit=MADE.units, coins=coins)

    _, income, of_sites = term_facts(design, records, MADE.units, None)

    assert list(income.units) == list(frame.groupby("coins")["unit"].nunique())
    by_both = frame.groupby(["site", "coins"], observed=True)["unit"].nunique()
    assert list(of_sites.units) == list(by_both)
    assert income.of_values
    assert of_sites.of_values


def test_classes_of_the_outcome_are_counted_in_each_category() -> None:
    _, design, _ = MADE.design("cost ~ site")
    classes = Classified(MADE.records.codes["ill", "ill"], 2)
    _, site = term_facts(design, MADE.records, MADE.units, classes)
    frame = MADE.frame.assign(unit=MADE.units)
    expected = frame.groupby(["site", "ill"], observed=True)["unit"].nunique().unstack()
    np.testing.assert_array_equal(site.class_units, expected)


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("cost ~ site", (("site", "site"),)),
        ("cost ~ site - 1", (("site", "site"),)),
        ("cost ~ site*plan", (("plan", "plan"), ("site", "site"))),
        ("cost ~ site:plan - 1", (("plan", "plan"), ("site", "site"))),
        ("cost ~ site + plan", None),
        ("cost ~ site*plan + age", None),
        ("cost ~ age", None),
        ("cost ~ 1", ()),
    ],
)
def test_a_model_with_a_parameter_for_each_cell_is_its_table(text: str, table: tuple | None) -> None:
    _, design, _ = MADE.design(text)
    assert implied_table(design, MADE.records) == table


def test_a_term_may_be_saturated_where_the_model_is_no_table() -> None:
    _, design, _ = MADE.design("cost ~ site*plan + region + age")
    found = {t.text: t.saturated for t in term_facts(design, MADE.records, MADE.units, None)}
    assert found == {"1": False, "age": False, "plan": True, "region": True, "site": True, "plan:site": True}


def test_units_off_the_prevailing_value_are_counted_once() -> None:
    values = np.array([[1, 5.0, 0], [1, 5.0, 2.5], [1, 5.0, 2.5], [1, 7.0, 0], [1, 8.0, 0]])
    assert list(units_apart(values, np.array([0, 1, 1, 2, 2]))) == [0, 1, 1]
    assert list(units_apart(values, np.arange(5))) == [0, 2, 2]


@pytest.mark.parametrize("most_marks", [0, 1 << 20])
def test_units_of_a_group_are_counted_as_pandas_counts_them(most_marks, monkeypatch) -> None:
    monkeypatch.setattr("sdcgate.methods.outputs.implied_tables.MOST_MARKS", most_marks)
    rng = np.random.default_rng(4)
    groups, units = rng.integers(0, 7, 500), rng.integers(0, 90, 500)
    expected = pd.Series(units).groupby(groups).nunique().reindex(range(8), fill_value=0)
    assert list(units_by_group(groups, 8, units)) == list(expected)


def test_a_measure_of_two_values_is_a_factor_by_another_name() -> None:
    values = np.column_stack([np.ones(600), MADE.records.codes["ill", "ill"] * 3.7])
    frame = pd.Series(MADE.units).groupby(MADE.records.codes["ill", "ill"]).nunique()
    assert list(pattern_units(values, MADE.units)) == list(frame)


@pytest.mark.parametrize(
    ("text", "patterns"),
    [("cost ~ site", 3), ("cost ~ site*plan", 12), ("cost ~ site + plan", 0), ("cost ~ age", 0)],
)
def test_rows_are_told_apart_where_they_are_no_more_than_columns(text: str, patterns: int) -> None:
    _, _, values = MADE.design(text)
    assert len(pattern_units(values, MADE.units)) == patterns


def test_rare_rows_beyond_the_first_sample_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdcgate.methods.outputs.implied_tables.SAMPLED_ROWS", 5)
    values = np.column_stack([np.ones(100), np.arange(100) == 99])
    assert list(pattern_units(values, np.arange(100))) == [99, 1]
    values[7, 1] = 2.5
    assert len(pattern_units(values, np.arange(100))) == 0
