"""Attacks by weights that a region decides: plain and weighted figures of the same people tell the region's.

Everybody of the south weighs 3 and of the north 1. So the weighted share of the ill less their plain share is
that of the ill of the south, and so are weighted sums that a model tells.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from house import House, build, cells, model_request, people_descriptor, table_request, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2

ILL_OF_THE_SOUTH = 4
SIZES = {("north", "ill"): 60, ("north", "well"): 90, ("south", "ill"): 4, ("south", "well"): 46}


def people() -> pd.DataFrame:
    """Of either sex one of the south, and six of the north, have much."""
    codes = [pair for pair, size in SIZES.items() for _ in range(size)]
    frame = pd.DataFrame(codes, columns=["region", "health"])
    frame["id"], frame["sex"] = np.arange(len(frame)), np.where(np.arange(len(frame)) % 2, "f", "m")
    frame["weight"] = np.where(frame.region == "south", 3.0, 1.0)
    frame["income"] = 100.0 + np.arange(len(frame)) % 83
    places = frame.groupby(["region", "sex"]).cumcount()
    frame.loc[(frame.region == "south") & (places < 1), "income"] = 30000.0
    frame.loc[(frame.region == "north") & (places < 6), "income"] = 20000.0 + 1000 * places
    return frame


@pytest.fixture
def house(tmp_path) -> Iterator[House]:
    people().to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path, policy="five-safes")
    codes = {"region": ("north", "south"), "health": ("ill", "well"), "sex": "fm"}
    income = {"name": "income", "lower_bound": 0, "upper_bound": 1_000_000}
    weight = {"column": "weight"}
    design = {"coverage": "SAMPLE"}
    made.engine.register(
        people_descriptor(codes, [income], unit={"column": "id"}, weight=weight, design=design)
    )
    yield made
    made.facility.close()


def statistic(house: House, kind: str, weighted: bool, region: str = ""):
    named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    asked = pb.QueryStatisticRequest(dataset="people", kind=named, weighted=weighted)
    if region:
        asked.filter.add(variable="region", codes=[region])
    if kind == "MODE":
        asked.mode_of.variable = "health"
    elif kind in ("LORENZ_CURVE", "VARIANCE"):
        asked.measure = "income"
    else:
        asked.having.CopyFrom(pb.FilterRequest(variable="health", codes=["ill"]))
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


def model(house: House, formula: str, weighted: bool, kind: str = "LINEAR"):
    asked = model_request(formula, kind, dataset="people")
    asked.weighted = weighted
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def test_a_weighted_share_tells_how_many_of_the_south_are_ill() -> None:
    ill = people()[people().health == "ill"]
    assert (ill.weight.sum() - len(ill)) / 2 == ILL_OF_THE_SOUTH


@pytest.mark.parametrize("kind", ["PROPORTION", "MODE"])
def test_a_weighted_share_is_refused_where_it_tells_a_withheld_count(house: House, kind: str) -> None:
    table = house.ask(dataset="people", rows=["region"], columns=["health"])
    assert cells(table)["south", "ill"] == (None,)
    assert cells(table)["_T", "ill"] == (64.0,)
    assert verdict(statistic(house, kind, weighted=False)) == "RELEASED"
    assert verdict(statistic(house, kind, weighted=True)) == "REFUSED"


def test_a_weighted_share_leaves_where_nothing_is_withheld(house: House) -> None:
    assert verdict(statistic(house, "PROPORTION", weighted=True)) == "RELEASED"


def test_a_weighted_model_of_a_share_is_refused_where_it_tells_a_withheld_count(house: House) -> None:
    table = house.ask(dataset="people", rows=["region", "sex"], columns=["health"])
    assert cells(table)["south", "_T", "ill"] == (None,)
    assert verdict(model(house, 'C(health, event="ill") ~ sex', weighted=True, kind="LOGIT")) == "REFUSED"


def test_a_weighted_model_is_refused_where_it_tells_a_withheld_sum(house: House) -> None:
    request = table_request("people", rows=["region"], columns=["sex"], figures=["SUM:income"])
    table = house.facility.query_table(house.researcher, request, Pace(60.0))
    assert cells(table)["south", "f"] == (None,)
    assert verdict(house.ask(dataset="people", rows=["sex"], figures=["UNITS", "SUM:income"])) == "RELEASED"
    assert verdict(model(house, "income ~ sex", weighted=False)) == "RELEASED"
    assert verdict(model(house, "income ~ sex", weighted=True)) == "REFUSED"


def with_ten_of_the_south(folder, weights: np.ndarray) -> House:
    """Of 360 people every 36th by income is of the south: windows of all are the same with weights."""
    incomes = np.sort(np.random.default_rng(3).choice(np.arange(10, 2000), 360, replace=False))
    frame = pd.DataFrame({"income": incomes, "region": np.where(np.arange(360) % 36 == 18, "south", "north")})
    frame["id"], frame["weight"] = np.arange(360), weights
    frame.sample(frac=1, random_state=1).to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    income = {"name": "income", "lower_bound": 0}
    more = {"unit": {"column": "id"}, "weight": {"column": "weight"}, "design": {"coverage": "SAMPLE"}}
    made.engine.register(people_descriptor({"region": ("north", "south")}, [income], **more))
    return made


@pytest.mark.parametrize("first", [False, True])
def test_lorenz_curves_with_and_without_weights_do_not_tell_the_poorest_of_the_south(
    tmp_path, first: bool
) -> None:
    house = with_ten_of_the_south(tmp_path, np.where(np.arange(360) % 36 == 18, 20.0, 1.0))
    assert verdict(statistic(house, "LORENZ_CURVE", weighted=first)) == "RELEASED"
    assert verdict(statistic(house, "LORENZ_CURVE", weighted=not first)) == "REFUSED"
    house.facility.close()


def test_lorenz_curves_with_weights_that_nobody_knows_leave(tmp_path) -> None:
    house = with_ten_of_the_south(tmp_path, 1 + np.random.default_rng(1).random(360).round(4))
    assert verdict(statistic(house, "LORENZ_CURVE", weighted=True)) == "RELEASED"
    house.facility.close()


HEAVY = np.where(np.arange(360) % 3 == 1, 20.0, 1.0)


def with_a_third_in_the_south(folder, weights: np.ndarray) -> House:
    """Of 360 people every third is of the south, where incomes are nearly alike but for one."""
    rng = np.random.default_rng(3)
    south = np.arange(360) % 3 == 1
    frame = pd.DataFrame({"id": np.arange(360), "region": np.where(south, "south", "north")})
    frame["income"] = np.where(south, rng.integers(95, 105, 360), rng.integers(0, 1000, 360))
    frame.loc[1, "income"] = 900
    frame["weight"] = weights
    frame.to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    income = {"name": "income", "lower_bound": 0}
    more = {"unit": {"column": "id"}, "weight": {"column": "weight"}, "design": {"coverage": "SAMPLE"}}
    made.engine.register(people_descriptor({"region": ("north", "south")}, [income], **more))
    return made


def test_variances_with_and_without_weights_tell_that_of_the_south(tmp_path) -> None:
    with_a_third_in_the_south(tmp_path, HEAVY).facility.close()
    frame = pd.read_csv(tmp_path / "people.csv")
    squares, weighted = (frame.income**2).sum(), (frame.weight * frame.income**2).sum()
    south = frame[frame.region == "south"].income
    assert (weighted - squares) / 19 == (south**2).sum()


@pytest.mark.parametrize("first", [False, True])
def test_variances_with_and_without_weights_do_not_both_leave(tmp_path, first: bool) -> None:
    house = with_a_third_in_the_south(tmp_path, HEAVY)
    assert verdict(statistic(house, "VARIANCE", weighted=first)) == "RELEASED"
    assert verdict(statistic(house, "VARIANCE", weighted=not first)) == "REFUSED"
    assert verdict(statistic(house, "VARIANCE", weighted=not first, region="north")) == "REFUSED"
    house.facility.close()


def test_variances_with_weights_that_nobody_knows_leave_beside_plain_ones(tmp_path) -> None:
    house = with_a_third_in_the_south(tmp_path, 1 + np.random.default_rng(1).random(360).round(4))
    assert verdict(statistic(house, "VARIANCE", weighted=False)) == "RELEASED"
    assert verdict(statistic(house, "VARIANCE", weighted=True)) == "RELEASED"
    house.facility.close()


BOTH = ["UNITS", "WEIGHTED_UNITS"]


def test_plain_and_weighted_counts_of_one_cell_tell_how_many_of_it_are_of_the_south() -> None:
    ill = people()[people().health == "ill"]
    assert (ill.weight.sum() - len(ill)) / (3 - 1) == ILL_OF_THE_SOUTH


@pytest.mark.parametrize("figures", [BOTH, ["WEIGHTED_UNITS"], ["SUM:income", "WEIGHTED_SUM:income"]])
def test_a_cell_does_not_leave_with_weights_that_tell_few_of_a_region_nobody_asked_for(
    house: House, figures: list[str]
) -> None:
    assert verdict(house.ask(dataset="people", rows=["health"])) == "RELEASED"
    weighted = house.ask(dataset="people", rows=["health"], figures=figures)
    assert verdict(weighted) != "RELEASED"
    assert not verdict(weighted).startswith("RELEASED") or set(cells(weighted)["ill",]) == {None}


def test_a_difference_does_not_tell_few_of_a_region_by_its_weights(house: House) -> None:
    assert verdict(house.ask(dataset="people", figures=BOTH)) == "RELEASED"
    assert verdict(house.ask(dataset="people", figures=BOTH, health=["well"])) == "REFUSED"


def test_cells_with_enough_people_of_either_weight_leave_with_weights(house: House) -> None:
    assert verdict(house.ask(dataset="people", rows=["sex"], figures=BOTH)) == "RELEASED"
    assert verdict(house.ask(dataset="people", rows=["region"], columns=["sex"], figures=BOTH)) == "RELEASED"


def test_withheld_cells_of_a_line_are_not_few_of_one_weight_together(tmp_path) -> None:
    sizes = {("t1", "south"): 2, ("t2", "south"): 3, ("t3", "south"): 40, ("t4", "south"): 40}
    codes = [(town, region) for (town, region), size in sizes.items() for _ in range(size)]
    codes += [(town, "north") for town in ("t1", "t2", "t3", "t4") for _ in range(40)]
    frame = pd.DataFrame(codes, columns=["town", "region"])
    frame["id"], frame["weight"] = np.arange(len(frame)), np.where(frame.region == "south", 3.0, 1.0)
    frame.to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path, policy="five-safes")
    listed = {"town": ("t1", "t2", "t3", "t4"), "region": ("north", "south")}
    more = {"unit": {"column": "id"}, "weight": {"column": "weight"}, "design": {"coverage": "SAMPLE"}}
    made.engine.register(people_descriptor(listed, **more))
    answered = cells(made.ask(dataset="people", rows=["town"], figures=BOTH))
    withheld = [town for town in listed["town"] if answered[town,][0] is None]
    assert {"t1", "t2"} <= set(withheld)
    assert answered["_T",] == (245.0, 415.0)
    assert sum(sizes[town, "south"] for town in withheld) >= 10
    made.facility.close()


def weighing(folder, frame: pd.DataFrame, **codes) -> House:
    """People with these codes, weights and perhaps incomes."""
    frame.assign(id=np.arange(len(frame))).to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    income = [{"name": "income", "lower_bound": 0, "upper_bound": 1_000_000}] if "income" in frame else []
    weight, design = {"column": "weight", "decimals": 2}, {"coverage": "SAMPLE"}
    more = {"unit": {"column": "id"}, "weight": weight, "design": design}
    made.engine.register(people_descriptor(codes, income, **more))
    return made


SUMS = ["SUM:income", "WEIGHTED_SUM:income"]


@pytest.mark.parametrize("lacking", [0, 15])
def test_a_difference_does_not_tell_whom_weights_tell_where_some_lack_the_measure(tmp_path, lacking) -> None:
    sizes = {("north", "ill"): 60, ("north", "well"): 80, ("south", "ill"): 12, ("south", "well"): 60}
    codes = [(*pair, sex) for sex in "fm" for pair, size in sizes.items() for _ in range(size)]
    frame = pd.DataFrame(codes, columns=["region", "health", "sex"])
    frame["weight"] = np.where(frame.region == "south", 3.0, 1.0)
    frame["income"] = 100.0 + np.arange(len(frame)) * 37 % 200
    place = frame.groupby(["region", "health", "sex"]).cumcount()
    frame.loc[(frame.region == "south") & (frame.health == "ill") & (place == 0), "income"] = 9000.0
    frame.loc[(frame.health == "well") & (place < lacking), "income"] = np.nan
    made = weighing(tmp_path, frame, region=("north", "south"), health=("ill", "well"), sex="fm")
    assert verdict(made.ask(dataset="people", rows=["sex"], figures=SUMS)) == "RELEASED"
    # The ill of the south: weighted sums less plain ones, halved, of all and of the well.
    assert verdict(made.ask(dataset="people", rows=["sex"], figures=SUMS, health=["well"])) == "REFUSED"
    made.facility.close()


def of_towns_and_trades(south_of_both: int) -> pd.DataFrame:
    sizes = {(town, job): 70 for town in ("t1", "t2") for job in ("j1", "j2")} | {("t1", "j1"): south_of_both}
    codes = [("south", *pair) for pair, size in sizes.items() for _ in range(size)]
    codes += [("north", *pair) for pair in sizes for _ in range(60)]
    frame = pd.DataFrame(codes, columns=["region", "town", "job"])
    return frame.assign(weight=np.where(frame.region == "south", 3.0, 1.0))


TOWNS_AND_TRADES = {"region": ("north", "south"), "town": ("t1", "t2"), "job": ("j1", "j2")}
OF_OTHERS = [{}, {"town": ["t2"]}, {"job": ["j2"]}, {"town": ["t2"], "job": ["j2"]}]


def test_few_of_a_region_are_not_what_four_weighted_tables_of_others_leave(tmp_path) -> None:
    made = weighing(tmp_path, of_towns_and_trades(4), **TOWNS_AND_TRADES)
    *first, last = [made.ask(dataset="people", figures=BOTH, **of) for of in OF_OTHERS]
    assert [verdict(one) for one in first] == ["RELEASED"] * 3
    assert verdict(last) != "RELEASED"
    assert set(cells(last).values()) <= {(None, None)}
    made.facility.close()


def test_what_one_of_a_region_has_is_not_what_four_weighted_tables_of_others_leave(tmp_path) -> None:
    frame = of_towns_and_trades(30)
    frame["income"] = 100.0 + np.arange(len(frame)) * 37 % 200
    both = (frame.region == "south") & (frame.town == "t1") & (frame.job == "j1")
    frame.loc[frame.index[both][0], "income"] = 12_000.0
    made = weighing(tmp_path, frame, **TOWNS_AND_TRADES)
    answers = [verdict(made.ask(dataset="people", figures=SUMS, **of)) for of in OF_OTHERS]
    assert answers[:3] == ["RELEASED"] * 3
    assert answers[3] != "RELEASED"
    made.facility.close()


def test_enough_of_a_region_leave_as_what_four_weighted_tables_of_others_leave(tmp_path) -> None:
    made = weighing(tmp_path, of_towns_and_trades(30), **TOWNS_AND_TRADES)
    answers = [verdict(made.ask(dataset="people", figures=BOTH, **of)) for of in OF_OTHERS]
    assert answers == ["RELEASED"] * 4
    made.facility.close()


NORTH, SOUTH = {"a": 1, "b": 1, "c": 19}, {"a": 10, "b": 20, "c": 70}


def test_a_total_does_not_tell_by_its_weights_what_its_own_table_withholds(tmp_path) -> None:
    sizes = (("north", NORTH), ("south", SOUTH))
    codes = [(region, trade) for region, of in sizes for trade, size in of.items() for _ in range(size)]
    frame = pd.DataFrame(codes, columns=["region", "trade"])
    frame["weight"] = np.where(frame.region == "south", 3.0, 1.0)
    made = weighing(tmp_path, frame, region=("north", "south"), trade=("a", "b", "c"))
    answered = made.ask(dataset="people", rows=["trade"], columns=["region"], figures=BOTH)
    assert verdict(answered) == "RELEASED_PROTECTED"
    found = cells(answered)
    for trade in ("a", "b", "c", "_T"):
        if None not in found[trade, "_T"]:
            units, weights = found[trade, "_T"]
            # Of 121 people who weigh 321 a hundred are of the south.
            assert found[trade, "south"][0] == (weights - units) / 2
    made.facility.close()


def test_what_a_table_shows_is_not_withheld_as_the_people_of_one_weight(tmp_path) -> None:
    codes = [("north", "a")] * 40 + [("south", "a")] * 4 + [("north", "b")] * 50 + [("south", "b")] * 60
    frame = pd.DataFrame(codes, columns=["region", "trade"])
    frame["weight"] = np.where(frame.region == "south", 3.0, 1.0)
    made = weighing(tmp_path, frame, region=("north", "south"), trade=("a", "b"))
    first = cells(made.ask(dataset="people", rows=["trade"], columns=["region"], figures=BOTH))
    again = cells(made.ask(dataset="people", rows=["trade"], columns=["region"]))
    assert first["_T", "north"] == (90.0, 90.0)
    assert again == {codes: figures[:1] for codes, figures in first.items()}
    made.facility.close()


TOWNS = {("t1", "ill"): 30, ("t2", "ill"): 40, ("t3", "ill"): 4}


def of_three_towns(folder) -> House:
    codes = [*TOWNS.items(), *(((town, "well"), 60) for town in ("t1", "t2", "t3"))]
    frame = pd.DataFrame([pair for pair, size in codes for _ in range(size)], columns=["town", "health"])
    frame["weight"] = frame.town.map({"t1": 1.0, "t2": 2.5, "t3": 10.25})
    return weighing(folder, frame, town=("t1", "t2", "t3"), health=("ill", "well"))


def test_people_of_one_town_leave_two_equations_of_those_of_two_others() -> None:
    ill, weighted = 74 - 30, 30 + 2.5 * 40 + 10.25 * 4 - 30
    assert (weighted - 2.5 * ill) / (10.25 - 2.5) == TOWNS["t3", "ill"]


@pytest.mark.parametrize("first", [0, 1])
def test_three_weights_do_not_tell_few_of_a_town_beside_the_people_of_another(tmp_path, first: int) -> None:
    made = of_three_towns(tmp_path)
    asked = [{"figures": BOTH}, {"town": ["t1"]}]
    answers = [made.ask(dataset="people", rows=["health"], **asked[place]) for place in (first, 1 - first)]
    assert verdict(answers[0]) == "RELEASED"
    assert verdict(answers[1]) != "RELEASED"
    assert set(cells(answers[1])["ill",]) == {None}
    made.facility.close()


def test_few_of_a_town_are_no_difference_of_weights_of_three_towns(tmp_path) -> None:
    made = of_three_towns(tmp_path)
    asked = [{"figures": BOTH}, {"figures": BOTH, "health": ["well"]}, {"town": ["t1"]}]
    assert [verdict(made.ask(dataset="people", **one)) for one in asked] == ["RELEASED"] * 3
    assert verdict(made.ask(dataset="people", town=["t1"], health=["well"])) != "RELEASED"
    made.facility.close()


def test_enough_of_every_town_leave_beside_weights_of_three_towns(tmp_path) -> None:
    made = of_three_towns(tmp_path)
    well = {"dataset": "people", "health": ["well"]}
    assert verdict(made.ask(figures=BOTH, **well)) == "RELEASED"
    assert verdict(made.ask(rows=["town"], **well)) == "RELEASED"
    made.facility.close()


@pytest.mark.parametrize(("figures", "leaves"), [(["MEAN:income", "WEIGHTED_UNITS"], True), (SUMS, False)])
def test_what_people_of_one_weight_have_is_judged_where_sums_show_with_weights(
    tmp_path, figures: list[str], leaves: bool
) -> None:
    """One of the south's seventy has most of what these have, and less than half of what all do."""
    frame = of_towns_and_trades(70)
    frame["income"] = 1000.0 + np.arange(len(frame)) * 37 % 200
    south = frame.index[(frame.region == "south") & (frame.town == "t1")]
    frame.loc[south, "income"] /= 100.0
    frame.loc[south[0], "income"] = 100_000.0
    made = weighing(tmp_path, frame, **TOWNS_AND_TRADES)
    assert (verdict(made.ask(dataset="people", rows=["town"], figures=figures)) == "RELEASED") == leaves
    made.facility.close()


@pytest.mark.parametrize("figures", [BOTH, ["WEIGHTED_UNITS"]])
def test_towns_where_sex_makes_no_difference_to_weights_that_both_decide_are_answered(
    tmp_path, figures: list[str]
) -> None:
    codes = [(town, sex, job) for town in ("t1", "t2") for sex in "fm" for job in "ab" for _ in range(30)]
    codes += [("t1", "f", "c")] * 4
    frame = pd.DataFrame(codes, columns=["town", "sex", "job"])
    frame["weight"] = np.where(frame.town == "t2", 10.0, np.where(frame.sex == "f", 3.0, 1.5))
    made = weighing(tmp_path, frame, town=("t1", "t2"), sex="fm", job=("a", "b", "c"))
    assert verdict(made.ask(dataset="people", rows=["town"], columns=["sex"])) == "RELEASED"
    answered = made.ask(dataset="people", rows=["job"], figures=figures)
    assert verdict(answered) == "RELEASED_PROTECTED"
    assert set(cells(answered)["c",]) == {None}
    made.facility.close()
