"""Questions that do not rest on each other, asked side by side on the machine's processors."""

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

Answer = TypeVar("Answer")


def answers(questions: Sequence[Callable[[], Answer]]) -> Generator[Answer, None, None]:
    """The answers in the order of the questions; errors are raised in that order, too.

    Other threads begin with the second question, and who asks works as well: as long as an answer that comes
    next is not found yet, on what nobody has begun, from the last on. So nobody waits for a thread that is
    busy with somebody else's questions. What is not begun when no further answer is taken is left.
    """
    begun = [_threads().submit(copy_context().run, question) for question in questions[1:]]
    own: dict[int, Future[Answer]] = {}
    left = list(range(1, len(questions)))
    try:
        for place, question in enumerate(questions):
            if place == 0 or (place not in own and begun[place - 1].cancel()):
                yield question()
                continue
            while place not in own and left and not begun[place - 1].done():
                last = left.pop()
                if last > place and begun[last - 1].cancel():
                    own[last] = _asked(questions[last])
            yield (own[place] if place in own else begun[place - 1]).result()
    finally:
        for one in begun:
            one.cancel()


def _asked(question: Callable[[], Answer]) -> "Future[Answer]":
    """A question's answer, or its error, for later."""
    found: Future[Answer] = Future()
    try:
        found.set_result(question())
    except Exception as error:
        found.set_exception(error)
    return found


@cache
def _threads() -> ThreadPoolExecutor:
    # Who asks works as well.
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="side-by-side")
