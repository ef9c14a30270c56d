"""Questions that do not rest on each other, asked side by side on the machine's processors."""

import os
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

Answer = TypeVar("Answer")


def answers(questions: Sequence[Callable[[], Answer]]) -> Generator[Answer, None, None]:
    """The answers in the order of the questions, whichever is found first; errors are raised in that order.

    What waits when no further answer is taken is not begun. A question must not ask others so: it would wait
    for a thread that waits for it.
    """
    waiting = [_threads().submit(copy_context().run, question) for question in questions]
    try:
        for one in waiting:
            yield one.result()
    finally:
        for one in waiting:
            one.cancel()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(2, os.cpu_count() or 1), thread_name_prefix="side-by-side")
