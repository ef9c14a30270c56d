"""The reference of the Python client, from its docstrings."""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import sdcgate_client
from generators.markdown import joined, table
from generators.source import fields

_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes):$")
_HEADINGS = {"Args": "Arguments", "Returns": "Returns", "Raises": "Raises", "Attributes": "Attributes"}
_COMMA = re.compile(r", (?=\*|\w+: )")
"""Between two parameters, not within a type."""
_WIDTH = 100


def python_client_page() -> str:
    """The page."""
    public = [getattr(sdcgate_client, name) for name in sdcgate_client.__all__]
    errors = [kind for kind in public if inspect.isclass(kind) and issubclass(kind, Exception)]
    classes = [kind for kind in public if inspect.isclass(kind) and kind not in errors]
    functions = [found for found in public if inspect.isfunction(found)]
    first = [sdcgate_client.Client, sdcgate_client.Answer]
    return joined(
        "# Python client",
        "The package `sdcgate_client`. It speaks REST and needs neither protobuf nor the services' code.",
        *(_class(kind) for kind in first + [kind for kind in classes if kind not in first]),
        "## Functions",
        *(_callable(found.__name__, found) for found in functions),
        "## Errors",
        "A refusal is an answer and no error.",
        "\n".join(f"- `{kind.__name__}`: {_text(kind).splitlines()[0]}" for kind in errors),
    )


def _class(kind: type) -> str:
    bases = [base for base in kind.__mro__ if base.__module__.startswith(sdcgate_client.__name__)]
    members = [
        _member(kind, name, found)
        for base in bases
        for name, found in vars(base).items()
        if name[0] != "_" and (base is kind or name not in vars(kind))
    ]
    rows = (
        [(f"`{name}`", f"`{annotation}`", means) for name, (annotation, means) in fields(kind).items()]
        if dataclasses.is_dataclass(kind)
        else []
    )
    made = "" if rows else _code(_signature(kind.__name__, inspect.getattr_static(kind, "__init__")))
    listed = table(("field", "type", "means"), rows) if rows else ""
    return joined(f"## {kind.__name__}", made, _text(kind), listed, *members)


def _member(kind: type, name: str, found: Any) -> str:
    title = f"{kind.__name__}.{name}"
    if isinstance(found, property):
        return joined(f"### {title}", _text(found))
    if isinstance(found, classmethod | staticmethod):
        return _callable(title, found.__func__)
    return _callable(title, found) if inspect.isfunction(found) else ""


def _callable(title: str, found: Any) -> str:
    return joined(f"### {title}", _code(_signature(title.rpartition(".")[2], found)), _text(found))


def _signature(name: str, found: Any) -> str:
    """As it stands in the source, a parameter a line where it is long."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    assert isinstance(function, ast.FunctionDef)
    written = function.args
    written.args = [argument for argument in written.args if argument.arg not in ("self", "cls")]
    returns = f" -> {ast.unparse(function.returns)}" if function.returns and name != "Client" else ""
    text = f"{name}({_spaced(ast.unparse(written))}){returns}".replace("'Client'", "Client").replace(
        "'Answer'", "Answer"
    )
    if len(text) <= _WIDTH:
        return text
    parameters = _COMMA.split(_spaced(ast.unparse(written)))
    return f"{name}(\n" + "".join(f"    {parameter},\n" for parameter in parameters) + f"){returns}"


def _spaced(parameters: str) -> str:
    return re.sub(r"(?<=[\w\]])=(?!=)", " = ", parameters)


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


def _text(found: Any) -> str:
    return "\n".join(_lines(inspect.cleandoc(found.__doc__ or ""))).strip()


def _lines(text: str) -> Iterator[str]:
    """A docstring's sections as lists."""
    section = ""
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            section = heading[1]
            yield f"{_HEADINGS[section]}:\n"
        elif section and re.match(r"^    \S", line):
            name, colon, means = line.strip().partition(": ")
            yield f"- `{name}`: {means}" if colon and section != "Returns" else f"- {line.strip()}"
        elif section and line.startswith("        "):
            yield "  " + line.strip()
        else:
            section = section if line.strip() else ""
            yield line
