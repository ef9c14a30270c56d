"""That a model was held on some people is reckoned with once another version of the dataset answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import House, build, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace

MEASURES = [
    {"name": name, "decimals": 0, "lower_bound": 0, "upper_bound": 100000} for name in ("gross", "net")
]


def people() -> pd.DataFrame:
    """Three of the north pay a tax, and half of the others elsewhere."""
    rng, place = np.random.default_rng(1), np.arange(300)
    north, gross = place < 100, rng.integers(1000, 3000, 300)
    taxed = np.where(north, place < 3, place % 2 == 1)
    return pd.DataFrame(
        {
            "region": np.where(north, "north", np.where(place < 200, "south", "west")),
            "taxed": np.where(taxed, "yes", "no"),
            "sex": np.where(place % 4 < 2, "f", "m"),
            "gross": gross,
            "net": gross - np.where(taxed, rng.integers(50, 400, 300), 0),
        }
    )


def register(house: House, folder: Path, frame: pd.DataFrame) -> None:
    frame.assign(id=range(len(frame))).to_csv(folder / "people.csv", index=False)
    codes = {"region": ["north", "south", "west"], "taxed": ["yes", "no"], "sex": ["f", "m"]}
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor(codes, MEASURES, unit=unit))


def asked(house: House, figure: str) -> Any:
    return house.ask(dataset="people", rows=["region"], figures=[figure], region=["north"])


@pytest.mark.parametrize("two", [False, True])
def test_what_three_pay_is_not_told_beside_a_model_that_says_nobody_else_does(
    tmp_path: Path, two: bool
) -> None:
    """All others of the north have net what they have gross: sums of both differ by what the three pay."""
    house = build(tmp_path)
    register(house, tmp_path, people())
    assert verdict(house.ask(dataset="people", rows=["sex"])) == "RELEASED"
    model = model_request("net ~ gross", dataset="people", region=["north"], taxed=["no"])
    held = house.facility.query_model(house.researcher, model, Pace(60.0))
    assert reasons(held) == ["NOT_ESTIMABLE"]
    if two:
        more = people().query("region == 'west'").head(60)
        register(house, tmp_path, pd.concat([people(), more]))

    answers = [asked(house, figure) for figure in ("SUM:net", "SUM:gross", "UNITS")]

    house.facility.close()
    assert {one.decision.version for one in answers} == {2 if two else 1}
    assert [reasons(one) for one in answers] == [["DIFFERENCING"], ["DIFFERENCING"], []]
