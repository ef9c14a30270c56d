"""The call that estimates individual risks, between messages and the methods' arrays."""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.file_level import file_risk
from sdcgate.methods.risk.individual import individual_risk, sampling_probabilities
from sdcgate.methods.risk.individual_approximations import Approximation, approximate_individual_risk
from sdcgate.methods.risk.keys import frequencies
from sdcgate.methods.risk.risk_factors import Factors, final_risk
from sdcgate.methods.risk.small_weights import small_weights
from sdcgate.wire.microdata import MISSING, factors_from_message, file_risk_to_message
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems
from sdcgate.wire.tables import floats, integers
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

APPROXIMATIONS = {
    pb.APPROXIMATION_RECIPROCAL: Approximation.RECIPROCAL,
    pb.APPROXIMATION_LARGE_FREQUENCIES: Approximation.LARGE_FREQUENCIES,
    pb.APPROXIMATION_SDCMICRO: Approximation.SDCMICRO,
    pb.APPROXIMATION_MU_ARGUS: Approximation.MU_ARGUS,
}
NO_KEYS = "send frequencies with weight_sums, or columns of codes"


@dataclass(frozen=True, slots=True, eq=False)
class KeysToEstimate:
    """Frequency and weight sum of each key, or of each record's key."""

    frequencies: IntArray = field(repr=False)
    weight_sums: FloatArray = field(repr=False)
    units: IntArray | None = field(repr=False)
    """How many units each stands for; None: the frequency."""
    factors: Factors


def keys_to_estimate(message: pb.EstimateIndividualRiskRequest) -> KeysToEstimate:
    """Read a request. Raises InvalidMessageError with all problems, by positions, never by values."""
    problems = Problems(violations(message))
    by_codes = bool(message.columns)
    if by_codes and (message.frequencies or message.weight_sums):
        problems.found.append(FieldProblem("frequencies", "leave them out where codes are sent"))
    if not by_codes and message.weights:
        problems.found.append(FieldProblem("weights", "belong to records: send them with columns of codes"))
    if not by_codes and not message.frequencies:
        problems.found.append(FieldProblem("", NO_KEYS))
    problems.check()
    return _by_codes(message) if by_codes else _by_frequencies(message)


def estimates_to_message(
    asked: KeysToEstimate, message: pb.EstimateIndividualRiskRequest
) -> pb.EstimateIndividualRiskResponse:
    """Estimate what was asked and write the answer."""
    f, sums = asked.frequencies, asked.weight_sums
    probabilities = sampling_probabilities(f, sums)
    risks = final_risk(individual_risk(f, probabilities), asked.factors)
    by_codes = asked.units is not None
    return pb.EstimateIndividualRiskResponse(
        risks=risks.tolist(),
        file=file_risk_to_message(file_risk(f, risks, asked.units)),
        approximations=[
            pb.ApproximateRisks(
                approximation=named,
                risks=final_risk(
                    approximate_individual_risk(f, probabilities, APPROXIMATIONS[named]), asked.factors
                ).tolist(),
            )
            for named in dict.fromkeys(message.approximations)
        ],
        frequencies=f.tolist() if by_codes else (),
        weight_sums=sums.tolist() if by_codes else (),
        warnings=small_weights(f, sums, f if asked.units is None else asked.units),
    )


def _by_frequencies(message: pb.EstimateIndividualRiskRequest) -> KeysToEstimate:
    f, sums = integers(message.frequencies), floats(message.weight_sums)
    problems = Problems()
    if len(f) != len(sums):
        text = f"must have as many values as frequencies, {len(f)}, not {len(sums)}"
        problems.found.append(FieldProblem("weight_sums", text))
    if (f < 1).any():
        position = int(np.argmax(f < 1))
        problems.found.append(FieldProblem(f"frequencies[{position}]", "must be at least 1"))
    wrong = ~((sums > 0) & np.isfinite(sums))
    if wrong.any():
        path = f"weight_sums[{int(np.argmax(wrong))}]"
        problems.found.append(FieldProblem(path, "must be finite and above 0"))
    problems.check()
    return KeysToEstimate(f, sums, None, factors_from_message(message))


def _by_codes(message: pb.EstimateIndividualRiskRequest) -> KeysToEstimate:
    columns = [np.array(one.codes, dtype=np.int64) for one in message.columns]
    records = len(columns[0])
    problems = Problems()
    for position, column in enumerate(columns):
        path = f"columns[{position}].codes"
        if not records:
            problems.found.append(FieldProblem(path, "has no records"))
        elif len(column) != records:
            text = f"must have {records} codes, as the first column has, not {len(column)}"
            problems.found.append(FieldProblem(path, text))
        elif (column < -1).any():
            where = f"{path}[{int(np.argmax(column < -1))}]"
            problems.found.append(FieldProblem(where, "must be -1 (missing) or from 0 upwards"))
    weights = floats(message.weights) if message.weights else None
    if weights is not None:
        wrong = ~((weights > 0) & np.isfinite(weights))
        if len(weights) != records:
            text = f"must be one a record, {records}, not {len(weights)}"
            problems.found.append(FieldProblem("weights", text))
        elif wrong.any():
            path = f"weights[{int(np.argmax(wrong))}]"
            problems.found.append(FieldProblem(path, "must be finite and above 0"))
    problems.check()
    try:
        common = frequencies(np.column_stack(columns), weights, MISSING[message.missing])
    except ValueError as error:
        raise InvalidMessageError([FieldProblem("columns", str(error))]) from None
    units = np.ones(records, dtype=np.int64)
    return KeysToEstimate(common.f, common.weight_sums, units, factors_from_message(message))
