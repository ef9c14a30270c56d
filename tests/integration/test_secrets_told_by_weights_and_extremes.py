"""That all of a group are ill is told by no table: nor by what the healthy weigh, nor by how old they are."""

from pathlib import Path

import numpy as np
import pytest

from house import House, build, cells, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

ALL_YOUNG_ILL = {"young": (60, 0), "old": (80, 100)}
NO_YOUNG_ILL = {"young": (0, 60), "old": (80, 100)}
SOME_YOUNG_ILL = {"young": (30, 30), "old": (80, 100)}
YEARS = {"young": (15, 24), "old": (50, 70)}
WEIGHTS = ["UNITS", "WEIGHTED_UNITS"]


def registered(folder: Path, groups, weights=(2, 3), by: str = "age") -> House:
    """People of each age, ill and well: the young weigh less, or the ill do."""
    rng = np.random.default_rng(1)
    rows = ["age,ill,sex,years,weight"]
    for age, of in groups.items():
        for ill, many in zip("yn", of, strict=True):
            weight = weights[int(age == "old" if by == "age" else ill == "n")]
            low, high = YEARS[age]
            years = [low] * 15 + rng.integers(low, high + 1, max(many - 15, 0)).tolist()
            rows += [f"{age},{ill},{'fm'[n % 2]},{years[n]},{weight}" for n in range(many)]
    (folder / "people.csv").write_text("\n".join(rows))
    codes = [{"code": "y"}, {"code": "n", "harmless": True}]
    ill = {"name": "ill", "identifying": "NO", "sensitive": True, "levels": [{"codes": codes}]}
    house = build(folder)
    house.engine.register(
        people_descriptor(
            {"age": groups, "sex": "fm"},
            [{"name": "years", "lower_bound": 0, "upper_bound": 120}],
            [ill],
            weight={"column": "weight"},
        )
    )
    return house


def statistic(house: House, kind: str, groups: str = "", having: str = "", **filters):
    """A statistic of people's years, by one variable, or of who has a code of one."""
    number = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    request = pb.QueryStatisticRequest(dataset="people", kind=number, measure="years")
    if groups:
        request.groups.add(variable=groups)
    if having:
        request.having.CopyFrom(pb.FilterRequest(variable=having, codes=["y"]))
    for variable, codes in filters.items():
        request.filter.add(variable=variable, codes=codes)
    return house.facility.query_statistic(house.researcher, request, Pace(60.0))


def shown(answer) -> dict[str, dict[int, float]]:
    return {
        one.name: dict(zip(one.groups, one.values, strict=True)) for one in answer.decision.statistic.figures
    }


@pytest.mark.parametrize("asked", [{"rows": ["ill"]}, {"rows": ["sex"], "ill": ["n"]}])
def test_that_all_of_the_healthy_weigh_what_the_old_do_is_told_by_no_table(tmp_path, asked):
    """Each of 60 young people weighs 2, of 180 old ones 3: a hundred healthy ones of 300 are all old."""
    house = registered(tmp_path, ALL_YOUNG_ILL)
    ages = cells(house.ask(dataset="people", rows=["age"], figures=WEIGHTS))
    assert (ages["young",], ages["old",]) == ((60, 120), (180, 540))
    answer = house.ask(dataset="people", figures=WEIGHTS, **asked)
    assert verdict(answer) in ("REFERRED", "REFUSED")
    assert verdict(house.ask(dataset="people", **asked)) == "RELEASED"


def test_that_all_of_the_young_weigh_what_the_ill_do_is_told_by_no_table(tmp_path):
    house = registered(tmp_path, ALL_YOUNG_ILL, by="ill")
    answer = house.ask(dataset="people", rows=["age"], figures=WEIGHTS)
    assert verdict(answer) in ("REFERRED", "REFUSED")


def test_tables_with_weights_leave_that_tell_nothing_of_a_sensitive_variable(tmp_path):
    house = registered(tmp_path, ALL_YOUNG_ILL)
    assert verdict(house.ask(dataset="people", rows=["sex"], figures=WEIGHTS)) == "RELEASED"


@pytest.mark.parametrize("groups", [NO_YOUNG_ILL, SOME_YOUNG_ILL])
def test_what_the_healthy_weigh_is_told_where_it_does_no_harm(tmp_path, groups):
    house = registered(tmp_path, groups)
    assert verdict(house.ask(dataset="people", rows=["ill"], figures=WEIGHTS)) == "RELEASED"


def test_the_least_age_of_the_healthy_does_not_tell_that_all_who_are_younger_are_ill(tmp_path):
    house = registered(tmp_path, ALL_YOUNG_ILL)
    assert shown(statistic(house, "MINIMUM"))["minimum"] == {0: 15}
    by_illness = statistic(house, "MINIMUM", "ill")
    assert verdict(by_illness) == "RELEASED_PROTECTED"
    assert shown(by_illness)["minimum"] == {0: 15}
    for groups in ("", "sex", "ill"):
        answer = statistic(house, "MINIMUM", groups, ill=["n"])
        assert (verdict(answer), reasons(answer)) == ("REFUSED", ["EXTREME_VALUE"])


@pytest.mark.parametrize(
    ("groups", "least"), [(NO_YOUNG_ILL, {0: 50, 1: 15}), (SOME_YOUNG_ILL, {0: 15, 1: 15})]
)
def test_the_least_ages_of_ill_and_healthy_leave_where_nobody_younger_is_known_to_be_ill(
    tmp_path, groups, least
):
    house = registered(tmp_path, groups)
    assert shown(statistic(house, "MINIMUM", "ill"))["minimum"] == least


@pytest.mark.parametrize("kind", ["KOLMOGOROV_SMIRNOV_TEST", "MANN_WHITNEY_TEST"])
def test_that_all_of_the_ill_are_younger_than_any_of_the_healthy_is_told_by_no_test(tmp_path, kind):
    """D is 1 and U is 0, and the median of the ill is 20: whoever is not older is ill."""
    house = registered(tmp_path, {"young": (60, 0), "old": (0, 100)})
    answer = statistic(house, kind, having="ill")
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["MINIMUM_UNITS"])


def test_a_test_does_not_tell_how_many_of_the_ill_are_younger_than_any_of_the_healthy(tmp_path):
    """D is 50 / 90, as no other two shares of 90 and 101 people differ: the 50 youngest are ill."""
    house = registered(tmp_path, {"young": (50, 0), "old": (40, 101)})
    answer = statistic(house, "KOLMOGOROV_SMIRNOV_TEST", having="ill")
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["MINIMUM_UNITS"])
    assert verdict(statistic(house, "MANN_WHITNEY_TEST", having="ill")) == "RELEASED"
    assert verdict(statistic(house, "T_TEST", having="ill")) == "RELEASED"


@pytest.mark.parametrize("groups", [NO_YOUNG_ILL, SOME_YOUNG_ILL])
def test_tests_of_ranks_leave_that_tell_no_harm_of_either_end(tmp_path, groups):
    house = registered(tmp_path, groups)
    for kind in ("KOLMOGOROV_SMIRNOV_TEST", "MANN_WHITNEY_TEST"):
        assert verdict(statistic(house, kind, having="ill")) == "RELEASED"


@pytest.mark.parametrize("kind", ["LOGIT", "PROBIT"])
def test_a_model_that_cannot_be_estimated_does_not_tell_that_the_ill_are_younger_than_any_healthy(
    tmp_path, kind
):
    """That the terms foretell completely who is ill would be told by no other reason."""
    house = registered(tmp_path, {"young": (60, 0), "old": (0, 100)})
    asked = model_request('C(ill, event="y") ~ years', kind, "people")
    answer = house.facility.query_model(house.researcher, asked, Pace(60.0))
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["OUTCOME_CLASS"])
    assert "foretell" not in answer.decision.reasons[0].message


@pytest.mark.parametrize("asked", [{"rows": ["age"], "columns": ["ill"]}, {"rows": ["ill"], "age": ["old"]}])
def test_that_a_table_is_referred_does_not_tell_that_all_of_the_young_are_ill(tmp_path, asked):
    """With the same totals, and a few healthy young people, it is referred as well."""
    answers = []
    for healthy in (0, 1, 3, 9, 10):
        folder = tmp_path / str(healthy)
        folder.mkdir()
        groups = {"young": (60 - healthy, healthy), "old": (80 + healthy, 100 - healthy)}
        house = registered(folder, groups)
        for released in ("age", "ill"):
            assert verdict(house.ask(dataset="people", rows=[released])) == "RELEASED"
        answer = house.ask(dataset="people", **asked)
        answers.append((verdict(answer), reasons(answer)))
    assert answers == [("REFERRED", ["UNPROVED"])] * 4 + [("RELEASED", [])]
