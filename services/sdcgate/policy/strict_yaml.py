"""YAML as agencies write it by hand, read so that no slip of the pen goes unnoticed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

MOST_VALUES = 100_000
Place = Sequence[int | str]
"""Keys and positions that lead to a value."""


class YamlInvalid(ValueError):
    """A text that is no YAML, or can be read in two ways. `problems` holds all, each with its line."""

    def __init__(self, problems: Sequence[tuple[int | None, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"line {line}: {what}" if line else what for line, what in problems))


@dataclass(frozen=True, slots=True)
class Document:
    """Plain values, and the lines that they stand in."""

    value: Any
    _root: yaml.Node | None = field(repr=False)

    def line(self, path: Place) -> int | None:
        """Line of what stands at a path; where it is missing, of what it is missing in. From 1."""
        node, line = self._root, None
        for step in path:
            found = _below(node, step)
            if found is None:
                break
            line, node = found
        if line is None and self._root is not None:
            return int(self._root.start_mark.line) + 1
        return line


def read_yaml(text: str) -> Any:
    """Plain values from YAML; a key that stands twice is an error and not the last one's win.

    Raises:
        YamlInvalid: with all problems and their lines.
    """
    return read_document(text).value


def read_document(text: str) -> Document:
    """Plain values with their lines.

    Raises:
        YamlInvalid: with all problems and their lines.
    """
    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlInvalid([(line, "has a character that YAML does not allow")]) from None
    try:
        root = loader.get_single_node()
        problems = sorted(set(_problems(root, set(), ()))) if root is not None else []
        if root is not None and not problems and _values(root, {}) > MOST_VALUES:
            problems = [(root.start_mark.line + 1, f"has more than {MOST_VALUES} values through its aliases")]
        if problems:
            raise YamlInvalid(problems)
        value = loader.construct_document(root) if root is not None else None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "is nested too deeply or is not text"
        raise YamlInvalid([(mark.line + 1 if mark is not None else None, str(what))]) from error
    except YamlInvalid:
        raise
    except ValueError:
        what = "has a date or a number that does not exist; put it in quotes"
        raise YamlInvalid([(None, what)]) from None
    finally:
        loader.dispose()
    return Document(value, root)


def _values(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node has, each as often as aliases repeat it."""
    if id(node) not in known:
        inner: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            inner = list(node.value)
        elif isinstance(node, yaml.MappingNode):
            inner = [value for _, value in node.value]
        known[id(node)] = 1 + sum(_values(part, known) for part in inner)
    return known[id(node)]


def _problems(node: yaml.Node, seen: set[int], above: tuple[int, ...]) -> Iterator[tuple[int, str]]:
    """Keys that are no texts or stand twice, values that hold themselves; what is repeated is seen once."""
    if id(node) in above:
        yield node.start_mark.line + 1, "holds itself through an alias"
    if id(node) in seen:
        return
    seen.add(id(node))
    above = (*above, id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _problems(item, seen, above)
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag != "tag:yaml.org,2002:str":
                shown = repr(key.value) if isinstance(key, yaml.ScalarNode) else "of several values"
                yield line, f"the key {shown} is not a text; put it in quotes"
            elif key.value in names:
                yield line, f"the key {key.value!r} stands twice"
            names.add(str(key.value))
            yield from _problems(value, seen, above)


def _below(node: yaml.Node | None, step: int | str) -> tuple[int, yaml.Node] | None:
    """Line and value of a member of a mapping or list."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return key.start_mark.line + 1, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item.start_mark.line + 1, item
    return None
