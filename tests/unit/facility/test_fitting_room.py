"""Fits take nobody else's time or memory: a worker is ended, and the next one is asked."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sdcgate.facility.errors import TimeOver, Unavailable
from sdcgate.facility.fair_places import FairPlaces, working_for
from sdcgate.facility.fitting_room import FitFailed, FittingLimits, FittingRoom


@pytest.fixture(scope="module")
def room():
    made = FittingRoom(FittingLimits(memory_bytes=2 << 30))
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


def test_a_machine_without_memory_ends_a_worker_rather_than_the_house(room) -> None:
    score = Path("/proc/self/oom_score_adj")
    assert room.run(Path.read_text, score, seconds=30).strip() == "1000"
    assert score.read_text().strip() != "1000"


def test_a_fit_that_takes_too_long_is_ended_and_the_next_one_runs(room) -> None:
    with pytest.raises(TimeOver):
        room.run(time.sleep, 60, seconds=0.5)
    assert room.run(doubled, 1, seconds=30) == 2


def test_whose_caller_had_more_time_is_told_to_ask_for_less_and_not_to_wait_longer() -> None:
    room = FittingRoom(FittingLimits(seconds=0.5))
    try:
        with pytest.raises(TimeOver, match=r"may take 0\.5 seconds.*Ask for less"):
            room.run(time.sleep, 60, seconds=30)
        with pytest.raises(TimeOver, match="Try again with more"):
            room.run(time.sleep, 60, seconds=0.2)
    finally:
        room.close()


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
    small = FittingRoom(FittingLimits(memory_bytes=900 << 20))
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


def until_there_is(begun: str, file: str) -> str:
    """Long work: it says that it began, and ends when somebody makes the file."""
    Path(begun).touch()
    while not Path(file).exists():
        time.sleep(0.02)
    return "done"


def for_caller(caller: str, room: FittingRoom, *work, seconds: float = 60.0):
    with working_for(caller):
        return room.run(*work, seconds=seconds)


def kill_itself() -> None:
    """As the kernel does where a machine has no memory left."""
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.02)


@pytest.fixture
def two():
    made = FittingRoom(FittingLimits(workers=2, memory_bytes=2 << 30))
    yield made
    made.close()


def test_long_work_of_one_leaves_a_worker_to_the_others(two, tmp_path) -> None:
    begun, end = tmp_path / "begun", tmp_path / "end"
    with ThreadPoolExecutor() as threads:
        long = [
            threads.submit(for_caller, "ada", two, until_there_is, str(begun), str(end)) for _ in range(3)
        ]
        wait_for(begun)
        assert for_caller("eve", two, doubled, 4) == 8
        assert for_caller("eve", two, doubled, 5) == 10
        assert not any(one.done() for one in long)
        end.touch()
        assert [one.result() for one in long] == ["done"] * 3


@pytest.mark.parametrize("ending", ["memory", "killed", "not taken in"])
def test_a_worker_that_ends_takes_no_other_with_it(ending, tmp_path) -> None:
    room = FittingRoom(FittingLimits(workers=2, memory_bytes=900 << 20))
    begun, end = tmp_path / "begun", tmp_path / "end"
    work = {
        "memory": (bytearray, 2 << 30),
        "killed": (kill_itself,),
        "not taken in": (len, np.ones(150_000_000)),
    }[ending]
    try:
        with ThreadPoolExecutor() as threads:
            long = threads.submit(for_caller, "ada", room, until_there_is, str(begun), str(end))
            wait_for(begun)
            with pytest.raises(Unavailable):
                for_caller("eve", room, *work)
            assert for_caller("eve", room, doubled, 3) == 6
            assert not long.done()
            end.touch()
            assert long.result() == "done"
    finally:
        room.close()


def test_waiting_for_a_worker_counts(tmp_path) -> None:
    room = FittingRoom(FittingLimits(workers=1))
    begun, end = tmp_path / "begun", tmp_path / "end"
    try:
        with ThreadPoolExecutor() as threads:
            long = threads.submit(for_caller, "ada", room, until_there_is, str(begun), str(end))
            wait_for(begun)
            with pytest.raises(TimeOver):
                for_caller("eve", room, doubled, 1, seconds=0.2)
            end.touch()
            assert long.result() == "done"
    finally:
        room.close()


def test_no_fit_has_more_time_than_the_room_gives() -> None:
    room = FittingRoom(FittingLimits(workers=1, seconds=1.0))
    try:
        with pytest.raises(TimeOver):
            room.run(time.sleep, 60, seconds=60.0)
    finally:
        room.close()


def test_a_free_place_goes_to_who_has_fewest_and_then_to_who_waits_longest() -> None:
    places, came, held = FairPlaces(["a", "b", "c"]), [], {}

    def stay(caller: str) -> None:
        held[caller] = held.get(caller, 0) + 1
        number = f"{caller}{held[caller]}"
        leave = leaves[number] = threading.Event()
        with working_for(caller), places.taken(30.0):
            came.append(number)
            leave.wait(30.0)

    def waiting(count: int) -> None:
        while len(places._waiting) != count:
            time.sleep(0.005)

    def arrived(count: int) -> None:
        while len(came) != count:
            time.sleep(0.005)

    leaves: dict[str, threading.Event] = {}
    with ThreadPoolExecutor(8) as threads:
        for turn, caller in enumerate(["ada", "ada", "ada"]):
            threads.submit(stay, caller)
            arrived(min(turn + 1, 2))
        waiting(1)
        assert came == ["ada1", "ada2"]
        threads.submit(stay, "eve")
        arrived(3)
        threads.submit(stay, "eve")
        waiting(2)
        threads.submit(stay, "bob")
        waiting(3)
        leaves["ada1"].set()
        arrived(4)
        leaves["eve1"].set()
        arrived(5)
        leaves["ada2"].set()
        arrived(6)
        assert came == ["ada1", "ada2", "eve1", "bob1", "eve2", "ada3"]
        for leave in leaves.values():
            leave.set()


def test_a_place_whose_work_was_ended_is_taken_last() -> None:
    """A worker that was killed begins anew for a second or two, which is not the next one's loss."""
    places = FairPlaces(["a", "b", "c"])
    with pytest.raises(TimeOver), places.taken(1.0) as first:
        raise TimeOver
    with places.taken(1.0) as second, places.taken(1.0) as third:
        assert first not in {second, third}
    with places.taken(1.0) as again:
        assert again == second


def slowly() -> None:
    time.sleep(1.5)


def test_a_worker_that_begins_counts_as_its_caller_s_time_and_not_as_the_work_s() -> None:
    room = FittingRoom(FittingLimits(workers=1, seconds=1.0), slowly)
    try:
        with pytest.raises(TimeOver, match="Try again with more"):
            room.run(doubled, 1, seconds=0.5)
        assert room.run(doubled, 2, seconds=60) == 4
        with pytest.raises(TimeOver, match="Ask for less"):
            room.run(time.sleep, 60, seconds=60)
        # Its successor begins already.
        assert room._workers[0]._ready is not None
        assert room.run(doubled, 3, seconds=60) == 6
        with pytest.raises(Unavailable, match="ended"):
            room.run(kill_itself, seconds=60)
        assert room.run(doubled, 4, seconds=60) == 8
    finally:
        room.close()
