"""The gateway: JSON in, a service asked, JSON out. It translates; it decides, computes and keeps nothing.

Whatever goes wrong on the way to a service or back is problem+json, never a verdict.
"""

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import grpc
import uvicorn
from fastapi import FastAPI, Request, Response
from google.protobuf import message_factory
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp

from sdcgate.servers.authentication import ON_BEHALF_OF_KEY, ROLE_KEY
from sdcgate.servers.bodies import (
    JSON,
    FileMessages,
    file_messages,
    is_form,
    no_parameters,
    parameters,
    read_body,
)
from sdcgate.servers.certificates import HttpsCertificate
from sdcgate.servers.channels import Metadata, channel_credentials, channel_options
from sdcgate.servers.edge import ANSWERED_BY, Edge, problem_response
from sdcgate.servers.entity_tags import tagged
from sdcgate.servers.errors import (
    ERROR_BYTES_KEY,
    MAXIMUM_ERROR_BYTES,
    InvalidArgument,
    MethodNotAllowed,
    NotFound,
    Problem,
    TooSlow,
    Unavailable,
    from_rpc_error,
    problem_of,
)
from sdcgate.servers.forms import FormMessages, form_messages
from sdcgate.servers.leaving import while_connected
from sdcgate.servers.listening import LEAVING_SECONDS, LeavingServer, listening_socket
from sdcgate.servers.logging import REQUEST_ID, configure, logger, places
from sdcgate.servers.metrics import Metrics
from sdcgate.servers.probes import Probes
from sdcgate.servers.process import Signals, write_ready_file
from sdcgate.servers.rate_limits import RateLimits
from sdcgate.servers.request_ids import REQUEST_ID_KEY
from sdcgate.servers.routes import ROUTES, SERVICES, Route
from sdcgate.servers.settings import GatewayServer, Peer, Settings
from sdcgate.servers.streamed_calls import StreamedCall
from sdcgate.servers.time_left import told
from sdcgate.servers.tracing import Tracing, carried
from sdcgate.wire.json import from_json, from_value, to_json
from sdcgate.wire.problems import InvalidMessageError
from sdcgate.wire.table_json import SHAPES

HEALTH_CHECK = "/grpc.health.v1.Health/Check"
HEALTH_SECONDS = 1.0
_STEP_SECONDS = 0.02
_STOP_SECONDS = 0.25

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class Backend:
    """A service behind a channel of the running event loop."""

    def __init__(self, name: str, settings: Settings) -> None:
        section = settings.gateway
        peer: Peer = getattr(section, name)
        address = settings.address(peer, getattr(settings, name))
        credentials = channel_credentials(address, peer)
        options = channel_options(section.maximum_message_bytes)
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(address, options)
            self._streams = grpc.insecure_channel(address, options)
        else:
            self._channel = grpc.aio.secure_channel(address, credentials, options)
            self._streams = grpc.secure_channel(address, credentials, options)
        self._deadline = section.deadline_seconds
        self._service = SERVICES[name].full_name
        # An answer that is a stream has no address: a body of JSON is one answer.
        self._calls = {
            rpc.name: self._callable(rpc) for rpc in SERVICES[name].methods if not rpc.server_streaming
        }
        self._health = self._channel.unary_unary(
            HEALTH_CHECK,
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        self.serving = False

    def _callable(self, rpc: Any) -> Any:
        path = f"/{self._service}/{rpc.name}"
        request, response = map(message_factory.GetMessageClass, (rpc.input_type, rpc.output_type))
        if rpc.client_streaming:
            return StreamedCall(self._streams, path, request, response)
        return self._channel.unary_unary(
            path, request_serializer=request.SerializeToString, response_deserializer=response.FromString
        )

    async def call(
        self, rpc: str, request: Message | FileMessages | FormMessages, shown: Metadata, identity: str
    ) -> Any:
        """Call with what the caller has shown of himself. Raises Problem where no answer comes."""
        metadata = (
            *shown,
            (REQUEST_ID_KEY, identity),
            (ERROR_BYTES_KEY, str(MAXIMUM_ERROR_BYTES)),
            told(self._deadline),
            *carried(),
        )
        try:
            return await self._calls[rpc](request, timeout=self._deadline, metadata=metadata)
        except grpc.RpcError as error:
            raise from_rpc_error(error) from None

    async def watch(self) -> None:
        """Look after the service's health, again and again."""
        while True:
            try:
                answer = await self._health(
                    health_pb2.HealthCheckRequest(service=self._service), timeout=HEALTH_SECONDS
                )
                self.serving = answer.status == health_pb2.HealthCheckResponse.SERVING
            except grpc.RpcError:
                self.serving = False
            await asyncio.sleep(HEALTH_SECONDS)

    async def close(self) -> None:
        """Close the channels."""
        self._streams.close()
        await self._channel.close()


class Gateway:
    """The routes, and the services once the event loop runs."""

    def __init__(
        self, settings: Settings, metrics: Metrics | None = None, tracing: Tracing | None = None
    ) -> None:
        self.settings = settings
        self._tracing = tracing or Tracing()
        self.metrics = metrics or Metrics("gateway")
        self._backends: dict[str, Backend] = {}
        self.metrics.ready.labels("gateway").set_function(lambda: int(self.ready))
        self._openapi = b""
        self._logger = logger("gateway")

    @property
    def ready(self) -> bool:
        """Whether the facility takes queries; other services are missed on their own routes only."""
        return "facility" in self._backends and self._backends["facility"].serving

    def app(self) -> ASGIApp:
        """The ASGI application; outermost what tells browsers which websites may call (CORS)."""
        routes = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
        for route in ROUTES:
            routes.add_api_route(
                route.path, self._endpoint(route), methods=[route.method], response_model=None
            )
        routes.add_api_route("/openapi.json", self._document, methods=["GET"], response_model=None)
        routes.add_exception_handler(HTTPException, _no_route)
        section = self.settings.gateway
        limits = RateLimits(section.edge)
        edge = Edge(routes, self.metrics, section.tls.enabled, limits, self._tracing)
        if not section.edge.allowed_origins:
            return edge
        return CORSMiddleware(
            edge,
            allow_origins=section.edge.allowed_origins,
            allow_methods=("GET", "POST"),
            allow_headers=("Authorization", "Content-Type", REQUEST_ID_KEY, ON_BEHALF_OF_KEY, ROLE_KEY),
            expose_headers=("Location", "Retry-After", REQUEST_ID_KEY),
        )

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Channels to the services for the time that the event loop runs."""
        self._backends = {name: Backend(name, self.settings) for name in SERVICES}
        watching = asyncio.create_task(self._backends["facility"].watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(*(backend.close() for backend in self._backends.values()))
            self._backends = {}

    def _endpoint(self, route: Route) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            request.state.route = route.path
            try:
                return await self._answer(route, request)
            except ClientDisconnect:
                problem: Problem = InvalidArgument(detail="The body ended before its time")
            except asyncio.CancelledError:
                # uvicorn gives up what outlasts the drain, and would say 500 of it.
                problem = Unavailable("This gateway is being replaced; send the same request again")
            except Exception as error:
                problem = problem_of(error)
                if problem is not error and not isinstance(error, InvalidMessageError):
                    self._logger.error("failed", error=type(error).__name__, places=places(error))
            return problem_response(problem, getattr(request.state, REQUEST_ID))

        return endpoint

    async def _answer(self, route: Route, request: Request) -> Response:
        message_type = message_factory.GetMessageClass(route.request_type)
        section, given = self.settings.gateway, dict(request.path_params)
        message: Any
        if route.file and not (route.files and is_form(request)):
            message = file_messages(request, route, section.maximum_file_bytes)
        elif route.files:
            no_parameters(request)
            message = await form_messages(
                request, route, section.maximum_file_bytes, section.maximum_body_bytes
            )
        elif route.method == "POST":
            try:
                async with asyncio.timeout(section.edge.body_seconds):
                    body = await read_body(request, section.maximum_body_bytes)
            except TimeoutError:
                raise TooSlow(f"The body must arrive within {section.edge.body_seconds:g} seconds") from None
            no_parameters(request)
            message = from_json(body, message_type, given)
        else:
            message = from_value(parameters(request, route), message_type, given)
        identity = getattr(request.state, REQUEST_ID)
        backend = self._backends[route.service]
        try:
            call = backend.call(route.rpc, message, request.state.shown, identity)
            if isinstance(message, FileMessages | FormMessages):
                call = while_connected(request, message.ended, call)
            response = await call
            setattr(request.state, ANSWERED_BY, route.service)
        finally:
            if isinstance(message, FileMessages | FormMessages) and message.problem is not None:
                # Whatever was made of the part that could be read.
                raise message.problem from None
        answer = route.answer(response)
        body = to_json(answer.body, SHAPES)
        if route.tagged:
            return tagged(request, body, answer.status)
        headers = {"Location": answer.location} if answer.location else None
        return Response(body, answer.status, headers, JSON)

    async def _document(self, request: Request) -> Response:
        request.state.route = "/openapi.json"
        if not self._openapi:
            from sdcgate.servers.openapi import document

            self._openapi = document()
        return Response(self._openapi, media_type=JSON)


async def _no_route(request: Request, error: Exception) -> Response:
    """Problem+json for an unknown address or method."""
    methods = sorted(route.method for route in ROUTES if _pattern(route.path, request.url.path)) or (
        ["GET"] if request.url.path == "/openapi.json" else []
    )
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == MethodNotAllowed.http_status and methods:
        problem: Problem = MethodNotAllowed(f"Use {' or '.join(methods)} here")
    else:
        problem = NotFound("There is nothing at this address; /openapi.json says what there is")
    response = problem_response(problem, getattr(request.state, REQUEST_ID))
    if methods:
        response.headers["Allow"] = ", ".join(methods)
    return response


def _pattern(pattern: str, path: str) -> bool:
    from starlette.routing import compile_path

    return compile_path(pattern)[0].match(path) is not None


def main(settings: Settings | None = None) -> None:
    """Serve until told to stop."""
    settings = settings or Settings()
    configure("gateway", settings.log_level)
    signals = Signals()
    if sys.platform == "win32":
        asyncio.run(run(settings, signals))
    else:
        import uvloop

        uvloop.run(run(settings, signals))


async def run(settings: Settings, signals: Signals) -> None:
    """Listen, say where, answer until a signal comes."""
    section = settings.gateway
    tracing = Tracing.of(settings, "gateway")
    gateway = Gateway(settings, tracing=tracing)
    log = logger("gateway")
    ready_file = settings.ready_file("gateway", section)
    ready_file.unlink(missing_ok=True)
    https = HttpsCertificate(section.tls) if section.tls.enabled else None
    listening = listening_socket(section)
    address = f"{section.host}:{listening.getsockname()[1]}"
    server = LeavingServer(_configuration(gateway, section))
    probes = Probes(
        section.metrics_host,
        section.metrics_port,
        gateway.metrics,
        lambda: gateway.ready and not server.should_exit,
    )
    probes.start()
    try:
        async with gateway.connected():
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started and not serving.done():
                await asyncio.sleep(_STEP_SECONDS)
            if server.started and not signals.first.is_set():
                write_ready_file(ready_file, address, probes.address)
                log.info("ready", address=address, metrics=probes.address)
            while not serving.done():
                await asyncio.wait({serving}, timeout=_STOP_SECONDS)
                if https is not None and server.config.ssl is not None:
                    https.renew(server.config.ssl)
                # A signal that came before uvicorn listened for them.
                server.should_exit |= signals.first.is_set()
            await serving
    finally:
        ready_file.unlink(missing_ok=True)
        probes.stop()
        listening.close()
        tracing.shut_down()
        log.info("stopped")


def _configuration(gateway: Gateway, section: GatewayServer) -> uvicorn.Config:
    tls = section.tls
    return uvicorn.Config(
        gateway.app(),
        log_config=None,
        access_log=False,
        server_header=False,
        # Whoever else sends X-Forwarded-For chooses the address that his requests are counted for.
        proxy_headers=bool(section.edge.trusted_proxies),
        forwarded_allow_ips=list(section.edge.trusted_proxies),
        lifespan="off",
        ws="none",
        timeout_keep_alive=20,
        timeout_graceful_shutdown=max(1, round(section.drain_seconds - LEAVING_SECONDS)),
        ssl_certfile=tls.certificate,
        ssl_keyfile=str(tls.key) if tls.key is not None else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if tls.client_ca is not None else ssl.CERT_NONE,
        ssl_ca_certs=str(tls.client_ca) if tls.client_ca is not None else None,
    )
