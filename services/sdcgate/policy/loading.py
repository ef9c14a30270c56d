"""Reads policy files: bundled ones by name, an agency's own by path; reports all problems at once."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from sdcgate.policy.model import ACCESS_LEVELS, AccessLevel, LevelPolicy, Model, Name, Policy, PolicyInvalid
from sdcgate.policy.strict_yaml import YamlInvalid, read_yaml

BUNDLED = Path(__file__).parent / "bundled"
LARGEST_FILE = 1_000_000

Problems = list[tuple[str, str]]
Tree = dict[str, Any]


class _File(Model):
    """The outer shape of a policy file; what the levels hold is validated after merging."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")
    version: str = Field(min_length=1, max_length=64)
    description: str = Field(min_length=1, max_length=10_000)
    defaults: Tree = Field(default_factory=dict)
    access_levels: dict[AccessLevel, Tree | None] = Field(min_length=1)
    datasets: dict[Name, dict[AccessLevel, Tree]] = Field(default_factory=dict)


def bundled_policies() -> tuple[str, ...]:
    """Names of the policies that come with sdcgate."""
    return tuple(sorted(path.stem for path in BUNDLED.glob("*.yaml")))


def load_policy(name_or_path: str | Path) -> Policy:
    """Loads a policy by its bundled name or by the path of a YAML file.

    Raises:
        PolicyInvalid: no such policy, or a file with problems: all of them, with their paths.
    """
    source = str(name_or_path)
    if source in bundled_policies():
        return parse_policy((BUNDLED / f"{source}.yaml").read_text(encoding="utf-8"), source)
    path = Path(source)
    if not path.is_file():
        known = ", ".join(bundled_policies())
        raise PolicyInvalid(source, (("", f"is neither a file nor one of the bundled policies: {known}"),))
    if path.stat().st_size > LARGEST_FILE:
        raise PolicyInvalid(source, (("", f"is larger than {LARGEST_FILE} bytes"),))
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyInvalid(source, (("", f"cannot be read as text in UTF-8: {error}"),)) from error
    return parse_policy(text, source)


def load_policies(folder: Path | None = None) -> dict[str, Policy]:
    """The bundled policies by name, and those of an agency's folder (`*.yaml`), which may replace them.

    Raises:
        PolicyInvalid: some file has problems, or two files give the same name.
    """
    policies = {name: load_policy(name) for name in bundled_policies()}
    own: dict[str, Path] = {}
    for path in sorted(folder.glob("*.yaml")) if folder is not None else ():
        policy = load_policy(path)
        if policy.name in own:
            raise PolicyInvalid(str(path), (("name", f"{own[policy.name].name} has this name too"),))
        own[policy.name] = path
        policies[policy.name] = policy
    return policies


def parse_policy(text: str, source: str = "policy") -> Policy:
    """Parses and validates the text of a policy file.

    Raises:
        PolicyInvalid: with all problems and their paths.
    """
    problems: Problems = []
    try:
        tree = read_yaml(text)
    except YamlInvalid as error:
        raise PolicyInvalid(source, ((error.where, error.what),)) from error
    try:
        file = _File.model_validate_json(_as_json(tree, source))
    except ValidationError as error:
        problems += [(_dotted(found["loc"]), _message(found)) for found in _errors(error)]
        raise PolicyInvalid(source, tuple(problems)) from error
    access_levels = {
        name: _level(
            [
                (("defaults",), file.defaults),
                (("access_levels", name), file.access_levels[name] or {}),
            ],
            problems,
        )
        for name in ACCESS_LEVELS
        if name in file.access_levels
    }
    datasets = {
        dataset: dict(_dataset_levels(file, dataset, changes, problems))
        for dataset, changes in file.datasets.items()
    }
    if problems:
        raise PolicyInvalid(source, tuple(dict.fromkeys(problems)))
    return Policy(
        file.name,
        file.version,
        file.description.strip(),
        _whole(access_levels),
        {dataset: _whole(levels) for dataset, levels in datasets.items()},
    )


def _dataset_levels(
    file: _File, dataset: str, changes: Mapping[AccessLevel, Tree], problems: Problems
) -> Iterator[tuple[str, LevelPolicy | None]]:
    for name, change in changes.items():
        path = ("datasets", dataset, name)
        if name not in file.access_levels:
            problems.append((_dotted(path), "changes an access level that the policy does not have"))
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


def _level(layers: list[tuple[tuple[str, ...], Tree]], problems: Problems) -> LevelPolicy | None:
    """Merges the layers, later over earlier, and validates the result; problems get the layer's path."""
    merged: Tree = {}
    for _, layer in layers:
        merged = _merge(merged, layer)
    try:
        return LevelPolicy.model_validate_json(json.dumps(merged))
    except ValidationError as error:
        for found in _errors(error):
            location = found["loc"]
            problems.append((_dotted((*_origin(layers, location), *location)), _message(found)))
        return None


def _origin(layers: list[tuple[tuple[str, ...], Tree]], location: tuple[int | str, ...]) -> tuple[str, ...]:
    """Path of the layer that set what is wrong, or, where it is missing, what it is missing in."""
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


def _holds(tree: Any, location: tuple[int | str, ...]) -> bool:
    """Whether a layer sets the value at a location."""
    for step in location:
        try:
            tree = tree[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _whole(levels: Mapping[Any, LevelPolicy | None]) -> dict[str, LevelPolicy]:
    return {name: level for name, level in levels.items() if level is not None}


def _as_json(tree: Any, source: str) -> str:
    """JSON is where pydantic's strict mode knows lists as sets and texts as literals."""
    try:
        return json.dumps(tree)
    except (TypeError, ValueError, RecursionError) as error:
        raise PolicyInvalid(
            source, (("", f"holds a value that is not plain ({error}); put it in quotes"),)
        ) from error


def _errors(error: ValidationError) -> list[Any]:
    return list(error.errors(include_url=False, include_context=False))


def _message(found: Mapping[str, Any]) -> str:
    kind, message = str(found["type"]), str(found["msg"])
    if kind == "extra_forbidden":
        return "is not known here"
    if kind == "missing":
        return "is missing"
    return message[0].lower() + message[1:]


def _dotted(path: tuple[int | str, ...]) -> str:
    return ".".join(str(step) for step in path)
