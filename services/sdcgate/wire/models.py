"""Fitted models as messages: limited digits and rounded counts for who asked, everything for checkers."""

import math

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.outputs.estimates import ModelEstimate
from sdcgate_proto.sdcgate.types.v1 import model_pb2, table_pb2

FIGURES = (
    ("estimate", "estimates"),
    ("standard_error", "standard_errors"),
    ("statistic", "statistics"),
    ("p_value", "p_values"),
    ("lower", "lower"),
    ("upper", "upper"),
)
"""Field of a coefficient, and where an estimate has it."""
EVERY_DIGIT = 17


def model_to_message(
    estimate: ModelEstimate,
    kind: model_pb2.ModelKind,
    formula: str,
    withheld: BoolArray | None = None,
    digits: int = EVERY_DIGIT,
    counts_base: int = 1,
) -> model_pb2.Model:
    """Write a model: without figures where `withheld`, shape (parameters,); counts as multiples of a base."""
    message = model_pb2.Model(
        kind=kind,
        formula=formula,
        units=_rounded(estimate.units, counts_base),
        records=_rounded(estimate.records, counts_base),
        residual_degrees=_rounded(estimate.residual_degrees, counts_base),
    )
    hidden = np.zeros(len(estimate.names), dtype=np.bool_) if withheld is None else withheld
    for place, (name, equation) in enumerate(zip(estimate.names, estimate.equations, strict=True)):
        state = table_pb2.CELL_STATUS_WITHHELD if hidden[place] else table_pb2.CELL_STATUS_PUBLISHED
        told = message.coefficients.add(name=name, outcome=equation, status=state)
        if hidden[place]:
            continue
        for field, column in FIGURES:
            setattr(told, field, significant(float(getattr(estimate, column)[place]), digits))
    for name, value in estimate.fit.items():
        statistic = model_pb2.FitStatistic.Value(f"FIT_STATISTIC_{name.upper()}")
        message.fit.add(statistic=statistic, value=significant(value, digits))
    return message


def significant(value: float, digits: int) -> float:
    """A value to so many significant digits."""
    if value == 0 or not math.isfinite(value):
        return value
    return float(f"{value:.{digits - 1}e}")


def _rounded(count: int, base: int) -> int:
    """The multiple of the base that is nearest; half a base goes up."""
    return (count + base // 2) // base * base
