"""Deadlines while the clock of the day is set."""

import time

import grpc
import pytest

from sdcgate.servers.errors import InvalidArgument
from sdcgate.servers.interceptors import Call, Deadline
from sdcgate.servers.time_left import SECONDS_KEY, having, in_time, time_left, told

DAY = 86_400.0


class Context:
    """A call of which gRPC says that so many seconds are left."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds

    def time_remaining(self) -> float | None:
        return self.seconds


class Ended(grpc.RpcError, grpc.Call):
    """A call that has ended with a status."""

    def __init__(self, code: grpc.StatusCode) -> None:
        self._code = code

    def code(self):
        return self._code

    initial_metadata = trailing_metadata = details = None
    is_active = time_remaining = cancel = add_callback = None


def call(grpc_says: float | None, metadata: dict, ago: float = 0.0) -> Call:
    return Call("/a/b", Context(grpc_says), metadata, time.monotonic() - ago)


@pytest.mark.parametrize("grpc_says", [0.0, 30 * DAY, 20.0])
def test_what_the_caller_told_counts_whatever_the_clock_of_the_day_says(grpc_says):
    waiting = call(grpc_says, dict([told(20.0)]), ago=3.0)
    assert waiting.left() == pytest.approx(17.0, abs=0.2)
    assert Deadline(20.0)(waiting, lambda: time_left(waiting.context)) == pytest.approx(17.0, abs=0.2)


def test_no_time_is_left_once_the_told_seconds_are_over():
    assert call(5.0, dict([told(2.0)]), ago=3.0).left() == 0.0


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1e9", "12345678", "1.2.3", "٣", b"20"])
def test_what_is_no_number_of_seconds_is_not_believed(text):
    assert call(7.0, {SECONDS_KEY: text}).left() == 7.0


def test_telling_seconds_is_no_deadline_and_no_way_round_the_longest():
    for waiting in (call(None, dict([told(5.0)])), call(5.0, dict([told(200.0)])), call(200.0, {})):
        with pytest.raises(InvalidArgument, match="at most 20 seconds"):
            Deadline(20.0)(waiting, lambda: "an answer")


def test_whose_time_is_left_is_forgotten_with_the_call():
    with having(lambda: 3.0):
        assert time_left(Context(9.0)) == 3.0
    assert time_left(Context(9.0)) == 9.0


def test_a_deadline_that_is_over_too_early_is_asked_once_more():
    given = []

    def asked(seconds):
        given.append(seconds)
        if len(given) == 1:
            raise Ended(grpc.StatusCode.DEADLINE_EXCEEDED)
        return "an answer"

    assert in_time(asked, 10.0) == "an answer"
    assert given == [10.0, pytest.approx(10.0, abs=0.5)]


@pytest.mark.parametrize(
    ("code", "takes", "times"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, 0.0, 2),
        (grpc.StatusCode.DEADLINE_EXCEEDED, 0.06, 1),
        (grpc.StatusCode.UNAVAILABLE, 0.0, 1),
    ],
)
def test_what_fails_in_time_or_otherwise_or_twice_has_failed(code, takes, times):
    given = []

    def asked(seconds):
        given.append(seconds)
        time.sleep(takes)
        raise Ended(code)

    with pytest.raises(grpc.RpcError):
        in_time(asked, 0.1)
    assert len(given) == times
