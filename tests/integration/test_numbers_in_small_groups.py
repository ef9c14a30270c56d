"""A number is a number in every population, however few of its values the people of a filter have."""

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
    reasons,
    verdict,
    with_randhie,
)
from sdcgate.engine import engine as engines
from sdcgate.facility.pace import Pace


def ask(
    house: House, formula: str, kind: str = "LINEAR", dataset: str = "people", **filters: list[str]
) -> Any:
    asked = model_request(formula, kind, dataset, **filters)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


@pytest.fixture(params=[10**9, 0], ids=["by_records", "by_sums"])
def roads(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(engines, "SUMS_FROM", request.param)


@pytest.mark.parametrize("policy", ["five-safes", "israel-cbs"])
@pytest.mark.parametrize("kind", ["LINEAR", "POISSON"])
def test_admissions_are_a_count_at_each_site(tmp_path: Path, policy: str, kind: str) -> None:
    """People of sites 1 and 2 have seven values of it, those of site 3 nine, and of site 5 four."""
    house = with_randhie(tmp_path, policy=policy)

    found = {site: verdict(ask(house, "totadm ~ female", kind, "randhie", site=[site])) for site in "1235"}

    assert found == dict.fromkeys("1235", "RELEASED")
    house.facility.close()


@pytest.fixture
def house(tmp_path: Path, roads: None) -> Any:
    """Of group b all have no points but for 12 with 1; of c but for 4 with 2, 3 and 5; of d but for 60."""
    rng = np.random.default_rng(3)
    groups = np.repeat(list("abcd"), 300)
    points = np.zeros(1200)
    points[:300] = np.arange(300) % 20
    points[300:312] = 1
    points[600:604] = [2, 3, 5, 5]
    points[900:960] = 1 + np.arange(60) % 3
    frame = pd.DataFrame(
        {
            "g": groups,
            "s": np.arange(1200) % 2,
            "x": rng.normal(50, 9, 1200).round(1),
            "points": points,
            "flag": (np.arange(1200) % 40 == 0) * 100,
            "few": (np.arange(1200) % 300 == 0) * 100,
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path, policy="five-safes")
    measures = [{"name": "x", "decimals": 1, "lower_bound": 0, "upper_bound": 1000}]
    measures += [{"name": name, "lower_bound": 0, "upper_bound": 1000} for name in ("points", "flag", "few")]
    made.engine.register(people_descriptor({"g": "abcd", "s": "01"}, measures))
    yield made
    made.facility.close()


def test_few_values_of_a_number_in_a_group_are_no_classes(house: House) -> None:
    assert verdict(ask(house, "points ~ x", g=["d"])) == "RELEASED"
    assert verdict(ask(house, "points ~ x", g=["a"])) == "RELEASED"


def test_of_few_who_alone_have_another_value_than_all_others_nothing_is_told(house: House) -> None:
    """Slope times spread of x is what x is on average for them."""
    answered = ask(house, "points ~ x", g=["c"])

    assert verdict(answered) == "REFUSED"
    assert "OUTCOME_CLASS" in reasons(answered)


def test_a_number_of_two_values_in_the_whole_dataset_is_two_classes(house: House) -> None:
    answered = ask(house, "few ~ x")

    assert verdict(answered) == "REFUSED"
    assert "OUTCOME_CLASS" in reasons(answered)
    assert verdict(ask(house, "flag ~ x")) == "RELEASED"


def test_so_it_is_in_a_part_of_it(house: House) -> None:
    answered = ask(house, "flag ~ x", g=["a"])

    suggestions = dict(zip(reasons(answered), [r.suggestion for r in answered.decision.reasons], strict=True))
    assert "leave out a condition of the filter" in suggestions["OUTCOME_CLASS"].lower()
