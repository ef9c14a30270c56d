"""Group disclosure of who changed: that all who came to a town are ill, as none more are well than before.

Enough people may have come. Whoever knows that somebody did learns what all of them have, or none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from sdcgate.engine.changes import Changes
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import Region
from sdcgate.facility.disclosed_groups import Group, SensitiveCodes, sensitive_codes, unsafe_regions, within
from sdcgate.methods.cells import BoolArray
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.boxes import Box
from sdcgate.methods.tables.sensitivity import CLOSE

Expanded = Callable[[Sequence[Region]], list[Region]]
"""Regions over all finest codes, as changes are looked for."""


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
        told = [
            any(name in self.codes and self.codes[name].restricted(mask) for name, mask in box)
            for box in boxes
        ]
        return np.array(told, dtype=np.bool_)

    def unsafe(self, changes: Changes, regions: Sequence[Region], expanded: Expanded) -> BoolArray:
        """Regions of a category that tell a class of (nearly) all who came or went, shape (regions,)."""
        return unsafe_regions(self.codes, regions, partial(self._disclosed, changes, expanded))

    def _disclosed(self, changes: Changes, expanded: Expanded, groups: Sequence[Group]) -> BoolArray:
        """Groups in which so many more, or fewer, are in the class as came, or went, or nearly so many.

        Who changed the class and stayed counts as though his neighbours had: nobody else can tell them apart.
        """
        asked = np.array([group.asked for group in groups], dtype=np.bool_)
        valid = [self.codes[group.variable].valid for group in groups]
        counted = [within(g, g.mask if g.asked else v & ~g.mask) for g, v in zip(groups, valid, strict=True)]
        wholes = [within(group, mask) for group, mask in zip(groups, valid, strict=True)]
        came, went = changes.came_and_went(changes.inside(expanded([*counted, *wholes])))
        part, every = np.split(came - went, 2)
        more = np.where(asked, part, every - part)
        told = np.zeros(len(groups), dtype=np.bool_)
        for moved, by in ((came, more), (went, -more)):
            who = moved[len(groups) :]
            told |= (who > 0) & (by >= self.share * who * (1 - CLOSE))
        return told
