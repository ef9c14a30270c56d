"""Models of one outcome with ever other regressors: each tells little of its people, all of them tell all."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import build, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2

PEOPLE = 200
"""Of whom a model may have less than 20 parameters, by the policy's share of a tenth."""
NUMBERS = [f"x{number}" for number in range(20)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("people")
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.normal(100, 20, PEOPLE).round(1) for name in [*NUMBERS, "y", "z"]})
    frame["half"] = np.arange(PEOPLE) % 2
    frame.to_csv(made / "people.csv", index=False)
    return made


def house_of(folder: Path, data: Path) -> Any:
    made = build(folder, policy="five-safes", data_root=data)
    measures = [
        {"name": name, "decimals": 1, "lower_bound": 0.1, "upper_bound": 10000}
        for name in [*NUMBERS, "y", "z"]
    ]
    made.engine.register(people_descriptor({"half": "01"}, measures))
    return made


@pytest.fixture
def house(tmp_path: Path, folder: Path) -> Iterator[Any]:
    made = house_of(tmp_path, folder)
    yield made
    made.facility.close()


def ask(house: Any, formula: str, kind: str = "LINEAR", half: str = "") -> pb.Decision:
    asked = pb.QueryModelRequest(
        dataset="people", kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"), formula=formula
    )
    if half:
        asked.filter.add(variable="half", codes=[half])
    decision: pb.Decision = house.facility.query_model(house.researcher, asked, Pace(60.0)).decision
    return decision


def terms(first: int, last: int) -> str:
    return " + ".join(NUMBERS[first:last])


def test_models_of_one_outcome_tell_together_no_more_than_one_may(house) -> None:
    assert [verdict(ask(house, f"y ~ {terms(at, at + 6)}")) for at in (0, 6, 12)] == ["RELEASED"] * 3
    # nineteen have left: the constant, and eighteen regressors
    decision = ask(house, "y ~ x18")
    assert (verdict(decision), reasons(decision)) == ("REFUSED", ["SATURATED"])
    (reason,) = decision.reasons
    assert reason.message.startswith("Together with the models of this outcome that have left")
    assert (
        reason.suggestion == "Ask a model of terms that have been asked of this outcome, or widen the filter."
    )


def test_what_was_told_before_counts_once(house) -> None:
    for at in (0, 6, 12):
        ask(house, f"y ~ {terms(at, at + 6)}")
    assert verdict(ask(house, "y ~ x0 + x7 + x13")) == "RELEASED"
    assert verdict(ask(house, f"y ~ {terms(0, 6)}")) == "RELEASED"


def test_another_outcome_has_its_own_count(house) -> None:
    for at in (0, 6, 12):
        ask(house, f"y ~ {terms(at, at + 6)}")
    assert verdict(ask(house, f"z ~ {terms(0, 6)}")) == "RELEASED"


def test_another_family_tells_other_equations_of_the_same_values(house) -> None:
    for at in (0, 6, 12):
        ask(house, f"y ~ {terms(at, at + 6)}")
    assert reasons(ask(house, "y ~ x0 + x1", "GAMMA")) == ["SATURATED"]
    assert reasons(ask(house, "log(y) ~ x0 + x1")) == ["SATURATED"]


def test_what_is_told_of_a_part_is_told_of_the_whole(house) -> None:
    for at in (0, 6):
        assert verdict(ask(house, f"y ~ {terms(at, at + 6)}")) == "RELEASED"
    # of a hundred people less than ten; of all, with the thirteen from before, less than twenty
    assert reasons(ask(house, f"y ~ {terms(0, 9)}", half="0")) == ["SATURATED"]
    assert verdict(ask(house, "y ~ x12 + x13", half="0")) == "RELEASED"
    assert reasons(ask(house, "y ~ x14 + x15 + x16 + x17", half="0")) == ["SATURATED"]


def test_they_are_counted_from_the_ledger(tmp_path: Path, folder: Path) -> None:
    first = house_of(tmp_path, folder)
    for at in (0, 6, 12):
        ask(first, f"y ~ {terms(at, at + 6)}")
    first.facility.close()
    first.ledger.close()
    second = build(tmp_path, policy="five-safes", engine=first.engine)
    assert reasons(ask(second, "y ~ x18")) == ["SATURATED"]
    second.facility.close()
