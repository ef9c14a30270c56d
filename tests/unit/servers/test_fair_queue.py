"""Turns by caller: whoever asks, in whatever order, nobody waits for more than one call of each other."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sdcgate.servers.fair_queue import FairQueue

CALLERS = "abcd"
STEPS = st.lists(st.one_of(st.sampled_from(CALLERS), st.none()), max_size=200)
"""Calls of callers as they come; None takes one."""


@given(STEPS)
def test_nobody_waits_for_more_than_one_call_of_each_other_caller_for_each_of_his_own(steps):
    queue, number = FairQueue(), 0
    passed: dict[str, Counter] = {}
    for caller in steps:
        if caller is not None:
            queue.put(caller, (caller, number))
            number += 1
            passed.setdefault(caller, Counter())
            continue
        found = queue.take()
        if found is None:
            continue
        taken = found[1]
        for waits, seen in passed.items():
            if waits != taken[0]:
                seen[taken[0]] += 1
                # Since his last turn, or since he came.
                assert seen[taken[0]] <= 1, (waits, taken)
        passed[taken[0]] = Counter()
        if not queue.waiting(taken[0]):
            del passed[taken[0]]


@given(STEPS)
def test_each_call_is_taken_once_and_in_the_order_of_its_caller(steps):
    queue, put, taken = FairQueue(), {name: [] for name in CALLERS}, {name: [] for name in CALLERS}
    for number, caller in enumerate(steps):
        if caller is not None:
            queue.put(caller, (caller, number))
            put[caller].append(number)
        elif (found := queue.take()) is not None:
            of, item = found
            assert of == item[0]
            taken[of].append(item[1])
        assert len(queue) == sum(queue.waiting(name) for name in CALLERS)
    for name, number in queue.drain():
        taken[name].append(number)
    assert taken == put
    assert (len(queue), queue.take()) == (0, None)


@given(st.integers(1, 60), st.lists(st.sampled_from(CALLERS), max_size=300))
def test_however_many_are_sent_each_caller_leaves_a_third_of_what_he_found(places, calls):
    queue = FairQueue()
    for caller in calls:
        if queue.admits(caller, places):
            queue.put(caller, caller)
    assert len(queue) <= places
    free = places - len(queue)
    assert free >= places // 3 ** len(set(calls))
    assert queue.admits("somebody new", places) == (free > 0)


def test_who_is_alone_has_two_places_of_three_and_of_few_places_all():
    for places, most in ((1, 1), (2, 2), (3, 2), (30, 20), (33, 22)):
        queue = FairQueue()
        while queue.admits("a", places):
            queue.put("a", 0)
        assert len(queue) == most


@given(STEPS, st.sets(st.sampled_from(CALLERS)))
def test_who_may_not_keeps_his_turn_and_holds_up_nobody_who_may(steps, able):
    queue = FairQueue()
    for number, caller in enumerate(steps):
        if caller is not None:
            queue.put(caller, number)
    others = {name: queue.waiting(name) for name in CALLERS if name not in able}
    while (found := queue.take(able.__contains__)) is not None:
        assert found[0] in able
    assert {name: queue.waiting(name) for name in others} == others
    assert len(queue) == sum(others.values())
