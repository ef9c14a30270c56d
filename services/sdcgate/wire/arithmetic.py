"""Leaks of a pattern with their arithmetic as messages."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from sdcgate.methods.tables.audit import Leak
from sdcgate.methods.tables.leak_arithmetic import Arithmetic, Sense, Statement, arithmetic_of, whole
from sdcgate.methods.tables.leak_sentences import sentence
from sdcgate.methods.tables.published_figures import CellBounds
from sdcgate.methods.tables.quantities import SUMS
from sdcgate.methods.tables.solver import Deadline
from sdcgate.wire.protection import TableToProtect
from sdcgate_proto.sdcgate.protection.v1 import arithmetic_pb2, protection_pb2

CLOSE = 1e-6
"""Share of a bound by which whole numbers must be closer to say so."""


def leaks_to_messages(
    leaks: Sequence[Leak], table: TableToProtect, deadline: Deadline
) -> list[protection_pb2.Leak]:
    """Write what can be worked out of a pattern, cell after cell as the sender has them, and by what.

    The arithmetic of a bound that is not found before the deadline is left out.
    """
    facts = fact_names(table)
    cells = table.order.cells_at(np.array([leak.cell for leak in leaks], dtype=np.int64))
    return [
        _leak(leaks[place], int(cells[place]), facts, table, deadline)
        for place in np.argsort(cells, kind="stable")
    ]


def fact_names(table: TableToProtect) -> list[str]:
    """Names of the quantities."""
    measures = [f"sums of {measure.name}" for measure in table.problem.facts.measures]
    return [table.counts, "units", *measures]


def _leak(
    leak: Leak, cell: int, facts: list[str], table: TableToProtect, deadline: Deadline
) -> protection_pb2.Leak:
    lower, upper = arithmetic_of(table.problem, table.cells, leak, deadline)
    if table.problem.upper_levels is not None and leak.quantity >= SUMS:
        # The audit looks no farther than a level asks; the arithmetic goes to the end.
        ends = (lower.bound if lower else leak.lower, upper.bound if upper else leak.upper)
        leak = replace(leak, lower=min(leak.lower, ends[0]), upper=max(leak.upper, ends[1]))
    return protection_pb2.Leak(
        cell=cell,
        fact=facts[leak.quantity],
        lower=leak.lower,
        upper=leak.upper,
        at_least=_arithmetic(lower, -1.0, leak, leak.lower, table),
        at_most=_arithmetic(upper, 1.0, leak, leak.upper, table),
    )


def _arithmetic(
    found: Arithmetic | None, direction: float, leak: Leak, stated: float, table: TableToProtect
) -> arithmetic_pb2.Arithmetic | None:
    if found is None:
        return None
    said = whole(found.bound, direction, leak)
    closer = direction * (said - stated) > CLOSE * max(1.0, abs(stated))
    return arithmetic_pb2.Arithmetic(
        bound=found.bound,
        sentence=sentence(found, direction, table.name_of, fact_names(table), table.problem.published),
        whole_numbers=closer,
        steps=[_step(step, table) for step in found.steps],
    )


def _step(step: Statement, table: TableToProtect) -> arithmetic_pb2.ArithmeticStep:
    facts = fact_names(table)

    def cell(place: int) -> int:
        return int(table.order.cells_at(np.array([place], dtype=np.int64))[0])

    return arithmetic_pb2.ArithmeticStep(
        factor=step.factor,
        kind=cast("arithmetic_pb2.StepKind", int(step.kind)),
        sense=cast("arithmetic_pb2.StepSense", int(step.sense)),
        hidden=[
            arithmetic_pb2.HiddenTerm(
                cell=cell(term.cell), fact=facts[term.quantity], factor=term.coefficient
            )
            for term in step.hidden
        ],
        published=[
            arithmetic_pb2.PublishedTerm(
                cell=cell(term.cell), fact=facts[term.quantity], factor=term.coefficient, value=term.value
            )
            for term in step.published
        ],
        known=step.value,
        constant=step.constant,
        figure=_figure(step, table),
    )


def _figure(step: Statement, table: TableToProtect) -> str:
    """Where a published figure that a step rests on stands in the request."""
    if step.figure is None:
        return ""
    column, entry = step.figure
    one = table.problem.published[column]
    if isinstance(one, CellBounds):
        return f"{one.path}.{'lower' if step.sense is Sense.AT_LEAST else 'upper'}[{entry}]"
    return f"{one.path}.values[{entry}]"
