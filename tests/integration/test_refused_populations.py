"""Whatever is refused for too few people, the ledger keeps how many they are at most: audits need it."""

import pytest

from house import reasons, verdict, with_randhie
from sdcgate.facility.pace import Pace
from sdcgate.facility.population_limits import PopulationLimit
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2

GROUP = {"site": ["2"], "plan": ["17"]}
"""44 people."""


@pytest.fixture
def house(tmp_path):
    made = with_randhie(tmp_path)
    yield made
    made.facility.close()


def limits(house):
    """What the ledger keeps of refusals."""
    releases = [release_pb2.Release.FromString(one.payload) for one in house.ledger.releases("randhie")]
    return [PopulationLimit.of(limit) for release in releases for limit in release.limits]


def ask(house, kind, group):
    filters = [pb.FilterRequest(variable=name, codes=codes) for name, codes in group.items()]
    if kind == "table":
        return house.ask(rows=["female"], **group)
    if kind == "statistic":
        mean = statistic_pb2.STATISTIC_KIND_MEAN
        asked = pb.QueryStatisticRequest(dataset="randhie", kind=mean, measure="meddol", filter=filters)
        return house.facility.query_statistic(house.researcher, asked, Pace(60.0))
    linear, formula = model_pb2.MODEL_KIND_LINEAR, "meddol ~ female"
    asked = pb.QueryModelRequest(dataset="randhie", kind=linear, formula=formula, filter=filters)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


@pytest.mark.parametrize("kind", ["table", "statistic", "model"])
def test_a_refusal_for_too_few_people_is_kept_as_a_most(house, kind):
    answered = ask(house, kind, GROUP)
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_BASE"])
    (limit,) = limits(house)
    assert limit.units == 49
    assert {"site", "plan"} <= {name for name, _ in limit.box}


def test_a_refusal_for_another_reason_is_not(house):
    answered = house.ask(rows=["site", "child"], columns=["plan"], layers=["year", "female"])
    assert reasons(answered) == ["MAXIMUM_DIMENSIONS"]
    assert limits(house) == []
