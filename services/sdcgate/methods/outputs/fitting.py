"""Fitting a model of any family, and the facts that its checks need."""

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.binary_models import fit_binary
from sdcgate.methods.outputs.class_models import fit_multinomial, fit_ordered
from sdcgate.methods.outputs.cross_products import number_of_units
from sdcgate.methods.outputs.design import Records
from sdcgate.methods.outputs.estimates import ModelEstimate
from sdcgate.methods.outputs.fits import Family, Fit, FitOptions, ModelData, separation
from sdcgate.methods.outputs.hazards import fit_hazards
from sdcgate.methods.outputs.implied_tables import (
    few_values,
    implied_table,
    pattern_units,
    term_facts,
    units_apart,
    units_by_group,
    usual_or_other,
)
from sdcgate.methods.outputs.influence import influence_of
from sdcgate.methods.outputs.linear_models import fit_linear
from sdcgate.methods.outputs.loglinear_models import fit_loglinear
from sdcgate.methods.outputs.model_facts import ColumnFacts, ModelFacts
from sdcgate.methods.outputs.panel_models import fit_fixed_effects, fit_mixed
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError, NotConverged
from sdcgate.methods.outputs.quantile_regression import fit_quantile
from sdcgate.methods.outputs.separating import separated
from sdcgate.methods.outputs.two_stage import fit_two_stage

FITS = {
    Family.LINEAR: fit_linear,
    Family.LOGIT: fit_binary,
    Family.PROBIT: fit_binary,
    Family.POISSON: fit_loglinear,
    Family.NEGATIVE_BINOMIAL: fit_loglinear,
    Family.GAMMA: fit_loglinear,
    Family.MULTINOMIAL_LOGIT: fit_multinomial,
    Family.ORDERED_LOGIT: fit_ordered,
    Family.QUANTILE: fit_quantile,
    Family.FIXED_EFFECTS: fit_fixed_effects,
    Family.MIXED: fit_mixed,
    Family.COX: fit_hazards,
    Family.TWO_STAGE: fit_two_stage,
}
"""The fit of each family."""


def fit_model(
    data: ModelData, records: Records, options: FitOptions, largest: int = 1
) -> tuple[ModelEstimate, ModelFacts]:
    """Estimates of a model and what its checks need to know; `largest` units a coefficient are looked at.

    ModelProblemError with all that stands in the way: what cannot be estimated is said, never NaN.
    """
    _refuse_data(data)
    try:
        fit = FITS[options.family](data, options)
    except NotConverged:
        if separated(data, options.family):
            raise separation() from None
        raise
    return fit.estimate, facts_of(fit, data, records, options, largest)


def facts_of(fit: Fit, data: ModelData, records: Records, options: FitOptions, largest: int) -> ModelFacts:
    """What the checks of a fitted model need."""
    parameters = len(fit.estimate.names)
    shares = np.zeros((parameters, largest))
    moved = np.zeros(parameters)
    terms = np.zeros(parameters, dtype=np.int64)
    apart = np.full(parameters, number_of_units(data.units), dtype=np.int64)
    of_columns = units_apart(data.values, data.units)
    leverage = condition = 0.0
    residual_shares: list[float] = []
    for part in fit.parts:
        found = influence_of(part.working, data.units, largest)
        places, columns = list(part.parameters), list(part.columns)
        in_working = columns if part.places is None else list(part.places)
        shares[places] = found.largest_shares[in_working]
        moved[places] = found.dfbetas[in_working]
        terms[places] = [data.design.columns[column].term for column in columns]
        apart[places] = of_columns[columns]
        residual_shares += [] if found.residual_share is None else [found.residual_share]
        leverage, condition = max(leverage, found.maximum_leverage), max(condition, found.condition)
    outcome_units = fit.outcome_units
    if outcome_units is None:
        outcome_units = _outcome_units(fit, data, options)
    return ModelFacts(
        fit.estimate.family,
        number_of_units(data.units),
        len(data.outcome),
        parameters,
        fit.estimate.free_degrees,
        ColumnFacts(fit.estimate.names, tuple(terms.tolist()), apart, shares, moved),
        term_facts(data.design, records, data.units, fit.classified),
        leverage,
        fit.r_squared,
        fit.exact_share,
        outcome_units,
        fit.separated,
        condition,
        implied_table(data.design, records),
        pattern_units(data.values, data.units),
        max(residual_shares, default=None),
    )


def _outcome_units(fit: Fit, data: ModelData, options: FitOptions) -> IntArray:
    """Units of each class of the outcome, or of each value where these are classes; a time tells no class."""
    if fit.classified is not None:
        return units_by_group(fit.classified.positions, fit.classified.count, data.units)
    few = few_values(data.outcome) if data.events is None else None
    if few is None:
        return np.zeros(0, dtype=np.int64)
    units = units_by_group(*few, data.units)
    return units if options.outcome_of_classes else usual_or_other(units, number_of_units(data.units))


def _refuse_data(data: ModelData) -> None:
    found = []
    size = len(data.outcome)
    if len(data.values) <= len(data.design.columns):
        found.append(ModelProblem("formula", "there are as many parameters as records or more"))
    columns: list[tuple[str, FloatArray | None]] = [("outcome", data.outcome), ("weights", data.weights)]
    for path, numbers in columns:
        if numbers is not None and not np.all(np.isfinite(numbers)):
            found.append(ModelProblem(path, "has values that are no numbers in this population"))
    if not np.all(np.isfinite(data.values.sum(axis=0))):
        found.append(ModelProblem("formula", "a term has values that are no finite numbers"))
    if data.weights is not None and np.any(data.weights <= 0):
        found.append(ModelProblem("weights", "have to be above 0 for all of this population"))
    if any(len(column) != size for column in (data.values, data.units)):
        found.append(ModelProblem("outcome", "columns have different lengths"))
    if found:
        raise ModelProblemError(found)
