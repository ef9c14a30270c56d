"""Looks every few seconds at how ledger, referrals and policies stand, for the metrics."""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from sdcgate.ledger.errors import LedgerError
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.standing import standing
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.servers.facility_metrics import LedgerMetrics
from sdcgate.servers.logging import logger, places
from sdcgate.servers.verification_file import last_verification

Applied = Callable[[], Iterable[tuple[str, EffectivePolicy]]]
"""Datasets, each with the policy that applies to it."""


class StandingWatch:
    """A thread that makes the metrics of the ledger anew; a silent database keeps nobody else waiting."""

    def __init__(
        self, ledger: Ledger, applied: Applied, verification: Path, metrics: LedgerMetrics, seconds: float
    ) -> None:
        self._ledger = ledger
        self._applied = applied
        self._verification = verification
        self._metrics = metrics
        self._seconds = seconds
        self._log = logger("facility")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="standing", daemon=True)

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def look(self) -> None:
        """Look once."""
        try:
            self._metrics.stands(standing(self._ledger), time.time())
        except LedgerError:
            self._metrics.unreachable()
        self._metrics.applies(self._applied())
        found = last_verification(self._verification)
        if found is not None:
            self._metrics.verified(*found)

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except Exception as error:
                self._log.error("standing not seen", error=type(error).__name__, places=places(error))
            if self._stop.wait(self._seconds):
                return
