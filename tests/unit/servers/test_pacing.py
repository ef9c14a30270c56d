"""When the link that paces calls lets an answer go, by a context that says how much time is left."""

import math
import time

import pytest

from sdcgate.engine.patience import seconds_left
from sdcgate.servers import errors
from sdcgate.servers.interceptors import Call
from sdcgate.servers.pacing import Pacing, pace

METHOD = "/sdcgate.facility.v1.FacilityService/QueryTable"


class Aborted(Exception):
    """The call has ended with a status."""


class Context:
    """A call with so many seconds left."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ended = 0
        self.active = True

    def is_active(self) -> bool:
        return self.active

    def time_remaining(self) -> float:
        return self.seconds

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def abort_with_status(self, status) -> None:
        self.ended = status.code
        raise Aborted


def led(seconds: float, step_ms: int, arrived: float, raises: Exception | None = None):
    """The context after a call that arrived so many seconds ago, its answer, and how long it rested."""
    context, rested, answer = Context(seconds), [], None

    def proceed():
        pace().data_are_read(step_ms)
        if raises is not None:
            raise raises
        return "an answer"

    call = Call(METHOD, context, {}, time.monotonic() - arrived)
    try:
        answer = Pacing(rested.append)(call, proceed)
    except Exception as error:
        answer = type(error)
    return context, answer, rested


def test_an_answer_rests_until_its_step_is_over_and_then_leaves():
    context, answer, rested = led(seconds=5.0, step_ms=1000, arrived=0.4)
    assert answer == "an answer"
    assert rested == [pytest.approx(0.6, abs=0.3)]
    assert not context.ended


def test_an_error_rests_as_an_answer_does():
    _, answer, rested = led(seconds=5.0, step_ms=1000, arrived=0.4, raises=errors.Unavailable("gone"))
    assert answer is errors.Unavailable
    assert rested == [pytest.approx(0.6, abs=0.3)]


@pytest.mark.parametrize("raises", [None, errors.Unavailable("gone")])
def test_what_comes_after_the_last_whole_step_is_never_sent_not_even_at_the_deadline(raises):
    # 2.3 s of 2.8 s are over: the third second would end after the deadline.
    context, answer, rested = led(seconds=0.5, step_ms=1000, arrived=2.3, raises=raises)
    assert rested == [0.5]
    assert answer is Aborted
    assert context.ended is errors.DeadlineExceeded.code


def test_without_steps_nothing_rests():
    _, answer, rested = led(seconds=5.0, step_ms=0, arrived=0.4)
    assert (answer, rested) == ("an answer", [])


def test_the_engine_knows_how_long_the_caller_waits_and_that_he_has_gone():
    context, left = Context(10.0), []

    def proceed():
        left.append(seconds_left())
        context.active = False
        left.append(seconds_left())

    Pacing(lambda seconds: None)(Call(METHOD, context, {}, time.monotonic()), proceed)
    assert 0 < left[0] <= 10.0
    assert left[1] == 0.0
    assert seconds_left() == math.inf
