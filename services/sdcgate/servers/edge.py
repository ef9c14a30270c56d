"""The edge of the gateway, around every request: id, presence of a key, headers, log line, metrics."""

import re
import time
from typing import Any

import pydantic_core
import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sdcgate.servers.authentication import (
    AUTHORIZATION_KEY,
    ON_BEHALF_OF_KEY,
    ROLE_KEY,
    researcher_named,
)
from sdcgate.servers.channels import Metadata
from sdcgate.servers.errors import (
    InvalidArgument,
    Problem,
    Unauthenticated,
    problem_of,
    to_problem_json,
)
from sdcgate.servers.logging import REQUEST_ID, logger, places
from sdcgate.servers.metrics import Metrics
from sdcgate.servers.rate_limits import Counted, RateLimits
from sdcgate.servers.request_ids import REQUEST_ID_KEY, request_id
from sdcgate.servers.tracing import Tracing

OPEN_PATHS = ("/openapi.json",)
PROBLEM_JSON = "application/problem+json"
UNKNOWN_ROUTE = "other"
ANSWERED_BY = "answered_by"
"""In a request's state the service that took its key or token and answered the call."""
_TOKEN = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/=-]{1,6000})")
"""A key or a token. With what else goes along, a longer one would not fit into gRPC's 8 KiB of metadata."""

SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Edge:
    """ASGI middleware around the gateway's routes."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        encrypted: bool,
        limits: RateLimits,
        tracing: Tracing | None = None,
    ) -> None:
        self._app = app
        self._limits = limits
        self._tracing = tracing or Tracing()
        self._metrics = metrics
        self._logger = logger("gateway")
        self._headers = dict(SECURITY_HEADERS)
        if encrypted:
            self._headers["Strict-Transport-Security"] = "max-age=63072000"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        began = time.perf_counter()
        headers = Headers(scope=scope)
        identity = request_id(headers.get(REQUEST_ID_KEY))
        state: dict[str, Any] = scope.setdefault("state", {})
        state[REQUEST_ID] = identity
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                out = MutableHeaders(scope=message)
                out[REQUEST_ID_KEY] = identity
                for name, value in self._headers.items():
                    out.setdefault(name, value)
            await send(message)

        running = self._metrics.running.labels("gateway")
        running.inc()
        with structlog.contextvars.bound_contextvars(**{REQUEST_ID: identity}):
            try:
                with self._tracing.request("gateway"):
                    await self._led(scope, receive, answer, headers)
                    self._tracing.note(_seen(scope, state, status))
            except Exception as error:
                self._logger.error("failed", error=type(error).__name__, places=places(error))
                if not status:
                    await problem_response(problem_of(error), identity)(scope, receive, answer)
            finally:
                running.dec()
                if status == Unauthenticated.http_status:
                    self._limits.failed(_address(scope))
                self._ended(scope, state, status, time.perf_counter() - began)

    async def _led(self, scope: Scope, receive: Receive, send: Send, headers: Headers) -> None:
        """To the routes, for whoever shows a key or token and does not ask too often."""
        state: dict[str, Any] = scope["state"]
        counted: Counted | None = None
        try:
            self._limits.arrived(_address(scope))
            if scope["path"] not in OPEN_PATHS:
                state["shown"] = found = shown(headers)
                named = headers.get(ON_BEHALF_OF_KEY)
                counted = self._limits.called(str(found[0][1]), researcher_named(named) if named else "")
        except Problem as problem:
            await problem_response(problem, state[REQUEST_ID])(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            if counted is not None and ANSWERED_BY in state:
                # Only the facility looks whether a portal may act for whom it names.
                self._limits.accepted(counted, name_checked=state[ANSWERED_BY] == "facility")

    def _ended(self, scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
        # The route's pattern, never the path: names of people's choosing stay out of logs and metrics.
        method = f"{scope['method']} {state['route']}" if "route" in state else UNKNOWN_ROUTE
        self._metrics.ended(method, str(status), seconds)
        self._logger.info("request", method=method, status=status, milliseconds=round(seconds * 1000, 3))


def _address(scope: Scope) -> str:
    """Where a request comes from; of a connection without an address all are one."""
    client = scope.get("client")
    return client[0] if client else ""


def shown(headers: Headers) -> Metadata:
    """What a caller shows of himself, as the services take it.

    Raises:
        Unauthenticated: no key and no token, or more than one.
        InvalidArgument: the researcher for whom he acts, or the role, is no name that a header can carry.
    """
    found = ((AUTHORIZATION_KEY, f"Bearer {token(headers.getlist(AUTHORIZATION_KEY))}"),)
    named = headers.getlist(ON_BEHALF_OF_KEY)
    if named:
        researcher_named(",".join(named))
    # Several are handed on as one that no role is: of two headers neither is chosen here.
    roles = ",".join(headers.getlist(ROLE_KEY))
    if not roles.isascii() or not roles.isprintable():
        raise InvalidArgument(detail=f"{ROLE_KEY} must be a role, such as checker")
    in_role = ((ROLE_KEY, roles),) if roles else ()
    return (*found, *in_role, *((ON_BEHALF_OF_KEY, name) for name in named))


def _seen(scope: Scope, state: dict[str, Any], status: int) -> dict[str, Any]:
    """What a trace says of a request."""
    route = state.get("route", UNKNOWN_ROUTE)
    return {
        "http.request.method": scope["method"] if "route" in state else UNKNOWN_ROUTE,
        "http.route": route,
        "http.response.status_code": status,
    }


def token(values: list[str]) -> str:
    """The API key or token of a request. Raises Unauthenticated where there is none, or more than one."""
    match = _TOKEN.fullmatch(values[0].strip()) if len(values) == 1 else None
    if match is None:
        raise Unauthenticated()
    return match.group(1)


def problem_response(problem: Problem, identity: str) -> Response:
    """A problem as RFC 9457 problem+json with the headers that go with it."""
    headers = {}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(problem.retry_after)
    if problem.http_status == Unauthenticated.http_status:
        headers["WWW-Authenticate"] = "Bearer"
    body = pydantic_core.to_json(to_problem_json(problem, identity))
    return Response(body, problem.http_status, headers, PROBLEM_JSON)
