"""Complementary (secondary) suppression: which cells to withhold beside the unsafe ones, and the proof.

For each cell that is not yet protected the cheapest move of the table is sought that changes it by the
required width and leaves all that is known as it is; the cells that it moves are withheld. This is the
linear relaxation of Kelly, Golden and Assad (Networks 22, 1992), with the costs of cells already withheld
set to zero, as Fischetti and Salazar use it to begin with (Management Science 47, 2001). The audit then
says what real numbers overlooked (integers, units, sums), more is withheld where it does, and at last what
turns out to be superfluous is given back.
"""

from dataclasses import replace

import numpy as np

from sdcgate.methods.cells import BoolArray
from sdcgate.methods.tables.audit import verdict
from sdcgate.methods.tables.cheaper import cheaper
from sdcgate.methods.tables.pattern import Pattern
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.proved_pattern import LEAST_EFFORT, Protection, given_back, grown, protection
from sdcgate.methods.tables.solver import INFINITY, Deadline
from sdcgate.methods.tables.widest import Widest, widest
from sdcgate.methods.tables.witnesses import (
    Witnesses,
    agreeing_tables,
    no_tables,
    no_witnesses,
)

SECOND_EFFORT = 95.0
"""What took more effort is grown in one order only, the rest in two, and the cheaper is taken."""
SEARCH_EFFORT = 100.0
"""Up to this effort patterns without one of the cells beside are tried as well."""
SPARE_SHARE, LEAST_SHARE = 0.5, 0.05
"""Effort, as shares of the milliseconds allowed, up to which a cheaper pattern is looked for, and that is
spent on giving back cells of the widest one: less than there is time for, so that a busy machine ends it."""
ANSWERING, ANSWERING_SHARE = 0.03, 0.1
"""Seconds, and at most share of the time, that are kept for choosing and verifying witnesses."""


def protect(
    problem: Problem,
    unsafe: BoolArray,
    time_limit: float,
    known_witnesses: Witnesses | None = None,
    thorough: bool = False,
    left: float = INFINITY,
    effort: float = 0.0,
) -> Protection:
    """Find a pattern that withholds the unsafe cells, shape (cells,), and prove it in `time_limit` seconds.

    Cells that are known, and empty cells unless zeros may be withheld, are never withheld beside the unsafe
    ones. `known_witnesses` are of a pattern that these cells go beyond: what they prove need not be proved
    again; those that do not agree are left out. Only a pattern whose proof is PROVED may leave; REFUTED says
    that there is none for these cells.

    What is found depends on the time limit, and not on how fast the machine is: a search that the clock ends,
    of which no more than `left` seconds may be left, is UNPROVED, and not `in_time`. So much `effort`, about
    milliseconds, is spent on a cheaper pattern once one is proved. But `thorough` spends all of the time on
    withholding less, if it takes that long, and the best pattern found by then counts.

    Raises ValueError if `unsafe` does not have one flag a cell.
    """
    seconds = min(time_limit, left)
    seconds -= min(ANSWERING, ANSWERING_SHARE * seconds)
    deadline = Deadline(seconds, SPARE_SHARE * 1000 * time_limit)
    found = best_in_time(problem, unsafe, deadline, known_witnesses, thorough)
    found = cheaper(problem, unsafe.astype(np.bool_), found, deadline, INFINITY if thorough else effort)
    if not deadline.missed or (thorough and found.proof is not Proof.UNPROVED):
        return found
    return replace(
        found,
        proof=Proof.UNPROVED,
        witnesses=no_witnesses(problem),
        unprotected=found.withheld,
        in_time=False,
    )


def best_in_time(
    problem: Problem,
    unsafe: BoolArray,
    deadline: Deadline,
    known_witnesses: Witnesses | None = None,
    thorough: bool = False,
) -> Protection:
    """As `protect`, but the best pattern found before the deadline, wherever that ended the search."""
    if np.shape(unsafe) != (len(problem.facts),):
        raise ValueError(f"unsafe: {np.shape(unsafe)} flags for {len(problem.facts)} cells")
    pattern = Pattern(problem, unsafe.astype(np.bool_))
    tables = no_tables(problem)
    if known_witnesses is not None:
        tables = agreeing_tables(problem, pattern.unsafe, known_witnesses)
    tables = pattern.grow(tables, deadline)
    if pattern.stuck:
        found = widest(problem, pattern.unsafe, tables, deadline, pattern.stuck)
        if found.impossible:
            return _not_protected(pattern, found)
    best = grown(pattern, deadline, tables, thorough)
    if best.proof is Proof.PROVED and (
        deadline.effort > min(SECOND_EFFORT, deadline.spare / 2) or len(tables)
    ):
        return best
    best = min(best, grown(pattern.afresh(largest_first=True), deadline), key=_worth)
    if best.proof is not Proof.PROVED:
        return _from_above(pattern.afresh(), best, deadline)
    tried: BoolArray = pattern.unsafe
    while deadline.effort < min(SEARCH_EFFORT, deadline.spare) and not deadline.over:
        beside = np.flatnonzero(best.withheld & ~tried)
        if len(beside) == 0:
            break
        shown = beside[np.argmax(problem.prices[beside])]
        tried = tried | (np.arange(len(tried)) == shown)
        best = min(best, grown(pattern.afresh(shown=int(shown)), deadline), key=_worth)
    return best


def _not_protected(pattern: Pattern, found: Widest) -> Protection:
    return protection(pattern.problem, pattern.unsafe, found.withheld, verdict(found.search))


def _from_above(pattern: Pattern, best: Protection, deadline: Deadline) -> Protection:
    """Withhold all that can be, and give back what the proof can do without; or show that there is none."""
    found = widest(pattern.problem, pattern.unsafe, no_tables(pattern.problem), deadline)
    if found.impossible:
        return _not_protected(pattern, found)
    if not found.proved:
        return replace(best, proof=Proof.UNPROVED)
    pattern.withheld = found.withheld
    most = min(LEAST_EFFORT, LEAST_SHARE / SPARE_SHARE * deadline.spare)
    given, search = given_back(pattern, found.search, deadline.effort + most, deadline)
    return protection(pattern.problem, pattern.unsafe, given.withheld, verdict(search))


def _worth(found: Protection) -> tuple[bool, float]:
    """Proved ones before others, then the cheaper."""
    return found.proof is not Proof.PROVED, found.price
