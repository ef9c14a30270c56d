"""What a model that is held suggests can be done with that model, and an alternative can be asked."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import House, build, people_descriptor, reasons, table_request, verdict, with_randhie
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2


@pytest.fixture
def house(tmp_path: Path) -> Any:
    made = with_randhie(tmp_path, policy="five-safes")
    yield made
    made.facility.close()


def ask(house: House, formula: str, kind: str = "LINEAR", dataset: str = "randhie", **filters: Any) -> Any:
    asked = pb.QueryModelRequest(
        dataset=dataset,
        kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"),
        formula=formula,
        filter=table_request(**filters).filter,
    )
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


@pytest.mark.parametrize(
    ("kind", "formula", "filters", "reason", "suggested"),
    [
        ("LINEAR", "meddol ~ household_size * site", {}, "MINIMUM_UNITS", "ask household_size by groups"),
        (
            "LOGIT",
            'C(hlthp, event="1") ~ female + income',
            {"site": ["4"], "year": ["5"]},
            "MINIMUM_UNITS",
            "leave out a condition of the filter",
        ),
    ],
)
def test_what_is_suggested_can_be_done_with_the_model(
    house: House, kind: str, formula: str, filters: dict[str, list[str]], reason: str, suggested: str
) -> None:
    answered = ask(house, formula, kind, **filters)

    found = {
        one: said.suggestion for one, said in zip(reasons(answered), answered.decision.reasons, strict=True)
    }
    assert verdict(answered) == "REFUSED"
    assert suggested.lower() in found[reason].lower()
    assert "coarser" not in found[reason]


def test_a_model_without_a_filter_is_not_told_to_leave_it_out(tmp_path: Path) -> None:
    house = with_randhie(tmp_path, policy="israel-cbs")
    assert verdict(ask(house, "meddol ~ site")) == "RELEASED"

    answered = ask(house, 'C(education, level="stages") ~ female', "ORDERED_LOGIT")

    assert reasons(answered) == ["DIFFERENCING"]
    assert "filter" not in answered.decision.reasons[0].suggestion
    assert "table" not in answered.decision.reasons[0].suggestion
    assert "Leave out a variable" in answered.decision.reasons[0].suggestion
    house.facility.close()


def test_of_variables_that_follow_from_each_other_no_alternative_keeps_all(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    psu = rng.integers(0, 6, 900)
    frame = pd.DataFrame(
        {"psu": psu, "region": psu // 3, "sex": rng.integers(0, 2, 900), "y": rng.normal(50, 9, 900).round(1)}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    house = build(tmp_path, policy="five-safes")
    measures = [{"name": "y", "decimals": 1, "lower_bound": 0, "upper_bound": 10000}]
    house.engine.register(people_descriptor({"psu": "012345", "region": "01", "sex": "01"}, measures))

    answered = ask(house, "y ~ psu + region + sex", dataset="people")

    assert reasons(answered) == ["NOT_ESTIMABLE"]
    formulas = [one.model.formula for one in answered.decision.alternatives]
    assert formulas
    followed = [ask(house, formula, dataset="people") for formula in formulas]
    assert any(verdict(one) == "RELEASED" for one in followed)
    assert not any({"psu", "region", "sex"} <= {*formula.split()} for formula in formulas)
    house.facility.close()
