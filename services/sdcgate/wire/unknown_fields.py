"""Fields of a request that this version does not know: what a newer sender asked must not be left out.

Protocol buffers keep them without a word, and a rule that is not known would not be judged. Facts may have
them: what no rule of this version asks for changes no finding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from typing import Any

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from sdcgate.wire.problems import FieldProblem, join

FACTS = frozenset(
    {"sdcgate.types.v1.CellFacts", "sdcgate.risk.v1.ModelFacts", "sdcgate.risk.v1.StatisticFacts"}
)
"""Messages in which they do no harm."""
LARGE_BYTES = 1024 * 1024
"""Of messages from this size on unknown fields are not listed: that costs fifty times what they take."""
TOLD, MOST = 10, 50
"""So many fields are told of one message, and in all."""


def unknown_fields(message: Message) -> list[FieldProblem]:
    """Unknown fields of a message and of all that is set in it, but for facts.

    The path of one ends with its number (`rules.900`), or with `*` where they are too many to be told.
    """
    return list(islice(_unknown(message, "", message.ByteSize()), MOST))


def _unknown(message: Message, path: str, size: int) -> Iterator[FieldProblem]:
    set_in_it = list(_set_in(message, path))
    if size >= LARGE_BYTES:
        # Measured once each, as facts may be long: what they do not take it takes itself.
        sizes = [item.ByteSize() for _, _, item in set_in_it]
        own = size - sum(sizes)
    else:
        sizes, own = [0] * len(set_in_it), 0
    if own >= LARGE_BYTES:
        if _has_unknown(message):
            yield FieldProblem(join(path, "*"), _words("there are fields"))
    elif found := UnknownFieldSet(message):
        numbers = sorted({found[place].field_number for place in range(len(found))})
        for number in numbers[:TOLD]:
            yield FieldProblem(join(path, str(number)), _words("is a field"))
        if len(numbers) > TOLD:
            yield FieldProblem(join(path, "*"), _words("there are more fields"))
    for (part, where, item), its_size in zip(set_in_it, sizes, strict=True):
        if not part.is_facts:
            yield from _unknown(item, where, its_size)


def _set_in(message: Message, path: str) -> "Iterator[tuple[_Part, str, Message]]":
    """The messages that are set in a message, each with its field and its path."""
    for part in _parts(message.DESCRIPTOR):
        if part.repeated:
            for position, item in enumerate(getattr(message, part.name)):
                yield part, f"{join(path, part.name)}[{position}]", item
        elif message.HasField(part.name):
            yield part, join(path, part.name), getattr(message, part.name)


def _has_unknown(message: Message) -> bool:
    """Whether a message itself has unknown fields."""
    copy = type(message)()
    copy.CopyFrom(message)
    for part in _parts(message.DESCRIPTOR):
        copy.ClearField(part.name)
    size = copy.ByteSize()
    copy.DiscardUnknownFields()
    return size != copy.ByteSize()


def _words(what: str) -> str:
    return (
        f"{what} that version {version('sdcgate')} of this service does not know and would leave out; "
        "upgrade the service, or send the request without it"
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A field that is a message."""

    name: str
    repeated: bool
    is_facts: bool


@cache
def _parts(descriptor: Any) -> tuple[_Part, ...]:
    """The fields of a message that are messages; messages do not hold themselves."""
    return tuple(
        _Part(field.name, bool(field.is_repeated), field.message_type.full_name in FACTS)
        for field in descriptor.fields
        if field.message_type is not None
    )
