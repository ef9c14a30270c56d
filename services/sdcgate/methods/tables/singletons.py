"""Respondents who are alone in a withheld cell: each knows what is in it, and so more than everybody does.

Where two of them have the only two withheld cells of a row, each knows his own and works out the other's,
however wide both are for the public: what tau-ARGUS calls singletons (its options SingleSingle and
SingleMultiple). So what one of them does not know must be as wide for him as is required for all: the pattern
is audited once more with his cells told.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.tables.audit import Audit, audited
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.proved_pattern import Protection, protection, repaired
from sdcgate.methods.tables.published_figures import told_to
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.suppression import best_in_time
from sdcgate.methods.tables.witnesses import agreeing, agreeing_tables, no_witnesses, proved_cells

Search = Callable[[Problem, BoolArray], Protection]


@dataclass(frozen=True, slots=True, eq=False)
class Singleton:
    """Hidden cells of one respondent, and withheld ones of others that he can bound too narrowly, or may."""

    own: IntArray
    unprotected: IntArray = field(repr=False)
    refuted: bool
    """Whether it is shown that he can."""


def single_respondents(problem: Problem) -> list[IntArray]:
    """Cells of one unit, those of the same one together: a total of one unit has the unit of its part."""
    alone = np.flatnonzero(problem.facts.units == 1)
    of = np.arange(len(problem.facts))
    relations = problem.relations
    parents = np.repeat(relations.parents, np.diff(relations.offsets))
    both = np.isin(parents, alone) & np.isin(relations.children, alone)
    pairs = np.stack([parents[both], relations.children[both]])
    while pairs.size and not np.array_equal(of[pairs[0]], of[pairs[1]]):
        least = np.minimum(of[pairs[0]], of[pairs[1]])
        np.minimum.at(of, pairs[0], least)
        np.minimum.at(of, pairs[1], least)
    return [alone[of[alone] == one] for one in np.unique(of[alone])]


def singletons(problem: Problem, withheld: BoolArray, found: Audit, deadline: Deadline) -> list[Singleton]:
    """The respondents who know too much of a pattern, shape (cells,), of which an audit `found` witnesses.

    Those of whom time did not tell are among them. With no withheld cell of others there is nothing to know.
    """
    tables = agreeing_tables(problem, withheld, found.witnesses)
    knowing = []
    for own in _with_withheld(problem, withheld):
        others = _without(withheld, own)
        # What the public's witnesses prove with his cells as they are needs no search.
        his = _knowing(problem, own)
        few = tables.chosen(agreeing(his, others, tables))
        if not (others & ~proved_cells(his, others, few)).any():
            continue
        of_him = audited(his, others, deadline)
        if of_him.proof is not Proof.PROVED:
            refuted = of_him.proof is Proof.REFUTED
            knowing.append(Singleton(own, np.flatnonzero(of_him.unprotected), refuted))
    return knowing


def with_singletons(found: Audit, knowing: Sequence[Singleton]) -> Audit:
    """What an audit found of a pattern that has to hold against these respondents, too."""
    proof, unprotected = found.proof, found.unprotected.copy()
    for one in knowing:
        unprotected[one.unprotected] = True
        proof = Proof.REFUTED if one.refuted or proof is Proof.REFUTED else Proof.UNPROVED
    return replace(found, proof=proof, unprotected=unprotected)


def protect_from_singletons(
    problem: Problem, unsafe: BoolArray, deadline: Deadline, search: Search
) -> Protection:
    """A pattern by `search` that withholds as much more as it takes against respondents who are alone.

    Each of them is taken in turn: his cells are told, and what he can bound is widened. UNPROVED where that
    comes to no end, or finds nothing.
    """
    best = search(problem, unsafe)
    while best.proof is Proof.PROVED:
        withheld = best.withheld
        found = Audit(best.proof, best.witnesses, best.unprotected)
        knowing = singletons(problem, withheld, found, deadline)
        if not knowing:
            return best
        for one in knowing:
            to_him = _told(problem, one.own)
            more = best_in_time(to_him, _without(withheld, one.own), deadline)
            if more.proof is not Proof.PROVED:
                return _unproved(problem, best, one, deadline)
            withheld = withheld | more.withheld
        again = repaired(problem, withheld, withheld, deadline)
        own = protection(
            problem, unsafe, again.withheld, Audit(again.proof, again.witnesses, again.unprotected)
        )
        if np.array_equal(own.withheld, best.withheld):
            return _unproved(problem, best, knowing[0], deadline)
        best = replace(own, least_price=best.least_price, in_time=not deadline.missed)
    return best


def _unproved(problem: Problem, best: Protection, one: Singleton, deadline: Deadline) -> Protection:
    """The pattern without its proof: it does not hold against a respondent."""
    unprotected = np.zeros_like(best.withheld)
    unprotected[one.unprotected] = True
    return replace(
        best,
        proof=Proof.UNPROVED,
        witnesses=no_witnesses(problem),
        unprotected=unprotected,
        in_time=not deadline.missed,
    )


def _with_withheld(problem: Problem, withheld: BoolArray) -> list[IntArray]:
    """The hidden cells of each respondent who is alone in a withheld or rounded one, if others are withheld.

    In which part of it he is he knows also where no part was asked for.
    """
    told_of = (withheld | problem.blurred.any(axis=0)) & ~problem.absent
    hidden = told_of | problem.absent
    own = [cells[hidden[cells]] for cells in single_respondents(problem) if told_of[cells].any()]
    return [cells for cells in own if _without(withheld, cells).any()]


def _knowing(problem: Problem, cells: IntArray) -> Problem:
    """The problem of somebody to whom nothing of these cells is rounded, nor absent."""
    absent = cells[problem.absent[cells]]
    if len(absent):
        problem = _told(problem, absent)
    if not problem.blurred[:, cells].any():
        return problem
    known = np.zeros_like(problem.blurred)
    known[:, cells] = True
    return replace(problem, published=told_to(problem.published, known))


def _without(withheld: BoolArray, cells: IntArray) -> BoolArray:
    others = withheld.copy()
    others[cells] = False
    return others


def _told(problem: Problem, cells: IntArray) -> Problem:
    """The problem with some cells known, every quantity of them."""
    known = problem.known.copy()
    known[cells] = True
    measures = problem.known_measures
    if measures is not None:
        measures = measures.copy()
        measures[:, cells] = True
    return replace(problem, known=known, known_measures=measures)
