"""What a request of the gateway brings: a JSON body, a file as it comes, a query string."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from google.protobuf import message_factory
from google.protobuf.message import Message

from sdcgate.servers.errors import TooLarge, UnsupportedMediaType
from sdcgate.servers.routes import Route
from sdcgate.wire.json import from_value, parse
from sdcgate.wire.problems import FieldProblem, InvalidMessageError

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
FORM = "multipart/form-data"
MAXIMUM_QUERY_BYTES = 32 * 1024
"""The longest query string. The server takes no address beyond 65,535 bytes, and can say nothing of it."""
PIECE_BYTES = 1 << 20
"""The largest piece of a file in one message."""
_DECIMAL = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")


def is_form(request: Request) -> bool:
    """Whether the body is said to be a form."""
    return _kind(request)[0] == FORM


def _kind(request: Request) -> list[str]:
    return [part.strip().lower() for part in request.headers.get("content-type", "").split(";")]


def check_media_type(request: Request, expected: str, instead: str = "") -> None:
    """Raises UnsupportedMediaType where the body is something else, or is packed."""
    kind = _kind(request)
    encoding = request.headers.get("content-encoding", "identity").lower()
    charsets = ("charset=utf-8", 'charset="utf-8"') if expected == JSON else ()
    if kind[0] != expected or any(part not in charsets for part in kind[1:]):
        raise UnsupportedMediaType(
            "" if expected == JSON else f"Send the file with `Content-Type: {expected}`{instead}"
        )
    if encoding != "identity":
        raise UnsupportedMediaType("Send the body as it is, without Content-Encoding")


async def pieces(request: Request, maximum: int) -> AsyncIterator[bytes]:
    """The body as it comes. Raises TooLarge where it is too long, by its header before any of it."""
    too_large = TooLarge(f"The body must have at most {maximum} bytes")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > maximum:
        raise too_large
    read = 0
    async for piece in request.stream():
        read += len(piece)
        if read > maximum:
            raise too_large
        yield piece


async def read_body(request: Request, maximum: int) -> bytes:
    """The body of a request. Raises UnsupportedMediaType where it is no JSON, TooLarge where too long."""
    check_media_type(request, JSON)
    return b"".join([piece async for piece in pieces(request, maximum)])


class FileMessages:
    """The messages of a call that takes a file: the options first, then the body as it comes.

    They end where the body cannot be read to its end, and `problem` says why.
    """

    def __init__(self, request: Request, maximum: int, route: Route, options: Message) -> None:
        self._pieces = pieces(request, maximum)
        self._field = route.file
        self._options = options
        self._message_type = message_factory.GetMessageClass(route.request_type)
        self.problem: Exception | None = None
        self.ended = asyncio.Event()
        """Whether the body was read to its end, or cannot be."""

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Each message."""
        yield self._message_type(options=self._options)
        try:
            async for piece in self._pieces:
                for begin in range(0, len(piece), PIECE_BYTES):
                    yield self._message_type(**{self._field: piece[begin : begin + PIECE_BYTES]})
        except Exception as error:
            self.problem = error
        finally:
            self.ended.set()


def file_messages(request: Request, route: Route, maximum: int) -> FileMessages:
    """The messages of a call that takes a file. Raises UnsupportedMediaType and InvalidMessageError."""
    instead = f", or its options and itself as `Content-Type: {FORM}`" if route.files else ""
    check_media_type(request, ARROW, instead)
    options = from_value(parameters(request, route), message_factory.GetMessageClass(route.options_type))
    return FileMessages(request, maximum, route, options)


def no_parameters(request: Request) -> None:
    """Raises InvalidMessageError where the address has a query string that nobody would read."""
    _check_length(request, "")
    names = dict.fromkeys(request.query_params.keys())
    if names:
        raise InvalidMessageError([FieldProblem(name[:40], "is not known in the address") for name in names])


def parameters(request: Request, route: Route) -> dict[str, Any]:
    """The query string as the object that a body would be. Raises InvalidMessageError."""
    _check_length(request, f"; send the options in a form, as `Content-Type: {FORM}`" if route.files else "")
    value: dict[str, Any] = {}
    problems: list[FieldProblem] = []
    fields = route.options_type.fields_by_name
    for name in dict.fromkeys(request.query_params.keys()):
        texts = request.query_params.getlist(name)
        field = fields.get(name)
        if field is None or name not in route.in_query:
            problems.append(FieldProblem(name[:40], "is not known in the address"))
        elif field.is_repeated and field.message_type is None:
            value[name] = [_meant(field, text) for text in texts]
        elif len(texts) > 1:
            problems.append(FieldProblem(name, "stands more than once"))
        elif field.message_type is not None:
            try:
                value[name] = parse(texts[0].encode())
            except InvalidMessageError:
                shape = "a list of objects" if field.is_repeated else "an object"
                problems.append(FieldProblem(name, f"must be JSON: {shape}"))
        else:
            value[name] = _meant(field, texts[0])
    if problems:
        raise InvalidMessageError(problems)
    return value


def _check_length(request: Request, instead: str) -> None:
    if len(request.scope.get("query_string", b"")) > MAXIMUM_QUERY_BYTES:
        told = f"the query string must have at most {MAXIMUM_QUERY_BYTES} bytes{instead}"
        raise InvalidMessageError([FieldProblem("", told)])


def _meant(field: Any, text: str) -> str | int | float | bool:
    """The number or truth that a text is, where the field wants one; else the text, which it will refuse."""
    if field.cpp_type == field.CPPTYPE_BOOL and text in ("true", "false"):
        return text == "true"
    if field.cpp_type == field.CPPTYPE_UINT32 and text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    if field.cpp_type == field.CPPTYPE_DOUBLE and _DECIMAL.fullmatch(text):
        return float(text)
    return text
