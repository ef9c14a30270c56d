"""What is held for what others were told is not said to rest on too few units alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import House, build, cells, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2

TOGETHER = "together with other answers"


@pytest.fixture
def house(tmp_path: Path) -> Any:
    """600 people, three of them with h=d; u tells who has h=c."""
    rng = np.random.default_rng(8)
    h = np.repeat(["a", "b", "c", "d"], [250, 250, 97, 3])
    u = (h == "c").astype(int)
    pd.DataFrame({"h": h, "u": u, "s": np.arange(600) % 2, "y": rng.normal(50, 9, 600).round(1)}).to_csv(
        tmp_path / "people.csv", index=False
    )
    made = build(tmp_path, policy="five-safes")
    measures = [{"name": "y", "decimals": 1, "lower_bound": 0, "upper_bound": 1000}]
    made.engine.register(people_descriptor({"h": "abcd", "u": "01", "s": "01"}, measures))
    yield made
    made.facility.close()


def model(house: House, formula: str) -> Any:
    asked = pb.QueryModelRequest(dataset="people", kind=model_pb2.MODEL_KIND_LINEAR, formula=formula)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


@pytest.mark.parametrize("formula", ["y ~ u * s", "y ~ h * s"])
def test_a_model_is_held_in_the_same_words_for_few_people_and_for_those_withheld_beside_them(
    house: House, formula: str
) -> None:
    """Of the first each cell has fifty people: which of the withheld is the small one is not told."""
    table = cells(house.ask(dataset="people", rows=["h"], figures=["MEAN:y"], margins=True))
    hidden = [code for (code,), figures in table.items() if figures == (None,)]
    assert hidden == ["c", "d"]

    answered = model(house, formula)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])
    assert TOGETHER in answered.decision.reasons[0].message
