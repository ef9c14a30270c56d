"""What refusals and extremes told is reckoned with once another version of the dataset answers."""

from pathlib import Path

import pandas as pd
import pytest

from house import House, build, cells, people_descriptor, reasons, verdict
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.pace import Pace
from sdcgate.policy.loading import parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

POLICY = """
name: small
version: "1"
description: for tests
defaults:
  rules:
    minimum_units: {{units: {units}, consequence: protect}}
    {rule}
  dimensions: {{maximum: 3, maximum_filters: 3, filters_count: false, consequence: refuse}}
  protection: {{method: suppression, sum_width: 0.1, time_limit_ms: 30000, unproved: refer}}
  output: {{digits: 6, maximum_cells: 1000}}
  differencing: {{consequence: refuse}}
  statistics: {{kinds: [MINIMUM, MAXIMUM], extreme_units: 3}}
access_levels: {{public: {{}}, licensed: {{}}, remote: {{}}, on-site: {{}}}}
"""
MEASURE = {"name": "pay", "decimals": 2, "lower_bound": 0, "upper_bound": 10000}


def house(folder: Path, units: int, rule: str) -> House:
    policy = parse_policy(POLICY.format(units=units, rule=rule))
    return build(folder, policies={"small": policy}, policy="small")


def register(house: House, folder: Path, codes: dict[str, list[str]], rows: list[tuple]) -> None:
    """A version; whoever stands first in the rows stays the same person."""
    frame = pd.DataFrame(rows, columns=[*codes, "pay"])
    frame.assign(id=frame.index).to_csv(folder / "people.csv", index=False)
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor(codes, [MEASURE], unit=unit))


def by_region(house: House, figure: str = "UNITS", **filters):
    return house.ask(dataset="people", rows=["region"], figures=[figure], **filters)


@pytest.mark.parametrize("two", [False, True])
def test_a_limit_of_a_refusal_holds_in_a_version_that_is_not_the_first(tmp_path, two):
    """r1 has 46 at least by three tables, 49 at most by a refusal: 58 with r2 tell that r2 has 9 to 12."""
    codes = {"region": ["r1", "r2", "r3", "r4"], "sex": ["f", "m"], "job": ["j1", "j2"]}
    sizes = {("f", "j1"): 15, ("f", "j2"): 21, ("m", "j1"): 10, ("m", "j2"): 3}
    rows = [("r1", *both, 1) for both, size in sizes.items() for _ in range(size)]
    rows += [("r2", "m", "j2", 1)] * 9
    rows += [(region, *both, 1) for region in ("r3", "r4") for both in sizes for _ in range(99)]
    made = house(tmp_path, 10, "minimum_base: {units: 50, consequence: refuse}")
    register(made, tmp_path, codes, rows)
    if two:
        assert verdict(made.ask(dataset="people", rows=["job"])) == "RELEASED"
        register(made, tmp_path, codes, rows + [("r4", *both, 1) for both in sizes for _ in range(20)])
    refused = made.ask(dataset="people", rows=["sex"], region=["r1"])
    assert reasons(refused) == ["MINIMUM_BASE"]
    for filters in ({"sex": ["f"]}, {"job": ["j1"]}, {"sex": ["f"], "job": ["j1"]}):
        assert verdict(by_region(made, **filters)) == "RELEASED"
    answer = by_region(made)
    assert answer.decision.version == (2 if two else 1)
    withheld = [codes for codes, figures in cells(answer).items() if figures == (None,)]
    assert withheld == [("r1",), ("r2",), ("r3",)]


@pytest.mark.parametrize("two", [False, True])
def test_extremes_that_left_of_a_version_bound_tables_of_the_next(tmp_path, two):
    """Three have 296 and three 294, none more than 100: of both together 290 to 300 would be told of each."""
    pay = {"r1": [99, 99, 98], "r2": [97, 98, 99], "r3": [0] * 4 + [100] * 4 + [*range(20, 60)]}
    rows = [(region, one) for region, those in pay.items() for one in those]
    rows += [("r4", one) for one in range(30, 70)]
    codes = {"region": ["r1", "r2", "r3", "r4"]}
    made = house(tmp_path, 3, "dominance: [{largest: 1, share: 0.3, consequence: protect}]")
    register(made, tmp_path, codes, rows)
    assert verdict(by_region(made)) == "RELEASED"
    for kind in ("MINIMUM", "MAXIMUM"):
        number = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
        asked = pb.QueryStatisticRequest(dataset="people", kind=number, measure="pay")
        assert verdict(made.facility.query_statistic(made.researcher, asked, Pace(60.0))) == "RELEASED"
    if two:
        register(made, tmp_path, codes, rows + [("r4", one) for one in range(25, 65)])
    answer = by_region(made, "SUM:pay")
    assert answer.decision.version == (2 if two else 1)
    assert cells(answer)["r4",] == (None,)


BASE = "minimum_base: {units: 50, consequence: refuse}"
REGIONS = {"region": ["r1", "r2", "r3", "r4", "r5"], "sex": ["f", "m"]}
SIZES = {"r1": 48, "r2": 1, "r3": 20, "r4": 60, "r5": 7}


def of_regions(**sizes: int) -> list[tuple]:
    return [(region, "fm"[one % 2], 1) for region, size in sizes.items() for one in range(size)]


@pytest.mark.parametrize("came", [0, 1, 30])
def test_a_limit_of_a_refusal_holds_in_a_later_version_though_nothing_else_left(tmp_path, came):
    """r1 and r2 are 49 at most: beside 48 of r1 nobody or one is in r2, wherever else somebody came."""
    made = house(tmp_path, 10, BASE)
    register(made, tmp_path, REGIONS, of_regions(**SIZES))
    refused = made.ask(dataset="people", rows=["sex"], region=["r1", "r2"])
    assert reasons(refused) == ["MINIMUM_BASE"]
    register(made, tmp_path, REGIONS, of_regions(**SIZES) + of_regions(r4=came))

    answer = by_region(made)

    assert answer.decision.version == (2 if came == 30 else 1)
    assert cells(answer)["r1",] == cells(answer)["r2",] == (None,)


def test_that_somebody_came_to_a_group_is_not_told_where_it_is_not_refused_any_more(tmp_path):
    """49 at most before and 50 now: whoever knows that he came knows that he is in the group."""
    made = house(tmp_path, 10, BASE)
    register(made, tmp_path, REGIONS, of_regions(r1=49, r3=60, r4=60))
    assert reasons(made.ask(dataset="people", rows=["sex"], region=["r1"])) == ["MINIMUM_BASE"]
    register(made, tmp_path, REGIONS, of_regions(r1=49, r3=60, r4=60) + of_regions(r1=1, r3=30))

    now = made.ask(dataset="people", rows=["sex"], region=["r1"])

    assert (now.decision.version, verdict(now)) == (2, "REFUSED")
    assert cells(made.ask(dataset="people", rows=["region"]))["r1",] == (None,)


@pytest.mark.parametrize("size", [20, 60])
def test_a_refusal_for_what_few_changed_tells_nothing_of_how_many_there_are(tmp_path, size):
    """Few and many are refused in the same words: that there are 49 at most nobody knows of either."""
    made = house(tmp_path, 10, BASE)
    rows = of_regions(r1=size, r3=60, r4=60)
    register(made, tmp_path, REGIONS, rows)
    assert verdict(made.ask(dataset="people", rows=["sex"])) == "RELEASED"
    register(made, tmp_path, REGIONS, rows + of_regions(r1=1, r3=30))

    answer = made.ask(dataset="people", rows=["sex"], region=["r1"])

    assert (answer.decision.version, reasons(answer)) == (2, ["MINIMUM_BASE"])
    assert not any(left_of(stored).limits for stored in made.ledger.releases("people"))
