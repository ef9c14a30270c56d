"""What is known of each source, read from the ledger once and kept in memory as far as it has grown."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sdcgate.facility.kept_releases import Left, left_of
from sdcgate.facility.knowledge import Knowledge, KnownQuantity
from sdcgate.ledger.ledger import Ledger
from sdcgate.methods.tables.span import Span


class KnowledgeOfSources:
    """Knowledge of each source, read from the ledger once and extended as it grows."""

    def __init__(self, ledger: Ledger, rng: np.random.Generator) -> None:
        self._ledger = ledger
        self._rng = rng
        self._sequences: dict[str, int] = {}
        self._known: dict[str, dict[tuple[str, int], Knowledge]] = {}
        self._lock = threading.Lock()

    def of(self, source: str, dataset: str, version: int) -> Knowledge:
        """What is known of a version of a source at the ledger's present head."""
        with self._lock:
            known, sequence = self._read(source)
            mine = known.get((dataset, version), self.nothing())
            others = bool(known.keys() - {(dataset, version)})
            return replace(mine, sequence=sequence, other_versions=others)

    def versions(self, source: str) -> frozenset[tuple[str, int]]:
        """Datasets of a source and versions of them of which something has left, or was held.

        Whether an answer is held is told of the data, too: where it is not any more, that is of who changed.
        """
        with self._lock:
            known, _ = self._read(source)
            return frozenset(known)

    def events(self, source: str, after: int, until: int) -> Iterator[Left]:
        """What left of a source, and what refusals told, after one sequence and until another."""
        for stored in self._ledger.releases(source, after_sequence=after):
            if stored.sequence <= until:
                yield left_of(stored)

    def left(self, source: str) -> Iterator[Left]:
        """All that left of a source, event after event; what refusals told is none."""
        for stored in self._ledger.releases(source):
            left = left_of(stored)
            if not left.of_refusal:
                yield left

    def nothing(self) -> Knowledge:
        """What is known of a source of which nothing has left."""
        return Knowledge(0, {}, KnownQuantity(Span({}, rng=self._rng)))

    def _read(self, source: str) -> tuple[dict[tuple[str, int], Knowledge], int]:
        """What is known of each version of a source at the ledger's present head, and that head."""
        known = self._known.setdefault(source, {})
        sequence, before = self._ledger.source_sequence(source), self._sequences.get(source, 0)
        if before < sequence:
            for stored in self._ledger.releases(source, after_sequence=before):
                left = left_of(stored)
                known[left.version] = with_event(known.get(left.version, self.nothing()), left)
                sequence = max(sequence, stored.sequence)
            self._sequences[source] = sequence
        return known, max(before, sequence)


def with_event(known: Knowledge, left: Left) -> Knowledge:
    """What is known of a version with what one more event of it made known."""
    grown = known.grown(left.tables).told_by_fits(left.fits).limited(left.limits)
    noisy, windows = (*grown.noisy, *left.noisy), (*grown.windows, *left.windows)
    equations = (*grown.equations, *left.equations)
    drawn = (*grown.drawn, *([left.drawn] if left.drawn.tables else []))
    return replace(grown, noisy=noisy, windows=windows, equations=equations, drawn=drawn)
