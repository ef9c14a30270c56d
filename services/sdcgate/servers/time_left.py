"""How long a call still has, whatever the clock of the day does meanwhile.

gRPC for Python hands deadlines to its core and back as moments of the clock of the day
(`grpc._channel._deadline`, `ServicerContext.time_remaining`). Where that clock is set while a call waits for
a thread, the call seems to have no time left, or days. So services tell each other the seconds, and count
them by a clock that only goes on.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import grpc

SECONDS_KEY = "x-seconds"
"""Metadata: seconds from the sending of a call to its deadline."""

T = TypeVar("T")
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_EARLY = 0.5
"""Share of its time before which no deadline can be over."""
_left: ContextVar[Callable[[], float | None] | None] = ContextVar("sdcgate_time_left", default=None)


def told(seconds: float) -> tuple[str, str]:
    """The metadata of a call that has so many seconds."""
    return SECONDS_KEY, f"{seconds:.6f}"


def seconds_left(
    context: grpc.ServicerContext, metadata: Mapping[str, str | bytes], arrived: float
) -> float | None:
    """Seconds until the deadline of a call; None where it has none.

    `arrived` is a moment of the monotonic clock. What the caller told counts only where gRPC knows a
    deadline, too; gRPC itself ends the call at that one.
    """
    remaining: float | None = context.time_remaining()
    seconds = metadata.get(SECONDS_KEY)
    if remaining is None or not isinstance(seconds, str) or not _SECONDS.fullmatch(seconds):
        return remaining
    return max(float(seconds) - (time.monotonic() - arrived), 0.0)


@contextmanager
def having(left: Callable[[], float | None]) -> Iterator[None]:
    """Whoever answers meanwhile has the time that `left` says."""
    token = _left.set(left)
    try:
        yield
    finally:
        _left.reset(token)


def time_left(context: grpc.ServicerContext) -> float | None:
    """Seconds that the call being answered still has; None where it has no deadline."""
    left = _left.get()
    remaining: float | None = context.time_remaining() if left is None else left()
    return remaining


def in_time(call: Callable[[float], T], seconds: float) -> T:
    """What `call` gives within so many seconds; asked once more where its deadline was over too early.

    For calls that may be asked twice: a clock of the day that is set while the deadline is being written ends
    the call at once.

    Raises:
        grpc.RpcError: of the call.
    """
    began = time.monotonic()
    try:
        return call(seconds)
    except grpc.RpcError as error:
        left = seconds - (time.monotonic() - began)
        code = error.code() if isinstance(error, grpc.Call) else None
        if code != grpc.StatusCode.DEADLINE_EXCEEDED or left < _EARLY * seconds:
            raise
    return call(left)
