"""The constraints that stand in the protos (buf.validate), checked on envelopes; values by column are not."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import protovalidate
from google.protobuf.message import Message

from sdcgate.wire.json import enum_names
from sdcgate.wire.problems import FieldProblem, join
from sdcgate_proto.buf.validate import validate_pb2

_VALIDATOR = protovalidate.Validator()


def violations(message: Message) -> list[FieldProblem]:
    """All violated constraints of a message, with paths such as `rows[0].variable`.

    Where lists are too long nothing else is looked for: a million empty items would be as many problems.
    """
    too_long = list(_too_long(message, ""))
    if too_long:
        return too_long
    return [
        FieldProblem(_path(violation.proto), _words(violation.proto, message.DESCRIPTOR))
        for violation in _VALIDATOR.collect_violations(message)
    ]


def _too_long(message: Message, path: str) -> Iterator[FieldProblem]:
    """Lists with more items than their constraint allows; what is in those is not looked at."""
    for field, value in message.ListFields():
        where = join(path, field.name)
        if field.is_repeated:
            most = _most_items(field)
            if most and len(value) > most:
                yield FieldProblem(where, f"has {len(value)} items; at most {most} are taken")
                continue
        if field.cpp_type == field.CPPTYPE_MESSAGE:
            if field.is_repeated:
                for position, item in enumerate(value):
                    yield from _too_long(item, f"{where}[{position}]")
            else:
                yield from _too_long(value, where)


@cache
def _most_items(field: Any) -> int:
    rules = field.GetOptions().Extensions[validate_pb2.field]
    return int(rules.repeated.max_items)


def _words(violation: protovalidate.ViolationPb, descriptor: Any) -> str:
    """What is wrong; of an enum the names that are taken, as numbers tell nobody what to send."""
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
