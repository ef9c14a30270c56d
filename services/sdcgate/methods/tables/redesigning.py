"""Coarser tables of one's own that pass: the search for designs, judged by the rules on their true cells."""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.rules import ReasonCode, Rules
from sdcgate.methods.tables.assessment import Assessment, assess_table
from sdcgate.methods.tables.redesign import (
    CountEntropy,
    Design,
    Ladder,
    Partition,
    Redesign,
    coarsens,
    collapsed,
    search_designs,
)
from sdcgate.methods.tables.redesigned_cells import Finest, designed, key_of, ladder
from sdcgate.methods.tables.solver import Deadline

SHARE_FOR_JOINING = 0.7
"""Share of the time in which categories are joined one by one, before whole levels are tried."""


@dataclass(frozen=True, slots=True)
class Redesigning:
    """What a search found, and rules that cannot be judged: then there is no design."""

    search: Redesign
    unchecked: tuple[ReasonCode, ...] = ()
    absent: tuple[str, ...] = field(default=(), repr=False)
    broken: tuple[ReasonCode, ...] = ()
    """Rules that even the coarsest table breaks, where no design passes and the search has seen them all."""


def redesign_table(
    finest: Finest,
    rules: Rules,
    wanted: int,
    seconds: float,
    mergeable: Collection[str] = (),
    kept: Collection[str] = (),
) -> Redesigning:
    """The coarser tables that pass all rules, cells and totals, and lose least of the units' entropy.

    Nothing of them has to be withheld, so that there is nothing to audit. Categories of `mergeable` variables
    are joined one by one, those of others by whole levels; `kept` variables are not dropped. Where joining
    one by one comes to no end in time, whole levels are tried for what is still wanted.
    """
    counts = _counts(finest)
    judged = _assessed(finest, tuple(tuple(range(size)) for size in finest.shape), rules)
    if judged.unchecked:
        return Redesigning(Redesign((), 0, finished=True), judged.unchecked, judged.absent)

    def passes(design: Design) -> bool:
        assessment = _assessed(finest, design, rules)
        return not assessment.findings and not assessment.unchecked

    def hopeless(design: Design) -> bool:
        cells = collapsed(counts, design)
        few = rules.minimum_units is not None and (cells > 0) & (cells < rules.minimum_units.units)
        return bool(np.any(few))

    def search(joining: Collection[str], left: float) -> Redesign:
        ladders = _ladders(finest, joining, kept)
        deadline = Deadline(left)
        return search_designs(
            ladders, CountEntropy(counts), passes, wanted, hopeless, over=lambda: deadline.over
        )

    found = search(mergeable, seconds * SHARE_FOR_JOINING if mergeable else seconds)
    if mergeable and not found.finished:
        found = _together(found, search((), seconds * (1 - SHARE_FOR_JOINING)), wanted)
    if found.designs or not found.finished:
        return Redesigning(found)
    coarsest = tuple(_coarsest(one) for one in _ladders(finest, mergeable, kept))
    findings = _assessed(finest, coarsest, rules).findings
    return Redesigning(found, broken=tuple(sorted({one.rule for one in findings})))


def _coarsest(ladder: Ladder) -> Partition:
    """The last step of a dimension: it dropped, or where it is kept the level of fewest categories."""
    return ladder.dropped if ladder.droppable else min(ladder.levels, key=max)


def _together(joined: Redesign, whole: Redesign, wanted: int) -> Redesign:
    """What two searches found, without coarsenings of others."""
    designs = sorted({*joined.designs, *whole.designs}, key=lambda one: one.loss)
    best = [
        one
        for one in designs
        if not any(other != one and coarsens(one.design, other.design) for other in designs)
    ]
    return Redesign(tuple(best[:wanted]), joined.judged + whole.judged, finished=False)


def _counts(finest: Finest) -> FloatArray:
    """Units of the finest cells, records where units are not known; an axis a dimension."""
    facts = finest.facts
    return (facts.units if facts.units.size else facts.records).astype(np.float64).reshape(finest.shape)


def _ladders(finest: Finest, mergeable: Collection[str], kept: Collection[str]) -> list[Ladder]:
    return [
        ladder(axis, paths, axis.variable in mergeable, axis.variable not in kept)
        for axis, paths in zip(finest.axes, finest.paths, strict=True)
    ]


def _assessed(finest: Finest, design: Design, rules: Rules) -> Assessment:
    """The rules on a design's cells and totals; the population is all that is in the table."""
    axes, facts = designed(finest, design)
    base = int(facts.units[-1]) if facts.units.size else None
    return assess_table(axes, facts, rules, base, key_of(axes, facts))
