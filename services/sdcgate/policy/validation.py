"""What is wrong in a YAML file of a typed model: every problem, with its path and its line."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from sdcgate.policy.model import PolicyInvalid, Problem
from sdcgate.policy.strict_yaml import Document, YamlInvalid, read_document

Found = tuple[tuple[int | str, ...], str]
"""Where something is wrong, and what."""


def read_plain(text: str, source: str) -> Document:
    """The values of a YAML text, all of which JSON has.

    Raises:
        PolicyInvalid: with all problems and their lines.
    """
    try:
        document = read_document(text)
    except YamlInvalid as error:
        problems = [Problem("", message, line) for line, message in error.problems]
        raise PolicyInvalid(source, problems) from error
    require_none(
        [
            (path, "is not plain text, number or truth value; put it in quotes")
            for path in _unplain(document.value, ())
        ],
        document,
        source,
    )
    return document


def require_none(found: list[Found], document: Document, source: str) -> None:
    """Nothing is wrong.

    Raises:
        PolicyInvalid: with all that is, in the order of the lines.
    """
    if found:
        problems = dict.fromkeys(
            Problem(".".join(map(str, place)), what, document.line(place)) for place, what in found
        )
        raise PolicyInvalid(source, sorted(problems, key=lambda problem: problem.line or 0))


def errors_of(error: ValidationError) -> Iterator[Found]:
    """What pydantic found, in our words."""
    errors = error.errors(include_url=False, include_context=False)
    for found in errors:
        place = found["loc"]
        within = any(other["loc"][: len(place)] == place and other is not found for other in errors)
        # Items with problems are not counted, so that a list of them seems too short as well.
        if found["type"] != "too_short" or not within:
            yield tuple(step for step in place if step != "[key]"), _message(found)


def _unplain(value: Any, path: tuple[int | str, ...]) -> Iterator[tuple[int | str, ...]]:
    """Where a value stands that JSON does not have: a date, a set, bytes."""
    if isinstance(value, dict | list):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _unplain(part, (*path, step))
    elif value is not None and not isinstance(value, str | int | float):
        yield path


def _message(found: Mapping[str, Any]) -> str:
    kind, message = str(found["type"]), str(found["msg"])
    if kind == "extra_forbidden":
        return "is not known here"
    if kind == "missing":
        return "is missing"
    return message[0].lower() + message[1:]
