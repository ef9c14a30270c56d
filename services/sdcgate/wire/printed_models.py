"""Printed figures of models that are checked elsewhere, from messages to what judges them, and back."""

import numpy as np

from sdcgate.methods.outputs.model_facts import ModelFacts
from sdcgate.methods.outputs.model_rules import ModelRules
from sdcgate.methods.outputs.printed_estimates import (
    COUNTS,
    FIGURES,
    UNVERIFIED,
    ClaimedFit,
    EstimateProblem,
    PrintedCoefficient,
    PrintedModel,
    estimate_problems,
)
from sdcgate.wire.json import enum_texts
from sdcgate_proto.sdcgate.risk.v1 import models_pb2
from sdcgate_proto.sdcgate.types.v1 import model_pb2

_CLASSICAL = (model_pb2.STANDARD_ERRORS_UNSPECIFIED, model_pb2.STANDARD_ERRORS_CLASSICAL)


def printed_problems(
    request: models_pb2.AssessModelRequest, facts: ModelFacts, rules: ModelRules
) -> tuple[EstimateProblem, ...]:
    """What is wrong with the printed model of a request; nothing where there is none."""
    if not request.HasField("printed"):
        return ()
    return estimate_problems(
        _printed(request.printed),
        _claimed(request.printed, facts, rules),
        request.significant_digits,
        request.counts_base,
    )


def problems_of_figures(
    model: model_pb2.Model, digits: int = 0, counts_base: int = 0
) -> tuple[EstimateProblem, ...]:
    """What is wrong with a printed model of which nothing else is known, held against itself."""
    printed = _printed(model)
    names = tuple(dict.fromkeys(one.name for one in printed.coefficients))
    claimed = ClaimedFit(
        columns=names,
        small=(False,) * len(names),
        parameters=len(printed.coefficients),
        units=printed.units or 0,
        records=printed.records or 0,
        residual_degrees=printed.residual_degrees or 0,
        classical=_is_classical(model) and printed.residual_degrees is not None,
    )
    return estimate_problems(printed, claimed, digits, counts_base)


def unverified(printed: model_pb2.Model) -> tuple[str, ...]:
    """Printed figures that nothing can be held against."""
    shown = [name for name in UNVERIFIED if any(one.HasField(name) for one in printed.coefficients)]
    return (*shown, *_fit(printed))


def add_printed(
    response: models_pb2.AssessModelResponse,
    request: models_pb2.AssessModelRequest,
    problems: tuple[EstimateProblem, ...],
) -> models_pb2.AssessModelResponse:
    """The answer, with what was found of the printed figures, and which of them nothing was held against."""
    for problem in problems:
        response.printed.add(coefficient=problem.coefficient, figure=problem.figure, message=problem.message)
    response.unverified.extend(unverified(request.printed))
    return response


def _printed(model: model_pb2.Model) -> PrintedModel:
    coefficients = (
        PrintedCoefficient(
            f"{one.outcome}: {one.name}" if one.outcome else one.name,
            {name: getattr(one, name) for name in FIGURES if one.HasField(name)},
        )
        for one in model.coefficients
    )
    counts = {name: getattr(model, name) or None for name in COUNTS}
    return PrintedModel(tuple(coefficients), **counts, fit=_fit(model))


def _fit(model: model_pb2.Model) -> dict[str, float]:
    names = enum_texts(model_pb2.FitStatistic.DESCRIPTOR)
    return {names.get(one.statistic, "UNSPECIFIED"): one.value for one in model.fit}


def _claimed(model: model_pb2.Model, facts: ModelFacts, rules: ModelRules) -> ClaimedFit:
    """Columns bear the names of coefficients; one is of each class of an outcome that has several."""
    apart = facts.columns.units_apart
    least = rules.categories.units if rules.categories else 0
    small = dict(zip(facts.columns.names, ((apart != 0) & (apart < least)).tolist(), strict=True))
    classes = dict.fromkeys(one.outcome for one in model.coefficients if one.outcome)
    told = {f"{outcome}: {name}": few for outcome in classes for name, few in small.items()}
    every = told | small
    return ClaimedFit(
        columns=tuple(every),
        small=tuple(every.values()),
        parameters=facts.parameters,
        units=facts.units,
        records=facts.records,
        residual_degrees=int(np.maximum(facts.residual_degrees, 0)),
        classical=_is_classical(model),
    )


def _is_classical(model: model_pb2.Model) -> bool:
    linear = model.kind == model_pb2.MODEL_KIND_LINEAR
    return linear and not model.weighted and model.standard_errors in _CLASSICAL
