"""A least and a greatest value that left bound sums and counts as declared bounds of a measure do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from house import House, build, cells, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate.policy.loading import parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

FEW = parse_policy(
    """
name: few
version: "1"
description: for tests
defaults:
  rules:
    minimum_units: {units: 3, consequence: protect}
    dominance: [{largest: 1, share: 0.3, consequence: protect}]
  dimensions: {maximum: 3, maximum_filters: 3, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 30000, unproved: refer}
  output: {digits: 6, maximum_cells: 1000}
  differencing: {consequence: refuse}
  statistics: {kinds: [MAXIMUM, GINI], extreme_units: 3}
access_levels: {public: {}, licensed: {}, remote: {}, on-site: {}}
"""
)


def registered(folder: Path, low: int = 0, high: int = 100) -> House:
    """Hours of people by town and job between 37 and 40; twelve have a job of which all have 40."""
    rng = np.random.default_rng(1)
    usual = np.array([37, 37.5, 38, 38.25, 38.5, 39, 39.25, 39.5, 39.75, 40])
    shares = [0.2, 0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.15]
    rows = []
    for town in "abc":
        for job in "xyz":
            few = (town, job) == ("a", "x")
            hours = np.full(12, 40.0) if few else rng.choice(usual, 40, p=shares)
            rows += [(town, job, one) for one in hours]
    pd.DataFrame(rows, columns=["town", "job", "hours"]).to_csv(folder / "people.csv", index=False)
    house = build(folder, policy="five-safes")
    bounds = {"name": "hours", "decimals": 2, "lower_bound": low, "upper_bound": high}
    house.engine.register(people_descriptor({"town": "abc", "job": "xyz"}, [bounds]))
    return house


def extreme(house: House, kind: str, town: str = ""):
    number = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    request = pb.QueryStatisticRequest(dataset="people", kind=number, measure="hours")
    if town:
        request.filter.add(variable="town", codes=[town])
    return house.facility.query_statistic(house.researcher, request, Pace(60.0))


def sums(house: House, **filters):
    return house.ask(dataset="people", rows=["town"], columns=["job"], figures=["SUM:hours"], **filters)


def told(answer) -> list[float]:
    return [value for one in answer.decision.statistic.figures for value in one.values]


def test_a_sum_is_withheld_as_closely_as_its_extremes_would_tell_it(tmp_path):
    """Twelve people have 444 to 480 hours: 8%, where a tenth is asked. It is as though that were declared."""
    house, declared = registered(tmp_path), registered(made(tmp_path / "declared"), 37, 40)
    assert told(extreme(house, "MINIMUM")) == [37.0]
    assert told(extreme(house, "MAXIMUM")) == [40.0]
    for one in (house, declared):
        one.ask(dataset="people", rows=["town"], columns=["job"], figures=["UNITS"])
    answers = [sums(one) for one in (house, declared)]
    assert [verdict(answer) for answer in answers] == ["REFUSED", "REFUSED"]


def test_one_of_the_two_leaves_more_open(tmp_path):
    house = registered(tmp_path)
    extreme(house, "MINIMUM")
    answer = sums(house)
    assert verdict(answer) == "RELEASED_PROTECTED"
    assert cells(answer)["a", "x"] == (None,)


@pytest.mark.parametrize("kind", ["MINIMUM", "MAXIMUM", "RANGE"])
def test_nothing_that_was_withheld_is_bounded_more_closely_later(tmp_path, kind):
    house = registered(tmp_path)
    assert verdict(sums(house)) == "RELEASED_PROTECTED"
    answer = extreme(house, kind)
    assert verdict(answer) == "REFUSED"
    assert reasons(answer) == ["DIFFERENCING"]


def test_what_a_statistic_perhaps_told_is_no_less_withheld(tmp_path):
    """Ten of whom none has more than 100 have 983: five of them 483 to 500, a Gini of them or not."""
    pay = {"a": [99, 99, 98, 98, 97], "b": [97, 98, 99, 98, 100], "c": [0] * 4 + [100] * 4 + [*range(20, 60)]}
    spent = {"a": [30, 31, 29, 30, 32], "b": [1, 1, 1, 1, 40], "c": [5, 6, 7, 8, 9, 10] * 8}
    rows = [(town, *both) for town in "abc" for both in zip(pay[town], spent[town], strict=True)]
    pd.DataFrame(rows, columns=["town", "hours", "spent"]).to_csv(tmp_path / "people.csv", index=False)
    house = build(tmp_path, policies={"few": FEW}, policy="few")
    bounds = {"decimals": 2, "lower_bound": 0, "upper_bound": 10000}
    measures = [{"name": name, **bounds} for name in ("hours", "spent")]
    house.engine.register(people_descriptor({"town": "abc"}, measures))
    asked = pb.QueryStatisticRequest(dataset="people", kind="STATISTIC_KIND_GINI", measure="hours")
    asked.groups.add(variable="town")
    assert verdict(house.facility.query_statistic(house.researcher, asked, Pace(60.0))) == "RELEASED"
    answer = house.ask(dataset="people", rows=["town"], figures=["SUM:hours", "SUM:spent"])
    assert [town for town in "abc" if cells(answer)[town,] == (None, None)] == ["a", "b"]
    answer = extreme(house, "MAXIMUM")
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["DIFFERENCING"])


def test_extremes_that_are_declared_tell_nothing_new(tmp_path):
    house = registered(tmp_path, 37, 40)
    assert verdict(sums(house)) == "RELEASED_PROTECTED"
    assert told(extreme(house, "MINIMUM")) == [37.0]


def test_those_of_a_town_bound_tables_of_that_town(tmp_path):
    house = registered(tmp_path)
    extreme(house, "MINIMUM", town="a")
    extreme(house, "MAXIMUM", town="a")
    by_job = {"rows": ["job"], "town": ["a"]}
    house.ask(dataset="people", figures=["UNITS"], **by_job)
    assert verdict(house.ask(dataset="people", figures=["SUM:hours"], **by_job)) == "REFUSED"


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder
