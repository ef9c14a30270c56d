"""Openings of queries by output checkers: who saw true cells, of which query, and when.

An opening is an event and nothing else: no answer rests on it, so it has no row to be looked up by.
"""

from sdcgate.ledger.events import OPENING, Draft
from sdcgate.ledger.ledger import Ledger


class Openings:
    """Records openings."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def append(self, query_id: str, reviewer: str, author: str) -> None:
        """Record that a checker (`author` is his key) opens a query, before he sees it.

        Raises:
            LedgerTruncated, LedgerDamaged, LedgerUnavailable: nothing may be, or could be, recorded.
        """
        fields = {"query": query_id, "reviewer": reviewer, "author": author}
        self._ledger.append(Draft(OPENING, fields), lambda _: None)
