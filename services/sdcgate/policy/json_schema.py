"""JSON schemas of policy files and of examples, for editors; generated from the types that read them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sdcgate.policy.examples import ExamplesFile
from sdcgate.policy.model import LevelPolicy, PolicyFile

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FOLDER = Path(__file__).parent / "schemas"
"""Where the schemas lie, for editors of the bundled files."""
POLICY_FILE = "policy.schema.json"
EXAMPLES_FILE = "policy-examples.schema.json"


def schemas() -> dict[str, str]:
    """The texts of all schemas, by file name."""
    made = {POLICY_FILE: policy_schema(), EXAMPLES_FILE: examples_schema()}
    return {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in made.items()}


def policy_schema() -> Schema:
    """Schema of a policy file.

    Defaults, access levels and datasets are layers that are merged: each may set any part of what applies,
    so nothing is required of one of them. What the merge lacks is seen by `sdcgate policy validate` only.
    """
    outer = _plain(PolicyFile)
    level = _plain(LevelPolicy)
    layers = level.pop("$defs")
    for name in _merged(level, layers):
        layers[name].pop("required")
    layer = {"$ref": "#/$defs/Layer"}
    properties = outer["properties"]
    properties["defaults"] = {**layer, "description": properties["defaults"]["description"]}
    _set_layer(properties["access_levels"], {"anyOf": [layer, {"type": "null"}]})
    _set_layer(properties["datasets"]["additionalProperties"], layer)
    level.pop("required")
    return {"$schema": DIALECT, **outer, "$defs": {**layers, "Layer": level}}


def examples_schema() -> Schema:
    """Schema of a file of examples."""
    return {"$schema": DIALECT, **_plain(ExamplesFile)}


def _plain(model: type[BaseModel]) -> Schema:
    """The schema of a model without the titles that pydantic makes of names."""
    schema = _without_titles(model.model_json_schema())
    assert isinstance(schema, dict)
    return schema


def _without_titles(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_titles(part) for part in value]
    if isinstance(value, dict):
        return {
            key: _without_titles(part)
            for key, part in value.items()
            if not (key == "title" and isinstance(part, str))
        }
    return value


def _set_layer(levels: Schema, layer: Schema) -> None:
    """What stands under each access level."""
    names = levels.pop("propertyNames")["enum"]
    levels.pop("additionalProperties")
    levels |= {"properties": dict.fromkeys(names, layer), "additionalProperties": False}


def _merged(schema: Schema, definitions: Mapping[str, Schema]) -> set[str]:
    """Definitions that are merged key by key: reached from a schema without passing through a list."""
    found: set[str] = set()
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _references(definitions[name])
    return {name for name in found if "required" in definitions[name]}


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _references(part)
    elif isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for key, part in value.items():
            if key != "items":
                yield from _references(part)
