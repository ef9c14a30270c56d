"""Turns at work of which a few calls could take all: nobody has more than some at once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from sdcgate.facility.errors import Unavailable


class Turns:
    """How many turns each researcher has."""

    def __init__(self, most: int, busy: str) -> None:
        self._most = most
        self._busy = busy
        self._taken: Counter[str] = Counter()
        self._lock = Lock()

    @contextmanager
    def taken(self, researcher: str) -> Iterator[None]:
        """A turn while the context lasts.

        Raises:
            Unavailable: in the words of `busy`, where the researcher has as many as may be.
        """
        with self._lock:
            if self._taken[researcher] >= self._most:
                raise Unavailable(self._busy)
            self._taken[researcher] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[researcher] -= 1
                if not self._taken[researcher]:
                    del self._taken[researcher]
