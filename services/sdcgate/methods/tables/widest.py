"""The widest pattern: everything is withheld that may be, and then shown again what is too narrow even so.

The fewer cells are withheld, the more an intruder knows. A cell that is too narrow in a pattern is so in
every pattern within it: what is shown again here no pattern can withhold, and where an unsafe cell is too
narrow in the end, no pattern protects the table. Where one does, one is found here, though it withholds more
than need be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.bound_propagation import record_ranges
from sdcgate.methods.tables.pattern import could_be_withheld
from sdcgate.methods.tables.problem import Problem
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.settling import settle
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.sweeping import sweep
from sdcgate.methods.tables.witnesses import Tables, agreeing, required


@dataclass(frozen=True, slots=True, eq=False)
class Widest:
    """A pattern that goes beyond all that can be proved, and what is known of it."""

    withheld: BoolArray = field(repr=False)
    search: Search = field(repr=False)
    impossible: bool
    """Whether no pattern at all protects the unsafe cells."""

    @property
    def proved(self) -> bool:
        """Whether each of its cells is wide enough."""
        return not (self.search.hopeless or self.search.narrow().any())


def widest(
    problem: Problem, unsafe: BoolArray, tables: Tables, deadline: Deadline, first: Sequence[int] = ()
) -> Widest:
    """Withhold all that can be withheld with the unsafe cells, shape (cells,).

    `tables` are possible ones; the unsafe cells `first` are looked at before the others.
    """
    withheld = (could_be_withheld(problem) & ~problem.wholly_known) | unsafe
    # Only what was refuted, not what nobody had the time for, is out of the question for every pattern.
    certain = True
    while True:
        ranges = record_ranges(problem, withheld)
        while (spare := (narrow := _too_close(problem, withheld, ranges)) & ~unsafe).any():
            withheld = withheld & ~spare
            ranges = record_ranges(problem, withheld)
        search = Search(problem, withheld, tables.chosen(agreeing(problem, withheld, tables)))
        if search.hopeless:
            return Widest(withheld, search, impossible=False)
        search.refute_records(narrow, ranges)
        if _unsafe_refuted(search, unsafe, deadline, first):
            told = search.refuted & unsafe & ~_by_scale(problem, withheld, unsafe)
            return Widest(withheld, search, impossible=certain and bool(told.any()))
        _settle_these(search, ~unsafe, deadline)
        narrow = np.logical_or.reduce(search.narrow(), axis=0)
        spare = narrow & ~unsafe
        if deadline.over or not spare.any() or (narrow & unsafe).any():
            return Widest(withheld, search, impossible=False)
        certain = certain and bool((search.refuted & ~_by_scale(problem, withheld, unsafe))[spare].all())
        withheld, tables, first = withheld & ~spare, search.tables, ()


def _by_scale(problem: Problem, withheld: BoolArray, unsafe: BoolArray) -> BoolArray:
    """Cells of which more is required than in the narrowest pattern: tiny sums beside large; (cells,)."""
    here, least = required(problem, withheld).widths, required(problem, unsafe).widths
    more: BoolArray = np.logical_or.reduce(here > least, axis=0)
    return more


def _unsafe_refuted(search: Search, unsafe: BoolArray, deadline: Deadline, first: Sequence[int]) -> bool:
    """Whether an unsafe cell is shown to be too narrow; those that are `first` come before a sweep."""
    if (search.refuted & unsafe).any():
        return True
    if len(first) and _settle_these(search, np.isin(np.arange(len(unsafe)), first), deadline, integers=True):
        return True
    sweep(search, deadline)
    return _settle_these(search, unsafe, deadline, integers=True)


def _too_close(problem: Problem, withheld: BoolArray, ranges: tuple[FloatArray, FloatArray]) -> BoolArray:
    """Withheld cells whose records are too narrow by one equation after the other, shape (cells,)."""
    lower, upper = ranges
    asked: BoolArray = withheld & ~problem.known_quantities[0]
    return asked & (upper - lower < problem.count_width)


def _settle_these(search: Search, which: BoolArray, deadline: Deadline, integers: bool = False) -> bool:
    """Settle cells; with integers up to the first that is too narrow, and whether there is one."""
    for quantity, cell in search.unsettled().tolist():
        if deadline.over:
            break
        if which[cell] and not search.refuted[cell] and search.narrow()[quantity, cell]:
            settle(search, quantity, cell, deadline, integers)
            if integers and search.refuted[cell]:
                return True
    return False
