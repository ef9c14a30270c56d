"""Sums with noise: that of a person's value hides the value, and must not tell how many persons there are."""

import csv
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from house import House, build, cells, people_descriptor, reasons, verdict
from sdcgate.engine.engine import Engine

AGES = tuple(map(str, range(20, 60)))
TOWNS = ("t1", "t2", "t3")
YEARS = ("1", "2", "3", "4", "5")
Row = dict[str, str | int]


def people() -> list[Row]:
    """Six hundred, some fifteen of each age, whose pay is that of their age and grade."""
    rng = np.random.default_rng(3)
    made = []
    for number in range(600):
        age, grade = int(rng.integers(20, 60)), int(rng.integers(1, 5))
        made.append(
            {
                "id": f"p{number}",
                "town": str(rng.choice(TOWNS)),
                "age": str(age),
                "grade": str(grade),
                "years": age,
                "points": (age * 37) % 101 + 1,
                "pay": 1_000 * grade + 10 * age,
                "ill": int(rng.random() < 0.05),
                "pension": int(rng.gamma(2, 900)),
            }
        )
    return made


def housed(folder: Path, rows: Sequence[Row], measures: Sequence[str], secret: int = 0, **more) -> House:
    """A house under the bundled noise that knows these measures, of which each can be 0."""
    folder.mkdir(exist_ok=True)
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    listed = [{"name": name, "decimals": 0, "lower_bound": 0} for name in measures]
    # Always the same noise: one table in ten or so has none that leaves room, and is referred.
    house = build(
        folder, policy="cell-key", engine=Engine(folder, folder / "snapshots", bytes([secret]) * 32)
    )
    house.engine.register(people_descriptor(measures=listed, unit={"column": "id"}, **more))
    return house


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    codes = {"town": TOWNS, "age": AGES, "grade": "1234"}
    return housed(
        tmp_path_factory.mktemp("people"), people(), ("years", "points", "pay", "ill", "pension"), codes=codes
    )


def asked(house: House, figure: str, *rows: str):
    return house.ask(dataset="people", rows=rows, figures=["UNITS", figure])


@pytest.mark.parametrize("figure", ["SUM:years", "MEAN:years", "SUM:points"])
def test_the_years_of_an_age_do_not_tell_how_many_are_of_that_age(house, figure):
    """450 years of those aged 50, give or take 30, are nine persons, whatever noise their count has."""
    answer = asked(house, figure, "age")
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["MINIMUM_UNITS"])
    assert reasons(asked(house, figure, "town")) == reasons(answer)


def test_nor_does_the_pay_of_those_of_one_age_and_grade(house):
    answer = asked(house, "SUM:pay", "age", "grade")
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["MINIMUM_UNITS"])


def test_the_sum_of_ones_does_not_tell_how_many_have_a_one(house):
    answer = asked(house, "SUM:ill", "town")
    assert (verdict(answer), reasons(answer)) == ("REFUSED", ["NOT_ALLOWED"])
    (reason,) = answer.decision.reasons
    assert "ill has at most 8 values" in reason.message
    assert "declared as a variable" in reason.suggestion


def test_what_nothing_decides_leaves_with_noise(house):
    answer = asked(house, "SUM:pension", "age")
    assert (verdict(answer), reasons(answer)) == ("RELEASED_PROTECTED", ["PERTURBED"])


def test_one_exception_changes_nothing(tmp_path):
    rows = people()
    rows[0]["years"] = 1 + int(rows[0]["years"])
    house = housed(tmp_path, rows, ("years",), codes={"town": TOWNS, "age": AGES})
    assert reasons(asked(house, "SUM:years", "town")) == ["MINIMUM_UNITS"]


def test_what_one_person_spent_in_five_years_does_not_leave_in_true_ratios(tmp_path):
    """Of thirty in t3 one alone has expenses. Only the same records of a person have the same noise."""
    spent = {"1": 762, "2": 641, "3": 819, "4": 152, "5": 353}
    rng = np.random.default_rng(4)
    rows: list[Row] = []
    for number in range(330):
        town = TOWNS[2] if number < 30 else TOWNS[number % 2]
        for year in YEARS:
            cost = int(rng.gamma(2, 200)) if number >= 30 else spent[year] if number == 0 else 0
            rows.append({"id": f"p{number}", "town": town, "year": year, "cost": cost})
    year = {
        "name": "year",
        "identifying": "NO",
        "varies_within_unit": True,
        "levels": [{"codes": [{"code": code} for code in YEARS]}],
    }
    house = housed(tmp_path, rows, ("cost",), codes={"town": TOWNS}, variables=[year])
    table = {"rows": ["town"], "columns": ["year"], "figures": ["SUM:cost"]}
    answer = house.ask(dataset="people", **table, margins=False)
    assert (verdict(answer), reasons(answer)) == ("RELEASED_PROTECTED", ["PERTURBED"])
    shown = {codes[-1]: figure for codes, (figure,) in cells(answer).items() if codes[0] == "t3"}
    noise = [shown[year] / spent[year] for year in YEARS]
    assert all(abs(one - other) > 0.001 for one, other in pairwise(noise))


def test_a_sum_that_can_only_be_one_visit_does_not_leave(tmp_path):
    """One of thirty in t3 went once. 0.7 visits are neither none nor two: noise is six tenths at most."""
    rng = np.random.default_rng(1)
    rows = [
        {"id": f"p{number}", "town": TOWNS[number % 2], "visits": int(rng.poisson(4))}
        for number in range(400)
    ]
    rows += [{"id": f"q{number}", "town": TOWNS[2], "visits": int(number == 0)} for number in range(30)]
    told = set()
    for secret in (6, 8, 12):
        house = housed(tmp_path / str(secret), rows, ("visits",), secret, codes={"town": TOWNS})
        answer = asked(house, "SUM:visits", "town")
        left = verdict(answer) == "RELEASED_PROTECTED"
        told.add(left)
        assert left or reasons(answer) == ["UNPROVED"]
        assert not left or cells(answer)["t3",][1] >= 0.8
        house.facility.close()
    assert told == {True, False}
