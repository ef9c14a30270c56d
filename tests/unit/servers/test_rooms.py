"""Threads that answer calls: how many work, wait and rest. Nothing here depends on how long it takes."""

import threading

from sdcgate.servers.rooms import WaitingRoom

PATIENCE = 20.0


def test_no_more_calls_work_at_once_than_there_are_threads_however_many_may_rest():
    room = WaitingRoom(2, "room", waiting_calls=100, resting=50)
    counting, most, working = threading.Lock(), 0, 0

    def work() -> None:
        nonlocal most, working
        with counting:
            working += 1
            most = max(most, working)
        threading.Event().wait(0.01)
        with counting:
            working -= 1

    for future in [room.submit(work) for _ in range(20)]:
        future.result(PATIENCE)
    assert most == 2
    assert (room.waiting, room.busy) == (0, 0)
    room.shutdown()


def test_a_call_that_rests_leaves_its_place_to_another_and_wakes_when_the_room_closes():
    room = WaitingRoom(1, "room", waiting_calls=10, resting=5)
    reached = threading.Barrier(4)

    def work() -> None:
        room.rest(0)
        reached.wait(PATIENCE)
        room.rest(3600)

    resting = [room.submit(work) for _ in range(3)]
    reached.wait(PATIENCE)
    assert (room.waiting, room.busy) == (0, 0)
    assert not any(future.done() for future in resting)
    assert room.submit(lambda: "worked").result(PATIENCE) == "worked"
    room.shutdown(wait=False)
    for future in resting:
        future.result(PATIENCE)


def test_where_nobody_more_may_rest_calls_wait_and_the_room_is_full():
    room = WaitingRoom(1, "room", waiting_calls=1, resting=1)
    begun = threading.Semaphore(0)

    def work() -> None:
        begun.release()
        room.rest(3600)

    resting = [room.submit(work) for _ in range(2)]
    for _ in resting:
        assert begun.acquire(timeout=PATIENCE)
    waiting = [room.submit(lambda: None) for _ in range(2)]
    assert room.waiting == 2
    assert room.full
    room.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in waiting)
