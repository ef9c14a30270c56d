"""Counts that leave rounded can be worked out from other figures: audits take the exact ones to be known."""

import numpy as np
import pandas as pd
import pytest

from house import build, cells, model_request, people_descriptor, reasons, verdict
from sdcgate.facility.kept_releases import left_of
from sdcgate.facility.knowledge import COUNTS
from sdcgate.facility.pace import Pace
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2

PEOPLE, RARE = 1213, 4
MODELS = {
    "LINEAR": "y ~ sex + x",
    "LOGIT": 'C(ill, event="1") ~ sex + x',
    "PROBIT": 'C(ill, event="1") ~ sex + x',
    "POISSON": "visits ~ sex + x",
    "NEGATIVE_BINOMIAL": "visits ~ sex + x",
    "GAMMA": "y ~ sex + x",
    "MULTINOMIAL_LOGIT": "party ~ sex + x",
    "ORDERED_LOGIT": "party ~ sex + x",
    "FIXED_EFFECTS": "y ~ sex + x",
    "MIXED": "y ~ sex + x",
    "COX": 'surv(x, C(ill, event="1")) ~ sex + y',
    "TWO_STAGE": "y ~ x",
}
OPTIONS = {
    "MIXED": {"groups": "ill"},
    "FIXED_EFFECTS": {"groups": "ill"},
    "TWO_STAGE": {"instruments": "visits"},
}
STATISTICS = {
    "MEAN": {"measure": "y", "standard_errors": True},
    "VARIANCE": {"measure": "y"},
    "PROPORTION": {"having": "ill", "standard_errors": True},
    "T_TEST": {"measure": "y", "having": "ill"},
    "MANN_WHITNEY_TEST": {"measure": "y", "having": "ill"},
    "KOLMOGOROV_SMIRNOV_TEST": {"measure": "y", "having": "ill"},
    "CHI_SQUARED_TEST": {"factors": ("sex", "ill")},
    "ANALYSIS_OF_VARIANCE": {"measure": "y", "factors": ("sex", "ill")},
    "CORRELATIONS": {"measures": ("x", "y")},
    "ODDS_RATIO": {"having": "ill", "exposed": "sex"},
    "KAPLAN_MEIER": {"measure": "x", "having": "ill"},
    "PERCENTILES": {"measure": "y"},
    "GINI": {"measure": "y"},
}
LESS_ONE = ["a", "b"]
"""The towns but that of the four."""


def opened(folder):
    """1,213 people in three towns, four of them in the third; its count is withheld, with another."""
    rng, at = np.random.default_rng(6), np.arange(PEOPLE)
    ill, sex = rng.integers(0, 2, PEOPLE), rng.integers(0, 2, PEOPLE)
    x = rng.gamma(9, 5, PEOPLE).round(2) + 1
    frame = pd.DataFrame({"id": at, "ill": ill, "sex": sex, "party": rng.integers(0, 3, PEOPLE), "x": x})
    frame["town"] = np.select([at < RARE, at < 300], ["c", "b"], "a")
    frame["y"] = (50 + 0.3 * x + 5 * sex + rng.normal(0, 9, PEOPLE)).round(2)
    frame["visits"] = rng.negative_binomial(2, 0.2, PEOPLE)
    frame.to_csv(folder / "people.csv", index=False)
    house = build(folder, policy="five-safes")
    measures = [{"name": name, "decimals": 2, "lower_bound": 1, "upper_bound": 1000} for name in "xy"]
    measures.append({"name": "visits", "decimals": 0, "lower_bound": 0, "upper_bound": 1000})
    codes = {"ill": "01", "sex": "01", "party": "012", "town": "abc"}
    house.engine.register(people_descriptor(codes, measures, unit={"column": "id", "label": "person"}))
    return house


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    made = opened(tmp_path_factory.mktemp("house"))
    yield made
    made.facility.close()


@pytest.fixture(scope="module")
def house_of_a_table(tmp_path_factory):
    """The table of towns has left: the four, and those of another town, are withheld."""
    made = opened(tmp_path_factory.mktemp("table"))
    table = cells(made.ask(dataset="people", rows=["town"]))
    assert table["c",] == (None,)
    assert table["_T",] == (float(PEOPLE),)
    yield made
    made.facility.close()


def model(house, kind, **filters):
    asked = model_request(MODELS[kind], kind, dataset="people", **OPTIONS.get(kind, {}), **filters)
    return house.facility.query_model(house.researcher, asked, Pace(60.0))


def statistic(house, kind, **filters):
    wanted = dict(STATISTICS[kind])
    asked = pb.QueryStatisticRequest(
        dataset="people", kind=statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{kind}")
    )
    for field in ("having", "exposed"):
        if field in wanted:
            getattr(asked, field).CopyFrom(pb.FilterRequest(variable=wanted.pop(field), codes=["1"]))
    for name in wanted.pop("factors", ()):
        asked.factors.add(variable=name)
    asked.measures.extend(wanted.pop("measures", ()))
    for name, value in wanted.items():
        setattr(asked, name, value)
    for variable, codes in filters.items():
        asked.filter.add(variable=variable, codes=codes)
    return house.facility.query_statistic(house.researcher, asked, Pace(60.0))


def counts_of(kept):
    """Boxes and units of the tables of counts that an answer made known."""
    return [(one.table, one.facts.units) for one in kept.tables if one.quantity == COUNTS]


ASKED = [*((model, kind) for kind in MODELS), *((statistic, kind) for kind in STATISTICS)]


def test_the_records_of_a_regression_can_be_worked_out_from_its_figures(house) -> None:
    """R² over 1 - R², times residual degrees over slopes, is F; errors and the likelihood tell as much."""
    told = model(house, "LINEAR").decision.model
    fit = {model_pb2.FitStatistic.Name(one.statistic)[14:]: one.value for one in told.fit}
    explained = fit["R_SQUARED"]

    records = 2 * fit["F_STATISTIC"] * (1 - explained) / explained + 3

    assert told.records == 1210
    assert abs(records - PEOPLE) < 1


@pytest.mark.parametrize(("ask", "kind"), ASKED)
def test_the_exact_count_of_a_population_is_known_to_all_later_audits(house, ask, kind) -> None:
    """Whatever kind of figure left of it."""
    answered = ask(house, kind, town=["a", "b", "c"])

    assert verdict(answered).startswith("RELEASED"), reasons(answered)
    *_, kept = map(left_of, house.ledger.releases("people"))
    totals = [(table.records[-1], units[-1]) for table, units in counts_of(kept)]
    # Of a curve the count of those who have the event is known beside it.
    own = totals[:-1] if kind == "KAPLAN_MEIER" else totals
    assert own
    assert set(own) == {(PEOPLE, PEOPLE)}


@pytest.mark.parametrize(("ask", "kind"), ASKED)
def test_a_population_that_would_tell_a_withheld_count_by_its_own_has_no_figure(
    house_of_a_table, ask, kind
) -> None:
    """1,213 less the population's exact number are the four."""
    answered = ask(house_of_a_table, kind, town=LESS_ONE)

    assert verdict(answered) == "REFUSED"
