"""Calls that send a stream of messages, from an event loop.

grpc.aio forgets why a service ended a call while messages were still being sent ("Internal error from Core").
Blocking stubs do not, and need no thread of ours: gRPC takes the messages in one of its own.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from concurrent.futures import CancelledError
from concurrent.futures import Future as Pending
from typing import Any

import grpc
from google.protobuf.message import Message

_END: Any = object()


class StreamedCall:
    """One call of a service that takes a stream and gives one answer."""

    def __init__(self, channel: grpc.Channel, path: str, request: Any, response: Any) -> None:
        self._call = channel.stream_unary(
            path, request_serializer=request.SerializeToString, response_deserializer=response.FromString
        )

    async def __call__(
        self, messages: AsyncIterable[Message], timeout: float, metadata: tuple[tuple[str, str], ...]
    ) -> Any:
        """The answer to messages of this event loop. Raises grpc.RpcError."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        pulled = _Pulled(aiter(messages), loop)
        call = self._call.future(iter(pulled), timeout=timeout, metadata=metadata)

        def tell(_: Any) -> None:
            loop.call_soon_threadsafe(_set, ended)

        call.add_done_callback(tell)
        try:
            await ended
            return call.result()
        finally:
            call.cancel()
            pulled.close()


def _set(ended: "asyncio.Future[None]") -> None:
    if not ended.done():
        ended.set_result(None)


class _Pulled:
    """Messages of an event loop, for a thread to iterate; they end where the call does."""

    def __init__(self, messages: AsyncIterator[Message], loop: asyncio.AbstractEventLoop) -> None:
        self._messages = messages
        self._loop = loop
        self._closed = False
        self._pending: Pending[Any] | None = None

    def __iter__(self) -> Iterator[Message]:
        while not self._closed:
            self._pending = asyncio.run_coroutine_threadsafe(self._next(), self._loop)
            try:
                message = self._pending.result()
            except CancelledError:
                return
            if message is _END:
                return
            yield message

    async def _next(self) -> Any:
        return _END if self._closed else await anext(self._messages, _END)

    def close(self) -> None:
        """Ask for no more messages, and wait for none."""
        self._closed = True
        if self._pending is not None:
            self._pending.cancel()
