"""Mean, variance, skewness and kurtosis of few tell the greatest value together, though none does alone.

Thirty people live in one town, and 400 in another.
"""

import numpy as np
import pandas as pd
import pytest

import sdcgate.engine.engine as engines
from house import build, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2

SIZES = {"small": 30, "large": 400}


def incomes() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"town": np.repeat([*SIZES], [*SIZES.values()])})
    frame["income"] = np.round(rng.uniform(20, 60, len(frame)))
    frame["visits"] = rng.poisson(6, len(frame))
    return frame.assign(id=range(len(frame)))


@pytest.fixture
def house(tmp_path):
    incomes().to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path, policy="five-safes")
    measures = [
        {"name": "income", "lower_bound": 1, "upper_bound": 50000},
        {"name": "visits", "lower_bound": 0, "upper_bound": 1000},
    ]
    made.engine.register(
        people_descriptor({"town": [*SIZES]}, measures, unit={"column": "id", "label": "person"})
    )
    yield made
    made.facility.close()


def moment(house, kind: str, town: str):
    named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    asked = pb.QueryStatisticRequest(dataset="people", kind=named, measure="income")
    asked.filter.add(variable="town", codes=[town])
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


def test_the_kurtosis_of_a_small_group_does_not_leave(house) -> None:
    assert verdict(moment(house, "VARIANCE", "small")) == "RELEASED"

    answered = moment(house, "KURTOSIS", "small")

    # To a researcher all rules on contributors look like the one on units.
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["MINIMUM_UNITS"])


@pytest.mark.parametrize("kind", ["VARIANCE", "SKEWNESS", "KURTOSIS"])
def test_that_of_hundreds_leaves(house, kind) -> None:
    assert verdict(moment(house, kind, "large")) == "RELEASED"


def test_nor_does_it_follow_from_two_populations(house) -> None:
    """That of all would tell the fourth powers of the small town beside those of the large one."""
    assert verdict(moment(house, "KURTOSIS", "large")) == "RELEASED"
    asked = pb.QueryStatisticRequest(
        dataset="people", kind=statistic_pb2.STATISTIC_KIND_KURTOSIS, measure="income"
    )

    answered = house.facility.query_statistic(house.researcher, asked, Pace(60.0))

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["DIFFERENCING"])


@pytest.mark.parametrize("sums_from", [10**9, 0])
def test_a_model_of_squares_is_audited_as_a_kurtosis_on_both_roads(house, monkeypatch, sums_from) -> None:
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    asked = model_request("visits ~ square(income)", "LINEAR", dataset="people", town=["small"])
    asked.standard_errors = model_pb2.STANDARD_ERRORS_CLASSICAL

    answered = house.facility.query_model(house.researcher, asked, Pace(60.0))

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])
