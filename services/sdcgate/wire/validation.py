"""The constraints that stand in the protos (buf.validate), checked on envelopes; values by column are not.

An envelope with fields that this version does not know is not valid either.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import protovalidate
from google.protobuf.message import Message

from sdcgate.wire.json import enum_names
from sdcgate.wire.problems import FieldProblem, join
from sdcgate.wire.unknown_fields import unknown_fields
from sdcgate_proto.buf.validate import validate_pb2

_VALIDATOR = protovalidate.Validator()
_NOT_BLANK = (r"pattern `\S`", r"pattern `^$|\S`")
"""How the message of a blank text ends: the patterns that ask for one character that is none."""


def violations(message: Message) -> list[FieldProblem]:
    """All violated constraints of a message and its unknown fields, with paths such as `rows[0].variable`.

    Where lists are too long nothing else is looked for: a million empty items would be as many problems.
    """
    oversized = too_long(message)
    if oversized:
        return oversized
    found = [
        FieldProblem(_path(violation.proto), _words(violation.proto, message.DESCRIPTOR))
        for violation in _VALIDATOR.collect_violations(message)
    ]
    return found + unknown_fields(message)


def texts_with_nul(message: Message) -> list[FieldProblem]:
    """Texts with a NUL character, which no name, code or note has and not every ledger can keep."""
    return list(_with_nul(message, ""))


def _with_nul(message: Message, path: str) -> Iterator[FieldProblem]:
    for name, repeated, is_text in _texts(message.DESCRIPTOR):
        value = getattr(message, name)
        if is_text and "\0" not in ("".join(value) if repeated else value):
            continue
        where = join(path, name)
        for position, item in enumerate(value if repeated else (value,)):
            place = f"{where}[{position}]" if repeated else where
            if not is_text:
                yield from _with_nul(item, place)
            elif "\0" in item:
                yield FieldProblem(place, "must not have a NUL character")


@cache
def _texts(descriptor: Any) -> tuple[tuple[str, bool, bool], ...]:
    """Name of each field that is a text or has one beneath it, whether it is a list, and whether of texts."""
    return tuple(
        (field.name, bool(field.is_repeated), field.type == field.TYPE_STRING)
        for field in descriptor.fields
        if field.type == field.TYPE_STRING or (field.message_type is not None and _texts(field.message_type))
    )


def too_long(message: Message) -> list[FieldProblem]:
    """Lists of a message with more items than their constraints allow."""
    return list(_too_long(message, ""))


def _too_long(message: Message, path: str) -> Iterator[FieldProblem]:
    """Lists with more items than their constraint allows; what is in those is not looked at."""
    for bounded in _bounded(message.DESCRIPTOR):
        value, where = getattr(message, bounded.name), join(path, bounded.name)
        if not bounded.repeated:
            yield from _too_long(value, where)
        elif bounded.most and len(value) > bounded.most:
            yield FieldProblem(where, f"has {len(value)} items; at most {bounded.most} are taken")
        elif bounded.deeper:
            for position, item in enumerate(value):
                yield from _too_long(item, f"{where}[{position}]")


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A field that is a list of bounded length, or that has one beneath it."""

    name: str
    repeated: bool
    most: int
    deeper: bool


@cache
def _bounded(descriptor: Any) -> tuple[_Bounded, ...]:
    """The fields of a message to look at; messages do not hold themselves."""
    found = []
    for field in descriptor.fields:
        rules = field.GetOptions().Extensions[validate_pb2.field]
        most = int(rules.repeated.max_items) if field.is_repeated else 0
        deeper = field.message_type is not None and bool(_bounded(field.message_type))
        if most or deeper:
            found.append(_Bounded(field.name, bool(field.is_repeated), most, deeper))
    return tuple(found)


def _words(violation: protovalidate.ViolationPb, descriptor: Any) -> str:
    """What is wrong; of an enum the names that are taken, as numbers tell nobody what to send.

    Nor does the pattern of texts that are not blank.
    """
    if violation.rule_id == "string.pattern" and violation.message.endswith(_NOT_BLANK):
        return "must not be blank"
    if violation.rule_id.startswith("enum.") and violation.field is not None:
        enum = None
        for element in violation.field.elements:
            field = descriptor.fields_by_name[element.field_name]
            descriptor, enum = field.message_type, field.enum_type
        if enum is not None:
            return f"must be one of {', '.join(enum_names(enum))}"
    return violation.message or "is not valid"


def _path(violation: protovalidate.ViolationPb) -> str:
    parts: list[str] = []
    for element in violation.field.elements if violation.field is not None else ():
        subscript = element.subscript
        suffix = f"[{subscript.value}]" if subscript is not None else ""
        parts.append(f"{element.field_name}{suffix}")
    return ".".join(parts)
