"""Sums of what variables decide, as what they tell of counts: of how many people each of their codes has.

Of 17 people in a trade 12 are of two towns whose people weigh 10 and 2.5, and 5 of one where they weigh 1.
The trade's sum of weights is a second equation of the same counts, and where a table withholds two of them it
tells both. So the joint audit of counts takes all such sums for what they are. In the same way weighted sums
of a measure are equations of its sums. The linear span takes them in as well: where those of one of three
towns are known, a sum of weights tells those of the other two, which no table need have shown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.facility.knowledge import COUNTS, KnownQuantity, ReleasedTable
from sdcgate.facility.weights import WEIGHTED_PREFIX
from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import NOBODY, Box, intersection
from sdcgate.methods.tables.combined_sums import CombinedSum, Decided, whole_factors
from sdcgate.methods.tables.joint_boxes import JointBoxes
from sdcgate.methods.tables.joint_sums import Amount
from sdcgate.methods.tables.span import Combination, SpanBudgetExceeded

MOST = 20_000
"""Boxes of sums that are taken into the linear span."""
SUM_OF = "sum of "
"""With it begins the variable by which a box is the name of a sum, and not of a count."""


@dataclass(frozen=True, slots=True, eq=False)
class DecidedTable:
    """Sums about to leave of what variables decide: of counts, or weights of what is summed."""

    table: ReleasedTable = field(repr=False)
    decided: Decided

    def sums(self) -> Iterator[CombinedSum]:
        """What they tell of counts, or of the sums that are not weighted."""
        boxes = JointBoxes().grown(self.table.published(), ())
        return _sums(self.table.quantity, self.decided, boxes, dict(self.table.amounts()))

    def spanned(self) -> list[tuple[int, Combination]]:
        """Cells of which the sum leaves, with what that tells of boxes together, exactly."""
        leaving = np.flatnonzero(self.table.table.of_state(State.PUBLISHED)).tolist()
        quantity, boxes = self.table.quantity, self.table.boxes
        told = ((cell, _spanned(quantity, self.decided, boxes[cell])) for cell in leaving)
        return [(cell, parts) for cell, parts in told if parts]

    def taking_nothing(self) -> "DecidedTable":
        """The same with cells as withheld that are taken for known."""
        return replace(self, table=self.table.taking_nothing())


def in_play(
    decided: Callable[[str], Sequence[Decided]], quantities: Iterable[str], names: Set[str]
) -> dict[str, list[Decided]]:
    """Of some quantities, and of weights where any is weighted, by which variables in play they are decided.

    Args:
        decided: by which variables a quantity is.
        quantities: what has left, or is about to; counts are decided by nothing.
        names: the variables that are in play: those of all that left, and of what is about to.
    """
    those = [quantity for quantity in dict.fromkeys(quantities) if quantity != COUNTS]
    if any(quantity.startswith(WEIGHTED_PREFIX) for quantity in those):
        those.append(WEIGHTED_PREFIX)
    found = {quantity: [one for one in decided(quantity) if one.variables <= names] for quantity in those}
    return {quantity: ways for quantity, ways in found.items() if ways}


def told_of(quantity: str, decided: Mapping[str, Sequence[Decided]]) -> Mapping[str, Sequence[Decided]]:
    """The quantities whose sums tell of another's, with what everybody has or weighs in them.

    Of counts those that are decided; of a measure the same weighted, where weights are.
    """
    if quantity == COUNTS:
        return decided
    weights = decided.get(WEIGHTED_PREFIX, ())
    plain = weights and not quantity.startswith(WEIGHTED_PREFIX)
    return {f"{WEIGHTED_PREFIX}{quantity}": weights} if plain else {}


def beside_decided(
    counts: KnownQuantity,
    quantities: Mapping[str, KnownQuantity],
    decided: Mapping[str, Sequence[Decided]],
) -> KnownQuantity:
    """Counts that have left, with what sums that left tell of them, where variables decide what is summed.

    Args:
        counts: what has left of counts; or of a measure's sums, of which weighted ones tell.
        quantities: what has left of everything.
        decided: by what quantities are decided (`told_of`).
    """
    full, boxes = dict(counts.shapes.full), counts.boxes
    sure = counts.boxes if counts.sure is None else counts.sure
    certain = counts.sure is None
    for quantity, those in decided.items():
        known = quantities.get(quantity)
        if known is None or known.empty:
            continue
        certain = certain and known.sure is None
        for one in those:
            full |= one.full
            told = [*_sums(quantity, one, known.boxes, known.amounts)]
            surely = told if known.sure is None else _sums(quantity, one, known.sure, known.amounts)
            boxes, sure = boxes.combining(told), sure.combining(surely)
    if boxes is counts.boxes:
        return counts
    return replace(
        counts, boxes=boxes, sure=None if certain else sure, shapes=replace(counts.shapes, full=full)
    )


def spanning_decided(
    counts: KnownQuantity,
    quantities: Mapping[str, KnownQuantity],
    decided: Mapping[str, Sequence[Decided]],
    pulse: Callable[[], None],
) -> KnownQuantity:
    """Counts that have left, with such sums in their linear span, as far as there are no more than `MOST`.

    Where three weights meet in a cell, and the people of one are known, its sum tells of the other two.
    """
    found = list[Combination]()
    for quantity, those in decided.items():
        known = quantities.get(quantity)
        if known is not None and not known.empty:
            boxes = known.boxes.within(known.boxes.variables)
            found += [parts for one in those for box in boxes if (parts := _spanned(quantity, one, box))]
    if not found or sum(map(len, found)) > MOST:
        return counts
    span = counts.span.copy(pulse)
    try:
        span.know(
            {name: mask for those in decided.values() for one in those for name, mask in one.full.items()}
        )
        span.add_sums(found)
    except SpanBudgetExceeded:
        return counts
    # What is told is told: no later table can be refused for it.
    span.give_up_caught()
    return replace(counts, span=span)


def cell_of(box: Box) -> Box:
    """The box of the cell that tells a sum, or a count, by its name."""
    return tuple(pair for pair in box if not pair[0].startswith(SUM_OF))


def quantity_of(box: Box) -> str:
    """The quantity whose sum is known by a name; empty of a count."""
    names = (name.removeprefix(SUM_OF) for name, _ in box if name.startswith(SUM_OF))
    return next((name.split(" by ")[0] for name in names), "")


def _sums(
    quantity: str, decided: Decided, boxes: JointBoxes, amounts: Mapping[Box, Amount]
) -> Iterator[CombinedSum]:
    """What a quantity's sums of published boxes tell of counts."""
    of = f"{SUM_OF}{quantity} by {' and '.join(sorted(decided.variables))}"
    for box in boxes.within(boxes.variables):
        name, parts = tuple(sorted((*box, (of, 1)))), tuple(_inside(box, decided.parts))
        yield CombinedSum(name, parts, amounts[box].total, of=of)


def _spanned(quantity: str, decided: Decided, box: Box) -> Combination:
    """What the sum of a box tells of counts; nothing where that is known otherwise.

    The people of one weight, and of either of two that one variable decides, are cells of their own.
    """
    alone = len(decided.variables) == 1 and quantity.startswith(WEIGHTED_PREFIX)
    parts = whole_factors(tuple(_inside(box, decided.parts)))
    return parts if len({factor for _, factor in parts}) > (2 if alone else 1) else ()


def _inside(box: Box, parts: Iterable[tuple[Box, float]]) -> Iterator[tuple[Box, float]]:
    """What of a box lies in parts."""
    for part, value in parts:
        inside = intersection(box, part)
        if inside != NOBODY:
            yield inside, value
