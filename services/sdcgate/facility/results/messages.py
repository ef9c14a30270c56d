"""Messages in files: read and checked as the calls that take them do."""

from collections.abc import Mapping
from typing import Any, TypeVar

from google.protobuf.message import Message

from sdcgate.facility.errors import InvalidRequest
from sdcgate.facility.outputs import read_output
from sdcgate.facility.results.printed import Unreadable
from sdcgate.wire.json import from_value, parse
from sdcgate.wire.problems import InvalidMessageError
from sdcgate.wire.validation import texts_with_nul, too_long, violations
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

MOST_PROBLEMS = 20
M = TypeVar("M", bound=Message)


def parsed(content: bytes) -> Any:
    """JSON as what it holds, strictly: no NaN, nothing that is nested too deeply. Raises Unreadable."""
    try:
        return parse(content)
    except InvalidMessageError as error:
        raise Unreadable(*map(str, error.problems)) from None


def message_of(value: Any, kind: type[M], given: Mapping[str, str]) -> M:
    """The message that parsed JSON is; `given` are fields that it need not have.

    Raises:
        Unreadable: with what is wrong with its fields.
    """
    try:
        message = from_value(value, kind, given)
    except InvalidMessageError as error:
        raise Unreadable(*map(str, error.problems[:MOST_PROBLEMS])) from None
    return enveloped(message)


def checked_output(output: pb.SubmitOutputRequest) -> pb.SubmitOutputRequest:
    """The output, where it can be judged. Raises Unreadable."""
    enveloped(output)
    try:
        read_output(output)
    except InvalidRequest as error:
        raise Unreadable(*map(str, error.problems[:MOST_PROBLEMS])) from None
    return output


def enveloped(message: M) -> M:
    """The message, where a call would take it. Raises Unreadable."""
    problems = violations(message)
    if not problems and not too_long(message):
        problems = texts_with_nul(message)
    if problems:
        raise Unreadable(*map(str, problems[:MOST_PROBLEMS]))
    return message
