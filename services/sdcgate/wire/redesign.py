"""Tables to redesign and designs between messages and arrays."""

from dataclasses import dataclass, field
from math import prod
from typing import cast

from sdcgate.methods.cells import Axis, number_of_cells
from sdcgate.methods.positions import FactsError
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.fact_checks import fact_problems
from sdcgate.methods.tables.given_facts import with_stand_ins
from sdcgate.methods.tables.margins import margin_problems
from sdcgate.methods.tables.redesign import Redesigned
from sdcgate.methods.tables.redesigned_cells import Finest, finest_cells, groups_of
from sdcgate.methods.tables.redesigning import Redesigning
from sdcgate.wire.dimensions import MAXIMUM_CELLS, CellOrder, axes_from_messages
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems
from sdcgate.wire.rules import rules_from_message
from sdcgate.wire.tables import facts_problems, given_facts_from_message
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.protection.v1 import redesign_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, table_pb2

USUAL_DESIGNS = 3
UNCHECKED = "Rules cannot be judged without {facts}, and no table passes that was not judged by all of them"
UNFINISHED = "None was found in time; with more of it, or with fewer variables to merge, there may be one"
NONE_PASSES = (
    "None exists: even the coarsest table, with no dimension but those that are kept, breaks {rules}"
)


@dataclass(frozen=True, slots=True, eq=False)
class TableToRedesign:
    """What the protection service is asked."""

    axes: tuple[Axis, ...]
    finest: Finest = field(repr=False)
    rules: Rules
    mergeable: frozenset[str]
    kept: frozenset[str]
    wanted: int


def table_to_redesign(
    message: redesign_pb2.RedesignTableRequest, most_cells: int = MAXIMUM_CELLS
) -> TableToRedesign:
    """Read a request. Raises InvalidMessageError with all that is wrong with its envelope and columns."""
    problems = Problems(violations(message))
    read = problems.of(axes_from_messages, message.dimensions, "dimensions", most_cells)
    rules = problems.of(rules_from_message, message.rules)
    variables = [dimension.variable for dimension in message.dimensions]
    for name in ("mergeable", "kept"):
        problems.found.extend(
            FieldProblem(f"{name}[{place}]", "is no variable of the dimensions")
            for place, variable in enumerate(getattr(message, name))
            if variable not in variables
        )
    if read is None:
        raise InvalidMessageError(problems.found)
    axes, order = read
    finest = problems.of(_finest, message.facts, axes, order)
    problems.check()
    if finest is None or rules is None:
        raise RuntimeError("no facts or no rules, and no problem")
    return TableToRedesign(
        axes,
        finest,
        rules,
        frozenset(message.mergeable),
        frozenset(message.kept),
        message.designs or USUAL_DESIGNS,
    )


def _finest(message: table_pb2.CellFacts, axes: tuple[Axis, ...], order: CellOrder) -> Finest:
    """The finest cells of a table whose totals are what their parts say."""
    facts = given_facts_from_message(message, number_of_cells(axes), "facts", order)
    found = fact_problems(facts, number_of_cells(axes)) or margin_problems(axes, facts)
    if found:
        raise InvalidMessageError(facts_problems(FactsError(found), message, order))
    if not facts.units.size and not facts.records.size:
        raise InvalidMessageError([FieldProblem("facts.units", "must be given: a design is weighed by them")])
    return finest_cells(axes, with_stand_ins(facts))


def redesign_to_message(found: Redesigning, table: TableToRedesign) -> redesign_pb2.RedesignTableResponse:
    """Write an answer."""
    return redesign_pb2.RedesignTableResponse(
        designs=[_design(one, table) for one in found.search.designs],
        finished=found.search.finished,
        judged=found.search.judged,
        unchecked=[cast("policy_pb2.ReasonCode", int(rule)) for rule in found.unchecked],
        absent=found.absent,
        reason="" if found.search.designs else _reason(found),
        broken=[cast("policy_pb2.ReasonCode", int(rule)) for rule in found.broken],
    )


def _reason(found: Redesigning) -> str:
    """Why there is no design."""
    if found.unchecked:
        return UNCHECKED.format(facts=", ".join(found.absent) or "some facts")
    if not found.search.finished:
        return UNFINISHED
    return NONE_PASSES.format(rules=", ".join(rule.name for rule in found.broken) or "the rules")


def _design(one: Redesigned, table: TableToRedesign) -> redesign_pb2.TableDesign:
    dimensions, dropped = [], []
    for place, axis in enumerate(table.axes):
        groups = groups_of(table.finest, table.axes, place, one.design[place])
        if len(groups) == 1:
            dropped.append(axis.variable)
            continue
        categories = [redesign_pb2.DesignCategory(code=code, codes=codes) for code, codes in groups]
        dimensions.append(redesign_pb2.DesignDimension(variable=axis.variable, categories=categories))
    return redesign_pb2.TableDesign(
        dimensions=dimensions,
        dropped=dropped,
        loss=one.loss,
        entropy=one.entropy,
        cells=prod(max(own) + 1 for own in one.design),
    )
