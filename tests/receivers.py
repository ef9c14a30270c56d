"""Real HTTP servers that keep what they are sent, and are down, slow or unwilling as a test wants."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Receiver:
    """Keeps each request that it answers with success: path, headers and body."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, dict[str, str], bytes]] = []
        self.refused = 0
        self.answers: Callable[[int], int | tuple[int, bytes]] = lambda number: 200
        """What the request of this number, counted from 1, is answered; a status, or a status and a body."""
        self.before: Callable[[], None] = lambda: None
        """Done before a request is answered."""
        self.pair: dict[str, Path] | None = None
        """Certificate and key that the next connection is shown; none: it speaks plain HTTP."""
        self.client_ca: Path | None = None
        """Authority that the next caller's certificate must be of."""
        self.unmade = 0
        """Connections on which TLS failed."""
        self.port = 0
        self._asked = 0
        self._changed = threading.Condition()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http{'s' if self.pair else ''}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen: at first on a free port, after a stop on the same one."""
        self._server = _Server(("127.0.0.1", self.port), _handler(self), self)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Be down: connections are refused."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def receive(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        self.before()
        with self._changed:
            self._asked += 1
            answer = self.answers(self._asked)
            status, said = answer if isinstance(answer, tuple) else (answer, b"")
            if 200 <= status < 300:
                self.taken.append((path, headers, body))
            else:
                self.refused += 1
            self._changed.notify_all()
        return status, said

    def secured(self, connection: socket.socket) -> socket.socket:
        """A connection that came in, after the handshake."""
        if self.pair is None:
            return connection
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.client_ca)
        context.load_cert_chain(self.pair["certificate"], self.pair["key"])
        if self.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        return context.wrap_socket(connection, server_side=True)

    def failed(self) -> None:
        with self._changed:
            self.unmade += 1
            self._changed.notify_all()

    def wait_until(self, reached: Callable[[], bool], seconds: float = 60.0) -> None:
        with self._changed:
            assert self._changed.wait_for(reached, seconds)

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events of a webhook, as they came, those that came twice twice."""
        return [event for _, _, body in self.taken for event in json.loads(body)["events"]]

    @property
    def sequences(self) -> list[int]:
        return [event["sequence"] for event in self.events]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], receiver: Receiver
    ) -> None:
        super().__init__(address, handler)
        self._receiver = receiver

    def finish_request(self, request: Any, client_address: Any) -> None:
        try:
            secured = self._receiver.secured(request)
        except OSError:
            self._receiver.failed()
            return
        with secured:
            super().finish_request(secured, client_address)


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, said = receiver.receive(self.path, headers, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    receiver.start()
    try:
        yield receiver
    finally:
        receiver.before = lambda: None
        receiver.stop()
