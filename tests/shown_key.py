"""A channel on which every call shows a key, for clients that know of no metadata."""

from typing import Any

import grpc


class _Showing(grpc.StreamStreamClientInterceptor, grpc.UnaryUnaryClientInterceptor):
    def __init__(self, key: str) -> None:
        self._key = key

    def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
        return continuation(self._shown(details), requests)

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        return continuation(self._shown(details), request)

    def _shown(self, details: Any) -> Any:
        metadata = [*(details.metadata or ()), ("authorization", f"Bearer {self._key}")]
        return details._replace(metadata=metadata)


def showing(channel: grpc.Channel, key: str) -> grpc.Channel:
    return grpc.intercept_channel(channel, _Showing(key))
