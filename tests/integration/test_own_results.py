"""Models and statistics that a job printed as our own JSON, held against those of the RAND file."""

import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from house import Pace, person, reasons, verdict, with_randhie
from sdcgate.engine.engine import Engine
from sdcgate.facility.errors import Conflict
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies, parse_policy
from sdcgate.wire.json import from_json, to_json
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

LINEAR = {
    "kind": "LINEAR",
    "formula": "meddol ~ site + income + numeric(female)",
    "filter": [{"variable": "year", "codes": ["1", "2"]}],
}
OUTCOME = 'C(hlthp, event="1") ~ female + numeric(age)'
MODELS = [
    LINEAR,
    {"kind": "LINEAR", "formula": "meddol ~ site", "standard_errors": "CLUSTERED"},
    {"kind": "LOGIT", "formula": OUTCOME},
    {"kind": "MULTINOMIAL_LOGIT", "formula": "site ~ numeric(age) + female"},
    {"kind": "FIXED_EFFECTS", "formula": "meddol ~ numeric(age)", "groups": "site"},
]
GROUPS = [{"variable": "site"}]
STATISTICS = [
    {"kind": "MEAN", "measure": "meddol", "groups": GROUPS, "standard_errors": True},
    {"kind": "PERCENTILES", "measure": "meddol", "groups": GROUPS},
    {"kind": "MODE", "mode_of": {"variable": "plan"}, "groups": GROUPS},
    {"kind": "CORRELATIONS", "measures": ["outpdol", "drugdol", "income"]},
    {"kind": "ODDS_RATIO", "having": {"variable": "hlthp", "codes": ["1"]},
     "exposed": {"variable": "female", "codes": ["1"]}},
]  # fmt: skip


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = with_randhie(tmp_path_factory.mktemp("house"))
    yield made
    made.facility.close()


@pytest.fixture(scope="module")
def another(tmp_path_factory):
    """A house for models of those who have told their education: all but four, which others would tell."""
    made = with_randhie(tmp_path_factory.mktemp("another"))
    yield made
    made.facility.close()


def submitted(house, body) -> list[pb.JudgedResult]:
    options = pb.ResultsOptions(dataset="randhie", name="results.own.json")
    answer = house.facility.submit_results(
        person("portal", "p"), options, json.dumps(body).encode(), Pace(60)
    )
    return list(answer.outputs)


def asked(house, body):
    """What the facility itself says, as JSON."""
    kind = pb.QueryModelRequest if "formula" in body else pb.QueryStatisticRequest
    request = from_json(json.dumps({"dataset": "randhie", **body}).encode(), kind)
    ask = house.facility.query_model if "formula" in body else house.facility.query_statistic
    decision = ask(house.researcher, request, Pace(60)).decision
    assert decision.verdict in (pb.VERDICT_RELEASED, pb.VERDICT_RELEASED_PROTECTED), decision.reasons
    return decision, json.loads(to_json(decision.model if "formula" in body else decision.statistic))


@pytest.mark.parametrize("body", MODELS, ids=lambda body: body["kind"])
def test_a_model_that_agrees_leaves_and_one_that_differs_in_any_figure_is_referred(house, body):
    decision, printed = asked(house, body)
    (output,) = submitted(house, printed | body)
    assert (output.read_as, verdict(output)) == (pb.RESULT_KIND_MODEL, verdict(decision))
    assert output.decision.model == decision.model
    for figure in ("estimate", "standard_error", "statistic", "p_value", "lower", "upper"):
        changed = json.loads(json.dumps(printed))
        last = changed["coefficients"][-1]
        last[figure] = last[figure] * 1.01 + 0.01
        (wrong,) = submitted(house, changed | body)
        assert (verdict(wrong), reasons(wrong)) == ("REFERRED", ["BINDING"])
        assert f"{figure.replace('_', ' ')} of " in wrong.decision.reasons[0].message
        assert not wrong.decision.HasField("model")


def test_a_number_that_ends_in_zeros_is_as_exact_as_those_beside_it(house):
    """In JSON 9.000 is 9.0, and 0.0 would else be every p-value up to a half."""
    _, printed = asked(house, LINEAR)
    for figure in ("estimate", "standard_error", "statistic", "p_value"):
        changed = json.loads(json.dumps(printed))
        for one in changed["coefficients"]:
            whole = float(int(one[figure]))
            if abs(one[figure]) < 100 and abs(one[figure] - whole) > 0.02:
                one[figure] = whole
                break
        (wrong,) = submitted(house, changed | LINEAR)
        assert verdict(wrong) == "REFERRED", figure
        assert f"{figure.replace('_', ' ')} of {one['name']}." in wrong.decision.reasons[0].message
    body = STATISTICS[0]
    _, printed = asked(house, body)
    variation = next(one for one in printed["figures"] if one["name"] == "coefficient_of_variation")
    variation["values"][0] = 0.0
    verdicts = [(output.part, verdict(output)) for output in submitted(house, printed | body)]
    assert verdicts == [
        ("mean", "RELEASED"),
        ("standard_error", "RELEASED"),
        ("coefficient_of_variation", "REFERRED"),
    ]


def test_a_model_that_differs_as_units_were_left_out_of_ours_is_referred_with_that(tmp_path):
    text = (BUNDLED / "israel-cbs.yaml").read_text()
    policy = parse_policy(text.replace("counts_base: 10", "counts_base: 10\n    left_out_share: 0.05"))
    # Who is left out rests on the engine's secret: a fixed one, so that enough are.
    engine = Engine(tmp_path, tmp_path / "snapshots", bytes(range(32)))
    house = with_randhie(tmp_path, policies={**load_policies(), "israel-cbs": policy}, engine=engine)
    here = [{"variable": "site", "codes": ["3"]}, {"variable": "year", "codes": ["2"]}]
    asked(house, {"kind": "LINEAR", "formula": "meddol ~ female", "filter": here})
    body = {"kind": "LINEAR", "formula": "meddol ~ female + numeric(education)", "filter": here}
    _, printed = asked(house, body)
    printed["coefficients"][-1]["estimate"] *= 2
    (output,) = submitted(house, printed | body)
    assert (verdict(output), reasons(output)) == ("REFERRED", ["BINDING", "DIFFERENCING"])
    assert "left out at random" in output.decision.reasons[1].message
    house.facility.close()


def test_a_model_that_differs_as_categories_of_ours_were_fitted_as_one_is_referred_with_that(house):
    """What a job printed of all categories is right, and the dataset's figures are others all the same."""
    people = pd.read_csv(str(files("statsmodels") / "datasets" / "randhie/src/randhie.csv"))
    men = people.query("female == 0 and year == 2")
    fit = smf.ols("outcome ~ C(coins)", men.assign(outcome=np.log1p(men.meddol))).fit()
    body = {
        "kind": "LINEAR",
        "formula": "log1p(meddol) ~ coins",
        "filter": [{"variable": "female", "codes": ["0"]}, {"variable": "year", "codes": ["2"]}],
    }
    coefficients = [
        {"name": name.replace("C(coins)", "coins"), "standard_error": error}
        for name, error in fit.bse.items()
    ]
    (output,) = submitted(house, body | {"coefficients": coefficients})
    assert (verdict(output), reasons(output)) == ("REFERRED", ["BINDING", "MINIMUM_UNITS"])
    assert "categories" in output.decision.reasons[1].message
    assert not output.decision.HasField("model")


def test_figures_of_the_fit_and_counts_are_compared_as_they_leave(house):
    _, printed = asked(house, LINEAR)
    beyond = {**printed, "units": printed["units"] + 9, "records": printed["records"] - 9}
    (near,) = submitted(house, beyond | LINEAR)
    assert verdict(near) == "RELEASED"
    (far,) = submitted(house, {**printed, "residual_degrees": printed["residual_degrees"] - 10} | LINEAR)
    assert "residual degrees." in far.decision.reasons[0].message
    fit = [{"statistic": "R_SQUARED", "value": 0.5}, {"statistic": "DEVIANCE", "value": 1.0}]
    (wrong,) = submitted(house, {**printed, "fit": fit} | LINEAR)
    assert "R_SQUARED. DEVIANCE." in wrong.decision.reasons[0].message


def test_figures_with_all_their_digits_agree_with_ours_that_leave_with_fewer(house):
    people = pd.read_csv(str(files("statsmodels") / "datasets" / "randhie/src/randhie.csv"))
    fit = smf.ols("meddol ~ income", people).fit()
    names = {"Intercept": "Intercept", "income": "income"}
    body = {
        "kind": "LINEAR",
        "formula": "meddol ~ income",
        "coefficients": [
            {"name": ours, "estimate": fit.params[name], "standard_error": fit.bse[name]}
            for name, ours in names.items()
        ],
        "records": 20190,
    }
    (output,) = submitted(house, body)
    assert verdict(output) == "RELEASED"
    body["coefficients"][1]["estimate"] *= 1 + 1e-3
    (wrong,) = submitted(house, body)
    assert "estimate of income." in wrong.decision.reasons[0].message


def as_printed(fit, names: dict[str, str]) -> list[dict]:
    """What statsmodels has of coefficients, with all its digits."""
    bounds = fit.conf_int()
    return [
        {
            "name": ours,
            "estimate": fit.params[theirs],
            "standard_error": fit.bse[theirs],
            "statistic": fit.tvalues[theirs],
            "p_value": fit.pvalues[theirs],
            "lower": bounds.loc[theirs, 0],
            "upper": bounds.loc[theirs, 1],
        }
        for theirs, ours in names.items()
    ]


@pytest.mark.parametrize("right", ["site:child", "child:site"])
def test_factors_within_each_other_agree_with_statsmodels_in_whatever_order_they_are_written(house, right):
    people = pd.read_csv(str(files("statsmodels") / "datasets" / "randhie/src/randhie.csv"))
    spelled = ":".join(f"C({name})" for name in right.split(":"))
    fit = smf.ols(f"meddol ~ {spelled}", people).fit()
    names = {name: name.replace("C(site)", "site").replace("C(child)", "child") for name in fit.params.index}
    body = {"kind": "LINEAR", "formula": f"meddol ~ {right}", "coefficients": as_printed(fit, names)}
    (output,) = submitted(house, body)
    assert (verdict(output), list(output.problems)) == ("RELEASED", [])
    body["coefficients"][3]["estimate"] += 1.0
    (wrong,) = submitted(house, body)
    assert (verdict(wrong), reasons(wrong)) == ("REFERRED", ["BINDING"])


MIXED = {"kind": "MIXED", "formula": "income ~ numeric(age) + female", "groups": "education"}


@pytest.mark.parametrize("how", [{}, {"method": "bfgs", "gtol": 1e-10}], ids=["as usual", "to the end"])
def test_a_mixed_model_is_right_as_statsmodels_prints_it_and_where_its_likelihood_is_largest(another, how):
    people = pd.read_csv(str(files("statsmodels") / "datasets" / "randhie/src/randhie.csv"))
    people = people.rename(columns={"xage": "age"}).dropna(subset=["educdec"])
    people[["age", "educdec"]] = np.floor(people[["age", "educdec"]])
    model = smf.mixedlm("income ~ age + C(female)", people, groups="educdec")
    fit, exact = model.fit(**how), model.fit(method="bfgs", gtol=1e-10)
    assert bool(abs(fit.bse["Intercept"] / exact.bse["Intercept"] - 1) > 1e-4) is (how == {})
    names = {"Intercept": "Intercept", "age": "numeric(age)", "C(female)[T.1]": "female[T.1]"}
    variances = [
        {"statistic": "VARIANCE_BETWEEN", "value": float(fit.cov_re.iloc[0, 0])},
        {"statistic": "VARIANCE_WITHIN", "value": float(fit.scale)},
    ]
    body = {**MIXED, "coefficients": as_printed(fit, names), "fit": variances}
    (output,) = submitted(another, body)
    assert (verdict(output), list(output.problems)) == ("RELEASED", [])
    decision, _ = asked(another, MIXED)
    assert output.decision.model == decision.model
    for figure in ("estimate", "standard_error", "lower"):
        changed = json.loads(json.dumps(body))
        changed["coefficients"][0][figure] *= 1.002
        (wrong,) = submitted(another, changed)
        assert (verdict(wrong), reasons(wrong)) == ("REFERRED", ["BINDING"])
        assert f"{figure.replace('_', ' ')} of Intercept" in wrong.decision.reasons[0].message


def test_a_mixed_model_of_a_search_that_stopped_far_from_the_largest_likelihood_is_referred(house):
    people = pd.read_csv(str(files("statsmodels") / "datasets" / "randhie/src/randhie.csv"))
    fit = smf.mixedlm("mdvis ~ xage", people.assign(xage=np.floor(people.xage)), groups="site").fit()
    names = {"Intercept": "Intercept", "xage": "numeric(age)"}
    body = {"kind": "MIXED", "formula": "mdvis ~ numeric(age)", "groups": "site"}
    (output,) = submitted(house, {**body, "coefficients": as_printed(fit, names)})
    assert (verdict(output), reasons(output)) == ("REFERRED", ["BINDING"])
    assert "standard error of Intercept" in output.decision.reasons[0].message


@pytest.mark.parametrize("body", STATISTICS, ids=lambda body: body["kind"])
def test_a_statistic_that_agrees_leaves_figure_by_figure(house, body):
    _, printed = asked(house, body)
    outputs = submitted(house, printed | body)
    assert [output.part for output in outputs] == [figure["name"] for figure in printed["figures"]]
    assert {verdict(output) for output in outputs} <= {"RELEASED", "RELEASED_PROTECTED"}
    for output, figure in zip(outputs, printed["figures"], strict=True):
        assert output.read_as == pb.RESULT_KIND_STATISTIC
        (left,) = output.decision.statistic.figures
        assert list(left.values) == figure["values"]


def test_a_statistic_that_differs_is_referred_with_its_group(house):
    body = STATISTICS[0]
    _, printed = asked(house, body)
    printed["figures"][1]["values"][2] *= 1.1
    verdicts = {output.part: verdict(output) for output in submitted(house, printed | body)}
    assert verdicts["standard_error"] == "REFERRED"
    assert verdicts["mean"] == "RELEASED"


def test_a_figure_that_the_statistic_does_not_have_is_referred(house):
    body = {**STATISTICS[1], "figures": [{"name": "P33", "groups": [0], "values": [1.0]}],
            "dimensions": [{"variable": "site", "codes": ["1"], "cells": [0]}]}  # fmt: skip
    (output,) = submitted(house, body)
    assert verdict(output) == "REFERRED"
    assert "'P33' is no figure of it." in output.decision.reasons[0].message


def test_without_figures_a_statistic_is_a_request(house):
    (output,) = submitted(house, STATISTICS[0])
    assert (output.read_as, verdict(output)) == (pb.RESULT_KIND_REQUEST, "RELEASED")
    assert len(output.decision.statistic.figures) == 3


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"residuals": [1.5, 2.5]}, "'residuals': figures of single records never leave"),
        ({"model": {"fittedvalues": [1.0]}}, "'fittedvalues': figures of single records never leave"),
        ({"resid_pearson": [1.5]}, "'resid_pearson': figures of single records never leave"),
        ({"cooks.distance": [0.5]}, "'cooks.distance': figures of single records never leave"),
        ({"dfbetas": [[0.5]]}, "'dfbetas': figures of single records never leave"),
        ({"random_effects": {"1": 3.5}}, "'random_effects': effects of single groups never leave"),
        ({"groupEffects": [3.5]}, "'groupEffects': effects of single groups never leave"),
        ({"Fitted Values": [1.5]}, "'Fitted Values': figures of single records never leave"),
        ({".std.resid": [1.5]}, "'.std.resid': figures of single records never leave"),
        ({"case_ids": [700131337]}, "'case_ids': figures of single records never leave"),
    ],
)
def test_what_is_of_single_records_or_groups_is_refused_and_no_checker_can_let_it_out(house, more, told):
    (output,) = submitted(house, LINEAR | more)
    assert (output.read_as, verdict(output)) == (pb.RESULT_KIND_FILE, "REFUSED")
    assert told in output.decision.reasons[0].message
    assert "700131337" not in str(output)
    review = pb.ReviewQueryRequest(query=output.decision.query, approve=True, note="a log", exception=True)
    with pytest.raises(Conflict, match="only referred queries are reviewed"):
        house.facility.review_query(house.checker, review, Pace(60))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"r2": 0.4}, "r2: is not known here"),
        ({"df_resid": 20188, "mse_resid": 3.5}, "df_resid: is not known here"),
        ({"coefficients": []}, "no figure of any coefficient"),
        ({"fit": [{"statistic": "R_SQUARED", "value": 0.5}]}, "fit, and no coefficients or figures"),
        ({"coefficients": [{"name": "a", "estimate": 1.0}] * 2}, "two coefficients 'a'"),
        ({"coefficients": [{"name": "a", "estimate": float("nan")}]}, "NaN and Infinity are no numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_referred_with_why(house, more, told):
    (output,) = submitted(house, LINEAR | more)
    assert (output.read_as, verdict(output)) == (pb.RESULT_KIND_FILE, "REFERRED")
    assert told in " ".join(output.problems)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"dimensions": []}, "must be those of `groups`: site"),
        ({"figures": [{"name": "mean", "groups": [0, 9], "values": [1.0, 2.0]}]}, "positions among 6"),
        ({"figures": [{"name": "mean", "groups": [0, 0], "values": [1.0, 2.0]}]}, "names a group twice"),
        ({"figures": []}, "shows no figure"),
        ({"curves": [{"group": 0, "name": "edges", "x": [1.0], "y": [1.0]}]}, "are not compared"),
    ],
)
def test_groups_of_a_statistic_must_be_told(house, more, told):
    dimensions = [{"variable": "site", "codes": list("123456"), "cells": [0, 1, 2, 3, 4, 5]}]
    figures = [{"name": "mean", "groups": [0], "values": [1.0]}]
    body = {
        "kind": "MEAN",
        "measure": "meddol",
        "groups": GROUPS,
        "dimensions": dimensions,
        "figures": figures,
    }
    (output,) = submitted(house, body | more)
    assert verdict(output) == "REFERRED"
    assert told in " ".join(output.problems)


def test_facts_that_a_job_tells_of_itself_are_not_believed(house):
    (output,) = submitted(house, {"facts": {"units": 900, "columns": [{"name": "a", "term": 0}]}})
    assert verdict(output) == "REFERRED"
    assert "which are not believed here" in output.problems[0]
