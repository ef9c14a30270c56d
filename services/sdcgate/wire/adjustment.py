"""Controlled tabular adjustment, and what comes of it, between messages and arrays."""

import math
from typing import Any, cast

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.tables.adjusting import Adjustment
from sdcgate.methods.tables.adjustment import AdjustedTable
from sdcgate.methods.tables.adjustment_demands import Demands, Weighting
from sdcgate.wire.dimensions import CellOrder
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems
from sdcgate.wire.protection import NO_MEASURE, TableToProtect
from sdcgate.wire.released import released_from_message
from sdcgate.wire.tables import floats, listed
from sdcgate_proto.sdcgate.protection.v1 import perturbation_pb2 as pb

SHARES = ("most_change", "margin_share", "cell_share", "moved_share", "correlation")


def adjustment_from_message(
    message: pb.Adjustment, table: TableToProtect, problems: Problems
) -> Adjustment | None:
    """What is asked; None, with what is wrong noted, where it cannot be read."""
    names = [measure.name for measure in table.problem.facts.measures]
    if message.measure and message.measure not in names:
        problems.found.append(FieldProblem("adjustment.measure", NO_MEASURE))
        return None
    before = len(problems.found)
    lower = problems.of(_bounds, message.lower, table, "adjustment.lower")
    upper = problems.of(_bounds, message.upper, table, "adjustment.upper")
    released = problems.of(
        released_from_message, message.released, message.released_values, table, "adjustment"
    )
    if len(problems.found) > before:
        return None
    shares = {name: getattr(message, name) for name in SHARES if message.HasField(cast("Any", name))}
    return Adjustment(
        Weighting(message.weighting),
        names.index(message.measure) if message.measure else None,
        message.minimum,
        Demands(**shares, lower=lower, upper=upper, released=released),
    )


def _bounds(values: Any, table: TableToProtect, path: str) -> FloatArray | None:
    """One bound a cell; None where there are none."""
    if not values:
        return None
    count = len(table.problem.facts)
    if len(values) != count:
        raise InvalidMessageError(
            [FieldProblem(path, f"must have {count} values, one a cell, not {len(values)}")]
        )
    bounds: FloatArray = table.order.arranged(floats(values))
    return bounds


def adjusted_to_message(found: AdjustedTable, order: CellOrder) -> pb.AdjustedTable:
    """Write what is known of an adjusted table; what has no meaning is left unset."""
    message = pb.AdjustedTable(
        found=cast("pb.Found", int(found.found)),
        stuck=listed(found.stuck, order),
        too_strict=found.too_strict,
    )
    if found.values is not None:
        message.distance = found.distance
        message.least_distance = found.least_distance
        if not math.isnan(found.correlation):
            message.correlation = found.correlation
    return message
