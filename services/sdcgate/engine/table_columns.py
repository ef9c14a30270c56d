"""Columns of an Arrow table of microdata as texts, numbers, ids; all that is wrong with them at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.engine.code_lists import quoted
from sdcgate.engine.encoding import Texts, canonical, number_of, read_texts
from sdcgate.methods.cells import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class TableColumns:
    """One pass over a table; a column that cannot be used adds a problem and is None."""

    table: "pa.Table"
    missing: tuple[str, ...]
    """Texts that stand for a missing value, beside empty ones."""
    problems: list[tuple[str, str]]
    """Where and what: the option that names the column, and words without a value of it."""

    def texts(self, path: str, name: str) -> Texts | None:
        """A column as texts."""
        import pyarrow as pa

        column = self.table[name]
        if not _is_encoded(column):
            try:
                if pa.types.is_dictionary(column.type):
                    column = column.cast(column.type.value_type)
                column = column.cast(pa.string()).dictionary_encode()
            except pa.ArrowException:
                self.problems.append((path, f"column {name!r} has a type that is no text, number or date"))
                return None
        return read_texts(column, self.missing)

    def numbers(self, path: str, name: str) -> FloatArray | None:
        """A column of numbers, all finite and there; None where no column is named."""
        texts = self.texts(path, name) if name else None
        if texts is None:
            return None
        of_texts = np.array([*(number_of(text) for text in texts.distinct), np.nan])
        numbers: FloatArray = of_texts[texts.index]
        self.complete(path, name, ~np.isfinite(numbers), "without a finite number")
        return numbers

    def ids(self, path: str, name: str) -> tuple[tuple[str, ...], IntArray] | None:
        """A column of ids, there for every record: the ids, in any order, and the position of each record's.

        None where no column is named.
        """
        texts = self.texts(path, name) if name else None
        if texts is None:
            return None
        places: dict[str, int] = {}
        code = np.full(len(texts.distinct) + 1, -1, dtype=np.int64)
        for at in np.flatnonzero(texts.rows).tolist():
            code[at] = places.setdefault(canonical(texts.distinct[at]), len(places))
        codes = code[texts.index]
        self.complete(path, name, codes < 0, "without an id")
        return tuple(places), codes

    def complete(self, path: str, name: str, lacking: BoolArray, what: str) -> None:
        """Add a problem where records lack something, with their number and the first of them."""
        if lacking.any():
            first = int(np.argmax(lacking)) + 1
            text = f"column {name!r} has {int(lacking.sum())} records {what}, the first is record {first}"
            self.problems.append((path, text))


def _is_encoded(column: "pa.ChunkedArray") -> bool:
    """Whether a column is encoded by dictionaries of texts, NULL not among them."""
    import pyarrow as pa

    return (
        pa.types.is_dictionary(column.type)
        and pa.types.is_string(column.type.value_type)
        and not any(chunk.dictionary.null_count for chunk in column.chunks)
    )


def coded(texts: Texts) -> tuple[tuple[str, ...], IntArray]:
    """The values of a column in order, numbers by their size, and each row's code; -1 where missing."""
    names = [canonical(text) for text in texts.distinct]
    occurring = {name for name, rows in zip(names, texts.rows.tolist(), strict=True) if rows}
    ordered = tuple(sorted(occurring, key=by_size))
    places = {name: place for place, name in enumerate(ordered)}
    code = np.array([*(places.get(name, -1) for name in names), -1], dtype=np.int64)
    return ordered, code[texts.index]


def by_size(name: str) -> tuple[bool, float, str]:
    """What values are sorted by: numbers by their size, then the others by their letters."""
    number = number_of(name)
    return (np.isnan(number), 0.0 if np.isnan(number) else number, name)


def lacking_columns(named: Sequence[tuple[str, str]], present: Sequence[str]) -> list[tuple[str, str]]:
    """Options that name a column which the file does not have, each with what is wrong."""
    problems = []
    whole = _other_delimiter(present)
    for path, column in named:
        if column not in present:
            near = get_close_matches(column, present, n=3)
            hint = f"; the nearest are {quoted(near)}" if near and not whole else whole
            problems.append((path, f"the file has no column {column!r}{hint}"))
    return problems


def _other_delimiter(present: Sequence[str]) -> str:
    """What to do where a header is one column, as its columns are separated by something else."""
    if len(present) == 1:
        for delimiter, name in ((";", "';'"), ("\t", "a tab"), ("|", "'|'")):
            if delimiter in present[0]:
                return f"; its header is one column with {name} in it: say that this is the delimiter"
    return ""
