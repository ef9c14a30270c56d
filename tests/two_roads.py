"""One linear model by both roads: its records fitted and checked, and sums where the data lie."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sdcgate.engine import Dataset, Engine, parse_descriptor
from sdcgate.facility.model_fitting import Fitted, NotEstimable, Task, fit
from sdcgate.facility.model_plan import ModelPlan, make_model_plan
from sdcgate.facility.model_records import read_population
from sdcgate.facility.model_sums import MOST_CONDITION, fit_by_sums
from sdcgate.facility.model_vocabulary import vocabulary
from sdcgate.methods.outputs.model_checks import assess_model
from sdcgate.methods.outputs.model_rules import (
    MaximumFit,
    MaximumInfluence,
    MaximumLeverage,
    MinimumCategory,
    ModelRules,
    NoImpliedTable,
)
from sdcgate.methods.outputs.sandwich import Covariance
from sdcgate.methods.rules import Consequence
from sdcgate.policy.loading import load_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2

SITES, PLANS, AGES = ("1", "2", "3"), ("a", "b", "c", "d"), 60
LARGEST = 2
HUGE = 1e6
"""Of errors that a unit moves a coefficient by: far beyond every rule."""
REFUSE = Consequence.REFUSE
RULES = ModelRules(
    categories=MinimumCategory(10, REFUSE),
    influence=MaximumInfluence(LARGEST, 0.3, REFUSE, dfbetas=1.0),
    leverage=MaximumLeverage(0.3, REFUSE),
    fit=MaximumFit(0.9, 0.5, REFUSE, residual_share=0.3),
    saturation=NoImpliedTable(REFUSE),
)


def frame_of(seed: int, units: int, most: int = 1, outlier: float = 0.0, far: int = 0) -> pd.DataFrame:
    """Records of made people, up to `most` a unit; `far` is added to an amount that varies by digits."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), rng.integers(1, most + 1, units))
    n = len(unit)
    income = np.round(rng.lognormal(3, 0.8, n), 2)
    income[0] += outlier
    site = rng.choice(SITES, n, p=(0.5, 0.3, 0.2))
    debt = np.round(rng.normal(0, 40, n), 1)
    cost = 5 + 2 * np.log1p(income) + 0.02 * debt + (site == "2") * 1.5 + rng.normal(0, 2, n)
    psu = rng.integers(0, 24, units)[unit]
    return pd.DataFrame(
        {
            "id": unit,
            "site": site,
            "plan": rng.choice(PLANS, n),
            "age": rng.integers(0, AGES, n),
            "income": income,
            "debt": debt,
            "few": rng.integers(0, 3, n),
            "far": far + rng.integers(0, 100, n),
            "cost": np.round(cost, 3),
            "psu": psu,
            "stratum": psu % 4,
            "weight": np.round(rng.uniform(0.5, 40, units), 2)[unit],
        }
    )


def declared(name: str = "people", most: int = 1) -> dict[str, Any]:
    """The descriptor of such records."""

    def variable(name: str, codes: Sequence[object], varies: bool) -> dict[str, Any]:
        listed = [{"code": str(code)} for code in codes]
        return {
            "name": name,
            "identifying": "NO",
            "levels": [{"codes": listed}],
            "varies_within_unit": varies,
        }

    return {
        "name": name,
        "source": name,
        "other_people": "made anew for tests",
        "data": {"path": "people.csv"},
        "unit": {"column": "id"},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.1, "stratum": "stratum", "psu": "psu"},
        "weight": {"column": "weight", "decimals": 2},
        "variables": [
            variable("site", SITES, most > 1),
            variable("plan", PLANS, most > 1),
            variable("age", range(AGES), most > 1),
            variable("psu", range(24), False),
            variable("stratum", range(4), False),
        ],
        "measures": [
            {"name": "income", "decimals": 2, "lower_bound": 0.01, "knots": [0, 10, 30, 1000]},
            {"name": "debt", "decimals": 1},
            {"name": "few"},
            {"name": "far"},
            {"name": "cost", "decimals": 3},
        ],
    }


def registered(
    engine: Engine, folder: Path, frame: pd.DataFrame, most: int = 1, name: str = "people"
) -> Dataset:
    """The frame as a dataset; `engine` reads files of `folder`."""
    frame.to_csv(folder / "people.csv", index=False)
    return engine.register(parse_descriptor(declared(name, most))).dataset


@dataclass(frozen=True)
class Asked:
    """A linear model that is asked for."""

    formula: str
    weighted: bool = False
    errors: str = "CLASSICAL"
    filters: dict[str, list[str]] = field(default_factory=dict)

    def plan(self, dataset: Dataset) -> ModelPlan:
        """Resolved; what a policy says of models plays no part but for the quantiles it has."""
        request = pb.QueryModelRequest(
            dataset=dataset.name,
            kind=model_pb2.MODEL_KIND_LINEAR,
            formula=self.formula,
            weighted=self.weighted,
            standard_errors=model_pb2.StandardErrors.Value(f"STANDARD_ERRORS_{self.errors}"),
        )
        for name, codes in self.filters.items():
            request.filter.add(variable=name, codes=codes)
        return make_model_plan(dataset, load_policy("israel-cbs").effective("remote", dataset.name), request)


def by_both(
    engine: Engine, dataset: Dataset, asked: Asked, enough: int | None = None
) -> tuple[Fitted | NotEstimable, Fitted | NotEstimable]:
    """By records and by sums, of which `enough` units apart of a column need be counted."""
    plan = asked.plan(dataset)
    people = read_population(engine, plan)
    codes = people.occurring
    references = {
        (factor.variable, factor.level): factor.reference or codes[factor.variable, factor.level][0]
        for factor in plan.factors
        if codes[factor.variable, factor.level]
    }
    task = Task(plan.options, plan.formula, None, vocabulary(dataset), references, codes, {}, people, LARGEST)
    records = fit(task)
    sums = fit_by_sums(engine, plan, references, codes, LARGEST, lambda: 60.0, enough)
    if sums is None:
        # Whatever errors are asked for, and whether records have any.
        plainly = fit(replace(task, options=replace(task.options, covariance=Covariance.CLASSICAL)))
        assert not isinstance(plainly, NotEstimable)
        assert plainly.facts.condition > MOST_CONDITION / 10, "columns nearly depend on one another"
    return records, records if sums is None else sums


def agree(one: Fitted | NotEstimable, other: Fitted | NotEstimable, enough: int | None = None) -> None:
    """Estimates to 1e-8, figures of influence to 1e-6, counts and verdicts the same.

    Of units apart the other may count `enough` where there are more.
    """
    if isinstance(one, NotEstimable) or isinstance(other, NotEstimable):
        assert one == other
        return
    mine, theirs = one.estimate, other.estimate
    assert mine.names == theirs.names
    scale = mine.standard_errors
    np.testing.assert_allclose(theirs.estimates / scale, mine.estimates / scale, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(theirs.standard_errors, scale, rtol=1e-8)
    assert theirs.fit == pytest.approx(mine.fit, rel=1e-8)
    assert (theirs.records, theirs.units, theirs.residual_degrees) == (
        mine.records,
        mine.units,
        mine.residual_degrees,
    )
    facts, said = one.facts, other.facts
    np.testing.assert_allclose(said.columns.largest_shares, facts.columns.largest_shares, rtol=1e-6)
    # Where next to nothing is left without a unit, rounding alone tells a huge figure from an infinite one.
    dfbetas = np.minimum(said.columns.dfbetas, HUGE), np.minimum(facts.columns.dfbetas, HUGE)
    np.testing.assert_allclose(*dfbetas, rtol=1e-6)
    assert said.maximum_leverage == pytest.approx(facts.maximum_leverage, rel=1e-6)
    assert said.exact_share == facts.exact_share
    assert said.residual_share == pytest.approx(facts.residual_share, rel=1e-6)
    assert said.implied_table == facts.implied_table
    counted, apart = said.columns.units_apart, facts.columns.units_apart
    all_counted = counted == apart
    if enough is not None:
        all_counted |= (counted >= enough) & (counted <= apart)
    assert all_counted.all()
    np.testing.assert_array_equal(said.outcome_units, facts.outcome_units)
    np.testing.assert_array_equal(np.sort(said.pattern_units), np.sort(facts.pattern_units))
    for mine_, theirs_ in zip(facts.terms, said.terms, strict=True):
        np.testing.assert_array_equal(theirs_.units, mine_.units)
        assert (theirs_.text, theirs_.factors, theirs_.saturated, theirs_.of_values) == (
            mine_.text,
            mine_.factors,
            mine_.saturated,
            mine_.of_values,
        )
    verdicts = [
        [(found.rule, found.columns, found.terms) for found in assess_model(of, RULES)]
        for of in (facts, said)
    ]
    assert verdicts[0] == verdicts[1]
