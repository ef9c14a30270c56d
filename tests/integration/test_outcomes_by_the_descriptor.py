"""Whether a model may be asked of an outcome rests on what is declared of it, and on nobody's value."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import House, build, people_descriptor, verdict
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2

COX = 'surv({}, C(e, event="1")) ~ s'


def house_of(folder: Path, one: float, lower_bound: float | None = -1000) -> House:
    """Two groups of two hundred; one person of the second has a value of her own."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "g": np.repeat(["1", "2"], 200),
            "s": rng.integers(0, 2, 400).astype(str),
            "e": rng.integers(0, 2, 400).astype(str),
            "t": np.round(rng.exponential(50, 400) + 1.5),
        }
    )
    frame.loc[300, "t"] = one
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "people.csv", index=False)
    made = build(folder)
    measure: dict[str, Any] = {"name": "t", "decimals": 1, "upper_bound": 1000}
    measure |= {} if lower_bound is None else {"lower_bound": lower_bound}
    made.engine.register(people_descriptor({"g": "12", "s": "01", "e": "01"}, [measure]))
    return made


def asked(house: House, kind: str, formula: str, group: str = "") -> str:
    """The verdict, or what is wrong with the request."""
    model = pb.QueryModelRequest(
        dataset="people", kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"), formula=formula
    )
    if group:
        model.filter.add(variable="g", codes=[group])
    try:
        return verdict(house.facility.query_model(house.researcher, model, Pace(60.0)))
    except InvalidRequest as wrong:
        return "; ".join(problem.message for problem in wrong.problems)


@pytest.mark.parametrize("group", ["1", "2"])
def test_a_time_that_may_be_below_0_is_none_whether_or_not_somebody_is(tmp_path: Path, group: str) -> None:
    house = house_of(tmp_path, -5.0)

    said = asked(house, "COX", COX.format("t"), group)

    assert said.endswith("a time that the descriptor declares a lower_bound of 0 or above for; t is none.")
    house.facility.close()


def test_a_time_that_is_declared_to_be_one_is_answered(tmp_path: Path) -> None:
    house = house_of(tmp_path, 5.0, lower_bound=0)

    assert asked(house, "COX", COX.format("t"), "2") == "RELEASED"
    house.facility.close()


def test_a_logarithm_is_above_0_where_it_is_declared_to_be(tmp_path: Path) -> None:
    """Of a measure above 0 it is below 0 for whoever has less than 1: her value must not decide."""
    house = house_of(tmp_path, 0.5, lower_bound=0.5)

    said = [asked(house, "GAMMA", "log(t) ~ s", group) for group in "12"]
    assert said[0] == said[1]
    assert "above 0" in said[0]
    assert asked(house, "GAMMA", "inverse(t) ~ s", "1") in {"RELEASED", "RELEASED_PROTECTED", "REFUSED"}
    house.facility.close()


def test_the_root_of_a_count_is_no_count_whatever_the_values_are(tmp_path: Path) -> None:
    house = house_of(tmp_path, 4.0, lower_bound=0)

    assert "is a count" in asked(house, "POISSON", "sqrt(t) ~ s", "2")
    house.facility.close()
