"""A total that restricts no variable is an equation of withheld counts and sums where variables decide it."""

import numpy as np
import pandas as pd
import pytest

from house import House, build, cells, people_descriptor, verdict
from sdcgate.facility.pace import Pace
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

REGIONS = ("r1", "r2", "r3")
AGES = [str(age) for age in range(30, 42)]
CODES = {"region": REGIONS, "sex": "fm", "town": "xy", "age": AGES}
OF_REGION = {"r1": 1.0, "r2": 2.5, "r3": 4.25}
MEASURES = [
    {"name": "years", "lower_bound": 0, "upper_bound": 120},
    {"name": "income", "lower_bound": 0, "upper_bound": 1_000_000},
]


def people(counts: dict[tuple[str, str, str], int]) -> pd.DataFrame:
    """So many by region, sex and age, half of them of either town, who weigh what their region does."""
    rows = [codes for codes, count in counts.items() for _ in range(count)]
    frame = pd.DataFrame(rows, columns=["region", "sex", "age"])
    frame["id"] = np.arange(len(frame))
    frame["town"] = np.where(frame.id % 2, "x", "y")
    frame["years"], frame["income"] = frame.age.astype(int), 1000 + 7 * (frame.id * 37 % 101)
    frame["weight"] = frame.region.map(OF_REGION)
    return frame


def housed(folder, frame: pd.DataFrame) -> House:
    frame.to_csv(folder / "people.csv", index=False)
    house = build(folder, policy="five-safes")
    more = {"unit": {"column": "id"}, "weight": {"column": "weight", "decimals": 3}}
    house.engine.register(people_descriptor(CODES, MEASURES, design={"coverage": "SAMPLE"}, **more))
    return house


def total(house: House, figure: str, **filters) -> float | None:
    """Of everybody, asked by no variable."""
    answer = house.ask(dataset="people", figures=[figure], **filters)
    return answer.decision.table.figures[0].values[0] if verdict(answer) == "RELEASED" else None


def of_the_first_region() -> pd.DataFrame:
    """Two of the first region, thirty of the second, and forty of the third, none of whom is forty yet."""
    sizes = dict(zip(REGIONS, (2, 30, 40), strict=True))
    return people({(region, sex, "30"): n // 2 for region, n in sizes.items() for sex in "fm"})


def test_the_weights_of_everybody_tell_two_withheld_regions() -> None:
    """It takes what all regions have, and the third one's people, which the table shows."""
    everybody = of_the_first_region().weight.sum()
    assert (OF_REGION["r2"] * 32 + OF_REGION["r3"] * 40 - everybody) / (OF_REGION["r2"] - 1) == 2


@pytest.mark.parametrize("filters", [{}, {"sex": ["f", "m"]}])
def test_the_weights_of_everybody_do_not_leave_beside_two_withheld_regions(tmp_path, filters) -> None:
    house = housed(tmp_path, of_the_first_region())
    table = cells(house.ask(dataset="people", rows=["region"]))
    assert [table[region,] for region in REGIONS] == [(None,), (None,), (40.0,)]
    assert total(house, "WEIGHTED_UNITS", **filters) is None
    house.facility.close()


def test_the_years_of_everybody_do_not_leave_beside_two_withheld_ages(tmp_path) -> None:
    """Years are a measure, too: two ages that are withheld are told by the sum of all."""
    counts = {("r3", "f", age): 20 + place for place, age in enumerate(AGES)}
    house = housed(tmp_path, people({**counts, ("r3", "f", "30"): 2}))
    table = cells(house.ask(dataset="people", rows=["age"]))
    assert [age for age in AGES if table[age,] == (None,)] == ["30", "31"]
    assert total(house, "SUM:years") is None
    house.facility.close()


def test_weighted_incomes_of_everybody_do_not_leave_beside_two_withheld_regions(tmp_path) -> None:
    house = housed(tmp_path, of_the_first_region())
    table = cells(house.ask(dataset="people", rows=["region"], figures=["SUM:income"]))
    assert [table[region,] == (None,) for region in REGIONS] == [True, True, False]
    assert total(house, "WEIGHTED_SUM:income") is None
    house.facility.close()


def by_region_and_sex() -> pd.DataFrame:
    """Region and sex decide the weight together, neither by itself."""
    sizes = {
        ("r1", "f"): 2,
        ("r1", "m"): 30,
        ("r2", "f"): 25,
        ("r2", "m"): 35,
        ("r3", "f"): 25,
        ("r3", "m"): 35,
    }
    frame = people({(*codes, "30"): count for codes, count in sizes.items()})
    frame["weight"] = np.where(frame.sex == "f", frame.weight, 1.5 * frame.weight + 0.75)
    return frame


@pytest.mark.parametrize("rows", [[], ["town"]])
def test_weights_that_two_variables_decide_do_not_tell_a_withheld_square(tmp_path, rows) -> None:
    """Also where they are asked by a variable of which nothing else has left."""
    house = housed(tmp_path, by_region_and_sex())
    table = cells(house.ask(dataset="people", rows=["region"], columns=["sex"]))
    assert table["r1", "f"] == (None,)
    answer = house.ask(dataset="people", rows=rows, figures=["WEIGHTED_UNITS"])
    assert verdict(answer) != "RELEASED"
    if rows:
        assert cells(answer)["_T",] == (None,)
    house.facility.close()


def test_nor_does_a_weighted_share(tmp_path) -> None:
    house = housed(tmp_path, by_region_and_sex())
    house.ask(dataset="people", rows=["region"], columns=["sex"])
    having = {"variable": "town", "codes": ["x"]}
    asked = {"dataset": "people", "kind": "PROPORTION", "weighted": True, "having": having}
    request = from_value(asked, pb.QueryStatisticRequest)
    assert verdict(house.facility.query_statistic(house.researcher, request, Pace(60.0))) == "REFUSED"
    house.facility.close()


def years_by_region() -> pd.DataFrame:
    """Two of the first region are 31; regions decide the weight, and ages the years."""
    counts = {(r, "f", age): 15 + n + 2 * (r == "r2") for r in ("r1", "r2") for n, age in enumerate(AGES)}
    return people({**counts, ("r1", "f", "31"): 2, ("r2", "f", "31"): 24})


def test_weighted_years_tell_a_withheld_square_that_neither_years_nor_weights_do() -> None:
    """One person more in one corner of the square, with all that the table shows as it is."""
    frame = years_by_region()
    before, size = (frame.weight * frame.years).sum(), len(frame)
    for region, ages in (("r1", ("30", "31")), ("r2", ("31", "30"))):
        at = frame.index[(frame.region == region) & (frame.age == ages[0])][0]
        frame.loc[at, ["age", "years"]] = ages[1], int(ages[1])
    assert len(frame) == size
    assert (frame.weight * frame.years).sum() - before == -1.5


@pytest.mark.parametrize("figure", ["WEIGHTED_SUM:years", "WEIGHTED_MEAN:years"])
def test_weighted_years_do_not_leave_beside_a_withheld_square(tmp_path, figure) -> None:
    house = housed(tmp_path, years_by_region())
    table = cells(house.ask(dataset="people", rows=["region"], columns=["age"]))
    square = {(region, age) for region in ("r1", "r2") for age in ("30", "31")}
    assert {codes for codes, (count,) in table.items() if count is None and "r3" not in codes} >= square
    assert total(house, figure) is None
    house.facility.close()


def test_a_total_leaves_where_nothing_is_withheld(tmp_path) -> None:
    house = housed(tmp_path, by_region_and_sex())
    assert verdict(house.ask(dataset="people", rows=["region"])) == "RELEASED"
    assert total(house, "WEIGHTED_UNITS") is not None
    assert total(house, "WEIGHTED_SUM:income") is not None
    house.facility.close()


def ways(everybody: float, people: int) -> list[tuple[int, int, int]]:
    """In which so many people of three regions have these weights in all."""
    first, second, third = OF_REGION.values()
    return [
        (people - two - three, two, three)
        for three in range(people + 1)
        for two in range(people + 1 - three)
        if first * (people - two - three) + second * two + third * three == everybody
    ]


def test_the_weights_of_everybody_and_their_number_leave_three_ways() -> None:
    """So it takes the table of regions, which shows the third, to know that two are of the first."""
    frame = of_the_first_region()
    assert ways(frame.weight.sum(), len(frame)) == [(2, 30, 40), (9, 17, 46), (16, 4, 52)]


def test_regions_that_are_withheld_after_the_weights_of_everybody_are_not_told_by_the_third(tmp_path) -> None:
    """What the weights told by themselves is less than how many of each region there are."""
    house = housed(tmp_path, of_the_first_region())
    everybody = total(house, "WEIGHTED_UNITS")
    answer = house.ask(dataset="people", rows=["region"])
    house.facility.close()
    assert everybody == 247
    assert verdict(answer) == "RELEASED_PROTECTED"
    table = cells(answer)
    (third,), (people,) = table["r3",], table["_T",]
    assert third is None or people is None or len([w for w in ways(247, int(people)) if w[2] == third]) > 1


def test_nor_is_a_square_that_is_withheld_after_the_weighted_years(tmp_path) -> None:
    """Its four counts can move by one in one way only, which changes the years: more has to be withheld."""
    house = housed(tmp_path, years_by_region())
    assert total(house, "WEIGHTED_SUM:years") is not None
    table = cells(house.ask(dataset="people", rows=["region"], columns=["age"]))
    house.facility.close()
    withheld = {codes for codes, (count,) in table.items() if count is None and "r3" not in codes}
    assert withheld > {(region, age) for region in ("r1", "r2") for age in ("30", "31")}


def test_a_measure_is_answered_first_weighted_and_not_by_another_variable_than_decides_the_weights(
    tmp_path,
) -> None:
    """Counts have told of regions, by which three weights differ; nothing of income has."""
    sizes = {"30": 18, "31": 18, "32": 18, "33": 3}
    frame = people({(region, "f", age): size // 3 for age, size in sizes.items() for region in REGIONS})
    house = housed(tmp_path, frame)
    assert verdict(house.ask(dataset="people", rows=["region"])) == "RELEASED"
    figures = ["SUM:income", "WEIGHTED_SUM:income"]
    answered = house.ask(dataset="people", rows=["age"], figures=figures)
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert cells(answered)["33",] == (None, None)
    assert None not in cells(answered)["_T",]
