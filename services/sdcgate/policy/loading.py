"""Reads policy files: bundled ones by name, an agency's own by path; reports all problems at once."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sdcgate.policy.files import BUNDLED, bundled_policies, read_file, read_folder, text_of
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
from sdcgate.policy.validation import Found, errors_of, read_plain, require_none

Place = tuple[int | str, ...]


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


@cache
def _bundled(name: str) -> Policy:
    return parse_policy((BUNDLED / f"{name}.yaml").read_text(encoding="utf-8"), name)


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Parses and validates the text of a policy file.

    Raises:
        PolicyInvalid: with all problems, their paths and their lines.
    """
    document = read_plain(text, source)
    found: list[Found] = []
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
    require_none(found, document, source)
    return Policy(
        file.name,
        file.version,
        file.description.strip(),
        _whole(access_levels),
        {dataset: _whole(levels) for dataset, levels in datasets.items()},
    )


def _file(tree: Any, problems: list[Found]) -> PolicyFile:
    """The outer shape; where it has problems, what can be read of it all the same, to find those within."""
    try:
        return PolicyFile.model_validate_json(json.dumps(tree))
    except ValidationError as error:
        problems += errors_of(error)
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


def _dataset_levels(
    file: PolicyFile, dataset: str, changes: Mapping[AccessLevel, Tree], problems: list[Found]
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


def _level(layers: list[tuple[Place, Tree]], problems: list[Found]) -> LevelPolicy | None:
    """Merges the layers, later over earlier, and validates the result; problems get the layer's path."""
    merged: Tree = {}
    for _, layer in layers:
        merged = _merge(merged, layer)
    try:
        return LevelPolicy.model_validate_json(json.dumps(merged))
    except ValidationError as error:
        problems += [((*_origin(layers, place), *place), what) for place, what in errors_of(error)]
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
