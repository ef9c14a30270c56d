"""What a model that is held suggests can be done with that model, and an alternative can be asked."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import (
    House,
    build,
    model_request,
    people_descriptor,
    reasons,
    table_request,
    verdict,
    with_randhie,
)
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.model_plan import make_model_plan
from sdcgate.facility.model_suggestions import WITHOUT, model_suggestion
from sdcgate.facility.pace import Pace
from sdcgate.methods.outputs.problems import ModelProblem
from sdcgate.methods.rules import ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2


@pytest.fixture
def house(tmp_path: Path) -> Any:
    made = with_randhie(tmp_path, policy="five-safes")
    yield made
    made.facility.close()


def ask(house: House, formula: str, kind: str = "LINEAR", dataset: str = "randhie", **filters: Any) -> Any:
    asked = model_request(formula, kind, dataset, **filters)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


@pytest.mark.parametrize(
    ("kind", "formula", "filters", "reason", "suggested"),
    [
        ("LINEAR", "meddol ~ household_size * site", {}, "MINIMUM_UNITS", "ask household_size by groups"),
        (
            "LOGIT",
            'C(hlthp, event="1") ~ female + income',
            {"site": ["4"], "year": ["5"]},
            "MINIMUM_UNITS",
            "leave out a condition of the filter",
        ),
    ],
)
def test_what_is_suggested_can_be_done_with_the_model(
    house: House, kind: str, formula: str, filters: dict[str, list[str]], reason: str, suggested: str
) -> None:
    answered = ask(house, formula, kind, **filters)

    found = {
        one: said.suggestion for one, said in zip(reasons(answered), answered.decision.reasons, strict=True)
    }
    assert verdict(answered) == "REFUSED"
    assert suggested.lower() in found[reason].lower()
    assert "coarser" not in found[reason]


def test_a_model_without_a_filter_is_not_told_to_leave_it_out(tmp_path: Path) -> None:
    house = with_randhie(tmp_path, policy="israel-cbs")
    assert verdict(ask(house, "meddol ~ site")) == "RELEASED"

    answered = ask(house, 'C(education, level="stages") ~ female', "ORDERED_LOGIT")

    assert reasons(answered) == ["DIFFERENCING"]
    assert "filter" not in answered.decision.reasons[0].suggestion
    assert "table" not in answered.decision.reasons[0].suggestion
    assert "eave out" not in answered.decision.reasons[0].suggestion
    assert "people of an earlier answer" in answered.decision.reasons[0].suggestion
    house.facility.close()


@pytest.mark.parametrize(
    ("kind", "formula", "reason", "suggested"),
    [
        ("LOGIT", 'C(coins, event="100") ~ idp', "NOT_ESTIMABLE", "Ask another outcome or another term."),
        ("LOGIT", 'C(hlthp, event="1") ~ plan', "OUTCOME_CLASS", "Ask another outcome or another term."),
        (
            "PROBIT",
            'C(child, event="1") ~ numeric(age)',
            "NOT_ESTIMABLE",
            "Ask another outcome or another term.",  # ages part children from adults in bands, too
        ),
        ("MULTINOMIAL_LOGIT", "household_size ~ female", "MINIMUM_UNITS", "Ask the outcome by groups."),
        ("LINEAR", "mdvis ~ cube(meddol)", "LEVERAGE", "Ask meddol without cube."),
        ("LINEAR", "mdvis ~ cube(meddol)", "INFLUENCE", "Ask meddol without cube."),
    ],
)
def test_of_a_single_term_none_is_left_out(
    house: House, kind: str, formula: str, reason: str, suggested: str
) -> None:
    answered = ask(house, formula, kind)

    found = dict(zip(reasons(answered), answered.decision.reasons, strict=True))
    assert found[reason].suggestion == suggested
    assert "leave out" not in found[reason].message


@pytest.fixture
def planned(house: House) -> Any:
    dataset = house.engine.dataset("randhie")
    policy = house.facility._policies.of(dataset)

    def made(
        formula: str, kind: str = "LINEAR", groups: str = "", quantile: float = 0.0, **filters: Any
    ) -> Any:
        asked = pb.QueryModelRequest(
            dataset="randhie",
            kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"),
            formula=formula,
            groups=groups,
            quantile=quantile,
            filter=table_request(**filters).filter,
        )
        return make_model_plan(dataset, policy, asked)

    return made


def test_what_cannot_be_estimated_is_mended_where_it_fails(planned: Any) -> None:
    died = [ModelProblem("outcome", "nobody of this population has the event")]
    alone = [ModelProblem("groups", "have to be several")]
    cox = planned('surv(mdvis, C(hlthp, event="1")) ~ female', "COX", site=["1"])
    mixed = planned("mdvis ~ female", "MIXED", "household_size")

    of_events = model_suggestion(ReasonCode.NOT_ESTIMABLE, cox, died)
    of_groups = model_suggestion(ReasonCode.NOT_ESTIMABLE, mixed, alone)

    assert of_events == "Name another event, or leave out a condition of the filter or choose more codes."
    assert of_groups == "Ask groups of another variable, or ask LINEAR, which has none."

    beside = [ModelProblem("quantile", "has too few units beside it in a category")]
    tail = planned("meddol ~ household_size", "QUANTILE", quantile=0.9)
    middle = planned("meddol ~ household_size", "QUANTILE", quantile=0.5)

    of_tail = model_suggestion(ReasonCode.NOT_ESTIMABLE, tail, beside)
    of_median = model_suggestion(ReasonCode.NOT_ESTIMABLE, middle, beside)

    assert of_tail == "Ask a quantile nearer to 0.5, or ask household_size by groups."
    assert of_median == "Ask household_size by groups."


@pytest.mark.parametrize("code", [code for code in ReasonCode if code not in WITHOUT])
def test_each_reason_has_a_suggestion_and_none_of_what_a_model_lacks(planned: Any, code: ReasonCode) -> None:
    """One term, one level, no filter, no number: nothing of these can be left out or changed."""
    said = model_suggestion(code, planned("mdvis ~ female"))

    assert said
    for impossible in ("eave out", "filter or choose", "interaction", "coarser", "log1p"):
        assert impossible not in said


@pytest.mark.parametrize(
    ("kind", "formula", "groups", "filters", "path"),
    [
        ("COX", 'surv(mdvis, C(hlthp, event="1")) ~ female', "", {"hlthp": ["0"]}, "filter"),
        ("COX", 'surv(mdvis, C(hlthp, event="1")) ~ 1', "", {}, "formula"),
        ("LOGIT", 'C(hlthp, event="1") ~ female', "", {"hlthp": ["1"]}, "filter"),
        ("MIXED", "mdvis ~ female", "site", {"site": ["1"]}, "filter"),
        ("FIXED_EFFECTS", "mdvis ~ 1", "site", {}, "formula"),
    ],
)
def test_what_formula_and_filter_alone_make_impossible_is_a_mistake_in_the_request(
    planned: Any, kind: str, formula: str, groups: str, filters: dict[str, list[str]], path: str
) -> None:
    with pytest.raises(InvalidRequest) as wrong:
        planned(formula, kind, groups, **filters)

    assert [problem.path for problem in wrong.value.problems] == [path]


def test_of_variables_that_follow_from_each_other_no_alternative_keeps_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    psu = rng.integers(0, 6, 900)
    frame = pd.DataFrame(
        {"psu": psu, "region": psu // 3, "sex": rng.integers(0, 2, 900), "y": rng.normal(50, 9, 900).round(1)}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    house = build(tmp_path, policy="five-safes")
    measures = [{"name": "y", "decimals": 1, "lower_bound": 0, "upper_bound": 10000}]
    house.engine.register(people_descriptor({"psu": "012345", "region": "01", "sex": "01"}, measures))

    answered = ask(house, "y ~ psu + region + sex", dataset="people")

    assert reasons(answered) == ["NOT_ESTIMABLE"]
    formulas = [one.model.formula for one in answered.decision.alternatives]
    assert formulas
    followed = [ask(house, formula, dataset="people") for formula in formulas]
    assert any(verdict(one) == "RELEASED" for one in followed)
    assert not any({"psu", "region", "sex"} <= {*formula.split()} for formula in formulas)
    house.facility.close()


@pytest.mark.parametrize(
    "formula",
    [
        "meddol ~ site * age * year",
        "meddol ~ site * female * plan",
        "meddol ~ plan * education * age + income",
    ],
)
def test_of_models_named_in_place_of_one_that_tells_of_few_one_leaves(tmp_path: Path, formula: str) -> None:
    """Those that lose least tell of few as well."""
    house = with_randhie(tmp_path, policy="five-safes")

    answered = ask(house, formula)

    assert reasons(answered) == ["MINIMUM_UNITS"]
    named = [one.model.formula for one in answered.decision.alternatives]
    assert len({*named}) == len(named) > 1
    assert not any(one.judged for one in answered.decision.alternatives)
    followed = {verdict(ask(house, one)) for one in named}
    assert followed & {"RELEASED", "RELEASED_PROTECTED"}
    house.facility.close()


def test_a_model_of_too_many_factors_together_names_the_one_without_interactions(tmp_path: Path) -> None:
    house = with_randhie(tmp_path)
    answered = ask(house, "meddol ~ site*plan*year*female*child")
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MAXIMUM_DIMENSIONS"])
    named = [one.model.formula for one in answered.decision.alternatives]
    assert any(":" not in formula for formula in named), named
    plain = next(formula for formula in named if ":" not in formula)
    assert reasons(ask(house, plain)) != ["MAXIMUM_DIMENSIONS"]
    house.facility.close()
