import textwrap
from pathlib import Path

import pytest

from sdcgate.policy import PolicyInvalid, bundled_policies, load_policy, parse_policy

SMALLEST = textwrap.dedent(
    """
    name: smallest
    version: "1"
    description: The least that a policy says.
    defaults:
      rules:
        minimum_units: {units: 10, consequence: protect}
      dimensions: {maximum: 3, maximum_filters: 3, filters_count: false, consequence: refuse}
      protection: {method: suppression, sum_width: 0.1, time_limit_ms: 1000, unproved: refer}
      output: {digits: 1, maximum_cells: 1000}
      differencing: {consequence: refuse}
    access_levels:
      remote: {}
    """
)


def problems_of(text: str) -> dict[str, str]:
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text)
    return {problem.path: problem.message for problem in caught.value.problems}


@pytest.mark.parametrize("name", bundled_policies())
def test_every_bundled_policy_loads_and_carries_the_name_of_its_file(name: str) -> None:
    assert load_policy(name).name == name


def test_five_policies_come_with_the_house() -> None:
    assert bundled_policies() == (
        "cell-key",
        "five-safes",
        "israel-cbs",
        "statistics-netherlands-public",
        "statistics-netherlands-researchers",
    )


def test_an_agency_loads_its_own_file_by_path(tmp_path: Path) -> None:
    path = tmp_path / "our policy.yaml"
    path.write_text(SMALLEST)
    assert load_policy(path).access_levels["remote"].rules.minimum_units.units == 10


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(PolicyInvalid, match="israel-cbs"):
        load_policy("israel-cbz")


def test_all_problems_are_told_at_once_each_with_its_path() -> None:
    text = SMALLEST.replace("units: 10", "units: 0").replace("digits: 1", "digits: nine")
    text = text.replace("remote: {}", "remote: {rules: {minimum_unit: null}}")
    assert problems_of(text) == {
        "defaults.rules.minimum_units.units": "input should be greater than or equal to 1",
        "defaults.output.digits": "input should be a valid integer",
        "access_levels.remote.rules.minimum_unit": "is not known here",
    }


def test_problems_of_the_outer_shape_and_of_what_is_within_are_told_together_each_with_its_line() -> None:
    text = SMALLEST.replace("description:", "descripton:").replace("units: 10", "units: ten")
    text = text.replace("remote: {}", "remote: {}\n  moon: {}\n  public: {output: {digits: 2026-11-01}}")
    with pytest.raises(PolicyInvalid) as dates:
        parse_policy(text)
    assert [str(problem) for problem in dates.value.problems] == [
        "line 15: access_levels.public.output.digits: is not plain text, number or truth value; "
        "put it in quotes"
    ]
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text.replace("2026-11-01", "9"), "our.yaml")
    assert {(problem.line, problem.path) for problem in caught.value.problems} == {
        (2, "description"),
        (4, "descripton"),
        (7, "defaults.rules.minimum_units.units"),
        (14, "access_levels.moon"),
        (15, "access_levels.public.output.digits"),
    }
    assert "\n  line 4: descripton: is not known here\n" in str(caught.value)


def test_a_problem_in_a_dataset_s_changes_has_the_dataset_s_path() -> None:
    text = (
        SMALLEST + "datasets:\n  survey:\n    remote: {rules: {minimum_base: {units: 5}}}\n    public: {}\n"
    )
    assert problems_of(text) == {
        "datasets.survey.remote.rules.minimum_base.consequence": "is missing",
        "datasets.survey.public": "changes an access level that the policy does not have",
    }


def test_a_policy_without_a_minimum_of_units_is_not_a_policy() -> None:
    assert problems_of(SMALLEST.replace("{units: 10, consequence: protect}", "null")) == {
        "defaults.rules.minimum_units": "input should be an object"
    }


def test_a_rule_about_the_whole_table_cannot_ask_for_cells_to_be_withheld() -> None:
    text = SMALLEST.replace(
        "maximum_filters: 3, filters_count: false, consequence: refuse", "consequence: protect"
    )
    found = problems_of(text)
    assert found["defaults.dimensions.consequence"] == "input should be 'refer' or 'refuse'"
    assert found["defaults.dimensions.maximum_filters"] == "is missing"


@pytest.mark.parametrize("width", [".nan", ".inf", "-0.1", '"0.1"', "yes"])
def test_a_width_that_is_no_finite_positive_number_is_refused(width: str) -> None:
    assert list(problems_of(SMALLEST.replace("sum_width: 0.1", f"sum_width: {width}"))) == [
        "defaults.protection.sum_width"
    ]


def test_a_key_that_stands_twice_is_an_error_and_not_the_last_one_s_win() -> None:
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy("name: a\nversion: b\nname: c\n2: d\nversion: e\n")
    assert [(problem.line, problem.message) for problem in caught.value.problems] == [
        (3, "the key 'name' stands twice"),
        (4, "the key '2' is not a text; put it in quotes"),
        (5, "the key 'version' stands twice"),
    ]


@pytest.mark.parametrize(
    "text", ["", "- a\n- b", "name: [", "a: !!python/object:os.system {}", "1: 2", "a: 2026-11-01"]
)
def test_a_file_that_is_no_policy_at_all_is_told_so(text: str) -> None:
    assert problems_of(text)


def test_nesting_without_end_is_a_problem_and_not_a_crash() -> None:
    assert problems_of("a: " + "[" * 5000 + "]" * 5000)
