"""Binding a submitted output to its dataset: what it says it is, and whether its figures are the dataset's.

The facility computes the table itself and compares only what it publishes, as it publishes it: a portal's
figures are never trusted, and nothing is learnt by guessing a withheld one.
"""

from collections.abc import Iterator

import numpy as np

from sdcgate.facility.asked import Asked
from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.figures import COUNTS, released_table, shown_cells
from sdcgate.facility.outputs import GROUPS, SubmittedOutput, facts_onto
from sdcgate.facility.plan import MOST_TOLD, Plan, make_plan, unknown
from sdcgate.methods.cells import (
    TOTAL,
    Axis,
    BoolArray,
    Facts,
    IntArray,
    State,
    cell_codes,
    number_of_cells,
    shape_of,
)
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2 as types

NAMED = 5
"""Cells that are named where figures differ."""


class Unbound(Exception):
    """The output is not of registered variables, levels, codes and measures of its dataset."""

    def __init__(self, problems: list[FieldProblem]) -> None:
        self.problems = tuple(f"{problem.path}: {problem.message}" for problem in problems)
        super().__init__(" ".join(self.problems))


def bind(asked: Asked, output: SubmittedOutput) -> Plan:
    """The table query whose answer the output says it is.

    Raises:
        Unbound: with every name that the dataset does not have.
    """
    submitted = asked.output
    if submitted is None:
        raise ValueError("there is no output to bind")
    request = pb.QueryTableRequest(
        dataset=asked.dataset.name,
        margins=True,
        figures=submitted.figures,
        filter=submitted.filter,
        project=submitted.project,
    )
    for group in GROUPS:
        for dimension in getattr(submitted, group):
            getattr(request, group).add(variable=dimension.variable, level=dimension.level)
    try:
        plan = make_plan(asked.dataset, asked.policy, request)
    except InvalidRequest as error:
        raise Unbound(list(error.problems)) from None
    problems = []
    left = dict(_codes_left(plan))
    for axis in output.axes:
        codes = left[axis.variable]
        known = set(codes)
        wrong = [code for code in axis.codes if code != TOTAL and code not in known]
        for code in wrong[:MOST_TOLD]:
            message = f"{code[:64]!r}: {unknown('code', code, codes)}"
            problems.append(FieldProblem(f"{axis.variable}.codes", message))
        if len(wrong) > MOST_TOLD:
            message = f"{len(wrong) - MOST_TOLD} more codes are unknown."
            problems.append(FieldProblem(f"{axis.variable}.codes", message))
    if problems:
        raise Unbound(problems)
    return plan


def _codes_left(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """For each dimension its variable, and the codes that the filter leaves."""
    wanted = {c.variable: plan.dataset.mask(c.variable, c.level, c.codes) for c in plan.filters}
    for variable, level in plan.dimensions:
        listed = plan.dataset.level(variable, level)
        mask = wanted.get(variable, -1)
        yield variable, [code for code, own in zip(listed.codes, listed.masks, strict=True) if own & mask]


def cells_of(axes: tuple[Axis, ...], output: SubmittedOutput) -> BoolArray:
    """Cells of the dataset's table that the output has, shape (cells,)."""
    has = np.zeros(number_of_cells(axes), dtype=np.bool_)
    has[_places(axes, output)[output.states == State.PUBLISHED]] = True
    return has


def differing(
    plan: Plan, axes: tuple[Axis, ...], facts: Facts, states: IntArray, output: SubmittedOutput
) -> tuple[str, ...]:
    """What is published of the dataset's table and is not what the output shows; empty where all agrees.

    Figures are compared as they leave: what is withheld, or rounded away, plays no part. Of percentages the
    records beneath them are compared, which count as released with them.
    """
    places = _places(axes, output)
    theirs = facts_onto(output.facts, places, len(facts))
    compared = plan.layout.with_records()
    ours_table = released_table(compared, axes, facts, states)
    their_table = released_table(compared, axes, theirs, states)
    shown = shown_cells(compared, axes, states)
    published = states[shown] == State.PUBLISHED
    found = []
    for ours, claimed in zip(ours_table.figures, their_table.figures, strict=True):
        slack = 1e-9 if ours.statistic in COUNTS else 1.001 * 10.0**-plan.policy.digits
        difference = np.abs(np.array(ours.values) - np.array(claimed.values)) > slack
        difference |= _defined(ours) != _defined(claimed)
        difference &= published
        if difference.any():
            name = types.Statistic.Name(ours.statistic).removeprefix("STATISTIC_")
            what = f"{name} of {ours.measure}" if ours.measure else name
            count = int(difference.sum())
            cells = "1 cell" if count == 1 else f"{count} cells"
            found.append(f"{what} in {cells}: {_named(axes, shown[difference])}.")
    return tuple(found)


def _places(axes: tuple[Axis, ...], output: SubmittedOutput) -> IntArray:
    """Where each cell of the output's product lies in the dataset's table."""
    given = {
        own.variable: (own, codes) for own, codes in zip(output.axes, cell_codes(output.axes), strict=True)
    }
    columns = []
    for axis in axes:
        own, column = given[axis.variable]
        at = {code: place for place, code in enumerate(axis.codes)}
        columns.append(np.array([at[code] for code in own.codes], dtype=np.int64)[column])
    return np.ravel_multi_index(tuple(columns), shape_of(axes)) if axes else np.zeros(1, dtype=np.int64)


def _defined(figure: types.Figure) -> BoolArray:
    if not figure.defined:
        return np.ones(len(figure.values), dtype=np.bool_)
    return np.array(figure.defined, dtype=np.bool_)


def _named(axes: tuple[Axis, ...], cells: IntArray) -> str:
    codes = cell_codes(axes)
    names = [
        ", ".join(f"{axis.variable} {axis.codes[codes[place, cell]]}" for place, axis in enumerate(axes))
        for cell in cells[:NAMED]
    ]
    more = f" and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
    return "; ".join(names) + more
