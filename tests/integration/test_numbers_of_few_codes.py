"""A number of two codes is the factor of them: judged by the same table, released with the same figures."""

from pathlib import Path
from typing import Any

import pytest

from house import House, verdict, with_randhie
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = with_randhie(Path(tmp_path_factory.mktemp("house")))
    yield made
    made.facility.close()


def ask(house: House, kind: str, formula: str) -> Any:
    asked = pb.QueryModelRequest(
        dataset="randhie", kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"), formula=formula
    )
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


@pytest.mark.parametrize(
    ("kind", "outcome"), [("LOGIT", 'C(hlthp, event="1")'), ("LINEAR", "meddol"), ("POISSON", "mdvis")]
)
def test_a_number_of_two_codes_is_answered_as_the_factor_is(house: House, kind: str, outcome: str) -> None:
    factor, number = (ask(house, kind, f"{outcome} ~ {term}") for term in ("female", "numeric(female)"))

    assert verdict(factor) == verdict(number) == "RELEASED"
    figures = [[one.estimate for one in answer.decision.model.coefficients] for answer in (factor, number)]
    assert figures[0] == pytest.approx(figures[1], rel=2e-3)


def test_numbers_crossed_with_a_factor_are_their_table(house: House) -> None:
    assert verdict(ask(house, "LINEAR", "meddol ~ site * numeric(female)")) == "RELEASED"


def test_people_are_left_out_of_a_model_of_such_numbers_as_of_one_of_factors(tmp_path: Path) -> None:
    """Each code loses, and keeps, as many people as a cell must have."""
    house = with_randhie(tmp_path, policy="five-safes")
    assert verdict(ask(house, "LINEAR", "mdvis ~ female")) == "RELEASED"

    answered = ask(house, "LINEAR", "mdvis ~ numeric(idp) + numeric(education)")

    assert verdict(answered) == "RELEASED_PROTECTED"
    assert "left out at random" in answered.decision.reasons[0].message
    house.facility.close()
