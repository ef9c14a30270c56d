"""Runs the four services as processes, on ports that are free, and leaves none of them behind."""

import http
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import SystemRandom
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdcgate.servers.settings import Server, Settings

SERVICES = ("risk", "protection", "facility", "gateway")
_POLL_SECONDS = 0.05
KILL_AFTER_DRAIN_SECONDS = 3.0
_SHOWN_LOG_LINES = 15
_PORTS = range(20_000, 32_768)
"""Those that are tried in place of one that is taken: no system gives them to connections that go out."""
_TRIALS = 20


class ServiceFailed(RuntimeError):
    """A service did not start, or ended by itself; the message has the end of its log."""


class Supervisor:
    """The four services of one house, started on entering and stopped on leaving.

    Args:
        settings: Of the house. A port that is taken is replaced by a free one.
        environment: Further variables for the services.
        ready_seconds: How long all of them together may take to start.
        stop: When set, starting is given up with KeyboardInterrupt.
        command: What runs a service.
    """

    def __init__(
        self,
        settings: "Settings",
        environment: Mapping[str, str] | None = None,
        ready_seconds: float = 120.0,
        stop: threading.Event | None = None,
        *,
        command: Callable[[str], list[str]] | None = None,
    ) -> None:
        self._command = command or _service_command
        self._settings = settings
        self._stop = stop or threading.Event()
        self._ready_seconds = ready_seconds
        self._folder = settings.state_dir.resolve()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._environment = {
            # A key of whoever starts the services is no business of theirs.
            **{name: value for name, value in os.environ.items() if name != "SDCGATE_API_KEY"},
            **(environment or {}),
            "SDCGATE_STATE_DIR": str(self._folder),
            "SDCGATE_DATA_ROOT": str(settings.data_root.resolve()),
            **_ports(settings),
        }
        self.addresses: dict[str, str] = {}
        """Address of each service, once started: `host:port`, for the gateway a URL."""

    def __enter__(self) -> "Supervisor":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Address of the gateway."""
        return self.addresses["gateway"]

    @property
    def processes(self) -> Mapping[str, int]:
        """Process id of each service."""
        return {name: process.pid for name, process in self._processes.items()}

    def start(self) -> None:
        """Starts all services and waits until they take calls.

        Raises:
            ServiceFailed: one ended or did not become ready in time.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._folder / "log").mkdir(mode=0o700, exist_ok=True)
        for name in SERVICES:
            self._ready_file(name).unlink(missing_ok=True)
        deadline = time.monotonic() + self._ready_seconds
        # The gateway comes last: it should not find closed ports and wait before it tries again.
        for names in (SERVICES[:-1], SERVICES[-1:]):
            for name in names:
                self._processes[name] = self._spawn(name)
            for name in names:
                self.addresses[name] = self._wait_until_ready(name, deadline)

    def watch(self, stop: threading.Event) -> None:
        """Waits until `stop` is set.

        Raises:
            ServiceFailed: a service ended by itself.
        """
        while not stop.wait(0.2):
            self._check_alive()

    def stop(self) -> None:
        """Ends the services, the gateway first: SIGTERM, and SIGKILL for what does not drain in time."""
        for name, process in reversed(self._processes.items()):
            _signal_group(process, signal.SIGTERM)
            drain = getattr(self._settings, name).drain_seconds
            try:
                process.wait(drain + KILL_AFTER_DRAIN_SECONDS)
            except subprocess.TimeoutExpired:
                _signal_group(process, signal.SIGKILL)
                process.wait()
        self._processes.clear()

    def _spawn(self, name: str) -> "subprocess.Popen[bytes]":
        with self._log(name).open("ab") as log:
            # A group of its own: Ctrl-C reaches the supervisor only, which stops the services in order.
            return subprocess.Popen(  # noqa: S603
                self._command(name),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                umask=0o077,
            )

    def _wait_until_ready(self, name: str, deadline: float) -> str:
        file = self._ready_file(name)
        while time.monotonic() < deadline:
            self._check_alive()
            # A service that starts removes the file of the one before it, at any time.
            with suppress(FileNotFoundError):
                listening = json.loads(file.read_text(encoding="utf-8"))
                if _takes_calls(listening["metrics"]):
                    address = str(listening["address"])
                    return f"http://{address}" if name == "gateway" else address
            if self._stop.wait(_POLL_SECONDS):
                raise KeyboardInterrupt
        raise ServiceFailed(f"{name} was not ready in {self._ready_seconds:g} s; {self._end_of_log(name)}")

    def _check_alive(self) -> None:
        for name, process in self._processes.items():
            code = process.poll()
            if code is not None:
                raise ServiceFailed(f"{name} ended with code {code}; {self._end_of_log(name)}")

    def _ready_file(self, name: str) -> Path:
        section: Server = getattr(self._settings, name)
        return section.ready_file or self._folder / "run" / f"{name}.json"

    def _log(self, name: str) -> Path:
        return self._folder / "log" / f"{name}.jsonl"

    def _end_of_log(self, name: str) -> str:
        path = self._log(name)
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-_SHOWN_LOG_LINES:]
        return f"the end of {path}:\n" + "\n".join(f"  {line}" for line in lines)


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """An event that SIGINT, SIGTERM and SIGHUP set, instead of ending the process, meanwhile."""
    stop = threading.Event()

    def received(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        stop.set()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, received) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def free_port(host: str, wanted: int, taken: set[int]) -> int:
    """The wanted port if nobody listens there, else one that is free now; notes it in `taken`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tried = SystemRandom().sample(_PORTS, _TRIALS)
    for port in (*([wanted] if wanted else []), *tried):
        if port in taken:
            continue
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, port))
                trial.listen(1)
            except OSError:
                continue
        taken.add(port)
        return port
    raise OSError(f"there is no free port at {host}")


def _takes_calls(metrics: str) -> bool:
    """What /readyz says at a service's metrics address."""
    connection = http.client.HTTPConnection(metrics, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _service_command(name: str) -> list[str]:
    return [sys.executable, "-m", "sdcgate.cli", "serve", name, "--parent", str(os.getpid())]


def _ports(settings: "Settings") -> dict[str, str]:
    """Ports of all services as settings: the services have to know each other's."""
    taken: set[int] = set()
    found: dict[str, str] = {}
    for name in SERVICES:
        section: Server = getattr(settings, name)
        prefix = f"SDCGATE_{name.upper()}__"
        found[f"{prefix}PORT"] = str(free_port(section.host, section.port, taken))
        found[f"{prefix}METRICS_PORT"] = str(free_port(section.metrics_host, section.metrics_port, taken))
    return found


def _signal_group(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
