"""What a model that did not leave costs others: no table of counts, and no fit of other people's but few."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import (
    House,
    build,
    model_request,
    people_descriptor,
    person,
    reasons,
    table_request,
    verdict,
    with_randhie,
)
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2

BOB = person("researcher", "bob")
SCHOOLED = 'meddol ~ C(education, level="stages") * site'


def model(house: House, formula: str, kind: str = "LINEAR", caller: Any = None, **filters: list[str]) -> Any:
    asked = model_request(formula, kind, **filters)
    return house.facility.query_model(caller or house.researcher, asked, Pace(120.0))


def table(house: House, caller: Any = BOB, **asked: Any) -> Any:
    return house.facility.query_table(caller, table_request(**asked), Pace(60.0))


@pytest.fixture(params=["five-safes", "israel-cbs"])
def house(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    made = with_randhie(tmp_path, policy=request.param)
    yield made
    made.facility.close()


def test_a_model_that_is_refused_for_its_categories_takes_no_table_from_others(house: House) -> None:
    refused = model(house, SCHOOLED)
    assert (verdict(refused), reasons(refused)) == ("REFUSED", ["MINIMUM_UNITS"])

    assert verdict(table(house, rows=["site"], columns=["female"], figures=["UNITS"])) == "RELEASED"
    assert verdict(table(house, rows=["site"], columns=["female"], figures=["MEAN:meddol"])) == "RELEASED"
    assert verdict(model(house, "meddol ~ female", caller=BOB)) == "RELEASED"
    assert verdict(model(house, "meddol ~ site", caller=BOB)) == "RELEASED"


def test_a_model_that_is_refused_after_its_fit_takes_no_counts_from_others(house: House) -> None:
    refused = model(house, "meddol ~ numeric(education) + cube(inpdol)")
    assert verdict(refused) == "REFUSED"
    assert {"MINIMUM_UNITS", "DIFFERENCING", "MINIMUM_BASE"}.isdisjoint(reasons(refused))

    assert verdict(table(house, rows=["site"], columns=["female"], figures=["UNITS"])) == "RELEASED"


def one_who_differs(folder: Path) -> House:
    """Of 300 people m and w are the same but for one, whom the filter k=y leaves out with two others."""
    rng = np.random.default_rng(5)
    spent = rng.normal(200, 30, 300).round(1)
    frame = pd.DataFrame(
        {
            "k": ["x"] * 3 + ["y"] * 297,
            "f": rng.choice(["a", "b"], 300),
            "m": spent,
            "w": [spent[0] + 7.5, *spent[1:]],
            "y": rng.normal(50, 9, 300).round(1),
        }
    )
    folder.mkdir(exist_ok=True)
    frame.to_csv(folder / "people.csv", index=False)
    made = build(folder)
    measures = [{"name": name, "decimals": 1, "lower_bound": 0, "upper_bound": 10000} for name in "mwy"]
    made.engine.register(people_descriptor({"k": "xy", "f": "ab"}, measures))
    return made


FEW_APART = ({}, {"k": ["y"]})
"""Filters that differ by three people, one of whom alone has another w than m."""


@pytest.mark.parametrize("first", [0, 1])
def test_a_fit_that_was_refused_is_compared_with_that_of_nearly_the_same_people(
    tmp_path: Path, first: int
) -> None:
    house = one_who_differs(tmp_path / "people")

    before, after = (model_of_people(house, FEW_APART[place]) for place in (first, 1 - first))

    assert (verdict(before), verdict(after)) == ("REFUSED", "REFUSED")
    assert "DIFFERENCING" not in reasons(before)
    assert reasons(after) == ["DIFFERENCING"]
    house.facility.close()


def model_of_people(house: House, filters: dict[str, list[str]]) -> Any:
    asked = pb.QueryModelRequest(dataset="people", kind=model_pb2.MODEL_KIND_LINEAR, formula="y ~ f + m + w")
    for name, codes in filters.items():
        asked.filter.add(variable=name, codes=codes)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def test_what_was_refused_after_its_fit_is_known_again_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    house = one_who_differs(folder)
    assert "DIFFERENCING" not in reasons(model_of_people(house, FEW_APART[1]))
    house.facility.close()

    again = build(folder, engine=house.engine)

    assert reasons(model_of_people(again, FEW_APART[0])) == ["DIFFERENCING"]
    again.facility.close()


class NeverAsked:
    """A protection service that nobody is to ask."""

    def protect_table(self, *_: object, **__: object) -> Any:
        raise AssertionError("a pattern was looked for in a table with which the model is refused anyway")


def test_no_pattern_is_looked_for_in_a_table_that_may_not_lose_a_cell(tmp_path: Path) -> None:
    """Of some thousand cells that takes half a minute, and comes to the same refusal."""
    house = with_randhie(tmp_path, protection=NeverAsked())

    refused = model(house, "meddol ~ household_size * education")

    assert (verdict(refused), reasons(refused)) == ("REFUSED", ["MINIMUM_UNITS"])
    assert "education by stages" in refused.decision.reasons[0].suggestion
    house.facility.close()
