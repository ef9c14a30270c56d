"""A caller who leaves while his file is looked at: the call to the service ends, and its place is free."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect


async def while_connected(request: Request, read: asyncio.Event, call: Coroutine[Any, Any, Any]) -> Any:
    """What a call answers. Raises ClientDisconnect where the caller leaves before.

    `read` is set where all of the body has been read: before that whoever reads it sees that he left.
    """
    answer = asyncio.ensure_future(call)
    leaving = asyncio.ensure_future(_left(request, read))
    try:
        await asyncio.wait({answer, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise ClientDisconnect
        return answer.result()
    finally:
        for one in (answer, leaving):
            one.cancel()
        await asyncio.gather(answer, leaving, return_exceptions=True)


async def _left(request: Request, read: asyncio.Event) -> None:
    await read.wait()
    while (await request.receive())["type"] != "http.disconnect":
        pass
