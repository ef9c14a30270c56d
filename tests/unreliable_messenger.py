"""A messenger between two services that brings requests twice, late, and in another order than they came.

It passes bytes on and knows nothing of them. Of a request that it brings twice it keeps both answers.
"""

import random
import threading
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

import grpc

PLANS = ("once", "held", "twice", "twice", "again later")
HELD = 0.4
"""Seconds that a request is held at most: those that came after it go before it."""
LATER = 1.5
"""Seconds after its answer, at most, until a request comes again."""

Answer = tuple[str, bytes]
"""Status and content of an answer."""


class UnreliableMessenger:
    """Listens at a port and passes each call on to an address, in a way drawn by chance."""

    def __init__(self, port: int, address: str, chance: int) -> None:
        self.brought: Counter[str] = Counter()
        self.overtaken = 0
        """Requests that were passed on after one that came later."""
        self.pairs: list[tuple[str, Answer, Answer]] = []
        """Of each request that was brought twice: its call, and both answers."""
        self._rng = random.Random(chance)
        self._lock = threading.Lock()
        self._came = self._last = 0
        self._reliable = threading.Event()
        self._twins: list[Future[Answer]] = []
        self._channel = grpc.insecure_channel(address)
        self._again = ThreadPoolExecutor(32)
        self._server = grpc.server(ThreadPoolExecutor(64), options=[("grpc.so_reuseport", 0)])
        self._server.add_generic_rpc_handlers((_Everything(self._carry),))
        assert self._server.add_insecure_port(f"127.0.0.1:{port}") == port
        self._server.start()

    def be_reliable(self) -> None:
        """Bring what is still to be brought, and from now on everything once and at once."""
        self._reliable.set()
        wait(self._twins)

    def stop(self) -> None:
        """Free the port."""
        self.be_reliable()
        self._again.shutdown()
        self._server.stop(0).wait()
        self._channel.close()

    def _carry(self, method: str, content: bytes, context: grpc.ServicerContext) -> bytes:
        with self._lock:
            self._came += 1
            place, plan = self._came, "once" if self._reliable.is_set() else self._rng.choice(PLANS)
            held, later = self._rng.uniform(0, HELD), self._rng.uniform(0, LATER)
            self.brought[plan] += 1
        metadata = [(key, value) for key, value in context.invocation_metadata() if _is_ours(key)]
        seconds = context.time_remaining()
        if plan == "held":
            time.sleep(held)
        with self._lock:
            self.overtaken += place < self._last
            self._last = max(self._last, place)
        twin = self._twin(method, content, metadata, seconds) if plan == "twice" else None
        answer: bytes
        try:
            answer = self._channel.unary_unary(method)(content, timeout=seconds, metadata=metadata)
        except grpc.RpcError as error:
            if twin is not None:
                self._kept(method, (error.code().name, b""), twin)
            context.set_trailing_metadata(tuple(error.trailing_metadata() or ()))
            context.abort(error.code(), error.details())
        if twin is None and plan == "again later":
            twin = self._twin(method, content, metadata, seconds, later)
        if twin is not None:
            self._kept(method, ("OK", answer), twin)
        return answer

    def _twin(
        self, method: str, content: bytes, metadata: Any, seconds: float | None, after: float = 0.0
    ) -> "Future[Answer]":
        def bring() -> Answer:
            self._reliable.wait(after)
            try:
                return "OK", self._channel.unary_unary(method)(content, timeout=seconds, metadata=metadata)
            except grpc.RpcError as error:
                return error.code().name, b""

        twin = self._again.submit(bring)
        self._twins.append(twin)
        return twin

    def _kept(self, method: str, answer: Answer, twin: "Future[Answer]") -> None:
        def keep(done: "Future[Answer]") -> None:
            with suppress(Exception), self._lock:
                self.pairs.append((method, answer, done.result()))

        twin.add_done_callback(keep)


class _Everything(grpc.GenericRpcHandler):
    """Every call with one message each way, whatever its name."""

    def __init__(self, carry: Any) -> None:
        self._carry = carry

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        method = details.method
        return grpc.unary_unary_rpc_method_handler(
            lambda content, context: self._carry(method, content, context)
        )


def _is_ours(key: str) -> bool:
    return not key.startswith((":", "grpc-", "user-agent", "te", "content-type"))
