"""Servers in the place of the risk or the protection service that lie, are late, or talk nonsense.

They listen on the true service's port and want its token. What they are asked they first answer honestly by
the service's own code, and then say something else; bytes go out as a lie made them.
"""

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import Message

from sdcgate.servers.authentication import (
    AUTHORIZATION_KEY,
    ServiceCaller,
    service_token,
    set_caller,
)
from sdcgate.servers.protection import ProtectionServicer
from sdcgate.servers.risk import RiskServicer
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as protection
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2 as risk
from sdcgate_proto.sdcgate.types.v1 import policy_pb2
from served_house import ServedHouse

Lie = Callable[[Any, Any, grpc.ServicerContext], "Message | bytes"]
"""What is said to a request, given the honest answer."""


class Stub:
    """One service that does what `lie` says; the true process was killed before."""

    def __init__(self, house: ServedHouse, service: str) -> None:
        self.lie: Lie = honest
        self.asked = 0
        self.failures: list[str] = []
        """What went wrong with the honest answers: there should be nothing."""
        self._service = service
        self._token = f"Bearer {service_token(house.settings.service_token_path)}"
        method, request, servicer = {
            "risk": ("/sdcgate.risk.v1.RiskService/AssessTable", risk.AssessTableRequest, RiskServicer()),
            "protection": (
                "/sdcgate.protection.v1.ProtectionService/ProtectTable",
                protection.ProtectTableRequest,
                ProtectionServicer(),
            ),
        }[service]
        self._method, self._request = method, request
        self._honest = getattr(servicer, method.rpartition("/")[2])
        self._server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        self._server.add_generic_rpc_handlers((_Handlers(method, self._answer),))
        address = house.supervisor.addresses[service]
        assert self._server.add_insecure_port(address) == int(address.rpartition(":")[2])
        self._server.start()

    def stop(self) -> None:
        """Free the port."""
        self._server.stop(0).wait()

    def _answer(self, content: bytes, context: grpc.ServicerContext) -> bytes:
        assert dict(context.invocation_metadata())[AUTHORIZATION_KEY] == self._token
        self.asked += 1
        request = self._request.FromString(content)
        set_caller(ServiceCaller())
        try:
            answer = self._honest(request, context)
        except Exception as error:
            self.failures.append(repr(error))
            raise
        said = self.lie(request, answer, context)
        return said if isinstance(said, bytes) else said.SerializeToString()


@contextmanager
def replaced(house: ServedHouse, *services: str) -> Iterator[dict[str, Stub]]:
    """Stubs in the place of services, and these again afterwards; the facility knows nothing of it."""
    for service in services:
        house.kill(service)
    stubs = {service: Stub(house, service) for service in services}
    try:
        yield stubs
    finally:
        for stub in stubs.values():
            stub.stop()
        house.restart(*services)


class _Handlers(grpc.GenericRpcHandler):
    """Bytes in, bytes out."""

    def __init__(self, method: str, answer: Callable[[bytes, grpc.ServicerContext], bytes]) -> None:
        self._method, self._answer = method, answer

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return grpc.unary_unary_rpc_method_handler(self._answer) if details.method == self._method else None


def honest(request: Any, answer: Any, context: grpc.ServicerContext) -> Message:
    return answer


def always(said: "Message | bytes") -> Lie:
    return lambda request, answer, context: said


def late(seconds: float) -> Lie:
    def lie(request: Any, answer: Any, context: grpc.ServicerContext) -> Message:
        time.sleep(seconds)
        return answer

    return lie


def failing(code: grpc.StatusCode) -> Lie:
    def lie(request: Any, answer: Any, context: grpc.ServicerContext) -> Message:
        context.abort(code, "household 17 has 3 persons")
        raise AssertionError

    return lie


def flipped(rng: random.Random) -> Lie:
    """The honest answer with a few of its bytes changed."""

    def lie(request: Any, answer: Any, context: grpc.ServicerContext) -> bytes:
        content = bytearray(answer.SerializeToString())
        for _ in range(rng.randrange(1, 9)):
            if content:
                content[rng.randrange(len(content))] = rng.randrange(256)
        return bytes(content)

    return lie


def cut(request: Any, answer: Any, context: grpc.ServicerContext) -> bytes:
    return answer.SerializeToString()[:-7]


# Protection


def changed(**fields: Any) -> Lie:
    """The honest pattern with some fields replaced; a function gets request and honest answer."""

    def lie(request: Any, answer: Any, context: grpc.ServicerContext) -> Message:
        said = type(answer)()
        said.CopyFrom(answer)
        for name, value in fields.items():
            wanted = value(request, answer) if callable(value) else value
            said.ClearField(name)
            if isinstance(wanted, Message):
                getattr(said, name).CopyFrom(wanted)
            elif isinstance(wanted, int):
                setattr(said, name, wanted)
            else:
                getattr(said, name).extend(wanted)
        return said

    return lie


def cells_of(request: protection.ProtectTableRequest) -> int:
    return len(request.problem.facts.units)


def beside(request: Any, answer: Any) -> list[int]:
    """Cells withheld beside the unsafe ones."""
    return sorted(set(answer.withheld) - set(request.unsafe))


def witnesses(change: Callable[[Any, protection.Witnesses], None]) -> Lie:
    """The honest pattern, said to be proved, with other witnesses."""

    def other(request: Any, answer: Any) -> protection.Witnesses:
        said = protection.Witnesses()
        said.CopyFrom(answer.witnesses)
        change(request, said)
        return said

    return changed(proof=protection.PROOF_PROVED, witnesses=other)


def each(*names: str, by: Callable[[Any], Any]) -> Callable[[Any, protection.Witnesses], None]:
    """Change every value of some columns."""

    def change(request: Any, said: protection.Witnesses) -> None:
        for name in names:
            values = [by(value) for value in getattr(said, name)]
            said.ClearField(name)
            getattr(said, name).extend(values)

    return change


def truth(request: Any, said: protection.Witnesses) -> None:
    """The true table, again and again."""
    facts, cells, tables = request.problem.facts, list(said.cells), said.tables
    for name in ("records", "units"):
        column = np.asarray(getattr(facts, name))[cells].tolist() * tables
        said.ClearField(name)
        getattr(said, name).extend(column)
    sums = [np.asarray(measure.sums)[cells].tolist() * tables for measure in facts.measures]
    said.ClearField("sums")
    said.sums.extend(value for column in sums for value in column)


def shortened(request: Any, said: protection.Witnesses) -> None:
    del said.records[-1:]


def rolled(request: Any, said: protection.Witnesses) -> None:
    """The right figures of the wrong cells."""
    cells = list(said.cells)
    said.ClearField("cells")
    said.cells.extend([*cells[1:], *cells[:1]])


def of_another_table(request: Any, answer: Any, context: grpc.ServicerContext) -> Message:
    """The honest answer about another table: the same figures, in turned order, none unsafe but the first."""
    small = protection.ProtectTableRequest()
    small.CopyFrom(request)
    small.unsafe[:] = [0]
    return ProtectionServicer().ProtectTable(small, context)


PROVED = {"proof": protection.PROOF_PROVED}
PROTECTION_LIES: dict[str, Lie] = {
    "nothing to suppress, proved": always(protection.ProtectTableResponse(**PROVED)),
    "nothing to suppress, with the witnesses": changed(withheld=[]),
    "nothing at all": always(b""),
    "the unsafe cells alone": changed(withheld=lambda request, answer: list(request.unsafe)),
    "one cell fewer beside": changed(
        withheld=lambda request, answer: sorted(set(answer.withheld) - set(beside(request, answer)[:1]))
    ),
    "none of the unsafe": changed(
        withheld=lambda request, answer: sorted(set(answer.withheld) - set(request.unsafe))
    ),
    "the neighbours": changed(
        withheld=lambda request, answer: sorted({(c + 1) % cells_of(request) for c in answer.withheld})
    ),
    "everything, without witnesses": changed(
        withheld=lambda request, answer: range(cells_of(request)), witnesses=protection.Witnesses()
    ),
    "a cell beyond the table": changed(
        withheld=lambda request, answer: [*answer.withheld, cells_of(request)]
    ),
    "a cell twice": changed(withheld=lambda request, answer: [*answer.withheld, *answer.withheld[:1]]),
    "of another table": of_another_table,
    "the right pattern, refuted": changed(proof=protection.PROOF_REFUTED),
    "the right pattern, a proof unheard of": changed(proof=77),
    "witnesses: none": witnesses(lambda request, said: said.Clear()),
    "witnesses: the truth": witnesses(truth),
    "witnesses: one more in every cell": witnesses(each("records", "units", by=lambda value: value + 1)),
    "witnesses: ten times": witnesses(each("records", "units", by=lambda value: value * 10)),
    "witnesses: negative": witnesses(each("records", "units", by=lambda value: -value - 1)),
    "witnesses: huge": witnesses(each("records", "units", by=lambda value: 2**62)),
    "witnesses: too short": witnesses(shortened),
    "witnesses: of the wrong cells": witnesses(rolled),
    "witnesses: 2^31 tables": witnesses(lambda request, said: setattr(said, "tables", 2**31)),
    "garbage": always(bytes(range(256)) * 64),
    "zeros": always(bytes(100_000)),
    "65 MiB": always(b"\x0a" + b"\x80\x80\x80\x20" + bytes(65 * 2**20)),
    "cut short": cut,
    "INTERNAL": failing(grpc.StatusCode.INTERNAL),
    "UNAUTHENTICATED": failing(grpc.StatusCode.UNAUTHENTICATED),
    "OUT_OF_RANGE": failing(grpc.StatusCode.OUT_OF_RANGE),
}
SUM_LIES: dict[str, Lie] = {
    f"witnesses: sums {value}": witnesses(each("sums", by=lambda _, value=value: value))
    for value in (float("nan"), float("inf"), 1e300, -1.0)
}
"""Lies that need a table with sums."""


# Risk


def findings(change: Callable[[Any, policy_pb2.Finding], Any]) -> Lie:
    """The honest findings, each changed; those for which the change returns False are left out."""

    def lie(request: Any, answer: Any, context: grpc.ServicerContext) -> Message:
        said = risk.AssessTableResponse()
        said.CopyFrom(answer)
        kept = [finding for finding in said.findings if change(request, finding) is not False]
        copies = [policy_pb2.Finding.FromString(finding.SerializeToString()) for finding in kept]
        said.ClearField("findings")
        said.findings.extend(copies)
        return said

    return lie


def only(cells: Callable[[list[int]], list[int]]) -> Lie:
    """Findings about some of their cells."""

    def change(request: Any, finding: policy_pb2.Finding) -> bool:
        finding.cells[:] = cells(list(finding.cells))
        return bool(finding.cells)

    return findings(change)


def put(**fields: Any) -> Lie:
    """Findings with fields replaced."""

    def change(request: Any, finding: policy_pb2.Finding) -> None:
        for name, value in fields.items():
            setattr(finding, name, value)

    return findings(change)


def about_another_table(request: Any, answer: Any, context: grpc.ServicerContext) -> Message:
    """Findings about a table with the same shape and the units of every cell increased."""
    other = risk.AssessTableRequest()
    other.CopyFrom(request)
    for name in ("units", "records"):
        column = getattr(other.facts, name)
        column[:] = [value + 1000 for value in column]
    other.facts.ClearField("measures")
    other.facts.ClearField("households")
    return RiskServicer().AssessTable(other, context)


def no_risk(request: Any, answer: Any, context: grpc.ServicerContext) -> Message:
    """Without findings, and with a risk of nothing for the key."""
    said = risk.AssessTableResponse()
    if answer.HasField("risk"):
        said.risk.base_units = answer.risk.base_units
    return said


RISK_LIES: dict[str, Lie] = {
    "no findings": always(risk.AssessTableResponse()),
    "no findings, no risk": no_risk,
    "nothing at all": always(b""),
    "the first cell of each finding only": only(lambda cells: cells[:1]),
    "all cells but the first": only(lambda cells: cells[1:]),
    "findings about whole tables left out": findings(lambda request, finding: bool(finding.cells)),
    "findings about cells left out": findings(lambda request, finding: not finding.cells),
    "of another table": about_another_table,
    "all to be protected": put(consequence=policy_pb2.CONSEQUENCE_PROTECT),
    "no consequence": put(consequence=policy_pb2.CONSEQUENCE_UNSPECIFIED),
    "a consequence unheard of": put(consequence=77),
    "a rule unheard of": put(rule=77),
    "figures NaN": put(figure=float("nan"), bound=float("nan")),
    "cells beyond the table": findings(lambda request, finding: finding.cells.append(10**6)),
    "cells twice": findings(lambda request, finding: finding.cells.extend(list(finding.cells))),
    "garbage": always(bytes(range(256)) * 64),
    "zeros": always(bytes(100_000)),
    "cut short": cut,
    "INTERNAL": failing(grpc.StatusCode.INTERNAL),
    "UNAUTHENTICATED": failing(grpc.StatusCode.UNAUTHENTICATED),
}
