"""Several tables with common cells: read as one problem, and what was found of each written back."""

from collections.abc import Sequence

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.positions import FactsError
from sdcgate.methods.tables.linking import LinkError, joint_flags, link, with_known, with_shown
from sdcgate.wire.dimensions import MAXIMUM_CELLS, CellOrder
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems
from sdcgate.wire.protection import (
    TablePart,
    TableToProtect,
    read_known_witnesses,
    read_table,
    table_to_protect,
)
from sdcgate.wire.tables import facts_problems, listed
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2

Request = protection_pb2.ProtectTableRequest | protection_pb2.AuditTableRequest


def tables_to_protect(message: Request, most_cells: int = MAXIMUM_CELLS) -> TableToProtect:
    """Read a request for one table, or for several that are one problem.

    In the latter positions are joint ones: the first table's own, then those of the cells that each further
    table adds, as its sender has them. Raises InvalidMessageError with all that is wrong.
    """
    if not message.linked:
        return table_to_protect(message, most_cells)
    problems = Problems(violations(message))
    name = "unsafe" if isinstance(message, protection_pb2.ProtectTableRequest) else "withheld"
    asked = [
        (message.problem, getattr(message, name), ("problem", name)),
        *(
            (linked.problem, linked.cells, (f"linked[{place}].problem", f"linked[{place}].cells"))
            for place, linked in enumerate(message.linked)
        ),
    ]
    tables = [read_table(*table, most_cells, problems) for table in asked]
    method = isinstance(message, protection_pb2.ProtectTableRequest) and message.WhichOneof("method")
    if method:
        problems.found.append(FieldProblem("linked", f"is for cells that are withheld, not for {method}"))
    problems.check()
    found = [table for table in tables if table is not None]
    problems.found += _unlike(found)
    problems.check()
    joint = _joined(found, message, most_cells)
    known = read_known_witnesses(message, joint.order, problems)
    problems.check()
    return TableToProtect(
        joint.problem, joint.cells, joint.counts, joint.unchecked, joint.order, known, joint.parts
    )


def _unlike(tables: Sequence[TableToProtect]) -> list[FieldProblem]:
    """Tables of which other kinds of facts are given than of the first."""
    first = tables[0]
    return [
        FieldProblem(
            f"linked[{place}].problem.facts", "must have the kinds of facts that the first table has"
        )
        for place, table in enumerate(tables[1:])
        if (table.unchecked, table.counts) != (first.unchecked, first.counts)
    ]


def _joined(tables: Sequence[TableToProtect], message: Request, most_cells: int) -> TableToProtect:
    """The tables as one problem. Raises InvalidMessageError where they contradict each other."""
    count = sum(len(table.cells) for table in tables)
    if count > most_cells:
        text = f"have {count} cells with the first; at most {most_cells} are taken"
        raise InvalidMessageError([FieldProblem("linked", text)])
    try:
        linked = link([table.problem for table in tables])
    except LinkError as error:
        found: list[FieldProblem] = []
        for number in sorted({number for number, _ in error.problems}):
            path = f"linked[{number - 1}].problem" if number else "problem"
            given = (message.linked[number - 1].problem if number else message.problem).facts
            # All of a table at once: columns that stand for each other are told of once.
            wrong = FactsError([problem for of, problem in error.problems if of == number])
            found += facts_problems(wrong, given, tables[number].order, path)
        raise InvalidMessageError(found) from None
    parts = tuple(
        TablePart(table.problem.axes, places, table.order)
        for table, places in zip(tables, linked.places, strict=True)
    )
    cells = joint_flags([table.cells for table in tables], linked.places)
    joint = linked.problem
    if isinstance(message, protection_pb2.AuditTableRequest):
        shown = [~table.cells & ~table.problem.absent for table in tables]
        joint = with_shown(linked, [table.problem for table in tables], shown).problem
        joint = with_known(joint, cells & joint_flags(shown, linked.places))
    first = tables[0]
    return TableToProtect(joint, cells, first.counts, first.unchecked, _order(parts), parts=parts)


def _order(parts: Sequence[TablePart]) -> CellOrder:
    """Joint positions: cells as they come first, table after table, each as its sender has it."""
    told = np.concatenate([_places_sent(part) for part in parts])
    _, first = np.unique(told, return_index=True)
    return CellOrder(told[np.sort(first)])


def _places_sent(part: TablePart) -> IntArray:
    """Place of each of the sender's cells of a table among all."""
    own: IntArray = part.places[part.order.places_of(np.arange(len(part.places), dtype=np.int64))]
    return own


def linked_to_messages(
    table: TableToProtect, withheld: BoolArray, unprotected: BoolArray
) -> list[protection_pb2.LinkedCells]:
    """What was found of each further table, at its own positions."""
    return [
        protection_pb2.LinkedCells(
            withheld=listed(withheld[part.places], part.order),
            unprotected=listed(unprotected[part.places], part.order),
            cells=table.order.cells_at(_places_sent(part)).tolist(),
        )
        for part in table.parts[1:]
    ]
