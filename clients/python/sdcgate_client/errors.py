"""What can go wrong between client and gateway. A refusal is not an error: it is an answer."""

from collections.abc import Mapping
from typing import Any

import httpx


class SdcgateError(Exception):
    """Base of all errors of the client."""


class Unreachable(SdcgateError):
    """No answer came: no connection, or none in time. A query may have been recorded; ask again."""


class UnexpectedAnswer(SdcgateError):
    """What came is no answer of sdcgate: is the address that of its gateway?"""


class ApiError(SdcgateError):
    """The gateway answered with an error (RFC 9457 problem details).

    Attributes:
        status: HTTP status.
        title: What kind of error.
        detail: What was wrong this time.
        errors: All wrong fields as (path, message).
        problem: The whole problem document.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = dict(problem)
        self.title = str(problem.get("title") or f"HTTP {status}")
        self.detail = str(problem.get("detail") or "")
        self.errors = _field_errors(problem.get("errors"))
        lines = [f"{self.title} ({status})"]
        repeats_fields = self.errors and self.errors[0][1] in self.detail
        if self.detail and self.detail != self.title and not repeats_fields:
            lines[0] += f": {self.detail}"
        lines += [f"  {path}: {message}" if path else f"  {message}" for path, message in self.errors]
        super().__init__("\n".join(lines))


class InvalidRequest(ApiError):
    """Something is wrong with the request; `errors` says what, field by field."""


class Unauthorized(ApiError):
    """No API key, or one that is unknown or revoked."""


class Forbidden(ApiError):
    """The key's role may not do this."""


class NotFound(ApiError):
    """No such dataset or query, or none that this key may see."""


class Conflict(ApiError):
    """The state of the thing does not allow it, such as reviewing a query twice."""


class TooLarge(ApiError):
    """The request is larger than the gateway takes."""


class TooManyRequests(ApiError):
    """Slow down."""


class Unavailable(ApiError):
    """The service cannot answer now; nothing was released. Ask again later."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: InvalidRequest,
    429: TooManyRequests,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def error_of(response: httpx.Response) -> ApiError:
    """The exception for an error response, whether or not it has a problem document."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"title": response.reason_phrase or f"HTTP {response.status_code}"}
    return _BY_STATUS.get(response.status_code, ApiError)(response.status_code, problem)


def _field_errors(errors: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(errors, list):
        return ()
    found = []
    for error in errors:
        if isinstance(error, Mapping):
            path = next((error[key] for key in ("path", "field", "pointer") if error.get(key)), "")
            message = next(
                (error[key] for key in ("message", "description", "detail") if error.get(key)), "is wrong"
            )
            found.append((str(path), str(message)))
        else:
            found.append(("", str(error)))
    return tuple(found)
