"""YAML as agencies write it by hand, read so that no slip of the pen goes unnoticed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

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
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        problems = sorted(set(_problems(root, set()))) if root is not None else []
        if problems:
            raise YamlInvalid(problems)
        value = loader.construct_document(root) if root is not None else None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "is nested too deeply or is not text"
        raise YamlInvalid([(mark.line + 1 if mark is not None else None, str(what))]) from error
    finally:
        loader.dispose()
    return Document(value, root)


def _problems(node: yaml.Node, seen: set[int]) -> Iterator[tuple[int, str]]:
    """Keys that are no texts or stand twice; a node that aliases repeat is looked at once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _problems(item, seen)
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
            yield from _problems(value, seen)


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
