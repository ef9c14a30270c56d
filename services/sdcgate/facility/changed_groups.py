"""Group disclosure of who changed: that all who came to a town are ill, as none more are well than before.

Enough people may have come. Whoever knows that somebody did learns what all of them have, or none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Region
from sdcgate.facility.disclosed_groups import (
    Group,
    SensitiveCodes,
    in_class,
    restricts,
    sensitive_codes,
    told_and_whole,
    unsafe_regions,
)
from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.sensitivity import CLOSE

Moved = Callable[[Sequence[Region]], tuple[IntArray, IntArray]]
"""How many units came to regions, and how many went from them, shape (regions,) each."""


@dataclass(frozen=True, slots=True)
class ChangedGroups:
    """Judges groups of which it is known who came or went, by the share of these in a sensitive category."""

    share: float
    codes: Mapping[str, SensitiveCodes] = field(repr=False)
    """Of each sensitive variable."""

    @classmethod
    def under(cls, rules: Rules, dataset: Dataset) -> "ChangedGroups | None":
        """As rules ask for; None where they do not, or nothing is sensitive."""
        rule = rules.group_disclosure
        codes = {} if rule is None else sensitive_codes(dataset)
        return cls(rule.share, codes) if rule is not None and codes else None

    def restrict(self, boxes: Sequence[Box]) -> BoolArray:
        """Boxes that tell something of a sensitive variable, shape (boxes,)."""
        return np.array([restricts(self.codes, box) for box in boxes], dtype=np.bool_)

    def unsafe(self, regions: Sequence[Region], moved: Moved) -> BoolArray:
        """Regions of a category that tell a class of (nearly) all who came or went, shape (regions,)."""
        return unsafe_regions(self.codes, regions, partial(self._disclosed, moved))

    def _disclosed(self, moved: Moved, groups: Sequence[Group]) -> BoolArray:
        """Groups in which so many more, or fewer, are in the class as came, or went, or nearly so many.

        Who changed the class and stayed counts as though his neighbours had: nobody else can tell them apart.
        """
        came, went = moved(told_and_whole(self.codes, groups))
        more = in_class(groups, came - went)
        told = np.zeros(len(groups), dtype=np.bool_)
        for either, by in ((came, more), (went, -more)):
            who = either[len(groups) :]
            told |= (who > 0) & (by >= self.share * who * (1 - CLOSE))
        return told
