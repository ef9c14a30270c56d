"""The protection service: finds patterns of withheld cells, proves them, audits given ones. Stateless."""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import grpc
import numpy as np

from sdcgate.methods.cells import Axis, BoolArray, Facts
from sdcgate.methods.tables.adjusting import Adjustment, with_adjustment
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.cheaper import ordinary_effort
from sdcgate.methods.tables.exact_suppression import protect_exactly
from sdcgate.methods.tables.intervals import Interval, withheld_intervals
from sdcgate.methods.tables.perturbation import (
    CellKeys,
    Perturbed,
    Rounding,
    RoundingKind,
    with_cell_keys,
    with_rounding,
)
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.redesigning import redesign_table
from sdcgate.methods.tables.singletons import protect_from_singletons, singletons, with_singletons
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.suppression import protect
from sdcgate.servers.authentication import service_token
from sdcgate.servers.callers import CHECK, PROTECT_FILES, check_side, may, most_cells
from sdcgate.servers.lifecycle import serve
from sdcgate.servers.protected_files import FileProtector
from sdcgate.servers.received_files import FileLane, heeding
from sdcgate.servers.secret_files import SECRET_BYTES, secret
from sdcgate.servers.settings import ProtectionServer, Settings
from sdcgate.servers.time_left import time_left
from sdcgate.wire.dimensions import MAXIMUM_CELLS
from sdcgate.wire.linked import tables_to_protect
from sdcgate.wire.patterns import (
    audit_to_message,
    check_audit,
    check_search,
    check_singletons,
    pattern_to_message,
)
from sdcgate.wire.perturbation import method_from_message, perturbed_to_message
from sdcgate.wire.protection import (
    TableToProtect,
    proof_to_message,
)
from sdcgate.wire.redesign import redesign_to_message, table_to_redesign
from sdcgate.wire.tables import listed
from sdcgate.wire.withholding import check_withheld
from sdcgate_proto.sdcgate.protection.v1 import microdata_pb2, protection_pb2_grpc, redesign_pb2
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb

SERVICE = "sdcgate.protection.v1.ProtectionService"
ANSWER_MARGIN = 0.1
"""Share of the caller's time that is kept for writing and sending the answer."""
INTERVALS_SHARE, SINGLETONS_SHARE = 0.2, 0.5
"""Shares of the time that are kept for intervals, and for respondents who are alone, where they are asked."""
INTEGRAL_SHARE, ARITHMETIC_SHARE = 0.5, 0.2
"""Share that is kept for intervals of whole numbers, and what of the rest these leave."""


class ProtectionServicer(protection_pb2_grpc.ProtectionServiceServicer):
    """ProtectionService over sdcgate.methods."""

    def __init__(self, maximum_check_cells: int = MAXIMUM_CELLS, files: FileProtector | None = None) -> None:
        self._maximum_check_cells = maximum_check_cells
        self._files = files or _forgetful_protector()

    def ProtectTable(
        self, request: pb.ProtectTableRequest, context: grpc.ServicerContext
    ) -> pb.ProtectTableResponse:
        """Find a pattern that withholds the unsafe cells, and prove it; or values that hide them."""
        may(CHECK)
        table = tables_to_protect(request, most_cells(self._maximum_check_cells))
        method = method_from_message(request, table)
        check_search(request)
        check_withheld(request, table)
        check_singletons(request.singletons, table)
        seconds = _seconds(request.time_limit_ms, context)
        if method is not None:
            counts = "units" if request.problem.facts.units else "records"
            return _perturbed(table, _perturb(table, method, seconds, counts))
        deadline = Deadline(seconds)
        found = _pattern(table, request, seconds)
        intervals = withheld_intervals(table.problem, found.withheld, deadline) if request.intervals else ()
        return pattern_to_message(found, table, request.exact, intervals)

    def AuditTable(
        self, request: pb.AuditTableRequest, context: grpc.ServicerContext
    ) -> pb.AuditTableResponse:
        """Audit a given pattern."""
        may(CHECK)
        table = tables_to_protect(request, most_cells(self._maximum_check_cells))
        check_audit(request)
        check_withheld(request, table)
        check_singletons(request.singletons, table)
        seconds = _seconds(request.time_limit_ms, context)
        deadline = Deadline(seconds)
        share = INTEGRAL_SHARE if request.integral else INTERVALS_SHARE * request.intervals
        found = audit(table.problem, table.cells, seconds * (1 - share))
        intervals = self._intervals(table, request, deadline)
        asked = request.singletons and found.proof is Proof.PROVED
        knowing = singletons(table.problem, table.cells, found, deadline) if asked else ()
        return audit_to_message(with_singletons(found, knowing), table, intervals, deadline, knowing)

    @staticmethod
    def _intervals(
        table: TableToProtect, request: pb.AuditTableRequest, deadline: Deadline
    ) -> list[Interval]:
        """Intervals where they are asked for; of whole numbers, no longer than leaves some time for leaks."""
        if not request.intervals:
            return []
        until = deadline.share(1 - ARITHMETIC_SHARE) if request.integral else deadline
        return withheld_intervals(table.problem, table.cells, until, request.integral)

    def RedesignTable(
        self, request: redesign_pb2.RedesignTableRequest, context: grpc.ServicerContext
    ) -> redesign_pb2.RedesignTableResponse:
        """Find the coarser tables that pass the rules and lose least."""
        may(CHECK)
        table = table_to_redesign(request, most_cells(self._maximum_check_cells))
        seconds = _seconds(request.time_limit_ms, context)
        found = redesign_table(table.finest, table.rules, table.wanted, seconds, table.mergeable, table.kept)
        return redesign_to_message(found, table)

    def ProtectMicrodata(
        self,
        request_iterator: Iterator[microdata_pb2.ProtectMicrodataRequest],
        context: grpc.ServicerContext,
    ) -> Iterator[microdata_pb2.ProtectMicrodataResponse]:
        """Protect a file, and tell what that costs."""
        may(PROTECT_FILES)
        return self._files.protect(request_iterator, heeding(context))


def _forgetful_protector() -> FileProtector:
    """Protects files by a secret that ends with the process."""
    section, own = ProtectionServer(), os.urandom(SECRET_BYTES)
    return FileProtector(FileLane(section.maximum_file_bytes, section.files_at_once), lambda: own)


def _pattern(table: TableToProtect, request: pb.ProtectTableRequest, seconds: float) -> Protection:
    """A pattern, found as it is asked for; `seconds` that the caller waits, no more than he asked."""
    share = 1 - INTERVALS_SHARE * request.intervals
    deadline = Deadline(seconds * share)
    share *= 1 - SINGLETONS_SHARE * request.singletons
    asked, left = request.time_limit_ms / 1000 * share, seconds * share
    effort = float(request.effort_ms) if request.HasField("effort_ms") else ordinary_effort(len(table.cells))

    def search(problem: Problem, unsafe: BoolArray) -> Protection:
        if request.exact:
            return protect_exactly(problem, unsafe, left, table.known_witnesses)
        return protect(problem, unsafe, asked, table.known_witnesses, request.thorough, left, effort)

    if request.singletons:
        return protect_from_singletons(table.problem, table.cells, deadline, search)
    return search(table.problem, table.cells)


def _perturb(
    table: TableToProtect, method: CellKeys | Rounding | Adjustment, seconds: float, units: str
) -> Perturbed:
    """Change values; the keys of a rounding that has none are drawn here, by the system's generator."""
    if isinstance(method, Adjustment):
        return with_adjustment(table.problem, table.cells, method, seconds, table.counts)
    if isinstance(method, CellKeys):
        return with_cell_keys(table.problem, table.cells, method, seconds, units)
    if method.kind is RoundingKind.RANDOM and method.keys is None:
        drawn = np.frombuffer(os.urandom(8 * len(table.cells)), dtype=np.uint64)
        method = replace(method, keys=drawn)
    return with_rounding(table.problem, table.cells, method, seconds, table.counts)


def _perturbed(table: TableToProtect, found: Perturbed) -> pb.ProtectTableResponse:
    """The answer with changed values."""
    of_problem = [fact for fact in table.unchecked if fact not in found.unchecked]
    return pb.ProtectTableResponse(
        proof=proof_to_message(found.proof),
        unprotected=listed(found.unprotected, table.order),
        unchecked=[*of_problem, *found.unchecked],
        perturbed=perturbed_to_message(found, table.order),
    )


def _seconds(limit_ms: int, context: grpc.ServicerContext) -> float:
    """Seconds to spend: what was asked, and no more than the caller waits."""
    remaining = time_left(context)
    asked = limit_ms / 1000
    return asked if remaining is None else max(0.0, min(asked, remaining * (1 - ANSWER_MARGIN)))


def warm_up() -> None:
    """Protect a small table, so that the solver is loaded."""
    axes = tuple(Axis(name, name, ("1", "2", "_T"), (2, 2, -1)) for name in ("a", "b"))
    counts = np.array([1, 9, 10, 8, 12, 20, 9, 21, 30])
    nothing = np.zeros(9, dtype=np.bool_)
    problem = Problem(
        axes=axes,
        facts=Facts(units=counts, records=counts),
        units_additive=True,
        count_width=1,
        sum_width=0.0,
        zeros_withheld=False,
        records_per_unit=1,
        known=nothing,
        absent=nothing,
    )
    protect(problem, counts == 1, 5.0)


def main(settings: Settings | None = None) -> None:
    """Serve until told to stop."""
    settings = settings or Settings()
    token = service_token(settings.service_token_path)
    section = settings.protection
    authenticate, check = check_side(settings, section, token, (CHECK, PROTECT_FILES))
    # Read when it is first needed: who protects no files needs no place to keep a secret.
    own_secret = partial(secret, settings.swapping_secret_path)
    files = FileProtector(FileLane(section.maximum_file_bytes, section.files_at_once), own_secret)
    servicer = ProtectionServicer(section.maximum_check_cells, files)
    serve(
        "protection",
        lambda server: protection_pb2_grpc.add_ProtectionServiceServicer_to_server(servicer, server),
        [SERVICE],
        settings,
        authenticate,
        warm_up,
        check=check,
    )
