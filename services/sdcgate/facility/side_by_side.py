"""Questions that do not rest on each other, asked side by side on the machine's processors."""

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

Answer = TypeVar("Answer")


def answers(questions: Sequence[Callable[[], Answer]]) -> Generator[Answer, None, None]:
    """The answers in the order of the questions, at least one; errors are raised in that order, too.

    Who asks works as well, from the first question on, and the other threads from the last: so nobody waits
    for a thread that is busy with somebody else's questions. What is not begun when no further answer is
    taken is left.
    """
    first, others = questions[0], questions[1:]
    begun = [_threads().submit(copy_context().run, question) for question in reversed(others)][::-1]
    try:
        yield first()
        for question, one in zip(others, begun, strict=True):
            yield question() if one.cancel() else one.result()
    finally:
        for one in begun:
            one.cancel()


@cache
def _threads() -> ThreadPoolExecutor:
    # Who asks works as well.
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="side-by-side")
