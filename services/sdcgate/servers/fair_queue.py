"""Calls that wait, in turns by who calls: nobody waits for more than one call of each other caller.

Fair queueing by round-robin: Nagle, "On packet switches with infinite storage", RFC 970 (1985). How many of
each may wait: dynamic thresholds, Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory
packet switches", IEEE/ACM Transactions on Networking 6(2), 1998.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")

SHARE = 2
"""So many times the free places each caller may have: of two in three at most, where nobody else waits.
Of threads, too."""


class FairQueue(Generic[T]):
    """First come, first served within a caller; callers take turns. Not for several threads at once."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, deque[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def waiting(self, caller: Hashable) -> int:
        """How many of a caller wait."""
        return len(self._waiting.get(caller, ()))

    def admits(self, caller: Hashable, places: int) -> bool:
        """Whether one more of a caller may wait where there are so many places for all.

        A caller may have twice as many as are free, so that he leaves a third of what he found.
        """
        free = places - self._length
        return free > 0 and self.waiting(caller) < SHARE * free

    def put(self, caller: Hashable, item: T) -> None:
        """Let one of a caller wait, behind his others; a caller who had none comes after all others."""
        self._waiting.setdefault(caller, deque()).append(item)
        self._length += 1

    def take(self, may: Callable[[Hashable], bool] = lambda caller: True) -> tuple[Hashable, T] | None:  # noqa: ARG005
        """The next and its caller: the oldest of whose turn it is among those who may; None where nobody."""
        caller = self.next(may)
        if caller is None:
            return None
        items = self._waiting.pop(caller[0])
        item = items.popleft()
        self._length -= 1
        if items:
            self._waiting[caller[0]] = items
        return caller[0], item

    def next(self, may: Callable[[Hashable], bool]) -> tuple[Hashable] | None:
        """Whose turn it is among those who may; None where none of them waits."""
        return next(((caller,) for caller in self._waiting if may(caller)), None)

    def drain(self) -> Iterator[T]:
        """Take all."""
        while (taken := self.take()) is not None:
            yield taken[1]
