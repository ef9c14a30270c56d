"""Statistics of people who live together: ten members of two families are two families to an intruder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import House, build, people_descriptor, reasons, verdict
from sdcgate.engine.queries import CellQuery
from sdcgate.facility.pace import Pace
from sdcgate.facility.statistic_plan import make_statistic_plan
from sdcgate.facility.statistic_records import read_population
from sdcgate.facility.statistic_sums import computed_by_sums
from sdcgate.methods.outputs.every_statistic import compute_statistic
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

DIGITS = 5e-4
MEASURES = [
    {"name": name, "lower_bound": 0, "upper_bound": 100_000} for name in ("income", "rent", "cars", "own")
]
BY_ID = {"household": {"column": "family"}}
BY_SIZE = {"household": {"size_column": "size"}}


def families(number: int, largest: int = 11, seed: int = 4) -> pd.DataFrame:
    """Families whose members all have the family's income and rent; the first, the largest, has most."""
    rng = np.random.default_rng(seed)
    size = rng.integers(3, 8, number)
    income = np.round(rng.lognormal(8, 0.35, number))
    size[0], income[0] = largest, income.max() + 777
    rent = np.round(income * rng.uniform(0.2, 0.3, number))
    cars = rng.choice(3, number)
    cars[:2] = 7, 1
    frame = pd.DataFrame({"family": np.arange(number), "size": size, "income": income, "rent": rent})
    people = frame.assign(cars=cars).loc[np.repeat(frame.index, size)].reset_index(drop=True)
    people["own"] = np.round(people["income"] * rng.uniform(0.1, 0.9, len(people)))
    return people.assign(id=people.index, sex=rng.choice(["f", "m"], len(people)))


def made(folder: Path, people: pd.DataFrame, **more: Any) -> House:
    folder.mkdir(exist_ok=True)
    people.to_csv(folder / "people.csv", index=False)
    house = build(folder)
    house.engine.register(people_descriptor({"sex": "fm"}, MEASURES, unit={"column": "id"}, **more))
    return house


def asked(house: House, kind: str, measure: str = "income", **more: Any) -> pb.Decision:
    body = {"dataset": "people", "kind": kind, **({"measure": measure} if measure else {}), **more}
    request = from_value(body, pb.QueryStatisticRequest)
    return house.facility.query_statistic(house.researcher, request, Pace(60.0)).decision


def figures(decision: pb.Decision) -> dict[str, float]:
    return {one.name: one.values[0] for one in decision.statistic.figures if one.values}


@pytest.fixture(scope="module")
def forty() -> pd.DataFrame:
    return families(40)


@pytest.fixture(scope="module", params=[BY_ID, BY_SIZE], ids=["ids", "sizes"])
def few(request: Any, tmp_path_factory: pytest.TempPathFactory, forty: pd.DataFrame) -> Iterator[House]:
    """Forty families, known by their ids or by their sizes."""
    house = made(tmp_path_factory.mktemp("few"), forty, **request.param)
    yield house
    house.facility.close()


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    house = made(tmp_path_factory.mktemp("many"), families(500), **BY_ID)
    yield house
    house.facility.close()


def test_a_maximum_that_only_the_members_of_one_family_have_is_not_shown(few: House) -> None:
    found = asked(few, "MAXIMUM")
    assert (verdict(found), reasons(found)) == ("REFUSED", ["EXTREME_VALUE"])
    assert verdict(asked(few, "RANGE")) == "REFUSED"


def test_a_least_value_that_many_families_have_is_shown(few: House) -> None:
    assert figures(asked(few, "MINIMUM", "cars")) == {"minimum": 0}


def test_without_households_eleven_people_are_enough_for_a_maximum(tmp_path: Path, forty) -> None:
    house = made(tmp_path, forty)
    assert figures(asked(house, "MAXIMUM")) == {"maximum": forty["income"].max()}
    house.facility.close()


def test_no_percentile_is_the_mean_of_two_families(tmp_path: Path, forty: pd.DataFrame) -> None:
    """Windows of ten people lie in two or three families; which people a mean is of is sought here."""
    house = made(tmp_path, forty, **BY_ID)
    ordered = forty.sort_values("income", kind="stable").reset_index(drop=True)
    found = figures(asked(house, "PERCENTILES"))
    house.facility.close()
    assert "P50" in found
    for name, value in found.items():
        of_few = [
            ordered["family"][first:last].unique()
            for first in range(len(ordered))
            for last in range(first + 10, min(first + 15, len(ordered)))
            if ordered["family"][first:last].nunique() < 3
            and abs(ordered["income"][first:last].mean() - value) <= DIGITS * value
        ]
        assert not of_few, (name, value)


def test_no_percentile_has_less_than_three_families_beside_it(few: House, forty: pd.DataFrame) -> None:
    found = figures(asked(few, "PERCENTILES"))
    greatest = sorted(forty.drop_duplicates("family")["income"])
    assert max(found.values()) < greatest[-4]
    assert min(found.values()) > greatest[3]


@pytest.mark.parametrize("kind", ["HISTOGRAM", "BOX_PLOT", "DENSITY", "LORENZ_CURVE"])
def test_what_is_made_of_percentiles_has_the_same_points(few: House, kind: str) -> None:
    assert figures(asked(few, kind)).keys() <= figures(asked(few, "PERCENTILES")).keys()


def test_the_ten_largest_are_no_cell_where_they_are_one_family(few: House) -> None:
    found = asked(few, "CONCENTRATION_RATIO")
    assert (verdict(found), reasons(found)) == ("REFUSED", ["IMPLIED_TABLE"])


def test_the_ten_largest_of_many_families_are_a_cell(many: House) -> None:
    assert "concentration_ratio" in figures(asked(many, "CONCENTRATION_RATIO", "own"))


def test_a_value_of_one_family_alone_is_no_cell_of_a_correlation(few: House) -> None:
    """The family of eleven has seven cars, as nobody else has."""
    found = asked(few, "CORRELATIONS", "", measures=["cars", "own"])
    assert (verdict(found), reasons(found)) == ("REFUSED", ["IMPLIED_TABLE"])


def test_hexagons_are_of_three_families_at_least(few: House) -> None:
    """All of a family are at one place, so that hexagons of some ten people are of one or two families."""
    found = asked(few, "HEXAGONAL_BINS", second="rent", picture=True)
    units = [number for one in found.statistic.curves if one.name == "hexagons" for number in one.units]
    assert 11 not in units


def test_of_many_families_all_percentiles_are_shown(many: House) -> None:
    assert len(figures(asked(many, "PERCENTILES"))) >= 11
    assert len(figures(asked(many, "PERCENTILES", "own"))) == 13


def test_of_many_families_shares_tests_and_correlations_are_shown(many: House) -> None:
    for kind, more in (
        ("PROPORTION", {"measure": "", "having": {"variable": "sex", "codes": ["f"]}}),
        ("T_TEST", {"measure": "own", "having": {"variable": "sex", "codes": ["f"]}}),
        ("MODE", {"measure": "", "mode_of": {"variable": "sex"}}),
        ("CORRELATIONS", {"measure": "", "measures": ["own", "income"]}),
        ("HEXAGONAL_BINS", {"measure": "own", "second": "income"}),
        ("MEAN", {"standard_errors": True}),
    ):
        found = asked(many, kind, **more)
        assert verdict(found).startswith("RELEASED"), (kind, reasons(found))


TWO_WAYS = [
    {"kind": "T_TEST", "measure": "own", "having": {"variable": "sex", "codes": ["f"]}},
    {
        "kind": "T_TEST",
        "measure": "own",
        "having": {"variable": "sex", "codes": ["f"]},
        "groups": [{"variable": "cars_kept"}],
    },
    {"kind": "CHI_SQUARED_TEST", "factors": [{"variable": "sex"}, {"variable": "cars_kept"}]},
    {
        "kind": "ANALYSIS_OF_VARIANCE",
        "measure": "own",
        "factors": [{"variable": "cars_kept"}, {"variable": "sex"}],
    },
]


def test_cells_of_tests_have_the_same_households_by_sums_as_by_records(tmp_path: Path) -> None:
    """Of one kind of keeping cars there is one family, of nobody's a code that nobody has."""
    people = families(40)
    people["cars_kept"] = np.where(people["family"] == 0, "one", np.where(people["cars"] > 1, "two", "few"))
    people.to_csv(tmp_path / "people.csv", index=False)
    house = build(tmp_path)
    codes = {"sex": "fm", "cars_kept": ["few", "none", "one", "two"]}
    described = people_descriptor(codes, MEASURES[-1:], unit={"column": "id"}, **BY_ID)
    dataset = house.engine.register(described).dataset
    policy = house.facility._policies.of(dataset)
    for body in TWO_WAYS:
        request = from_value({"dataset": "people", **body}, pb.QueryStatisticRequest)
        plan = make_statistic_plan(dataset, policy, request)
        axes = house.engine.compute(dataset, CellQuery(plan.groups, plan.population, (), 1)).axes
        by_sums = computed_by_sums(house.engine, plan, lambda: None)
        read = read_population(house.engine, plan, axes)
        assert by_sums is not None
        assert read is not None
        computed = compute_statistic(plan.statistic, read.sample, plan.rules, read.columns)
        for one, other in zip(by_sums.computed.facts.implied, computed.facts.implied, strict=True):
            assert np.array_equal(one.units, other.units)
            assert np.array_equal(one.households, other.households), body
        of_groups = by_sums.computed.facts.table.households, computed.facts.table.households
        assert np.array_equal(*of_groups)
    house.facility.close()
