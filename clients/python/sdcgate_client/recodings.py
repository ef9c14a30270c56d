"""Levels of key variables, as they are compared: from plain mappings, or from a dataset's descriptor."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Levels = Mapping[str, "int | Mapping[Any, Any]"]
"""Coarser levels of a variable from fine to coarse: by name the parent of each code of the level before it,
or the width of bands of integers."""


def recoding_options(
    keys: "Mapping[str, Levels] | Sequence[str]", options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a comparison as JSON; None left out.

    Raises:
        ValueError: a level is neither a mapping nor a width.
    """
    named = keys if isinstance(keys, Mapping) else {name: {} for name in keys}
    found: dict[str, Any] = {"keys": [_key(column, levels) for column, levels in named.items()]}
    for name, value in options.items():
        if name == "access_levels" and isinstance(value, Mapping):
            found[name] = [_bound(level, bound) for level, bound in value.items()]
        elif value is not None:
            found[name] = value
    return found


def recoding_columns(keys: "Mapping[str, Levels] | Sequence[str]", options: Mapping[str, Any]) -> list[str]:
    """The columns that a comparison needs."""
    single = ("weight", "unit", "wave", "interest")
    return list(dict.fromkeys([*keys, *(str(options[name]) for name in single if options.get(name))]))


def descriptor_levels(
    descriptor: Mapping[str, Any], variables: Iterable[str] = ()
) -> dict[str, dict[str, dict[str, str]]]:
    """The coarser levels that a dataset's descriptor declares, by column, as `compare_recodings` takes them.

    Args:
        descriptor: As it is registered.
        variables: Names of variables; all identifying ones where empty.

    Raises:
        ValueError: a variable is not declared, or has its levels in a hierarchy file.
    """
    wanted = list(variables)
    declared = {one["name"]: one for one in descriptor.get("variables", ())}
    unknown = [name for name in wanted if name not in declared]
    if unknown:
        raise ValueError(f"the descriptor declares no variable {', '.join(map(repr, unknown))}")
    identifying = [
        name
        for name, one in declared.items()
        if str(one.get("identifying", "NO")) not in ("NO", "UNSPECIFIED")
    ]
    return {declared[name].get("column") or name: _declared(declared[name]) for name in wanted or identifying}


def _key(column: str, levels: Levels) -> dict[str, Any]:
    return {"column": column, "levels": [_level(name, level) for name, level in levels.items()]}


def _level(name: str, level: "int | Mapping[Any, Any]") -> dict[str, Any]:
    if isinstance(level, Mapping):
        codes = {_code(code): _code(parent) for code, parent in level.items()}
        return {"name": name, "codes": list(codes), "parents": list(codes.values())}
    if isinstance(level, bool) or not isinstance(level, int):
        message = f"level {name!r} must be a mapping of codes to their parents, or a width of bands"
        raise ValueError(message)  # noqa: TRY004
    return {"name": name, "band_width": level}


def _code(value: Any) -> str:
    """A code as text. What YAML takes for yes and no is no code."""
    if isinstance(value, bool) or value is None:
        raise ValueError("true, false, yes, no and null must stand in quotes to be codes")
    return str(value)


def _bound(level: str, bound: Any) -> dict[str, Any]:
    if isinstance(bound, Mapping):
        return {"access_level": level, **bound}
    return {"access_level": level, "maximum_share": bound}


def _declared(variable: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The coarser levels of a declared variable, each as a map of the codes of the level before it."""
    if variable.get("hierarchy"):
        raise ValueError(f"{variable['name']!r} has its levels in a hierarchy file: send them as mappings")
    levels = list(variable.get("levels", ()))
    if len(levels) < 2:
        return {}
    finest = _finest(levels[0])
    before = {code: code for code in finest}
    found: dict[str, dict[str, str]] = {}
    for level in levels[1:]:
        of_finest = _coarser(level, finest, before)
        found[level["name"]] = {before[code]: of_finest[code] for code in finest if code in of_finest}
        before = of_finest
    return found


def _finest(level: Mapping[str, Any]) -> list[str]:
    integers = level.get("integers")
    if integers:
        return [str(value) for value in range(int(integers["first"]), int(integers["last"]) + 1)]
    return [str(code["code"]) for code in level.get("codes", ())]


def _coarser(level: Mapping[str, Any], finest: list[str], before: Mapping[str, str]) -> dict[str, str]:
    """The code of a level that each finest code belongs to."""
    width = int(level.get("band_width") or 0)
    if width:
        lower = {code: int(code) // width * width for code in finest}
        return {code: f"{low}-{low + width - 1}" for code, low in lower.items()}
    found = {}
    for code in level.get("codes", ()):
        parts = {str(part) for part in code.get("parts", ())}
        span = code.get("integers")
        for fine in finest:
            inside = span and int(span["first"]) <= int(fine) <= int(span["last"])
            if inside or before.get(fine) in parts:
                found[fine] = str(code["code"])
    return found
