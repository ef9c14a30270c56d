"""Which empty cells of a table tell, with those that left, that nobody is in a withheld box.

Programs of the joint audit find that within the variables that they look at. A box may be covered by empty
boxes of many others: whoever sees that nobody without schooling is in any town of a plan, by one table or by
another for each, knows that there is none in the plan.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from sdcgate.facility.joint_look import JointlyUnproved, covering
from sdcgate.facility.leaving import Leaving
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.boxes import NOBODY, Box
from sdcgate.methods.tables.empty_boxes import BoxIndex, CoverUndecided


def emptying(leaving: Leaving) -> BoolArray:
    """Empty cells of new tables without which none of all withheld boxes is covered, shape (cells,).

    Boxes that what left before covers are not looked at: they were told.

    Raises:
        JointlyUnproved: it takes too much work to tell.
    """
    records = leaving.tables[0].table.records
    kept_back = np.zeros(len(records), dtype=np.bool_)
    told = _told(leaving)
    hidden = _hidden(leaving, told) if told else []
    if not hidden:
        return kept_back
    cells = {box: cell for new in leaving.tables for cell, box in enumerate(new.boxes)}
    before = leaving.known.nobody.told
    index = before.grown(told)
    fresh = index.everything & ~before.everything
    try:
        hidden = [box for box in hidden if not before.covering(box, leaving.full)]
        left = index.everything
        while blamed := _blamed(index, hidden, leaving.full, left, fresh):
            chosen = covering([{cells[box] for box in boxes} for boxes in blamed], records)
            kept_back[chosen] = True
            left &= ~index.flags({box for box in told if cells[box] in chosen})
    except CoverUndecided as error:
        raise JointlyUnproved from error
    return kept_back


def _told(leaving: Leaving) -> list[Box]:
    """The boxes of the tables of which it is told first that nobody is in them."""
    news = (leaving.told_first | leaving.units_first) - {NOBODY}
    return [box for new in leaving.tables for box in new.telling_of_nobody() if box in news]


def _hidden(leaving: Leaving, told: Sequence[Box]) -> list[Box]:
    """Withheld boxes that nobody is in, and that some boxes meet."""
    index = leaving.known.nobody.withheld.grown(box for new in leaving.tables for box in new.hiding_nobody())
    meeting = 0
    for box in told:
        meeting |= index.meeting(box)
    found = index.chosen(meeting)
    return [box for box in found if leaving.boxes.withheld(box) and not leaving.boxes.told(box)]


def _blamed(
    index: BoxIndex, hidden: Sequence[Box], full: Mapping[str, int], left: int, fresh: int
) -> list[list[Box]]:
    """For each withheld box that empty ones cover the fresh ones among these."""
    found = (index.covering(box, full, left, rather=left & ~fresh) for box in hidden)
    return [index.chosen(boxes & fresh) for boxes in found if boxes]
