"""Follows the ledger and tells its sinks what is new: a thread a sink, each with a cursor of its own.

The ledger is the source and is never waited for nor kept waiting: a sink that is slow, down or refuses stays
behind and is told the same again until it takes it, at least once and in order. Nobody who answers a query
knows of any of this.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge
from tenacity import (
    RetryCallState,
    RetryError,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_when_event_set,
    wait_exponential_jitter,
)

from sdcgate.ledger.ledger import Ledger
from sdcgate.servers.decision_log.cursor import Cursor, Place
from sdcgate.servers.decision_log.entries import Named, by_name, entry_of, pseudonyms, unnamed
from sdcgate.servers.decision_log.otlp import otlp_batch
from sdcgate.servers.decision_log.sinks import FileSink, HttpSink, NotDelivered, Sink, StdoutSink
from sdcgate.servers.decision_log.webhook import secret_of, webhook_batch
from sdcgate.servers.logging import logger, places
from sdcgate.servers.monitoring_settings import NAME, PSEUDONYM, DecisionLog
from sdcgate.servers.secret_files import secret
from sdcgate.servers.settings import Settings

FIRST_WAIT_SECONDS = 0.5
STOP_SECONDS = 2.0


class DecisionLogMetrics:
    """How far the sinks are."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.delivered = Gauge(
            "sdcgate_decision_log_delivered_sequence",
            "The newest event of the ledger that a sink of the decision log took.",
            ["sink"],
            registry=registry,
        )
        self.failures = Counter(
            "sdcgate_decision_log_failures",
            "Deliveries of the decision log that were not taken and are tried again.",
            ["sink"],
            registry=registry,
        )


class Follower:
    """Tells one sink what the ledger records."""

    def __init__(
        self,
        name: str,
        ledger: Ledger,
        sink: Sink,
        cursor: Cursor,
        named: Named,
        section: DecisionLog,
        metrics: DecisionLogMetrics,
    ) -> None:
        self._name = name
        self._ledger = ledger
        self._sink = sink
        self._cursor = cursor
        self._named = named
        self._section = section
        self._metrics = metrics
        self._log = logger("facility")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"decision-log-{name}", daemon=True)
        metrics.failures.labels(name)

    def start(self) -> None:
        """Follow from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Follow no more; a delivery under way may be made again after the next start."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                with self._cursor.held() as held:
                    while held and not self._stop.is_set():
                        if not self.step():
                            self._stop.wait(self._section.poll_seconds)
            except RetryError:
                return
            except Exception as error:
                # Whatever it was: who follows must not end by it.
                self._failed(type(error).__name__, places=places(error))
            self._stop.wait(self._section.poll_seconds)

    def step(self) -> bool:
        """Tell the sink the next events; whether there were any.

        Raises:
            LedgerError, OSError, ValueError: ledger or cursor cannot be used.
            RetryError: told to stop before the sink took them.
        """
        place = self._cursor.read()
        self._metrics.delivered.labels(self._name).set(place.sequence)
        head = self._ledger.head()
        if place == Place(head.sequence, head.hash):
            return False
        # The last one that was told comes along: it must be the one that it was.
        found = self._ledger.events_after(max(place.sequence - 1, 0), self._section.batch_events + 1)
        if place.sequence:
            if not found or (found[0].sequence, found[0].hash.hex()) != (place.sequence, place.hash):
                self._log.error(
                    "the ledger is not the one that was logged: all of it is logged anew", sink=self._name
                )
                self._cursor.write(Place())
                return True
            found = found[1:]
        if not found:
            return False
        found = found[: self._section.batch_events]
        entries = [entry_of(event, self._named) for event in found]
        self._retrying()(self._sink.deliver, entries)
        last = Place(found[-1].sequence, found[-1].hash.hex())
        self._cursor.write(last)
        self._metrics.delivered.labels(self._name).set(last.sequence)
        return True

    def _retrying(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception_type(NotDelivered),
            wait=wait_exponential_jitter(
                multiplier=FIRST_WAIT_SECONDS, max=self._section.longest_wait_seconds
            ),
            stop=stop_when_event_set(self._stop),
            sleep=sleep_using_event(self._stop),
            after=self._not_taken,
        )

    def _not_taken(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        if not self._stop.is_set():
            self._failed(str(error), tries=state.attempt_number)

    def _failed(self, why: str, **fields: object) -> None:
        self._metrics.failures.labels(self._name).inc()
        self._log.warning("decision log not delivered", sink=self._name, why=why, **fields)


def followers(settings: Settings, ledger: Ledger, registry: CollectorRegistry) -> Sequence[Follower]:
    """One for each sink that the settings name.

    Raises:
        OSError, ValueError: a secret or an authority cannot be used.
    """
    section, metrics = settings.decision_log, DecisionLogMetrics(registry)
    sinks = dict(_sinks(section))
    if not sinks:
        return ()
    named = _named(section, settings.state_dir / "keys" / "pseudonyms.key")
    folder = settings.state_dir / "decision-log"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return [
        Follower(name, ledger, sink, Cursor(folder / f"{name}.json"), named, section, metrics)
        for name, sink in sinks.items()
    ]


def _sinks(section: DecisionLog) -> list[tuple[str, Sink]]:
    found: list[tuple[str, Sink]] = []
    if section.file is not None:
        found.append(("file", FileSink(section.file)))
    if section.stdout:
        found.append(("stdout", StdoutSink()))
    if section.webhook.url:
        if section.webhook.secret_file is not None:
            secret_of(section.webhook.secret_file)
        batch = webhook_batch(section.webhook.secret_file)
        found.append(("webhook", HttpSink(section.webhook.url, section.webhook, batch)))
    if section.otlp.url:
        address = f"{section.otlp.url.rstrip('/')}/v1/logs"
        found.append(("otlp", HttpSink(address, section.otlp, otlp_batch)))
    return found


def _named(section: DecisionLog, key: Path) -> Named:
    if section.researchers == PSEUDONYM:
        return pseudonyms(secret(key))
    how: Callable[[str], str | None] = by_name if section.researchers == NAME else unnamed
    return how
