"""Reads policy files: bundled ones by name, an agency's own by path; reports all problems at once."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sdcgate.policy.model import (
    ACCESS_LEVELS,
    AccessLevel,
    LevelPolicy,
    Policy,
    PolicyFile,
    PolicyInvalid,
    Problem,
    Tree,
)
from sdcgate.policy.strict_yaml import YamlInvalid, read_document

BUNDLED = Path(__file__).parent / "bundled"
EXAMPLES = ".examples.yaml"
"""Ending of the files beside policies that hold their examples."""
LARGEST_FILE = 1_000_000

Place = tuple[int | str, ...]
Problems = list[tuple[Place, str]]


def bundled_policies() -> tuple[str, ...]:
    """Names of the policies that come with sdcgate."""
    return tuple(sorted(path.stem for path in BUNDLED.glob("*.yaml") if is_policy(path.name)))


def is_policy(name: str) -> bool:
    """Whether a file of this name holds a policy: not hidden, and not the examples of one."""
    return name.endswith(".yaml") and not name.endswith(EXAMPLES) and not name.startswith(".")


def load_policy(name_or_path: str | Path, folder: Path | None = None) -> Policy:
    """Loads a policy by its name (bundled, or in an agency's folder) or by the path of a YAML file.

    Raises:
        PolicyInvalid: no such policy, or a file with problems: all of them, with their paths.
    """
    source = str(name_or_path)
    if "/" not in source and not source.endswith(".yaml"):
        known = load_policies(folder)
        if source in known:
            return known[source]
    path = Path(source)
    if not path.is_file():
        names = ", ".join(load_policies(folder))
        raise PolicyInvalid(source, [Problem("", f"is neither a file nor one of the policies: {names}")])
    return parse_policy(text_of(read_file(path), source), source)


def load_policies(folder: Path | None = None) -> dict[str, Policy]:
    """The bundled policies by name, and those of an agency's folder, which may replace them.

    Raises:
        PolicyInvalid: files have problems, or give the same name; all of it.
    """
    policies = {name: _bundled(name) for name in bundled_policies()}
    return policies | (parse_files(read_folder(folder)) if folder is not None else {})


def read_folder(folder: Path) -> dict[str, bytes]:
    """The bytes of an agency's policy files, by name: what is looked at is what is loaded.

    Raises:
        PolicyInvalid: there is no such folder, or a file in it cannot be read.
    """
    if not folder.is_dir():
        raise PolicyInvalid(str(folder), [Problem("", "there is no such folder")])
    return {path.name: read_file(path) for path in sorted(folder.iterdir()) if is_policy(path.name)}


def parse_files(files: Mapping[str, bytes]) -> dict[str, Policy]:
    """The policies in the files of a folder, by their names.

    Raises:
        PolicyInvalid: files have problems, or give the same name; all of it.
    """
    policies: dict[str, Policy] = {}
    origins: dict[str, str] = {}
    invalid: list[PolicyInvalid] = []
    for file, content in files.items():
        try:
            policy = parse_policy(text_of(content, file), file)
        except PolicyInvalid as error:
            invalid.append(error)
            continue
        if policy.name in policies:
            twice = Problem("name", f"{origins[policy.name]} has this name too")
            invalid.append(PolicyInvalid(file, [twice]))
        policies[policy.name], origins[policy.name] = policy, file
    if len(invalid) == 1:
        raise invalid[0]
    if invalid:
        together = [
            problem._replace(path=f"{error.source}: {problem.path}".removesuffix(": "))
            for error in invalid
            for problem in error.problems
        ]
        raise PolicyInvalid(", ".join(error.source for error in invalid), together)
    return policies


def read_file(path: Path) -> bytes:
    """The bytes of a policy file.

    Raises:
        PolicyInvalid: it cannot be read, or is too large for one.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise PolicyInvalid(str(path), [Problem("", f"cannot be read: {error.strerror}")]) from error
    if len(content) > LARGEST_FILE:
        raise PolicyInvalid(str(path), [Problem("", f"is larger than {LARGEST_FILE} bytes")])
    return content


def text_of(content: bytes, source: str) -> str:
    """The text of a file.

    Raises:
        PolicyInvalid: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise PolicyInvalid(source, [Problem("", "is not UTF-8; save the file as UTF-8", line)]) from error


@cache
def _bundled(name: str) -> Policy:
    return parse_policy((BUNDLED / f"{name}.yaml").read_text(encoding="utf-8"), name)


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Parses and validates the text of a policy file.

    Raises:
        PolicyInvalid: with all problems, their paths and their lines.
    """
    try:
        document = read_document(text)
    except YamlInvalid as error:
        problems = tuple(Problem("", message, line) for line, message in error.problems)
        raise PolicyInvalid(source, problems) from error
    found: Problems = []
    file = _file(document.value, found)
    access_levels = {
        name: _level(
            [
                (("defaults",), file.defaults),
                (("access_levels", name), file.access_levels[name] or {}),
            ],
            found,
        )
        for name in ACCESS_LEVELS
        if name in file.access_levels
    }
    datasets = {
        dataset: dict(_dataset_levels(file, dataset, changes, found))
        for dataset, changes in file.datasets.items()
    }
    if found:
        told = dict.fromkeys(Problem(_dotted(path), what, document.line(path)) for path, what in found)
        raise PolicyInvalid(source, tuple(sorted(told, key=lambda problem: problem.line or 0)))
    return Policy(
        file.name,
        file.version,
        file.description.strip(),
        _whole(access_levels),
        {dataset: _whole(levels) for dataset, levels in datasets.items()},
    )


def _file(tree: Any, problems: Problems) -> PolicyFile:
    """The outer shape; where it has problems, what can be read of it all the same, to find those within."""
    unplain = list(_unplain(tree, ()))
    problems += [(path, "is not plain text, number or truth value; put it in quotes") for path in unplain]
    if unplain:
        return PolicyFile.model_construct(defaults={}, access_levels={}, datasets={})
    try:
        return PolicyFile.model_validate_json(json.dumps(tree))
    except ValidationError as error:
        problems += [(_where(found), _message(found)) for found in _errors(error)]
    outer = tree if isinstance(tree, dict) else {}
    return PolicyFile.model_construct(
        defaults=_mapping(outer.get("defaults")),
        access_levels={
            name: _mapping(level)
            for name, level in _mapping(outer.get("access_levels")).items()
            if name in ACCESS_LEVELS
        },
        datasets={
            dataset: {
                name: _mapping(change) for name, change in _mapping(changes).items() if name in ACCESS_LEVELS
            }
            for dataset, changes in _mapping(outer.get("datasets")).items()
        },
    )


def _mapping(value: Any) -> Tree:
    return value if isinstance(value, dict) else {}


def _unplain(value: Any, path: Place) -> Iterator[Place]:
    """Where a value stands that JSON does not have: a date, a set, bytes."""
    if isinstance(value, dict | list):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _unplain(part, (*path, step))
    elif value is not None and not isinstance(value, str | int | float):
        yield path


def _dataset_levels(
    file: PolicyFile, dataset: str, changes: Mapping[AccessLevel, Tree], problems: Problems
) -> Iterator[tuple[str, LevelPolicy | None]]:
    for name, change in changes.items():
        path = ("datasets", dataset, name)
        if name not in file.access_levels:
            problems.append((path, "changes an access level that the policy does not have"))
            continue
        yield (
            name,
            _level(
                [
                    (("defaults",), file.defaults),
                    (("access_levels", name), file.access_levels[name] or {}),
                    (path, change),
                ],
                problems,
            ),
        )


def _level(layers: list[tuple[Place, Tree]], problems: Problems) -> LevelPolicy | None:
    """Merges the layers, later over earlier, and validates the result; problems get the layer's path."""
    merged: Tree = {}
    for _, layer in layers:
        merged = _merge(merged, layer)
    try:
        return LevelPolicy.model_validate_json(json.dumps(merged))
    except ValidationError as error:
        for found in _errors(error):
            location = _where(found)
            problems.append(((*_origin(layers, location), *location), _message(found)))
        return None


def _origin(layers: list[tuple[Place, Tree]], location: Place) -> Place:
    """Place of the layer that set what is wrong, or, where it is missing, what it is missing in."""
    for wanted in (location, location[:-1]):
        if wanted:
            for path, layer in reversed(layers):
                if _holds(layer, wanted):
                    return path
    return layers[1][0]


def _merge(below: Tree, above: Tree) -> Tree:
    """Mappings are merged key by key; everything else, lists and null included, is replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _holds(tree: Any, location: Place) -> bool:
    """Whether a layer sets the value at a location."""
    for step in location:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _whole(levels: Mapping[Any, LevelPolicy | None]) -> dict[str, LevelPolicy]:
    return {name: level for name, level in levels.items() if level is not None}


def _errors(error: ValidationError) -> list[Any]:
    return list(error.errors(include_url=False, include_context=False))


def _message(found: Mapping[str, Any]) -> str:
    kind, message = str(found["type"]), str(found["msg"])
    if kind == "extra_forbidden":
        return "is not known here"
    if kind == "missing":
        return "is missing"
    return message[0].lower() + message[1:]


def _where(found: Mapping[str, Any]) -> Place:
    return tuple(step for step in found["loc"] if step != "[key]")


def _dotted(path: Place) -> str:
    return ".".join(str(step) for step in path)
