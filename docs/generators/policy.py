"""The policy reference, from the types that read policy files and files of examples."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from generators.markdown import joined, sentence, table
from sdcgate.policy.examples import ExamplesFile
from sdcgate.policy.model import LevelPolicy, PolicyFile
from sdcgate.policy.settings import flow

_HEADER = ("setting", "type", "default", "means", "must be")
_LAYERS = {
    "defaults": "layer",
    "access_levels": "for each of `public`, `licensed`, `remote`, `on-site`: layer or null",
    "datasets": "for each dataset, for each access level: layer",
}
"""What stands where the schema only says that it is an object."""
_NUMBERS = {"integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}


def policy_page() -> str:
    """The page."""
    return joined(
        "# Policy reference",
        "Every setting of a policy file. How to write one, what the rules mean and how policies are tested "
        "is told in [Policies](../policy.md). Editors check files with the JSON schema that "
        "`sdcgate policy schema` prints. An unknown key is an error.",
        "## A policy file",
        _fields(PolicyFile.model_json_schema(), "", _LAYERS),
        "A layer has the sections that follow. Any part of any of them may be left out of a layer; what is "
        "required has to be there once the layers are merged. A setting without a default is required.",
        *_sections(LevelPolicy.model_json_schema()),
    )


def policy_examples_page() -> str:
    """The page of the files beside policies."""
    schema = ExamplesFile.model_json_schema()
    return joined(
        "# Examples of policies: reference",
        "Every field of a file `<policy>.examples.yaml`, which stands beside the policy and is run by "
        "`sdcgate policy test`. How it is used is told in [Policies](../policy.md#examples). Its JSON schema "
        "is printed by `sdcgate policy schema --examples`. An unknown key is an error.",
        "## The file",
        _fields(schema, ""),
        *_models(schema),
    )


def _sections(schema: dict[str, Any]) -> Iterator[str]:
    """Each section of a layer, with the rules that have settings of their own."""
    for name, field in schema["properties"].items():
        section = _model(field, schema)
        assert section is not None
        yield from _section(section, name, schema, "##")


def _section(section: dict[str, Any], path: str, schema: dict[str, Any], heading: str) -> Iterator[str]:
    """A section, and those of its settings that have settings of their own."""
    yield f"{heading} {path}"
    yield sentence(section["description"])
    yield _fields(section, path)
    for member, inner in section["properties"].items():
        rule = _model(inner, schema)
        if rule is not None:
            yield from _section(rule, f"{path}.{member}", schema, f"{heading}#")


def _models(schema: dict[str, Any]) -> Iterator[str]:
    for name, model in _reached(schema).items():
        yield f"## {_words(name)}"
        yield sentence(model["description"])
        yield _fields(model, "")


def _reached(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Models of the file, the outer ones first."""
    waiting, found = [schema], {}
    while waiting:
        for field in waiting.pop(0)["properties"].values():
            for name in _names(field):
                if name not in found:
                    found[name] = schema["$defs"][name]
                    waiting.append(found[name])
    return found


def _fields(model: dict[str, Any], path: str, types: Mapping[str, str] = MappingProxyType({})) -> str:
    required = set(model.get("required", ()))
    rows = [
        (
            f"`{name}`",
            types.get(name) or _type(field, f"{path}.{name}"),
            "" if name in required else _default(field),
            field.get("description", ""),
            ", ".join(_limits(field)) if name not in types else "",
        )
        for name, field in model["properties"].items()
    ]
    return table(_HEADER, rows)


def _type(field: dict[str, Any], path: str) -> str:
    """What may stand there, in words."""
    if "anyOf" in field:
        return " or ".join(_type(part, path) for part in field["anyOf"])
    if "$ref" in field:
        return f"[{_words(_names(field)[0]).lower()}](#{_anchor(field, path)})"
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    kind = field.get("type")
    if kind == "array":
        return f"list of {_type(field['items'], path)}"
    if kind == "object":
        (inner,) = field.get("patternProperties", {"": field.get("additionalProperties")}).values()
        return f"for each variable: {_type(inner, path)}"
    return _NUMBERS.get(str(kind), "text")


def _anchor(field: dict[str, Any], path: str) -> str:
    """Rules have a heading of their path, what stands in examples one of its name."""
    if path.startswith("."):
        return _words(_names(field)[0]).lower().replace(" ", "-")
    return path.replace(".", "").lower()


def _default(field: dict[str, Any]) -> str:
    value = field.get("default", ...)
    if value is ...:
        return "none" if field.get("type") == "object" else ""
    if value in ([], {}):
        return "none"
    return f"`{', '.join(map(str, value)) if isinstance(value, list) else flow(value)}`"


def _limits(field: dict[str, Any]) -> Iterator[str]:
    """Bounds of a value, or of what stands in it."""
    words = {
        "minimum": "at least {:,}",
        "exclusiveMinimum": "more than {:,}",
        "maximum": "at most {:,}",
        "minLength": "at least {:,} characters",
        "maxLength": "at most {:,} characters",
        "minItems": "at least {:,} entries",
        "minProperties": "at least {:,} entries",
    }
    for part in [field, *field.get("anyOf", ())]:
        for name, text in words.items():
            if name in part and not (name == "minLength" and part[name] == 1):
                yield text.format(part[name])
        if "pattern" in part:
            yield f"matches `{part['pattern']}`"
        inner = part.get("items", {})
        if "minItems" in inner:
            yield f"each at least {inner['minItems']} entries"


def _model(field: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any] | None:
    """The model that a field holds, if it holds one."""
    for name in _names(field):
        model: dict[str, Any] = schema["$defs"][name]
        return model
    return None


def _names(value: Any) -> list[str]:
    """Names of the models that a field holds."""
    if isinstance(value, list):
        return [name for part in value for name in _names(part)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"].rpartition("/")[2]] if "$ref" in value else []
    return own + [name for key, part in value.items() if key != "default" for name in _names(part)]


def _words(name: str) -> str:
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
    return words[0].upper() + words[1:]
