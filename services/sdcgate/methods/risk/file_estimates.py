"""Estimates of the risk of a file beyond the design: uniqueness, log-linear models, the one to trust."""

import numpy as np

from sdcgate.methods.risk import loglinear, uniqueness
from sdcgate.methods.risk.file_options import NO_WEIGHTS, Options
from sdcgate.methods.risk.file_report import LogLinearSection, NotComputed, UniquenessSection
from sdcgate.methods.risk.keys import Keys
from sdcgate.methods.risk.microdata import UnitFile
from sdcgate.methods.risk.recommendation import Recommendation, recommend


def uniqueness_section(units: UnitFile, keys: Keys, missing: list[NotComputed]) -> UniquenessSection:
    """theta_U by the design, beside three models of the population's frequencies."""
    weights, fraction = units.weights, units.fraction
    if weights is None or fraction is None:
        raise ValueError(NO_WEIGHTS)
    by_design = None
    try:
        by_design = uniqueness.theta_u(keys, weights)
    except ValueError as error:
        missing.append(NotComputed("theta_U by the design", str(error)))
    return UniquenessSection(by_design, uniqueness_models(keys, fraction, missing))


def uniqueness_models(
    keys: Keys, fraction: float, missing: list[NotComputed]
) -> tuple[uniqueness.Uniqueness, ...]:
    """The models of the population's frequencies that fit; those that do not are added to `missing`."""
    sizes, numbers = uniqueness.sizes_of(keys)
    found = []
    for name, model in (
        ("gamma", uniqueness.gamma_model),
        ("log-normal", uniqueness.lognormal_model),
        ("Poisson-Dirichlet", uniqueness.poisson_dirichlet_model),
    ):
        try:
            found.append(model(sizes, numbers, fraction))
        except (ValueError, ArithmeticError) as error:
            missing.append(NotComputed(f"uniqueness by the {name} model", str(error)))
    return tuple(found)


def log_linear_section(units: UnitFile, options: Options) -> tuple[LogLinearSection, ...]:
    """Independence, and all interactions of two variables; pseudo maximum likelihood where weights differ."""
    if units.weights is None:
        raise ValueError(NO_WEIGHTS)
    _check_possible(units, options)
    table = loglinear.key_table(units.codes, units.weights)
    differ = bool(np.ptp(units.weights) > 0)
    variables = len(units.keys)
    models = [("main effects", loglinear.main_effects(variables))]
    if variables > 1:
        models.append(("all two-way interactions", loglinear.all_two_way(variables)))
    return tuple(_log_linear(table, name, generators, differ) for name, generators in models)


def recommended_section(units: UnitFile, options: Options) -> Recommendation:
    """The estimate of tau_2 to trust."""
    if units.weights is None:
        raise ValueError(NO_WEIGHTS)
    _check_possible(units, options)
    return recommend(units.codes, units.weights)


def _check_possible(units: UnitFile, options: Options) -> None:
    lacking = (units.codes < 0).any(axis=0)
    possible = float(np.prod(units.codes.max(axis=0) + 1.0 + lacking))
    if possible > options.largest_table:
        raise ValueError(
            f"{possible:.1e} keys are possible, more than {options.largest_table:.1e}: "
            "take fewer key variables, or coarser ones"
        )


def _log_linear(
    table: loglinear.KeyTable, name: str, generators: tuple[tuple[int, ...], ...], pseudo: bool
) -> LogLinearSection:
    model = loglinear.fit(table, generators, pseudo=pseudo)
    risk = loglinear.risk(table, model)
    half = uniqueness.NORMAL_95 * float(np.sqrt(risk.variance))
    uniques = int((table.keys.counts == 1).sum())
    return LogLinearSection(
        name=name,
        generators=model.generators,
        pseudo=pseudo,
        tau_1=risk.tau_1,
        tau_2=risk.tau_2,
        interval=(max(0.0, risk.tau_2 - half), min(float(uniques), risk.tau_2 + half)),
        tau=risk.tau,
        criteria=loglinear.criteria(table, model),
        converged=model.converged,
    )
