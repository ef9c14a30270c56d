"""Estimates and errors of any family tell sums of powers by categories, as variances and skewness do.

Sixty people live in each of three regions. One of each earns 800 to 900 and the others up to 120: no
dominance, so sums leave, but variances and third moments would tell the large incomes within a tenth. In a
fourth region incomes are so wide that those of all people together tell nobody's.
"""

import numpy as np
import pandas as pd
import pytest

import sdcgate.engine.engine as engines
from house import build, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.pace import Pace
from sdcgate.facility.powers import power_of
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2

REGIONS, PEOPLE = "abcd", 60
LARGEST = {"a": 900.0, "b": 800.0, "c": 850.0}
POOREST = {"a": 1.0, "b": 1.0, "c": 1.0}


def incomes(far: dict[str, float]) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"region": np.repeat([*REGIONS], (PEOPLE, PEOPLE, PEOPLE, 400))})
    wide = np.where(frame.region == "d", 900, 120)
    frame["income"] = np.round(40 + rng.uniform(size=len(frame)) * (wide - 40))
    for region, income in far.items():
        frame.loc[frame.index[frame.region == region][0], "income"] = income
    frame["visits"] = rng.poisson(np.exp(1.5 + frame.income.clip(20, 120) / 200))
    frame["ill"] = (rng.uniform(size=len(frame)) < 0.4).astype(int)
    return frame.assign(id=range(len(frame)))


def opened(folder, far: dict[str, float]):
    incomes(far).to_csv(folder / "people.csv", index=False)
    house = build(folder, policy="five-safes")
    measures = [
        {"name": "income", "lower_bound": 1, "upper_bound": 50000},
        {"name": "visits", "lower_bound": 0, "upper_bound": 1000},
    ]
    codes = {"region": REGIONS, "ill": "01"}
    house.engine.register(people_descriptor(codes, measures, unit={"column": "id", "label": "person"}))
    return house


@pytest.fixture
def house(tmp_path):
    made = opened(tmp_path, LARGEST)
    yield made
    made.facility.close()


def ask(house, formula: str, kind: str, errors: str = "CLASSICAL", **filters):
    asked = model_request(formula, kind, dataset="people", **filters)
    asked.standard_errors = model_pb2.StandardErrors.Value(f"STANDARD_ERRORS_{errors}")
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def moment(house, kind: str):
    named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    asked = pb.QueryStatisticRequest(dataset="people", kind=named, measure="income")
    asked.groups.add(variable="region")
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


def test_robust_errors_of_a_poisson_model_are_variances() -> None:
    """The attack works on figures that nobody protects: the errors of a mean, without any least squares."""
    import statsmodels.formula.api as smf

    frame = incomes(LARGEST)
    found = smf.poisson("income ~ region", frame).fit(disp=0, cov_type="HC0")
    mean = np.exp(found.params["Intercept"])
    squares = (found.bse["Intercept"] * PEOPLE * mean) ** 2

    assert mean + np.sqrt(squares * (PEOPLE - 1) / PEOPLE) == pytest.approx(LARGEST["a"], rel=0.05)


@pytest.mark.parametrize("kind", ["POISSON", "GAMMA"])
@pytest.mark.parametrize("errors", ["ROBUST", "CLUSTERED"])
def test_robust_errors_of_no_family_tell_a_variance_that_is_withheld(house, kind, errors) -> None:
    assert verdict(moment(house, "VARIANCE")) == "REFUSED"

    answered = ask(house, "income ~ region", kind, errors)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])


@pytest.mark.parametrize(
    ("kind", "formula", "sums_from"),
    [
        ("LINEAR", "cube(income) ~ region", 10**9),
        ("LINEAR", "cube(income) ~ region", 0),
        ("GAMMA", "cube(income) ~ region", 0),
        ("POISSON", "square(income) ~ region", 0),
        ("LINEAR", "visits ~ region + square(income)", 10**9),
        ("LINEAR", "visits ~ region + cube(income)", 0),
        ("LOGIT", 'C(ill, event="1") ~ region + square(income)', 0),
    ],
)
def test_means_of_powers_do_not_tell_the_largest(tmp_path, monkeypatch, kind, formula, sums_from) -> None:
    """Of the outcome by its own means, of a regressor by those of the outcome less what it explains."""
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house = opened(tmp_path, LARGEST)

    answered = ask(house, formula, kind)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])
    house.facility.close()


def test_a_dispersion_of_a_gamma_model_is_a_variance(house) -> None:
    answered = ask(house, "income ~ 1", "GAMMA", region=["a"])

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])


def test_powers_that_are_not_kept_are_looked_at_by_a_checker(tmp_path) -> None:
    house = opened(tmp_path, {})

    answered = ask(house, "visits ~ square(income):cube(income)", "LINEAR")

    assert (verdict(answered), reasons(answered)) == ("REFERRED", ["UNPROVED"])
    house.facility.close()


@pytest.mark.parametrize(
    ("kind", "formula", "sums_from"),
    [
        ("LINEAR", "inverse(income) ~ region", 10**9),
        ("LINEAR", "inverse(income) ~ region", 0),
        ("POISSON", "visits ~ region + inverse(income)", 0),
    ],
)
def test_sums_of_inverses_do_not_tell_the_poorest(tmp_path, monkeypatch, kind, formula, sums_from) -> None:
    """Who has 1 among people of 40 and more adds 1 to a sum of inverses, and the others 0.8 together."""
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house = opened(tmp_path, POOREST)

    answered = ask(house, formula, kind)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])
    house.facility.close()


def test_where_nobody_lies_far_out_they_leave(tmp_path) -> None:
    house = opened(tmp_path, {})
    models = [
        ("LINEAR", "cube(income) ~ region", "CLASSICAL"),
        ("LINEAR", "inverse(income) ~ region", "CLASSICAL"),
        ("POISSON", "income ~ region", "ROBUST"),
        ("POISSON", "visits ~ region + income + square(income)", "CLASSICAL"),
        ("GAMMA", "income ~ region", "CLASSICAL"),
    ]

    assert [verdict(ask(house, formula, kind, errors)) for kind, formula, errors in models] == [
        "RELEASED"
    ] * 5
    house.facility.close()


def test_ordinary_models_leave_beside_the_rich(house) -> None:
    """Classical errors tell the squares of all people together, among whom nobody lies far out."""
    models = [
        ("POISSON", "income ~ region"),
        ("POISSON", "visits ~ region + income"),
        ("LOGIT", 'C(ill, event="1") ~ region + income + visits'),
    ]

    assert [verdict(ask(house, formula, kind)) for kind, formula in models] == ["RELEASED"] * 3


def test_what_a_model_of_cubes_told_counts_as_known(tmp_path) -> None:
    house = opened(tmp_path, {})

    assert verdict(ask(house, "cube(income) ~ region", "LINEAR")) == "RELEASED"

    (kept,) = map(left_of, house.ledger.releases("people"))
    frame = incomes({})
    for order in (2, 3):
        (powers,) = (
            one
            for one in kept.tables
            if one.quantity == power_of("income", order) and len(one.table.axes) == 1
        )
        true = (frame.income**order).groupby(frame.region).sum().tolist()
        assert np.isclose(powers.facts.measures[0].sums[:4], true).all()
    house.facility.close()
