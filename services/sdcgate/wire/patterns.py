"""Patterns that were found and audits of given ones, as messages."""

from collections.abc import Sequence

import numpy as np

from sdcgate.methods.tables.audit import Audit
from sdcgate.methods.tables.intervals import Interval
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.singletons import Singleton
from sdcgate.methods.tables.solver import Deadline
from sdcgate.wire.arithmetic import fact_names, leaks_to_messages
from sdcgate.wire.linked import linked_to_messages
from sdcgate.wire.problems import FieldProblem, InvalidMessageError
from sdcgate.wire.protection import TableToProtect, proof_to_message, witnesses_to_message
from sdcgate.wire.tables import listed
from sdcgate.wire.unmet import unmet_to_messages
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb

NO_EFFORT = "is for a pattern that is neither thorough nor exact: these have all of the time; leave it out"
NO_UNITS = "needs the units of each cell, which tell where a respondent is alone: give facts.units"
ONLY_AUDITS = (
    "is for audits: which cells are shown, rounded, is not known before the pattern is; leave it out, "
    "and audit what is to be published"
)
ONLY_WITHHOLDING = "is for cells that are withheld, not for {method}"


def check_search(request: pb.ProtectTableRequest) -> None:
    """Raise InvalidMessageError where something is asked of a pattern, and values are to be changed.

    Or where effort is told for a pattern that has all the time there is.
    """
    method, effort, wrong = request.WhichOneof("method"), request.HasField("effort_ms"), []
    asked = [request.problem, *(linked.problem for linked in request.linked)]
    paths = ["problem", *(f"linked[{number}].problem" for number in range(len(request.linked)))]
    rounded = [
        FieldProblem(f"{path}.rounded_values", ONLY_AUDITS)
        for path, problem in zip(paths, asked, strict=True)
        if problem.rounded_values
    ]
    if method:
        text = ONLY_WITHHOLDING.format(method=method)
        wrong = [
            FieldProblem(name, text)
            for name in ("exact", "intervals", "singletons")
            if getattr(request, name)
        ]
        wrong += [
            FieldProblem(f"problem.{name}", text)
            for name in ("published_ratios", "cell_bounds")
            if getattr(request.problem, name)
        ]
        wrong += [FieldProblem("effort_ms", text)] if effort else []
    elif effort and (request.thorough or request.exact):
        wrong = [FieldProblem("effort_ms", NO_EFFORT)]
    if wrong or rounded:
        raise InvalidMessageError([*wrong, *rounded])


def check_audit(request: pb.AuditTableRequest) -> None:
    """Raise InvalidMessageError where whole numbers are asked for of intervals that are not."""
    if request.integral and not request.intervals:
        raise InvalidMessageError([FieldProblem("integral", "is about intervals: set intervals, too")])


def pattern_to_message(
    found: Protection, table: TableToProtect, exact: bool, intervals: Sequence[Interval]
) -> pb.ProtectTableResponse:
    """Write a pattern, how far it may be from the cheapest one where that is known, and its intervals."""
    proved = found.proof is Proof.PROVED
    bounded = exact and proved
    return pb.ProtectTableResponse(
        withheld=listed(found.withheld, table.order),
        proof=proof_to_message(found.proof),
        witnesses=witnesses_to_message(found.witnesses, table.order, table.unchecked),
        unprotected=listed(found.unprotected, table.order),
        cost=found.cost,
        unchecked=table.unchecked,
        price=found.price,
        method=pb.SUPPRESSION_METHOD_EXACT if exact else pb.SUPPRESSION_METHOD_HEURISTIC,
        lower_bound=found.least_price if bounded else None,
        gap=found.gap if bounded else None,
        optimal=bounded and found.optimal,
        intervals=intervals_to_messages(intervals, table),
        linked=linked_to_messages(table, found.withheld, found.unprotected),
        out_of_time=not found.in_time,
        unmet=unmet_to_messages(found, table),
    )


def check_singletons(asked: bool, table: TableToProtect) -> None:
    """Raise InvalidMessageError where respondents are asked for who are alone, and units are not known."""
    if asked and "units" in table.unchecked:
        raise InvalidMessageError([FieldProblem("singletons", NO_UNITS)])


def audit_to_message(
    found: Audit,
    table: TableToProtect,
    intervals: Sequence[Interval],
    deadline: Deadline,
    knowing: Sequence[Singleton] = (),
) -> pb.AuditTableResponse:
    """Write what an audit found; the arithmetic of leaks as far as it is found before the deadline.

    `knowing` are the respondents against whom the pattern does not hold.
    """
    return pb.AuditTableResponse(
        proof=proof_to_message(found.proof),
        witnesses=witnesses_to_message(found.witnesses, table.order, table.unchecked),
        unprotected=listed(found.unprotected, table.order),
        singletons=[
            pb.Singleton(
                cells=sorted(table.order.cells_at(one.own[~table.problem.absent[one.own]]).tolist()),
                unprotected=sorted(table.order.cells_at(one.unprotected).tolist()),
                refuted=one.refuted,
            )
            for one in knowing
        ],
        unchecked=table.unchecked,
        leaks=leaks_to_messages(found.leaks, table, deadline),
        intervals=intervals_to_messages(intervals, table),
        linked=linked_to_messages(table, table.cells, found.unprotected),
    )


def intervals_to_messages(intervals: Sequence[Interval], table: TableToProtect) -> list[pb.WithheldInterval]:
    """Write intervals, cell after cell as the sender has them."""
    facts = fact_names(table)
    cells = table.order.cells_at(np.array([one.cell for one in intervals], dtype=np.int64))
    return [
        pb.WithheldInterval(
            cell=int(cells[place]),
            fact=facts[intervals[place].quantity],
            lower=intervals[place].lower,
            upper=intervals[place].upper,
            exact=intervals[place].exact,
        )
        for place in np.argsort(cells, kind="stable")
    ]
