"""Metrics of a service, for Prometheus: how many calls, how long, how they ended; nothing about values."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class PolicyMetrics:
    """What became of policy files that were changed while the facility runs."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.failed = Gauge(
            "sdcgate_policy_reload_failed",
            "1 while changed policy files cannot be used and the policies from before apply.",
            registry=registry,
        )
        self.reloads = Counter(
            "sdcgate_policy_reloads",
            "Attempts to load changed policy files, by what became of them.",
            ["result"],
            registry=registry,
        )
        self.loaded = Gauge(
            "sdcgate_policy_loaded_timestamp_seconds",
            "When the policies that apply were loaded.",
            registry=registry,
        )
        for result in ("loaded", "failed"):
            self.reloads.labels(result)


class Metrics:
    """The metrics of one service, in a registry of its own."""

    def __init__(self, service: str) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.calls = Counter(
            "sdcgate_calls",
            "Calls that ended, by method and status.",
            ["service", "method", "code"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "sdcgate_call_seconds",
            "Duration of calls.",
            ["service", "method"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.running = Gauge("sdcgate_calls_running", "Calls under way.", ["service"], registry=self.registry)
        self.ready = Gauge(
            "sdcgate_ready", "1 when the service takes calls.", ["service"], registry=self.registry
        )
        self.service = service
        self.ready.labels(service).set(0)
        self.running.labels(service).set(0)

    def ended(self, method: str, code: str, seconds: float) -> None:
        """Count one call."""
        self.calls.labels(self.service, method, code).inc()
        self.seconds.labels(self.service, method).observe(seconds)

    def exposition(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return generate_latest(self.registry)
