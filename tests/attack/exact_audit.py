"""What could have been released: every unsafe group is bounded by linear programs over all that had left.

Independent of sdcgate: HiGHS and numpy over the finest groups of people, which are few enough here. Counts
only.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

import highspy
import numpy as np

from attack.publishers import TOTAL, Heard, Question, codes_of
from attack.world import Box, World

MINIMUM = 10
WIDTH = 10.0
Group = np.ndarray
"""Which of the finest groups of people, shape (groups,)."""


@dataclass
class Atoms:
    """The finest groups of a population, and how many people each has."""

    world: World
    number: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self._codes = {variable.name: variable.codes for variable in self.world.variables}
        self._shape = tuple(len(codes) for codes in self._codes.values())
        places = [
            self.world.records[name].map({code: place for place, code in enumerate(codes)})
            for name, codes in self._codes.items()
        ]
        flat = np.ravel_multi_index(tuple(place.to_numpy() for place in places), self._shape)
        self.number = np.bincount(flat, minlength=int(np.prod(self._shape))).astype(float)

    def group(self, box: Box) -> Group:
        """The groups in a box."""
        inside = np.ones(self._shape, dtype=bool)
        for axis, (name, codes) in enumerate(self._codes.items()):
            if name in box:
                others = [*range(axis), *range(axis + 1, len(self._shape))]
                inside &= np.expand_dims(np.isin(codes, box[name]), others)
        return inside.ravel()

    def requested(self, question: Question) -> list[Group]:
        """The cells of a table that have anybody."""
        lists = [codes_of(self.world, name) for name in question.dimensions]
        lists = [(*codes, TOTAL) if question.margins else codes for codes in lists]
        asked = Heard(question, {})
        found = [self.group(asked.box(self.world, codes)) for codes in itertools.product(*lists)]
        return [group for group in found if self.number[group].sum()]


class Bounds:
    """Bounds of groups that follow from groups whose numbers are published."""

    def __init__(self, number: np.ndarray, published: Iterable[Group]) -> None:
        rows = [np.flatnonzero(group) for group in published]
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._number = number
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(number), len(rows)
        model.col_cost_ = np.zeros(len(number))
        model.col_lower_ = np.zeros(len(number))
        model.col_upper_ = np.full(len(number), number.sum())
        told = np.array([number[row].sum() for row in rows])
        model.row_lower_, model.row_upper_ = told, told
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        model.a_matrix_.index_ = np.concatenate([*rows, np.zeros(0, dtype=int)]).astype(int)
        model.a_matrix_.value_ = np.ones(sum(len(row) for row in rows))
        self._solver.passModel(model)
        self._columns = np.arange(len(number), dtype=np.int32)
        self._witnesses = [number]

    def is_wide(self, group: Group) -> bool:
        """Whether the number of a group can still vary by as much as is wanted."""
        seen = np.array([one[group].sum() for one in self._witnesses])
        if np.ptp(seen) >= WIDTH - 1e-6:
            return True
        for sign in (1.0, -1.0):
            self._solver.changeColsCost(len(self._columns), self._columns, sign * group.astype(float))
            self._solver.run()
            if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                raise RuntimeError("the bounds of a group could not be found")
            self._witnesses.append(np.array(self._solver.getSolution().col_value))
        low, high = (one[group].sum() for one in self._witnesses[-2:])
        return bool(high - low >= WIDTH - 1e-6)


class History:
    """What has left so far, and which groups must not be known."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self.published: dict[bytes, Group] = {}
        self.unsafe: dict[bytes, Group] = {}

    def few(self, group: Group) -> bool:
        """Whether a group has too few people, and has any."""
        return 0 < self.atoms.number[group].sum() < MINIMUM

    def add(self, cells: list[Group], shown: list[Group]) -> None:
        """Takes in the cells of a table, of which some were shown."""
        self.unsafe |= {group.tobytes(): group for group in cells if self.few(group)}
        self.published |= {group.tobytes(): group for group in shown}

    def may_leave(self, cells: list[Group]) -> bool:
        """Whether a table may leave with nothing withheld but its cells of too few people.

        No difference of two nested groups may have too few people, and no group of too few people may be
        bounded more tightly than is wanted, unless it was already.
        """
        shown = [group for group in cells if not self.few(group) and group.tobytes() not in self.published]
        if not shown:
            return True
        known = np.array([*self.published.values(), *shown])
        if any(self._nested_difference(group, known) for group in shown):
            return False
        kept = {group.tobytes(): group for group in cells if self.few(group)} | self.unsafe
        after, before = Bounds(self.atoms.number, known), None
        for group in kept.values():
            if not after.is_wide(group):
                before = before or Bounds(self.atoms.number, self.published.values())
                if before.is_wide(group):
                    return False
        return True

    def _nested_difference(self, group: Group, known: np.ndarray) -> bool:
        total, number = self.atoms.number[group].sum(), self.atoms.number
        people = known @ number
        within = ~(known & ~group).any(axis=1)
        around = ~(~known & group).any(axis=1)
        differences = np.abs(people[within | around] - total)
        return bool(((differences > 0) & (differences < MINIMUM)).any())
