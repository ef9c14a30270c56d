"""Columns without a value, with one only, and those that differ from another by one person's value."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from house import build, people_descriptor, reasons, verdict
from sdcgate.engine import engine as engines
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2
from served_house import ServedHouse

KINDS = [name.removeprefix("STATISTIC_KIND_") for name in statistic_pb2.StatisticKind.keys()[1:]]
OF_VARIABLES = ("PROPORTION", "ODDS_RATIO", "RISK_RATIO", "MODE", "CHI_SQUARED_TEST")
ALIKE_OR_NOT = ("PROPORTION", "KAPLAN_MEIER", "NELSON_AALEN")
MODELS = (
    ("LINEAR", "{} ~ sex", {}),
    ("LINEAR", "income ~ sex + {}", {}),
    ("LINEAR", "income ~ log({})", {}),
    ("LOGIT", 'C(sex, event="1") ~ {}', {}),
    ("PROBIT", 'C(sex, event="1") ~ {}', {}),
    ("MULTINOMIAL_LOGIT", "place ~ {}", {}),
    ("ORDERED_LOGIT", "place ~ {}", {}),
    ("POISSON", "{} ~ income", {}),
    ("NEGATIVE_BINOMIAL", "count ~ {}", {}),
    ("GAMMA", "{} ~ sex", {}),
    ("FIXED_EFFECTS", "income ~ {}", {"groups": "place"}),
    ("MIXED", "{} ~ income", {"groups": "place"}),
    ("COX", 'surv({}, C(sex, event="1")) ~ income', {}),
    ("TWO_STAGE", "income ~ wealth", {"instruments": "{} + sex"}),
)
OF_CODES = (
    ("LINEAR", "income ~ {}", {}),
    ("LOGIT", 'C({}, event="x") ~ income', {}),
    ("MULTINOMIAL_LOGIT", "{} ~ income", {}),
    ("ORDERED_LOGIT", "{} ~ income", {}),
    ("MIXED", "income ~ wealth", {"groups": "{}"}),
)
TWINS = (
    ("LINEAR", "wealth ~ income + twin", {}),
    ("LOGIT", 'C(sex, event="1") ~ income + twin', {}),
    ("PROBIT", 'C(sex, event="1") ~ income + twin', {}),
    ("MULTINOMIAL_LOGIT", "kind ~ income + twin", {}),
    ("ORDERED_LOGIT", "kind ~ income + twin", {}),
    ("POISSON", "count ~ income + twin", {}),
    ("NEGATIVE_BINOMIAL", "count ~ income + twin", {}),
    ("GAMMA", "wealth ~ income + twin", {}),
    ("FIXED_EFFECTS", "wealth ~ income + twin", {"groups": "place"}),
    ("MIXED", "wealth ~ income + twin", {"groups": "place"}),
    ("COX", 'surv(wealth, C(sex, event="1")) ~ income + twin', {}),
    ("TWO_STAGE", "wealth ~ income + twin", {"instruments": "income + twin + sex"}),
    ("LINEAR", "wealth ~ place + place_again", {}),
)
"""Models with a regressor that is another but for one person's value, or code."""


def people(difference: float = 30.0) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    number = 600
    income = rng.normal(100, 20, number).round(1).clip(1)
    frame = pd.DataFrame(
        {
            "id": np.arange(number),
            "place": rng.choice(["a", "b", "c"], number),
            "sex": rng.integers(0, 2, number),
            "kind": rng.integers(0, 3, number),
            "one": "x",
            "blank": None,
            "illness": "none",
            "income": income,
            "twin": income,
            "wealth": (50 + 0.5 * income + rng.normal(0, 10, number)).round(1).clip(1),
            "void": np.nan,
            "same": 7.0,
            "count": rng.poisson(3, number),
            "of_few": np.where(np.arange(number) % 3 == 0, rng.normal(50, 9, number).round(1), 5.0),
        }
    )
    frame["place_again"] = frame["place"]
    frame.loc[5, "place_again"] = {"a": "b", "b": "c", "c": "a"}[frame.loc[5, "place"]]
    frame.loc[5, "twin"] += difference
    frame["third"] = frame.index % 3 == 0
    frame["third"] = frame["third"].astype(int)
    return frame


def declared(**more: Any) -> Any:
    measures = [
        {"name": name, "decimals": 1, "lower_bound": 0.1, "upper_bound": 10000}
        for name in ("income", "twin", "wealth", "of_few")
    ]
    counts = {"count": 0, "void": 1, "same": 1}
    measures += [{"name": name, "lower_bound": least, "upper_bound": 50} for name, least in counts.items()]
    codes = {"place": "abc", "place_again": "abc", "sex": "01", "kind": "012", "one": "xy", "blank": "pq"}
    sensitive = {
        "name": "illness",
        "sensitive": True,
        "identifying": "NO",
        "levels": [{"codes": [{"code": "none"}, {"code": "flu"}]}],
    }
    return people_descriptor({**codes, "third": "01"}, measures, [sensitive], unit={"column": "id"}, **more)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    made = _house(tmp_path_factory.mktemp("people"))
    yield made
    made.facility.close()


def _house(folder: Path, difference: float = 30.0) -> Any:
    people(difference).to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    made.engine.register(declared())
    return made


def statistic(kind: str, measure: str, variable: str, code: str = "1") -> pb.QueryStatisticRequest:
    """A statistic of the measure, or where it counts codes of the variable."""
    found = pb.QueryStatisticRequest(
        dataset="people", kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    )
    if kind in ("CORRELATIONS", "PRINCIPAL_COMPONENTS"):
        found.measures.extend(["income", measure])
    elif kind not in OF_VARIABLES:
        found.measure = measure
    if kind in ("RATIO", "HEXAGONAL_BINS"):
        found.second = "income"
    if kind in ("PROPORTION", "ODDS_RATIO", "RISK_RATIO"):
        found.having.CopyFrom(pb.FilterRequest(variable=variable, codes=[code]))
    if kind in ("KAPLAN_MEIER", "NELSON_AALEN", "T_TEST", "MANN_WHITNEY_TEST", "KOLMOGOROV_SMIRNOV_TEST"):
        found.having.CopyFrom(pb.FilterRequest(variable="sex", codes=["1"]))
    if kind in ("ODDS_RATIO", "RISK_RATIO"):
        found.exposed.CopyFrom(pb.FilterRequest(variable="sex", codes=["1"]))
    if kind == "MODE":
        found.mode_of.variable = variable
    if kind == "CHI_SQUARED_TEST":
        found.factors.add(variable=variable)
        found.factors.add(variable="sex")
    if kind == "ANALYSIS_OF_VARIANCE":
        found.factors.add(variable="place")
    return found


def ask(house: Any, asked: pb.QueryStatisticRequest | pb.QueryModelRequest) -> pb.Decision:
    is_model = isinstance(asked, pb.QueryModelRequest)
    way = house.facility.query_model if is_model else house.facility.query_statistic
    decision: pb.Decision = way(house.researcher, asked, Pace(60.0)).decision
    return decision


def model(kind: str, formula: str, name: str = "", **more: str) -> pb.QueryModelRequest:
    options = {field: text.format(name) for field, text in more.items()}
    named = model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}")
    return pb.QueryModelRequest(dataset="people", kind=named, formula=formula.format(name), **options)


def told(decision: pb.Decision) -> list[str]:
    assert verdict(decision) == "REFUSED"
    assert set(reasons(decision)) == {"NOT_ESTIMABLE"}
    assert not decision.HasField("statistic")
    assert not decision.HasField("model")
    return [f"{reason.message} {reason.suggestion}" for reason in decision.reasons]


def no_value(name: str) -> str:
    told_ = f"{name} has no value in any record of people."
    return f"{told_} Leave {name} out, or ask another one in its place."


def one_value(name: str) -> str:
    told_ = f"{name} has the same value in all records of people that have any."
    return f"{told_} Leave {name} out, or ask another one in its place."


@pytest.mark.parametrize("kind", KINDS)
def test_a_statistic_of_a_column_without_values_says_which(house, kind: str) -> None:
    name = "blank" if kind in OF_VARIABLES else "void"
    assert told(ask(house, statistic(kind, "void", "blank", "p"))) == [no_value(name)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ALIKE_OR_NOT])
def test_a_statistic_of_a_column_that_does_not_vary_says_which(house, kind: str) -> None:
    name = "one" if kind in OF_VARIABLES else "same"
    assert told(ask(house, statistic(kind, "same", "one", "x"))) == [one_value(name)]


@pytest.mark.parametrize(("kind", "formula", "more"), MODELS)
def test_a_model_with_such_a_measure_says_which(house, kind: str, formula: str, more: dict[str, str]) -> None:
    assert told(ask(house, model(kind, formula, "void", **more))) == [no_value("void")]
    assert told(ask(house, model(kind, formula, "same", **more))) == [one_value("same")]


@pytest.mark.parametrize(("kind", "formula", "more"), OF_CODES)
def test_a_model_with_such_a_variable_says_which(
    house, kind: str, formula: str, more: dict[str, str]
) -> None:
    assert told(ask(house, model(kind, formula, "one", **more))) == [one_value("one")]
    if "event" not in formula:
        assert told(ask(house, model(kind, formula, "blank", **more))) == [no_value("blank")]


def test_all_such_columns_are_told_at_once(house) -> None:
    asked = model("LINEAR", "income ~ void + one + blank + same")
    assert sorted(told(ask(house, asked))) == sorted(
        [no_value("void"), no_value("blank"), one_value("one"), one_value("same")]
    )


def test_that_a_sensitive_variable_does_not_vary_is_not_told(house) -> None:
    """Whoever knows his own code would know everybody's."""
    decision = ask(house, statistic("MODE", "", "illness"))
    assert verdict(decision) == "REFUSED"
    assert "illness" not in str(decision.reasons)


def test_what_a_filter_leaves_alike_is_told_of_no_column(house) -> None:
    """The measure varies, but not among those: its name in the answer would say so."""
    asked = statistic("VARIANCE", "of_few", "")
    asked.filter.add(variable="third", codes=["0"])
    decision = ask(house, asked)
    assert verdict(decision) == "REFUSED"
    assert "of_few" not in str(decision.reasons)


@pytest.mark.parametrize("sums_from", [10**9, 0], ids=["by_records", "by_sums"])
@pytest.mark.parametrize("difference", [0.1, 500.0])
def test_a_regressor_that_is_another_but_for_one_persons_value_is_refused(
    tmp_path, monkeypatch, sums_from: int, difference: float
) -> None:
    """Its coefficient would be that person's: a tenth or five times the value apart, in every family."""
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house = _house(tmp_path, difference)
    for kind, formula, more in TWINS:
        decision = ask(house, model(kind, formula, **more))
        assert verdict(decision) == "REFUSED", (kind, formula)
        found = set(reasons(decision))
        assert found <= {"INFLUENCE", "LEVERAGE", "NOT_ESTIMABLE", "OUTCOME_CLASS"}, (kind, formula, found)
        assert not decision.HasField("model")
    house.facility.close()


@pytest.mark.parametrize("sums_from", [10**9, 0], ids=["by_records", "by_sums"])
@pytest.mark.parametrize("difference", [0.1, 30.0, 500.0])
def test_an_outcome_that_is_a_regressor_but_for_one_persons_value_is_refused(
    tmp_path, monkeypatch, sums_from: int, difference: float
) -> None:
    """All that is left unexplained would be that person's."""
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house = _house(tmp_path, difference)
    for kind, more in (("LINEAR", {}), ("FIXED_EFFECTS", {"groups": "place"})):
        decision = ask(house, model(kind, "twin ~ income", **more))
        fits_all = ["PERFECT_FIT"] if difference < 1 else []
        assert (verdict(decision), reasons(decision)) == ("REFUSED", [*fits_all, "INFLUENCE"]), kind
    house.facility.close()


@pytest.mark.parametrize("sums_from", [10**9, 0], ids=["by_records", "by_sums"])
@pytest.mark.parametrize("difference", [0.1, 30.0, 500.0])
@pytest.mark.parametrize("kind", ["CORRELATIONS", "PRINCIPAL_COMPONENTS"])
def test_correlations_of_measures_that_differ_for_one_person_are_refused(
    tmp_path, monkeypatch, sums_from: int, difference: float, kind: str
) -> None:
    """What is left unexplained would be her difference, squared."""
    monkeypatch.setattr(engines, "SUMS_FROM", sums_from)
    house = _house(tmp_path, difference)
    for others in ([], ["wealth"]):
        named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
        asked = pb.QueryStatisticRequest(dataset="people", kind=named, measures=["income", *others, "twin"])
        decision = ask(house, asked)
        assert (verdict(decision), reasons(decision)) == ("REFUSED", ["MINIMUM_UNITS"])
    asked = pb.QueryStatisticRequest(dataset="people", kind=named, measures=["income", "wealth"])
    assert verdict(ask(house, asked)) == "RELEASED"
    house.facility.close()


def test_it_is_said_over_rest(tmp_path) -> None:
    served = ServedHouse(tmp_path)
    try:
        people().to_csv(served.settings.data_root / "people.csv", index=False)
        assert served.register(_plain(declared())).status_code == 201
        body = {"kind": "VARIANCE", "measure": "void"}
        answer = served.send("POST", "/v1/datasets/people/statistics", body)
        of_model = served.send(
            "POST", "/v1/datasets/people/models", {"kind": "LINEAR", "formula": "income ~ same"}
        )
    finally:
        served.stop()
    for answered, message in ((answer, no_value("void")), (of_model, one_value("same"))):
        assert answered.status_code == 201
        (reason,) = answered.json()["reasons"]
        assert f"{reason['message']} {reason['suggestion']}" == message
        assert answered.json()["verdict"] == "REFUSED"


def _plain(descriptor: Any) -> dict[str, Any]:
    found: dict[str, Any] = descriptor.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return found


def test_the_records_of_a_column_are_looked_at_once_however_many_models_are_tried_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, looked = _house(tmp_path), []
    compute = house.engine.compute
    monkeypatch.setattr(house.engine, "compute", lambda *asked: looked.append(asked) or compute(*asked))
    formula = "wealth ~ same + void + place + sex + kind + twin + income + third"

    decision = ask(house, pb.QueryModelRequest(dataset="people", kind="MODEL_KIND_LINEAR", formula=formula))

    house.facility.close()
    assert [reason.message.split()[0] for reason in decision.reasons] == ["same", "void"]
    assert decision.alternatives
    assert [query.measures for _, query in looked] == [("same",), ("void",)]
