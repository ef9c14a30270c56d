"""The settings reference, from the models that read the environment."""

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from generators.markdown import between, joined, table
from generators.source import fields
from sdcgate.servers.settings import MEBIBYTE, SECRETS_DIR, Settings

_PREFIX = "SDCGATE_"
_CLIENT = (
    ("`SDCGATE_URL`", "text", "`http://127.0.0.1:8080`", "Address of the gateway."),
    ("`SDCGATE_API_KEY`", "text", "", "The caller's key or token."),
    ("`SDCGATE_API_KEY_FILE`", "path", "", "File with the key, where it shall not stand in the environment."),
    ("`SDCGATE_ROLE`", "text", "", "The role in which to call, of those that a token carries."),
)


def settings_page() -> str:
    """The page."""
    header = ("variable", "type", "default", "means", "must be")
    common, sections = [], []
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            rows = list(_rows(kind, f"{_PREFIX}{name.upper()}__"))
            sections.append(
                joined(f"## {name.capitalize().replace('_', ' ')}", _means(kind), table(header, rows))
            )
        else:
            common.append(_row(Settings, name, _PREFIX))
    return joined(
        "# Settings",
        "Settings are variables of the environment. The name of a service's section and the name of a field "
        "are joined by two underscores. A misspelt field of a section keeps the service from starting; a "
        "misspelt common name is not noticed. The settings that an installation usually needs stand in "
        "[Operations](../operations.md#settings).",
        "What is secret need not stand in the environment, which other programs may see: a common setting "
        "can be the content of a file of its variable's name, in small letters, in the folder "
        f"`{SECRETS_DIR}`, such as `sdcgate_ledger_url`; the environment goes before it. Keys, the service "
        "token and private keys of TLS are files anyway.",
        "## All services",
        table(header, common),
        *sections,
        "## Commands that ask the gateway",
        "Such as `sdcgate query` and `sdcgate dataset`.",
        table(header, [(*row, "") for row in _CLIENT]),
    )


def _rows(model: type[BaseModel], prefix: str) -> Iterator[tuple[str, str, str, str, str]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _rows(kind, f"{prefix}{name.upper()}__")
        else:
            yield _row(model, name, prefix)


def _row(model: type[BaseModel], name: str, prefix: str) -> tuple[str, str, str, str, str]:
    field = model.model_fields[name]
    return (
        f"`{prefix}{name.upper()}`",
        _type(str(field.annotation)),
        _default(name, field.default),
        fields(model)[name][1],
        ", ".join(_limits(field.metadata)),
    )


def _type(annotation: str) -> str:
    for part, text in (
        ("dict", "JSON object"),
        ("tuple", "JSON list"),
        ("Path", "path"),
        ("bool", "true or false"),
        ("int", "whole number"),
        ("float", "seconds"),
    ):
        if part in annotation:
            return text
    return "text"


def _default(name: str, value: Any) -> str:
    if value is None or value == "" or value is PydanticUndefined:
        return ""
    if isinstance(value, tuple | dict):
        return f"`{json.dumps(value)}`" if value else ""
    if name.endswith("_bytes"):
        return f"{value // MEBIBYTE} MiB ({value})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Path):
        return f"`{value}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _limits(metadata: list[Any]) -> Iterator[str]:
    bounds = {
        name: getattr(found, name)
        for found in metadata
        for name in ("ge", "gt", "le")
        if hasattr(found, name)
    }
    if "gt" in bounds:
        yield f"more than {bounds['gt']:g}"
    yield from filter(None, [between(bounds.get("ge"), bounds.get("le"))])
    for found in metadata:
        if getattr(found, "pattern", None):
            yield "one of " + ", ".join(f"`{word}`" for word in found.pattern.strip("^$()").split("|"))


def _means(model: type[BaseModel]) -> str:
    return inspect.cleandoc(model.__doc__ or "")
