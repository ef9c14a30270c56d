"""Means of logarithms and roots tell, beside the mean itself, who lies far out among others alike.

Sixty people live in each of three regions and earn nearly the same, but for one; in a fourth incomes vary.
"""

import numpy as np
import pandas as pd
import pytest

import sdcgate.engine.engine as engines
from house import build, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.pace import Pace
from sdcgate.facility.powers import Summed
from sdcgate_proto.sdcgate.types.v1 import model_pb2

REGIONS, PEOPLE = "abcd", 60
RICHEST = {"a": 900.0, "b": 800.0, "c": 850.0}
POOREST = {"a": 2.0, "b": 3.0, "c": 2.0}


def incomes(far: dict[str, float], width: float = 4.0) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"region": np.repeat([*REGIONS], (PEOPLE, PEOPLE, PEOPLE, 400))})
    wide = np.where(frame.region == "d", 900, width)
    frame["income"] = np.round(100 + rng.uniform(size=len(frame)) * wide)
    for region, income in far.items():
        frame.loc[frame.index[frame.region == region][0], "income"] = income
    frame["visits"] = rng.poisson(5, len(frame))
    return frame.assign(id=range(len(frame)))


def opened(folder, frame: pd.DataFrame, policy: str = "five-safes"):
    frame.to_csv(folder / "people.csv", index=False)
    house = build(folder, policy=policy)
    measures = [
        {"name": "income", "lower_bound": 1, "upper_bound": 50000},
        {"name": "visits", "lower_bound": 0, "upper_bound": 1000},
    ]
    house.engine.register(
        people_descriptor({"region": REGIONS}, measures, unit={"column": "id", "label": "person"})
    )
    return house


def ask(house, formula: str, kind: str = "LINEAR", errors: str = "CLASSICAL", **filters):
    asked = model_request(formula, kind, dataset="people", **filters)
    asked.standard_errors = model_pb2.StandardErrors.Value(f"STANDARD_ERRORS_{errors}")
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def test_both_means_tell_the_richest_within_a_hundredth() -> None:
    """The attack works on figures that nobody protects."""
    frame = incomes(RICHEST)
    own = frame.income[frame.region == "a"]
    n, total, logarithms = len(own), own.sum(), np.log(own).sum()
    possible = np.arange(101.0, 2000.0, 0.5)
    needed = np.log(possible) + (n - 1) * np.log((total - possible) / (n - 1))

    assert possible[needed >= logarithms].max() == pytest.approx(900.0, rel=0.01)


@pytest.mark.parametrize("far", [RICHEST, POOREST])
@pytest.mark.parametrize("sums_from", [10**9, 0])
@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("LINEAR", "log(income) ~ region"),
        ("LINEAR", "log1p(income) ~ region"),
        ("LINEAR", "sqrt(income) ~ region"),
        ("POISSON", "visits ~ region + log(income)"),
    ],
)
def test_means_of_functions_do_not_tell_who_lies_far_out(
    tmp_path, monkeypatch, kind, formula, sums_from, far
) -> None:
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house = opened(tmp_path, incomes(far))

    answered = ask(house, formula, kind)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])
    house.facility.close()


def test_a_deviance_of_a_gamma_model_is_a_mean_of_logarithms(tmp_path) -> None:
    """Some are so rich that a variance leaves open how poor one is by a tenth; logarithms do by less."""
    frame = incomes({}, width=2)
    frame.loc[frame.index[frame.region == "a"][:4], "income"] = [1, 149, 149, 149]
    house = opened(tmp_path, frame)
    moments = ask(house, "income ~ 1", region=["a"])

    answered = ask(house, "income ~ 1", "GAMMA", region=["a"])

    assert verdict(moments) == "RELEASED"
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])
    house.facility.close()


def test_where_nobody_lies_far_out_they_leave(tmp_path) -> None:
    house = opened(tmp_path, incomes({}, width=400))
    models = [
        ("LINEAR", "log(income) ~ region", "CLASSICAL"),
        ("LINEAR", "log(income) ~ region", "ROBUST"),
        ("LINEAR", "sqrt(income) ~ region", "CLASSICAL"),
        ("LINEAR", "log1p(visits) ~ region + log(income)", "CLASSICAL"),
        ("POISSON", "visits ~ region + log(income)", "CLASSICAL"),
        ("GAMMA", "income ~ region", "CLASSICAL"),
    ]

    found = [verdict(ask(house, formula, kind, errors)) for kind, formula, errors in models]

    assert found == ["RELEASED"] * 6
    house.facility.close()


@pytest.mark.parametrize("formula", ["log(income) ~ 1", "sqrt(income) ~ 1", "inverse(income) ~ 1"])
@pytest.mark.parametrize("sums_from", [10**9, 0])
def test_two_populations_do_not_tell_who_lies_far_out_between_them(
    tmp_path, monkeypatch, formula, sums_from
) -> None:
    """Sums of both regions less those of one are those of the other, where one income is far from all."""
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house = opened(tmp_path, incomes(RICHEST), "israel-cbs")

    assert verdict(ask(house, formula, region=["b", "d"])) == "RELEASED"
    answered = ask(house, formula, region=["b", "c", "d"])

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["DIFFERENCING"])
    house.facility.close()


def test_what_a_model_of_logarithms_told_counts_as_known(tmp_path) -> None:
    house = opened(tmp_path, incomes({}, width=400))

    assert verdict(ask(house, "log(income) ~ region", errors="ROBUST")) == "RELEASED"

    (kept,) = map(left_of, house.ledger.releases("people"))
    frame = incomes({}, width=400)
    for order in (1, 2):
        (sums,) = (
            one
            for one in kept.tables
            if one.quantity == Summed("income", order, "log").quantity and len(one.table.axes) == 1
        )
        true = (np.log(frame.income) ** order).groupby(frame.region).sum().tolist()
        assert np.isclose(sums.facts.measures[0].sums[:4], true).all()
    house.facility.close()
