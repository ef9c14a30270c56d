"""Errors of variances, percentiles and Gini indices through the whole facility, and what they tell."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import PchipInterpolator
from typer.testing import CliRunner

from house import build, people_descriptor, verdict
from patients import descriptor, patients
from sdcgate.cli import main
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.pace import Pace
from sdcgate.methods.outputs.inequality import gini
from sdcgate.methods.outputs.linearised_errors import (
    gini_indices,
    kurtoses,
    lorenz_ordinates,
    skewnesses,
    standard_deviations,
    variances,
)
from sdcgate.methods.outputs.moments import moments
from sdcgate.methods.outputs.percentile_errors import REACH, percentile_errors
from sdcgate.methods.outputs.percentiles import percentiles
from sdcgate.methods.outputs.sample import Design, Sample
from sdcgate.methods.outputs.statistic_assessment import StatisticAssessment
from sdcgate.methods.outputs.statistic_facts import Statistic
from sdcgate.methods.outputs.statistic_rules import PercentileUnits, usual_rules
from sdcgate.methods.outputs.statistics import compute
from sdcgate.methods.rules import Consequence, Finding, MinimumUnits, ReasonCode, Rules
from sdcgate_client import Client, format_answer
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2
from served_house import ServedHouse

DIGITS = 5e-4
PLACES = ("city", "town", "hill")


def drawn(seed: int = 4, number: int = 900) -> pd.DataFrame:
    """People in 60 clusters of two strata with weights, who live in three places."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(number) % 60
    place = rng.choice(PLACES, number)
    income = np.exp(rng.normal(7, 0.2, number) + rng.normal(0, 0.1, 60)[cluster])
    return pd.DataFrame(
        {
            "id": np.arange(number),
            "place": place,
            "stratum": cluster % 2,
            "cluster": cluster,
            "weight": np.round(rng.uniform(1, 5, number), 2),
            "income": np.round(income, 2),
        }
    )


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return drawn()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[Any]:
    made = _house(tmp_path_factory.mktemp("drawn"), people)
    yield made
    made.facility.close()


def _house(folder: Path, frame: pd.DataFrame) -> Any:
    frame.to_csv(folder / "people.csv", index=False)
    made = build(folder, policy="five-safes")
    codes = {"place": PLACES, "stratum": "01", "cluster": map(str, range(60))}
    measures = [{"name": "income", "decimals": 2, "lower_bound": 0, "upper_bound": 1e6}]
    design = {"coverage": "SAMPLE", "sampling_fraction": 0.1, "stratum": "stratum", "psu": "cluster"}
    more = {"unit": {"column": "id"}, "weight": {"column": "weight", "decimals": 2}, "design": design}
    made.engine.register(people_descriptor(codes, measures, **more))
    return made


def ask(house: Any, kind: str, groups: tuple[str, ...] = ("place",), weighted: bool = True, **asked: Any):
    named = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    found = pb.QueryStatisticRequest(
        dataset="people", kind=named, measure="income", weighted=weighted, **asked
    )
    for name in groups:
        found.groups.add(variable=name)
    return house.facility.query_statistic(house.researcher, found, Pace(60.0))


def figures(answered: Any) -> dict[str, dict[int, float]]:
    return {
        one.name: dict(zip(one.groups, one.values, strict=True))
        for one in answered.decision.statistic.figures
    }


def sample_of(people: pd.DataFrame, place: str) -> Sample:
    """The records of a place as a domain: clusters without any of them count as drawn."""
    of = people[people["place"] == place]
    strata, clusters = (of[name].to_numpy() for name in ("stratum", "cluster"))
    design = Design(strata, clusters, np.array([30, 30]))
    values, weights = of["income"].to_numpy(), of["weight"].to_numpy()
    return Sample(values, np.zeros(len(of), dtype=np.int64), of["id"].to_numpy(), 1, weights, design)


def test_errors_of_variances_deviations_and_gini_indices_are_those_of_the_design(skewed) -> None:
    people = even()
    for kind, of in (
        ("VARIANCE", lambda one: variances(one, moments(one))),
        ("STANDARD_DEVIATION", lambda one: standard_deviations(one, moments(one))),
        ("GINI", lambda one: gini_indices(one, gini(one).values)),
    ):
        answered = ask(skewed, kind, standard_errors=True)
        found = figures(answered)
        for place in range(3):
            expected = of(sample_of(people, PLACES[place]))
            assert found[kind.lower()][place] == pytest.approx(expected.values[0], rel=DIGITS)
            assert found["standard_error"][place] == pytest.approx(expected.standard_errors[0], rel=DIGITS)
            variation = expected.coefficients_of_variation[0]
            assert found["coefficient_of_variation"][place] == pytest.approx(variation, rel=DIGITS)


@pytest.fixture
def skewed(tmp_path: Path) -> Iterator[Any]:
    """People of whom nothing has left, so that no sum of powers is compared with another."""
    made = _house(tmp_path, even())
    yield made
    made.facility.close()


def even() -> pd.DataFrame:
    """People as above of whom nobody lies so far out that high powers would be hers."""
    frame = drawn(number=3000)
    chance = np.random.default_rng(8).uniform(0, 1, len(frame))
    return frame.assign(income=np.round(500 + 1500 * chance**2 + 0.01 * frame["income"], 2))


def test_errors_of_skewness_and_kurtosis_are_those_of_the_design(skewed) -> None:
    people = even()
    for kind, of in (("SKEWNESS", skewnesses), ("KURTOSIS", kurtoses)):
        answered = ask(skewed, kind, standard_errors=True)
        found = figures(answered)
        for place in range(3):
            sample = sample_of(people, PLACES[place])
            expected = of(sample, moments(sample))
            assert found[kind.lower()][place] == pytest.approx(expected.values[0], rel=DIGITS)
            assert found["standard_error"][place] == pytest.approx(expected.standard_errors[0], rel=DIGITS)


def test_errors_of_a_lorenz_curve_are_those_of_the_design(skewed) -> None:
    people = even()
    found = figures(ask(skewed, "LORENZ_CURVE", standard_errors=True))
    for place in range(3):
        sample = sample_of(people, PLACES[place])
        parts = percentiles(sample, PercentileUnits(10, 10, Consequence.PROTECT))
        expected = dict(zip(parts.points, lorenz_ordinates(sample, parts), strict=True))
        for point in (0.25, 0.5, 0.75):
            name = f"P{100 * point:g}"
            assert found[name][place] == pytest.approx(expected[point].values[0], rel=DIGITS)
            error = found[f"standard_error({name})"][place]
            assert error == pytest.approx(expected[point].standard_errors[0], rel=DIGITS)


def test_the_error_of_a_median_is_made_of_percentiles_that_leave(house, people) -> None:
    """With the share's error, which is one of counts, whoever has the answer can make it himself."""
    answered = ask(house, "PERCENTILES", standard_errors=True)
    found, sample = figures(answered), sample_of(people, "city")

    told = {name: values[0] for name, values in found.items() if name.startswith("P") and 0 in values}
    points = np.array([float(name[1:]) / 100 for name in told])
    below = (sample.values <= told["P50"]).astype(float)
    share = np.average(below, weights=sample.weights)
    linear = sample.weights * (below - share) / sample.weights.sum()
    by_cluster = [
        np.bincount(sample.design.clusters, linear, 60)[sample_stratum::2] for sample_stratum in (0, 1)
    ]
    error = sum(30 / 29 * ((one - one.mean()) ** 2).sum() for one in by_cluster) ** 0.5
    at = PchipInterpolator(points, np.array(list(told.values())))
    expected = (at(0.5 + REACH * error) - at(0.5 - REACH * error)) / (2 * REACH)
    # The share is that below the median before its digits were limited.
    assert found["standard_error(P50)"][0] == pytest.approx(expected, rel=0.03)
    variation = found["coefficient_of_variation(P50)"][0]
    assert variation == pytest.approx(found["standard_error(P50)"][0] / told["P50"], rel=DIGITS)


def test_the_outermost_percentiles_have_no_error(house) -> None:
    found = figures(ask(house, "PERCENTILES", standard_errors=True))
    assert {0, 1, 2} == set(found["P10"]) == set(found["P90"]) == set(found["standard_error(P50)"])
    assert not {"standard_error(P10)", "standard_error(P90)"} & set(found)


def test_a_percentile_that_is_kept_back_plays_no_part_in_the_error_of_others() -> None:
    """Whatever its value is: the error is made after it was decided what leaves."""
    rng = np.random.default_rng(3)
    values = np.sort(rng.lognormal(5, 0.5, 400))
    rules = usual_rules(Rules(MinimumUnits(10, Consequence.PROTECT)))
    nobody = np.zeros(400, dtype=np.int64)
    sample = Sample(values, nobody, np.arange(400), 1)
    computed = compute(Statistic.PERCENTILES, sample, rules, errors=True)
    kept_back = StatisticAssessment((Finding(ReasonCode.DIFFERENCING, Consequence.PROTECT, (0,), "P40"),))

    errors = []
    for other in (0.0, 1.0, 5.0):
        assert computed.percentiles is not None
        changed = computed.percentiles.values.copy()
        changed[0, computed.percentiles.points.index(0.4)] += other
        one = replace(computed, percentiles=replace(computed.percentiles, values=changed))
        released = one.released(kept_back)
        assert released is not None
        errors.append(percentile_errors(released)[0].tolist())

    np.testing.assert_array_equal(errors[0], errors[1])
    np.testing.assert_array_equal(errors[0], errors[2])
    assert np.isfinite(errors[0][computed.percentiles.points.index(0.5)])


def test_an_error_of_a_variance_is_refused_where_fourth_powers_tell_a_person(tmp_path) -> None:
    """The variance of such a group leaves: it leaves the one far out open by a fifth, its error by less."""
    frame = drawn()
    rng = np.random.default_rng(9)
    frame["income"] = np.round(50 + rng.normal(0, 10, len(frame)), 2)
    town = np.flatnonzero(frame["place"] == "town")
    frame.loc[town[0], "income"] = 50 + round(10 * (2 * len(town)) ** 0.5, 2)
    house = _house(tmp_path, frame)

    without = ask(house, "VARIANCE", weighted=False)
    with_error = ask(house, "VARIANCE", weighted=False, standard_errors=True)

    assert 1 not in figures(with_error).get("variance", {})
    assert verdict(with_error) != "RELEASED"
    assert verdict(without) == "RELEASED"
    assert 1 in figures(without)["variance"]
    house.facility.close()


def test_of_errors_that_are_not_asked_nothing_is_said(tmp_path) -> None:
    """That the variance of few people on the hill is uncertain would tell of their fourth powers."""
    frame = drawn()
    hill = frame["place"] == "hill"
    spread = np.exp(np.random.default_rng(1).normal(7, 0.8, int(hill.sum())))
    frame.loc[hill, "income"] = np.round(spread, 2)
    house = _house(tmp_path, frame[~hill | (hill.cumsum() <= 60)])

    of_variances = ask(house, "VARIANCE").decision.statistic
    of_medians = ask(house, "PERCENTILES", standard_errors=True).decision.statistic

    assert [list(of_variances.unreliable), list(of_variances.statuses)[:3]] == [[], [1, 1, 1]]
    assert {one.name: list(one.unreliable) for one in of_medians.figures}["P50"] == []
    assert list(of_medians.unreliable) == []
    house.facility.close()


def test_what_has_no_error_says_so(house) -> None:
    for kind in ("CONCENTRATION_RATIO", "HERFINDAHL"):
        with pytest.raises(InvalidRequest) as caught:
            ask(house, kind, weighted=False, standard_errors=True)
        assert [problem.path for problem in caught.value.problems] == ["standard_errors"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("patients"))
    try:
        patients().to_csv(made.settings.data_root / "patients.csv", index=False)
        assert made.register(descriptor()).status_code == 201
        yield made
    finally:
        made.stop()


def test_errors_come_over_rest_to_the_client_and_the_command(served: ServedHouse) -> None:
    client = Client(served.supervisor.url, served.keys["ada"])

    answer = client.statistic("patients", "percentiles", "income", groups="sex", standard_errors=True)

    frame = answer.to_pandas()
    assert frame["standard_error(P50)"].gt(0).all()
    assert frame["coefficient_of_variation(P50)"].lt(0.05).all()
    assert "standard error(P50)" in format_answer(answer)
    key = ["--url", served.supervisor.url, "--api-key", served.keys["ada"]]
    shown = CliRunner().invoke(main, ["query", "statistic", "patients", "gini", "wealth", "--errors", *key])
    assert shown.exit_code == 0, shown.output
    assert "standard error" in shown.output
