"""Nothing of people in withheld cells is told by whether a model can be fitted, or which rule holds it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import build, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2, table_pb2


def house_of(folder: Path, few: int, change: dict[str, Any]) -> Any:
    """Two hundred people, of whom few are of code x, changed as told."""
    rng = np.random.default_rng(3)
    number = 200
    frame = pd.DataFrame(
        {
            "k": np.where(np.arange(number) < few, "x", "y"),
            "f": rng.choice(["a", "b"], number),
            "g": rng.choice(["1", "2", "3"], number),
            "h": rng.choice(["0", "1"], number),
            "m": rng.normal(100, 20, number).round(1).clip(1),
            "y": rng.normal(50, 9, number).round(1).clip(1),
        }
    )
    odd = (frame["f"] == "a") & (frame["g"] == "1")
    frame.loc[odd & (np.arange(number) >= few), "g"] = "2"
    frame.loc[range(few), ["f", "g"]] = ["a", "1"]
    for column, value in change.items():
        frame.loc[range(few), column] = value
    folder.mkdir()
    frame.to_csv(folder / "people.csv", index=False)
    made = build(folder)
    measures = [{"name": name, "decimals": 1, "lower_bound": 0.1, "upper_bound": 10000} for name in "my"]
    made.engine.register(people_descriptor({"k": "xy", "f": "ab", "g": "123", "h": "01"}, measures))
    return made


def asked(formula: str, kind: str = "LINEAR") -> pb.QueryModelRequest:
    return pb.QueryModelRequest(
        dataset="people", kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"), formula=formula
    )


MODELS = (
    *(asked(formula) for formula in ("y ~ k + k:m", "y ~ k + k:m + k:sqrt(m)", "y ~ f*g", "y ~ f*g*m")),
    *(asked(f'C(h, event="1") ~ {terms}', "LOGIT") for terms in ("k + m", "f*g")),
)


@pytest.mark.parametrize("few", [1, *(pytest.param(few, marks=pytest.mark.long) for few in (2, 9)), 3])
def test_a_fit_tells_nothing_of_the_people_of_withheld_cells(tmp_path: Path, few: int) -> None:
    found = []
    for place, change in enumerate(({}, {"m": 57.3}, {"h": "1"}, {"y": 1.0})):
        house = house_of(tmp_path / str(place), few, change)
        answers = [house.facility.query_model(house.researcher, one, Pace(60.0)) for one in MODELS]
        found.append([(verdict(one), reasons(one), *_messages(one)) for one in answers])
        house.facility.close()
    assert {verdict for verdict, *_ in found[0]} == {"REFUSED"}
    assert all(one == found[0] for one in found)
    assert {tuple(why) for _, why, *_ in found[0]} == {("MINIMUM_UNITS",)}


def test_beside_cells_that_only_the_rule_on_categories_withholds_no_model_has_errors(tmp_path: Path) -> None:
    """Errors would tell what is left unexplained, and so what the withheld cell explains."""
    place = np.arange(300)
    frame = pd.DataFrame(
        {
            "f": np.where(place < 150, "a", "b"),
            "g": np.where((place < 6) | (place > 200), "1", "2"),
            "y": np.random.default_rng(3).normal(50, 9, len(place)).round(1).clip(1),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    house = build(tmp_path)
    measure = {"name": "y", "decimals": 1, "lower_bound": 0.1, "upper_bound": 10000}
    # A cell has five people there at least, a category of a model ten.
    house.engine.register(people_descriptor({"f": "ab", "g": "12"}, [measure], access_level="licensed"))

    answered = house.facility.query_model(house.researcher, asked("y ~ 0 + f:g"), Pace(60.0))

    house.facility.close()
    assert (verdict(answered), reasons(answered)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    model = answered.decision.model
    hidden = [one.name for one in model.coefficients if one.status == table_pb2.CELL_STATUS_WITHHELD]
    assert hidden == ["f[a]:g[1]"]
    assert sum(one.HasField("estimate") for one in model.coefficients) == 3
    assert not any(one.HasField("standard_error") or one.HasField("lower") for one in model.coefficients)
    assert not model.fit


@pytest.mark.parametrize("kind", ["PERCENTILES", "RANGE", "MINIMUM", "LORENZ_CURVE"])
def test_a_statistic_names_no_rule_that_only_withheld_groups_break(tmp_path: Path, kind: str) -> None:
    statistic = pb.QueryStatisticRequest(
        dataset="people",
        kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}"),
        measure="m",
        groups=[pb.DimensionRequest(variable="k")],
    )
    found = []
    for place, change in enumerate(({}, {"m": 57.3})):
        house = house_of(tmp_path / str(place), 3, change)
        answer = house.facility.query_statistic(house.researcher, statistic, Pace(60.0))
        found.append((verdict(answer), reasons(answer), *_messages(answer)))
        house.facility.close()
    assert found[0] == found[1]
    assert found[0][:2] == ("REFUSED", ["MINIMUM_UNITS"])


def _messages(answer: Any) -> tuple[str, ...]:
    return tuple(reason.message for reason in answer.decision.reasons)
