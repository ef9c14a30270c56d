"""Models through the whole facility: estimates of the records, and nothing that tables would not tell."""

from time import process_time

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from house import build, cells, person, reasons, verdict, with_randhie
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.facility import models
from sdcgate.facility.errors import Forbidden, InvalidRequest
from sdcgate.facility.in_process import LocalProtection
from sdcgate.facility.pace import Pace
from sdcgate.facility.ports import Pattern
from sdcgate.methods.tables.problem import Proof
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies, parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, table_pb2

RAND = "randhie/src/randhie.csv"


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    from importlib.resources import files

    return pd.read_csv(str(files("statsmodels") / "datasets" / RAND))


@pytest.fixture
def house(tmp_path):
    made = with_randhie(tmp_path)
    yield made
    made.facility.close()


@pytest.fixture
def exact_house(tmp_path):
    """A house whose policy lets all digits out."""
    text = (BUNDLED / "israel-cbs.yaml").read_text()
    for rounded, exact in (
        ("significant_digits: 4", "significant_digits: 17"),
        ("counts_base: 10", "counts_base: 1"),
    ):
        assert rounded in text
        text = text.replace(rounded, exact)
    made = with_randhie(tmp_path, policies={**load_policies(), "israel-cbs": parse_policy(text)})
    yield made
    made.facility.close()


def request(formula: str, kind: str = "LINEAR", dataset: str = "randhie", **filters) -> pb.QueryModelRequest:
    asked = pb.QueryModelRequest(
        dataset=dataset, kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"), formula=formula
    )
    for name, codes in filters.items():
        variable, _, level = name.partition("__")
        asked.filter.add(variable=variable, level=level, codes=codes)
    return asked


def ask(house, formula: str, kind: str = "LINEAR", **asked):
    return house.facility.query_model(house.researcher, request(formula, kind, **asked), Pace(60.0))


def estimates(answered) -> dict[str, float | None]:
    """Estimates by name, None where withheld."""
    shown = table_pb2.CELL_STATUS_PUBLISHED
    return {
        one.name: one.estimate if one.status == shown else None
        for one in answered.decision.model.coefficients
    }


def test_estimates_are_those_of_statsmodels_on_the_records(exact_house, people) -> None:
    answered = ask(exact_house, "meddol ~ site + female * numeric(age) + log1p(outpdol)")

    assert verdict(answered) == "RELEASED"
    own = people.assign(age=np.floor(people["xage"]))
    theirs = smf.ols("meddol ~ C(site) + C(female) * age + np.log1p(outpdol)", own).fit()
    found = answered.decision.model
    by_name = {
        "Intercept": "Intercept",
        "site[T.4]": "C(site)[T.4]",
        "female[T.1]": "C(female)[T.1]",
        "numeric(age)": "age",
        "female[T.1]:numeric(age)": "C(female)[T.1]:age",
        "log1p(outpdol)": "np.log1p(outpdol)",
    }
    shown = {one.name: one for one in found.coefficients}
    for ours, name in by_name.items():
        assert shown[ours].estimate == pytest.approx(theirs.params[name], rel=1e-8)
        assert shown[ours].standard_error == pytest.approx(theirs.bse[name], rel=1e-8)
    assert len(shown) == len(theirs.params)
    fit = {model_pb2.FitStatistic.Name(one.statistic): one.value for one in found.fit}
    assert fit["FIT_STATISTIC_R_SQUARED"] == pytest.approx(theirs.rsquared, rel=1e-8)
    assert (found.units, found.records, found.residual_degrees) == (5912, 20190, int(theirs.df_resid))


def test_figures_leave_with_few_digits_and_counts_rounded(house) -> None:
    found = ask(house, "meddol ~ female").decision.model

    assert (found.units, found.records) == (5910, 20190)
    for one in found.coefficients:
        assert one.estimate == float(f"{one.estimate:.3e}")


def test_the_same_formula_in_another_spelling_is_the_same_question(house) -> None:
    first = ask(house, "meddol ~ female + site")
    again = ask(house, "meddol~1+C( site )+female")

    assert again.repeated
    assert again.decision == first.decision


def test_a_category_that_tables_withhold_has_no_coefficient(house) -> None:
    found = ask(house, "meddol ~ household_size")

    assert verdict(found) == "RELEASED_PROTECTED"
    table = house.ask(rows=["household_size"], figures=["UNITS", "MEAN:meddol"])
    codes = table.decision.table.dimensions[0].codes
    hidden = {
        f"household_size[T.{codes[place]}]"
        for place, status in enumerate(table.decision.table.statuses)
        if status == table_pb2.CELL_STATUS_WITHHELD
    }
    assert hidden
    assert {name for name, value in estimates(found).items() if value is None} == hidden


def test_a_model_with_all_interactions_is_the_table_of_its_factors(exact_house, people) -> None:
    answered = ask(exact_house, 'meddol ~ C(age, level="broad") * female')

    assert verdict(answered) == "RELEASED"
    found = estimates(answered)
    young, grown = ((people["xage"] // 1 <= 17), (people["xage"] // 1).between(18, 39))
    men = people["female"] == 0
    assert found["Intercept"] == pytest.approx(people[young & men]["meddol"].mean(), rel=1e-8)
    first = 'C(age, level="broad")[T.18-39]'
    assert found[first] == pytest.approx(
        people[grown & men]["meddol"].mean() - people[young & men]["meddol"].mean(), rel=1e-8
    )
    table = exact_house.ask(rows=["age:broad"], columns=["female"], figures=["UNITS", "MEAN:meddol"])
    assert verdict(table) == "RELEASED"


def test_combinations_that_nobody_has_are_left_out(house) -> None:
    answered = ask(house, 'meddol ~ 0 + C(age, level="broad"):child', year=["1"])

    table = house.ask(rows=["age:broad"], columns=["child"], figures=["UNITS", "MEAN:meddol"], year=["1"])
    shown = estimates(answered)
    assert verdict(answered) == "RELEASED"
    for (age, child), (units, mean) in cells(table).items():
        if "_T" not in (age, child) and "_U" not in (age, child):
            name = f'C(age, level="broad")[{age}]:child[{child}]'
            assert (name in shown) == (units != 0), name
            if units:
                assert shown[name] == pytest.approx(mean, rel=6e-4, abs=0.06)
    assert len(shown) == 3


def test_a_model_whose_table_of_combinations_withholds_cells_is_refused_whatever_its_fit_would_say(
    house,
) -> None:
    """Whether it can be estimated, and what rests on one of the withheld people, would tell of them."""
    for formula in ("meddol ~ site*plan", "meddol ~ site*plan + site:plan:income", "meddol ~ 0 + site:plan"):
        answered = ask(house, formula, year=["1"])
        assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"]), formula


def test_a_model_of_nearly_the_same_people_is_refused_in_both_orders(house) -> None:
    valid = [str(years) for years in range(26)]
    assert verdict(ask(house, "meddol ~ female", site=["3"], year=["2"])) == "RELEASED"
    nearly = ask(house, "meddol ~ female", site=["3"], year=["2"], education=valid)
    assert verdict(nearly) == "REFUSED"
    assert reasons(nearly) == ["DIFFERENCING"]


def test_where_the_policy_allows_it_units_are_left_out_at_random_instead(tmp_path, people) -> None:
    text = (
        (BUNDLED / "israel-cbs.yaml")
        .read_text()
        .replace("counts_base: 10", "counts_base: 10\n    left_out_share: 0.05")
    )
    # Who is left out rests on the engine's secret: a fixed one, so that enough are.
    engine = Engine(tmp_path, tmp_path / "snapshots", bytes(range(32)))
    house = with_randhie(
        tmp_path, policies={**load_policies(), "israel-cbs": parse_policy(text)}, engine=engine
    )
    here = {"site": ["3"], "year": ["2"]}
    assert verdict(ask(house, "meddol ~ female", **here)) == "RELEASED"

    # Few lack the schooling of the head of their household.
    nearly = ask(house, "meddol ~ female + numeric(education)", **here)

    assert verdict(nearly) == "RELEASED_PROTECTED"
    assert reasons(nearly) == ["DIFFERENCING"]
    assert "5% of the units were left out at random" in nearly.decision.reasons[0].message
    valid = people[(people["year"] == 2) & (people["site"] == 3) & people["educdec"].notna()]
    assert 0.9 * len(valid) - 10 < nearly.decision.model.records < 0.99 * len(valid)
    other = ask(house, "meddol ~ numeric(education)", **here)
    assert other.decision.model.records == nearly.decision.model.records
    assert verdict(house.ask(rows=["female"], **here)) == "RELEASED"
    house.facility.close()


def test_where_a_category_would_lose_too_few_it_is_refused_all_the_same(tmp_path) -> None:
    text = (
        (BUNDLED / "israel-cbs.yaml")
        .read_text()
        .replace("counts_base: 10", "counts_base: 10\n    left_out_share: 0.01")
    )
    house = with_randhie(tmp_path, policies={**load_policies(), "israel-cbs": parse_policy(text)})
    here = {"site": ["3"], "year": ["2"]}
    assert verdict(ask(house, "meddol ~ female", **here)) == "RELEASED"

    assert verdict(ask(house, "meddol ~ female + numeric(education)", **here)) == "REFUSED"
    house.facility.close()


def test_a_model_after_a_table_of_nearly_the_same_people_is_refused(house) -> None:
    valid = [str(years) for years in range(26)]
    house.ask(rows=["female"], site=["3"], year=["2"], education=valid)

    assert reasons(ask(house, "meddol ~ female", site=["3"], year=["2"])) == ["DIFFERENCING"]


def test_a_table_after_a_model_of_nearly_the_same_people_is_refused(house) -> None:
    valid = [str(years) for years in range(26)]
    assert verdict(ask(house, "meddol ~ female", site=["3"], year=["2"], education=valid)) == "RELEASED"

    assert reasons(house.ask(rows=["female"], site=["3"], year=["2"])) == ["DIFFERENCING"]


def test_constants_that_could_cut_one_person_out_cannot_be_written(house) -> None:
    for formula in (
        "meddol ~ log(lincome - 3.7)",
        "meddol ~ I(1 / (numeric(age) - 41))",
        "meddol ~ bs(age, df=4)",
    ):
        with pytest.raises(InvalidRequest) as refused:
            ask(house, formula)
        assert refused.value.problems[0].path == "formula"


def test_a_quantile_that_could_be_moved_by_one_record_is_not_among_those_of_the_policy(house) -> None:
    asked = request("meddol ~ 1", "QUANTILE")
    asked.quantile = 0.5001
    with pytest.raises(InvalidRequest) as refused:
        house.facility.query_model(house.researcher, asked, Pace(60.0))
    (problem,) = refused.value.problems
    assert problem.path == "quantile"
    assert " 0.5," in problem.message


@pytest.mark.parametrize("policy", ["israel-cbs", "five-safes"])
def test_quantile_models_which_no_audit_compares_are_not_offered_by_the_bundled_policies(policy) -> None:
    (levels,) = [policies for name, policies in load_policies().items() if name == policy]
    for level in levels.access_levels:
        assert "QUANTILE" not in levels.effective(level, "any").models.kinds


def test_a_factor_of_very_many_codes_is_refused_before_any_table_is_computed(tmp_path) -> None:
    codes = [f"c{number}" for number in range(2_000)]
    lines = [f"{codes[number % 2_000]},{number % 7}" for number in range(4_000)]
    (tmp_path / "many.csv").write_text("\n".join(["code,y", *lines]) + "\n")
    made = build(tmp_path)
    variable = {
        "name": "code",
        "identifying": "NO",
        "levels": [{"codes": [{"code": code} for code in codes]}],
    }
    declared = {"name": "many", "data": {"path": "many.csv"}, "design": {"coverage": "CENSUS"}}
    made.engine.register(parse_descriptor({**declared, "variables": [variable], "measures": [{"name": "y"}]}))
    for kind, formula in (("LINEAR", "y ~ code"), ("MULTINOMIAL_LOGIT", "code ~ 1")):
        with pytest.raises(InvalidRequest) as refused:
            made.facility.query_model(made.researcher, request(formula, kind, "many"), Pace(5.0))
        (problem,) = refused.value.problems
        assert problem.path == "formula"
        assert "2001 codes" in problem.message


def test_groups_of_very_many_codes_are_answered_in_no_time(tmp_path) -> None:
    lines = [f"{number % 40_000},{number}" for number in range(40_000)]
    (tmp_path / "many.csv").write_text("\n".join(["code,y", *lines]) + "\n")
    made = build(tmp_path, policy="five-safes")
    variable = {"name": "code", "identifying": "NO", "levels": [{"integers": {"first": 0, "last": 99_999}}]}
    declared = {"name": "many", "data": {"path": "many.csv"}, "design": {"coverage": "CENSUS"}}
    made.engine.register(parse_descriptor({**declared, "variables": [variable], "measures": [{"name": "y"}]}))
    asked = request("y ~ 1", "MIXED", dataset="many")
    asked.groups = "code"

    began = process_time()
    answered = made.facility.query_model(made.researcher, asked, Pace(60.0))

    assert reasons(answered) == ["MAXIMUM_CELLS"]
    assert answered.decision.reasons[0].suggestion == "Ask another outcome or another term."
    assert process_time() - began < 5  # half a minute where each code is looked for among all others
    made.facility.close()


class NeverProved(LocalProtection):
    """As the protection service where its time is over."""

    def protect_table(self, problem, unsafe, *asked, **more) -> Pattern:
        return Pattern(unsafe, Proof.UNPROVED, None, in_time=False)


def test_a_model_whose_own_table_breaks_a_rule_is_not_judged_anew_without_some_units(
    tmp_path, monkeypatch
) -> None:
    """Units are left out against earlier answers only; of 10^5 groups judging the table takes a while."""
    made = with_randhie(tmp_path, policy="five-safes", protection=NeverProved())
    again: list[object] = []
    monkeypatch.setattr(models, "only_differencing", lambda *table: again.append(table))

    answered = ask(made, "meddol ~ plan", site=["2"], age=["60"])

    made.facility.close()
    assert (verdict(answered), reasons(answered)) == ("REFERRED", ["UNPROVED"])
    assert again == []


def test_a_filter_that_leaves_nobody_is_no_error(house) -> None:
    answered = ask(house, "meddol ~ female", site=["2"], plan=["1"])
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_BASE"])


def test_a_filter_that_leaves_nobody_is_no_error_where_no_base_is_asked_for(tmp_path) -> None:
    made = with_randhie(tmp_path, policy="five-safes")
    for kind, formula in (
        ("LINEAR", "meddol ~ female"),
        ("LOGIT", 'C(hlthp, event="1") ~ female + income'),
        ("COX", 'surv(mdvis, C(hlthp, event="1")) ~ female'),
    ):
        answered = ask(made, formula, kind, site=["2"], plan=["1"])
        assert (verdict(answered), reasons(answered)) == ("REFUSED", ["NOT_ESTIMABLE"])
    made.facility.close()


def test_all_that_is_wrong_is_told_at_once(house) -> None:
    asked = request("meddol ~ sitee + nosuch(age)", female=["7"])
    asked.weighted = True
    with pytest.raises(InvalidRequest) as refused:
        house.facility.query_model(house.researcher, asked, Pace(60.0))

    paths = [problem.path for problem in refused.value.problems]
    assert paths.count("formula") == 2
    assert {"filter[0].codes[0]", "weighted"} <= set(paths)


@pytest.mark.parametrize(
    ("kind", "outcome", "why"),
    [
        ("GAMMA", "mdvis", "is above 0"),
        ("POISSON", "meddol", "is a count"),
        ("NEGATIVE_BINOMIAL", "meddol", "is a count"),
    ],
)
def test_whether_an_outcome_is_a_count_or_above_0_is_a_matter_of_its_descriptor(
    house, kind, outcome, why
) -> None:
    """Of the data it would tell that somebody has a 0, or no whole number."""
    with pytest.raises(InvalidRequest) as refused:
        ask(house, f"{outcome} ~ female", kind)
    (problem,) = refused.value.problems
    assert problem.path == "formula"
    assert why in problem.message
    assert outcome in problem.message


def test_an_outcome_is_no_instrument(house) -> None:
    asked = request("meddol ~ income", "TWO_STAGE")
    for outcome in ("meddol", "log1p(meddol) + income"):
        asked.instruments = outcome
        with pytest.raises(InvalidRequest) as refused:
            house.facility.query_model(house.researcher, asked, Pace(5.0))
        assert [(one.path, one.message) for one in refused.value.problems] == [
            ("instruments", "meddol is the outcome and cannot be an instrument.")
        ]


def test_what_cannot_be_estimated_is_refused_and_recorded(house) -> None:
    answered = ask(house, "meddol ~ numeric(coins) + coins + site", year=["1"])

    assert verdict(answered) == "REFUSED"
    assert reasons(answered) == ["NOT_ESTIMABLE"]
    assert ask(house, "meddol ~ numeric(coins) + coins + site", year=["1"]).repeated


def test_why_a_model_cannot_be_estimated_is_told_by_its_terms(house) -> None:
    answered = ask(house, "meddol ~ hlthp", "FIXED_EFFECTS")

    (reason,) = answered.decision.reasons
    assert reasons(answered) == ["NOT_ESTIMABLE"]
    assert "hlthp" in reason.message


def test_options_of_other_kinds_are_told_with_their_paths(house) -> None:
    asked = request("meddol ~ female", "LINEAR")
    asked.groups, asked.instruments, asked.quantile = "site", "female", 0.3
    asked.standard_errors = model_pb2.STANDARD_ERRORS_DESIGN
    with pytest.raises(InvalidRequest) as refused:
        house.facility.query_model(house.researcher, asked, Pace(60.0))

    assert {problem.path for problem in refused.value.problems} == {
        "groups",
        "instruments",
        "quantile",
        "standard_errors",
    }


def test_researchers_see_what_they_asked_and_checkers_every_digit(house) -> None:
    answered = ask(house, "meddol ~ site")

    mine = house.facility.get_query(house.researcher, answered.decision.query)
    assert mine.model_request.formula == "meddol ~ site"
    assert not mine.HasField("checker")
    checked = house.facility.get_query(house.checker, answered.decision.query)
    rounded, full = mine.decision.model.coefficients[0], checked.checker.model.coefficients[0]
    assert full.estimate != rounded.estimate
    assert full.estimate == pytest.approx(rounded.estimate, rel=1e-3)


def test_models_are_for_researchers_and_for_policies_that_allow_them(house, tmp_path) -> None:
    with pytest.raises(Forbidden):
        house.facility.query_model(person("steward", "stefan"), request("meddol ~ site"), Pace(60.0))
    other = with_randhie(tmp_path / "other", policy="statistics-netherlands-researchers")
    answered = ask(other, "meddol ~ site")
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["NOT_ALLOWED"])


def test_terms_of_too_many_factors_are_refused_without_data(house) -> None:
    answered = ask(house, "meddol ~ site:plan:female:year")

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MAXIMUM_DIMENSIONS"])


def test_a_dummy_for_a_single_person_does_not_pass(tmp_path) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "id": range(200),
            # 2 and 1: the one who has a 1 among zeros is withheld in the table of the sums already.
            "one": [2] + [1] * 199,
            "other": [1] * 199 + [2],
            "x": rng.normal(size=200).round(2),
            "y": rng.normal(size=200).round(2),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    house = build(tmp_path, policy="five-safes")
    bounds = {"lower_bound": -9.0, "upper_bound": 9.0}
    numbers = [{"name": name, "decimals": 2, **bounds} for name in ("x", "y", "one")]
    variable = {
        "name": "dummy",
        "column": "other",
        "identifying": "NO",
        "levels": [{"codes": [{"code": "1"}, {"code": "2"}]}],
    }
    house.engine.register(
        parse_descriptor(
            {
                "name": "people",
                "data": {"path": "people.csv"},
                "unit": {"column": "id", "label": "person"},
                "design": {"coverage": "CENSUS"},
                "variables": [variable],
                "measures": numbers,
            }
        )
    )

    as_measure = ask(house, "y ~ x + one", dataset="people")
    as_factor = ask(house, "y ~ x + dummy", dataset="people")

    assert verdict(as_measure) == "REFUSED"
    assert set(reasons(as_measure)) & {"INFLUENCE", "LEVERAGE"}
    assert verdict(as_factor) == "REFUSED"
    house.facility.close()
