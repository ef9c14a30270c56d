"""Survival curves, significance tests, correlations and components through the whole facility."""

from contextlib import ExitStack
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.duration.survfunc import SurvfuncRight
from statsmodels.stats.anova import anova_lm

from house import build, reasons, table_request, verdict
from patients import CODES, descriptor, patients
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.pace import Pace
from sdcgate.methods.outputs.survival import survival_curve
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

DIGITS = 5e-4
"""What four significant digits change at most."""


def hospital(folder, frame: pd.DataFrame, **varies):
    """A house with one dataset of patients."""
    frame.to_csv(folder / "patients.csv", index=False)
    house = build(folder, policy="five-safes")
    house.engine.register(parse_descriptor(descriptor(**varies)))
    HOUSES.callback(house.facility.close)
    return house


HOUSES = ExitStack()
"""Houses whose workers are ended after the last test."""


@pytest.fixture(scope="module", autouse=True)
def ended():
    with HOUSES:
        yield


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return patients()


@pytest.fixture(scope="module")
def house(tmp_path_factory, people):
    return hospital(tmp_path_factory.mktemp("patients"), people)


def request(
    kind: str, measure: str = "", groups=(), filter=None, having=None, measures=(), factors=(), **asked
):
    found = pb.QueryStatisticRequest(
        dataset="patients",
        kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}"),
        measure=measure,
        measures=measures,
        **asked,
    )
    for name in groups:
        found.groups.add(variable=name)
    for name in factors:
        found.factors.add(variable=name)
    for variable, codes in (filter or {}).items():
        found.filter.add(variable=variable, codes=codes)
    if having:
        found.having.CopyFrom(pb.FilterRequest(variable=having[0], codes=having[1]))
    return found


def ask(house, kind: str, measure: str = "", **asked):
    return house.facility.query_statistic(house.researcher, request(kind, measure, **asked), Pace(60.0))


def figures(answered, group: int = 0) -> dict[str, float]:
    """Figures of a group by name."""
    return {
        one.name: dict(zip(one.groups, one.values, strict=True))[group]
        for one in answered.decision.statistic.figures
        if group in one.groups
    }


def curve(answered, name: str, group: int = 0) -> tuple[list[float], list[float]]:
    for one in answered.decision.statistic.curves:
        if (one.name, one.group) == (name, group):
            return list(one.x), list(one.y)
    raise LookupError(name)


ILL = ("status", ["ill"])


def test_a_survival_curve_of_months_is_that_of_kaplan_and_meier(house, people) -> None:
    answered = ask(house, "KAPLAN_MEIER", "month", groups=["sex"], having=ILL)

    assert verdict(answered) == "RELEASED"
    for place, sex in enumerate(CODES["sex"]):
        some = people[people["sex"] == sex]
        peer = SurvfuncRight(some["month"], some["status"] == "ill")
        months, survival = curve(answered, "survival", place)
        _, errors = curve(answered, "survival_error", place)
        assert months == list(range(1, 9))
        assert survival == pytest.approx(peer.surv_prob, rel=DIGITS)
        assert errors == pytest.approx(peer.surv_prob_se, rel=DIGITS)
        assert figures(answered, place)["median"] == peer.quantile(0.5)


def test_a_cumulative_hazard_is_that_of_nelson_and_aalen(house, people) -> None:
    answered = ask(house, "NELSON_AALEN", "month", having=ILL)

    at_risk = [(people["month"] >= month).sum() for month in range(1, 9)]
    events = [(people["month"] == month).sum() for month in range(1, 9)]
    _, hazard = curve(answered, "cumulative_hazard")
    assert hazard == pytest.approx(np.cumsum(np.array(events) / at_risk), rel=DIGITS)
    assert figures(answered) == {"cumulative_hazard": pytest.approx(hazard[-1])}


def test_days_are_taken_together_until_ten_units_fall_ill_in_each_step(house, people) -> None:
    answered = ask(house, "KAPLAN_MEIER", "day", having=ILL)

    days, survival = curve(answered, "survival")
    exact = survival_curve(people["day"].to_numpy(), (people["status"] == "ill").to_numpy(), 10)
    assert len(days) > 10
    assert survival == pytest.approx(exact.survival.tolist(), rel=DIGITS)
    assert exact.events.min() >= 10
    assert not {f"{day:.4g}" for day in exact.ends} & {f"{day:.4g}" for day in days}


def test_a_checker_sees_the_curve_with_every_digit(house, people) -> None:
    answered = ask(house, "KAPLAN_MEIER", "month", filter={"plan": ["b", "c"]}, having=ILL)
    seen = house.facility.get_query(house.checker, answered.decision.query).checker.statistic

    some = people[people["plan"] != "a"]
    peer = SurvfuncRight(some["month"], some["status"] == "ill")
    assert seen.curves[0].y == pytest.approx(peer.surv_prob, rel=1e-12)
    assert len(seen.pictures) == 0


def test_a_curve_of_some_tells_how_many_of_the_others_fall_ill_in_a_month(tmp_path, people) -> None:
    """Five of plan a do so in the seventh, which the curves of all and of the other plans would tell."""
    house = hospital(tmp_path, people)
    assert ((people["plan"] == "a") & (people["month"] == 7)).sum() == 5
    assert verdict(ask(house, "KAPLAN_MEIER", "month", having=ILL)) == "RELEASED"

    others = ask(house, "KAPLAN_MEIER", "month", filter={"plan": ["b", "c"]}, having=ILL)

    assert (verdict(others), reasons(others)) == ("REFUSED", ["DIFFERENCING"])
    assert verdict(ask(house, "NELSON_AALEN", "month", having=ILL)) == "RELEASED"


def test_where_all_who_stay_well_are_observed_as_long_their_mean_leaves_or_the_curve_does(
    tmp_path, people
) -> None:
    """All minus the ill are those in whom all have the same: the rule on equal values withholds their sum."""
    house = hospital(tmp_path, people)
    assert set(people["month"][people["status"] == "well"]) == {9.0}
    assert verdict(ask(house, "KAPLAN_MEIER", "month", having=ILL)) == "RELEASED"

    mean = ask(house, "MEAN", "month")

    assert (verdict(mean), reasons(mean)) == ("REFUSED", ["MINIMUM_UNITS"])


def test_steps_are_drawn_where_a_drawing_is_asked_for(tmp_path, people) -> None:
    house = hospital(tmp_path, people)
    drawn = ask(house, "KAPLAN_MEIER", "month", groups=["plan"], having=ILL, picture=True)
    without = ask(house, "KAPLAN_MEIER", "month", groups=["plan"], having=ILL)

    pictures = drawn.decision.statistic.pictures
    assert [list(one.groups) for one in pictures] == [[0], [1], [2]]
    assert all(one.svg.startswith("<svg") for one in pictures)
    assert len(without.decision.statistic.pictures) == 0
    assert drawn.decision.statistic.curves == without.decision.statistic.curves


def test_a_t_test_is_that_of_scipy(house, people) -> None:
    answered = ask(house, "T_TEST", "income", having=("sex", ["f"]))

    samples = [people.loc[people["sex"] == sex, "income"] for sex in ("f", "m")]
    peer = stats.ttest_ind(*samples, equal_var=False)
    assert verdict(answered) == "RELEASED"
    assert figures(answered) == pytest.approx(
        {"t": peer.statistic, "degrees_of_freedom": peer.df, "p_value": peer.pvalue}, rel=DIGITS
    )


def test_tests_of_ranks_and_distributions_are_those_of_scipy(house, people) -> None:
    few, many = (people.loc[people["sex"] == sex, "income"] for sex in ("f", "m"))
    ranks = stats.mannwhitneyu(few, many, method="asymptotic")
    assert figures(ask(house, "MANN_WHITNEY_TEST", "income", having=("sex", ["f"]))) == pytest.approx(
        {"u": ranks.statistic, "p_value": ranks.pvalue}, rel=DIGITS
    )
    distance = stats.ks_2samp(few, many, method="asymp")
    assert figures(ask(house, "KOLMOGOROV_SMIRNOV_TEST", "income", having=("sex", ["f"]))) == pytest.approx(
        {"d": distance.statistic, "p_value": distance.pvalue}, rel=DIGITS
    )


def test_a_chi_squared_test_is_that_of_scipy(house, people) -> None:
    answered = ask(house, "CHI_SQUARED_TEST", factors=["sex", "plan"])

    peer = stats.chi2_contingency(pd.crosstab(people["sex"], people["plan"]), correction=False)
    assert figures(answered) == pytest.approx(
        {"chi_squared": peer.statistic, "degrees_of_freedom": peer.dof, "p_value": peer.pvalue}, rel=DIGITS
    )


def test_an_analysis_of_variance_is_that_of_statsmodels(house, people) -> None:
    answered = ask(house, "ANALYSIS_OF_VARIANCE", "income", factors=["sex", "plan"])

    peer = anova_lm(smf.ols("income ~ C(sex) * C(plan)", people).fit(), typ=2)
    found = figures(answered)
    for term, line in {"sex": "C(sex)", "plan": "C(plan)", "sex:plan": "C(sex):C(plan)"}.items():
        assert found[f"F({term})"] == pytest.approx(peer.loc[line, "F"], rel=DIGITS)
        assert found[f"p_value({term})"] == pytest.approx(peer.loc[line, "PR(>F)"], rel=DIGITS)
        assert found[f"sum_of_squares({term})"] == pytest.approx(peer.loc[line, "sum_sq"], rel=DIGITS)
        assert found[f"degrees_of_freedom({term})"] == peer.loc[line, "df"]
    assert found["residual_sum_of_squares"] == pytest.approx(peer.loc["Residual", "sum_sq"], rel=DIGITS)
    assert found["residual_degrees"] == peer.loc["Residual", "df"]


def test_one_factor_gives_the_f_of_scipy_in_each_group(house, people) -> None:
    answered = ask(house, "ANALYSIS_OF_VARIANCE", "income", factors=["plan"], groups=["sex"])

    for place, sex in enumerate(CODES["sex"]):
        some = people[people["sex"] == sex]
        peer = stats.f_oneway(*(some.loc[some["plan"] == plan, "income"] for plan in CODES["plan"]))
        assert figures(answered, place)["F(plan)"] == pytest.approx(peer.statistic, rel=DIGITS)


def test_correlations_are_those_of_scipy(house, people) -> None:
    names = ["income", "wealth", "age"]
    answered = ask(house, "CORRELATIONS", measures=names)

    expected = {}
    for first, second in combinations(names, 2):
        peer = stats.pearsonr(people[first], people[second])
        expected |= {
            f"correlation({first},{second})": peer.statistic,
            f"p_value({first},{second})": peer.pvalue,
        }
    assert figures(answered) == pytest.approx(expected, rel=DIGITS)


def test_components_are_those_of_the_correlations_and_no_score_leaves(house, people) -> None:
    names = ("income", "wealth", "age")
    answered = ask(house, "PRINCIPAL_COMPONENTS", measures=names)

    variances, vectors = np.linalg.eigh(np.corrcoef(people[list(names)].to_numpy(), rowvar=False))
    found = figures(answered)
    assert [found[f"variance({number})"] for number in (1, 2, 3)] == pytest.approx(
        variances[::-1].tolist(), rel=DIGITS
    )
    for number in (1, 2, 3):
        loadings = [found[f"loading({number},{name})"] for name in names]
        assert np.abs(loadings) == pytest.approx(np.abs(vectors[:, -number]), rel=5 * DIGITS)
    assert len(answered.decision.statistic.curves) == 0
    assert len(found) == 3 + 9


def test_a_step_of_one_persons_time_is_no_step(tmp_path) -> None:
    """All fall ill in whole months but one, whose time is 3.217: no curve has a step there."""
    frame = patients()
    frame.loc[200, ["month", "status"]] = [3.217, "ill"]
    answered = ask(hospital(tmp_path, frame), "KAPLAN_MEIER", "month", having=ILL)

    months, survival = curve(answered, "survival")
    assert months[:3] == [1, 2, 3]
    assert 3.9 < months[3] < 4
    assert len(months) == len(survival) == 8


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("KAPLAN_MEIER", {"measure": "month", "having": ILL}),
        ("NELSON_AALEN", {"measure": "month", "having": ILL}),
        ("CORRELATIONS", {"measures": ["income", "wealth"]}),
        ("PRINCIPAL_COMPONENTS", {"measures": ["income", "wealth"]}),
        ("CHI_SQUARED_TEST", {"factors": ["sex", "plan"]}),
        ("T_TEST", {"measure": "income", "having": ("sex", ["f"])}),
        ("MANN_WHITNEY_TEST", {"measure": "income", "having": ("sex", ["f"])}),
        ("KOLMOGOROV_SMIRNOV_TEST", {"measure": "income", "having": ("sex", ["f"])}),
        ("ANALYSIS_OF_VARIANCE", {"measure": "income", "factors": ["plan"]}),
    ],
)
def test_of_all_and_of_all_but_three_only_the_first_that_is_asked_leaves(
    tmp_path, people, kind, asked
) -> None:
    house = hospital(tmp_path, people)

    assert verdict(ask(house, kind, **asked)) == "RELEASED"
    rest = ask(house, kind, filter={"ward": ["big"]}, **asked)
    assert (verdict(rest), reasons(rest)) == ("REFUSED", ["DIFFERENCING"])
    table = house.facility.query_table(house.researcher, table_request("patients", ward=["big"]), Pace(60.0))
    assert verdict(table) == "REFUSED"


def test_correlations_of_populations_that_differ_by_who_lacks_a_measure_are_compared(tmp_path) -> None:
    """Complete cases are the population: three lack their wealth, so two matrices differ by these three."""
    frame = patients()
    frame.loc[[50, 51, 52], "wealth"] = np.nan
    house = hospital(tmp_path, frame)
    first = ask(house, "CORRELATIONS", measures=["income", "age"])
    second = ask(house, "CORRELATIONS", measures=["income", "age", "wealth"])

    assert verdict(first) == "RELEASED"
    assert (verdict(second), reasons(second)) == ("REFUSED", ["DIFFERENCING"])


def test_a_correlation_that_one_person_makes_is_refused(tmp_path) -> None:
    frame = patients()
    frame.loc[100, ["income", "wealth"]] = [99_000, 990_000]
    answered = ask(hospital(tmp_path, frame), "CORRELATIONS", measures=["income", "wealth"])

    assert np.corrcoef(frame["income"], frame["wealth"])[0, 1] > 0.9
    assert verdict(answered) == "REFUSED"


def test_a_curve_with_too_few_events_in_a_group_withholds_that_group(tmp_path) -> None:
    frame = patients()
    frame.loc[(frame["plan"] == "c") & (frame.index > 120), ["month", "status"]] = [9, "well"]
    answered = ask(hospital(tmp_path, frame), "KAPLAN_MEIER", "month", groups=["plan"], having=ILL)

    assert (frame["status"][frame["plan"] == "c"] == "ill").sum() > 10
    assert verdict(answered) in ("RELEASED", "RELEASED_PROTECTED")
    months, _ = curve(answered, "survival", 2)
    assert len(months) < 8


def test_a_test_of_a_small_sample_is_refused(house) -> None:
    answered = ask(house, "T_TEST", "income", having=("ward", ["small"]))

    assert verdict(answered) == "REFUSED"
    assert not answered.decision.HasField("statistic")


def test_a_measure_that_does_not_vary_has_no_correlation(tmp_path) -> None:
    frame = patients().assign(wealth=5)
    answered = ask(hospital(tmp_path, frame), "CORRELATIONS", measures=["income", "wealth"])

    assert verdict(answered) == "REFUSED"


def test_units_with_many_records_do_not_make_a_step(tmp_path) -> None:
    """Nine people with sixty records each: no step has ten of them."""
    frame = patients()
    frame["id"] = frame.index % 9
    few = hospital(tmp_path, frame, varies_within_unit=True)
    assert verdict(ask(few, "KAPLAN_MEIER", "month", having=ILL)) == "REFUSED"


@pytest.mark.parametrize(
    ("kind", "asked", "paths"),
    [
        ("KAPLAN_MEIER", {"measure": "age"}, {"measure", "having"}),
        ("KAPLAN_MEIER", {"having": ("status", ["ill", "well"])}, {"measure", "having.codes"}),
        ("T_TEST", {"measure": "income", "having": ("moon", ["1"])}, {"having.variable"}),
        ("CORRELATIONS", {"measure": "income", "measures": ["income"]}, {"measure", "measures"}),
        (
            "PRINCIPAL_COMPONENTS",
            {"measures": ["income", "incom", "income"], "weighted": True},
            {"measures[1]", "measures[2]", "weighted"},
        ),
        ("CHI_SQUARED_TEST", {"factors": ["sex"], "measure": "income"}, {"factors", "measure"}),
        ("CHI_SQUARED_TEST", {"factors": ["sex", "sex"]}, {"factors[1].variable"}),
        ("ANALYSIS_OF_VARIANCE", {"measure": "income"}, {"factors"}),
        (
            "ANALYSIS_OF_VARIANCE",
            {"measure": "income", "factors": ["plann"], "standard_errors": True},
            {"factors[0].variable", "standard_errors"},
        ),
        ("MEAN", {"measure": "income", "factors": ["sex"], "measures": ["age"]}, {"factors", "measures"}),
        ("ANALYSIS_OF_VARIANCE", {"measure": "income", "factors": ["sex"], "groups": ["sex"]}, {"groups"}),
    ],
)
def test_what_is_wrong_is_told_with_paths(house, kind, asked, paths) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ask(house, kind, **asked)
    assert {problem.path for problem in caught.value.problems} == paths
