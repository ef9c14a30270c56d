"""Metrics that every service has, for Prometheus: calls, waiting, threads, build; nothing about values."""

import platform
from collections.abc import Iterator
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from sdcgate.servers.rooms import Rooms

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


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
            buckets=SECONDS,
            registry=self.registry,
        )
        self.waited = Histogram(
            "sdcgate_wait_seconds",
            "How long calls waited for a thread before they began.",
            ["service"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.running = Gauge("sdcgate_calls_running", "Calls under way.", ["service"], registry=self.registry)
        self.ready = Gauge(
            "sdcgate_ready", "1 when the service takes calls.", ["service"], registry=self.registry
        )
        self.service = service
        build = Gauge(
            "sdcgate_build_info",
            "Always 1; the labels say what runs.",
            ["service", "version", "python"],
            registry=self.registry,
        )
        build.labels(service, version("sdcgate"), platform.python_version()).set(1)
        self.ready.labels(service).set(0)
        self.running.labels(service).set(0)

    def ended(self, method: str, code: str, seconds: float) -> None:
        """Count one call."""
        self.calls.labels(self.service, method, code).inc()
        self.seconds.labels(self.service, method).observe(seconds)

    def watch(self, rooms: Rooms) -> None:
        """Show the threads that answer calls."""
        self.registry.register(_Saturation(self.service, rooms))

    def exposition(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return generate_latest(self.registry)


class _Saturation(Collector):
    """How full the rooms are, looked at whenever somebody asks."""

    def __init__(self, service: str, rooms: Rooms) -> None:
        self._service = service
        self._rooms = rooms

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are at this moment."""
        labels = ["service", "room"]
        threads = GaugeMetricFamily("sdcgate_threads", "Threads that may answer calls.", labels=labels)
        busy = GaugeMetricFamily("sdcgate_threads_busy", "Threads that answer a call.", labels=labels)
        places = GaugeMetricFamily(
            "sdcgate_waiting_places", "Calls that may wait for a thread; more are turned away.", labels=labels
        )
        waiting = GaugeMetricFamily("sdcgate_calls_waiting", "Calls that wait for a thread.", labels=labels)
        turned_away = CounterMetricFamily(
            "sdcgate_calls_turned_away", "Calls that found no place to wait.", labels=labels
        )
        for name, room in self._rooms.by_name.items():
            of_room = (self._service, name)
            threads.add_metric(of_room, room.threads)
            busy.add_metric(of_room, room.busy)
            places.add_metric(of_room, room.most_waiting)
            waiting.add_metric(of_room, room.waiting)
            turned_away.add_metric(of_room, room.turned_away)
        yield from (threads, busy, places, waiting, turned_away)
