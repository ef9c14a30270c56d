"""Metrics and probes over HTTP on a port of their own: /metrics, /healthz (alive), /readyz (takes calls)."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from sdcgate.servers.metrics import CONTENT_TYPE, Metrics

PLAIN = "text/plain; charset=utf-8"


class Probes:
    """A small HTTP server in a thread; port 0 takes a free one."""

    def __init__(self, host: str, port: int, metrics: Metrics, is_ready: Callable[[], bool]) -> None:
        self._server = _Server((host, port), _handler(metrics, is_ready))
        self.address = f"{host}:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.1,), name="probes", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def _handler(metrics: Metrics, is_ready: Callable[[], bool]) -> type[BaseHTTPRequestHandler]:
    def answer(path: str) -> tuple[int, str, bytes]:
        if path == "/metrics":
            return 200, CONTENT_TYPE, metrics.exposition()
        if path == "/healthz":
            return 200, PLAIN, b"ok\n"
        if path == "/readyz":
            return (200, PLAIN, b"ready\n") if is_ready() else (503, PLAIN, b"not ready\n")
        return 404, PLAIN, b"/metrics, /healthz and /readyz are here\n"

    class Handler(BaseHTTPRequestHandler):
        timeout = 5
        server_version = "sdcgate"
        sys_version = ""

        def do_GET(self) -> None:
            status, kind, body = answer(self.path.partition("?")[0])
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Probes are not logged."""

    return Handler
