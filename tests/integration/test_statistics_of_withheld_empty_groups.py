"""A statistic by groups says of a withheld cell that nobody is in what it says of one with a few people."""

import pytest

from house import House, build, cells, people_descriptor, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

HEALTH = {
    "name": "health",
    "identifying": "NO",
    "sensitive": True,
    "levels": [{"codes": [{"code": "well", "harmless": True}, {"code": "ill"}]}],
}
VALUES = {"name": "x", "decimals": 0, "lower_bound": 0, "upper_bound": 100}
OF_VALUES = ["MEAN", "TOTAL", "VARIANCE", "STANDARD_DEVIATION", "SKEWNESS", "KURTOSIS", "GINI"]
OF_ORDER = ["PERCENTILES", "MINIMUM"]
OF_SHAPES = ["LORENZ_CURVE", "HERFINDAHL", "CONCENTRATION_RATIO", "HISTOGRAM", "DENSITY", "BOX_PLOT"]


@pytest.fixture(scope="module")
def houses(tmp_path_factory) -> list[House]:
    """All sixty of r1 are ill, but for none, one or three of them; who asked the table sees no difference."""
    made = []
    for well in (0, 1, 3):
        people = [("r1", "ill", 60 - well), ("r1", "well", well), ("r2", "ill", 50), ("r2", "well", 60)]
        people += [("r3", "ill", 40 + well), ("r3", "well", 45 - well)]
        everybody = [(region, health) for region, health, many in people for _ in range(many)]
        lines = [f"{region},{health},{place * 37 % 100}" for place, (region, health) in enumerate(everybody)]
        folder = tmp_path_factory.mktemp("house")
        (folder / "people.csv").write_text("\n".join(["region,health,x", *lines]) + "\n")
        house = build(folder)
        house.engine.register(people_descriptor({"region": ("r1", "r2", "r3")}, [VALUES], [HEALTH]))
        made.append(house)
    tables = [house.ask(dataset="people", rows=["region"], columns=["health"]) for house in made]
    assert cells(tables[0]) == cells(tables[1]) == cells(tables[2])
    assert cells(tables[0])["r1", "well"] == (None,)
    return made


def said(house: House, kind: str, groups: list[str], codes: list[str]):
    """All that an answer says but for its figures."""
    asked = pb.QueryStatisticRequest(dataset="people", measure="x")
    asked.kind = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    for name in groups:
        asked.groups.add(variable=name)
    if codes:
        asked.filter.add(variable="health", codes=codes)
    decision = house.facility.query_statistic(house.researcher, asked, Pace(60.0)).decision
    told = decision.statistic
    figures = [(figure.name, list(figure.groups)) for figure in told.figures]
    reasons = [(reason.code, reason.message, reason.suggestion) for reason in decision.reasons]
    return verdict(decision), list(told.statuses), figures, list(told.unreliable), reasons


@pytest.mark.parametrize("kind", [*OF_VALUES, *OF_ORDER, *OF_SHAPES])
@pytest.mark.parametrize(("groups", "codes"), [(["region", "health"], []), (["region"], ["well"])])
def test_whether_anybody_is_in_a_withheld_group_is_not_told(houses, kind, groups, codes):
    nobody, one, three = (said(house, kind, groups, codes) for house in houses)
    assert nobody == one == three


def test_a_withheld_group_that_nobody_is_in_is_said_to_be_withheld(houses):
    _, statuses, figures, _, _ = said(houses[0], "MEAN", ["region", "health"], [])
    withheld, published = 2, 1
    assert [statuses[group] for _, shown in figures for group in shown] == [published] * 2
    assert statuses.count(withheld) == 4
