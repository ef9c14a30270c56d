"""Statistics through the whole facility: figures of the records, and nothing that must not be known."""

from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from house import build, person, reasons, table_request, verdict, with_randhie
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility import statistic_plan
from sdcgate.facility.errors import Forbidden, InvalidRequest
from sdcgate.facility.in_process import LocalRisk
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.knowledge import COUNTS
from sdcgate.facility.pace import Pace
from sdcgate.facility.plan import make_plan
from sdcgate.facility.reasons import alternatives
from sdcgate.facility.reasons import suggestion as table_suggestion
from sdcgate.facility.statistic_suggestions import suggested
from sdcgate.methods.outputs.means import totals
from sdcgate.methods.outputs.sample import Design, Sample
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.rules import ReasonCode
from sdcgate.wire.json import to_value
from sdcgate.wire.table_json import SHAPES
from sdcgate_client.printing import format_statistic
from sdcgate_client.statistics import Statistic
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2, table_pb2

RAND = "randhie/src/randhie.csv"


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pd.read_csv(str(files("statsmodels") / "datasets" / RAND))


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = with_randhie(tmp_path_factory.mktemp("randhie"))
    yield made
    made.facility.close()


def request(kind: str, measure: str = "", dataset: str = "randhie", groups=(), filter=None, **asked):
    found = pb.QueryStatisticRequest(
        dataset=dataset, kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}"), measure=measure
    )
    for name in groups:
        variable, _, level = name.partition(":")
        found.groups.add(variable=variable, level=level)
    for variable, codes in (filter or {}).items():
        found.filter.add(variable=variable, codes=codes)
    for field in ("having", "exposed"):
        if field in asked:
            variable, codes = asked.pop(field)
            getattr(found, field).CopyFrom(pb.FilterRequest(variable=variable, codes=codes))
    if "mode_of" in asked:
        found.mode_of.variable = asked.pop("mode_of")
    for name, value in asked.items():
        setattr(found, name, value)
    return found


def ask(house, kind: str, measure: str = "", **asked):
    return house.facility.query_statistic(house.researcher, request(kind, measure, **asked), Pace(60.0))


def figures(answered) -> dict[str, dict[int, float | str]]:
    """Figures by name and group."""
    statistic = getattr(answered, "decision", answered).statistic
    return {
        one.name: dict(zip(one.groups, one.codes or one.values, strict=True)) for one in statistic.figures
    }


def test_means_and_errors_are_those_of_the_persons(house, people) -> None:
    answered = ask(house, "MEAN", "meddol", groups=["site"], standard_errors=True)

    assert verdict(answered) == "RELEASED"
    by_site = people.groupby("site").apply(
        lambda site: pd.Series(_clustered(site["meddol"].to_numpy(), site["zper"].to_numpy()))
    )
    found = figures(answered)
    assert [*found["mean"].values()] == pytest.approx(by_site[0].to_list(), rel=1e-3)
    assert [*found["standard_error"].values()] == pytest.approx(by_site[1].to_list(), rel=1e-3)


def _clustered(values, persons):
    """A mean and its error with persons as clusters, by hand."""
    mean = values.mean()
    sums = pd.Series(values - mean).groupby(persons).sum().to_numpy() / len(values)
    return mean, np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum())


def test_a_median_is_near_that_of_the_records(house, people) -> None:
    answered = ask(house, "PERCENTILES", "meddol", groups=["female"])

    medians = people.groupby("female")["meddol"].median()
    assert [*figures(answered)["P50"].values()] == pytest.approx(medians.to_list(), rel=0.01)


def test_indices_are_those_of_the_records(house, people) -> None:
    values = np.sort(people["meddol"].to_numpy())
    n = len(values)
    gini = 2 * (np.arange(1, n + 1) * values).sum() / (n * values.sum()) - (n + 1) / n
    assert figures(ask(house, "GINI", "meddol"))["gini"][0] == pytest.approx(gini, rel=1e-3)
    shares = people.groupby("zper")["meddol"].sum() / values.sum()
    assert figures(ask(house, "HERFINDAHL", "meddol"))["herfindahl"][0] == pytest.approx(
        (shares**2).sum(), rel=1e-3
    )


def test_an_odds_ratio_is_that_of_its_table(house, people) -> None:
    answered = ask(house, "ODDS_RATIO", having=("child", ["1"]), exposed=("female", ["1"]))

    counts = pd.crosstab(people["female"], people["child"])
    expected = counts.loc[1, 1] * counts.loc[0, 0] / (counts.loc[1, 0] * counts.loc[0, 1])
    assert figures(answered)["odds_ratio"][0] == pytest.approx(expected, rel=1e-3)


def test_a_mode_is_told_by_its_code(house, people) -> None:
    answered = ask(house, "MODE", mode_of="plan", groups=["female"])

    modes = people.groupby("female")["plan"].agg(lambda plans: str(plans.mode()[0]))
    assert [*figures(answered)["mode"].values()] == modes.to_list()


def test_only_conditions_that_were_asked_count_as_filters(house) -> None:
    """That hlthf and female are not missing is of the statistic, as it is of a model with both."""
    adults = {"child": ["0"], "year": ["3"]}
    shown = ask(house, "ODDS_RATIO", having=("hlthf", ["1"]), exposed=("female", ["1"]), filter=adults)
    assert verdict(shown) == "RELEASED"
    many = {**adults, "site": ["1", "2", "5"], "idp": ["0"]}
    held = ask(house, "T_TEST", "outpdol", having=("female", ["1"]), filter=many)
    assert (verdict(held), reasons(held)) == ("REFUSED", ["MAXIMUM_DIMENSIONS"])
    assert held.decision.reasons[0].message == "A table may be filtered by 3 variables; this one by 4."


def test_the_greatest_value_is_refused_with_what_to_ask_instead(house) -> None:
    answered = ask(house, "MAXIMUM", "meddol")

    assert verdict(answered) == "REFUSED"
    assert reasons(answered) == ["EXTREME_VALUE"]
    assert "PERCENTILES" in answered.decision.reasons[0].suggestion
    assert not answered.decision.HasField("statistic")


def test_a_least_value_that_many_have_leaves(house) -> None:
    assert figures(ask(house, "MINIMUM", "meddol")) == {"minimum": {0: 0.0}}


def test_the_same_statistic_is_answered_the_same(house) -> None:
    first = ask(house, "GINI", "meddol")
    again = ask(house, "GINI", "meddol")

    assert again.repeated
    assert again.decision == first.decision


def small_house(tmp_path, **options):
    """Forty people in a city, forty in a village, three on a hill; their incomes have no two alike."""
    incomes = 1000 + 37 * np.random.default_rng(3).permutation(83)
    rows = [
        f"{place},{['city', 'village', 'hill'][(place >= 40) + (place >= 80)]},{place % 2},{incomes[place]}"
        for place in range(83)
    ]
    (tmp_path / "people.csv").write_text("id,place,sex,income\n" + "\n".join(rows) + "\n")
    house = build(tmp_path, policy="five-safes", **options)
    house.engine.register(
        parse_descriptor(
            {
                "name": "people",
                "source": "people",
                "data": {"path": "people.csv", "format": "CSV"},
                "unit": {"column": "id"},
                "design": {"coverage": "SAMPLE", "sampling_fraction": 0.1},
                "variables": [
                    {
                        "name": "place",
                        "identifying": "NO",
                        "levels": [{"codes": [{"code": code} for code in ("city", "village", "hill")]}],
                    },
                    {
                        "name": "sex",
                        "identifying": "NO",
                        "levels": [{"codes": [{"code": code} for code in ("0", "1")]}],
                    },
                ],
                "measures": [{"name": "income", "lower_bound": 0, "upper_bound": 10000}],
            }
        )
    )
    return house, incomes


def test_a_group_of_three_is_withheld_and_another_with_it_so_that_the_whole_does_not_tell(tmp_path) -> None:
    house, _ = small_house(tmp_path)
    whole = ask(house, "MEAN", "income", dataset="people")
    answered = ask(house, "MEAN", "income", dataset="people", groups=["place"])

    assert verdict(whole) == "RELEASED"
    assert verdict(answered) == "RELEASED_PROTECTED"
    shown = figures(answered)["mean"]
    assert 2 not in shown
    assert len(shown) < 2 or not {0, 1} <= shown.keys()


def test_a_filter_that_cuts_out_the_three_is_refused_after_the_whole_has_left(tmp_path) -> None:
    """The mean of all, and of all without the hill: their difference is the mean of three."""
    house, _ = small_house(tmp_path)
    everybody = ask(house, "VARIANCE", "income", dataset="people")
    rest = ask(house, "VARIANCE", "income", dataset="people", filter={"place": ["city", "village"]})

    assert verdict(everybody) == "RELEASED"
    assert verdict(rest) == "REFUSED"
    assert reasons(rest) == ["DIFFERENCING"]


@pytest.mark.parametrize("kind", ["PERCENTILES", "GINI", "BOX_PLOT", "MINIMUM"])
def test_populations_that_differ_by_three_are_compared_whatever_the_statistic(tmp_path, kind) -> None:
    house, _ = small_house(tmp_path)
    table = house.facility.query_table(house.researcher, table_request("people"), Pace(60.0))
    rest = ask(house, kind, "income", dataset="people", filter={"place": ["city", "village"]})

    assert verdict(table) == "RELEASED"
    assert verdict(rest) == "REFUSED"


def test_a_table_cannot_be_asked_that_a_statistic_has_made_unsafe(tmp_path) -> None:
    house, _ = small_house(tmp_path)
    rest = ask(house, "PERCENTILES", "income", dataset="people", filter={"place": ["city", "village"]})
    table = house.facility.query_table(house.researcher, table_request("people"), Pace(60.0))

    assert verdict(rest) == "RELEASED"
    assert verdict(table) == "REFUSED"


def test_no_released_figure_is_a_records_value(tmp_path) -> None:
    house, incomes = small_house(tmp_path)
    told: set[float] = set()
    for kind in ("PERCENTILES", "BOX_PLOT", "HISTOGRAM", "DENSITY", "MEAN", "TOTAL", "RANGE", "MAXIMUM"):
        answered = ask(house, kind, "income", dataset="people", groups=["sex"])
        told |= {value for groups in figures(answered).values() for value in groups.values()}
        for curve in answered.decision.statistic.curves:
            told |= set(curve.x)
    assert told
    assert not told & set(incomes.astype(float).tolist())


def test_pictures_are_drawn_only_where_they_are_asked_for(house) -> None:
    without = ask(house, "HISTOGRAM", "meddol").decision.statistic
    drawn = ask(house, "HISTOGRAM", "meddol", picture=True).decision.statistic
    assert len(without.pictures) == 0
    assert [picture.svg.startswith("<svg") for picture in drawn.pictures] == [True]
    assert [curve.name for curve in without.curves] == ["edges"]


def test_drawings_leave_as_png_too_where_that_is_asked(house, monkeypatch) -> None:
    asked = {"groups": ["female"], "picture": True, "png": True}
    drawn = ask(house, "BOX_PLOT", "meddol", **asked).decision.statistic
    (picture,) = drawn.pictures
    assert picture.png.startswith(b"\x89PNG")
    plain = ask(house, "BOX_PLOT", "meddol", groups=["female"], picture=True).decision.statistic
    assert [(one.svg, one.png) for one in plain.pictures] == [(picture.svg, b"")]
    with pytest.raises(InvalidRequest, match="png: It is of drawings"):
        ask(house, "BOX_PLOT", "meddol", png=True)
    monkeypatch.setattr(statistic_plan, "can_render", lambda: False)
    with pytest.raises(InvalidRequest, match="take the SVG"):
        ask(house, "BOX_PLOT", "meddol", **asked)


def test_drawings_of_very_many_groups_are_not_made(house) -> None:
    many = ["site", "plan", "year"]
    for kind, picture in (("BOX_PLOT", True), ("DENSITY", False)):
        with pytest.raises(InvalidRequest, match="At most 100 groups are drawn; these are 840"):
            ask(house, kind, "meddol", groups=many, picture=picture)


def test_what_does_not_go_together_is_told_at_once_with_paths(house) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ask(
            house,
            "LORENZ_CURVE",
            "meddoll",
            second="outpdol",
            groups=["site", "site", "planet"],
            having=("female", ["1"]),
            weighted=True,
            standard_errors=True,
        )
    assert {problem.path for problem in caught.value.problems} == {
        "measure",
        "second",
        "groups[1].variable",
        "groups[2].variable",
        "having",
        "weighted",
    }


@pytest.mark.parametrize("kind", [0, -1, 77])
def test_a_kind_that_there_is_not_is_told(house, kind) -> None:
    asked = pb.QueryStatisticRequest(dataset="randhie", measure="meddol")
    asked.kind = kind
    with pytest.raises(InvalidRequest) as caught:
        house.facility.query_statistic(house.researcher, asked, Pace(60.0))
    assert [problem.path for problem in caught.value.problems] == ["kind"]


@pytest.mark.parametrize(
    ("kind", "asked", "path"),
    [
        ("MEAN", {}, "measure"),
        ("RATIO", {"measure": "meddol"}, "second"),
        ("RATIO", {"measure": "meddol", "second": "meddol"}, "second"),
        ("PROPORTION", {}, "having"),
        ("PROPORTION", {"having": ("female", ["0", "1"])}, "having.codes"),
        ("PROPORTION", {"having": ("female", ["0", "9"])}, "having.codes[1]"),
        ("ODDS_RATIO", {"having": ("female", ["1"])}, "exposed"),
        ("MODE", {}, "mode_of"),
        ("MODE", {"mode_of": "site", "groups": ["site"]}, "groups"),
    ],
)
def test_what_a_statistic_needs_is_told(house, kind, asked, path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ask(house, kind, **asked)
    assert path in {problem.path for problem in caught.value.problems}


def test_a_risk_service_that_finds_nothing_releases_nothing_more(tmp_path) -> None:
    class Silent(LocalRisk):
        def assess_statistic(self, *given):
            return StatisticAssessment(())

    answered = ask(with_randhie(tmp_path, risk=Silent()), "MAXIMUM", "meddol")
    assert verdict(answered) == "REFUSED"


def test_a_checker_sees_what_was_withheld_and_a_researcher_does_not(house) -> None:
    answered = ask(house, "MAXIMUM", "meddol")
    of_checker = house.facility.get_query(house.checker, answered.decision.query)
    of_researcher = house.facility.get_query(house.researcher, answered.decision.query)

    assert of_checker.checker.statistic.figures[0].values[0] > 10_000
    assert of_researcher.statistic_request.measure == "meddol"
    assert not of_researcher.HasField("checker")


def test_a_checker_finds_the_groups_that_failed_in_their_table(tmp_path) -> None:
    house, _ = small_house(tmp_path)
    answered = ask(house, "MODE", mode_of="sex", dataset="people", groups=["place"])
    seen = house.facility.get_query(house.checker, answered.decision.query).checker

    failed = {cell for finding in seen.findings if finding.measure == "mode" for cell in finding.cells}
    codes = [dimension.codes for dimension in seen.dimensions]
    sexes = len(codes[1])
    assert {(codes[0][cell // sexes], codes[1][cell % sexes]) for cell in failed} == {("hill", "_T")}


def test_only_researchers_ask(house) -> None:
    with pytest.raises(Forbidden):
        house.facility.query_statistic(person("steward", "sam"), request("GINI", "meddol"), Pace(60.0))


def test_a_population_without_anybody_has_no_figures(house) -> None:
    answered = ask(house, "MEAN", "meddol", filter={"site": ["_U"]})
    assert verdict(answered) == "REFUSED"
    assert reasons(answered) == ["MINIMUM_BASE"]


def test_errors_are_those_of_the_declared_design(tmp_path) -> None:
    """Strata and clusters of the descriptor; clusters without anybody in the group are among them."""
    rng = np.random.default_rng(5)
    stratum, cluster = np.repeat([0, 1], 200), np.repeat(np.arange(40), 10)
    income = rng.normal(2000, 300, 400).round() + 50 * (cluster % 7)
    sex = ((np.arange(400) % 10 < 5) & (cluster % 4 != 3)).astype(int)
    lines = [f"{i},s{stratum[i]},{cluster[i]},{sex[i]},{income[i]:.0f}" for i in range(400)]
    (tmp_path / "drawn.csv").write_text("id,stratum,cluster,sex,income\n" + "\n".join(lines) + "\n")
    house = build(tmp_path)
    codes = {
        "stratum": [{"code": "s0"}, {"code": "s1"}],
        "cluster": [{"code": str(number)} for number in range(40)],
        "sex": [{"code": "0"}, {"code": "1"}],
    }
    house.engine.register(
        parse_descriptor(
            {
                "name": "drawn",
                "source": "drawn",
                "data": {"path": "drawn.csv", "format": "CSV"},
                "unit": {"column": "id"},
                "design": {
                    "coverage": "SAMPLE",
                    "sampling_fraction": 0.1,
                    "stratum": "stratum",
                    "psu": "cluster",
                },
                "variables": [
                    {"name": name, "identifying": "NO", "levels": [{"codes": listed}]}
                    for name, listed in codes.items()
                ],
                "measures": [{"name": "income", "lower_bound": 0, "upper_bound": 10000}],
            }
        )
    )
    found = figures(
        ask(house, "TOTAL", "income", dataset="drawn", filter={"sex": ["1"]}, standard_errors=True)
    )

    whole = Sample(income, sex, np.arange(400), 2, design=Design(strata=stratum, clusters=cluster))
    assert found["standard_error"][0] == pytest.approx(totals(whole).standard_errors[1], rel=1e-3)


def test_statuses_say_which_groups_show_nothing(tmp_path) -> None:
    house, _ = small_house(tmp_path)
    statistic = ask(house, "PERCENTILES", "income", dataset="people", groups=["place"]).decision.statistic
    assert [dimension.codes for dimension in statistic.dimensions] == [["city", "village", "hill", "_U"]]
    assert statistic.statuses[2] == table_pb2.CELL_STATUS_WITHHELD


def test_a_group_of_nobody_has_no_curve_and_no_picture_and_the_answer_says_so(house) -> None:
    """Every variable has a code for missing, which nobody of the file has."""
    for kind in ("LORENZ_CURVE", "HISTOGRAM", "DENSITY", "BOX_PLOT"):
        statistic = ask(house, kind, "meddol", groups=["site"], picture=True).decision.statistic
        (sites,) = statistic.dimensions
        nobody = list(sites.codes).index("_U")
        drawn = sorted(group for picture in statistic.pictures for group in picture.groups)
        assert drawn == [*range(nobody)], kind
        assert [*statistic.not_drawn] == [nobody]
        assert "nobody is in them" in statistic.not_drawn_because
        assert all(len(curve.x) and len(curve.y) for curve in statistic.curves)


@pytest.mark.parametrize(
    ("kind", "measure", "more"),
    [
        ("MEAN", "meddol", {}),
        ("TOTAL", "meddol", {"groups": ["female"]}),
        ("PERCENTILES", "meddol", {}),
        ("PROPORTION", "", {"having": ("hlthp", ["1"])}),
        ("MODE", "", {"mode_of": "hlthp"}),
        ("HISTOGRAM", "meddol", {}),
        ("KAPLAN_MEIER", "meddol", {"having": ("hlthp", ["1"])}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_statistic_of_nobody_is_refused_and_says_so(tmp_path, kind, measure, more) -> None:
    house = with_randhie(tmp_path, policy="five-safes")
    answered = ask(house, kind, measure, filter={"site": ["2"], "plan": ["1"]}, **more)
    house.facility.close()

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["NOT_ESTIMABLE"])
    (reason,) = answered.decision.reasons
    assert reason.message == "Nobody is in the population of the statistic, so there is no figure."
    assert "leave out a condition of the filter" in reason.suggestion.lower()
    assert not answered.decision.HasField("statistic")


def test_that_nobody_is_there_counts_as_known_as_it_does_of_a_table(tmp_path) -> None:
    house = with_randhie(tmp_path, policy="five-safes")
    ask(house, "MEAN", "meddol", filter={"site": ["2"], "plan": ["1"]})
    house.facility.close()

    (event,) = map(left_of, house.ledger.releases("randhie"))
    assert not event.of_refusal
    assert {table.quantity for table in event.tables} == {COUNTS, "meddol"}
    assert all(table.table.records.tolist() == [0] for table in event.tables)


def test_that_nobody_is_there_is_not_told_where_a_table_would_not(tmp_path) -> None:
    """Where fewer than a minimum are too few, nobody is too few, and so are three."""
    house = with_randhie(tmp_path)
    told = [
        ask(house, "MEAN", "meddol", filter={"site": ["2"], "plan": [plan], "age": [age]}).decision
        for plan, age in (("1", "60"), ("5", "60"))
    ]
    house.facility.close()
    assert [reasons(one) for one in told] == [["MINIMUM_BASE"]] * 2
    assert told[0].reasons == told[1].reasons


def test_survival_curves_of_nobody_are_not_drawn(tmp_path) -> None:
    house = with_randhie(tmp_path)
    asked = {"having": ("hlthp", ["1"]), "groups": ["site"], "picture": True}
    statistic = ask(house, "KAPLAN_MEIER", "meddol", **asked).decision.statistic
    house.facility.close()
    drawn = {group for picture in statistic.pictures for group in picture.groups}
    assert drawn
    assert drawn == {curve.group for curve in statistic.curves}
    assert {*statistic.not_drawn} == {*range(len(statistic.statuses))} - drawn
    assert len(statistic.statuses) - 1 in statistic.not_drawn


def test_a_group_without_quartiles_has_no_box_and_the_picture_does_not_list_it(house) -> None:
    statistic = ask(house, "BOX_PLOT", "meddol", groups=["plan"], picture=True).decision.statistic
    (picture,), (plans,) = statistic.pictures, statistic.dimensions
    quartiles = [{*one.groups} for one in statistic.figures if one.name in ("P25", "P50", "P75")]
    assert [*picture.groups] == sorted(set.intersection(*quartiles))
    *without, nobody = statistic.not_drawn
    assert plans.codes[nobody] == "_U"
    assert without
    assert {*picture.groups, *statistic.not_drawn} == {*range(len(statistic.statuses))}
    assert not any(f">{plans.labels[group]}<" in picture.svg for group in without)
    told = format_statistic(Statistic.from_json(to_value(statistic, SHAPES)))
    codes = ", ".join(plans.codes[group] for group in statistic.not_drawn)
    assert told.endswith(f"no picture of {codes}: {statistic.not_drawn_because}")


def test_a_box_plot_without_any_box_says_why_there_is_no_picture(tmp_path) -> None:
    house, _ = small_house(tmp_path)
    asked = {"dataset": "people", "groups": ["place"], "picture": True, "png": True}
    statistic = ask(house, "BOX_PLOT", "income", **asked).decision.statistic
    assert not statistic.pictures
    assert [*statistic.not_drawn] == [0, 1, 2, 3]
    assert "the quartiles and the median" in statistic.not_drawn_because
    told = format_statistic(Statistic.from_json(to_value(statistic, SHAPES)))
    assert told.endswith(f"no picture: {statistic.not_drawn_because}")


def test_an_unknown_code_is_told_once_with_those_that_there_are(house) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ask(house, "MEAN", "meddol", filter={"hlthp": ["7"]})
    (problem,) = caught.value.problems
    assert problem.path == "filter[0].codes[0]"
    assert problem.message == "There is no code of this name. There are 0, 1, _U."
    with pytest.raises(InvalidRequest, match=r"There is no measure of this name\. There are .*meddol"):
        ask(house, "MEAN", "site")


def test_a_kind_that_is_never_drawn_is_told_with_those_that_are(house) -> None:
    with pytest.raises(InvalidRequest, match="picture: MEAN has none; BOX_PLOT, DENSITY, HEXAGONAL_BINS"):
        ask(house, "MEAN", "meddol", picture=True)
    without = ask(house, "BOX_PLOT", "meddol", groups=["female"]).decision.statistic
    assert (len(without.not_drawn), without.not_drawn_because) == (0, "")


def suggestions(answered) -> str:
    return " ".join(reason.suggestion for reason in answered.decision.reasons)


def test_a_difference_without_a_filter_is_not_told_to_leave_the_filter_out(house) -> None:
    plain = house.facility._statistics.plan(request("MODE", mode_of="education"))
    assert suggested(ReasonCode.DIFFERENCING, plain) == "Ask education by stages."
    coarsest = request("MODE", mode_of="education")
    coarsest.mode_of.level = house.engine.dataset("randhie").levels("education")[-1].name
    told = suggested(ReasonCode.DIFFERENCING, house.facility._statistics.plan(coarsest))
    assert told == "Ask other variables: of these nothing coarser can be asked."
    grouped = house.facility._statistics.plan(request("MEAN", "meddol", groups=["site"]))
    assert suggested(ReasonCode.DIFFERENCING, grouped) == (
        "Leave out the groups of site, or ask the groups that were released before."
    )
    filtered = house.facility._statistics.plan(request("MEAN", "meddol", filter={"year": ["1"]}))
    assert "filter" in suggested(ReasonCode.DIFFERENCING, filtered)


def test_levels_that_the_policy_does_not_allow_are_not_suggested(house) -> None:
    plan = house.facility._statistics.plan(request("MODE", mode_of="education", groups=["age"]))
    narrow = replace(plan.policy, allowed_levels={"education": ["years"], "age": ["years", "broad"]})
    asked = table_request(rows=["age", "education"])
    table = make_plan(house.engine.dataset("randhie"), plan.policy, asked)
    assert suggested(ReasonCode.MINIMUM_UNITS, replace(plan, policy=narrow)) == "Ask age by broad."
    table = replace(table, policy=narrow)
    assert table_suggestion(ReasonCode.MINIMUM_UNITS, table) == "Ask age by broad."
    assert [[one.level for one in found.rows] for found in alternatives(table)] == [
        ["broad", "years"],
        ["years"],
        ["years"],
    ]


def test_what_is_counted_is_not_dropped_and_groups_that_are_not_asked_are_not_coarsened(house) -> None:
    asked = {"having": ("hlthp", ["1"]), "exposed": ("female", ["1"])}
    plain = house.facility._statistics.plan(request("ODDS_RATIO", **asked))
    for code in (ReasonCode.IMPLIED_TABLE, ReasonCode.MINIMUM_UNITS, ReasonCode.DIFFERENCING):
        told = suggested(code, plain)
        assert told == "Ask other variables: of these nothing coarser can be asked."
    by_age = house.facility._statistics.plan(request("ODDS_RATIO", groups=["age"], **asked))
    assert suggested(ReasonCode.MINIMUM_UNITS, by_age).startswith("Ask age by ")
    mode = house.facility._statistics.plan(request("MODE", mode_of="plan", groups=["site"]))
    assert "site" in suggested(ReasonCode.MODAL_SHARE, mode)
    assert suggested(ReasonCode.UNPROVED, mode) == ""


def test_a_table_without_a_filter_is_not_told_to_leave_one_out(house) -> None:
    dataset = house.engine.dataset("randhie")
    policy = house.facility._policies.of(dataset)
    plain, filtered = (
        make_plan(dataset, policy, table_request(rows=["female"], **more)) for more in ({}, {"year": ["1"]})
    )
    told = table_suggestion(ReasonCode.DIFFERENCING, plain)
    assert told == "Ask the groups that were released before."
    assert "without the filter" in table_suggestion(ReasonCode.DIFFERENCING, filtered)
    assert table_suggestion(ReasonCode.MAXIMUM_CELLS, plain) == "Ask another variable."
