"""Threads that answer calls: how many work, wait and rest. Nothing here depends on how long it takes."""

import threading

import pytest

from sdcgate.servers.rooms import ALONE, CheckLane, Rooms, WaitingRoom
from sdcgate.servers.settings import GrpcServer

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
    assert not room.admits()
    room.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in waiting)


def test_a_greedy_caller_keeps_nobody_waiting_for_more_than_one_of_his_calls():
    room = WaitingRoom(1, "room", waiting_calls=1000)
    gate, order = threading.Event(), []
    blocked = room.submit_of("greedy", gate.wait, PATIENCE)
    greedy = [room.submit_of("greedy", order.append, f"greedy {number}") for number in range(100)]
    others = [room.submit_of(name, order.append, name) for name in ("anna", "bert")]
    again = room.submit_of("anna", order.append, "anna again")
    gate.set()
    for future in (blocked, *greedy, *others, again):
        future.result(PATIENCE)
    assert order[:5] == ["greedy 0", "anna", "bert", "greedy 1", "anna again"]
    assert order[5:] == [f"greedy {number}" for number in range(2, 100)]
    room.shutdown()


@pytest.mark.parametrize(("threads", "of_one"), [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6)])
@pytest.mark.parametrize("resting", [0, 5])
def test_long_calls_of_one_caller_leave_threads_to_others_whose_calls_do_not_wait_for_them(
    threads, of_one, resting
):
    room = WaitingRoom(threads, "room", waiting_calls=100, resting=resting)
    gate, begun = threading.Event(), threading.Semaphore(0)

    def work() -> None:
        begun.release()
        gate.wait(PATIENCE)

    long = [room.submit_of("greedy", work) for _ in range(20)]
    for _ in range(of_one):
        assert begun.acquire(timeout=PATIENCE)
    if threads > 1:
        # Were all threads his, this would wait for one of his.
        assert room.submit_of("anna", lambda: "answered").result(PATIENCE) == "answered"
    assert not begun.acquire(timeout=0.05)
    assert (room.busy, room.waiting) == (of_one, 20 - of_one)
    gate.set()
    for future in long:
        future.result(PATIENCE)
    assert (room.busy, room.waiting) == (0, 0)
    room.shutdown()


def test_the_house_s_own_services_work_in_all_threads():
    room = WaitingRoom(3, "room", waiting_calls=100)
    together = threading.Barrier(3)
    for future in [room.submit(together.wait, PATIENCE) for _ in range(3)]:
        future.result(PATIENCE)
    room.shutdown()


@pytest.mark.parametrize("cancel", [True, False])
def test_calls_that_were_held_back_for_others_are_cancelled_or_made_when_the_room_closes(cancel):
    room = WaitingRoom(2, "room", waiting_calls=100)
    gate, begun = threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        return gate.wait(PATIENCE)

    calls = [room.submit_of("greedy", work) for _ in range(5)]
    assert begun.wait(PATIENCE)
    while room.busy < 1 or room._held_back < 1:
        threading.Event().wait(0.01)
    closing = threading.Thread(target=room.shutdown, kwargs={"wait": True, "cancel_futures": cancel})
    closing.start()
    gate.set()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert [call.cancelled() for call in calls] == [False] + [cancel] * 4
    assert all(call.result() for call in calls if not call.cancelled())


def test_a_call_gets_its_own_answer_whatever_order_they_are_made_in():
    room = WaitingRoom(3, "room", waiting_calls=1000, resting=4)
    futures = {
        (caller, number): room.submit_of(caller, lambda *which: which, caller, number)
        for caller in "abc"
        for number in range(20)
    }
    assert {which: future.result(PATIENCE) for which, future in futures.items()} == {
        one: one for one in futures
    }

    def fail() -> None:
        raise ValueError("mine")

    assert str(room.submit_of("a", fail).exception(PATIENCE)) == "mine"
    room.shutdown()


def test_a_greedy_caller_leaves_places_to_wait_for_others():
    room = WaitingRoom(1, "room", waiting_calls=29)
    gate = threading.Event()
    room.submit_of("greedy", gate.wait, PATIENCE)
    while room.waiting:
        threading.Event().wait(0.01)
    taken = 0
    while room.admits("greedy"):
        room.submit_of("greedy", int)
        taken += 1
    # Of 30 places as many as are twice those left.
    assert taken == 20
    assert room.admits("anna")
    gate.set()
    room.shutdown()


def test_the_house_s_own_services_have_all_places():
    room = WaitingRoom(1, "room", waiting_calls=4)
    gate = threading.Event()
    room.submit(gate.wait, PATIENCE)
    while room.waiting:
        threading.Event().wait(0.01)
    taken = 0
    while room.admits():
        room.submit(int)
        taken += 1
    assert taken == 5
    gate.set()
    room.shutdown()


def test_calls_are_told_apart_by_token_and_by_whom_a_portal_names():
    people = Rooms("facility", GrpcServer())
    shown = [
        {"authorization": "Bearer a"},
        {"authorization": "Bearer b"},
        {"authorization": "Bearer a", "x-on-behalf-of": "anna"},
        {"authorization": "Bearer a", "x-on-behalf-of": "bert"},
        {},
    ]
    callers = [people.caller_of(people.own, metadata) for metadata in shown]
    assert len(set(callers)) == 5
    assert people.caller_of(people.own, dict(shown[0])) == callers[0]
    assert not any(b"Bearer" in caller for caller in callers)
    services = Rooms("risk", GrpcServer(), CheckLane(2, 2, lambda token: token == "ours"))
    for room, alone in ((services.own, True), (services.check, False)):
        assert (services.caller_of(room, {"authorization": "Bearer ours"}) is ALONE) is alone
    for rooms in (people, services):
        for room in rooms.all:
            room.shutdown()
