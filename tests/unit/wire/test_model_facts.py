"""Facts of models keep what their rules look at on the way to the risk service and back."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from model_frames import made_frame, model_data
from sdcgate.methods.outputs.fits import Family, FitOptions
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.model_checks import assess_model, unjudged
from sdcgate.methods.outputs.model_rules import (
    MaximumFit,
    MaximumInfluence,
    MaximumLeverage,
    MinimumCategory,
    MinimumOutcomeClass,
    MinimumResidualDegrees,
    ModelRules,
    NoImpliedTable,
)
from sdcgate.methods.rules import Consequence
from sdcgate.wire.model_facts import (
    facts_from_message,
    facts_to_message,
    rules_from_message,
    rules_to_message,
)
from sdcgate.wire.problems import InvalidMessageError
from sdcgate_proto.sdcgate.risk.v1 import models_pb2

MADE = made_frame(300)
REFUSE = Consequence.REFUSE
EVERYTHING_FAILS = ModelRules(
    MinimumResidualDegrees(10_000, REFUSE),
    MinimumCategory(10_000, REFUSE),
    MaximumInfluence(2, 1e-6, REFUSE, dfbetas=1e-6),
    MaximumLeverage(1e-6, REFUSE),
    MaximumFit(1e-6, 0.5, REFUSE, residual_share=0.7),
    MinimumOutcomeClass(10_000, REFUSE),
    saturation=NoImpliedTable(REFUSE),
)


@pytest.mark.parametrize(
    ("family", "text"),
    [
        (Family.LINEAR, "cost ~ age + site"),
        (Family.LINEAR, "cost ~ site"),
        (Family.LINEAR, "cost ~ 1"),
        (Family.LOGIT, "C(ill, event='yes') ~ site*plan"),
        (Family.ORDERED_LOGIT, "health ~ age + site"),
    ],
)
def test_findings_are_the_same_on_the_other_side(family: Family, text: str) -> None:
    _, facts = fit_model(model_data(MADE, text), MADE.records, FitOptions(family), 2)
    there = facts_from_message(facts_to_message(facts))
    rules = rules_from_message(rules_to_message(EVERYTHING_FAILS))
    assert rules == EVERYTHING_FAILS
    assert assess_model(there, rules) == assess_model(facts, EVERYTHING_FAILS)
    assert assess_model(there, ModelRules(saturation=NoImpliedTable(REFUSE))) == assess_model(
        facts, ModelRules(saturation=NoImpliedTable(REFUSE))
    )


def test_units_on_the_plane_of_a_quantile_are_on_neither_side_and_no_contradiction() -> None:
    data = model_data(MADE, "cost ~ site")
    # What most have lies on the plane: amounts that households have in common, and zeros.
    alike = replace(data, outcome=np.where(data.outcome < np.quantile(data.outcome, 0.6), 7.0, data.outcome))
    _, facts = fit_model(alike, MADE.records, FitOptions(Family.QUANTILE, window=10), 2)

    there = facts_from_message(facts_to_message(facts))

    assert facts.outcome_units.sum() < facts.units
    assert assess_model(there, EVERYTHING_FAILS) == assess_model(facts, EVERYTHING_FAILS)


def test_a_model_that_is_no_table_does_not_become_one_on_the_way() -> None:
    _, facts = fit_model(model_data(MADE, "cost ~ age"), MADE.records, FitOptions(Family.LINEAR))
    there = facts_from_message(facts_to_message(facts))
    assert assess_model(there, ModelRules(saturation=NoImpliedTable(REFUSE))) == ()


def test_rows_with_more_units_than_the_model_are_a_contradiction() -> None:
    _, facts = fit_model(model_data(MADE, "cost ~ site"), MADE.records, FitOptions(Family.LINEAR))
    wrong = facts_to_message(replace(facts, pattern_units=np.array([9999])))
    with pytest.raises(InvalidMessageError, match="pattern_units"):
        facts_from_message(wrong)


def test_no_unit_adds_more_to_what_the_largest_hold_than_the_largest_has() -> None:
    _, facts = fit_model(model_data(MADE, "cost ~ age"), MADE.records, FitOptions(Family.LINEAR))
    told = facts_to_message(facts)
    told.columns[1].largest_shares[:] = [0.33, 0.67, 1.0]
    facts_from_message(told)

    told.columns[1].largest_shares[:] = [0.1, 0.9]
    with pytest.raises(InvalidMessageError, match="largest_shares"):
        facts_from_message(told)


def test_residual_degrees_are_those_without_the_coefficients_where_no_parameters_are_told() -> None:
    _, facts = fit_model(model_data(MADE, "cost ~ age + site"), MADE.records, FitOptions(Family.LINEAR))
    told = facts_to_message(facts)
    told.ClearField("parameters")
    assert facts_from_message(told).residual_degrees == facts.residual_degrees

    told.residual_degrees += 1
    with pytest.raises(InvalidMessageError, match="residual_degrees"):
        facts_from_message(told)


@pytest.mark.parametrize(
    "changed",
    [lambda units: units + 1000, lambda units: units // 3, lambda units: units - 1000],
    ids=["more", "fewer", "negative"],
)
def test_classes_that_are_not_those_of_their_combination_are_a_contradiction(
    changed: Callable[[int], int],
) -> None:
    data = model_data(MADE, "C(ill, event='yes') ~ site*plan")
    _, facts = fit_model(data, MADE.records, FitOptions(Family.LOGIT))
    told = facts_to_message(facts)
    term = next(one for one in told.terms if one.class_units)
    term.class_units[:] = [changed(units) for units in term.class_units]
    with pytest.raises(InvalidMessageError, match="class_units"):
        facts_from_message(told)


@pytest.mark.parametrize(
    ("name", "fails"),
    [("site[T.2]:age", True), ("site[T.2]", False), ("site[T.a:b]:plan[T.1]", False), ("Intercept", False)],
)
def test_units_apart_are_needed_of_a_number_within_a_category(name: str, fails: bool) -> None:
    told = models_pb2.ModelFacts(units=100, records=100, parameters=1, residual_degrees=99)
    told.columns.add(name=name)
    told.terms.add(text="a term", units=[50, 50])
    rules = ModelRules(categories=MinimumCategory(10, REFUSE))
    facts = facts_from_message(told)
    assert [one.columns for one in assess_model(facts, rules)] == ([(0,)] if fails else [])
    assert unjudged(facts, rules)[1] == (("columns.units_apart",) if fails else ())
