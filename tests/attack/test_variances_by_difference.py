"""Attacks by variances: sums of squares are subtracted, and what is left tells the value farthest out.

Twenty people live on a hill. One of them has 900, the others about 100: that is no dominance, so mean and
number leave. Their variance would tell the 900, and does not.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from house import House, build, people_descriptor, reasons, verdict
from sdcgate.engine import engine as engines
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.pace import Pace
from sdcgate.facility.policies import Policies
from sdcgate.policy.loading import load_policies
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2

PLACES = ("city", "town", "village", "hill")
RICHEST = 900.0


def people() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    place = np.repeat(PLACES, (60, 50, 40, 20))
    income = np.where(place == "hill", rng.normal(100, 5, 170), rng.normal(150, 60, 170)).round(1).clip(1)
    income[-1] = RICHEST
    sex, points = np.arange(170) % 2, rng.integers(0, 100, 170)
    return pd.DataFrame(
        {"id": np.arange(170), "place": place, "sex": sex, "points": points, "income": income}
    )


def opened(folder) -> House:
    people().to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    measures = [
        {"name": "income", "decimals": 1, "lower_bound": 0, "upper_bound": 10000},
        {"name": "points", "lower_bound": 0, "upper_bound": 100},
    ]
    codes = {"place": PLACES, "sex": "01"}
    made.engine.register(people_descriptor(codes, measures, unit={"column": "id"}))
    return made


@pytest.fixture(params=["by records", "by sums"])
def house(tmp_path, request, monkeypatch) -> Iterator[House]:
    if request.param == "by sums":
        monkeypatch.setattr(engines, "SUMS_FROM", 0)
    made = opened(tmp_path)
    yield made
    made.facility.close()


def ask(house: House, kind: str, *, groups=(), place=(), **options):
    named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    asked = pb.QueryStatisticRequest(dataset="people", kind=named, measure="income", **options)
    for name in groups:
        asked.groups.add(variable=name)
    if place:
        asked.filter.add(variable="place", codes=place)
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


def shown(answered, name: str) -> dict[int, float]:
    """A figure by group; of the records that none has, nothing."""
    for figure in answered.decision.statistic.figures:
        if figure.name == name:
            return dict(zip(figure.groups, figure.values, strict=True))
    return {}


def farthest_out(whole: tuple[float, float, float], parts: list[tuple[float, float, float]]) -> float:
    """The greatest value of what parts leave of a whole, as whoever subtracts them estimates it.

    He knows n, m and s^2 there: if all others are alike, the farthest is m + s (n - 1) / sqrt n.
    """
    sums = [np.array([n, n * m, (n - 1) * v + n * m**2]) for n, m, v in (whole, *parts)]
    n, total, squares = sums[0] - sum(sums[1:])
    return total / n + np.sqrt((squares - total**2 / n) * (n - 1) / n)


def test_who_is_told_all_variances_knows_the_richest_within_a_tenth() -> None:
    """The attack works on figures of four digits that nobody protects."""
    frame = people()

    def told(some: pd.Series) -> tuple[float, float, float]:
        return len(some), float(f"{some.mean():.4g}"), float(f"{some.var():.4g}")

    parts = [told(frame["income"][frame["place"] == place]) for place in PLACES[:3]]

    assert farthest_out(told(frame["income"]), parts) == pytest.approx(RICHEST, rel=0.1)


def test_a_withheld_variance_does_not_follow_from_the_whole_and_the_others(house) -> None:
    by_place = ask(house, "VARIANCE", groups=["place"])
    whole = ask(house, "VARIANCE")

    assert verdict(ask(house, "MEAN", groups=["place"])) == "RELEASED"
    assert verdict(by_place) == "RELEASED_PROTECTED"
    assert verdict(whole) == "RELEASED"
    assert 0 in shown(by_place, "variance")
    assert 3 not in shown(by_place, "variance")
    assert not _finds_the_richest(whole, by_place)


def test_the_same_holds_if_the_whole_is_asked_first(house) -> None:
    whole = ask(house, "VARIANCE")
    by_place = ask(house, "VARIANCE", groups=["place"])

    assert verdict(whole) == "RELEASED"
    assert 0 in shown(by_place, "variance")
    assert not _finds_the_richest(whole, by_place)


def _finds_the_richest(whole, by_place) -> bool:
    """Counts and means of all places are known; the variance of what none shows follows from the whole."""
    incomes = people().groupby("place")["income"]
    parts = [
        (int(incomes.count()[PLACES[place]]), float(incomes.mean()[PLACES[place]]), variance)
        for place, variance in shown(by_place, "variance").items()
    ]
    everybody = people()["income"]
    (variance,) = shown(whole, "variance").values()
    estimate = farthest_out((len(everybody), float(everybody.mean()), variance), parts)
    return bool(abs(estimate - RICHEST) < RICHEST / 10)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("VARIANCE", "VARIANCE"),
        ("STANDARD_DEVIATION", "MEAN"),
        ("MEAN", "KURTOSIS"),
        ("HERFINDAHL", "SKEWNESS"),
    ],
)
def test_two_filters_do_not_leave_a_variance_that_must_not_be_known(house, first, then) -> None:
    """All, and all but the hill: means, and so sums, may be subtracted; squares may not."""

    def of(kind: str, place=()):
        return ask(house, kind, place=place, standard_errors=kind == "MEAN")

    assert verdict(of(first)) == "RELEASED"
    rest = of(then, PLACES[:3])

    assert (verdict(rest), reasons(rest)) == ("REFUSED", ["DIFFERENCING"])
    assert verdict(ask(house, "MEAN", place=PLACES[:3])) == "RELEASED"


def test_errors_of_a_lorenz_curve_tell_squares_as_well(house) -> None:
    assert verdict(ask(house, "VARIANCE")) == "RELEASED"
    rest = ask(house, "LORENZ_CURVE", place=PLACES[:3], standard_errors=True)
    assert verdict(rest) == "REFUSED"
    assert "DIFFERENCING" in reasons(rest)


def test_nor_do_many_filters_of_which_no_two_tell_it(house) -> None:
    assert verdict(ask(house, "VARIANCE")) == "RELEASED"
    answered = [ask(house, "VARIANCE", place=[place]) for place in PLACES[:3]]

    # City and town leave village and hill, of whom the variance tells the richest as well.
    assert [verdict(one) for one in answered] == ["RELEASED", "REFUSED", "RELEASED"]
    assert reasons(answered[1]) == ["DIFFERENCING"]


def test_a_test_of_two_samples_tells_squares_as_well(house) -> None:
    def of_sexes(place=()):
        having = pb.FilterRequest(variable="sex", codes=["1"])
        return ask(house, "T_TEST", place=place, having=having)

    assert verdict(of_sexes()) == "RELEASED"
    # The richest is a man: men of all places less those of three have a variance that tells him.
    assert reasons(of_sexes(PLACES[:3])) == ["DIFFERENCING"]


def test_a_model_of_the_few_does_not_tell_their_variance(house) -> None:
    """The error of a mean is that of `income ~ 1`."""
    answered = model(house, "income ~ 1", ["hill"])

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])


@pytest.mark.parametrize("formula", ["income ~ 1", "income ~ sex"])
def test_nor_do_models_of_two_populations_tell_that_of_their_difference(house, formula) -> None:
    whole, rest = model(house, formula), model(house, formula, PLACES[:3])

    assert verdict(whole) == "RELEASED"
    # Some people are left out at random where that is enough; whether it is hangs on the house's secret.
    assert verdict(rest) in ("REFUSED", "RELEASED_PROTECTED")
    assert reasons(rest) == ["DIFFERENCING"]
    assert reasons(ask(house, "VARIANCE", place=PLACES[:3])) == ["DIFFERENCING"]


def test_a_model_is_compared_with_variances(house) -> None:
    assert verdict(ask(house, "VARIANCE")) == "RELEASED"

    assert reasons(model(house, "income ~ sex", PLACES[:3])) == ["DIFFERENCING"]


def model(house: House, formula: str, place=()):
    named = model_pb2.MODEL_KIND_LINEAR
    asked = pb.QueryModelRequest(dataset="people", kind=named, formula=formula)
    if place:
        asked.filter.add(variable="place", codes=place)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def test_what_a_variance_told_is_known_after_a_restart(house, tmp_path) -> None:
    assert verdict(ask(house, "VARIANCE")) == "RELEASED"
    again = build(tmp_path, policy="five-safes", engine=house.engine)
    try:
        assert reasons(ask(again, "STANDARD_DEVIATION", place=PLACES[:3])) == ["DIFFERENCING"]
    finally:
        again.facility.close()


def test_the_audit_of_the_ledger_knows_withheld_squares(house) -> None:
    ask(house, "VARIANCE")
    ask(house, "VARIANCE", groups=["place"])
    policies = Policies(house.ledger, load_policies(), "five-safes")

    found = audit_source(house.ledger, house.engine, policies, "people", 5000, 60.0)

    squares = {one.quantity: one for one in found.quantities}["income^2"]
    assert "place hill" in [squares.words(cell.box) for cell in squares.cells]
    assert not found.refuted


def test_differences_that_tell_nobody_are_answered(house) -> None:
    """All but the town, and all but the village: what is left of the whole has no value far out."""
    assert verdict(ask(house, "VARIANCE")) == "RELEASED"
    for place in ("town", "village"):
        rest = [one for one in PLACES if one != place]
        assert verdict(ask(house, "VARIANCE", place=rest)) == "RELEASED"
