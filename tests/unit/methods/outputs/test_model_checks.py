from dataclasses import replace

import numpy as np
import pytest

from sdcgate.methods.outputs.model_checks import assess_model, unjudged
from sdcgate.methods.outputs.model_facts import ColumnFacts, ModelFacts, TermFacts
from sdcgate.methods.outputs.model_rules import (
    MaximumFit,
    MaximumInfluence,
    MaximumLeverage,
    MaximumParameters,
    MinimumCategory,
    MinimumOutcomeClass,
    MinimumResidualDegrees,
    ModelRules,
    NoImpliedTable,
)
from sdcgate.methods.rules import Consequence, ReasonCode

REFER = Consequence.REFER
RULES = ModelRules(
    MinimumResidualDegrees(10, REFER),
    MinimumCategory(10, REFER),
    MaximumInfluence(1, 0.5, REFER, dfbetas=5.0),
    MaximumLeverage(0.5, REFER),
    MaximumFit(0.99, 0.1, REFER, residual_share=0.8),
    MinimumOutcomeClass(10, REFER),
    MaximumParameters(0.1, REFER),
    NoImpliedTable(REFER),
)
COLUMNS = ColumnFacts(
    ("Intercept", "age", "site[T.2]"),
    (0, 1, 2),
    np.array([0, 90, 30]),
    np.array([[0.02, 0.04], [0.1, 0.2], [0.05, 0.1]]),
    np.array([0.1, 0.2, 0.3]),
)
TERMS = (
    TermFacts("1"),
    TermFacts("age"),
    TermFacts("site", (("site", "site"),), np.array([70, 30]), np.array([[40, 30], [10, 20]])),
)
SAFE = ModelFacts("logit", 100, 100, 3, 97, COLUMNS, TERMS, 0.2, 0.4, 0.0, np.array([50, 50]))


def test_a_safe_model_has_no_findings() -> None:
    assert assess_model(SAFE, RULES) == ()


def columns(**changes: object) -> ModelFacts:
    return replace(SAFE, columns=replace(COLUMNS, **changes))


def site(**changes: object) -> ModelFacts:
    return replace(SAFE, terms=(*TERMS[:2], replace(TERMS[2], **changes)))


@pytest.mark.parametrize(
    ("facts", "rule", "at_columns", "at_terms", "figure"),
    [
        (replace(SAFE, residual_degrees=9), ReasonCode.RESIDUAL_DEGREES, (), (), 9),
        (site(units=np.array([91, 9])), ReasonCode.MINIMUM_UNITS, (), (2,), 9),
        (columns(units_apart=np.array([0, 90, 1])), ReasonCode.MINIMUM_UNITS, (2,), (), 1),
        (columns(largest_shares=np.array([[0.1], [0.5], [0.7]])), ReasonCode.INFLUENCE, (1, 2), (), 0.7),
        (columns(largest_shares=np.full((3, 1), np.nan)), ReasonCode.INFLUENCE, (0, 1, 2), (), np.nan),
        (columns(dfbetas=np.array([0.1, np.inf, 0.1])), ReasonCode.INFLUENCE, (1,), (), np.inf),
        (replace(SAFE, maximum_leverage=0.5), ReasonCode.LEVERAGE, (), (), 0.5),
        (replace(SAFE, maximum_leverage=np.nan), ReasonCode.LEVERAGE, (), (), np.nan),
        (replace(SAFE, r_squared=0.999), ReasonCode.PERFECT_FIT, (), (), 0.999),
        (replace(SAFE, exact_share=0.2), ReasonCode.PERFECT_FIT, (), (), 0.2),
        (replace(SAFE, residual_share=0.8), ReasonCode.INFLUENCE, (), (), 0.8),
        (replace(SAFE, outcome_units=np.array([97, 3])), ReasonCode.OUTCOME_CLASS, (), (), 3),
        (replace(SAFE, outcome_units=np.array([100])), ReasonCode.OUTCOME_CLASS, (), (), 0),
        (replace(SAFE, separated=True), ReasonCode.OUTCOME_CLASS, (), (), 50),
        (site(class_units=np.array([[40, 30], [0, 30]])), ReasonCode.OUTCOME_CLASS, (), (2,), 0),
        (site(class_units=np.array([[40, 30], [4, 26]])), ReasonCode.OUTCOME_CLASS, (), (2,), 4),
        (replace(SAFE, parameters=10), ReasonCode.SATURATED, (), (), 0.1),
        (replace(SAFE, implied_table=(("site", "site"),)), ReasonCode.SATURATED, (), (2,), 0),
        (replace(SAFE, implied_table=()), ReasonCode.SATURATED, (), (2,), 0),
        (replace(SAFE, pattern_units=np.array([70, 30])), ReasonCode.SATURATED, (), (1,), 3),
    ],
)
def test_each_rule_finds_its_own_failure_at_its_place(facts, rule, at_columns, at_terms, figure) -> None:
    (finding,) = assess_model(facts, RULES)
    assert (finding.rule, finding.columns, finding.terms) == (rule, at_columns, at_terms)
    assert finding.figure == pytest.approx(figure, nan_ok=True)
    assert finding.consequence is REFER


@pytest.mark.parametrize(
    "facts",
    [
        replace(SAFE, residual_degrees=10),
        site(units=np.array([90, 10])),
        columns(units_apart=np.array([0, 90, 10])),
        columns(largest_shares=np.full((3, 1), 0.499)),
        replace(SAFE, maximum_leverage=0.499),
        replace(SAFE, r_squared=None),
        replace(SAFE, outcome_units=np.array([90, 10])),
        site(class_units=np.array([[40, 30], [10, 20]])),
    ],
)
def test_what_just_keeps_a_rule_passes(facts: ModelFacts) -> None:
    assert assess_model(facts, RULES) == ()


def test_no_rules_find_nothing() -> None:
    assert assess_model(replace(SAFE, residual_degrees=-5, separated=True), ModelRules()) == ()


def test_a_rare_row_of_a_model_that_is_a_table_has_too_few_units() -> None:
    found = assess_model(replace(SAFE, pattern_units=np.array([97, 3])), RULES)
    assert [(finding.rule, finding.figure) for finding in found] == [
        (ReasonCode.MINIMUM_UNITS, 3.0),
        (ReasonCode.SATURATED, 3.0),
    ]


def test_a_rare_value_of_a_measure_is_of_all_coefficients() -> None:
    age = TermFacts("age", units=np.array([97, 3]), of_values=True)
    facts = replace(
        SAFE,
        terms=(TERMS[0], age, TERMS[2]),
        columns=replace(COLUMNS, units_apart=np.array([0, 90, 4])),
    )

    found = assess_model(facts, RULES)

    assert [(finding.columns, finding.terms, finding.figure) for finding in found] == [
        ((2,), (), 4.0),
        ((), (1,), 3.0),
    ]


def test_classes_within_categories_that_are_not_given_are_not_judged_and_said_to_be_absent() -> None:
    """Of a site in which everybody is ill, units alone say nothing."""
    told_all = TermFacts("site", TERMS[2].factors, TERMS[2].units, np.array([[40, 30], [30, 0]]))
    told_units = TermFacts("site", TERMS[2].factors, TERMS[2].units)
    facts = replace(SAFE, r_squared=None, residual_share=None, terms=(*TERMS[:2], told_all))
    rules = ModelRules(outcome_class=MinimumOutcomeClass(10, REFER))
    assert [one.rule for one in assess_model(facts, rules)] == [ReasonCode.OUTCOME_CLASS]
    assert unjudged(facts, rules) == ((), ())

    without = replace(facts, terms=(*TERMS[:2], told_units))

    assert unjudged(without, rules) == ((ReasonCode.OUTCOME_CLASS,), ("terms.class_units",))
