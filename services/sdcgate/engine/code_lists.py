"""Code lists of variables: nested levels, their maps to the finest codes, bit masks, hierarchy files.

Lists come from the descriptor (or the hierarchy file it names) only, never from the data.
"""

import csv
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from sdcgate.engine.data_files import is_separator
from sdcgate.engine.descriptor import Code, DescriptorProblem, IntegerRange, Level, Variable
from sdcgate.methods.cells import MISSING, TOTAL, BoolArray, IntArray
from sdcgate.methods.tables.boxes import bits

RESERVED = (MISSING, TOTAL, "_Z")
MAXIMUM_CODES = 100_000
MOST_CODES = 500_000
"""Codes of all levels of all variables together: what is declared in a few bytes must not fill the memory."""
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_SHOWN = 5
MOST_LOOKED_UP = 4 * MAXIMUM_CODES
"""Codes that a level finds below it; more than once each only where they belong to several."""


@dataclass(frozen=True, eq=False)
class LevelCodes:
    """A level's codes in the descriptor's order, `_U` last, and where each finest code lies among them.

    `members[i]` is the position here of the finest level's code i; both ends have `_U` last.
    """

    name: str
    label: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    members: tuple[int, ...] = field(repr=False)

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """For each code the bit mask of the finest codes that belong to it; `_U` is the last bit."""
        return tuple(map(self.mask_at, range(len(self.codes))))

    def mask_at(self, position: int) -> int:
        """The mask of one code. All of them, where there are many, are as many bits squared."""
        members, starts = self._by_code
        finest = members[starts[position] : starts[position + 1]]
        if len(finest) == 1:
            return 1 << int(finest[0])
        flags = np.zeros(len(self.members), dtype=np.bool_)
        flags[finest] = True
        return mask_of(flags)

    def reached(self, mask: int) -> list[int]:
        """Positions of the codes to which a mask's finest codes belong; -1 has all of these."""
        return list(map(int, np.unique(self._places[bits(mask, len(self.members))])))

    @property
    def valid(self) -> Mapping[str, int]:
        """Positions of the codes, the one that means missing not among them."""
        return {code: position for code, position in self.positions.items() if code != self.codes[-1]}

    def mask_of_codes(self, positions: Iterable[int]) -> int:
        """The mask of several codes together."""
        chosen = np.zeros(len(self.codes), dtype=np.bool_)
        chosen[list(positions)] = True
        return mask_of(chosen[self._places])

    @cached_property
    def _places(self) -> IntArray:
        return np.asarray(self.members, dtype=np.int64)

    @cached_property
    def _by_code(self) -> tuple[IntArray, IntArray]:
        """Finest codes in the order of the codes that they belong to, and where those of each begin."""
        starts = np.concatenate(([0], np.cumsum(np.bincount(self._places, minlength=len(self.codes)))))
        return np.argsort(self._places, kind="stable"), starts

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Position of each code."""
        return {code: position for position, code in enumerate(self.codes)}


def mask_of(chosen: BoolArray) -> int:
    """Bit mask with a bit for each flag, the first the lowest; the time grows with their number only."""
    return int.from_bytes(np.packbits(chosen, bitorder="little").tobytes(), "little")


@dataclass(slots=True)
class _Problems:
    """Where the problems of one variable are gathered."""

    path: str
    found: list[DescriptorProblem]

    def add(self, where: str, message: str) -> None:
        self.found.append(DescriptorProblem(f"{self.path}.{where}", message))


def resolve_levels(
    variable: Variable, path: str, hierarchy_file: Path | None, found: list[DescriptorProblem]
) -> tuple[LevelCodes, ...]:
    """The levels of a variable, the finest first; () and problems added to `found` where there are any.

    `path` is the variable's in the descriptor, `hierarchy_file` the resolved path of its hierarchy file.
    """
    problems = _Problems(path, found)
    before = len(found)
    if variable.hierarchy is not None:
        levels = () if hierarchy_file is None else _read_hierarchy(variable, hierarchy_file, problems)
    else:
        levels = _declared_levels(variable, problems)
    return levels if len(found) == before else ()


def declared_codes(variable: Variable) -> int:
    """About how many codes a variable's levels will have, without making any."""
    spans = [level.integers.last - level.integers.first for level in variable.levels if level.integers]
    listed = sum(len(level.codes) for level in variable.levels)
    bands = max(spans, default=0) * sum(level.band_width > 0 for level in variable.levels)
    return listed + bands + sum(span for span in spans if 0 <= span < MAXIMUM_CODES)


def _declared_levels(variable: Variable, problems: _Problems) -> tuple[LevelCodes, ...]:
    if not variable.levels:
        problems.add("levels", "declare at least one level with codes or integers, or a hierarchy file")
        return ()
    names = [level.name or variable.name for level in variable.levels]
    for position, level in enumerate(variable.levels):
        if not level.name and len(names) > 1:
            problems.add(f"levels[{position}].name", "give each level a name where there are several")
        elif names[position] in names[:position]:
            problems.add(f"levels[{position}].name", f"level {names[position]!r} is declared twice")
    resolved: list[LevelCodes] = []
    for position, level in enumerate(variable.levels):
        where = f"levels[{position}]"
        if position == 0:
            codes = _finest(level, where, problems)
        else:
            codes = _coarser(level, where, resolved, problems) if resolved else None
        if codes is None:
            continue
        listed, members = codes
        labels = tuple(code.label or code.code for code in listed)
        resolved.append(
            _with_missing(names[position], level.label, [c.code for c in listed], labels, members)
        )
    return tuple(resolved)


def _with_missing(
    name: str, label: str, codes: Sequence[str], labels: Sequence[str], members: Sequence[int]
) -> LevelCodes:
    return LevelCodes(name, label or name, (*codes, MISSING), (*labels, "missing"), (*members, len(codes)))


def _finest(level: Level, where: str, problems: _Problems) -> tuple[list[Code], list[int]] | None:
    if level.band_width:
        problems.add(f"{where}.band_width", "bands group a finer level: declare that one first")
    if bool(level.codes) == bool(level.integers):
        problems.add(where, "the finest level has either codes or integers")
        return None
    if level.integers is not None:
        integers = _range(level.integers, f"{where}.integers", problems)
        listed = [Code(code=str(value)) for value in integers]
    else:
        listed = list(level.codes)
        for position, code in enumerate(listed):
            if code.parts or code.integers is not None:
                problems.add(f"{where}.codes[{position}]", "codes of the finest level have no parts")
    _check_codes(listed, where, problems)
    return listed, list(range(len(listed)))


def _range(integers: IntegerRange, where: str, problems: _Problems) -> range:
    if not 0 <= integers.last - integers.first < MAXIMUM_CODES:
        problems.add(where, f"first must not exceed last, with at most {MAXIMUM_CODES} integers between")
        return range(0)
    return range(integers.first, integers.last + 1)


def _check_codes(listed: Sequence[Code], where: str, problems: _Problems) -> None:
    times = Counter(code.code for code in listed)
    seen: set[str] = set()
    for position, code in enumerate(listed):
        path = f"{where}.codes[{position}].code"
        if not code.code or len(code.code) > 256 or not code.code.isprintable():
            problems.add(path, "a code is a printable text of 1 to 256 characters")
        elif code.code in RESERVED:
            problems.add(path, f"{code.code} is reserved")
        elif times[code.code] > 1 and code.code in seen:
            problems.add(path, f"code {code.code!r} is declared twice")
        seen.add(code.code)


def _coarser(
    level: Level, where: str, finer: Sequence[LevelCodes], problems: _Problems
) -> tuple[list[Code], list[int]] | None:
    if level.integers is not None:
        problems.add(f"{where}.integers", "only the finest level is a range of integers")
        return None
    if bool(level.codes) == bool(level.band_width):
        problems.add(where, "a coarser level has either codes with parts or integers, or a band_width")
        return None
    below = _Finer(finer[0], finer[-1])
    if level.band_width:
        return _bands(level.band_width, below.integers, finer[0], f"{where}.band_width", problems)
    listed = list(level.codes)
    _check_codes(listed, where, problems)
    members: list[int] = [-1] * (len(finer[0].codes) - 1)
    looked_up = 0
    for position, code in enumerate(listed):
        path = f"{where}.codes[{position}]"
        if not code.parts and code.integers is None:
            problems.add(path, "say by parts or integers which finer codes belong to it")
        told = False
        for field_name, finest in islice(below.belonging(code, path, problems), MOST_LOOKED_UP - looked_up):
            looked_up += 1
            if members[finest] not in (-1, position) and not told:
                other = listed[members[finest]].code
                message = f"{finer[0].codes[finest]!r} already belongs to {other!r}"
                problems.add(f"{path}.{field_name}", message)
                told = True
            members[finest] = position
    without = [finer[0].codes[finest] for finest, position in enumerate(members) if position < 0]
    if without and looked_up < MOST_LOOKED_UP:
        problems.add(where, f"{quoted(without)} of {finer[0].name!r} belong to no code of this level")
    return listed, members


class _Finer:
    """The levels below a coarser one, where its codes are looked up."""

    def __init__(self, finest: LevelCodes, before: LevelCodes) -> None:
        self._finest = finest
        self._before = before
        self.integers = _integers_of(finest)
        self._values = sorted(self.integers)
        self._parts: list[list[int]] = [[] for _ in before.codes]
        for place, above in enumerate(before.members[:-1]):
            self._parts[above].append(place)

    def belonging(self, code: Code, path: str, problems: _Problems) -> Iterator[tuple[str, int]]:
        """Positions of the finest codes that a coarser code is made of, each with the field that says so."""
        for part in code.parts:
            position = self._before.positions.get(part, -1)
            if position < 0 or part == MISSING:
                problems.add(f"{path}.parts", f"{part!r} is no code of level {self._before.name!r}")
            else:
                yield from (("parts", finest) for finest in self._parts[position])
        if code.integers is not None:
            first = bisect_left(self._values, code.integers.first)
            last = bisect_right(self._values, code.integers.last)
            if first >= last:
                message = f"no integer code of level {self._finest.name!r} lies in the range"
                problems.add(f"{path}.integers", message)
            yield from (("integers", self.integers[self._values[at]]) for at in range(first, last))


def _integers_of(finest: LevelCodes) -> dict[int, int]:
    return {int(code): at for at, code in enumerate(finest.codes[:-1]) if _INTEGER.fullmatch(code)}


def _bands(
    width: int, integers: Mapping[int, int], finest: LevelCodes, where: str, problems: _Problems
) -> tuple[list[Code], list[int]] | None:
    """Bands start at multiples of the width and end with the code list: 16-19, 20-29, 30-34."""
    if width < 0 or len(integers) != len(finest.codes) - 1:
        problems.add(where, f"bands need a positive width and level {finest.name!r} to be all integers")
        return None
    bands: dict[int, list[int]] = {}
    for value in sorted(integers):
        bands.setdefault(value // width, []).append(value)
    members = [-1] * len(integers)
    listed: list[Code] = []
    for band in bands.values():
        for value in band:
            members[integers[value]] = len(listed)
        listed.append(Code(code=str(band[0]) if len(band) == 1 else f"{band[0]}-{band[-1]}"))
    return listed, members


def quoted(texts: Sequence[str]) -> str:
    """The first few texts in quotes, and how many more there are."""
    more = len(texts) - _SHOWN
    return ", ".join(repr(text[:80]) for text in texts[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _read_hierarchy(variable: Variable, file: Path, problems: _Problems) -> tuple[LevelCodes, ...]:
    declared = variable.hierarchy
    assert declared is not None
    if variable.levels:
        problems.add("levels", "declare either levels or a hierarchy file")
    if not declared.levels or len(set(declared.levels)) < len(declared.levels) or "" in declared.levels:
        problems.add("hierarchy.levels", "name each column once")
        return ()
    if declared.delimiter and not is_separator(declared.delimiter):
        return ()  # told by the checks of the descriptor
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            rows = [row for row in csv.reader(opened, delimiter=declared.delimiter or ";") if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        problems.add("hierarchy.path", "cannot be read as UTF-8 text")
        return ()
    if rows and all(row[-1] == "*" for row in rows) and len(rows[0]) == len(declared.levels) + 1:
        rows = [row[:-1] for row in rows]
    ragged = [number for number, row in enumerate(rows, 1) if len(row) != len(declared.levels)]
    if ragged or not 0 < len(rows) <= MAXIMUM_CODES:
        lines = f"; line {ragged[0]} has {len(rows[ragged[0] - 1])}" if ragged else ""
        problems.add(
            "hierarchy.path",
            f"needs 1 to {MAXIMUM_CODES} lines of {len(declared.levels)} columns{lines}",
        )
        return ()
    return _hierarchy_levels(rows, declared.levels, problems)


def _hierarchy_levels(
    rows: Sequence[Sequence[str]], names: Sequence[str], problems: _Problems
) -> tuple[LevelCodes, ...]:
    finest = [row[0] for row in rows]
    _check_codes([Code(code=code) for code in finest], "hierarchy", problems)
    levels: list[LevelCodes] = []
    for column, name in enumerate(names):
        codes = list(dict.fromkeys(row[column] for row in rows)) if column else finest
        if column:
            _check_codes([Code(code=code) for code in codes], f"hierarchy.levels[{column}]", problems)
            above: dict[str, str] = {}
            split = [r[column - 1] for r in rows if above.setdefault(r[column - 1], r[column]) != r[column]]
            if split:
                named = quoted(list(dict.fromkeys(split)))
                problems.add("hierarchy.path", f"{named} of {names[column - 1]!r} lie in several {name!r}")
        at = {code: position for position, code in enumerate(codes)}
        levels.append(_with_missing(name, "", codes, codes, [at[row[column]] for row in rows]))
    return tuple(levels)
