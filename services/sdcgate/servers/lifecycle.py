"""The life of a gRPC service: listen, warm up, take calls, drain, stop.

Probes answer from the first moment. Connections wait until the warm-up is done: a caller of several replicas
asks the others meanwhile, which it would not do of one that answered and turned its calls away. The signal to
stop takes the service out of readiness, lets running calls end, then closes.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from sdcgate.facility.watching import Watcher
from sdcgate.servers import interceptors
from sdcgate.servers.authentication import Authenticate
from sdcgate.servers.certificates import server_credentials
from sdcgate.servers.logging import configure, logger, places
from sdcgate.servers.metrics import Metrics
from sdcgate.servers.pacing import Pacing
from sdcgate.servers.probes import Probes
from sdcgate.servers.process import Signals, keep_what_is_there, write_ready_file
from sdcgate.servers.rooms import CheckLane, ReadLane, Rooms
from sdcgate.servers.settings import GrpcServer, Settings
from sdcgate.servers.tracing import Tracing

AddToServer = Callable[[grpc.Server], None]
_CHECK_SECONDS = 0.2


class Running:
    """A service that listens."""

    def __init__(
        self,
        name: str,
        add_to_server: AddToServer,
        service_names: list[str],
        section: GrpcServer,
        authenticate: Authenticate,
        ready: Callable[[], bool] | None = None,
        check: CheckLane | None = None,
        metrics: Metrics | None = None,
        tracing: Tracing | None = None,
        watcher: Watcher | None = None,
        read: ReadLane | None = None,
    ) -> None:
        self.name = name
        self.metrics = metrics or Metrics(name)
        self.rooms = Rooms(name, section, check, read)
        self.metrics.watch(self.rooms)
        self._names = service_names
        self._section = section
        self._also_ready = ready
        self._takes_calls = False
        self._lanes = {
            interceptors.HEALTH: ThreadPoolExecutor(2, thread_name_prefix=f"{name}-health"),
            interceptors.REFLECTION: ThreadPoolExecutor(2, thread_name_prefix=f"{name}-reflection"),
        }
        self._health = _Health(self.is_ready)
        self._server = grpc.server(
            self.rooms.own,
            interceptors=[self._chain(authenticate, tracing or Tracing(), watcher)],
            options=[
                ("grpc.max_receive_message_length", section.maximum_message_bytes),
                ("grpc.max_send_message_length", section.maximum_message_bytes),
                # Two processes on one port would share its calls silently.
                ("grpc.so_reuseport", 0),
                # Calls under way end on the old connection; the deadline of each call bounds them.
                ("grpc.max_connection_age_ms", int(section.connection_seconds * 1000)),
            ],
        )
        add_to_server(self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        reflection.enable_server_reflection(
            [*service_names, health.SERVICE_NAME, reflection.SERVICE_NAME], self._server
        )
        port = bind(self._server, section)
        self.address = f"{section.host}:{port}"
        self.probes = Probes(section.metrics_host, section.metrics_port, self.metrics, self.is_ready)
        self._show()

    def _chain(
        self, authenticate: Authenticate, tracing: Tracing, watcher: Watcher | None
    ) -> interceptors.Chain:
        links: list[interceptors.Link] = [
            Pacing(self.rooms.own.rest),
            interceptors.RequestId(),
            interceptors.Errors(),
            interceptors.Traced(tracing),
            interceptors.Logging(self.name),
            interceptors.Counting(self.metrics),
            interceptors.Deadline(self._section.maximum_deadline_seconds),
            interceptors.Authentication(authenticate),
        ]
        if watcher is not None:
            links.append(interceptors.Watched(watcher))
        return interceptors.Chain(links, self.rooms, self._lanes, authenticate)

    def start(self, warm_up: Callable[[], None] | None = None) -> None:
        """Answer probes, warm up, then take calls."""
        self.probes.start()
        if warm_up is not None:
            warm_up()
        self._takes_calls = True
        self._show()
        self._server.start()

    def is_ready(self) -> bool:
        """Whether the service takes calls and what it needs is there."""
        ready = self._takes_calls and (self._also_ready is None or _quietly(self._also_ready))
        self._show(ready)
        return ready

    def _show(self, ready: bool | None = None) -> None:
        """Tell health, its watchers and the metrics."""
        ready = self._takes_calls if ready is None else ready
        serving = health_pb2.HealthCheckResponse
        for service in ("", *self._names):
            self._health.set(service, serving.SERVING if ready else serving.NOT_SERVING)
        self.metrics.ready.labels(self.name).set(int(ready))

    def drain(self, seconds: float | None = None) -> Event:
        """Take no new calls; the event is set when the running ones have ended or `seconds` have passed."""
        # What has come is answered; the connections tell callers that no more is taken here.
        self._takes_calls = False
        self._show(False)
        self._health.enter_graceful_shutdown()
        stopped: Event = self._server.stop(self._section.drain_seconds if seconds is None else seconds)
        return stopped

    def close(self) -> None:
        """Free threads and ports after the drain."""
        self.probes.stop()
        for pool in (*self.rooms.all, *self._lanes.values()):
            pool.shutdown(wait=False, cancel_futures=True)

    def stop(self, seconds: float | None = None) -> None:
        """Drain and close."""
        self.drain(seconds).wait()
        self.close()


def serve(
    name: str,
    add_to_server: AddToServer,
    service_names: list[str],
    settings: Settings,
    authenticate: Authenticate,
    warm_up: Callable[[], None] | None = None,
    ready: Callable[[], bool] | None = None,
    check: CheckLane | None = None,
    metrics: Metrics | None = None,
    tracing: Tracing | None = None,
    watcher: Watcher | None = None,
    read: ReadLane | None = None,
) -> None:
    """Run a service until SIGTERM or SIGINT; a second signal ends running calls at once.

    `name` is the section of the settings. `authenticate` gets the bearer token of every call and returns the
    caller (`authentication.caller()` in the handler) or None. `ready` is asked by every probe: keep it cheap.
    `check` keeps calls of people apart from those of the house's services, where both call. `metrics` are
    those of the service, where it counts more than calls; `tracing` likewise. `watcher` watches every call.
    `read` keeps calls that only read apart.
    Raises RuntimeError or OSError where a port is taken or a TLS file cannot be used.
    """
    configure(name, settings.log_level)
    section: GrpcServer = getattr(settings, name)
    ready_file = settings.ready_file(name, section)
    ready_file.unlink(missing_ok=True)
    tracing = tracing or Tracing.of(settings, name)
    running = Running(
        name,
        add_to_server,
        service_names,
        section,
        authenticate,
        ready,
        check,
        metrics,
        tracing,
        watcher,
        read,
    )
    signals = Signals()
    log = logger(name)

    def begin() -> None:
        if warm_up is not None:
            warm_up()
        keep_what_is_there()

    try:
        running.start(begin)
        write_ready_file(ready_file, running.address, running.probes.address)
        log.info("ready", address=running.address, metrics=running.probes.address)
        signals.first.wait()
        log.info("draining")
    except Exception as error:
        log.error("failed to start", error=type(error).__name__, places=places(error))
        raise
    finally:
        ready_file.unlink(missing_ok=True)
        stopped = running.drain()
        while not stopped.wait(_CHECK_SECONDS):
            if signals.second.is_set():
                running.drain(0)
        running.close()
        tracing.shut_down()
    log.info("stopped", abandoned=running.rooms.busy)
    if running.rooms.busy:
        os._exit(0)  # a thread that computes past the drain would hold the process


def bind(server: grpc.Server, section: GrpcServer) -> int:
    """Bind the port of a section, encrypted exactly if it has TLS files; returns the port."""
    where = f"{section.host}:{section.port}"
    if section.tls.enabled:
        return server.add_secure_port(where, server_credentials(section.tls))
    return server.add_insecure_port(where)


class _Health(health.HealthServicer):  # type: ignore[misc]
    """Health that looks anew each time it is asked."""

    def __init__(self, is_ready: Callable[[], bool]) -> None:
        super().__init__()
        self._is_ready = is_ready

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Look, then answer."""
        self._is_ready()
        return super().Check(request, context)


def _quietly(ready: Callable[[], bool]) -> bool:
    """Whether `ready` says so; not where it raises."""
    try:
        return ready()
    except Exception:
        return False
