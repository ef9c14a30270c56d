"""Budgets in a policy file: what they allow, when they renew, and what they leave as it was."""

from datetime import UTC, datetime

import pytest

from sdcgate.policy import PolicyInvalid, load_policy, parse_policy
from sdcgate.policy.budgets import PERIODS, Budget, begun, renewed
from sdcgate.policy.files import BUNDLED

TEXT = (BUNDLED / "five-safes.yaml").read_text()


def with_budgets(budgets: str):
    return parse_policy(TEXT.replace("access_levels:", f"  budgets: {budgets}\naccess_levels:", 1))


def test_each_holder_has_its_budgets_and_they_are_told_in_words() -> None:
    policy = with_budgets(
        "{researcher: [{period: hour, queries: 20}, {period: month, queries: 500, cells: 90000}], "
        "dataset: [{period: year, cells: 1000000}]}"
    ).effective("remote", "x")
    assert policy.budgets.researcher == (Budget("hour", 20), Budget("month", 500, 90000))
    assert policy.budgets.project == ()
    text = policy.explain()
    assert "A researcher may ask at most 20 queries an hour." in text
    assert "A researcher may ask at most 500 queries and 90000 cells a month." in text
    assert "For each project as much may be asked as one likes." in text
    assert "Everybody together may ask at most 1000000 cells a year." in text


def test_a_budget_makes_no_query_a_new_one() -> None:
    limited = with_budgets("{researcher: [{period: day, queries: 1}]}").effective("remote", "x")
    assert limited.hash == load_policy("five-safes").effective("remote", "x").hash


def test_a_policy_can_be_freed_of_its_budgets() -> None:
    policy = with_budgets("{researcher: [{period: day, queries: 1}]}")
    assert policy.without_budgets().effective("remote", "x") == load_policy("five-safes").effective(
        "remote", "x"
    )


@pytest.mark.parametrize(
    ("budgets", "path", "message"),
    [
        (
            "{researcher: [{period: day}]}",
            "budgets.researcher.0",
            "name a number of queries, of cells, or both",
        ),
        ("{researcher: [{period: decade, queries: 1}]}", "budgets.researcher.0.period", "'hour', 'day'"),
        ("{project: [{period: day, queries: 0}]}", "budgets.project.0.queries", "greater than or equal to 1"),
        ("{everybody: []}", "budgets.everybody", "is not known here"),
    ],
)
def test_what_is_wrong_with_a_budget_is_told_at_its_place(budgets, path, message) -> None:
    with pytest.raises(PolicyInvalid) as error:
        with_budgets(budgets)
    assert path in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("period", "began", "next_one"),
    [
        ("hour", datetime(2027, 12, 31, 23), datetime(2028, 1, 1)),
        ("day", datetime(2027, 12, 31), datetime(2028, 1, 1)),
        ("week", datetime(2027, 12, 27), datetime(2028, 1, 3)),
        ("month", datetime(2027, 12, 1), datetime(2028, 1, 1)),
        ("year", datetime(2027, 1, 1), datetime(2028, 1, 1)),
    ],
)
def test_a_period_begins_and_ends_by_the_calendar(period, began, next_one) -> None:
    moment = datetime(2027, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    assert begun(period, moment) == began.replace(tzinfo=UTC)
    assert renewed(period, moment) == next_one.replace(tzinfo=UTC)
    assert begun(period, renewed(period, moment)) == renewed(period, moment)


def test_february_is_as_long_as_it_is() -> None:
    assert renewed("month", datetime(2028, 2, 29, 12, tzinfo=UTC)) == datetime(2028, 3, 1, tzinfo=UTC)
    assert set(PERIODS) == {"hour", "day", "week", "month", "year"}
