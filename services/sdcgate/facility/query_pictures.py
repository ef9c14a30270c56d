"""Bars and pies of what has left: made of the answer, so that nothing is in them beside it."""

import numpy as np

from sdcgate.facility.errors import Conflict, InvalidRequest
from sdcgate.methods.cells import MISSING, TOTAL, FloatArray
from sdcgate.methods.outputs.part_pictures import NoPictureError, Parts, bars_picture, pie_picture
from sdcgate.methods.outputs.shapes import Labels, names_of
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2, table_pb2

SHOWN = frozenset({table_pb2.CELL_STATUS_PUBLISHED, table_pb2.CELL_STATUS_PERTURBED})
OF_PARTS = frozenset(
    {
        table_pb2.STATISTIC_UNITS,
        table_pb2.STATISTIC_RECORDS,
        table_pb2.STATISTIC_WEIGHTED_UNITS,
        table_pb2.STATISTIC_SUM,
        table_pb2.STATISTIC_WEIGHTED_SUM,
        table_pb2.STATISTIC_ROW_PERCENT,
        table_pb2.STATISTIC_COLUMN_PERCENT,
        table_pb2.STATISTIC_TOTAL_PERCENT,
    }
)
"""Figures whose parts make up a whole."""
OF_PERSONS = frozenset({table_pb2.STATISTIC_UNITS, table_pb2.STATISTIC_WEIGHTED_UNITS})
NO_WHOLE = "Its figures make up no total that it shows; draw BARS."
APART = 0.01
"""Share of the total by which parts may differ from it, by noise and rounding."""


def drawn(decision: pb.Decision, request: pb.DrawQueryRequest) -> str:
    """The picture of a decision's answer as SVG.

    Raises:
        Conflict: nothing was released.
        InvalidRequest: the answer cannot be drawn so; it says what can.
    """
    if decision.HasField("table"):
        parts, labels, whole = _of_table(decision.table, request)
    elif decision.HasField("statistic"):
        parts, labels, whole = _of_statistic(decision.statistic, request)
    else:
        raise Conflict("Of this query no table and no statistic was released: there is nothing to draw.")
    pie = request.kind == pb.PICTURE_KIND_PIE
    if pie and not whole:
        raise _problem("kind", NO_WHOLE)
    try:
        return pie_picture(parts, labels) if pie else bars_picture(parts, labels)
    except NoPictureError as error:
        raise _problem("kind", f"It cannot be drawn: {error}.") from None


def _of_table(table: table_pb2.Table, request: pb.DrawQueryRequest) -> tuple[Parts, Labels, bool]:
    """The inner cells of a one-way table, what they are called, and whether they make up a whole."""
    if len(table.dimensions) != 1:
        message = "Only tables of one variable are drawn; ask one with `rows` of one variable alone."
        raise _problem("query", message)
    if request.figure >= len(table.figures):
        raise _problem("figure", f"The table has {len(table.figures)} figures, counted from 0.")
    (dimension,), figure = table.dimensions, table.figures[request.figure]
    codes = [dimension.codes[cell] for cell in dimension.cells] or list(dimension.codes)
    names = names_of(dimension.codes, dimension.labels)
    named = dict(zip(dimension.codes, names, strict=True)) | {MISSING: "missing"}
    defined = list(figure.defined) or [True] * len(codes)
    values = np.array(
        [
            value if status in SHOWN and there else np.nan
            for value, status, there in zip(figure.values, table.statuses, defined, strict=True)
        ]
    )
    total = [place for place, code in enumerate(codes) if code == TOTAL]
    outermost = _outermost(dimension)
    outer = [
        place
        for place, (code, status) in enumerate(zip(codes, table.statuses, strict=True))
        if code in outermost and status != table_pb2.CELL_STATUS_ABSENT
    ]
    parts = Parts(tuple(named[codes[place]] for place in outer), values[outer])
    name = table_pb2.Statistic.Name(figure.statistic).removeprefix("STATISTIC_").lower().replace("_", " ")
    labels = Labels(title=dimension.variable, x=f"{name} of {figure.measure}" if figure.measure else name)
    whole = figure.statistic in OF_PARTS and _adds_up(parts, values[total], figure.statistic in OF_PERSONS)
    return parts, labels, whole


def _outermost(dimension: table_pb2.Dimension) -> set[str]:
    """Of codes within codes the outermost, which are parts of everything."""
    above = dict(zip(dimension.codes, dimension.parents, strict=False))
    return {
        code
        for code in dimension.codes
        if code != TOTAL and (above.get(code, -1) < 0 or dimension.codes[above[code]] == TOTAL)
    }


def _adds_up(parts: Parts, total: FloatArray, persons: bool) -> bool:
    """Whether parts make up their total; of persons, who may have several codes, only where it is shown."""
    if not parts.shown.all():
        return True
    if not len(total) or not np.isfinite(total).all():
        return not persons
    return bool(abs(parts.values.sum() - total[0]) <= APART * abs(total[0]))


def _of_statistic(
    statistic: statistic_pb2.GroupedStatistic, request: pb.DrawQueryRequest
) -> tuple[Parts, Labels, bool]:
    """A figure of the groups; of no statistic do groups make up a whole, but of totals."""
    if request.figure >= len(statistic.figures):
        raise _problem("figure", f"The statistic has {len(statistic.figures)} figures, counted from 0.")
    figure, groups = statistic.figures[request.figure], len(statistic.statuses)
    if figure.codes:
        raise _problem("figure", "A mode is a code; draw another figure.")
    values = np.full(groups, np.nan)
    values[list(figure.groups)] = list(figure.values)
    of_groups = [names_of(one.codes, one.labels) for one in statistic.dimensions]
    names = [
        ", ".join(of[one.cells[group]] for of, one in zip(of_groups, statistic.dimensions, strict=True))
        or statistic.measure
        for group in range(groups)
    ]
    title = ", ".join(one.variable for one in statistic.dimensions)
    name = figure.name.replace("_", " ")
    labels = Labels(title=title, x=f"{name} of {statistic.measure}" if statistic.measure else name)
    whole = statistic.kind == statistic_pb2.STATISTIC_KIND_TOTAL and request.figure == 0
    return Parts(tuple(names), values), labels, whole


def _problem(path: str, message: str) -> InvalidRequest:
    return InvalidRequest([FieldProblem(path, message)])
