"""Messages as JSON and back, by their descriptors; strict, and with all problems of a body at once.

Names are those of the protos (snake_case); enums go without their prefix (`"UNITS"`), 64-bit integers are
numbers, timestamps RFC 3339 texts. Every field is written, except messages and `optional` fields that are not
set and enums that are unspecified. Nothing that a reader could understand in two ways is accepted: unknown or
repeated names, null, NaN and infinity, texts for numbers, unspecified enums.
"""

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import pydantic_core
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from sdcgate.wire.problems import FieldProblem, InvalidMessageError, join

MAXIMUM_DEPTH = 32
MAXIMUM_PROBLEMS = 1000
_SHOWN_NAMES = 40

M = TypeVar("M", bound=Message)
Json = Any
Shape = Callable[[Any], Json]
"""How a message of one type is written, where it is not by its descriptor."""

_INTEGER_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_EXACT_FLOAT = 2**53
_NO_NUMBER = re.compile(rb"[\[:,]\s*-?(NaN|Infinity)\b")
_SURELY_FINITE = 1e300
_TIMESTAMP = Timestamp.DESCRIPTOR.full_name


class _RepeatedNames(dict[str, Any]):
    """An object in which names stand more than once."""

    names: tuple[str, ...] = ()


@cache
def enum_prefix(enum: Any) -> str:
    """What the names of an enum's values begin with: `STATISTIC_` for Statistic."""
    words = "".join(f"_{letter}" if letter.isupper() else letter for letter in enum.name)
    return words.lstrip("_").upper() + "_"


@cache
def enum_names(enum: Any) -> Mapping[str, int]:
    """Values of an enum by their names in JSON, without the unspecified one."""
    prefix = enum_prefix(enum)
    return {value.name.removeprefix(prefix): value.number for value in enum.values if value.number != 0}


@cache
def enum_texts(enum: Any) -> Mapping[int, str]:
    """Names of an enum's values in JSON, without the unspecified one."""
    return {number: name for name, number in enum_names(enum).items()}


def parse(body: bytes) -> Json:
    """Parse a JSON text strictly; repeated names are kept for `read_object` to report.

    Raises InvalidMessageError where it is no JSON text, too deeply nested, or has NaN or infinity.
    """
    try:
        pydantic_core.from_json(body, allow_inf_nan=False)
        return json.loads(body, object_pairs_hook=_members)
    except (ValueError, RecursionError) as error:
        where = str(error) if isinstance(error, ValueError) else "nested too deeply"
        where += "; NaN and Infinity are no numbers of JSON" if _NO_NUMBER.search(body) else ""
        raise InvalidMessageError([FieldProblem("", f"the body must be one JSON object: {where}")]) from None


def from_json(body: bytes, message_type: type[M], given: Mapping[str, str] | None = None) -> M:
    """Read a message from a JSON object.

    `given` are text fields that the address holds; the body must not repeat them with other values.
    Raises InvalidMessageError with all problems.
    """
    return from_value(parse(body), message_type, given)


def from_value(value: Json, message_type: type[M], given: Mapping[str, str] | None = None) -> M:
    """Read a message from a parsed object; as `from_json`."""
    message = message_type()
    reader = _Reader()
    if isinstance(value, dict):
        value = _with_given(value, given or {}, reader)
    reader.read(value, message, "", 0)
    if reader.problems:
        raise InvalidMessageError(reader.told())
    return message


def to_json(message: Message, shapes: Mapping[str, Shape] | None = None) -> bytes:
    """Write a message as JSON. `shapes` by full message name replace the writing by descriptor."""
    return pydantic_core.to_json(to_value(message, shapes or {}), inf_nan_mode="null")


def to_value(message: Message, shapes: Mapping[str, Shape]) -> Json:
    """Turn a message into dictionaries, lists, texts and numbers."""
    shape = shapes.get(message.DESCRIPTOR.full_name)
    if shape is not None:
        return shape(message)
    if isinstance(message, Timestamp):
        return message.ToJsonString()
    result: dict[str, Json] = {}
    for field in message.DESCRIPTOR.fields:
        if field.is_repeated:
            values = getattr(message, field.name)
            result[field.name] = _repeated_to_value(field, values, shapes)
        elif not field.has_presence or message.HasField(field.name):
            value = _single_to_value(field, getattr(message, field.name), shapes)
            if value is not None:
                result[field.name] = value
    return result


def _repeated_to_value(field: Any, values: Any, shapes: Mapping[str, Shape]) -> list[Json]:
    if field.cpp_type in _INTEGER_RANGES or field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        return list(values)
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return [_enum_to_value(field, value) or "UNSPECIFIED" for value in values]
    return [_single_to_value(field, value, shapes) for value in values]


def _single_to_value(field: Any, value: Any, shapes: Mapping[str, Shape]) -> Json:
    if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        return to_value(value, shapes)
    if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        return _enum_to_value(field, value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return base64.b64encode(value).decode("ascii")
    return value


def _enum_to_value(field: Any, number: int) -> str | None:
    """Name of an enum value; None for 0 and for unknown numbers: both are unspecified."""
    return enum_texts(field.enum_type).get(number)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    repeated = _RepeatedNames(members)
    counts = Counter(name for name, _ in pairs)
    repeated.names = tuple(name for name, count in counts.items() if count > 1)
    return repeated


def _with_given(value: dict[str, Any], given: Mapping[str, str], reader: "_Reader") -> dict[str, Any]:
    """The body's members with those that the address gives."""
    for name, text in given.items():
        if name in value and value[name] != text:
            reader.problem(name, "differs from the address; leave it out of the body")
    merged = type(value)({**value, **given})
    if isinstance(merged, _RepeatedNames) and isinstance(value, _RepeatedNames):
        merged.names = value.names
    return merged


class _Reader:
    """Reads one body and collects its problems."""

    def __init__(self) -> None:
        self.problems: list[FieldProblem] = []
        self._more = 0

    def problem(self, path: str, message: str) -> None:
        if len(self.problems) < MAXIMUM_PROBLEMS:
            self.problems.append(FieldProblem(path, message))
        else:
            self._more += 1

    def told(self) -> list[FieldProblem]:
        """The problems, and how many more there are."""
        more = [FieldProblem("", f"and {self._more} more problems")] if self._more else []
        return [*self.problems, *more]

    def read(self, value: Json, message: Message, path: str, depth: int) -> None:
        """Fill a message from an object."""
        if depth > MAXIMUM_DEPTH:
            self.problem(path, f"is nested more than {MAXIMUM_DEPTH} deep")
            return
        if isinstance(message, Timestamp):
            self._read_timestamp(value, message, path)
            return
        if not isinstance(value, dict):
            self.problem(path, f"must be an object, not {_kind(value)}")
            return
        if isinstance(value, _RepeatedNames):
            for name in value.names:
                self.problem(join(path, _shown(name)), "stands more than once")
        fields = message.DESCRIPTOR.fields_by_name
        for name, content in value.items():
            field = fields.get(name)
            if field is None:
                self.problem(join(path, _shown(name)), _unknown_field(message.DESCRIPTOR))
            else:
                self._read_field(content, message, field, join(path, name), depth)
        for group in message.DESCRIPTOR.oneofs:
            names = [field.name for field in group.fields if field.name in value]
            for name in names[1:]:
                self.problem(join(path, name), f"must not stand beside {names[0]}: send one of them")

    def _read_field(self, value: Json, message: Message, field: Any, path: str, depth: int) -> None:
        if value is None:
            self.problem(path, "must not be null; leave it out")
        elif field.is_repeated:
            self._read_list(value, message, field, path, depth)
        elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            part = getattr(message, field.name)
            part.SetInParent()
            self.read(value, part, path, depth + 1)
        else:
            read = self._scalar(value, field, path)
            if read is not None:
                setattr(message, field.name, read)

    def _read_list(self, value: Json, message: Message, field: Any, path: str, depth: int) -> None:
        if not isinstance(value, list):
            self.problem(path, f"must be an array, not {_kind(value)}")
            return
        target = getattr(message, field.name)
        if _is_column(value, field):
            target.extend(value)
            return
        for position, item in enumerate(value):
            where = f"{path}[{position}]"
            if item is None:
                self.problem(where, "must not be null")
            elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
                self.read(item, target.add(), where, depth + 1)
            else:
                read = self._scalar(item, field, where)
                if read is not None:
                    target.append(read)

    def _scalar(self, value: Json, field: Any, path: str) -> Any:
        """The value as the field takes it; None, with a problem noted, where it does not."""
        kind = field.cpp_type
        if kind in _INTEGER_RANGES:
            return self._integer(value, _INTEGER_RANGES[kind], path)
        if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
            return self._number(value, path)
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return self._boolean(value, path)
        if not isinstance(value, str):
            self.problem(path, f"must be a text, not {_kind(value)}")
        elif kind == FieldDescriptor.CPPTYPE_ENUM:
            return self._enum(value, field.enum_type, path)
        else:
            return self._bytes(value, path) if field.type == FieldDescriptor.TYPE_BYTES else value
        return None

    def _boolean(self, value: Json, path: str) -> bool | None:
        if isinstance(value, bool):
            return value
        self.problem(path, f"must be true or false, not {_kind(value)}")
        return None

    def _integer(self, value: Json, bounds: tuple[int, int], path: str) -> int | None:
        if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT_FLOAT:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(path, f"must be an integer, not {_kind(value)}")
            return None
        if not bounds[0] <= value <= bounds[1]:
            self.problem(path, f"must be an integer from {bounds[0]} to {bounds[1]}")
            return None
        return value

    def _number(self, value: Json, path: str) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problem(path, f"must be a number, not {_kind(value)}")
            return None
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.problem(path, "must be a finite number")
            return None
        return number

    def _enum(self, value: str, enum: Any, path: str) -> int | None:
        names = enum_names(enum)
        if value not in names:
            self.problem(path, f"must be one of {', '.join(names)}")
        return names.get(value)

    def _bytes(self, value: str, path: str) -> bytes | None:
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            self.problem(path, "must be base64")
            return None

    def _read_timestamp(self, value: Json, message: Timestamp, path: str) -> None:
        try:
            message.FromJsonString(value)
        except (ValueError, TypeError, AttributeError):
            self.problem(path, "must be a time like 2025-01-31T12:00:00Z")


def _is_column(values: list[Json], field: Any) -> bool:
    """Whether a list is surely what the field takes; nearly all are, and columns are long."""
    kinds = set(map(type, values))
    if field.cpp_type in _INTEGER_RANGES and kinds == {int}:
        least, most = _INTEGER_RANGES[field.cpp_type]
        return bool(least <= min(values) and max(values) <= most)
    if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE and kinds and kinds <= {int, float}:
        if not (min(values) >= -_SURELY_FINITE and max(values) <= _SURELY_FINITE):
            return False
        return not math.isnan(sum(values))  # neither least nor greatest shows a NaN
    return bool(field.type == FieldDescriptor.TYPE_STRING and kinds == {str})


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    kinds = {bool: "a truth value", str: "a text", dict: "an object", list: "an array"}
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), "a number")


def _shown(name: str) -> str:
    """A sender's own name for a field, short enough for an answer."""
    return name if len(name) <= _SHOWN_NAMES else name[:_SHOWN_NAMES] + "..."


def _unknown_field(descriptor: Any) -> str:
    return f"is not known here; the fields are {', '.join(field.name for field in descriptor.fields)}"
