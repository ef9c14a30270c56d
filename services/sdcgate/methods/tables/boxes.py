"""What a cell is as a set: a box, for each variable the finest codes that it takes in.

Masks are Python integers over the finest codes of a variable, the first code in bit 0, `_U` in the last bit.
Two cells with the same box are the same cell, whatever table, level or filter they were asked by.
"""

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import product
from math import prod

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray, State

Box = tuple[tuple[str, int], ...]
"""Restricted variables in alphabetical order with their masks; `()` is everybody."""

EVERYBODY: Box = ()
NOBODY: Box = (("", 0),)
"""The one form of every box that has an empty mask."""

MARK_MODULUS = 1 << 62
"""Marks of populations are sums modulo this."""

_MAGIC = b"SDCBOX"
_VERSION = 1
_HEADER = struct.Struct("<6sHII")


def make_box(masks: Iterable[tuple[str, int]], full: Mapping[str, int]) -> Box:
    """The box of several restrictions: masks of one variable are intersected, full ones dropped.

    Raises ValueError where a mask has bits beyond the variable's full mask.
    """
    merged: dict[str, int] = {}
    for variable, mask in masks:
        if variable not in full:
            raise ValueError(f"variable {variable}: no full mask is given for it")
        if mask < 0 or mask & ~full[variable]:
            raise ValueError(f"variable {variable}: the mask has bits that are none of its codes")
        merged[variable] = merged.get(variable, full[variable]) & mask
    if any(mask == 0 for mask in merged.values()):
        return NOBODY
    return tuple(sorted((variable, mask) for variable, mask in merged.items() if mask != full[variable]))


def bits(mask: int, size: int) -> BoolArray:
    """The first bits of a mask, the first code first, shape (size,)."""
    raw = np.frombuffer((mask & ((1 << size) - 1)).to_bytes((size + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(raw, bitorder="little", count=size).astype(np.bool_)


def codes_within(mask: int, codes: IntArray) -> BoolArray:
    """Which of some codes a mask takes in, of the shape that these have."""
    found: BoolArray = bits(mask, int(codes.max(initial=0)) + 1)[codes]
    return found


def as_texts(box: Box) -> tuple[list[str], list[str]]:
    """The variables that a box restricts, and their masks as hexadecimal numbers."""
    return [name for name, _ in box], [f"{mask:x}" for _, mask in box]


def from_texts(variables: Iterable[str], masks: Iterable[str]) -> Box:
    """The box of `as_texts`. Raises ValueError for texts that are none of a box."""
    return tuple((name, int(mask, 16)) for name, mask in zip(variables, masks, strict=True))


def is_inside(inner: Box, outer: Box) -> bool:
    """Whether every record of one box is in the other by description (equal boxes are)."""
    if inner == NOBODY:
        return True
    masks = dict(inner)
    for variable, mask in outer:
        own = masks.get(variable)
        if own is None or own & ~mask:
            return False
    return True


def intersection(first: Box, second: Box) -> Box:
    """The records that are in both boxes."""
    merged = dict(first)
    for variable, mask in second:
        merged[variable] = merged[variable] & mask if variable in merged else mask
    return NOBODY if any(mask == 0 for mask in merged.values()) else tuple(sorted(merged.items()))


def divided(whole: int, masks: Iterable[int]) -> list[int]:
    """The atoms into which masks divide a whole; each mask is a union of them."""
    parts = [whole]
    for mask in masks:
        parts = [piece for part in parts for piece in (part & mask, part & ~mask) if piece]
    return parts


def digest(box: Box, key: bytes) -> bytes:
    """Keyed BLAKE2b of a box, 16 bytes: equal for equal boxes, meaningless without the key."""
    if not 1 <= len(key) <= 64:
        raise ValueError("the key of a box digest has 1 to 64 bytes")
    state = blake2b(digest_size=16, key=key)
    for variable, mask in box:
        name = variable.encode()
        bits = mask.to_bytes((mask.bit_length() + 7) // 8, "little")
        state.update(struct.pack("<II", len(name), len(bits)) + name + bits)
    return state.digest()


@dataclass(frozen=True, slots=True, eq=False)
class BoxTable:
    """The boxes of a table's cells, as a product of its axes; row-major, the last axis runs fastest.

    A variable stands once, on an axis or in `fixed`; a filter on an axis' variable is already in the
    axis' masks (`_T` then has the filter's mask). Raises ValueError with all that is wrong.
    """

    axes: tuple[tuple[str, tuple[int, ...]], ...]
    """Variable and mask of each code."""
    fixed: tuple[tuple[str, int], ...]
    """Filters on other variables; `measure:<name>` has bit 0 for present and bit 1 for missing."""
    full: Mapping[str, int]
    """Full mask of every variable that occurs."""
    states: IntArray
    records: IntArray = field(repr=False)
    marks: IntArray = field(repr=False)
    """Sum of secret record marks modulo 2^62, a value a cell."""

    def __post_init__(self) -> None:
        problems: list[str] = []
        names = [variable for variable, _ in self.axes] + [variable for variable, _ in self.fixed]
        problems += [
            f"variable {name} stands more than once: intersect its masks on one axis"
            for name in sorted({name for name in names if names.count(name) > 1})
        ]
        for variable, masks in (*self.axes, *((name, (mask,)) for name, mask in self.fixed)):
            whole = self.full.get(variable)
            if whole is None or whole < 1 or whole & (whole + 1):
                problems.append(f"variable {variable}: its full mask must be given, all ones from bit 0")
            elif any(mask < 0 or mask & ~whole for mask in masks):
                problems.append(f"variable {variable}: a mask has bits that are none of its codes")
        cells = prod(self.shape)
        for name, values in (("states", self.states), ("records", self.records), ("marks", self.marks)):
            if values.shape != (cells,):
                problems.append(f"{name}: {cells} cells, but an array of shape {values.shape}")
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each axis."""
        return tuple(len(masks) for _, masks in self.axes)

    def __len__(self) -> int:
        return len(self.states)

    def of_state(self, *states: State) -> BoolArray:
        """Cells that are in one of the states, shape (cells,)."""
        chosen = np.zeros(len(self.states), dtype=np.bool_)
        for state in states:
            chosen |= self.states == int(state)
        return chosen

    def masks(self, variable: str) -> tuple[tuple[int, ...], int]:
        """Masks that the cells have on a variable, and the step of a cell's position from one to the next.

        The step is 0 where all cells have the same mask.
        """
        step = 1
        for name, masks in reversed(self.axes):
            if name == variable:
                return masks, step
            step *= len(masks)
        return next(((mask,) for name, mask in self.fixed if name == variable), (self.full[variable],)), 0

    def variables(self) -> tuple[str, ...]:
        """All variables that occur, axes first."""
        return tuple(name for name, _ in self.axes) + tuple(name for name, _ in self.fixed)

    def box(self, cell: int) -> Box:
        """The box of one cell."""
        codes = np.unravel_index(cell, self.shape) if self.axes else ()
        masks = [(name, masks[int(code)]) for (name, masks), code in zip(self.axes, codes, strict=True)]
        return make_box((*masks, *self.fixed), self.full)

    def boxes(self) -> list[Box]:
        """The boxes of all cells."""
        lines = [(name, masks) for name, masks in self.axes]
        order = sorted(range(len(lines) + len(self.fixed)), key=self.variables().__getitem__)
        options = [
            [(name, mask, mask == self.full[name]) for mask in masks]
            for name, masks in (*lines, *((name, (mask,)) for name, mask in self.fixed))
        ]
        found: list[Box] = []
        for cell in product(*options):
            if all(mask for _, mask, _ in cell):
                found.append(tuple(cell[place][:2] for place in order if not cell[place][2]))
            else:
                found.append(NOBODY)
        return found

    def to_bytes(self) -> bytes:
        """A compact blob for the ledger: description as JSON, then states, records and marks by column.

        Confidential as the table is: it holds the figures of withheld cells.
        """
        description = json.dumps(
            {
                "axes": [[name, [f"{mask:x}" for mask in masks]] for name, masks in self.axes],
                "fixed": [[name, f"{mask:x}"] for name, mask in self.fixed],
                "full": {name: f"{self.full[name]:x}" for name in self.variables()},
            },
            separators=(",", ":"),
        ).encode()
        return b"".join(
            (
                _HEADER.pack(_MAGIC, _VERSION, len(description), len(self)),
                description,
                self.states.astype("<u1").tobytes(),
                self.records.astype("<i8").tobytes(),
                self.marks.astype("<i8").tobytes(),
            )
        )

    @classmethod
    def from_bytes(cls, blob: bytes) -> "BoxTable":
        """The table of a blob of `to_bytes`; ValueError where it is none or of another version."""
        if len(blob) < _HEADER.size:
            raise ValueError("not the boxes of a table: too short")
        magic, version, length, cells = _HEADER.unpack_from(blob)
        if magic != _MAGIC:
            raise ValueError("not the boxes of a table")
        if version != _VERSION:
            raise ValueError(f"boxes of a table in version {version}; this program reads version {_VERSION}")
        start = _HEADER.size + length
        if len(blob) != start + 17 * cells:
            raise ValueError(f"boxes of a table: {len(blob)} bytes where {start + 17 * cells} are due")
        try:
            description = json.loads(blob[_HEADER.size : start])
            axes = tuple(
                (str(name), tuple(int(mask, 16) for mask in masks)) for name, masks in description["axes"]
            )
            fixed = tuple((str(name), int(mask, 16)) for name, mask in description["fixed"])
            full = {str(name): int(mask, 16) for name, mask in description["full"].items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("boxes of a table: the description cannot be read") from error
        return cls(
            axes=axes,
            fixed=fixed,
            full=full,
            states=np.frombuffer(blob, "<u1", cells, start).astype(np.int64),
            records=np.frombuffer(blob, "<i8", cells, start + cells).astype(np.int64),
            marks=np.frombuffer(blob, "<i8", cells, start + 9 * cells).astype(np.int64),
        )
