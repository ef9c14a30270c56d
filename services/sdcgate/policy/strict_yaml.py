"""YAML as agencies write it by hand, read so that no slip of the pen goes unnoticed."""

from collections.abc import Hashable
from typing import Any

import yaml


class YamlInvalid(ValueError):
    """A text that is no YAML, or YAML that can be understood in two ways."""

    def __init__(self, where: str, what: str) -> None:
        self.where = where
        self.what = what
        super().__init__(f"{where}: {what}" if where else what)


def read_yaml(text: str) -> Any:
    """Plain values from YAML; a key that stands twice is an error and not the last one's win.

    Raises:
        YamlInvalid: with the line.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else ""
        what = getattr(error, "problem", None) or "is nested too deeply or is not text"
        raise YamlInvalid(where, str(what)) from error


class _Loader(yaml.SafeLoader):
    """The safe loader, with keys that are texts and stand once."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    seen: set[Hashable] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise _problem(f"the key {key!r} is not a text; put it in quotes", key_node)
        if key in seen:
            raise _problem(f"the key {key!r} stands twice", key_node)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


def _problem(what: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, what, node.start_mark)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)
