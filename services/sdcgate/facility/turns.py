"""Turns at work of which a few calls could take all: nobody has more than some at once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from sdcgate.facility.errors import Unavailable


class Turns:
    """How many turns each researcher has, and all together."""

    def __init__(self, most: int, busy: str, altogether: int | None = None, crowded: str = "") -> None:
        """`busy` and `crowded` are what is said where one, or all together, have as many as may be."""
        self._most = most
        self._busy = busy
        self._altogether = altogether
        self._crowded = crowded
        self._taken: Counter[str] = Counter()
        self._lock = Lock()

    @contextmanager
    def taken(self, researcher: str) -> Iterator[None]:
        """A turn while the context lasts.

        Raises:
            Unavailable: the researcher has as many as may be, or all have.
        """
        with self._lock:
            if self._taken[researcher] >= self._most:
                raise Unavailable(self._busy)
            if self._altogether is not None and self._taken.total() >= self._altogether:
                raise Unavailable(self._crowded)
            self._taken[researcher] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[researcher] -= 1
                if not self._taken[researcher]:
                    del self._taken[researcher]
