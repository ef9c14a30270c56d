import re
from dataclasses import replace

import numpy as np
import pytest

from model_frames import made_frame, model_data
from sdcgate.methods.outputs.fits import WITH_CLUSTERS, WITH_WEIGHTS, Family, FitOptions
from sdcgate.methods.outputs.fitting import fit_model
from sdcgate.methods.outputs.model_facts import ModelFacts
from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.sandwich import Covariance, SurveyDesign
from sdcgate.methods.outputs.separating import separated

MADE = made_frame(600)
ILL = "C(ill, event='yes')"
TWO = ("poor", "good")
OLD = (MADE.records.measures["age"] > 50).astype(float)


def facts(family: Family, text: str, **options: object) -> ModelFacts:
    return fit_model(model_data(MADE, text), MADE.records, FitOptions(family, **options), 3)[1]  # type: ignore[arg-type]


def refused(family: Family, text: str, change: dict, **options: object) -> str:
    data = replace(model_data(MADE, text), **change)
    with pytest.raises(ModelProblemError) as caught:
        fit_model(data, MADE.records, FitOptions(family, **options))  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("family", "text", "parameters"),
    [
        (Family.LINEAR, "cost ~ age + site", 4),
        (Family.LOGIT, f"{ILL} ~ age + site", 4),
        (Family.PROBIT, f"{ILL} ~ age + site", 4),
        (Family.POISSON, "visits ~ age + site", 4),
        (Family.NEGATIVE_BINOMIAL, "visits ~ age + site", 5),
        (Family.GAMMA, "cost ~ age + site", 4),
        (Family.MULTINOMIAL_LOGIT, "health ~ age + site", 8),
        (Family.ORDERED_LOGIT, "health ~ age + site", 5),
        (Family.QUANTILE, "cost ~ age + site", 4),
    ],
)
def test_every_family_tells_how_its_coefficients_rest_on_units(family, text, parameters) -> None:
    found = facts(family, text)
    assert (found.parameters, found.records, found.units) == (parameters, 600, 400)
    assert found.residual_degrees == 600 - parameters
    assert found.columns.largest_shares.shape == (parameters, 3)
    slopes = [place for place, name in enumerate(found.columns.names) if name.startswith(("age", "site"))]
    shares = found.columns.largest_shares[slopes]
    assert np.all(shares > 0)
    assert np.all(shares < 0.1)
    assert np.all(np.diff(shares, axis=1) > 0)
    assert 0 < found.columns.dfbetas[slopes].max() < 1
    assert 0 < found.maximum_leverage < 0.2
    assert not found.separated


def test_a_class_of_the_outcome_is_counted_in_units_and_in_each_category() -> None:
    found = facts(Family.LOGIT, f"{ILL} ~ site")
    ill = MADE.records.codes["ill", "ill"]
    assert list(found.outcome_units) == [len(np.unique(MADE.units[ill == place])) for place in (0, 1)]
    assert found.terms[1].class_units.shape == (3, 2)
    assert found.implied_table == (("site", "site"),)


def test_an_event_that_a_category_foretells_is_said_and_never_estimated() -> None:
    data = model_data(MADE, f"{ILL} ~ site + age")
    outcome = np.where(MADE.records.codes["site", "site"] == 1, 1.0, data.outcome)
    with pytest.raises(ModelProblemError, match="foretell"):
        fit_model(replace(data, outcome=outcome), MADE.records, FitOptions(Family.LOGIT))


def test_a_category_in_which_nobody_has_a_visit_foretells_the_count() -> None:
    data = model_data(MADE, "visits ~ site + age")
    never = replace(data, outcome=np.where(MADE.records.codes["site", "site"] == 2, 0.0, data.outcome))
    with pytest.raises(ModelProblemError, match="foretell"):
        fit_model(never, MADE.records, FitOptions(Family.POISSON))
    _, found = fit_model(never, MADE.records, FitOptions(Family.NEGATIVE_BINOMIAL))
    assert found.separated


def test_a_category_of_one_class_foretells_it_among_several() -> None:
    data = model_data(MADE, "health ~ site + age")
    alike = replace(data, outcome=np.where(MADE.records.codes["site", "site"] == 1, 2.0, data.outcome))

    assert separated(alike, Family.MULTINOMIAL_LOGIT)
    assert not separated(data, Family.MULTINOMIAL_LOGIT)


@pytest.mark.parametrize(
    ("outcome", "apart"),
    [
        ([0, 0, 0, 1, 1, 1], True),
        ([0, 0, 1, 0, 1, 1], False),
        # Two have the same value and differ: separated all the same, but for them.
        ([0, 0, 0, 1, 1, 1, 0], True),
    ],
)
def test_an_event_is_separated_as_albert_and_anderson_say(outcome: list[float], apart: bool) -> None:
    times = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 4.0])[: len(outcome)]
    values = np.column_stack([np.ones(len(times)), times])
    data = replace(model_data(MADE, f"{ILL} ~ age"), values=values, outcome=np.array(outcome, dtype=float))

    assert separated(data, Family.LOGIT) is apart
    assert separated(data, Family.PROBIT) is apart


@pytest.mark.parametrize(
    ("family", "text", "change", "message"),
    [
        (Family.LOGIT, f"{ILL} ~ age", {"outcome": np.ones(600)}, "outcome: does not vary"),
        (Family.PROBIT, f"{ILL} ~ age", {"outcome": OLD}, "foretell"),
        (Family.LOGIT, f"{ILL} ~ age", {"outcome": OLD}, "foretell"),
        (Family.POISSON, "visits ~ age", {"outcome": np.full(600, 1.5)}, "has to be a count"),
        (Family.POISSON, "visits ~ age", {"outcome": np.zeros(600)}, "does not vary"),
        (Family.GAMMA, "cost ~ age", {"outcome": np.zeros(600)}, "above 0"),
        (
            Family.MULTINOMIAL_LOGIT,
            "health ~ age",
            {"classes": TWO, "outcome": OLD},
            "fewer than three classes",
        ),
        (Family.LINEAR, "cost ~ age", {"weights": np.full(600, -1.0)}, "weights: have to be above 0"),
        (Family.LINEAR, "cost ~ age", {"outcome": np.full(600, np.nan)}, "outcome: has values"),
        (Family.LINEAR, "cost ~ age", {"values": np.full((600, 2), np.inf)}, "no finite numbers"),
        (Family.LOGIT, f"{ILL} ~ age", {"values": np.ones((600, 2))}, "columns of age do not vary"),
        (Family.QUANTILE, "cost ~ age", {"weights": np.ones(600)}, "without weights"),
        (Family.ORDERED_LOGIT, "health ~ age - 1", {}, "baseline of its own"),
    ],
)
def test_what_cannot_be_fitted_is_said_in_words(family, text, change, message) -> None:
    assert re.search(message, refused(family, text, change))


def test_a_quantile_lies_between_0_and_1() -> None:
    assert "between 0 and 1" in refused(Family.QUANTILE, "cost ~ age", {}, quantile=1.0)


def test_a_stratum_of_one_primary_unit_has_no_errors_by_design() -> None:
    strata = np.zeros(600, dtype=np.int64)
    strata[3] = 1
    change = {"weights": np.ones(600), "survey": SurveyDesign(strata)}
    assert "single primary unit" in refused(Family.LINEAR, "cost ~ age", change, covariance=Covariance.DESIGN)


def test_errors_by_design_of_one_stratum_and_equal_weights_are_robust_ones() -> None:
    data = replace(model_data(MADE, "cost ~ age + site"), weights=np.full(600, 7.0))
    design, _ = fit_model(data, MADE.records, FitOptions(Family.LINEAR, Covariance.DESIGN))
    plain = replace(data, weights=None)
    robust, _ = fit_model(plain, MADE.records, FitOptions(Family.LINEAR, Covariance.ROBUST))
    factor = np.sqrt(600 / 599 * (600 - 4) / 600)
    np.testing.assert_allclose(design.standard_errors, robust.standard_errors * factor, rtol=1e-10)
    assert design.degrees == 600 - 1 - 4 + 1


TEXTS = {
    Family.LINEAR: "cost ~ age",
    Family.LOGIT: f"{ILL} ~ age",
    Family.PROBIT: f"{ILL} ~ age",
    Family.POISSON: "visits ~ age",
    Family.NEGATIVE_BINOMIAL: "visits ~ age",
    Family.GAMMA: "cost ~ age",
    Family.MULTINOMIAL_LOGIT: "health ~ age",
    Family.ORDERED_LOGIT: "health ~ age",
    Family.QUANTILE: "cost ~ age",
    Family.FIXED_EFFECTS: "cost ~ age",
    Family.MIXED: "cost ~ age",
    Family.COX: "months ~ age",
    Family.TWO_STAGE: "cost ~ age",
}


LARGE = replace(
    MADE,
    records=replace(
        MADE.records,
        measures={**MADE.records.measures, "age": MADE.records.measures["age"] * 1e3 + 4e5},
    ),
)


@pytest.mark.parametrize("family", [family for family in Family if family is not Family.TWO_STAGE])
def test_a_measure_in_large_numbers_has_the_tests_of_the_same_in_small_ones(family: Family) -> None:
    more = {"groups": MADE.records.codes["plan", "plan"], "events": np.ones(600)}
    small, _ = fit_model(model_data(MADE, TEXTS[family], **more), MADE.records, FitOptions(family))
    large, found = fit_model(model_data(LARGE, TEXTS[family], **more), LARGE.records, FitOptions(family))
    place = small.names.index("age")
    assert large.statistics[place] == pytest.approx(small.statistics[place], rel=1e-3)
    assert large.estimates[place] * 1e3 == pytest.approx(small.estimates[place], rel=1e-3)
    assert np.all(np.isfinite(found.columns.dfbetas))
    if family is Family.ORDERED_LOGIT:
        shift = 4e5 * large.estimates[place]
        np.testing.assert_allclose(large.estimates[1:] - shift, small.estimates[1:], rtol=1e-3)


def test_a_quantile_does_not_depend_on_what_the_outcome_is_measured_in() -> None:
    data = model_data(MADE, "cost ~ age")
    fits = [
        fit_model(replace(data, outcome=data.outcome * unit), MADE.records, FitOptions(Family.QUANTILE))[0]
        for unit in (1.0, 1e-7, 1e7)
    ]
    for fit, unit in zip(fits[1:], (1e-7, 1e7), strict=True):
        np.testing.assert_allclose(fit.estimates, fits[0].estimates * unit, rtol=1e-4)
        np.testing.assert_allclose(fit.statistics, fits[0].statistics, rtol=1e-3)


@pytest.mark.parametrize("family", [family for family in Family if family < Family.ORDERED_LOGIT])
def test_a_constant_alone_is_a_model_and_the_table_of_one_cell(family: Family) -> None:
    estimate, found = fit_model(
        model_data(MADE, TEXTS[family].replace("~ age", "~ 1")), MADE.records, FitOptions(family)
    )
    assert np.all(np.isfinite(estimate.standard_errors))
    assert found.implied_table == ()
    assert list(found.pattern_units) == [400]


@pytest.mark.parametrize("covariance", list(Covariance))
@pytest.mark.parametrize("family", list(Family))
def test_every_family_does_the_errors_that_it_offers_and_says_of_others_that_it_does_not(
    family: Family, covariance: Covariance
) -> None:
    data = replace(
        model_data(MADE, TEXTS[family]),
        weights=np.full(600, 2.0) if covariance is Covariance.DESIGN else None,
        groups=MADE.records.codes["plan", "plan"],
        events=np.ones(600),
        instruments=MADE.design("cost ~ log(income) + region")[2],
    )
    offered = {
        Covariance.CLASSICAL: True,
        Covariance.ROBUST: family in WITH_CLUSTERS,
        Covariance.CLUSTERED: family in WITH_CLUSTERS,
        Covariance.DESIGN: family in WITH_WEIGHTS,
    }[covariance]
    if offered:
        estimate, _ = fit_model(data, MADE.records, FitOptions(family, covariance))
        assert np.all(estimate.standard_errors > 0)
    else:
        with pytest.raises(ModelProblemError):
            fit_model(data, MADE.records, FitOptions(family, covariance))


def test_units_may_be_numbered_with_gaps() -> None:
    data = model_data(MADE, "cost ~ age")
    estimate, found = fit_model(replace(data, units=data.units * 7), MADE.records, FitOptions(Family.LINEAR))
    assert estimate.units == found.units == 400


def test_a_class_that_nobody_has_is_no_class() -> None:
    data = replace(model_data(MADE, "health ~ age"), classes=("poor", "fair", "good", "grand"))
    with pytest.raises(ValueError, match="nobody has"):
        fit_model(data, MADE.records, FitOptions(Family.MULTINOMIAL_LOGIT))


def test_messages_name_no_code_of_a_category() -> None:
    data = model_data(MADE, f"{ILL} ~ region + site")
    values = data.values.copy()
    values[:, 1] = values[:, 2]
    message = refused(Family.LOGIT, f"{ILL} ~ region + site", {"values": values})
    assert "region" in message
    assert not any(code in message for code in ("north", "east", "south", "west", "["))
