"""What every RPC passes through: request id, errors, logging, metrics, readiness, deadline, authentication.

Health and reflection run in small lanes of their own, so that a probe is answered while all threads compute;
health passes through none of it, reflection wants a token. Requests and answers may be streams. An answer is
whole before its first message leaves, so that a call that fails has sent nothing.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import grpc
import structlog
from google.protobuf.message import DecodeError, Message

from sdcgate.facility.watching import Watcher, watched_by
from sdcgate.servers.authentication import (
    ON_BEHALF_OF_KEY,
    Authenticate,
    authenticated,
    researcher_named,
    set_caller,
)
from sdcgate.servers.errors import (
    InvalidArgument,
    Problem,
    ResourceExhausted,
    abort,
    problem_of,
)
from sdcgate.servers.logging import REQUEST_ID, logger, places
from sdcgate.servers.metrics import Metrics
from sdcgate.servers.request_ids import REQUEST_ID_KEY, request_id
from sdcgate.servers.rooms import Metadata, Rooms
from sdcgate.servers.time_left import having, seconds_left
from sdcgate.servers.tracing import TRACE_KEY, Tracing
from sdcgate.wire.problems import InvalidMessageError

HEALTH = "/grpc.health.v1.Health/"
REFLECTION = "/grpc.reflection."

Answer = Message | list[Message]
"""The message of an answer, or those of a stream."""
Proceed = Callable[[], Answer]


@dataclass(slots=True)
class Call:
    """One call on its way through the chain."""

    method: str
    context: grpc.ServicerContext
    metadata: Metadata
    arrived: float
    """Moment of the monotonic clock, before any wait for a thread."""
    request_id: str = ""

    def left(self) -> float | None:
        """Seconds until its deadline; None where it has none."""
        return seconds_left(self.context, self.metadata, self.arrived)


class Link(Protocol):
    """One link of the chain: does its part and proceeds, or raises a Problem."""

    def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Answer the call."""


class RequestId:
    """Takes or makes the request's id, sends it back, binds it to the logs."""

    def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Bind the id for the time of the call."""
        call.request_id = request_id(call.metadata.get(REQUEST_ID_KEY))
        # With the status: sent before it, it would be a round of its own through gRPC.
        call.context.set_trailing_metadata(((REQUEST_ID_KEY, call.request_id),))
        with structlog.contextvars.bound_contextvars(**{REQUEST_ID: call.request_id}):
            return proceed()


class Traced:
    """Makes the call a span of the trace that it is of."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Trace the call, and how it ended."""
        attributes = {"rpc.system.name": "grpc", "rpc.method": call.method.lstrip("/")}
        with self._tracing.request(call.method.lstrip("/"), call.metadata.get(TRACE_KEY), attributes):
            code = "OK"
            try:
                return proceed()
            except Exception as error:
                code = code_of(error, call.context)
                raise
            finally:
                self._tracing.note({"rpc.response.status_code": code})


class Watched:
    """Lets somebody watch what the facility does in the call."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    def __call__(self, call: Call, proceed: Proceed) -> Answer:  # noqa: ARG002
        """Proceed, watched."""
        with watched_by(self._watcher):
            return proceed()


class Errors:
    """Turns whatever is raised into a status; what nobody foresaw becomes INTERNAL without its text."""

    def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Answer, or end the call with a problem."""
        try:
            return proceed()
        except Exception as error:
            if aborted_with(call.context) is not None:
                raise  # aborted by the handler itself
            problem = problem_of(error)
        abort(call.context, problem, call.request_id)


class Logging:
    """One line a call: method, status, duration; for what nobody foresaw the type and the places, no text."""

    def __init__(self, service: str) -> None:
        self._logger = logger(service)

    def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Log how the call ended."""
        began = time.perf_counter()
        code = "OK"
        try:
            return proceed()
        except Exception as error:
            code = code_of(error, call.context)
            if not isinstance(error, Problem | InvalidMessageError):
                self._logger.error(
                    "failed", method=call.method, error=type(error).__name__, places=places(error)
                )
            raise
        finally:
            milliseconds = round((time.perf_counter() - began) * 1000, 3)
            self._logger.info("call", method=call.method, code=code, milliseconds=milliseconds)


class Counting:
    """Counts calls, their durations and how they ended."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Count the call."""
        self._metrics.waited.labels(self._metrics.service).observe(time.monotonic() - call.arrived)
        began = time.perf_counter()
        code = "OK"
        running = self._metrics.running.labels(self._metrics.service)
        running.inc()
        try:
            return proceed()
        except Exception as error:
            code = code_of(error, call.context)
            raise
        finally:
            running.dec()
            self._metrics.ended(call.method, code, time.perf_counter() - began)


class Deadline:
    """Wants a deadline of every call, and no longer one than the service allows."""

    def __init__(self, maximum_seconds: float) -> None:
        self._maximum = maximum_seconds

    def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Proceed where the deadline is one."""
        remaining = call.left()
        if remaining is None or remaining > self._maximum:
            raise InvalidArgument(detail=f"Set a deadline of at most {self._maximum:g} seconds")
        with having(call.left):
            return proceed()


class Authentication:
    """Wants a token that `authenticate` knows, on every call."""

    def __init__(self, authenticate: Authenticate) -> None:
        self._authenticate = authenticate

    def __call__(self, call: Call, proceed: Proceed) -> Answer:
        """Proceed as the caller that the token stands for."""
        found = authenticated(self._authenticate, call.metadata)
        named = call.metadata.get(ON_BEHALF_OF_KEY)
        set_caller(found, "" if named is None else researcher_named(str(named)))
        return proceed()


def code_of(error: Exception, context: grpc.ServicerContext) -> str:
    """Name of the status that an exception ends a call with."""
    code = aborted_with(context)
    return problem_of(error).code.name if code is None else code


def aborted_with(context: grpc.ServicerContext) -> str | None:
    """Name of the status that a handler has ended its call with itself, if it has."""
    code = context.code()  # type: ignore[attr-defined]
    return None if code is None else str(getattr(code, "name", code))


class Chain(grpc.ServerInterceptor):
    """Leads calls through the links, probes through their lane, and turns away what cannot be waited for.

    This runs in gRPC's one serving thread, the links in the thread of the call.
    """

    def __init__(
        self,
        links: Sequence[Link],
        rooms: Rooms,
        lanes: dict[str, ThreadPoolExecutor],
        authenticate: Authenticate,
    ) -> None:
        self._links = tuple(links)
        self._authenticate = authenticate
        self._rooms = rooms
        self._lanes = lanes

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        """Wrap the handler of a call."""
        handler = continuation(handler_call_details)
        method: str = handler_call_details.method
        if handler is None:
            return None
        for prefix, lane in self._lanes.items():
            if method.startswith(prefix):
                return _in_lane(handler, lane, None if prefix == HEALTH else self._authenticate)
        lane = next(iter(self._lanes.values()))
        metadata = dict(handler_call_details.invocation_metadata)
        room = self._rooms.of(method, metadata)
        caller = self._rooms.caller_of(room, metadata)
        if not room.admits(caller):
            room.turned_away += 1
            return _turned_away(handler, ResourceExhausted(), lane)
        return _in_room(self._led(method, handler), handler, room.of(caller))

    def _led(self, method: str, handler: Any) -> Callable[[Any, grpc.ServicerContext], Any]:
        """The handler's behaviour with all links before it; bytes become messages after the last of them."""
        links, arrived = self._links, time.monotonic()

        def answer(content: Any, context: grpc.ServicerContext) -> Any:
            call = Call(method, context, dict(context.invocation_metadata()), arrived)

            def proceed(position: int) -> Any:
                if position == len(links):
                    return _answered(handler, content, context)
                return links[position](call, lambda: proceed(position + 1))

            answered = proceed(0)
            return iter(answered) if handler.response_streaming else answered

        return answer


_MAKERS = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}
"""What makes a handler, by whether the request and whether the answer is a stream."""


def _answered(handler: Any, content: Any, context: grpc.ServicerContext) -> Answer:
    """The handler's answer to the bytes of a message, or to those of each of a stream as they come."""
    parse = handler.request_deserializer
    streaming = handler.request_streaming
    request = (_parsed(one, parse) for one in content) if streaming else _parsed(content, parse)
    behavior = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    answered = behavior(request, context)
    answer: Answer = list(answered) if handler.response_streaming else answered
    return answer


def _in_room(behavior: Callable[[Any, Any], Any], handler: Any, room: ThreadPoolExecutor) -> Any:
    behavior.experimental_thread_pool = room  # type: ignore[attr-defined]
    make = _MAKERS[handler.request_streaming, handler.response_streaming]
    return make(behavior, response_serializer=handler.response_serializer)


def _parsed(content: bytes, parse: Callable[[bytes], Message]) -> Message:
    """The message of a call. gRPC itself would say INTERNAL of bytes that are none."""
    try:
        return parse(content)
    except DecodeError:
        raise InvalidArgument(
            detail="The bytes are no message of this call: send it whole, with all texts in UTF-8"
        ) from None


def _turned_away(handler: Any, problem: Problem, lane: ThreadPoolExecutor) -> Any:
    """A handler that ends the call at once, in the lane of the probes: it needs no thread of the room."""

    def refuse(request: Any, context: grpc.ServicerContext) -> Any:  # noqa: ARG001
        abort(context, problem)

    refuse.experimental_thread_pool = lane  # type: ignore[attr-defined]
    make = _MAKERS[handler.request_streaming, handler.response_streaming]
    return make(refuse, response_serializer=handler.response_serializer)


def _in_lane(handler: Any, lane: ThreadPoolExecutor, authenticate: Authenticate | None) -> Any:
    """The same handler, with its work done in a lane; what never blocks a thread stays as it is.

    Where `authenticate` is given, it must know the caller.
    """
    if handler.unary_unary is not None:
        behavior, make = handler.unary_unary, grpc.unary_unary_rpc_method_handler
    elif handler.stream_stream is not None:
        behavior, make = handler.stream_stream, grpc.stream_stream_rpc_method_handler
    else:
        return handler

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        if authenticate is not None:
            _require_caller(authenticate, context)
        return behavior(request, context)

    answer.experimental_thread_pool = lane  # type: ignore[attr-defined]
    return make(answer, handler.request_deserializer, handler.response_serializer)


def _require_caller(authenticate: Authenticate, context: grpc.ServicerContext) -> None:
    """End a call whose token nobody knows."""
    try:
        authenticated(authenticate, dict(context.invocation_metadata()))
    except Exception as error:
        abort(context, problem_of(error))
