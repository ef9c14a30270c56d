"""Errors tell squares in each category: of a slope of its own, and robust ones those of the outcome."""

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

PEOPLE, ILL = 1000, 60
FAR = [90.0, 91.0, 92.0]
"""Three of the ill; the others have about 50."""


def opened(folder, far=FAR):
    rng, at = np.random.default_rng(1), np.arange(PEOPLE)
    x = np.where(at < ILL, rng.normal(50, 3, PEOPLE), rng.normal(50, 15, PEOPLE)).clip(1)
    x[: len(far)] = far
    ill = (at < ILL) * 1
    y = 100 + 0.5 * x + 10 * ill + rng.normal(0, 10, PEOPLE)
    frame = pd.DataFrame({"id": at, "ill": ill, "sex": at % 2, "x": x.round(2), "y": y.round(2)})
    frame.to_csv(folder / "people.csv", index=False)
    house = build(folder, policy="five-safes")
    measures = [{"name": name, "decimals": 2, "lower_bound": 0, "upper_bound": 1000} for name in "xy"]
    unit = {"column": "id", "label": "person"}
    house.engine.register(people_descriptor({"ill": "01", "sex": "01"}, measures, unit=unit))
    return house, frame


def ask(house, formula, kind="LINEAR", **options):
    asked = model_request(formula, kind, dataset="people", **options)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def variances(house):
    asked = pb.QueryStatisticRequest(
        dataset="people", kind=statistic_pb2.STATISTIC_KIND_VARIANCE, measure="x"
    )
    asked.groups.add(variable="ill")
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


@pytest.mark.parametrize("sums_from", [0, 10**9])
@pytest.mark.parametrize(
    "formula", ["y ~ ill + ill:x", "y ~ ill*x", "y ~ ill:x + sex", "y ~ ill:sex + ill:x"]
)
def test_a_variance_that_is_withheld_is_not_told_by_a_slope(
    tmp_path, monkeypatch, sums_from, formula
) -> None:
    """Two of the three know what they have: the variance among the ill tells the 92 of the third."""
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house, frame = opened(tmp_path)
    assert verdict(variances(house)) == "REFUSED"

    answered = ask(house, formula)

    if verdict(answered) == "RELEASED" and formula == "y ~ ill + ill:x":
        errors = {one.name: one.standard_error for one in answered.decision.model.coefficients}
        (spread,) = (
            one.value
            for one in answered.decision.model.fit
            if one.statistic == model_pb2.FIT_STATISTIC_RESIDUAL_STANDARD_ERROR
        )
        x = frame[frame.ill == 1].x
        assert abs((spread / errors["ill[1]:x"]) ** 2 / ((x - x.mean()) ** 2).sum() - 1) > 0.1
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])
    house.facility.close()


@pytest.mark.parametrize(
    ("formula", "kind", "options"),
    [
        ("y ~ ill:x", "FIXED_EFFECTS", {"groups": "sex"}),
        ("y ~ sex", "TWO_STAGE", {"instruments": "sex + ill:x"}),
        ('C(sex, event="1") ~ ill + ill:x', "LOGIT", {}),
    ],
)
def test_so_it_is_by_other_families(tmp_path, formula, kind, options) -> None:
    house, _ = opened(tmp_path)

    answered = ask(house, formula, kind, **options)

    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])
    house.facility.close()


@pytest.mark.parametrize("sums_from", [0, 10**9])
@pytest.mark.parametrize("errors", ["ROBUST", "CLUSTERED"])
def test_robust_errors_do_not_tell_the_variance_of_the_outcome_in_a_category(
    tmp_path, monkeypatch, sums_from, errors
) -> None:
    """They are sums of squared residuals by category: with one factor these are deviations from its mean."""
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house, frame = opened(tmp_path)
    kind = model_pb2.StandardErrors.Value(f"STANDARD_ERRORS_{errors}")
    asked = model_request("x ~ ill", dataset="people")
    asked.standard_errors = kind

    answered = house.facility.query_model(house.researcher, asked, Pace(60.0))

    found = {one.name: one.standard_error for one in answered.decision.model.coefficients}
    if found:
        x = frame[frame.ill == 1].x
        told = ILL**2 * (found["ill[T.1]"] ** 2 - found["Intercept"] ** 2)
        assert abs(told / ((x - x.mean()) ** 2).sum() - 1) > 0.1
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["INFLUENCE"])
    house.facility.close()


@pytest.mark.parametrize(
    ("formula", "decided"),
    [("y ~ ill:x + sex", "RELEASED"), ("y ~ ill:x + sex:x", "REFUSED"), ("x ~ ill:y + sex", "RELEASED")],
)
def test_terms_together_tell_squares_of_what_both_have_a_slope_of(tmp_path, formula, decided) -> None:
    """Of some 30 who are ill and of one sex these tell the farthest to within a tenth."""
    house, _ = opened(tmp_path, far=[])
    asked = model_request(formula, dataset="people")
    asked.standard_errors = model_pb2.STANDARD_ERRORS_ROBUST

    assert verdict(house.facility.query_model(house.researcher, asked, Pace(60.0))) == decided
    house.facility.close()


def test_where_nobody_lies_far_out_it_leaves_and_the_squares_count_as_known(tmp_path) -> None:
    house, frame = opened(tmp_path, far=[])

    assert verdict(ask(house, "y ~ ill + ill:x")) == "RELEASED"

    (kept,) = map(left_of, house.ledger.releases("people"))
    (squares,) = (one for one in kept.tables if one.quantity == power_of("x", 2) and len(one.table.axes) == 1)
    true = (frame.x**2).groupby(frame.ill).sum().tolist()
    assert np.isclose(squares.facts.measures[0].sums[:2], true).all()
    house.facility.close()
