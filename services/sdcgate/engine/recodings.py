"""Coarser levels of the key variables of a file that has no descriptor: maps of codes, bands of integers.

A level is told by what becomes of each code of the level before it, as in the hierarchies of the field's
tools, or by a width: bands of so many integers of the file's own values. `declared_microdata` takes the
levels of a descriptor instead.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from sdcgate.engine.code_lists import quoted
from sdcgate.engine.encoding import canonical, number_of
from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.engine.table_columns import by_size
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.microdata import KeyVariable, Microdata

MOST_LEVELS = 20
_LARGEST_INTEGER = 2**53
Found = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class CodeLevel:
    """A coarser level: the parent of every code of the level before it, or the width of bands of integers."""

    name: str
    parents: Mapping[str, str] = field(default_factory=dict)
    band_width: int = 0


def with_levels(
    file: Microdata, levels: Mapping[str, Sequence[CodeLevel]], paths: Mapping[str, str] | None = None
) -> Microdata:
    """The file, its key variables with these coarser levels, each from fine to coarse.

    `paths` say how problems call the levels of a variable. Raises MicrodataUnusable with all problems: a
    variable that is no key, codes of the file that have no parent (by their number, never by name), bands of
    what are no integers or that divide those before them.
    """
    found: Found = []
    called = {name: (paths or {}).get(name, name) for name in levels}
    names = [key.name for key in file.keys]
    found += [
        (called[name], f"{name!r} is no key variable; they are {quoted(names)}")
        for name in levels
        if name not in names
    ]
    keys = tuple(
        replace(key, coarser=_coarser(key, levels[key.name], called[key.name], found))
        if key.name in levels
        else key
        for key in file.keys
    )
    if found:
        raise MicrodataUnusable(found)
    return replace(file, keys=keys)


def hierarchy_levels(file: Path, delimiter: str = ";") -> tuple[CodeLevel, ...]:
    """The levels of a hierarchy file: a line a code, the finest first, coarser ones after it.

    Raises ValueError where it is none.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = [row for row in csv.reader(opened, delimiter=delimiter) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise ValueError(f"{file.name} cannot be read as UTF-8 text") from None
    width = len(rows[0]) if rows else 0
    if width < 2 or any(len(row) != width for row in rows):
        raise ValueError(f"{file.name} needs lines of two columns or more, all of the same number")
    found = []
    for place in range(1, width):
        parents: dict[str, str] = {}
        for row in rows:
            if parents.setdefault(row[place - 1], row[place]) != row[place]:
                raise ValueError(
                    f"{file.name}: a code of column {place} lies in several of column {place + 1}"
                )
        found.append(CodeLevel(f"level {place}", parents))
    return tuple(found)


def _coarser(
    key: KeyVariable, levels: Sequence[CodeLevel], path: str, found: Found
) -> tuple[tuple[str, IntArray], ...]:
    if len(levels) > MOST_LEVELS:
        found.append((path, f"has {len(levels)} levels; at most {MOST_LEVELS} are taken"))
        return ()
    names = [level.name for level in levels]
    texts: Sequence[str] = key.categories
    before = np.arange(len(texts), dtype=np.int64)
    coarser = []
    for place, level in enumerate(levels):
        where = f"{path}[{place}]"
        if level.name in names[:place]:
            found.append((where, f"level {level.name!r} stands more than once"))
        if bool(level.parents) == bool(level.band_width):
            found.append((where, "give either a map of codes or a band_width"))
            break
        joined = (
            _bands(key.categories, level.band_width, where, found)
            if level.band_width
            else _mapped(texts, level.parents, where, found)
        )
        if joined is None:
            break
        texts = joined
        at = {text: code for code, text in enumerate(sorted(set(texts), key=by_size))}
        codes = np.array([at[text] for text in texts], dtype=np.int64)
        if _divides(before, codes):
            found.append((where, "divides codes that the level before it joins"))
            break
        before = codes
        coarser.append((f"{key.name}:{level.name}", codes))
    return tuple(coarser)


def _mapped(texts: Sequence[str], parents: Mapping[str, str], where: str, found: Found) -> list[str] | None:
    """The parent of each code, by the code as it stands or in its canonical form."""
    known = {**{canonical(code): parent for code, parent in parents.items()}, **parents}
    lacking = len({text for text in texts if text not in known})
    if lacking:
        found.append((where, f"tells no parent of {lacking} of the {len(set(texts))} codes before it"))
        return None
    return [known[text] for text in texts]


def _bands(texts: Sequence[str], width: int, where: str, found: Found) -> list[str] | None:
    """Bands of the file's own values, which must be integers: `20-29`."""
    if width < 1:
        found.append((where, "band_width must be at least 1"))
        return None
    numbers = [number_of(text) for text in texts]
    if not all(number == np.rint(number) and abs(number) < _LARGEST_INTEGER for number in numbers):
        found.append((where, "bands need a variable whose values are all integers"))
        return None
    lower = [int(number) // width * width for number in numbers]
    return [f"{low}-{low + width - 1}" if width > 1 else str(low) for low in lower]


def _divides(before: IntArray, codes: IntArray) -> bool:
    pairs = np.unique(np.stack([before, codes]), axis=1)
    return bool(pairs.shape[1] > len(np.unique(before)))
