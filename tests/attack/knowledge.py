"""What follows from everything an intruder has heard: integer programs by scipy, no code of sdcgate.

Unknown are the number of records and the sum of each measure in every atom, the groups of people that no
box he has heard of tells apart. Each figure is one or two linear rows, percentages and means among them:
sum = mean x number is linear in both even where neither is known.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from attack.claims import Claim
from attack.publishers import Heard
from attack.world import MISSING, Box, World

COUNT = "count"
WEIGHT = "weight"
SLACK = 1e-7


class Contradiction(Exception):
    """No population agrees with everything that was said."""


@dataclass(frozen=True)
class Row:
    """low <= sum of coefficient x quantity of a box <= high."""

    terms: tuple[tuple[float, str, Box], ...]
    low: float
    high: float


@dataclass
class Knowledge:
    """Collects rows, and bounds what follows from them.

    `digits`: to how many decimals published sums, means and percentages are rounded; the policy is public.
    """

    world: World
    digits: int | None = 1
    rows: list[Row] = field(default_factory=list)

    @property
    def _half(self) -> float:
        return 1e-6 if self.digits is None else 0.5 * 10**-self.digits + 1e-9

    def hear(self, heard: Heard) -> Heard:
        """Takes in all that an answer shows, and gives it back."""
        for codes, figures in heard.cells.items():
            box = heard.box(self.world, codes)
            for figure, value in figures.items():
                if value is not None:
                    self._figure(heard, codes, box, figure, value)
        return heard

    def tell_box(self, quantity: str, box: Box, value: float, within: float = 0.0) -> None:
        """He knows a figure of a box from elsewhere."""
        self.rows.append(Row(((1.0, quantity, box),), value - within, value + within))

    def tell_each(self, quantity: str, box: Box, each: float, within: float = 0.0) -> None:
        """He knows what everybody in a box has, so that their sum is so many times their number."""
        for bound, low, high in ((each - within, 0.0, np.inf), (each + within, -np.inf, 0.0)):
            self.rows.append(Row(((1.0, quantity, box), (-bound, COUNT, box)), low, high))

    def tell_parts(
        self, quantity: str, parts: Iterable[tuple[float, Box]], value: float, within: float
    ) -> None:
        """He knows a sum of boxes, each times a factor."""
        terms = tuple((factor, quantity, box) for factor, box in parts)
        self.rows.append(Row(terms, value - within, value + within))

    def _figure(self, heard: Heard, codes: tuple[str, ...], box: Box, figure: str, value: float) -> None:
        statistic, _, measure = figure.partition(":")
        half = self._half
        if statistic in ("UNITS", "RECORDS"):
            self.rows.append(Row(((1.0, COUNT, box),), value, value))
        elif statistic in ("SUM", "WEIGHTED_UNITS"):
            self.rows.append(Row(((1.0, measure or WEIGHT, box),), value - half, value + half))
        elif statistic == "MEAN":
            self._ratio(measure, box, box, value, half)
        elif statistic.endswith("_PERCENT"):
            self._ratio(COUNT, box, heard.base(self.world, codes, statistic), value / 100, half / 100)

    def _ratio(self, quantity: str, box: Box, base: Box, value: float, half: float) -> None:
        for bound, low, high in ((value - half, 0.0, np.inf), (value + half, -np.inf, 0.0)):
            self.rows.append(Row(((1.0, quantity, box), (-bound, COUNT, base)), low, high))

    def interval(self, quantity: str, box: Box, seconds: float = 20.0) -> tuple[float, float]:
        """Least and greatest value of a quantity of a box that agree with all that is known."""
        return Program(self, box).interval(quantity, box, seconds)

    def count(self, box: Box) -> Claim:
        """The number of records in a box, by all that is known: people come in whole numbers."""
        least, most = self.interval(COUNT, box)
        return Claim(_whole(math.ceil, least - 1e-6), _whole(math.floor, most + 1e-6))

    def tightest(self, boxes: list[Box], below: float) -> Claim:
        """Of the numbers of records in some boxes that may be below a number, the one that is known best."""
        program = Program(self, *boxes)
        found = [Claim(*program.interval(COUNT, box, 5.0, whole=False), box) for box in boxes]
        few = [claim for claim in found if claim.low < below]
        return min(few, key=lambda claim: claim.width, default=Claim())

    def value(self, quantity: str, box: Box) -> Claim:
        """A sum over a box."""
        return Claim(*self.interval(quantity, box))


def _whole(towards: Callable[[float], int], bound: float) -> float:
    return float(towards(bound)) if math.isfinite(bound) else bound


class Program:
    """The rows as one integer program over atoms."""

    def __init__(self, knowledge: Knowledge, *boxes: Box) -> None:
        self.knowledge = knowledge
        rows = knowledge.rows
        mentioned = [box for row in rows for _, _, box in row.terms] + list(boxes)
        self.classes = {
            name: _classes([*knowledge.world.variable(name).codes, MISSING], name, mentioned)
            for name in sorted({name for box in mentioned for name in box})
        }
        self.shape = tuple(len(one) for one in self.classes.values())
        self.atoms = math.prod(self.shape)
        named = {quantity for row in rows for _, quantity, _ in row.terms}
        self.quantities = [COUNT, *sorted({*named, *knowledge.world.measures} - {COUNT})]
        self._members: dict[tuple[tuple[str, frozenset[str]], ...], np.ndarray] = {}
        self._build(rows)

    def _build(self, rows: list[Row]) -> None:
        size = self.atoms
        columns, entries, at, low, high = [], [], [], [], []
        for number, row in enumerate(rows):
            for factor, quantity, box in row.terms:
                inside = self.members(box) + size * self.quantities.index(quantity)
                columns.append(inside)
                entries.append(np.full(len(inside), factor))
                at.append(np.full(len(inside), number))
            low.append(row.low)
            high.append(row.high)
        shape = (len(rows), size * len(self.quantities))
        flat = [np.concatenate(part) if part else np.zeros(0) for part in (entries, at, columns)]
        told = sparse.csr_array((flat[0], (flat[1], flat[2])), shape=shape)
        blocks = [told]
        world, each = self.knowledge.world, sparse.identity(size)
        for place, quantity in enumerate(self.quantities[1:], start=1):
            # A measure lies between its public bounds for every record.
            least, most = (0.0, np.inf) if quantity == WEIGHT else (world.least, world.most)
            for bound, end in ((least, (0.0, np.inf)), (most, (-np.inf, 0.0))):
                if math.isfinite(bound):
                    parts = [sparse.csr_array((size, size))] * len(self.quantities)
                    parts[0], parts[place] = -bound * each, each
                    blocks.append(sparse.hstack(parts))
                    low += [end[0]] * size
                    high += [end[1]] * size
        self.matrix = sparse.csr_array(sparse.vstack(blocks))
        slack = SLACK * np.maximum(1.0, np.abs(np.nan_to_num(np.array(low), posinf=0, neginf=0)))
        self.low, self.high = np.array(low) - slack, np.array(high) + slack

    def members(self, box: Box) -> np.ndarray:
        """The atoms in a box."""
        key = tuple(sorted((name, frozenset(codes)) for name, codes in box.items()))
        if key not in self._members:
            inside = np.ones(self.shape, dtype=bool)
            for axis, (name, classes) in enumerate(self.classes.items()):
                if name in box:
                    fits = np.array([bool(codes & set(box[name])) for codes in classes])
                    inside &= np.expand_dims(fits, [*range(axis), *range(axis + 1, len(self.shape))])
            self._members[key] = np.flatnonzero(inside)
        return self._members[key]

    def interval(self, quantity: str, box: Box, seconds: float, whole: bool = True) -> tuple[float, float]:
        """Bounds of one quantity; infinite where the solver finds none in time.

        `whole`: people come in whole numbers; without it bounds are wider, and found sooner.
        """
        if quantity not in self.quantities:
            # Nobody has said anything of it.
            return -np.inf, np.inf
        size = self.atoms
        aim = np.zeros(size * len(self.quantities))
        aim[self.members(box) + size * self.quantities.index(quantity)] = 1.0
        lower = np.full(len(aim), -np.inf if self.knowledge.world.least < 0 else 0.0)
        lower[:size] = 0.0
        integral = np.zeros(len(aim))
        integral[:size] = whole
        ends = []
        for sign in (1.0, -1.0):
            found = milp(
                sign * aim,
                constraints=LinearConstraint(self.matrix, self.low, self.high),
                bounds=Bounds(lower, np.inf),
                integrality=integral,
                options={"time_limit": seconds, "mip_rel_gap": 0.0},
            )
            bound = found.mip_dual_bound if whole and found.status in (0, 1) else found.fun
            if found.status == 2:
                raise Contradiction("what was published contradicts itself")
            ends.append(-np.inf if bound is None else float(bound))
        return ends[0], -ends[1]


def _classes(codes: list[str], name: str, boxes: list[Box]) -> list[frozenset[str]]:
    """Codes of a variable, those together that no box tells apart."""
    seen = {frozenset(box[name]) for box in boxes if name in box}
    by_sight: dict[tuple[bool, ...], set[str]] = {}
    for code in codes:
        by_sight.setdefault(tuple(code in one for one in seen), set()).add(code)
    return [frozenset(one) for one in by_sight.values()]
