"""Measures of which all of a large category, group or population have one value: no answer says so.

A table withholds their sums by the rule on equal values, so models and statistics must not tell of it by what
can be computed, nor by the reason that they give.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import build, people_descriptor, reasons, table_request, verdict
from sdcgate.engine import engine as engines
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2

MEASURES = ("alike", "by_place", "by_both", "free", "outcome")
"""Of place b all have one value; all of a place; all of a place and sex; anything."""


def people() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    number = 900
    frame = pd.DataFrame(
        {"place": rng.choice(list("abcd"), number), "sex": rng.choice(["0", "1"], number)}
        | {name: rng.normal(100, 20, number).round(1).clip(1) for name in ("alike", "free", "outcome")}
    )
    frame.loc[frame["place"] == "b", "alike"] = 42.0
    frame["by_place"] = frame["place"].map({"a": 7.1, "b": 3.3, "c": 9.9, "d": 4.0})
    frame["by_both"] = frame["by_place"] + frame["sex"].map({"0": 0.0, "1": 2.5})
    return frame


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Any]:
    made = house_of(tmp_path, people())
    yield made
    made.facility.close()


@pytest.fixture(params=[10**9, 0], ids=["by_records", "by_sums"])
def either_road(request, monkeypatch) -> None:
    monkeypatch.setattr(engines, "SUMS_FROM", request.param)


def house_of(folder: Path, frame: pd.DataFrame) -> Any:
    frame.to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    measures = [{"name": name, "decimals": 1, "lower_bound": 0.1, "upper_bound": 10000} for name in MEASURES]
    made.engine.register(people_descriptor({"place": "abcd", "sex": "01"}, measures))
    return made


def model(kind: str, formula: str, places: str = "", **more: str) -> pb.QueryModelRequest:
    named = model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}")
    asked = pb.QueryModelRequest(dataset="people", kind=named, formula=formula, **more)
    if places:
        asked.filter.add(variable="place", codes=places)
    return asked


def statistic(kind: str, measure: str, places: str = "", by: str = "") -> pb.QueryStatisticRequest:
    found = pb.QueryStatisticRequest(
        dataset="people", kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}"), measure=measure
    )
    if kind.endswith("TEST") or kind in ("KAPLAN_MEIER", "NELSON_AALEN"):
        found.having.CopyFrom(pb.FilterRequest(variable="sex", codes=["1"]))
    if kind == "HEXAGONAL_BINS":
        found.measure, found.second = "free", measure
    if places:
        found.filter.add(variable="place", codes=places)
    if by:
        found.groups.add(variable=by)
    return found


def ask(house: Any, asked: Any) -> pb.Decision:
    is_model = isinstance(asked, pb.QueryModelRequest)
    way = house.facility.query_model if is_model else house.facility.query_statistic
    decision: pb.Decision = way(house.researcher, asked, Pace(60.0)).decision
    return decision


ALL_ALIKE = (
    model("LINEAR", "outcome ~ alike", "b"),
    model("LINEAR", "outcome ~ free + log(alike)", "b"),
    model("LINEAR", "alike ~ free", "b"),
    model("LOGIT", 'C(sex, event="1") ~ alike', "b"),
    model("COX", 'surv(alike, C(sex, event="1")) ~ free', "b"),
    model("TWO_STAGE", "outcome ~ free", "b", instruments="alike"),
    model("LINEAR", "outcome ~ place + by_place"),
    model("FIXED_EFFECTS", "outcome ~ by_place", groups="place"),
    model("LINEAR", "outcome ~ place + sex + by_both"),
    model("FIXED_EFFECTS", "outcome ~ sex + by_both", groups="place"),
)


@pytest.mark.usefixtures("either_road")
@pytest.mark.parametrize("asked", ALL_ALIKE, ids=lambda one: f"{one.kind}: {one.formula}")
def test_a_model_is_refused_as_the_table_of_its_sums_would_be(house, asked) -> None:
    decision = ask(house, asked)
    assert (verdict(decision), reasons(decision)) == ("REFUSED", ["MINIMUM_UNITS"])
    assert "alike" not in str(decision.reasons)
    assert "by_" not in str(decision.reasons)


@pytest.mark.usefixtures("either_road")
@pytest.mark.parametrize("terms", ["place*alike", "place + alike", "place:alike"])
def test_a_category_in_which_all_are_alike_is_withheld_with_another(house, terms: str) -> None:
    table = house.facility.query_table(
        house.researcher, table_request("people", rows=["place"], figures=["MEAN:alike"]), Pace(60.0)
    ).decision
    assert (verdict(table), reasons(table)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    decision = ask(house, model("LINEAR", f"outcome ~ {terms}"))
    assert (verdict(decision), reasons(decision)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    # the first place that is shown is the reference
    hidden = {one.name for one in decision.model.coefficients if one.status == 2}
    assert {"place[b]", "place[T.b]", "alike:place[b]", "place[T.b]:alike"} & hidden


def test_the_same_models_leave_where_the_values_differ(house) -> None:
    for formula in ("outcome ~ place*free", "outcome ~ place + sex + free"):
        assert verdict(ask(house, model("LINEAR", formula))) == "RELEASED"


def test_what_follows_from_another_term_is_still_said(house) -> None:
    """Of two people of one place and sex the values differ, so tables would withhold nothing."""
    decision = ask(house, model("TWO_STAGE", "outcome ~ free + sex", instruments="sex + numeric(sex)"))
    assert (verdict(decision), reasons(decision)) == ("REFUSED", ["NOT_ESTIMABLE"])
    with pytest.raises(InvalidRequest, match="fewer instruments outside the formula"):
        ask(house, model("TWO_STAGE", "outcome ~ free + sex", instruments="sex"))


OF_ORDER = (
    *("MANN_WHITNEY_TEST", "KOLMOGOROV_SMIRNOV_TEST", "KAPLAN_MEIER", "NELSON_AALEN"),
    *("PERCENTILES", "HISTOGRAM", "DENSITY", "BOX_PLOT", "HEXAGONAL_BINS"),
)
EXTREMES = ("MINIMUM", "MAXIMUM", "RANGE")
OF_SUMS = ("MEAN", "VARIANCE", "SKEWNESS", "GINI", "LORENZ_CURVE", "T_TEST")


@pytest.mark.parametrize("kind", [*OF_ORDER, *EXTREMES, *OF_SUMS])
def test_a_statistic_of_equal_values_looks_like_one_of_few_units(house, kind: str) -> None:
    decision = ask(house, statistic(kind, "alike", "b"))
    assert (verdict(decision), reasons(decision)) == ("REFUSED", ["MINIMUM_UNITS"])
    assert not decision.HasField("statistic")


@pytest.mark.parametrize("kind", OF_ORDER)
def test_a_group_of_equal_values_is_withheld_beside_others(house, kind: str) -> None:
    decision = ask(house, statistic(kind, "alike", by="place"))
    assert (verdict(decision), reasons(decision)) == ("RELEASED_PROTECTED", ["MINIMUM_UNITS"])
    codes = decision.statistic.dimensions[0]
    status = dict(zip((codes.codes[cell] for cell in codes.cells), decision.statistic.statuses, strict=True))
    assert status["b"] == 2
    assert 1 in status.values()


@pytest.mark.parametrize("kind", ["MANN_WHITNEY_TEST", "KOLMOGOROV_SMIRNOV_TEST"])
def test_a_sample_of_equal_values_is_no_sample_of_a_test(tmp_path: Path, kind: str) -> None:
    frame = people()
    frame.loc[frame["sex"] == "1", "free"] = 57.0
    made = house_of(tmp_path, frame)
    decision = ask(made, statistic(kind, "free"))
    made.facility.close()
    assert (verdict(decision), reasons(decision)) == ("REFUSED", ["MINIMUM_UNITS"])
