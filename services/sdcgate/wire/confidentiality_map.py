"""The theoretical R-U confidentiality map between messages and the methods' shapes."""

import numpy as np

from sdcgate.methods.risk.confidentiality_map import (
    LARGEST_RATIO,
    ConfidentialityMap,
    Normal,
    confidentiality_map,
)
from sdcgate.wire.microdata import given
from sdcgate.wire.problems import FieldProblem, InvalidMessageError
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.risk.v1 import confidentiality_map_pb2 as pb

RISING = "must increase strictly and be finite, also in units of the standard deviation"


def mapped(request: pb.MapConfidentialityRequest) -> pb.MapConfidentialityResponse:
    """The map that is asked for. Raises InvalidMessageError with all problems."""
    problems = violations(request)
    sound = not problems
    variable = Normal(request.mean, given(request, "standard_deviation", 1.0))
    for place, one in enumerate(request.noise):
        if sound and not 1.0 / LARGEST_RATIO < one / variable.standard_deviation < LARGEST_RATIO:
            text = "is too small or too large for the standard deviation"
            problems.append(FieldProblem(f"noise[{place}]", text))
    cut_offs = [np.array(one.cut_offs) for one in request.recodings]
    for place, values in enumerate(cut_offs):
        with np.errstate(over="ignore", invalid="ignore"):
            standard = (values - variable.mean) / variable.standard_deviation
            rising = np.isfinite(standard).all() and (np.diff(standard) > 0).all()
        if sound and not rising:
            problems.append(FieldProblem(f"recodings[{place}].cut_offs", RISING))
    if problems:
        raise InvalidMessageError(problems)
    try:
        return map_to_message(confidentiality_map(variable, request.noise, cut_offs))
    except ValueError as error:
        raise InvalidMessageError([FieldProblem("", str(error))]) from None


def map_to_message(found: ConfidentialityMap) -> pb.MapConfidentialityResponse:
    """The points as a message."""
    return pb.MapConfidentialityResponse(
        noise=[
            pb.NoisePoint(noise=one.noise, risk=one.point.risk, utility=one.point.utility)
            for one in found.noise
        ],
        recodings=[
            pb.RecodingPoint(
                cut_offs=one.cut_offs,
                risk=one.point.risk,
                utility=one.point.utility,
                equal_noise=one.equal_noise,
            )
            for one in found.recodings
        ],
    )
