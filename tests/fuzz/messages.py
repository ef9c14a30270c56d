"""Messages made from their descriptors: anything at all, one change in a good message, damaged bytes."""

import random
from collections.abc import Callable
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st

TEXTS = (
    "", "a", "0", "1", "_U", "_T", "_Z", "site", "region", "income", "people", "true", "NaN", "\0", " ", "\n",
    "é", "\U0001d518" * 60, "国" * 200, "x" * 64, "x" * 65, "x" * 129, "x" * 5000, "../../etc/passwd", "/",
    "'; DROP TABLE events; --", "%00", "{}", "\x7f", "￿", "\u202e", "people.csv", "package:__main__/x.csv",
    "q-01M7YK3FA18MF79SBQWGGGJA28",
)  # fmt: skip
INTEGERS = (0, 1, 2, 3, 7, 16, 17, 100, 1000, 1001, 2**31 - 1, 2**31, 2**32 - 1, 2**53 + 1, 2**62, 2**63 - 1,
            -1, -2, -(2**31), -(2**63), 2**64 - 1)  # fmt: skip
DOUBLES = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-9,
    5e-324,
    1e308,
    -1e308,
    2.0**63,
    float("nan"),
    float("inf"),
    -float("inf"),
)
LENGTHS = (1, 2, 3, 17, 33, 1001)
DEPTH = 4
MOST_BYTES = 500_000
"""Lists that are repeated within lists would fill the memory here, not over there."""

_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


def message_class(descriptor: Descriptor) -> type[Message]:
    """The class of a descriptor's messages."""
    return message_factory.GetMessageClass(descriptor)


def messages(descriptor: Descriptor) -> st.SearchStrategy[Message]:
    """Any message: each field left out or set, to what is ordinary or extreme."""
    return _chances().map(lambda chance: any_message(descriptor, chance))


def any_message(descriptor: Descriptor, chance: random.Random) -> Message:
    """A message of which each field is left out or set, to what is ordinary or extreme."""
    return _filled(descriptor, chance, 0)


def mutated(good: Message, changes: int = 1) -> st.SearchStrategy[Message]:
    """A good message with a change in one place, so that what lies behind the first check is reached."""
    return _chances().map(lambda chance: changed_message(good, chance, changes))


def changed_message(good: Message, chance: random.Random, changes: int = 1) -> Message:
    """A copy with one to so many changes."""
    changed = type(good)()
    changed.CopyFrom(good)
    for _ in range(chance.randint(1, changes)):
        before = type(good)()
        before.CopyFrom(changed)
        _mutate(changed, chance)
        if changed.ByteSize() > MOST_BYTES:
            return before
    return changed


def damaged(good: Message) -> st.SearchStrategy[bytes]:
    """The bytes of a good message, cut short, with bytes changed, or with what no field is."""
    content = good.SerializeToString(deterministic=True)
    return _chances().map(lambda chance: damage(content, chance))


def damage(content: bytes, chance: random.Random) -> bytes:
    """Bytes cut short, changed, or with what no field is."""
    return bytes(chance.choice(_DAMAGES)(bytearray(content), chance))


def _chances() -> st.SearchStrategy[random.Random]:
    """A seed an input: quicker by far than drawing each choice, and one change needs no shrinking."""
    return st.integers(0, 2**64 - 1).map(random.Random)


def _filled(descriptor: Descriptor, chance: random.Random, depth: int) -> Message:
    message = message_class(descriptor)()
    for field in descriptor.fields:
        if chance.random() < 0.5:
            _set(message, field, chance, depth)
    return message


def _set(message: Message, field: Any, chance: random.Random, depth: int = DEPTH - 1) -> None:
    """Give a field what it had not."""
    message.ClearField(field.name)
    if field.is_repeated:
        length = chance.choice((0, 1, 1, 2, 3, 4)) if chance.random() < 0.9 else chance.choice(LENGTHS)
        _extend(message, field, chance, depth, length)
    elif field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        if depth < DEPTH:
            getattr(message, field.name).CopyFrom(_filled(field.message_type, chance, depth + 1))
        else:
            getattr(message, field.name).SetInParent()
    else:
        setattr(message, field.name, _value(field, chance))


def _extend(message: Message, field: Any, chance: random.Random, depth: int, length: int) -> None:
    target = getattr(message, field.name)
    if length > max(LENGTHS[:4]) and field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
        depth = DEPTH  # many of them, but empty ones
    for _ in range(length):
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            target.append(_filled(field.message_type, chance, depth + 1) if depth < DEPTH
                          else message_class(field.message_type)())  # fmt: skip
        else:
            target.append(_value(field, chance))


def _value(field: Any, chance: random.Random) -> Any:
    kind = field.cpp_type
    if kind in _RANGES:
        low, high = _RANGES[kind]
        wanted = chance.choice(INTEGERS) if chance.random() < 0.7 else chance.randint(low, high)
        return min(max(wanted, low), high)
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return chance.choice(DOUBLES) if chance.random() < 0.7 else chance.uniform(-1e6, 1e6)
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return chance.random() < 0.5
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        numbers = [value.number for value in field.enum_type.values]
        return chance.choice([*numbers, -1, max(numbers) + 1, 99, 2**31 - 1, -(2**31)])
    text = chance.choice(TEXTS)
    return text.encode() if field.type == FieldDescriptor.TYPE_BYTES else text


def _changed_value(field: Any, old: Any, chance: random.Random) -> Any:
    """Another value; bytes are a file most of the time, and more is reached by a damaged one."""
    if field.type == FieldDescriptor.TYPE_BYTES and old and chance.random() < 0.8:
        return damage(old, chance)
    return _value(field, chance)


def _mutate(message: Message, chance: random.Random) -> None:
    """Change one place of a message, deep down as often as not."""
    inside = [
        (field, value)
        for field, value in message.ListFields()
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE and (not field.is_repeated or len(value))
    ]
    if inside and chance.random() < 0.75:
        field, value = chance.choice(inside)
        _mutate(chance.choice(list(value)) if field.is_repeated else value, chance)
        return
    fields = list(message.DESCRIPTOR.fields)
    if not fields:
        return
    given = [field for field, _ in message.ListFields()]
    field = chance.choice(given) if given and chance.random() < 0.7 else chance.choice(fields)
    if chance.random() < 0.1:
        message.ClearField(field.name)
    elif field.is_repeated and len(getattr(message, field.name)) and chance.random() < 0.9:
        _mutate_list(message, field, chance)
    elif field.type == FieldDescriptor.TYPE_BYTES and not field.is_repeated:
        setattr(message, field.name, _changed_value(field, getattr(message, field.name), chance))
    else:
        _set(message, field, chance)


def _mutate_list(message: Message, field: Any, chance: random.Random) -> None:
    target = getattr(message, field.name)
    place = chance.randrange(len(target))
    match chance.randrange(6):
        case 0:
            del target[place]
        case 1:
            target.extend([target[place]])
        case 2:
            times = min(chance.choice(LENGTHS), 100_000 // len(target))
            target.extend(list(target) * times)
        case 3:
            kept = list(target)[::-1]
            message.ClearField(field.name)
            getattr(message, field.name).extend(kept)
        case 4:
            _extend(message, field, chance, DEPTH - 1, 1)
        case _:
            if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
                _mutate(target[place], chance)
            else:
                target[place] = _value(field, chance)


def _cut(content: bytearray, chance: random.Random) -> bytearray:
    return content[: chance.randrange(len(content))] if content else content


def _changed(content: bytearray, chance: random.Random) -> bytearray:
    for _ in range(chance.randint(1, 4)):
        if content:
            content[chance.randrange(len(content))] = chance.randrange(256)
    return content


def _inserted(content: bytearray, chance: random.Random) -> bytearray:
    place = chance.randint(0, len(content))
    return content[:place] + chance.randbytes(chance.choice((1, 2, 8, 100))) + content[place:]


def _no_utf8(content: bytearray, chance: random.Random) -> bytearray:
    """A letter of some text, most likely, becomes a byte that UTF-8 does not have."""
    letters = [place for place, byte in enumerate(content) if 97 <= byte <= 122]
    if letters:
        content[chance.choice(letters)] = 0xFF
    return content


def _unknown_field(content: bytearray, chance: random.Random) -> bytearray:
    # Field 15000: a varint, eight bytes, bytes of a length, a group that begins or ends, four bytes.
    tails = (b"\xc0\xa9\x07\x01", b"\xc1\xa9\x07" + b"x" * 8, b"\xc2\xa9\x07\x03abc", b"\xc3\xa9\x07",
             b"\xc4\xa9\x07", b"\xc5\xa9\x07abcd", b"\xc2\xa9\x07\xff\xff\xff\xff\x07")  # fmt: skip
    return content + chance.choice(tails)


def _noise(content: bytearray, chance: random.Random) -> bytearray:
    return bytearray(chance.randbytes(chance.choice((1, 3, 10, 300))))


def _deep(content: bytearray, chance: random.Random) -> bytearray:
    """A message in a message in a message: of field 1 to 5, hundreds of times."""
    tag, inner = chance.choice((0x0A, 0x12, 0x1A, 0x22, 0x2A)), b""
    for _ in range(chance.choice((50, 150))):
        inner = bytes([tag]) + _varint(len(inner)) + inner
    return bytearray(inner)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_DAMAGES: tuple[Callable[[bytearray, random.Random], bytearray], ...] = (
    _cut, _changed, _inserted, _no_utf8, _unknown_field, _noise, _deep,
)  # fmt: skip
