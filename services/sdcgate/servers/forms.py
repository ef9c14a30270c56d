"""A form whose first part is the options, as JSON, and whose other parts are files; taken as it comes."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from fastapi import Request
from google.protobuf import message_factory
from google.protobuf.message import Message

from sdcgate.servers.bodies import FORM, PIECE_BYTES, pieces
from sdcgate.servers.errors import TooLarge, UnsupportedMediaType
from sdcgate.servers.routes import Route
from sdcgate.wire.json import from_json
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, join

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

OPTIONS = "options"
NO_FORM = "is no multipart form with its boundary"
_LONGEST_BOUNDARY = 70
# It would log bytes of what is no form.
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
_AS_IT_IS = (b"", b"binary", b"8bit", b"7bit")


class FormMessages:
    """The messages of a call that takes files: the options first, then the parts as they come.

    They end where the form cannot be read to its end, and `problem` says why.
    """

    def __init__(
        self, body: AsyncIterator[bytes], boundary: bytes, route: Route, given: Mapping[str, str]
    ) -> None:
        self._body = body
        self._given = given
        self._parts = _Parts(boundary, (OPTIONS, *route.files))
        self._options_type = message_factory.GetMessageClass(route.options_type)
        self._message_type = message_factory.GetMessageClass(route.request_type)
        self._options: Message | None = None
        self.problem: Exception | None = None
        self.ended = asyncio.Event()
        """Whether the body was read to its end, or cannot be."""

    async def begin(self, maximum: int) -> None:
        """Read as far as the options end. Raises InvalidMessageError and TooLarge."""
        content = bytearray()
        while not self._parts.options_whole:
            piece = await anext(self._body, None)
            if piece is None:
                raise _not(NO_FORM if not content else "ends within its options")
            self._parts.feed(piece)
            content += self._parts.take_options()
            if len(content) > maximum:
                raise TooLarge(f"The options must have at most {maximum} bytes")
        try:
            self._options = from_json(bytes(content), self._options_type, self._given)
        except InvalidMessageError as error:
            raise InvalidMessageError(
                FieldProblem(join(OPTIONS, problem.path) if problem.path else OPTIONS, problem.message)
                for problem in error.problems
            ) from None

    async def __aiter__(self) -> AsyncIterator[Message]:
        """Each message."""
        yield self._message_type(options=self._options)
        try:
            for message in self._messages():
                yield message
            async for piece in self._body:
                self._parts.feed(piece)
                for message in self._messages():
                    yield message
            self._parts.finish()
        except Exception as error:
            self.problem = error
        finally:
            self.ended.set()

    def _messages(self) -> list[Message]:
        """What has come of the files since they were last asked for."""
        return [
            self._message_type(**{name: piece[begin : begin + PIECE_BYTES]})
            for name, piece in self._parts.take_files()
            for begin in range(0, len(piece), PIECE_BYTES)
        ]


async def form_messages(
    request: Request, route: Route, maximum_file: int, maximum_options: int
) -> FormMessages:
    """The messages of a call that takes a form; the address gives some of its options.

    Raises UnsupportedMediaType and InvalidMessageError.
    """
    boundary = _boundary(request)
    body = pieces(request, maximum_file + maximum_options)
    made = FormMessages(body, boundary, route, request.path_params)
    await made.begin(maximum_options)
    return made


def _boundary(request: Request) -> bytes:
    from python_multipart.multipart import parse_options_header

    kind, parameters = parse_options_header(request.headers.get("content-type", ""))
    if kind != FORM.encode():
        raise UnsupportedMediaType(f"Send the options and the files as `Content-Type: {FORM}`")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("Send the body as it is, without Content-Encoding")
    boundary = parameters.get(b"boundary", b"")
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY:
        raise UnsupportedMediaType(f"The Content-Type must tell a boundary of 1 to {_LONGEST_BOUNDARY} bytes")
    return boundary


class _Parts:
    """The parts of a form as its bytes come."""

    def __init__(self, boundary: bytes, names: tuple[str, ...]) -> None:
        from python_multipart.multipart import MultipartParser

        callbacks: MultipartCallbacks = {
            "on_part_begin": self._begin,
            "on_header_field": self._header_name,
            "on_header_value": self._header_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._named,
            "on_part_data": self._data,
            "on_part_end": self._end_part,
            "on_end": self._end,
        }
        self._parser = MultipartParser(boundary, callbacks)
        self._names = names
        self._seen: list[str] = []
        self._headers: dict[bytes, bytes] = {}
        self._header = (bytearray(), bytearray())
        self._options = bytearray()
        self._taken: list[tuple[str, bytes]] = []
        self._ended = False
        self.options_whole = False

    def feed(self, piece: bytes) -> None:
        """Read on. Raises InvalidMessageError where it is no form, or another one."""
        from python_multipart.exceptions import FormParserError

        try:
            self._parser.write(piece)
        except FormParserError:
            raise _not(NO_FORM) from None

    def finish(self) -> None:
        """Raises InvalidMessageError where the form has not ended."""
        if not self._ended:
            raise _not("ends before its last boundary")

    def take_options(self) -> bytes:
        """What has come of the options since they were last asked for."""
        taken, self._options = bytes(self._options), bytearray()
        return taken

    def take_files(self) -> list[tuple[str, bytes]]:
        """What has come of the files since they were last asked for."""
        taken, self._taken = self._taken, []
        return taken

    def _begin(self) -> None:
        self._headers = {}

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        self._header[0].extend(data[start:end])

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._header[1].extend(data[start:end])

    def _header_end(self) -> None:
        self._headers[bytes(self._header[0]).lower()] = bytes(self._header[1])
        self._header = (bytearray(), bytearray())

    def _named(self) -> None:
        from python_multipart.multipart import parse_options_header

        _, parameters = parse_options_header(self._headers.get(b"content-disposition", b""))
        name = parameters.get(b"name", b"").decode("utf-8", "replace")
        if name not in self._names:
            known = ", ".join(self._names)
            raise InvalidMessageError([FieldProblem(name[:40], f"is no part of this form; they are {known}")])
        if name in self._seen:
            raise InvalidMessageError([FieldProblem(name, "stands more than once")])
        if not self._seen and name != OPTIONS:
            raise InvalidMessageError([FieldProblem(OPTIONS, "must be the first part of the form")])
        if self._headers.get(b"content-transfer-encoding", b"").lower() not in _AS_IT_IS:
            raise InvalidMessageError([FieldProblem(name, "must be sent as it is, without an encoding")])
        self._seen.append(name)

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._seen[-1] == OPTIONS:
            self._options += data[start:end]
        else:
            self._taken.append((self._seen[-1], data[start:end]))

    def _end_part(self) -> None:
        self.options_whole = True

    def _end(self) -> None:
        self._ended = True


def _not(problem: str) -> InvalidMessageError:
    return InvalidMessageError([FieldProblem("", f"the body {problem}")])


def form_schema(
    options: dict[str, Any], files: dict[str, str], optional: tuple[str, ...], example: dict[str, Any]
) -> dict[str, Any]:
    """The schema of a form: its options, and each of its files with what it is; not all need be there."""
    binary = {"type": "string", "format": "binary"}
    shown = {**options, "description": "What is asked; the first part of the form.", "examples": [example]}
    return {
        "type": "object",
        "properties": {
            OPTIONS: shown,
            **{name: {**binary, "description": text} for name, text in files.items()},
        },
        "required": [OPTIONS, *(name for name in files if name not in optional)],
    }
