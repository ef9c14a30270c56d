"""A least and a greatest value that left bound sums and counts as declared bounds of a measure do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from house import House, build, cells, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2


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
