"""The descriptor reference, from the messages that a descriptor becomes."""

import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from generators.contract import comments, constraints, enums
from generators.markdown import anchor, joined, table
from sdcgate.wire.json import enum_names, enum_prefix
from sdcgate_proto.sdcgate.facility.v1 import descriptor_pb2

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
}


def descriptor_page() -> str:
    """The page."""
    return joined(
        "# Descriptor reference",
        "Every field of a descriptor. How to write one is told in [Descriptors](../descriptor.md). A field "
        "may be left out unless it is required; an unknown field is an error. `POST /v1/datasets` takes the "
        "same fields as JSON.",
        *(_part(message) for message in _reached(descriptor_pb2.Descriptor.DESCRIPTOR)),
        *(_choice(enum) for enum in _choices(_reached(descriptor_pb2.Descriptor.DESCRIPTOR))),
    )


def _reached(message: Any) -> list[Any]:
    """The message and all that are within it, the outer ones first."""
    order = [message]
    for found in order:
        order += [
            field.message_type
            for field in found.fields
            if field.message_type and field.message_type not in order
        ]
    return order


def _choices(reached: list[Any]) -> list[Any]:
    """The enums of these messages: the descriptor's own first, in their order."""
    named = [field.enum_type for message in reached for field in message.fields if field.enum_type]
    own = [enum for enum in enums(descriptor_pb2) if enum in named]
    return [*own, *(enum for enum in dict.fromkeys(named) if enum not in own)]


def _part(message: Any) -> str:
    rows = [
        (f"`{field.name}`", _type(field), comments()[field.full_name], constraints(field))
        for field in message.fields
    ]
    places = list(_places(message))
    where = f" ({', '.join(f'`{place}`' for place in places)})" if places else ""
    return joined(
        f"## {_title(message)}",
        comments()[message.full_name].rstrip(".") + where + ".",
        table(("field", "type", "means", "must be"), rows),
    )


def _places(message: Any) -> Iterator[str]:
    """Where the message stands, as a steward writes it."""
    for parent in _reached(descriptor_pb2.Descriptor.DESCRIPTOR):
        for field in parent.fields:
            if field.message_type is message:
                yield f"{field.name}[]" if field.is_repeated else field.name


def _title(message: Any) -> str:
    words: str = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", message.name)
    return words[0] + words[1:].lower()


def _choice(enum: Any) -> str:
    rows = [
        (f"`{name}`", comments().get(f"{enum.full_name}.{enum_prefix(enum)}{name}", ""))
        for name in enum_names(enum)
    ]
    return joined(f"## {_title(enum)}", comments()[enum.full_name], table(("value", "means"), rows))


def _type(field: Any) -> str:
    if field.message_type or field.enum_type:
        title = _title(field.message_type or field.enum_type)
        name = f"[{title.lower()}]({anchor(title.replace(' ', '-'))})"
    elif field.cpp_type in _INTEGERS:
        name = "whole number"
    else:
        name = {
            FieldDescriptor.CPPTYPE_BOOL: "true or false",
            FieldDescriptor.CPPTYPE_STRING: "text",
            FieldDescriptor.CPPTYPE_DOUBLE: "number",
        }[field.cpp_type]
    return f"list of {name}" if field.is_repeated else name
