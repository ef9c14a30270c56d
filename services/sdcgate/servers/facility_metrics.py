"""Metrics of the facility: decisions, risks, audits, ledger, referrals; for operators, not for researchers.

Datasets are labels, as stewards register them: there are few, and nobody else names them. What researchers
and checkers name (queries, projects, themselves) is none. Nothing is of a single cell.
"""

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sdcgate.facility.fitting_room import FittingRoom
from sdcgate.facility.watching import Stage
from sdcgate.ledger.standing import Standing
from sdcgate.methods.risk.individual import TableRisk
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.servers.metrics import SECONDS
from sdcgate.servers.tracing import Tracing

_SHARES = (1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
_ROUNDS = (1, 2, 3, 4, 6, 8)


class QueryMetrics:
    """What becomes of queries; told by the facility while it answers (facility.watching.Watcher)."""

    def __init__(self, registry: CollectorRegistry, tracing: Tracing) -> None:
        self._tracing = tracing
        self._decisions = Counter(
            "sdcgate_decisions", "Decisions recorded.", ["dataset", "verdict"], registry=registry
        )
        self._reasons = Counter(
            "sdcgate_decision_reasons",
            "Decisions recorded, by each code of their reasons.",
            ["dataset", "verdict", "reason"],
            registry=registry,
        )
        self._repeated = Counter(
            "sdcgate_repeated_answers",
            "Requests answered from the ledger, as they were before.",
            ["dataset", "verdict"],
            registry=registry,
        )
        self._reviews = Counter(
            "sdcgate_reviews", "Decisions of output checkers.", ["dataset", "verdict"], registry=registry
        )
        self._risk = Histogram(
            "sdcgate_table_risk_share",
            "Expected correct matches of judged tables, as a share of the units asked about.",
            ["dataset"],
            buckets=_SHARES,
            registry=registry,
        )
        self._audits = Counter(
            "sdcgate_audits",
            "Audits of what was about to leave, proved or unproved.",
            ["dataset", "result"],
            registry=registry,
        )
        self._rounds = Histogram(
            "sdcgate_audit_rounds",
            "How often cells were withheld and looked at anew in an audit.",
            buckets=_ROUNDS,
            registry=registry,
        )
        self._stages = Histogram(
            "sdcgate_stage_seconds",
            "Duration of the stages of a query; protect is a part of proof.",
            ["stage"],
            buckets=SECONDS,
            registry=registry,
        )
        self._overtaken = Counter(
            "sdcgate_append_conflicts",
            "Decisions made anew, as others were recorded in the meantime.",
            registry=registry,
        )
        for stage in Stage:
            self._stages.labels(stage)

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[None]:
        """Time a stage, and trace it."""
        began = time.perf_counter()
        try:
            with self._tracing.span(f"facility.{stage}"):
                yield
        finally:
            self._stages.labels(stage).observe(time.perf_counter() - began)

    def judged(self, dataset: str, risk: TableRisk | None) -> None:
        """Count the risk of a table as a whole."""
        if risk is not None and risk.base_units > 0:
            self._risk.labels(dataset).observe(risk.expected_matches / risk.base_units)

    def audited(self, dataset: str, proved: bool, rounds: int) -> None:
        """Count an audit."""
        self._audits.labels(dataset, "proved" if proved else "unproved").inc()
        self._rounds.observe(rounds)

    def decided(self, dataset: str, verdict: str, reasons: Collection[str]) -> None:
        """Count a decision."""
        self._decisions.labels(dataset, verdict).inc()
        for reason in reasons:
            self._reasons.labels(dataset, verdict, reason).inc()
        self._tracing.note({"sdcgate.dataset": dataset, "sdcgate.verdict": verdict})

    def repeated(self, dataset: str, verdict: str) -> None:
        """Count a repeated answer."""
        self._repeated.labels(dataset, verdict).inc()
        self._tracing.note({"sdcgate.dataset": dataset, "sdcgate.verdict": verdict})

    def reviewed(self, dataset: str, verdict: str) -> None:
        """Count a review."""
        self._reviews.labels(dataset, verdict).inc()
        self._tracing.note({"sdcgate.dataset": dataset, "sdcgate.verdict": verdict})

    def overtaken(self) -> None:
        """Count a conflict."""
        self._overtaken.inc()


class LedgerMetrics:
    """How the ledger and what waits in it stand, as somebody looks every few seconds."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._reachable = Gauge(
            "sdcgate_ledger_reachable", "1 while the ledger's database answers.", registry=registry
        )
        self._events = Gauge("sdcgate_ledger_events", "Events in the ledger.", registry=registry)
        self._newest = Gauge(
            "sdcgate_ledger_head_timestamp_seconds",
            "When the newest event was recorded; 0 where there is none.",
            registry=registry,
        )
        self._verified = Gauge(
            "sdcgate_ledger_verified_timestamp_seconds",
            "When `sdcgate ledger verify` last ended; 0 where it never did.",
            registry=registry,
        )
        self._faults = Gauge(
            "sdcgate_ledger_verified_faults", "Faults that the last verification found.", registry=registry
        )
        self._verified_events = Gauge(
            "sdcgate_ledger_verified_events",
            "Events that the last verification looked at.",
            registry=registry,
        )
        self._referred = Gauge(
            "sdcgate_referred_queries",
            "Queries that wait for an output checker.",
            ["dataset"],
            registry=registry,
        )
        self._oldest = Gauge(
            "sdcgate_referred_oldest_seconds",
            "How long the oldest query has waited for an output checker.",
            ["dataset"],
            registry=registry,
        )
        self._policies = Gauge(
            "sdcgate_policy_info",
            "Always 1; the labels say which policy applies to a dataset.",
            ["dataset", "policy", "hash"],
            registry=registry,
        )

    def stands(self, standing: Standing, now: float) -> None:
        """Show how the ledger stands at a moment (seconds since 1970)."""
        self._reachable.set(1)
        self._events.set(standing.events)
        self._newest.set(standing.newest.timestamp() if standing.newest is not None else 0)
        self._referred.clear()
        self._oldest.clear()
        for referred in standing.referred:
            self._referred.labels(referred.dataset).set(referred.queries)
            self._oldest.labels(referred.dataset).set(max(0.0, now - referred.oldest.timestamp()))

    def unreachable(self) -> None:
        """Show that the ledger does not answer; what was seen last stays."""
        self._reachable.set(0)

    def verified(self, moment: float, events: int, faults: int) -> None:
        """Show what the last verification found (seconds since 1970)."""
        self._verified.set(moment)
        self._verified_events.set(events)
        self._faults.set(faults)

    def applies(self, policies: Iterable[tuple[str, EffectivePolicy]]) -> None:
        """Show which policy applies to each dataset."""
        self._policies.clear()
        for dataset, policy in policies:
            self._policies.labels(dataset, policy.name, policy.hash).set(1)


class FittingMetrics:
    """How busy the processes are in which models are fitted."""

    def __init__(self, registry: CollectorRegistry, room: FittingRoom) -> None:
        workers = Gauge("sdcgate_fitting_workers", "Models that are fitted at once.", registry=registry)
        workers.set_function(lambda: room.workers)
        asked = Gauge(
            "sdcgate_fits_running", "Models being fitted, or waiting for a worker.", registry=registry
        )
        asked.set_function(lambda: room.asked)
