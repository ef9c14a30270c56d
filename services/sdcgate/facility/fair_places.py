"""Places at work that a few calls could take: each goes to whoever has fewest, and nobody has all."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Condition
from time import monotonic
from typing import Generic, TypeVar

from sdcgate.facility.errors import TimeOver

T = TypeVar("T")

_CALLER: ContextVar[str] = ContextVar("caller", default="")


@contextmanager
def working_for(caller: str) -> Iterator[None]:
    """Whose work is done while the context lasts."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


class FairPlaces(Generic[T]):
    """Some places, each of which one call has at a time.

    A place that is free goes to the caller who has fewest, and among those to who waits longest. Where there
    are several places, no caller has all of them, so that a short question of somebody else waits for no long
    one of his.
    """

    def __init__(self, places: list[T]) -> None:
        self._free = list(reversed(places))
        self._most = max(1, len(places) - 1)
        self._taken: Counter[str] = Counter()
        self._waiting: dict[int, str] = {}
        self._tickets = 0
        self._changed = Condition()

    @contextmanager
    def taken(self, seconds: float) -> Iterator[T]:
        """A place for the caller of `working_for` while the context lasts: the one last used with success.

        Raises:
            TimeOver: none was his in time.
        """
        caller = _CALLER.get()
        place, failed = self._wait(caller, monotonic() + seconds), True
        try:
            yield place
            failed = False
        finally:
            with self._changed:
                # A worker that was ended begins anew meanwhile: whoever comes next takes another one.
                self._free.insert(0 if failed else len(self._free), place)
                self._taken[caller] -= 1
                if not self._taken[caller]:
                    del self._taken[caller]
                self._changed.notify_all()

    def _wait(self, caller: str, until: float) -> T:
        with self._changed:
            self._tickets += 1
            ticket = self._tickets
            self._waiting[ticket] = caller
            try:
                while self._next() != ticket:
                    if not self._changed.wait(until - monotonic()) and monotonic() >= until:
                        raise TimeOver
                self._taken[caller] += 1
                return self._free.pop()
            finally:
                del self._waiting[ticket]
                # Who comes next may have a place, too.
                self._changed.notify_all()

    def _next(self) -> int | None:
        """The ticket whose turn it is; None where nobody may have a place."""
        if not self._free:
            return None
        may = [(self._taken[who], ticket) for ticket, who in self._waiting.items()]
        return min(((has, ticket) for has, ticket in may if has < self._most), default=(0, None))[1]
