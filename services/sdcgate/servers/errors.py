"""What goes wrong on the wire: one exception a kind, its gRPC status, its problem+json, and the way back.

None of these is a verdict. gRPC carries google.rpc.Status with ErrorInfo (reason, domain), BadRequest (all
bad fields) and RetryInfo; REST carries RFC 9457 problem+json. An exception that nobody foresaw becomes
INTERNAL with the request's id and no word of what was in it.
"""

import re
from collections.abc import Iterable
from typing import Any, NoReturn

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status  # type: ignore[import-untyped]

from sdcgate.servers.request_ids import REQUEST_ID_KEY
from sdcgate.wire.problems import FieldProblem, InvalidMessageError

__all__ = [
    "Aborted",
    "AlreadyExists",
    "DeadlineExceeded",
    "FailedPrecondition",
    "FieldProblem",
    "Internal",
    "InvalidArgument",
    "MethodNotAllowed",
    "NotFound",
    "PermissionDenied",
    "Problem",
    "ResourceExhausted",
    "TooLarge",
    "TooSlow",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnsupportedMediaType",
    "abort",
    "from_rpc_error",
    "problem_of",
    "to_status",
]

DOMAIN = "sdcgate"
RETRY_AFTER = 1
PROBLEM_TYPE = "urn:sdcgate:problem:"
ERROR_BYTES_KEY = "x-error-bytes"
"""Metadata of a call: how many bytes of error details its caller can take."""
DEFAULT_ERROR_BYTES = 5_000
"""What every gRPC client can take: 8 KiB of metadata, less what else is in it."""
MAXIMUM_ERROR_BYTES = 200_000
_NUMBER = re.compile(r"[0-9]{1,9}")
_TOO_LARGE = re.compile(
    r"(?P<where>CLIENT|SERVER): (?P<what>Sent|Received) message larger than max \(\d+ vs\. (?P<most>\d+)\)"
)
"""What gRPC itself says, as RESOURCE_EXHAUSTED and without details, of a message beyond the limit."""
_TOLD_FIELDS = 5
_LONGEST_MESSAGE = 1000


class Problem(Exception):
    """An error that is told to the caller: what was wrong, where, and what to send instead."""

    code = grpc.StatusCode.INTERNAL
    http_status = 500
    title = "Internal error"
    retry_after: int | None = None

    def __init__(self, detail: str = "", fields: Iterable[FieldProblem] = (), reason: str = "") -> None:
        self.fields = tuple(fields)
        self.detail = detail or self.title
        self.reason = reason or self.code.name
        super().__init__(self.detail)


class InvalidArgument(Problem):
    """The request cannot be understood; every bad field is named."""

    code, http_status, title = grpc.StatusCode.INVALID_ARGUMENT, 400, "The request is not valid"

    def __init__(self, fields: Iterable[FieldProblem] = (), detail: str = "") -> None:
        listed = tuple(fields)
        super().__init__(detail or _told(listed), listed)


def _told(fields: tuple[FieldProblem, ...]) -> str:
    """The first problems in one line, and how many more there are."""
    first = "; ".join(map(str, fields[:_TOLD_FIELDS]))
    more = len(fields) - _TOLD_FIELDS
    return f"{first}; and {more} more" if more > 0 else first


class Unauthenticated(Problem):
    """No key, or one that is not known."""

    code, http_status = grpc.StatusCode.UNAUTHENTICATED, 401
    title = "Send a valid API key or token as `Authorization: Bearer <key>`"


class PermissionDenied(Problem):
    """Role, limits of the key, or a missing admission do not allow this."""

    code, http_status, title = grpc.StatusCode.PERMISSION_DENIED, 403, "You may not do this"


class NotFound(Problem):
    """There is no such thing, or the caller may not know of it."""

    code, http_status, title = grpc.StatusCode.NOT_FOUND, 404, "There is nothing here"


class MethodNotAllowed(Problem):
    """The address exists, the method does not."""

    code, http_status, title = grpc.StatusCode.UNIMPLEMENTED, 405, "This method is not known at this address"


class AlreadyExists(Problem):
    """It is there already, with other content."""

    code, http_status, title = grpc.StatusCode.ALREADY_EXISTS, 409, "It exists already"


class FailedPrecondition(Problem):
    """The state of things does not allow this."""

    code, http_status, title = (
        grpc.StatusCode.FAILED_PRECONDITION,
        409,
        "The present state does not allow this",
    )


class Aborted(Problem):
    """Somebody else was faster; it can be tried again."""

    code, http_status, title = grpc.StatusCode.ABORTED, 409, "Another request was faster; try again"
    retry_after = RETRY_AFTER


class TooSlow(Problem):
    """The body did not arrive in time."""

    code, http_status, title = grpc.StatusCode.DEADLINE_EXCEEDED, 408, "The body took too long to arrive"


class TooLarge(Problem):
    """The body is larger than what is taken."""

    code, http_status, title = grpc.StatusCode.OUT_OF_RANGE, 413, "The body is too large"


class UnsupportedMediaType(Problem):
    """The body is not JSON."""

    code, http_status = grpc.StatusCode.INVALID_ARGUMENT, 415
    title = "Send JSON, with `Content-Type: application/json`"


class ResourceExhausted(Problem):
    """Too many requests at once, or a budget is used up."""

    code, http_status, title = grpc.StatusCode.RESOURCE_EXHAUSTED, 429, "Too many requests; try again later"
    retry_after = RETRY_AFTER


class Internal(Problem):
    """Nobody foresaw this; the log has it under the request's id."""


class Unimplemented(Problem):
    """The service does not know this call."""

    code, http_status, title = grpc.StatusCode.UNIMPLEMENTED, 501, "This call is not served"


class Unavailable(Problem):
    """A part of the service cannot be reached or is not ready; it can be tried again."""

    code, http_status, title = grpc.StatusCode.UNAVAILABLE, 503, "The service is not available; try again"
    retry_after = RETRY_AFTER


class DeadlineExceeded(Problem):
    """It took longer than the time that was given."""

    code, http_status, title = grpc.StatusCode.DEADLINE_EXCEEDED, 504, "The answer took too long; try again"
    retry_after = RETRY_AFTER


_BY_CODE: dict[grpc.StatusCode, type[Problem]] = {
    kind.code: kind
    for kind in (
        Unauthenticated,
        PermissionDenied,
        NotFound,
        AlreadyExists,
        FailedPrecondition,
        Aborted,
        TooLarge,
        ResourceExhausted,
        Unimplemented,
        Unavailable,
        DeadlineExceeded,
    )
}


def to_status(
    problem: Problem, request_id: str = "", error_bytes: int = DEFAULT_ERROR_BYTES
) -> status_pb2.Status:
    """Write a problem as google.rpc.Status, with as many bad fields as go into `error_bytes`.

    Details travel as metadata, which clients bound: a longer list would not arrive as what it is.
    """
    info = error_details_pb2.ErrorInfo(reason=problem.reason, domain=DOMAIN)
    if request_id:
        info.metadata["request_id"] = request_id
    details: list[Any] = [info]
    if problem.fields:
        details.append(_bad_request(problem.fields, error_bytes))
    if problem.retry_after is not None:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.seconds = problem.retry_after
        details.append(retry)
    status = status_pb2.Status(code=problem.code.value[0], message=_shortened(problem.detail))
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def _shortened(text: str) -> str:
    """The text, or as much of it as takes `_LONGEST_MESSAGE` bytes where every odd byte is sent as three."""
    size = 0
    for position, character in enumerate(text):
        size += 1 if " " <= character <= "~" else 3 * len(character.encode())
        if size > _LONGEST_MESSAGE:
            return text[:position]
    return text


def _bad_request(fields: tuple[FieldProblem, ...], error_bytes: int) -> Any:
    found = error_details_pb2.BadRequest()
    size = 0
    for position, field in enumerate(fields):
        size += len(field.path.encode()) + len(field.message.encode()) + 10
        if size > error_bytes:
            found.field_violations.add(description=f"and {len(fields) - position} more problems")
            break
        found.field_violations.add(field=field.path, description=field.message)
    return found


def abort(context: grpc.ServicerContext, problem: Problem, request_id: str = "") -> NoReturn:
    """End a call with a problem."""
    status = rpc_status.to_status(to_status(problem, request_id, _error_bytes(context)))
    told = ((REQUEST_ID_KEY, request_id),) if request_id else ()
    context.abort_with_status(status._replace(trailing_metadata=(*status.trailing_metadata, *told)))
    raise AssertionError("abort_with_status raises")


def _error_bytes(context: grpc.ServicerContext) -> int:
    """Bytes of error details that the caller can take."""
    told = dict(context.invocation_metadata()).get(ERROR_BYTES_KEY, "")
    number = int(told) if isinstance(told, str) and _NUMBER.fullmatch(told) else 0
    return min(max(number, DEFAULT_ERROR_BYTES), MAXIMUM_ERROR_BYTES)


def problem_of(error: BaseException) -> Problem:
    """The problem that an exception is; INTERNAL without its text where nobody foresaw it."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, InvalidMessageError):
        return InvalidArgument(error.problems)
    if isinstance(error, grpc.RpcError):
        # A call to another service failed: whatever it was there, for our caller it is a failure of ours.
        code = _code_of(error)
        return DeadlineExceeded() if code == grpc.StatusCode.DEADLINE_EXCEEDED else Unavailable()
    return Internal()


def from_rpc_error(error: grpc.RpcError) -> Problem:
    """What a called service said, for the gateway to hand on as it is."""
    code = _code_of(error)
    status = _status_of(error)
    detail = status.message if status is not None else ""
    if code == grpc.StatusCode.INVALID_ARGUMENT:
        return InvalidArgument(_fields_of(status), detail)
    if code == grpc.StatusCode.RESOURCE_EXHAUSTED and status is None:
        return _beyond_the_limit(error)
    kind = Unavailable if code == grpc.StatusCode.CANCELLED else _BY_CODE.get(code, Internal)
    # Without a status of our making the text is the transport's (addresses, host names): it stays inside.
    problem = kind(detail, reason=_reason_of(status)) if kind is not Internal else Internal()
    retry = _retry_of(status)
    if retry is not None:
        problem.retry_after = retry
    return problem


def _beyond_the_limit(error: grpc.RpcError) -> Problem:
    """A message larger than what a service takes is no reason to come again: it would be as large then."""
    told = _TOO_LARGE.search(str(error.details() or "")) if hasattr(error, "details") else None
    if told is None:
        return ResourceExhausted()
    request = (told["where"], told["what"]) in (("CLIENT", "Sent"), ("SERVER", "Received"))
    if request:
        return TooLarge(f"The request must have at most {told['most']} bytes; send less at once")
    return TooLarge(f"The answer would have more than {told['most']} bytes; ask for less at once")


def _code_of(error: grpc.RpcError) -> grpc.StatusCode:
    """Status of a failed call, of the blocking or the asynchronous kind; without one nothing was reached."""
    code = error.code() if hasattr(error, "code") else None
    return code if isinstance(code, grpc.StatusCode) else grpc.StatusCode.UNAVAILABLE


def _status_of(error: grpc.RpcError) -> status_pb2.Status | None:
    try:
        status: status_pb2.Status | None = rpc_status.from_call(error)
    except ValueError:
        return None
    return status


def _detail(status: status_pb2.Status | None, message: Any) -> Any:
    for packed in status.details if status is not None else ():
        if packed.Unpack(message):
            return message
    return None


def _fields_of(status: status_pb2.Status | None) -> list[FieldProblem]:
    found = _detail(status, error_details_pb2.BadRequest())
    return [FieldProblem(v.field, v.description) for v in found.field_violations] if found else []


def _reason_of(status: status_pb2.Status | None) -> str:
    found = _detail(status, error_details_pb2.ErrorInfo())
    return found.reason if found else ""


def _retry_of(status: status_pb2.Status | None) -> int | None:
    found = _detail(status, error_details_pb2.RetryInfo())
    return int(found.retry_delay.seconds) if found else None


def to_problem_json(problem: Problem, request_id: str) -> dict[str, Any]:
    """Write a problem as the members of RFC 9457 problem+json."""
    return {
        "type": PROBLEM_TYPE + problem.reason.lower().replace("_", "-"),
        "title": problem.title,
        "status": problem.http_status,
        "detail": problem.detail,
        "code": problem.reason,
        "request": request_id,
        "errors": [{"path": field.path, "message": field.message} for field in problem.fields],
    }
