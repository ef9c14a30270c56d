"""Attacks by survival curves and correlations: each finds the truth where answers are not protected."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.survfunc import SurvfuncRight

from house import House, build, verdict
from patients import descriptor, patients
from sdcgate.engine import engine as engines
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.pace import Pace
from sdcgate.wire.json import from_value
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

EVERYBODY: dict[str, list[str]] = {}
ALL_BUT_ONE = {"ward": ["big"]}
Steps = dict[float, float]


class Unprotected:
    """Whoever answers everything, to four digits."""

    def __init__(self, people: pd.DataFrame) -> None:
        self._people = people

    def curve(self, where: dict[str, list[str]]) -> Steps:
        """Survival by month."""
        some = self._those(where)
        found = SurvfuncRight(some["month"], some["status"] == "ill")
        return {
            time: float(f"{height:.4g}")
            for time, height in zip(found.surv_times, found.surv_prob, strict=True)
        }

    def correlation(self, where: dict[str, list[str]]) -> float | None:
        """Of income and wealth."""
        some = self._those(where)
        return float(f"{np.corrcoef(some['income'], some['wealth'])[0, 1]:.4g}")

    def _those(self, where: dict[str, list[str]]) -> pd.DataFrame:
        return self._people[
            np.all(
                [self._people[name].isin(codes) for name, codes in where.items()]
                or [[True] * len(self._people)],
                axis=0,
            )
        ]


class Protected:
    """The facility."""

    def __init__(self, house: House) -> None:
        self._house = house

    def curve(self, where: dict[str, list[str]]) -> Steps:
        """Survival by month; nothing where it is refused."""
        asked = {
            "kind": "KAPLAN_MEIER",
            "measure": "month",
            "having": {"variable": "status", "codes": ["ill"]},
        }
        found = {one.name: one for one in self._ask(asked, where).curves}
        return dict(zip(found["survival"].x, found["survival"].y, strict=True)) if found else {}

    def correlation(self, where: dict[str, list[str]]) -> float | None:
        """Of income and wealth; None where it is refused."""
        found = self._ask({"kind": "CORRELATIONS", "measures": ["income", "wealth"]}, where).figures
        return found[0].values[0] if found else None

    def _ask(self, asked: dict[str, Any], where: dict[str, list[str]]) -> Any:
        body = {
            **asked,
            "dataset": "patients",
            "filter": [{"variable": n, "codes": c} for n, c in where.items()],
        }
        request = from_value(body, pb.QueryStatisticRequest)
        answered = self._house.facility.query_statistic(self._house.researcher, request, Pace(60.0))
        return answered.decision.statistic


def events(steps: Steps, people: int) -> dict[float, int]:
    """Events by month, which a curve tells who knows how many people there are."""
    found, before, at_risk = {}, 1.0, people
    for month, height in steps.items():
        found[month] = round(at_risk * (1 - height / before))
        before, at_risk = height, at_risk - found[month]
    return found


def months_of_one(publisher: Unprotected | Protected, people: int) -> set[float]:
    """The months in which the curves of all and of all but one differ by an event."""
    every, rest = publisher.curve(EVERYBODY), publisher.curve(ALL_BUT_ONE)
    if not every or not rest:
        return set()
    more, fewer = events(every, people), events(rest, people - 1)
    return {month for month in more if more[month] != fewer.get(month, 0)}


@pytest.fixture
def people() -> pd.DataFrame:
    """One in the small ward, who falls ill in the fourth month, and whose wealth is far from the others'."""
    frame = patients().assign(ward="big")
    frame.loc[7, ["ward", "status"]] = "small", "ill"
    frame.loc[7, ["month", "income", "wealth"]] = 4.0, 5000.0, 45_000.0
    return frame


@pytest.fixture
def house(tmp_path, people) -> House:
    people.to_csv(tmp_path / "patients.csv", index=False)
    house = build(tmp_path, policy="five-safes")
    house.engine.register(parse_descriptor(descriptor()))
    return house


def test_two_curves_tell_the_month_of_one_unless_the_second_is_refused(house, people) -> None:
    assert months_of_one(Unprotected(people), len(people)) == {4.0}
    assert months_of_one(Protected(house), len(people)) == set()


def test_two_correlations_tell_that_one_is_far_out_unless_the_second_is_refused(house, people) -> None:
    everybody, rest = (Unprotected(people).correlation(where) for where in (EVERYBODY, ALL_BUT_ONE))
    assert everybody - rest > 0.02

    facility = Protected(house)
    assert facility.correlation(ALL_BUT_ONE) == rest
    assert facility.correlation(EVERYBODY) is None


def test_curves_by_ward_do_not_tell_the_one_beside_the_whole(house) -> None:
    facility = Protected(house)
    assert facility.curve(EVERYBODY)
    by_ward = from_value(
        {
            "dataset": "patients",
            "kind": "KAPLAN_MEIER",
            "measure": "month",
            "having": {"variable": "status", "codes": ["ill"]},
            "groups": [{"variable": "ward"}],
        },
        pb.QueryStatisticRequest,
    )
    answered = house.facility.query_statistic(house.researcher, by_ward, Pace(60.0))
    assert verdict(answered) == "REFUSED"
    assert len(answered.decision.statistic.curves) == 0


@pytest.fixture(params=["by records", "by sums"])
def alike(tmp_path, monkeypatch, request) -> House:
    """In the small ward income and wealth are the same but for one, who has 900 more of wealth."""
    if request.param == "by sums":
        monkeypatch.setattr(engines, "SUMS_FROM", 0)
    frame = patients(180).assign(ward=np.where(np.arange(180) < 30, "small", "big"))
    small = frame["ward"] == "small"
    frame["wealth"] = np.where(small, frame["income"], frame["wealth"] / 6)
    frame.loc[7, "wealth"] += 900
    frame.to_csv(tmp_path / "patients.csv", index=False)
    house = build(tmp_path, policy="five-safes")
    house.engine.register(parse_descriptor(descriptor()))
    return house


def test_two_correlations_do_not_tell_by_how_much_one_differs_in_the_rest(alike) -> None:
    """Products of everybody less those of the big ward are the small one's, whose own are withheld."""
    facility = Protected(alike)
    assert facility.correlation({"ward": ["small"]}) is None
    assert facility.correlation(EVERYBODY) is not None
    assert facility.correlation({"ward": ["big"]}) is None
    # A ward that differs from everybody by people none of whom has all that is unexplained.
    assert facility.correlation({"sex": ["f"]}) is not None


@pytest.mark.parametrize(
    "asked",
    [
        {"kind": "PRINCIPAL_COMPONENTS", "measures": ["income", "wealth"]},
        {"kind": "RATIO", "measure": "wealth", "second": "income", "standard_errors": True},
    ],
)
def test_products_that_other_statistics_tell_are_compared_as_well(alike, asked) -> None:
    facility = Protected(alike)
    assert facility.correlation(EVERYBODY) is not None
    assert not facility._ask(asked, {"ward": ["big"]}).figures


def test_correlations_by_ward_do_not_tell_one_beside_the_whole(alike) -> None:
    facility = Protected(alike)
    by_ward = {"kind": "CORRELATIONS", "measures": ["income", "wealth"], "groups": [{"variable": "ward"}]}
    shown = [group for figure in facility._ask(by_ward, EVERYBODY).figures for group in figure.groups]
    assert not (shown and facility.correlation(EVERYBODY) is not None)


def test_models_of_two_populations_do_not_tell_it_either(alike) -> None:
    def left(where: dict[str, list[str]]) -> bool:
        body = {
            "dataset": "patients",
            "kind": "LINEAR",
            "formula": "wealth ~ income",
            "filter": [{"variable": n, "codes": c} for n, c in where.items()],
        }
        request = from_value(body, pb.QueryModelRequest)
        answered = alike.facility.query_model(alike.researcher, request, Pace(60.0))
        return verdict(answered) == "RELEASED"

    assert left(EVERYBODY)
    assert not left(ALL_BUT_ONE)
    # R squared of the model is that of the correlation, however far out who differs lies.
    assert not left({"ward": ["small"]})
