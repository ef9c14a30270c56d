"""Which variables decide what everybody has of a weight or a measure is found in the records."""

import numpy as np
import pandas as pd
import pytest

from house import build, people_descriptor
from sdcgate.facility.decided_values import DecidedValues

CODES = {"town": "abcd", "sex": "fm", "age": "123"}
MEASURES = [
    {"name": "fee", "lower_bound": 0, "upper_bound": 100, "decimals": 1},
    {"name": "income", "lower_bound": 0, "upper_bound": 9000, "decimals": 0},
]
FEE = {"a": 10.0, "c": 7.5, "d": 10.0}
WEIGHT = {"a": 2.5, "c": 12.25, "d": 2.5}


def people(of_weight):
    """Nobody is of town b."""
    rng = np.random.default_rng(3)
    made = pd.DataFrame({"town": rng.choice(["a", "c", "d"], 600)})
    made["sex"], made["age"] = rng.choice(["f", "m"], 600), rng.choice(["1", "2", "3"], 600)
    made["fee"] = made.town.map(FEE)
    made["income"] = rng.integers(0, 9000, 600)
    made.loc[made.index[:50], "income"] = None
    made.loc[made.town.eq("d").idxmax(), "fee"] = None
    made["w"] = of_weight(made)
    return made


@pytest.fixture
def decided(tmp_path):
    houses = []

    def of(made, quantity):
        folder = tmp_path / str(len(houses))
        folder.mkdir()
        made.to_csv(folder / "people.csv", index=False)
        house = build(folder)
        houses.append(house)
        described = people_descriptor(CODES, MEASURES, weight={"column": "w", "decimals": 2})
        dataset = house.engine.register(described).dataset
        return DecidedValues(house.engine).of(dataset, quantity)

    yield of
    for house in houses:
        house.facility.close()


def by_town(made):
    return made.town.map(WEIGHT)


def test_a_weight_that_towns_have_is_decided_by_town_and_towns_of_the_same_weight_are_one(decided):
    (found,) = decided(people(by_town), "weight:")
    assert found.variables == {"town"}
    # Of the towns that occur c is the second.
    assert dict(found.parts) == {(("town", 0b101),): 2.5, (("town", 0b010),): 12.25}
    assert found.full == {"town": 0b111}


def test_a_measure_is_decided_by_the_codes_of_those_who_have_it(decided):
    (found,) = decided(people(by_town), "fee")
    assert dict(found.parts) == {(("town", 0b101),): 10.0, (("town", 0b010),): 7.5}


def test_after_calibration_two_variables_decide_a_weight_together(decided):
    (found,) = decided(people(lambda made: 2 * made.age.astype(float) + made.sex.eq("f")), "weight:")
    assert found.variables == {"age", "sex"}
    parts = dict(found.parts)
    assert len(parts) == 6
    # The third age, women.
    assert parts[("age", 0b100), ("sex", 0b01)] == 7.0


def test_where_one_of_two_variables_makes_no_difference_the_box_is_that_of_the_other(decided):
    def of_women_older(made):
        return np.where(made.sex.eq("m"), 4.0, 1.0 + made.age.astype(float))

    (found,) = decided(people(of_women_older), "weight:")
    parts = dict(found.parts)
    assert parts[(("sex", 0b10),)] == 4.0
    assert parts[("age", 0b001), ("sex", 0b01)] == 2.0
    assert len(parts) == 4


def test_what_one_person_has_otherwise_or_nobody_differs_in_is_not_decided(decided):
    def but_one(made):
        weight = by_town(made)
        weight[made.index[7]] += 0.01
        return weight

    assert decided(people(but_one), "weight:") == ()
    assert decided(people(by_town), "income") == ()
    assert decided(people(lambda made: np.full(len(made), 3.0)), "weight:") == ()


def test_other_quantities_are_decided_by_nothing(decided):
    for quantity in ("weight:income", "fee^2", "counts", ""):
        assert decided(people(by_town), quantity) == ()


def test_a_weighted_measure_is_decided_by_what_decides_the_weight_and_the_measure(decided):
    (found,) = decided(people(by_town), "weight:fee")
    assert dict(found.parts) == {(("town", 0b101),): 25.0, (("town", 0b010),): 7.5 * 12.25}
    (crossed,) = decided(people(lambda made: 2 * made.age.astype(float)), "weight:fee")
    assert crossed.variables == {"age", "town"}
    assert len(crossed.parts) == 6
    assert dict(crossed.parts)[("age", 0b100), ("town", 0b010)] == 6 * 7.5


def test_a_weighted_measure_is_decided_by_nothing_where_weights_or_the_measure_are_not(decided):
    rng = np.random.default_rng(5)
    assert decided(people(lambda made: rng.integers(1, 900, len(made)) / 4), "weight:fee") == ()
    assert decided(people(lambda made: np.full(len(made), 3.0)), "weight:fee") == ()
