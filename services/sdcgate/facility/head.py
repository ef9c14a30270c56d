"""The ledger's present head: what is known there, and trying again until nobody else was faster."""

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.errors import TimeOver, Unavailable
from sdcgate.facility.knowledge import Knowledge
from sdcgate.facility.known_sources import KnowledgeOfSources
from sdcgate.facility.pace import Pace
from sdcgate.facility.watching import Stage, watcher
from sdcgate.ledger.ledger import HeadMoved

T = TypeVar("T")

OPTIMISTIC_TRIES = 3
TRIES = 20


class Head:
    """What all kinds of queries share of steps 4 and 8."""

    def __init__(self, knowledge: KnowledgeOfSources) -> None:
        self._knowledge = knowledge
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def known(self, dataset: Dataset) -> Knowledge:
        """Step 4: what has left of a dataset's source."""
        with watcher().stage(Stage.KNOWLEDGE):
            return self._knowledge.of(dataset.source, dataset.name, dataset.version)

    def attempt(self, source: str, attempt: Callable[[], T], pace: Pace) -> T:
        """Step 8: try at the present head; if others were faster, again, at last under the source's lock.

        Raises:
            TimeOver: the caller's time ended before.
            Unavailable: others were faster again and again.
        """
        for number in range(TRIES):
            if pace.left() <= 0:
                raise TimeOver()
            try:
                if number < OPTIMISTIC_TRIES:
                    return attempt()
                with self._locks[source]:
                    return attempt()
            except HeadMoved:
                watcher().overtaken()
        raise Unavailable("Too many others are asking this dataset at the moment; try again.")
