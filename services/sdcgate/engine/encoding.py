"""Columns of texts become positions of codes, scaled integers and dense ids."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FRACTION = re.compile(r"-?\d+\.\d*")
_EXACT_IN_FLOAT = 2**50
LARGEST_SUM = 2**62
"""Sums of absolute scaled values stay below this, so that 64 bits hold every sum."""


@dataclass(frozen=True, slots=True)
class Texts:
    """A column: its distinct texts, and for each row the position of its own; -1 where it is missing."""

    distinct: list[str]
    index: IntArray

    @property
    def rows(self) -> IntArray:
        """Number of rows with each distinct text."""
        present = self.index[self.index >= 0]
        return np.bincount(present, minlength=len(self.distinct)).astype(np.int64)


def canonical(text: str) -> str:
    """The text without blanks around it and without trailing zeros of a fraction: 3.0 is 3, 2.50 is 2.5."""
    text = text.strip()
    if "." in text and _FRACTION.fullmatch(text):
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def read_texts(column: "pa.ChunkedArray", missing: Iterable[str]) -> Texts:
    """A dictionary-encoded column; NULL, empty and blank texts and those in `missing` are missing."""
    merged = column.unify_dictionaries().combine_chunks()
    chunks = merged.chunks if hasattr(merged, "chunks") else [merged]
    distinct: list[str] = chunks[0].dictionary.to_pylist() if chunks else []
    index = np.concatenate(
        [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    ).astype(np.int64)
    gone = {"", *missing}
    gone |= {canonical(text) for text in gone}
    is_missing = [text in gone or canonical(text) in gone for text in distinct]
    index[(index >= 0) & np.array([*is_missing, False], dtype=np.bool_)[index]] = -1
    return Texts(distinct, index)


def code_positions(texts: Texts, positions: Mapping[str, int], floor: bool) -> tuple[IntArray, BoolArray]:
    """Position of each row's code, `_U` (the last) where missing, and which rows have an undeclared text.

    A text is looked up as it stands, then in its canonical form; with `floor` as the integer below it.
    """
    last = len(positions) - 1
    found = np.full(len(texts.distinct) + 1, last, dtype=np.int64)
    undeclared = np.zeros(len(texts.distinct) + 1, dtype=np.bool_)
    for at in np.flatnonzero(texts.rows):
        code = _floor(texts.distinct[at]) if floor else texts.distinct[at]
        found[at] = positions.get(code, positions.get(canonical(code), last))
        undeclared[at] = found[at] == last
    return found[texts.index], undeclared[texts.index]


def _floor(text: str) -> str:
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        return text
    value = float(stripped)
    return str(math.floor(value)) if math.isfinite(value) else text


def scaled_values(texts: Texts, decimals: int) -> tuple[IntArray, BoolArray, BoolArray]:
    """Each row's value times 10^decimals as an integer (0 where missing), which have a text, and a bad one.

    Values with more decimals are rounded to the declared ones. Texts that are no finite number, or too
    large for 62 bits when scaled, are bad.
    """
    numbers = np.array([number_of(text) for text in texts.distinct], dtype=np.float64)
    scaled = np.zeros(len(numbers) + 1, dtype=np.int64)
    finite = np.isfinite(numbers)
    near = np.zeros(len(numbers), dtype=np.float64)
    np.multiply(numbers, 10.0**decimals, out=near, where=finite)
    small = finite & (np.abs(near) < _EXACT_IN_FLOAT)
    scaled[:-1][small] = np.rint(near[small]).astype(np.int64)
    bad = np.zeros(len(numbers) + 1, dtype=np.bool_)
    for at in np.flatnonzero(~small & (texts.rows > 0)):
        exact = None if not finite[at] else _exactly(texts.distinct[at], decimals)
        if exact is None or abs(exact) >= LARGEST_SUM:
            bad[at] = True
        else:
            scaled[at] = exact
    return scaled[texts.index], texts.index >= 0, bad[texts.index]


def number_of(text: str) -> float:
    """The number that a text is, NaN where it is none."""
    stripped = text.strip()
    return float(stripped) if _NUMBER.fullmatch(stripped) else math.nan


def _exactly(text: str, decimals: int) -> int:
    return int(Decimal(text.strip()).scaleb(decimals).to_integral_value(ROUND_HALF_EVEN))


def absolute_total(scaled: IntArray) -> float:
    """Sum of absolute values, as near as a float holds it."""
    values: FloatArray = np.abs(scaled.astype(np.float64))
    return float(values.sum())
