"""Methods that change values, and what comes of them, between messages and arrays."""

import math
from typing import Any, cast

import numpy as np

from sdcgate.methods.cells import FloatArray, KeyArray
from sdcgate.methods.positions import named
from sdcgate.methods.tables.adjusting import Adjustment, adjustment_misfits
from sdcgate.methods.tables.cell_key import SumNoise
from sdcgate.methods.tables.perturbation import (
    CellKeys,
    Perturbed,
    PerturbedFact,
    Rounding,
    RoundingKind,
    misfits,
)
from sdcgate.methods.tables.ptable import NoiseParameters, PTable, PTableError, ptable
from sdcgate.methods.tables.ptable_checks import checked_ptable
from sdcgate.methods.tables.rounding import MULTIPLE
from sdcgate.methods.tables.utility import Distances, Utility
from sdcgate.wire.adjustment import adjusted_to_message, adjustment_from_message
from sdcgate.wire.dimensions import CellOrder
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems, join
from sdcgate.wire.protection import NO_MEASURE, TableToProtect
from sdcgate.wire.released import released_from_message
from sdcgate.wire.tables import floats, integers, listed
from sdcgate_proto.sdcgate.protection.v1 import perturbation_pb2 as pb
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2

WRONG_TOTALS = (
    "must be of a total the sum of its parts' modulo 2^64 where units add up: each unit's key counts once"
)
UNCOUNTED = "must have units or records: without them only the sums of a `measure` can be changed"


def method_from_message(
    request: protection_pb2.ProtectTableRequest, table: TableToProtect
) -> CellKeys | Rounding | Adjustment | None:
    """The method that is asked for; None where cells are to be withheld.

    Raises InvalidMessageError with all that is wrong with it, or with the table under it.
    """
    asked = request.WhichOneof("method")
    if asked is None:
        return None
    problems = Problems()
    method: CellKeys | Rounding | Adjustment | None
    measure = ""
    if asked == "cell_keys":
        of = request.problem
        additive = of.units_additive or of.records_per_unit == 1
        method = _cell_keys(request.cell_keys, table, additive, problems)
    elif asked == "rounding":
        method, measure = _rounding(request.rounding, table, problems), request.rounding.measure
    else:
        method = adjustment_from_message(request.adjustment, table, problems)
        measure = request.adjustment.measure
    facts = request.problem.facts
    if not (facts.units or facts.records or measure):
        problems.found.append(FieldProblem("problem.facts", UNCOUNTED))
    if isinstance(method, Adjustment):
        problems.found += [FieldProblem(*misfit) for misfit in adjustment_misfits(table.problem, method)]
    elif method is not None:
        problems.found += [FieldProblem(*misfit) for misfit in misfits(table.problem, method)]
    problems.check()
    return method


def _cell_keys(
    message: pb.CellKeys, table: TableToProtect, additive: bool, problems: Problems
) -> CellKeys | None:
    keys = problems.of(_keys, message.keys, table, "cell_keys.keys")
    if keys is not None and additive:
        problems.of(_check_totals, keys, table, "cell_keys.keys")
    made = problems.of(_ptable, message)
    sums = problems.of(_sum_noise, message.sums) if message.HasField("sums") else None
    if keys is None or made is None:
        return None
    return CellKeys(keys, made, sums)


def _keys(values: Any, table: TableToProtect, path: str) -> KeyArray:
    """One key a cell."""
    count = len(table.problem.facts)
    if len(values) != count:
        raise InvalidMessageError(
            [FieldProblem(path, f"must have {count} keys, one a cell, not {len(values)}")]
        )
    keys: KeyArray = table.order.arranged(np.array(values, dtype=np.uint64))
    return keys


def _check_totals(keys: KeyArray, table: TableToProtect, path: str) -> None:
    """Raise InvalidMessageError where a total's key is not the sum of its parts' modulo 2^64.

    Where units add up each unit of a total is in one of its parts, and each key counts once in both.
    """
    relations = table.problem.relations
    if not len(relations):
        return
    # Unsigned integers wrap at 2^64, as the keys do.
    sums = np.add.reduceat(keys[relations.children], relations.offsets[:-1])
    broken = np.unique(relations.parents[sums != keys[relations.parents]])
    if len(broken):
        text = WRONG_TOTALS + named(np.sort(table.order.cells_at(broken)))
        raise InvalidMessageError([FieldProblem(path, text)])


def _ptable(message: pb.CellKeys) -> PTable:
    """The perturbation table that is meant."""
    name = message.WhichOneof("table")
    try:
        if name == "ptable":
            return _given_ptable(message.ptable)
        noise = message.noise
        return ptable(
            NoiseParameters(
                maximum_noise=noise.maximum_noise,
                variance=noise.variance,
                largest_blocked_count=noise.largest_blocked_count,
                stay_probabilities=tuple(noise.stay_probabilities),
            )
        )
    except PTableError as error:
        path = f"cell_keys.{name}"
        raise InvalidMessageError(
            [FieldProblem(join(path, where), what) for where, what in error.problems]
        ) from None


def _given_ptable(message: pb.PTable) -> PTable:
    upper = floats(message.upper_bounds) if message.upper_bounds else None
    return checked_ptable(
        integers(message.counts), integers(message.noise), floats(message.probabilities), upper
    )


def _sum_noise(message: pb.SumNoise) -> SumNoise:
    try:
        return SumNoise(tuple(message.shares), message.unsafe_share)
    except ValueError as error:
        raise InvalidMessageError([FieldProblem("cell_keys.sums", str(error))]) from None


def _rounding(message: pb.Rounding, table: TableToProtect, problems: Problems) -> Rounding | None:
    kind = RoundingKind(message.kind)
    names = [measure.name for measure in table.problem.facts.measures]
    if message.measure and message.measure not in names:
        problems.found.append(FieldProblem("rounding.measure", NO_MEASURE))
    elif message.measure and kind is RoundingKind.SMALL_COUNTS:
        problems.found.append(FieldProblem("rounding.measure", "must be empty: only counts are small"))
    keys = problems.of(_keys, message.keys, table, "rounding.keys") if message.keys else None
    if message.keys and kind is not RoundingKind.RANDOM:
        problems.found.append(FieldProblem("rounding.keys", "must be empty: only RANDOM rounding has keys"))
    released = problems.of(_released, message, table, kind)
    if message.measure and message.measure not in names:
        return None
    measure = names.index(message.measure) if message.measure else None
    return Rounding(kind, message.base, measure, keys, released)


def _released(message: pb.Rounding, table: TableToProtect, kind: RoundingKind) -> FloatArray | None:
    """Rounded values that have left, NaN where none has; None where none is named."""
    problems = Problems()
    released = problems.of(
        released_from_message, message.released, message.released_values, table, "rounding"
    )
    if (message.released or message.released_values) and kind is not RoundingKind.CONTROLLED:
        text = "must be empty: only CONTROLLED rounding can keep to them"
        problems.found.append(FieldProblem("rounding.released", text))
    left = floats(message.released_values)
    with np.errstate(over="ignore", invalid="ignore"):
        multiples = left / message.base
        sound = ~np.isfinite(left) | (np.abs(multiples - np.rint(multiples)) <= MULTIPLE)
    if not sound.all():
        problems.found.append(FieldProblem("rounding.released_values", "must be multiples of the base"))
    problems.check()
    return released


def perturbed_to_message(found: Perturbed, order: CellOrder) -> pb.PerturbedTable:
    """Write changed values, cell after cell as the sender has them."""
    message = pb.PerturbedTable(facts=[_fact_to_message(fact, order) for fact in found.facts])
    if found.rounded is not None:
        message.rounded.found = cast("pb.Found", int(found.rounded.found))
        message.rounded.steps = found.rounded.steps
        if found.rounded.values is not None:
            message.rounded.distance = found.rounded.distance
            message.rounded.least_distance = found.rounded.least_distance
    if found.adjusted is not None:
        message.adjusted.CopyFrom(adjusted_to_message(found.adjusted, order))
    return message


def _fact_to_message(fact: PerturbedFact, order: CellOrder) -> pb.PerturbedFact:
    message = pb.PerturbedFact(fact=fact.fact)
    if fact.values is not None:
        message.values.extend(order.sent(fact.values).tolist())
    if fact.intervals is not None:
        message.lower.extend(order.sent(fact.intervals.lower).tolist())
        message.upper.extend(order.sent(fact.intervals.upper).tolist())
    if fact.utility is not None:
        message.utility.CopyFrom(_utility_to_message(fact.utility, order))
    return message


def _utility_to_message(utility: Utility, order: CellOrder) -> pb.Utility:
    return pb.Utility(
        all_cells=_distances_to_message(utility.all_cells),
        inner_cells=_distances_to_message(utility.inner_cells),
        margins=_distances_to_message(utility.margins),
        moved_margins=listed(utility.moved_margins, order),
        relations=utility.relations,
        broken_relations=utility.broken_relations,
        largest_gap=utility.largest_gap,
        mean_gap=utility.mean_gap,
    )


def _distances_to_message(distances: Distances) -> pb.Distances:
    """What has no meaning, NaN, is left unset."""
    fields = {name: getattr(distances, name) for name in pb.Distances.DESCRIPTOR.fields_by_name}
    return pb.Distances(**{name: value for name, value in fields.items() if not math.isnan(value)})
