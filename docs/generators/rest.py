"""The REST reference, from the OpenAPI document that the gateway serves."""

import json
from collections.abc import Mapping
from typing import Any

from generators.markdown import anchor, between, joined, sentence, table
from sdcgate.servers.openapi import DESCRIPTION, document

Schema = Mapping[str, Any]

_REFERENCE = "#/components/schemas/"
_JSON = "application/json"
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
_WIDTH = 88
_ERRORS_FROM = 400


def rest_page() -> str:
    """The page."""
    api = json.loads(document())
    components = api["components"]
    return joined(
        "# REST reference",
        "Every address of the gateway, every field and every error. It says the same as `GET /openapi.json`, "
        "which programs read. How to use the calls is told in [REST](../rest.md).",
        DESCRIPTION,
        "## Calls",
        *(
            _operation(method.upper(), path, operation)
            for path, operations in api["paths"].items()
            for method, operation in operations.items()
        ),
        "## Errors",
        "Every call can end with these; calls that take a body with all of them. "
        f"The body is `application/problem+json`, a {_link('Problem')}.",
        _errors(components["responses"]),
        "## Bodies",
        "A field of a body that is sent may be left out unless it must be given; an unknown field is an "
        "error. A field of an answer is always there unless it is marked *if any*.",
        *(_schema(name, schema) for name, schema in sorted(components["schemas"].items())),
    )


def _operation(method: str, path: str, operation: Schema) -> str:
    answers = {
        status: answer for status, answer in operation["responses"].items() if int(status) < _ERRORS_FROM
    }
    parameters = [
        (
            f"`{found['name']}`",
            found["in"],
            _type(_parameter(found)),
            found["description"],
            _limits(_parameter(found)),
        )
        for found in operation.get("parameters", ())
    ]
    return joined(
        f"### `{method} {path}`",
        sentence(operation.get("description", operation.get("summary", ""))),
        table(("parameter", "in", "type", "means", "must be"), parameters) if parameters else "",
        _sent(operation.get("requestBody", {})),
        table(
            ("status", "body", "means"),
            [(status, _body(answer), answer.get("description", "")) for status, answer in answers.items()],
        ),
        _first_example(answers),
    )


def _sent(body: Schema) -> str:
    """What a call takes: JSON, a file, a form, or either of the last two."""
    told = [body.get("description", "")]
    for media, content in body.get("content", {}).items():
        schema = content["schema"]
        if media == _JSON:
            told.append(f"Body: {_type(schema)}, such as\n\n{_example(content['example'])}")
        elif "properties" in schema:
            parts = [
                (f"`{name}`", _part(part), part["description"]) for name, part in schema["properties"].items()
            ]
            told += [f"Body as `{media}`:", table(("part", "type", "means"), parts)]
            told.append(f"`options`, such as\n\n{_example(schema['properties']['options']['examples'][0])}")
        else:
            told.append(f"Body as `{media}`: {schema['description']}")
    return joined(*told)


def _part(part: Schema) -> str:
    return "file" if part.get("format") == "binary" else f"JSON, {_type(part)}"


def _parameter(found: Schema) -> Schema:
    """Schema of a parameter, which stands as it is or as JSON."""
    schema: Schema = found["schema"] if "schema" in found else found["content"][_JSON]["schema"]
    return schema


def _body(answer: Schema) -> str:
    return ", ".join(_type(content.get("schema", {})) for content in answer.get("content", {}).values())


def _first_example(answers: Mapping[str, Schema]) -> str:
    for status, answer in answers.items():
        for content in answer.get("content", {}).values():
            if "example" in content:
                return f"An answer with {status}:\n\n{_example(content['example'])}"
    return ""


def _example(value: Any) -> str:
    return f"```json\n{_json(value, '')}\n```"


def _json(value: Any, indent: str) -> str:
    """JSON in which whatever fits stands on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(flat) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(name)}: {_json(part, inner)}" for name, part in value.items()]
    else:
        parts = [f"{inner}{_json(part, inner)}" for part in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(parts) + f"\n{indent}{closing}"


def _errors(responses: Mapping[str, Schema]) -> str:
    rows = []
    for status, response in sorted(responses.items()):
        (content,) = response["content"].values()
        rows.append((status, f"`{content['example']['code']}`", response["description"]))
    return table(("status", "code", "means"), rows)


def _schema(name: str, schema: Schema) -> str:
    description = schema.get("description", "")
    if "enum" in schema:
        return joined(f"### {name}", description)
    sent = schema.get("additionalProperties") is False
    return joined(f"### {name}", description, _fields(schema, sent, ""))


def _fields(schema: Schema, sent: bool, within: str) -> str:
    rows = list(_rows(schema, sent, within))
    return table(("field", "type", "means", "must be" if sent else ""), rows) if rows else "No fields."


def _rows(schema: Schema, sent: bool, within: str) -> list[tuple[str, str, str, str]]:
    rows: list[tuple[str, str, str, str]] = []
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        given = name in required
        note = ("given" if given else "") if sent else ("" if given else "*if any*")
        limits = ", ".join(part for part in (note, _limits(field) if sent else "") if part)
        rows.append((f"`{within}{name}`", _type(field), field.get("description", ""), limits))
        inner = field.get("items", field)
        if "properties" in inner:
            rows += _rows(inner, sent, f"{within}{name}{'[]' if field['type'] == 'array' else ''}.")
    if isinstance(schema.get("additionalProperties"), dict):
        others = schema["additionalProperties"]
        rows.append((f"`{within}...`", _type(others), others.get("description", ""), ""))
    return rows


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return _link(schema["$ref"].removeprefix(_REFERENCE))
    kind: Any = schema.get("type", "object")
    if kind == "array":
        return f"list of {_type(schema['items'])}"
    if isinstance(kind, list):
        return " or ".join(_TYPES.get(part, str(part)) for part in kind)
    if schema.get("format") == "date-time":
        return "date and time"
    if schema.get("contentEncoding"):
        return "base64 text"
    return _TYPES.get(kind, str(kind))


def _link(name: str) -> str:
    return f"[{name}]({anchor(name)})"


def _limits(schema: Schema) -> str:
    found = [
        between(schema.get("minLength", 0), schema.get("maxLength"), "character"),
        between(schema.get("minItems", 0), schema.get("maxItems"), "entry"),
        between(schema.get("minimum"), schema.get("maximum")),
    ]
    if "exclusiveMinimum" in schema:
        found.append(f"more than {schema['exclusiveMinimum']:,}")
    if "pattern" in schema:
        found.append(f"matches `{schema['pattern']}`")
    return ", ".join(text for text in found if text)
