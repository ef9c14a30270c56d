import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.rules import (
    ABSOLUTE_VALUES,
    Consequence,
    Dominance,
    IndividualRisk,
    MinimumBase,
    MinimumUnits,
)
from sdcgate.policy import AccessLevelUnknown, PolicyInvalid, bundled_policies, load_policy, parse_policy
from sdcgate.policy.cell_keys import CellKeyNoise
from sdcgate.policy.effective import Redesign, canonical_text
from sdcgate.policy.models import ModelLimits
from sdcgate.policy.recorded import read_canonical
from sdcgate.policy.statistics import StatisticLimits

OWN = """
name: own
version: "1"
description: A policy that differs by dataset.
defaults:
  rules:
    minimum_units: {units: 10, consequence: protect}
    dominance:
      - {largest: 2, share: 0.75, consequence: protect}
      - {largest: 1, share: 0.5, consequence: refer}
    group_disclosure: {share: 0.9, consequence: protect}
    individual_risk: {maximum_share: 0.001, over: all-cells, consequence: refer}
  dimensions: {maximum: 3, maximum_filters: 2, filters_count: true, consequence: refuse}
  allowed: {levels: {age: [ten_years, twenty_years]}, statistics: [UNITS, MEAN]}
  forbidden: {variables: [zper], combinations: [[site, income], [site, age, plan]]}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 1000, unproved: refer}
  output: {digits: 1, maximum_cells: 1000}
  differencing: {consequence: refuse}
access_levels:
  remote: {}
  on-site: {rules: {minimum_units: {units: 3, consequence: refer}}}
datasets:
  census:
    remote:
      rules: {group_disclosure: null, individual_risk: null}
      allowed: {variables: [age, site]}
"""


def test_the_rules_of_the_paper_apply_at_remote_access() -> None:
    policy = load_policy("israel-cbs").effective("remote", "any")
    assert policy.rules.minimum_units == MinimumUnits(10, Consequence.PROTECT)
    assert policy.rules.minimum_base == MinimumBase(50, Consequence.REFUSE)
    assert policy.rules.dominance == (
        Dominance(1, 0.5, Consequence.PROTECT),
        Dominance(2, 0.75, Consequence.PROTECT),
    )
    assert policy.rules.individual_risk == IndividualRisk(0.001, False, Consequence.REFUSE, 10)
    assert (policy.maximum_dimensions, policy.maximum_filters, policy.filters_count) == (3, 3, False)
    assert (policy.digits, policy.count_width, policy.sum_width, policy.zeros_withheld) == (1, 10, 0.1, True)
    assert policy.unproved_consequence is Consequence.REFER
    assert policy.differencing_consequence is Consequence.REFUSE


def test_thirty_expected_matches_of_the_income_survey_pass_and_264_do_not() -> None:
    # Shlomo 2003, section V: 32,869 records; Key2 about 30 (manageable), Key1 264.1 expected matches.
    rule = load_policy("israel-cbs").effective("remote", "any").rules.individual_risk
    assert rule is not None
    assert 30 / 32_869 < rule.maximum_share < 264.1 / 32_869


def test_the_wider_the_audience_the_stricter_the_rules() -> None:
    policy = load_policy("israel-cbs")
    minima, dimensions = [], []
    for level in ("public", "remote", "licensed", "on-site"):
        effective = policy.effective(level, "any")
        assert effective.rules.minimum_units is not None
        minima.append(effective.rules.minimum_units.units)
        dimensions.append(effective.maximum_dimensions)
    assert minima == sorted(minima, reverse=True) == [20, 10, 5, 3]
    assert dimensions == sorted(dimensions) == [2, 3, 4, 5]


def test_a_dataset_changes_only_what_it_names() -> None:
    policy = parse_policy(OWN)
    census, other = policy.effective("remote", "census"), policy.effective("remote", "other")
    assert census.rules.group_disclosure is None
    assert census.rules.individual_risk is None
    assert census.allowed_variables == frozenset({"age", "site"})
    assert other.allowed_variables is None
    assert census.allowed_levels == other.allowed_levels == {"age": frozenset({"ten_years", "twenty_years"})}
    assert census.rules.minimum_units == other.rules.minimum_units


def test_empty_cells_are_withheld_where_group_disclosure_protects() -> None:
    policy = parse_policy(OWN)
    assert policy.effective("remote", "other").zeros_withheld
    assert not policy.effective("remote", "census").zeros_withheld
    stated = parse_policy(OWN.replace("sum_width: 0.1", "sum_width: 0.1, zeros_withheld: false"))
    assert not stated.effective("remote", "other").zeros_withheld


def test_a_withheld_count_is_as_uncertain_as_the_minimum_unless_stated() -> None:
    assert parse_policy(OWN).effective("on-site", "other").count_width == 3
    stated = parse_policy(OWN.replace("sum_width: 0.1", "sum_width: 0.1, count_width: 7"))
    assert stated.effective("on-site", "other").count_width == 7


def test_an_access_level_that_the_policy_does_not_have_allows_nothing() -> None:
    with pytest.raises(AccessLevelUnknown, match=r"'public'.*remote, on-site"):
        parse_policy(OWN).effective("public", "census")


def test_the_hash_is_of_what_applies_and_not_of_how_it_is_written() -> None:
    policy = parse_policy(OWN)
    rewritten = OWN.replace(
        "combinations: [[site, income], [site, age, plan]]",
        "combinations: [[plan, age, site], [income, site]]",
    )
    rewritten = rewritten.replace("differs by dataset", "is described otherwise").replace(
        "[UNITS, MEAN]", "[MEAN, UNITS]"
    )
    rewritten = rewritten.replace("  remote: {}", "  remote: {output: {digits: 1}}")
    assert parse_policy(rewritten).effective("remote", "x").hash == policy.effective("remote", "x").hash
    assert re.fullmatch("sha256:[0-9a-f]{64}", policy.effective("remote", "x").hash)


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ("prior_posterior: {p: 0.1, q: 0.5, consequence: protect}", "prior_posterior"),
        ("linear_sensitivity: [{weights: [1], rest: -1, consequence: refer}]", "linear_sensitivity"),
        ("contributions: {negative: shifted}", "contributions"),
        ("p_percent: {share: 0.1, coalition: 2, consequence: protect}", "p_percent"),
    ],
)
def test_rules_that_came_later_are_in_the_hash_where_they_are_used(rule: str, field: str) -> None:
    base = OWN.replace("  dimensions:", "    p_percent: {share: 0.1, consequence: protect}\n  dimensions:", 1)
    without = base if field == "p_percent" else OWN
    used = OWN.replace("  dimensions:", f"    {rule}\n  dimensions:", 1)
    one, other = (parse_policy(text).effective("remote", "x") for text in (without, used))
    assert getattr(one.rules, field) != getattr(other.rules, field)
    assert one.hash != other.hash
    assert read_canonical(canonical_text(other)) == other


def test_contributions_are_absolute_where_a_policy_says_nothing_or_null() -> None:
    hashes = set()
    for said in ("", "    contributions: null\n", "    contributions: {}\n"):
        policy = parse_policy(OWN.replace("  dimensions:", f"{said}  dimensions:", 1)).effective(
            "remote", "x"
        )
        assert policy.rules.contributions == ABSOLUTE_VALUES
        hashes.add(policy.hash)
    assert hashes == {parse_policy(OWN).effective("remote", "x").hash}


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("prior_posterior: {p: 0.5, q: 0.1, consequence: protect}", "p must not exceed q"),
        (
            "prior_posterior: {p: 0.1, q: 0.5, coalition: 16, consequence: protect}",
            "less than or equal to 15",
        ),
        ("linear_sensitivity: [{weights: [0.1, 0.2], rest: -1, consequence: refer}]", "must not rise"),
        ("contributions: {negative: shifted, weighted: true}", "weighted contributions are absolute"),
    ],
)
def test_rules_on_contributions_that_no_table_can_be_judged_by_are_told(rule: str, problem: str) -> None:
    with pytest.raises(PolicyInvalid, match=problem):
        parse_policy(OWN.replace("  dimensions:", f"    {rule}\n  dimensions:", 1))


def test_the_hash_of_a_known_policy_stays_what_it_is() -> None:
    # A change of this value means that earlier answers are no longer found under the policy's hash.
    assert parse_policy(OWN).effective("remote", "x").hash == PINNED
    with_more = OWN.replace("access_levels:", MORE, 1)
    assert parse_policy(with_more).effective("remote", "x").hash == PINNED_WITH_MORE


PINNED = "sha256:5965d9709f5385eab17e3051b7d3731221b9f9729ceeb53f7cd76c98d32ae1c1"
MORE = """  redesign: {proposals: 2}
  models:
    kinds: [LINEAR]
    fit: {r_squared: 0.999, exact_share: 0.5, consequence: refuse}
access_levels:"""
PINNED_WITH_MORE = "sha256:492999015d673ac4ab8f6f0f894bcb7a88bea2c68c3ff7b48d261185e11a3e8b"

CHANGES = {
    "units: 10": "units: 11",
    "share: 0.9": "share: 0.91",
    "over: all-cells": "over: sample-uniques",
    "filters_count: true": "filters_count: false",
    "[zper]": "[]",
    "[site, income]": "[site, incomes]",
    "sum_width: 0.1": "sum_width: 0.2",
    "time_limit_ms: 1000": "time_limit_ms: 1001",
    "unproved: refer": "unproved: refuse",
    "digits: 1": "digits: 2",
    "maximum_cells: 1000": "maximum_cells: 1001",
    "[ten_years, twenty_years]": "[ten_years]",
    "statistics: [UNITS, MEAN]": "statistics: [UNITS]",
    "largest: 2": "largest: 3",
    "name: own": "name: ours",
}


@given(st.sets(st.sampled_from(sorted(CHANGES)), min_size=1))
def test_whatever_changes_a_decision_changes_the_hash(changed: set[str]) -> None:
    text = OWN
    for old in changed:
        text = text.replace(old, CHANGES[old], 1)
    assert parse_policy(text).effective("remote", "x").hash != parse_policy(OWN).effective("remote", "x").hash


def test_when_answers_leave_is_not_in_the_hash_because_it_changes_no_decision() -> None:
    slower = parse_policy(OWN.replace("digits: 1", "digits: 1, latency_step_ms: 250")).effective(
        "remote", "x"
    )
    assert slower.latency_step_ms == 250
    assert slower.hash == parse_policy(OWN).effective("remote", "x").hash
    assert "leave at whole multiples of 250 ms" in slower.explain()


@pytest.mark.parametrize("name", bundled_policies())
def test_bundled_policies_hide_how_long_it_took_from_everybody_who_is_not_registered(name: str) -> None:
    policy = load_policy(name)
    steps = {level: policy.effective(level, "any").latency_step_ms for level in policy.access_levels}
    assert steps == {level: 500 if level == "public" else 0 for level in policy.access_levels}


def test_every_field_that_can_change_a_decision_is_in_the_hash() -> None:
    policy = parse_policy(OWN).effective("remote", "x")
    other = {
        "name": "n",
        "access_level": "a",
        "rules": dataclasses.replace(policy.rules, equal_values=None, group_disclosure=None),
        "allowed_variables": frozenset({"v"}),
        "forbidden_variables": frozenset(),
        "allowed_levels": {},
        "forbidden_combinations": (),
        "allowed_statistics": None,
        "filters_count": False,
        "zeros_withheld": False,
        "sum_width": 0.3,
        "protection_method": "other",
        "unproved_consequence": Consequence.REFUSE,
        "differencing_consequence": Consequence.REFER,
        "dimensions_consequence": Consequence.REFER,
        "redesign": Redesign(proposals=2),
        "models": ModelLimits(frozenset({"LINEAR"})),
        "statistics": StatisticLimits(frozenset({"GINI"})),
        "cell_keys": CellKeyNoise(5, 2.0),
    }
    for field in dataclasses.fields(policy):
        if field.name not in ("hash", "latency_step_ms", "budgets", "pairs_of_eyes"):
            value = other.get(field.name, 77)
            assert dataclasses.replace(policy, **{field.name: value}).hash != policy.hash, field.name


def test_how_tables_are_proposed_is_in_the_hash_only_where_some_are() -> None:
    policy = parse_policy(OWN).effective("remote", "x")
    assert dataclasses.replace(policy, redesign=Redesign(judged=3)).hash == policy.hash
    proposing = dataclasses.replace(policy, redesign=Redesign(proposals=1))
    assert dataclasses.replace(policy, redesign=Redesign(proposals=1, judged=3)).hash != proposing.hash
    assert read_canonical(canonical_text(proposing)).redesign == Redesign(proposals=1)


def test_the_explanation_says_every_rule_in_words() -> None:
    text = load_policy("israel-cbs").effective("remote", "any").explain()
    assert "A cell of fewer than 10 units is withheld, unless it is empty." in text
    assert "A cell whose 2 largest units hold more than 75% of a total is withheld." in text
    assert "more expected correct matches over sample uniques than 0.1% of its units is refused" in text
    assert "  At most 3 dimensions.\n  At most 3 filter variables.\n" in text
    assert "A filter variable that is no dimension does not count as one." in text
    own = parse_policy(OWN).effective("remote", "census").explain()
    assert "Only the variables age, site." in own
    assert "Not together: age, plan, site." in own
    assert "  minimum_households: not judged.\n" in own


@pytest.mark.parametrize("name", bundled_policies())
def test_a_policy_that_judges_less_than_its_source_says_so(name: str) -> None:
    policy = load_policy(name)
    if name.startswith("statistics-netherlands"):
        assert "Not judged on tables" in policy.description
    for level in policy.access_levels:
        assert policy.effective(level, "any").rules.minimum_units is not None
