"""Fits of models, alone and with their checks, beside statsmodels on the same matrix; others are an error."""

from collections.abc import Callable

import numpy as np
import statsmodels.api as sm

from run import Result, medians_ms, result, timed_ms
from sdcgate.methods.outputs.design import Records, build_design, matrix
from sdcgate.methods.outputs.fits import Family, FitOptions, ModelData
from sdcgate.methods.outputs.fitting import FITS, fit_model
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

CODES = tuple("abcdef")
NUMBERS = tuple(f"x{number}" for number in range(6))
WORDS = Vocabulary(
    tuple(Categorical(name, (Level(name, CODES),)) for name in ("site", "plan")),
    tuple(Measured(name) for name in (*NUMBERS, "y")),
)
SIZES = {
    Family.LINEAR: 1_000_000,
    Family.LOGIT: 1_000_000,
    Family.PROBIT: 200_000,
    Family.POISSON: 200_000,
    Family.GAMMA: 100_000,
    Family.NEGATIVE_BINOMIAL: 30_000,
    Family.MULTINOMIAL_LOGIT: 30_000,
    Family.QUANTILE: 10_000,
}
RUNS = 3


def model_fits() -> list[Result]:
    """Seventeen columns: a constant, six measures and two factors."""
    found = []
    for family, size in SIZES.items():
        data, records = _population(family, size)
        options = FitOptions(family)
        peer = _peer(family, data)
        estimate, _ = fit_model(data, records, options)
        np.testing.assert_allclose(estimate.estimates, peer(), rtol=1e-6)
        fit, everything, theirs = medians_ms(
            lambda data=data, options=options: timed_ms(lambda: FITS[options.family](data, options)),
            lambda d=data, r=records, o=options: timed_ms(lambda: fit_model(d, r, o)),
            lambda peer=peer: timed_ms(peer),
            runs=RUNS,
        )
        name = family.name.lower().replace("_", " ")
        found.append(result(f"{name}, 17 columns", size, fit, theirs, "statsmodels; aim 1/1.2"))
        found.append(
            result(f"{name}, with all checks", size, everything, theirs, "statsmodels alone; aim 1/2.5")
        )
    return found


def _population(family: Family, size: int) -> tuple[ModelData, Records]:
    rng = np.random.default_rng(1)
    codes = {(name, name): rng.integers(0, 6, size) for name in ("site", "plan")}
    measures = {name: rng.normal(size=size) for name in NUMBERS}
    drive = 0.3 * measures["x0"] - 0.2 * measures["x1"] + 0.1 * codes["site", "site"]
    measures["y"] = _outcome(family, drive, rng)
    records = Records(codes, measures, size)
    formula = parse_formula("y ~ " + " + ".join((*NUMBERS, "site", "plan")), WORDS)
    design = build_design(formula, WORDS, dict.fromkeys(codes, CODES))
    classes = CODES[:3] if family is Family.MULTINOMIAL_LOGIT else ()
    values = matrix(design, WORDS, records)
    return ModelData(design, values, measures["y"], np.arange(size), classes), records


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
        case Family.MULTINOMIAL_LOGIT:
            return np.digitize(drive + rng.logistic(size=len(drive)), [-0.5, 1.0]).astype(float)
        case _:
            return drive + rng.normal(size=len(drive))


def _peer(family: Family, data: ModelData) -> Callable[[], np.ndarray]:
    """The fit of statsmodels with its standard errors, on a matrix as it makes it itself."""
    values, outcome = np.ascontiguousarray(data.values), data.outcome
    gamma = sm.families.Gamma(sm.families.links.Log())
    fits = {
        Family.LINEAR: lambda: sm.OLS(outcome, values).fit(),
        Family.LOGIT: lambda: sm.Logit(outcome, values).fit(disp=0),
        Family.PROBIT: lambda: sm.Probit(outcome, values).fit(disp=0),
        Family.POISSON: lambda: sm.Poisson(outcome, values).fit(disp=0),
        Family.GAMMA: lambda: sm.GLM(outcome, values, gamma).fit(),
        Family.NEGATIVE_BINOMIAL: lambda: sm.NegativeBinomial(outcome, values).fit(disp=0, maxiter=200),
        Family.MULTINOMIAL_LOGIT: lambda: sm.MNLogit(outcome, values).fit(disp=0, maxiter=100),
        Family.QUANTILE: lambda: sm.QuantReg(outcome, values).fit(q=0.5, max_iter=5000),
    }

    def fitted() -> np.ndarray:
        found = fits[family]()
        if not np.all(np.isfinite(found.bse)):
            raise AssertionError(f"{family.name}: statsmodels has no errors")
        return np.asarray(found.params).T.reshape(-1)

    return fitted
