"""Coarser levels of key variables and bounds of access levels, as they are given on the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdcgate.engine.recodings import CodeLevel
    from sdcgate.methods.risk.recoding_comparison import AccessBound


def read_levels(file: Path) -> "dict[str, tuple[CodeLevel, ...]]":
    """The levels of each key variable, from a YAML file.

    For each variable its levels by name, from fine to coarse: a width of bands, or a map from the codes of
    the level before it to their parents; or in place of levels the path of a hierarchy file, from the file's
    folder. Raises ValueError with all that is wrong.
    """
    from sdcgate.engine.recodings import hierarchy_levels
    from sdcgate.policy.strict_yaml import read_yaml

    content = read_yaml(file.read_text(encoding="utf-8"))
    if not isinstance(content, Mapping):
        raise ValueError(f"{file} holds no levels: write `variable: {{level: width or map}}`")  # noqa: TRY004
    problems: list[str] = []
    found: dict[str, tuple[CodeLevel, ...]] = {}
    for variable, levels in content.items():
        if isinstance(levels, str):
            found[str(variable)] = hierarchy_levels(file.parent / levels)
        elif isinstance(levels, Mapping):
            found[str(variable)] = tuple(
                _level(f"{variable}.{name}", str(name), level, problems) for name, level in levels.items()
            )
        else:
            problems.append(f"  {variable}: give levels by name, or the path of a hierarchy file")
    if problems:
        raise ValueError("\n".join([f"{file} cannot be read:", *problems]))
    return found


def _level(path: str, name: str, level: Any, problems: list[str]) -> "CodeLevel":
    from sdcgate.engine.recodings import CodeLevel

    if isinstance(level, int) and not isinstance(level, bool):
        return CodeLevel(name, band_width=level)
    if not isinstance(level, Mapping):
        problems.append(f"  {path}: give a width of bands, or a map of codes to their parents")
        return CodeLevel(name)
    texts = [text for pair in level.items() for text in pair]
    if any(isinstance(text, bool) or not isinstance(text, str | int | float) for text in texts):
        problems.append(f"  {path}: codes are texts or numbers; put yes, no, true, false and null in quotes")
        return CodeLevel(name)
    return CodeLevel(name, {str(code): str(parent) for code, parent in level.items()})


def access_bounds(given: Sequence[str]) -> "tuple[AccessBound, ...]":
    """Bounds as `public=0.0001`, the widest level first. Raises ValueError where one is none."""
    from sdcgate.methods.risk.recoding_comparison import AccessBound

    found = []
    for text in given:
        name, _, share = text.partition("=")
        try:
            bound = float(share)
        except ValueError:
            bound = -1.0
        if not name or not 0.0 <= bound <= 1.0:
            raise ValueError(f"--access {text}: write a level and a share of the file, such as public=0.0001")
        found.append(AccessBound(name, bound))
    return tuple(found)
