"""Questions asked side by side are answered as if they had been asked one after the other."""

from contextlib import closing
from contextvars import ContextVar
from threading import Barrier, Event, Thread

import pytest

from sdcgate.facility.side_by_side import answers

CALLER = ContextVar("caller", default="nobody")


def test_answers_come_in_the_order_of_the_questions_whichever_is_found_first():
    last_is_done = Event()

    def first():
        assert last_is_done.wait(10)
        return "first"

    def last():
        last_is_done.set()
        return "last"

    assert list(answers([last, first])) == ["last", "first"]
    last_is_done.clear()
    meeting = Barrier(2, timeout=10)
    assert list(answers([lambda: meeting.wait() < 2, lambda: meeting.wait() < 2])) == [True, True]


def test_nobody_waits_for_threads_that_are_busy_with_the_questions_of_others():
    """Somebody else asks more than there are threads, and none of it ends before it may."""
    may_end = Event()
    others = Thread(target=lambda: list(answers([may_end.wait] * 200)))
    others.start()
    try:
        assert list(answers([lambda: 1, lambda: 2, lambda: 3])) == [1, 2, 3]
    finally:
        may_end.set()
        others.join()


def test_who_asks_works_on_what_is_left_while_an_answer_is_awaited():
    last_is_done, begun = Event(), Event()

    def first():
        assert begun.wait(10)
        return 1

    def second():
        begun.set()
        assert last_is_done.wait(10)
        return 2

    assert list(answers([first, second, lambda: 3, lambda: last_is_done.set() or 4])) == [1, 2, 3, 4]


def test_an_error_of_what_was_worked_on_meanwhile_is_raised_in_its_turn():
    last_is_asked, begun = Event(), Event()

    def second():
        begun.set()
        assert last_is_asked.wait(10)
        return 2

    def fails():
        last_is_asked.set()
        raise ValueError("third")

    found = answers([lambda: begun.wait(10), second, fails])
    assert [next(found), next(found)] == [True, 2]
    with pytest.raises(ValueError, match="third"):
        next(found)


def test_of_no_questions_there_are_no_answers():
    assert list(answers([])) == []


def test_an_error_is_raised_where_its_answer_would_be_and_not_before():
    def fails():
        raise ValueError("second")

    found = answers([lambda: 1, fails, lambda: 3])
    assert next(found) == 1
    with pytest.raises(ValueError, match="second"):
        next(found)


def test_an_error_behind_the_answer_that_is_taken_is_never_raised():
    def fails():
        raise ValueError("never asked for")

    with closing(answers([lambda: 1, fails])) as found:
        assert next(found) == 1


def test_questions_know_who_asks():
    CALLER.set("ada")
    assert list(answers([CALLER.get, CALLER.get])) == ["ada", "ada"]
