"""What the names and labels in a printed table stand for, from the descriptor of its dataset alone."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from sdcgate.engine.dataset import Dataset
from sdcgate.methods.cells import MISSING

_TRUTH = {"True": "1", "False": "0"}


def variable_named(dataset: Dataset, name: str) -> str:
    """The variable of that name, or of the file's column of that name; empty where there is none."""
    return _named(name, ((one.name, one.column) for one in dataset.descriptor.variables))


def measure_named(dataset: Dataset, name: str) -> str:
    """The measure of that name, or of the file's column of that name; empty where there is none."""
    return _named(name, ((one.name, one.column) for one in dataset.descriptor.measures))


def _named(name: str, known: Iterable[tuple[str, str]]) -> str:
    listed = list(known)
    for own, _ in listed:
        if name and name == own:
            return own
    return next((own for own, column in listed if name and name == column), "")


def level_of(dataset: Dataset, variable: str, texts: Iterable[str]) -> str:
    """The finest level that has a code for each of the texts; the finest of all where none has."""
    wanted = list(texts)
    levels = dataset.levels(variable)
    for level in levels:
        if all(code_of(dataset, variable, level.name, text) for text in wanted):
            return level.name
    return levels[0].name


def code_of(dataset: Dataset, variable: str, level: str, text: str) -> str:
    """The code of a level that a text is: as it stands, as a number, or by its label; empty where none."""
    codes, labels = _spellings(dataset, variable, level)
    for spelling in (text, _whole(text), _TRUTH.get(text, "")):
        if spelling in codes:
            return spelling
    return labels.get(text, "")


@lru_cache(maxsize=64)
def _spellings(dataset: Dataset, variable: str, level: str) -> tuple[frozenset[str], dict[str, str]]:
    """The codes of a level, and those of the labels that only one of them has."""
    listed = dataset.level(variable, level)
    known = [code for code in listed.codes if code and code != MISSING]
    labels = dict(zip(listed.codes, listed.labels, strict=False))
    times = Counter(labels.get(code, "") for code in known)
    unique = {labels[code]: code for code in known if labels.get(code) and times[labels[code]] == 1}
    return frozenset(known), unique


def _whole(text: str) -> str:
    """`2.0` as `2`: what pandas makes of a column of whole numbers in which some are missing."""
    head, point, tail = text.partition(".")
    return head if point and tail and not tail.strip("0") else ""
