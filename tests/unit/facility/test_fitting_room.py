"""Fits take nobody else's time or memory: a worker is ended, and the next one is asked."""

import os
import time

import numpy as np
import pytest

from sdcgate.facility.errors import TimeOver, Unavailable
from sdcgate.facility.fitting_room import FitFailed, FittingRoom


@pytest.fixture(scope="module")
def room():
    made = FittingRoom(memory_bytes=2 << 30)
    yield made
    made.close()


def doubled(value: int) -> int:
    return 2 * value


class Unforeseen(ValueError):
    """Cannot be read back from its pickle."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def refusing() -> None:
    raise Unforeseen("4092.70 ", "is his income")


def test_what_the_function_returns_comes_back(room) -> None:
    assert room.run(doubled, 21, seconds=30) == 42


def test_of_an_error_its_name_comes_back_and_the_next_fit_runs(room) -> None:
    with pytest.raises(FitFailed, match=r"^a computation ended with Unforeseen$"):
        room.run(refusing, seconds=30)
    assert room.run(doubled, 2, seconds=30) == 4


def test_work_is_done_in_another_process(room) -> None:
    assert room.run(os.getpid, seconds=30) != os.getpid()


def test_a_fit_that_takes_too_long_is_ended_and_the_next_one_runs(room) -> None:
    with pytest.raises(TimeOver):
        room.run(time.sleep, 60, seconds=0.5)
    assert room.run(doubled, 1, seconds=30) == 2


def test_without_time_nothing_is_started(room) -> None:
    with pytest.raises(TimeOver):
        room.run(doubled, 1, seconds=0.0)


def test_a_fit_that_needs_too_much_memory_or_dies_is_no_verdict(room) -> None:
    with pytest.raises(Unavailable, match="memory"):
        room.run(bytearray, 4 << 30, seconds=30)
    with pytest.raises(Unavailable, match="memory"):
        room.run(np.ones, 4 << 30, seconds=30)
    with pytest.raises(Unavailable, match="ended"):
        room.run(os._exit, 3, seconds=30)
    assert room.run(doubled, 3, seconds=30) == 6


def test_a_question_too_large_to_be_taken_in_is_no_verdict_and_the_next_fit_runs() -> None:
    small = FittingRoom(memory_bytes=900 << 20)
    try:
        with pytest.raises(Unavailable, match="ended"):
            small.run(len, np.ones(150_000_000), seconds=30)
        assert small.run(doubled, 4, seconds=30) == 8
    finally:
        small.close()


def test_a_room_that_is_closed_starts_nothing_anew() -> None:
    closed = FittingRoom()
    closed.close()
    with pytest.raises(Unavailable, match="ending"):
        closed.run(doubled, 1, seconds=5)
