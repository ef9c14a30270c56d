"""JSON schemas of messages, from the descriptors with their comments and constraints.

What is sent and what is answered differ: a sender may leave fields out and must not add any; an answer has
every field except unset messages, unset `optional` fields and unspecified enums. A message that goes both
ways has a schema each way, the answer's named `...Answer`.
"""

import re
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FieldDescriptor

from sdcgate.wire.json import enum_names, enum_prefix
from sdcgate_proto.buf.validate import validate_pb2
from sdcgate_proto.sdcgate.types.v1 import table_pb2

Schema = dict[str, Any]
TIMESTAMP = "google.protobuf.Timestamp"
TABLE = table_pb2.Table.DESCRIPTOR.full_name
ANSWER = "Answer"

_NUMBERS: dict[int, Schema] = {
    FieldDescriptor.CPPTYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptor.CPPTYPE_UINT32: {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    FieldDescriptor.CPPTYPE_INT64: {"type": "integer", "format": "int64"},
    FieldDescriptor.CPPTYPE_UINT64: {"type": "integer", "minimum": 0, "maximum": 2**64 - 1},
    FieldDescriptor.CPPTYPE_DOUBLE: {"type": "number", "format": "double"},
    FieldDescriptor.CPPTYPE_FLOAT: {"type": "number", "format": "float"},
    FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
}
_RULES = {
    "min_len": "minLength",
    "max_len": "maxLength",
    "pattern": "pattern",
    "min_items": "minItems",
    "max_items": "maxItems",
    "gte": "minimum",
    "lte": "maximum",
    "gt": "exclusiveMinimum",
    "lt": "exclusiveMaximum",
}


def comments() -> dict[str, str]:
    """Leading comments of all messages, fields, enums, values, services and calls, by full name."""
    found: dict[str, str] = {}
    descriptors = descriptor_pb2.FileDescriptorSet.FromString(
        (files("sdcgate_proto") / "descriptors.bin").read_bytes()
    )
    for file in descriptors.file:
        for location in file.source_code_info.location:
            text = " ".join(location.leading_comments.split())
            name = _named(file, tuple(location.path)) if text else ""
            if name:
                found[f"{file.package}.{name}"] = text
    return found


def _named(place: Any, path: tuple[int, ...]) -> str:
    """Full name, within its file, of what stands at a path of field numbers and positions."""
    parts: list[str] = []
    while len(path) >= 2:
        members = place.DESCRIPTOR.fields_by_number[path[0]].name
        if members not in ("message_type", "nested_type", "field", "enum_type", "value", "service", "method"):
            return ""
        place, path = getattr(place, members)[path[1]], path[2:]
        parts.append(place.name)
    return ".".join(parts) if not path else ""


class Schemas:
    """Collects the schemas of all messages that are asked for, and of those within them."""

    def __init__(self) -> None:
        self.comments = comments()
        self.schemas: dict[str, Schema] = {}
        self._sent: set[str] = set()

    def sent(self, message: Any, without: tuple[str, ...] = ()) -> Schema:
        """Reference to the schema of a message that callers send; `without` fields stand in the address."""
        name = str(message.name)
        self._sent.add(message.full_name)
        if name not in self.schemas:
            self.schemas[name] = {}
            fields = [field for field in message.fields if field.name not in without]
            properties = {field.name: self._property(field, sent=True) for field in fields}
            schema = self._object(message, properties, [field.name for field in fields if _needed(field)])
            self.schemas[name] = {**schema, "additionalProperties": False}
        return _reference(name)

    def answered(self, message: Any) -> Schema:
        """Reference to the schema of a message that callers get. Ask for all that are sent before."""
        name = str(message.name) + (ANSWER if message.full_name in self._sent else "")
        if name not in self.schemas:
            self.schemas[name] = {}
            if message.full_name == TABLE:
                self.schemas[name] = self._table(message)
            else:
                properties = {field.name: self._property(field, sent=False) for field in message.fields}
                always = [field.name for field in message.fields if _always(field)]
                self.schemas[name] = self._object(message, properties, always)
        return _reference(name)

    def parameter(self, field: Any) -> Schema:
        """Schema of a field that stands in the address."""
        return {key: value for key, value in self._property(field, True).items() if key != "description"}

    def comment(self, full_name: str) -> str:
        """The comment of something."""
        return self.comments.get(full_name, "")

    def _object(self, message: Any, properties: dict[str, Schema], required: list[str]) -> Schema:
        schema: Schema = {"type": "object", "description": self.comment(message.full_name)}
        schema["properties"] = properties
        return {**schema, "required": required} if required else schema

    def _property(self, field: Any, sent: bool) -> Schema:
        rules = field.GetOptions().Extensions[validate_pb2.field]
        schema = self._value(field, sent)
        if sent:
            schema = {**schema, **_limits(rules, field)}
        if field.is_repeated:
            limits = _limited(rules.repeated) if sent else {}
            schema = {"type": "array", "items": schema, **limits}
        return {**schema, "description": self.comment(field.full_name)}

    def _value(self, field: Any, sent: bool) -> Schema:
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            if field.message_type.full_name == TIMESTAMP:
                return {"type": "string", "format": "date-time"}
            return self.sent(field.message_type) if sent else self.answered(field.message_type)
        if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
            return self._enum(field.enum_type)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return {"type": "string", "contentEncoding": "base64"}
        if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            return {"type": "string"}
        number = dict(_NUMBERS[field.cpp_type])
        if number["type"] == "number" and not sent:
            number["type"] = ["number", "null"]
        return number

    def _enum(self, enum: Any) -> Schema:
        name = str(enum.name)
        if name not in self.schemas:
            lines = [self.comment(enum.full_name), ""]
            for value in enum.values:
                # A value's full name is that of its enum's scope, as protoc has it; the comments know both.
                text = self.comment(f"{enum.full_name}.{value.name}")
                if value.number:
                    lines.append(f"- `{value.name.removeprefix(enum_prefix(enum))}`: {text}")
            self.schemas[name] = {
                "type": "string",
                "enum": list(enum_names(enum)),
                "description": "\n".join(lines),
            }
        return _reference(name)

    def _table(self, table: Any) -> Schema:
        """The special shape of a table (sdcgate.wire.table_json)."""
        dimension = table.fields_by_name["dimensions"].message_type
        figure = table.fields_by_name["figures"].message_type
        column = {"type": "string", "description": "Name of its column in `columns`."}

        def members(message: Any, *names: str) -> dict[str, Schema]:
            return {name: self._property(message.fields_by_name[name], False) for name in names}

        numbers: Schema = {
            "type": "array",
            "items": {"type": ["number", "null"]},
            "description": "A dimension: position of each cell's code. A figure: its values; null where the "
            "cell is not published or has no value.",
        }
        statuses = self._property(table.fields_by_name["statuses"], False)
        shape = {
            "dimensions": _list_of(
                {**members(dimension, "variable", "level", "codes", "labels"), "column": column},
                ["variable", "level", "column", "codes"],
                self.comment(table.fields_by_name["dimensions"].full_name),
            ),
            "figures": _list_of(
                {**members(figure, "statistic", "measure"), "column": column},
                ["statistic", "measure", "column"],
                self.comment(table.fields_by_name["figures"].full_name),
            ),
            "columns": {
                "type": "object",
                "description": "Columns of equal length, a value a cell: a column a dimension, a column a "
                "figure, and `status`.",
                "properties": {"status": statuses},
                "additionalProperties": numbers,
                "required": ["status"],
            },
        }
        return self._object(table, shape, list(shape))


def _list_of(properties: dict[str, Schema], required: list[str], description: str) -> Schema:
    item = {"type": "object", "properties": properties, "required": required}
    return {"type": "array", "items": item, "description": description}


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _always(field: Any) -> bool:
    """Whether an answer always has the field."""
    enum = field.cpp_type == FieldDescriptor.CPPTYPE_ENUM
    return bool(field.is_repeated or not (field.has_presence or enum))


def _needed(field: Any) -> bool:
    """Whether a sender must give the field."""
    rules = field.GetOptions().Extensions[validate_pb2.field]
    if rules.required or field.has_presence:
        return bool(rules.required)
    least = rules.string.min_len or rules.repeated.min_items or rules.uint32.gte
    return bool(least or not re.search(rules.string.pattern, "") or 0 in rules.enum.not_in)


def _limits(rules: Any, field: Any) -> Schema:
    """Constraints of a single value, or of the items where the field is repeated."""
    if field.is_repeated:
        rules = rules.repeated.items
    kind = rules.WhichOneof("type")
    return _limited(getattr(rules, kind)) if kind in ("string", "uint32", "int64", "double") else {}


def _limited(rules: Any) -> Schema:
    return {_RULES[field.name]: value for field, value in rules.ListFields() if field.name in _RULES}
