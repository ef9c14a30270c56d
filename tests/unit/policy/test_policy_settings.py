"""An effective policy setting by setting: as a file would write it, in words, and from the ledger's text."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.policy import Policy, bundled_policies, load_policy, parse_policy
from sdcgate.policy.effective import NOT_HASHED, canonical_text
from sdcgate.policy.explanation import NOT_JUDGED
from sdcgate.policy.model import LevelPolicy
from sdcgate.policy.recorded import PolicyUnreadable, read_canonical
from sdcgate.policy.settings import NOT_RECORDED, as_file, flow, settings

EVERYTHING = """
name: everything
version: "1"
description: Every setting is there and none is at its default.
defaults:
  rules:
    minimum_units: {units: 10, consequence: protect}
    minimum_households: {households: 2.5, consequence: refer}
    minimum_base: {units: 5, consequence: refuse}
    dominance: [{largest: 2, share: 0.75, consequence: protect}, {largest: 1, share: 0.5, consequence: refer}]
    p_percent: {share: 0.1, coalition: 2, consequence: protect}
    prior_posterior: {p: 0.1, q: 0.5, coalition: 3, consequence: refer}
    linear_sensitivity: [{weights: [0.5, 0.2], rest: -0.1, consequence: protect}]
    contributions: {negative: shifted, weighted: false}
    group_disclosure: {share: 0.9, consequence: protect}
    equal_values: {tolerance: 0, consequence: protect}
    individual_risk: {maximum_share: 0.001, over: sample-uniques, tolerated_uniques: 10, consequence: refer}
  dimensions: {maximum: 3, maximum_filters: 2, filters_count: true, consequence: refuse}
  allowed: {variables: [b, a], levels: {age: [y, x]}, statistics: [UNITS, MEAN]}
  forbidden: {variables: [zper], combinations: [[site, income], [site, age, plan]]}
  protection:
    {method: suppression, cell_keys: null, count_width: 7, sum_width: 0.2, levels: rules,
     zeros_withheld: true, presence: hidden, attrition: hidden, joint_codes: 20000,
     costs: distance, time_limit_ms: 1000, effort_ms: 200, unproved: refer}
  output: {digits: 1, maximum_cells: 1000, latency_step_ms: 500}
  differencing: {consequence: refer, filters: withheld}
  redesign: {proposals: 2, judged: 9, time_limit_ms: 700, models_time_limit_ms: 900, withheld_share: null}
  review: {pairs_of_eyes: 2}
  budgets:
    researcher: [{period: day, queries: 20, cells: null}, {period: year, queries: 900, cells: 50000}]
    project: [{period: month, queries: null, cells: 9000}]
    dataset: [{period: hour, queries: 500, cells: null}]
  models:
    kinds: [LINEAR, LOGIT]
    significant_digits: 3
    counts_base: 5
    left_out_share: 0.1
    crossed_factors: true
    residual_degrees: {degrees: 10, consequence: refuse}
    categories: {units: 10, consequence: protect}
    influence: {largest: 2, share: 0.5, consequence: refer, dfbetas: 3.0}
    leverage: {leverage: 0.5, consequence: refuse}
    fit: {r_squared: 0.999, exact_share: 0.5, residual_share: 0.9, consequence: refer}
    outcome_class: {units: 10, consequence: refuse}
    parameters: {per_unit: 0.1, consequence: refuse}
    saturation: {consequence: refer}
  statistics:
    kinds: [GINI, MEAN, PERCENTILES]
    significant_digits: 3
    window_units: 12
    side_units: 0
    points: [0.5, 0.25, 0.75]
    extreme_units: 20
    implied_units: 5
    modal_share: 0.8
    largest: 12
    unreliable_variation: 0.2
    unreliable_units: 30
access_levels: {remote: {}}
"""


def every_policy() -> list[Policy]:
    return [parse_policy(EVERYTHING), *map(load_policy, bundled_policies())]


POLICIES = [policy.effective(level, "any") for policy in every_policy() for level in policy.access_levels]


def test_every_setting_of_the_types_is_told_and_none_else() -> None:
    names = [
        f"{section}.{name}"
        for section, field in LevelPolicy.model_fields.items()
        for name in field.annotation.model_fields
    ]
    assert len(names) == 71
    for policy in POLICIES:
        assert [setting.name for setting in settings(policy)] == names


def test_values_are_those_of_the_file() -> None:
    written = yaml.safe_load(EVERYTHING)["defaults"]
    shown = as_file(POLICIES[0])
    assert shown.pop("rules") == {
        **written.pop("rules"),
        "dominance": [
            {"largest": 1, "share": 0.5, "consequence": "refer"},
            {"largest": 2, "share": 0.75, "consequence": "protect"},
        ],
    }
    assert shown.pop("allowed") == {
        "variables": ["a", "b"],
        "levels": {"age": ["x", "y"]},
        "statistics": ["MEAN", "UNITS"],
    }
    assert shown.pop("forbidden") == {
        "variables": ["zper"],
        "combinations": [["age", "plan", "site"], ["income", "site"]],
    }
    assert shown == {name: part for name, part in written.items() if name not in ("allowed", "forbidden")}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.name} {policy.access_level}")
def test_an_effective_policy_written_to_a_file_is_the_same_when_it_is_loaded(policy) -> None:
    file = {
        "name": policy.name,
        "version": "x",
        "description": "d",
        "access_levels": {policy.access_level: as_file(policy)},
    }
    assert parse_policy(yaml.safe_dump(file)).effective(policy.access_level, "any") == policy


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.name} {policy.access_level}")
def test_what_the_ledger_keeps_is_read_back_setting_by_setting_with_its_hash(policy) -> None:
    read = read_canonical(canonical_text(policy))
    assert read.hash == policy.hash
    kept = [(s.name, s.value, s.explanation) for s in settings(read) if s.name not in NOT_RECORDED]
    assert kept == [(s.name, s.value, s.explanation) for s in settings(policy) if s.name not in NOT_RECORDED]
    told_apart = {
        "budgets" if name.startswith("budgets.") else name.rpartition(".")[2] for name in NOT_RECORDED
    }
    assert told_apart == set(NOT_HASHED) - {"hash", "rules"}


def test_a_text_of_another_sdcgate_is_not_guessed_at() -> None:
    content = json.loads(canonical_text(POLICIES[0]))
    wrong = [
        {**content, "format": 99},
        {**content, "rounding_base": 3},
        {**content, "rules": {**content["rules"], "entropy": {"bits": 3}}},
        {name: part for name, part in content.items() if name != "digits"},
        [],
    ]
    for text in [*map(json.dumps, wrong), "", "{"]:
        with pytest.raises(PolicyUnreadable):
            read_canonical(text)


TEXTS = st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"]))
NUMBERS = st.integers() | st.floats(-1e9, 1e9)


@given(
    st.recursive(
        st.none() | st.booleans() | NUMBERS | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    )
)
def test_a_value_on_one_line_is_read_by_yaml_as_that_value(value) -> None:
    assert yaml.safe_load(flow(value)) == value


def test_a_rule_that_is_not_judged_and_a_limit_that_is_none_are_said_too() -> None:
    said = {
        setting.name: setting.explanation
        for setting in settings(load_policy("five-safes").effective("remote", "x"))
    }
    assert said["rules.minimum_households"] == NOT_JUDGED
    assert said["rules.dominance"] == "A cell whose largest unit holds more than 50% of a total is withheld."
    assert said["rules.p_percent"].startswith("A cell in which the 2 largest others together could estimate")
    assert said["rules.contributions"] == "Contributions to sums are absolute."
    assert said["allowed.variables"] == "All variables of the dataset."


def test_rules_on_contributions_are_said_in_words() -> None:
    said = {setting.name: setting.explanation for setting in settings(POLICIES[0])}
    assert said["rules.p_percent"] == (
        "A cell in which the 2 largest others together could estimate the largest to within 10% is withheld."
    )
    assert said["rules.prior_posterior"] == (
        "A cell in which the 3 largest others together could estimate the largest to within 10%, where "
        "everybody knows all to within 50% beforehand, is referred to an output checker."
    )
    assert said["rules.linear_sensitivity"] == (
        "A cell whose largest units, weighted 0.5, 0.2, come to more than 0.1 of all others is withheld."
    )
    assert said["rules.contributions"] == (
        "Contributions to sums are measured by how far they lie above a measure's lower bound."
    )
