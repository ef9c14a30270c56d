"""Two releases of one source as they are linked: what they share, at which levels, and who is who."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sdcgate.engine.code_lists import quoted
from sdcgate.engine.microdata import MicrodataUnusable
from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.level_agreement import Release, Shared
from sdcgate.methods.risk.microdata import KeyVariable, Microdata, UnitFile, by_units
from sdcgate.methods.risk.several_files import LinkedReleases, several_files

_BAND = re.compile(r"(-?\d{1,9})(?:\s*-\s*(-?\d{1,9}))?")
LARGEST_BAND = 100_000


@dataclass(frozen=True, slots=True)
class SharedVariable:
    """A variable that both releases show, as each calls it."""

    first: str
    second: str

    @property
    def title(self) -> str:
        """`age`, or `age / age:ten_years` where the levels differ."""
        return self.first if self.first == self.second else f"{self.first} / {self.second}"


@dataclass(frozen=True, slots=True, eq=False)
class TwoReleases:
    """Both releases by units, and what they share."""

    first: Release
    second: Release
    shared: tuple[Shared, ...]
    variables: tuple[SharedVariable, ...]


def linked_releases(
    first: Microdata,
    second: Microdata,
    other: str,
    same_file: bool,
    missing: Missing,
    heed: Callable[[], None] | None = None,
) -> LinkedReleases:
    """Link two releases; `same_file`, `missing` and `heed` as in `two_releases` and `several_files`.

    Raises MicrodataUnusable where nothing is shared, ValueError where too much would have to be compared.
    """
    return linked_to(two_releases(first, second, same_file), other, missing, heed)


def linked_to(
    both: TwoReleases, other: str, missing: Missing, heed: Callable[[], None] | None = None
) -> LinkedReleases:
    """Link two releases, the second of which has a name."""
    found = several_files(both.first, both.second, both.shared, missing, heed)
    titles = tuple(one.title for one in both.variables)
    return LinkedReleases(other, titles, (len(both.first.codes), len(both.second.codes)), found)


def two_releases(first: Microdata, second: Microdata, same_file: bool) -> TwoReleases:
    """Two releases, of one file with different keys or of two files.

    Variables of one name are shared, whatever their levels (`age:ten_years` and `age:broad`), wave by wave.
    Levels are those of descriptors; without one, values are compared as they stand, and whole numbers and
    bands of them (`20-29`) by the numbers that they hold. Who is who is told by the units' ids, or by the
    records' place in one file. Raises MicrodataUnusable where nothing is shared.
    """
    own, others = by_units(first), by_units(second)
    ids = _ids(first, second, own, others, same_file)
    return releases_of(
        Release(own.codes, own.weights, None if ids is None else ids[0]),
        own.keys,
        Release(others.codes, others.weights, None if ids is None else ids[1]),
        others.keys,
    )


def releases_of(
    first: Release, keys: Sequence[KeyVariable], second: Release, other_keys: Sequence[KeyVariable]
) -> TwoReleases:
    """Two releases with the key variables of their columns, and what they share; see `two_releases`."""
    place = {(_variable(key), key.wave): at for at, key in enumerate(other_keys)}
    shared, variables, problems = [], [], []
    for column, key in enumerate(keys):
        at = place.get((_variable(key), key.wave))
        if at is None:
            continue
        levels = _levels(key, other_keys[at])
        if levels is None:
            problems.append(
                ("other.keys", f"the values of {key.title} have nothing in common: declare levels")
            )
        else:
            shared.append(Shared(column, at, *levels))
            variables.append(SharedVariable(key.title, other_keys[at].title))
    if not shared and not problems:
        named = quoted([key.title for key in keys])
        problems.append(("other.keys", f"no variable is shared; the first release has {named}"))
    if problems:
        raise MicrodataUnusable(problems)
    return TwoReleases(first, second, tuple(shared), tuple(variables))


def _variable(key: KeyVariable) -> str:
    return key.name.partition(":")[0] if key.finest is not None else key.name


def _ids(
    first: Microdata, second: Microdata, own: UnitFile, others: UnitFile, same_file: bool
) -> tuple[IntArray, IntArray] | None:
    if same_file:
        return np.arange(len(own)), np.arange(len(others))
    if first.units is None or second.units is None:
        return None
    number = {name: at for at, name in enumerate(dict.fromkeys((*first.unit_names, *second.unit_names)))}
    found = []
    for file, units in ((first, own), (second, others)):
        of_names = np.array([number[name] for name in file.unit_names], dtype=np.int64)
        assert file.units is not None
        found.append(of_names[file.units[units.first]])
    return found[0], found[1]


def _levels(first: KeyVariable, second: KeyVariable) -> tuple[IntArray, IntArray] | None:
    """Each one's code of every finest code that either has; None where they have none in common."""
    held = _numbers(first), _numbers(second)
    if not held[0] or not held[1]:
        held = _values(first), _values(second)
    if not held[0].keys() & held[1].keys():
        return None
    names = list(dict.fromkeys((*held[0], *held[1])))
    own, other = (np.array([one.get(name, -1) for name in names], dtype=np.int64) for one in held)
    return own, other


def _values(key: KeyVariable) -> dict[str, int]:
    """The code of each finest code: as declared, else each value for itself."""
    if key.finest is not None:
        return dict(zip(key.finest[0], key.finest[1].tolist(), strict=True))
    return {name: code for code, name in enumerate(key.categories)}


def _numbers(key: KeyVariable) -> dict[str, int]:
    """The code of each whole number, where values are whole numbers or bands of them; none otherwise."""
    if key.finest is not None:
        return _values(key)
    found: dict[str, int] = {}
    for code, name in enumerate(key.categories):
        band = _BAND.fullmatch(name)
        if band is None:
            return {}
        first = int(band[1])
        numbers = range(first, first + 1 if band[2] is None else int(band[2]) + 1)
        if not 0 < len(numbers) <= LARGEST_BAND or any(str(number) in found for number in numbers):
            return {}
        found |= dict.fromkeys(map(str, numbers), code)
    return found
