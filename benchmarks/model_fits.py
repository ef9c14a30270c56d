"""Fits of models, alone and with their checks, beside statsmodels on the same matrix; others are an error."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.sandbox.regression.gmm import IV2SLS

from run import Result, medians_ms, result
from sdcgate.methods.outputs.design import Records, build_design, matrix
from sdcgate.methods.outputs.fits import Family, FitOptions, ModelData
from sdcgate.methods.outputs.fitting import FITS, fit_model
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.quantile_regression import check_loss
from sdcgate.methods.outputs.sandwich import Covariance, SurveyDesign
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

CODES = tuple("abcdef")
NUMBERS = tuple(f"x{number}" for number in range(6))
WORDS = Vocabulary(
    tuple(Categorical(name, (Level(name, CODES),)) for name in ("site", "plan")),
    tuple(Measured(name) for name in (*NUMBERS, "y")),
)
GROUPS = 100
"""Of fixed effects and mixed models, and primary units of a sample."""
WINDOW = 10
"""Units that a released quantile must rest on: so many planes against statsmodels' one."""
RUNS = 3


@dataclass(frozen=True)
class Case:
    """A family, how many records, and how far estimates may be from statsmodels'."""

    family: Family
    size: int
    name: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    weighted: bool = False
    close: float = 1e-6

    @property
    def title(self) -> str:
        """As the table has it."""
        return self.name or self.family.name.lower().replace("_", " ")


CASES = (
    Case(Family.LINEAR, 1_000_000),
    Case(Family.LINEAR, 200_000, "weighted, by design", {"covariance": Covariance.DESIGN}, weighted=True),
    Case(Family.LOGIT, 1_000_000),
    Case(Family.PROBIT, 200_000),
    Case(Family.POISSON, 200_000),
    Case(Family.GAMMA, 100_000),
    Case(Family.NEGATIVE_BINOMIAL, 30_000),
    Case(Family.MULTINOMIAL_LOGIT, 30_000),
    # A search by differences stops at some six digits.
    Case(Family.ORDERED_LOGIT, 10_000, close=1e-3),
    Case(Family.QUANTILE, 10_000),
    Case(Family.FIXED_EFFECTS, 200_000),
    Case(Family.MIXED, 10_000, close=1e-5),
    Case(Family.COX, 10_000),
    Case(Family.TWO_STAGE, 200_000),
)


def model_fits() -> list[Result]:
    """Seventeen columns: a constant, six measures and two factors."""
    found = []
    for case in CASES:
        data, records = _population(case)
        options = FitOptions(case.family, **case.options)
        checked = replace(options, window=WINDOW) if case.family is Family.QUANTILE else options
        peer = _peer(case, data)
        estimate, _ = fit_model(data, records, options)
        _compare(case, data, estimate.estimates, peer())
        fit, everything, theirs = medians_ms(
            lambda data=data, options=options: cpu_ms(lambda: FITS[options.family](data, options)),
            lambda d=data, r=records, o=checked: cpu_ms(lambda: fit_model(d, r, o)),
            lambda peer=peer: cpu_ms(peer),
            runs=RUNS,
        )
        note = f"; {WINDOW} planes" if case.family is Family.QUANTILE else ""
        found.append(result(f"{case.title}, 17 columns", case.size, fit, theirs, "statsmodels; aim 1/1.2"))
        found.append(
            result(
                f"{case.title}, with all checks",
                case.size,
                everything,
                theirs,
                f"statsmodels alone; aim 1/2.5{note}",
            )
        )
    return found


def cpu_ms(call: Callable[[], object]) -> float:
    """Milliseconds of processor time that a call takes, whatever else the machine does."""
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1000


def _compare(case: Case, data: ModelData, ours: np.ndarray, theirs: np.ndarray) -> None:
    """An error where the estimates are not the same; of a quantile what they make least."""
    if case.family is Family.QUANTILE:
        lost = [check_loss(data.outcome - data.values @ plane, 0.5) for plane in (ours, theirs)]
        # Theirs stops at a millionth.
        np.testing.assert_allclose(lost[0], lost[1], rtol=1e-7)
        return
    np.testing.assert_allclose(ours[: len(theirs)], theirs, rtol=case.close, atol=case.close)


def _population(case: Case) -> tuple[ModelData, Records]:
    rng = np.random.default_rng(1)
    family, size = case.family, case.size
    codes = {(name, name): rng.integers(0, 6, size) for name in ("site", "plan")}
    measures = {name: rng.normal(size=size) for name in NUMBERS}
    drive = 0.3 * measures["x0"] - 0.2 * measures["x1"] + 0.1 * codes["site", "site"]
    measures["y"] = _outcome(family, drive, rng)
    records = Records(codes, measures, size)
    formula = parse_formula("y ~ " + " + ".join((*NUMBERS, "site", "plan")), WORDS)
    design = build_design(formula, WORDS, dict.fromkeys(codes, CODES))
    of_classes = family in (Family.MULTINOMIAL_LOGIT, Family.ORDERED_LOGIT)
    values = matrix(design, WORDS, records)
    data = ModelData(
        design, values, measures["y"], np.arange(size), CODES[:3] if of_classes else (), groups=None
    )
    groups = rng.integers(0, GROUPS, size)
    if family in (Family.FIXED_EFFECTS, Family.MIXED):
        effects = rng.normal(size=GROUPS)
        data = replace(data, groups=groups, outcome=data.outcome + effects[groups])
    if family is Family.COX:
        data = replace(data, events=(rng.random(size) < 0.7).astype(float))
    if family is Family.TWO_STAGE:
        instruments = values.copy()
        instruments[:, design.names.index("x0")] += rng.normal(size=size)
        data = replace(data, instruments=np.asfortranarray(instruments))
    if case.weighted:
        survey = SurveyDesign(groups // 10, groups)
        data = replace(data, weights=rng.uniform(1, 3, size), survey=survey)
    return data, records


def _outcome(family: Family, drive: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    match family:
        case Family.LOGIT | Family.PROBIT:
            return (drive + rng.logistic(size=len(drive)) > 0).astype(float)
        case Family.POISSON:
            return rng.poisson(np.exp(drive / 2)).astype(float)
        case Family.NEGATIVE_BINOMIAL:
            return rng.poisson(np.exp(drive / 2) * rng.gamma(2, 0.5, len(drive))).astype(float)
        case Family.GAMMA:
            return rng.gamma(2, np.exp(drive))
        case Family.MULTINOMIAL_LOGIT | Family.ORDERED_LOGIT:
            return np.digitize(drive + rng.logistic(size=len(drive)), [-0.5, 1.0]).astype(float)
        case Family.COX:
            # Times in whole days: some are the same.
            return np.ceil(rng.exponential(1000 * np.exp(-drive)))
        case _:
            return drive + rng.normal(size=len(drive))


def _peer(case: Case, data: ModelData) -> Callable[[], np.ndarray]:
    """The fit of statsmodels with its standard errors, on a matrix as it makes it itself."""
    values, outcome = np.ascontiguousarray(data.values), data.outcome
    gamma = sm.families.Gamma(sm.families.links.Log())
    beside = values[:, 1:]
    fits = {
        Family.LINEAR: lambda: sm.OLS(outcome, values).fit(),
        Family.LOGIT: lambda: sm.Logit(outcome, values).fit(disp=0),
        Family.PROBIT: lambda: sm.Probit(outcome, values).fit(disp=0),
        Family.POISSON: lambda: sm.Poisson(outcome, values).fit(disp=0),
        Family.GAMMA: lambda: sm.GLM(outcome, values, gamma).fit(),
        # Its usual search stops where coefficients have two digits.
        Family.NEGATIVE_BINOMIAL: lambda: sm.NegativeBinomial(outcome, values).fit(method="newton", disp=0),
        Family.MULTINOMIAL_LOGIT: lambda: sm.MNLogit(outcome, values).fit(disp=0, maxiter=100),
        Family.ORDERED_LOGIT: lambda: OrderedModel(outcome.astype(int), beside, distr="logit").fit(
            method="bfgs", disp=0, maxiter=500
        ),
        Family.QUANTILE: lambda: sm.QuantReg(outcome, values).fit(q=0.5, max_iter=5000),
        Family.FIXED_EFFECTS: lambda: _within(data),
        Family.MIXED: lambda: sm.MixedLM(outcome, values, data.groups).fit(reml=True),
        Family.COX: lambda: PHReg(outcome, beside, status=data.events, ties="efron").fit(disp=0),
        Family.TWO_STAGE: lambda: IV2SLS(outcome, values, data.instruments).fit(),
    }
    if case.weighted:
        fits[Family.LINEAR] = lambda: sm.WLS(outcome, values, data.weights).fit(
            cov_type="cluster", cov_kwds={"groups": data.survey.clusters}
        )
    parameters = {Family.ORDERED_LOGIT: beside.shape[1], Family.MIXED: values.shape[1]}

    def fitted() -> np.ndarray:
        found = fits[case.family]()
        if not np.all(np.isfinite(found.bse)):
            raise AssertionError(f"{case.title}: statsmodels has no errors")
        return np.asarray(found.params).T.reshape(-1)[: parameters.get(case.family)]

    return fitted


def _within(data: ModelData) -> Any:
    """Least squares on what is left of groups' means, as its users take them out."""
    frame = pd.DataFrame(np.column_stack([data.outcome, data.values[:, 1:]]))
    left = frame - frame.groupby(data.groups).transform("mean")
    return sm.OLS(left[0].to_numpy(), left.iloc[:, 1:].to_numpy()).fit()
