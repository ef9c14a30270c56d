"""What the totals of a statistic tell later audits of the sums beneath: themselves, if not rounded."""

import pytest

from house import build, people_descriptor
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.pace import Pace
from sdcgate.methods.tables.joint_boxes import EVERYTHING, PERHAPS
from sdcgate.policy.loading import parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

POLICY = parse_policy("""
name: totals
version: "1"
description: Totals and means of three people and more, to three digits
defaults:
  rules:
    minimum_units: {units: 3, consequence: protect}
  dimensions: {maximum: 3, maximum_filters: 2, filters_count: false, consequence: refuse}
  protection: {method: suppression, sum_width: 0.1, time_limit_ms: 15000, unproved: refer}
  output: {digits: 1, maximum_cells: 100000}
  statistics: {kinds: [MEAN, TOTAL], significant_digits: 3}
  differencing: {consequence: refuse}
access_levels: {public: {}, licensed: {}, remote: {}, on-site: {}}
""")
VALUES = {
    "r1": [4, 5],
    "r2": [9] * 39 + [8],
    "r3": [20] * 50 + [19] * 7,
    "r4": [3, 2, 4, 3, 5, 3, 1],
    "r5": [9, 2],
    "r6": [3, 8],
}


@pytest.fixture
def house(tmp_path):
    lines = [f"{region},{value}" for region, values in VALUES.items() for value in values]
    (tmp_path / "people.csv").write_text("\n".join(["region,score", *lines]) + "\n")
    house = build(tmp_path, policies={"totals": POLICY}, policy="totals")
    levels = [{"name": "region", "codes": [{"code": code} for code in VALUES]}]
    region = {"name": "region", "identifying": "NO", "levels": levels}
    score = {"name": "score", "decimals": 0, "lower_bound": 0, "upper_bound": 20}
    house.engine.register(people_descriptor({}, [score], variables=[region]))
    yield house
    house.facility.close()


def told(house, kind: str) -> dict[str, list[int]]:
    """What an answer tells of the cells of its table, by quantity; the last cells are nobody, and all."""
    asked = pb.QueryStatisticRequest(
        dataset="people",
        kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}"),
        measure="score",
        groups=[pb.DimensionRequest(variable="region")],
    )
    answer = house.facility.query_statistic(house.researcher, asked, Pace(60.0)).decision
    assert list(answer.statistic.figures[0].groups) == [1, 2, 3]
    (left,) = map(left_of, house.ledger.releases("people"))
    return {table.quantity: table.figures.tolist() for table in left.tables}


def test_totals_tell_the_sums_that_they_are_and_no_count(house) -> None:
    # Those of r3 are 1133, which leaves as 1130.
    assert told(house, "TOTAL") == {
        "counts": [0, PERHAPS, PERHAPS, PERHAPS, 0, 0, PERHAPS, PERHAPS],
        "score": [0, EVERYTHING, PERHAPS, EVERYTHING, 0, 0, PERHAPS, PERHAPS],
    }


def test_means_tell_sums_perhaps(house) -> None:
    assert told(house, "MEAN")["score"] == [0, PERHAPS, PERHAPS, PERHAPS, 0, 0, PERHAPS, PERHAPS]
