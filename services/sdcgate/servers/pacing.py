"""Answers that keep to steps of time: where a call rests until its answer may be seen.

It rests outside of the links that log and count: logs and metrics of the service have the time of the work.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from sdcgate.engine.patience import waiting
from sdcgate.facility.pace import NEVER, Pace
from sdcgate.servers.errors import DeadlineExceeded, abort

if TYPE_CHECKING:
    from sdcgate.servers.interceptors import Answer, Call, Proceed

ANSWER_MARGIN = 0.25
"""Seconds kept for sending the answer."""

_pace: ContextVar[Pace] = ContextVar("sdcgate_pace")


def pace() -> Pace:
    """The time of the call that is being answered."""
    return _pace.get()


class Pacing:
    """Holds every answer back until it may be seen; one that never may is not sent before the deadline."""

    def __init__(self, rest: Callable[[float], None]) -> None:
        self._rest = rest

    def __call__(self, call: "Call", proceed: "Proceed") -> "Answer":
        """Answer the call, or let it fail, not before its time."""
        own = Pace(
            (call.left() or 0.0) - ANSWER_MARGIN,
            call.arrived,
            gone=lambda: not call.context.is_active(),
        )
        _pace.set(own)
        try:
            with waiting(own.left):
                return proceed()
        finally:
            until = own.visible()
            if until == NEVER:
                self._rest(call.left() or 0.0)
                abort(call.context, DeadlineExceeded(), call.request_id)
            if until > time.monotonic():
                self._rest(until - time.monotonic())
