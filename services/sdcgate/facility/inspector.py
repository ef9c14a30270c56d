"""Regions of the data judged by the rules of cells, as the differences of answers and their unions are.

Nothing of them need have been asked: the engine counts what the rules need to know of them.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from sdcgate.engine.queries import Region
from sdcgate.facility.disclosed_groups import DisclosedGroups
from sdcgate.methods.cells import Axis, BoolArray, Facts
from sdcgate.methods.rules import Finding, Rules
from sdcgate.methods.tables.modular import unhurried


@dataclass(frozen=True, slots=True)
class Inspector:
    """Judges regions of the data by the rules of cells: the engine counts, the risk service judges."""

    rules: Rules
    records_per_respondent: int
    """Most records of one unit or, where units belong to holdings, of one holding."""
    count: Callable[[Sequence[Region], Sequence[str]], Facts]
    judge: Callable[[Facts], Sequence[Finding]]
    pulse: Callable[[], None] = unhurried
    """Called again and again on the way; what it raises ends the work."""
    also: Callable[[Sequence[Region], Sequence[str]], BoolArray] | None = None
    """Says of the same regions which are unsafe for another reason."""
    attrition: Set[str] = frozenset()
    """Variables that vary within units, where units must not tell how few are in one cell only."""
    groups: DisclosedGroups | None = None
    """Judges regions by group disclosure."""

    def unsafe(self, regions: Sequence[Region], measures: Sequence[str]) -> BoolArray:
        """Which regions break a rule, shape (regions,); contributors are counted for these measures."""
        return self.unsafe_of_each([(regions, measures)])[0]

    def unsafe_of_each(self, asked: Sequence[tuple[Sequence[Region], Sequence[str]]]) -> list[BoolArray]:
        """As `unsafe` of each by itself; the same regions are counted once, for the measures of all."""
        together: dict[tuple[Region, ...], dict[str, None]] = {}
        for regions, measures in asked:
            together.setdefault(tuple(regions), {}).update(dict.fromkeys(measures))
        counted: dict[tuple[Region, ...], Facts] = {}
        for every, names in together.items():
            self.pulse()
            if every:
                counted[every] = self.count(every, tuple(names))
        return [
            self._judged(regions, measures, counted[tuple(regions)])
            if regions
            else np.zeros(0, dtype=np.bool_)
            for regions, measures in asked
        ]

    def _judged(self, regions: Sequence[Region], measures: Sequence[str], counted: Facts) -> BoolArray:
        """Which regions break a rule, shape (regions,), by facts of these measures and perhaps others."""
        unsafe = np.zeros(len(regions), dtype=np.bool_)
        self.pulse()
        by_name = {measure.name: measure for measure in counted.measures}
        facts = replace(counted, measures=tuple(by_name[name] for name in measures))
        for finding in self.judge(facts):
            unsafe[list(finding.cells)] = True
        if self.groups is not None:
            unsafe |= self.groups.unsafe(regions)
        if self.also is not None:
            unsafe |= self.also(regions, measures)
        return unsafe


def region_axis(number: int) -> tuple[Axis, ...]:
    """An axis on which regions stand side by side as cells, so that the rules of cells judge them."""
    return (Axis("difference", "difference", tuple(map(str, range(number))), (-1,) * number),)
