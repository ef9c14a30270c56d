"""Answers that say by a tag what they are, so that who polls is told in few bytes that nothing has changed.

For answers that hold nothing of the data: the tag is a hash of the body (RFC 9110, 8.8.3 and 13.1.2).
"""

import hashlib

from starlette.requests import Request
from starlette.responses import Response

from sdcgate.servers.bodies import JSON

REVALIDATED = "private, no-cache"
_DIGITS = 32


def tagged(request: Request, body: bytes, status: int = 200) -> Response:
    """The answer with its tag; 304 without a body where the caller has it already."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:_DIGITS]}"'
    headers = {"ETag": tag, "Cache-Control": REVALIDATED}
    if _has(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, status, headers, JSON)


def _has(request: Request, tag: str) -> bool:
    """Whether `If-None-Match` names the tag; weak or not makes no difference to it."""
    given = ",".join(request.headers.getlist("if-none-match")).split(",")
    return any(one.strip().removeprefix("W/") in {tag, "*"} for one in given)
