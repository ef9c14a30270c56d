"""A made frame for models, as our records and as the pandas frame that statsmodels reads by formula."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sdcgate.methods.outputs.design import (
    Design,
    Records,
    build_design,
    class_positions,
    event_values,
    matrix,
    outcome_values,
)
from sdcgate.methods.outputs.fits import ModelData
from sdcgate.methods.outputs.formula import Classes, Formula, Numeric
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.splines import Spline
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

REGIONS = ("north", "east", "south", "west", "isles")
VOCABULARY = Vocabulary(
    (
        Categorical("site", (Level("site", ("1", "2", "3")),)),
        Categorical("plan", (Level("plan", ("a", "b", "c", "d")), Level("coarse", ("ab", "cd")))),
        Categorical("region", (Level("region", REGIONS),)),
        Categorical("health", (Level("health", ("poor", "fair", "good")),)),
        Categorical("ill", (Level("ill", ("no", "yes")),)),
    ),
    (
        Measured(
            "income", ("log", "log1p", "sqrt", "square", "cube", "inverse"), Spline(0.0, 60.0, (12.0, 25.0))
        ),
        Measured("age", ("square",), Spline(15.0, 95.0, (30.0, 45.0, 60.0), natural=False)),
        Measured("cost", ("log",)),
        Measured("visits"),
        Measured("months"),
        Measured("net-worth"),
    ),
)


@dataclass(frozen=True)
class Frame:
    """Records, the same as a pandas frame, and each record's unit."""

    records: Records
    frame: pd.DataFrame
    units: np.ndarray
    occurring: dict

    def design(self, text: str) -> tuple[Formula, Design, np.ndarray]:
        """A formula's meaning, columns and values."""
        formula = parse_formula(text, VOCABULARY)
        design = build_design(formula, VOCABULARY, self.occurring)
        return formula, design, matrix(design, VOCABULARY, self.records)


def made_frame(size: int = 1500, seed: int = 5) -> Frame:
    """Records of people; nobody lives on the isles, and each third person has two records."""
    rng = np.random.default_rng(seed)
    positions = {
        ("site", "site"): rng.choice(3, size, p=[0.5, 0.3, 0.2]),
        ("plan", "plan"): rng.integers(0, 4, size),
        ("region", "region"): rng.integers(0, 4, size),
    }
    positions["plan", "coarse"] = positions["plan", "plan"] // 2
    income = np.minimum(np.exp(rng.normal(2.6, 0.5, size)), 59.0)
    age = rng.integers(15, 95, size).astype(float)
    drive = 0.4 * np.log(income) - 0.02 * age + 0.5 * (positions["site", "site"] == 1)
    latent = drive + rng.logistic(size=size)
    positions["ill", "ill"] = (latent > 0.2).astype(np.int64)
    positions["health", "health"] = np.digitize(-latent, [-1.0, 0.8]).astype(np.int64)
    measures = {
        "income": income,
        "age": age,
        "cost": np.exp(1.0 + 0.5 * drive + rng.normal(0, 0.7, size)),
        "visits": rng.poisson(np.exp(0.3 + 0.4 * drive) * rng.gamma(2.0, 0.5, size)).astype(float),
        "months": np.ceil(rng.exponential(20 * np.exp(-0.5 * drive))),
        "net-worth": rng.normal(0, 50, size),
    }
    codes = {key: place.astype(np.int64) for key, place in positions.items()}
    frame = pd.DataFrame({name.replace("-", "_"): values for name, values in measures.items()})
    for (variable, level), place in codes.items():
        known = VOCABULARY.variable(variable)
        assert known is not None
        declared = known.level(level).codes
        name = variable if variable == level else f"{variable}_{level}"
        present = [code for number, code in enumerate(declared) if np.any(place == number)]
        frame[name] = pd.Categorical([declared[at] for at in place], categories=present)
    occurring = {
        key: tuple(frame[key[0] if key[0] == key[1] else "_".join(key)].cat.categories) for key in codes
    }
    units = np.where(np.arange(size) % 3 == 1, np.arange(size) - 1, np.arange(size))
    _, units = np.unique(units, return_inverse=True)
    return Frame(Records(codes, measures, size), frame, units.astype(np.int64), occurring)


def model_data(made: Frame, text: str, **more: object) -> ModelData:
    """What a fit of a formula on a frame takes."""
    formula, design, values = made.design(text)
    outcome = formula.outcome
    classes: tuple[str, ...] = ()
    if isinstance(outcome, Numeric):
        numbers = outcome_values(outcome, made.records)
    elif isinstance(outcome, Classes) and outcome.event:
        numbers = event_values(outcome, VOCABULARY, made.records)
    elif isinstance(outcome, Classes):
        key = (outcome.factor.variable, outcome.factor.level)
        classes, positions = class_positions(outcome, VOCABULARY, made.occurring[key], made.records)
        numbers = positions.astype(float)
    else:
        raise TypeError(text)
    return ModelData(design, values, numbers, made.units, classes, **more)  # type: ignore[arg-type]
