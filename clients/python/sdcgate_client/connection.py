"""The connection to a gateway: sends requests and reads answers and errors."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from sdcgate_client.contents import json_of
from sdcgate_client.errors import Unreachable, error_of
from sdcgate_client.files import ARROW, Form, Parameters

CONNECTION_ATTEMPTS = 2
"""Further attempts to connect. What was sent is not sent again: that is for the caller to decide."""


class Connection:
    """Speaks to a gateway with one API key; see `Client`."""

    def __init__(
        self,
        base_url: str,
        api_key: str = "",
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
        *,
        on_behalf_of: str = "",
        role: str = "",
    ) -> None:
        headers = {"Accept": "application/json, application/problem+json"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        if on_behalf_of:
            headers["X-On-Behalf-Of"] = quote(on_behalf_of, safe=" @")
        if role:
            headers["X-Role"] = role
        self._http = httpx.Client(
            base_url=base_url,
            headers=headers,
            timeout=timeout,
            transport=transport or httpx.HTTPTransport(retries=CONNECTION_ATTEMPTS),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        parameters: Parameters | None = None,
    ) -> Any:
        return json_of(self._send(method, path, body, parameters))

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        parameters: Parameters | None = None,
        content: bytes | None = None,
        form: Form | None = None,
    ) -> httpx.Response:
        headers = None if content is None else {"Content-Type": ARROW}
        try:
            response = self._http.request(
                method,
                path,
                json=body,
                params=parameters or None,
                content=content,
                files=form,
                headers=headers,
            )
        except httpx.TimeoutException as error:
            raise Unreachable(f"{self._http.base_url} did not answer in time") from error
        except httpx.HTTPError as error:
            raise Unreachable(f"{self._http.base_url} cannot be reached: {error}") from error
        if response.is_error:
            raise error_of(response)
        return response
