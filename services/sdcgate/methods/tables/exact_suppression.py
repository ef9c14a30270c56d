"""The cheapest pattern of withheld cells, or how far from it the cheapest one found can be.

Branch and cut as Fischetti and Salazar have it (Management Science 47, 2001), by rounds: the cheapest pattern
that obeys the inequalities found so far costs no more than the cheapest one that protects; where the intruder
can undo it, his program's duals are the next inequalities. They come from shares of withheld cells first and
then from whole patterns. What passes them is audited, integers and all. If it is proved, nothing cheaper can
be; if it is refuted, some other cell has to be withheld, which is an inequality as well.
"""

from dataclasses import replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.audit import Audit, Search, audit
from sdcgate.methods.tables.covering_program import Cheapest, CoveringProgram
from sdcgate.methods.tables.intruder import SUMS
from sdcgate.methods.tables.pattern import could_be_withheld
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.protection_cuts import Attacker, Cut, attackers
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.suppression import Protection, best_in_time, protection, repaired
from sdcgate.methods.tables.witnesses import Witnesses, no_tables, required

HEURISTIC_SHARE = 0.2
"""Share of the time that the first pattern may take."""
STALE, PROGRESS = 4, 1e-3
"""Rounds of shares of withheld cells, and the share by which these must raise the bound together."""
ROUND_SHARE = 0.25
"""Share of the time left that one program of whole patterns may take."""
MENDING_SHARE, MENDED_SHARE = 0.7, 0.3
"""Share of the time left that one pattern may take to be mended, and of the time spent all of them."""
LIFTED_SHARE = 0.02
"""Share of the time left that is spent on making one refutation say more."""
EXACTNESS = 3e-6
"""Share of a price by which it may lie above the bound and is called the least one all the same."""


def protect_exactly(
    problem: Problem, unsafe: BoolArray, time_limit: float, known_witnesses: Witnesses | None = None
) -> Protection:
    """Find the cheapest pattern that can be proved, or the best one found and a bound of all prices.

    As `best_in_time`, which finds the first pattern, in `time_limit` seconds all together: how far it comes
    depends on the machine. The result is optimal where its `gap` is 0. Prices are bounded for patterns that
    `audit` can prove. Raises ValueError if `unsafe` does not have one flag a cell.
    """
    deadline = Deadline(time_limit)
    first = Deadline(HEURISTIC_SHARE * time_limit)
    found = best_in_time(problem, unsafe, first, known_witnesses)
    unsafe = unsafe.astype(np.bool_)
    if problem.unbounded or np.any(unsafe & problem.wholly_known):
        return found
    search = _Bounding(problem, unsafe, found, deadline)
    search.run()
    best = search.best
    if best.proof is Proof.UNPROVED:
        return replace(best, in_time=not (first.missed or deadline.missed))
    if best.proof is not Proof.PROVED:
        return best
    least = best.price if search.least >= best.price * (1 - EXACTNESS) else search.least
    return replace(best, least_price=least)


class _Bounding:
    """A bound of all prices from below that rises, and the cheapest proved pattern, until they meet."""

    def __init__(self, problem: Problem, unsafe: BoolArray, found: Protection, deadline: Deadline) -> None:
        self.problem, self.unsafe = problem, unsafe
        self.best, self.deadline = found, deadline
        self.least = 0.0
        self._time, self._mending = deadline.left(), 0.0
        self._candidates = could_be_withheld(problem) & ~unsafe & ~problem.wholly_known
        self._attackers: list[Attacker] = attackers(problem, unsafe, self._candidates)
        self._program = CoveringProgram(
            problem.prices, np.flatnonzero(self._candidates), unsafe.astype(np.float64)
        )
        prices = problem.prices[self._candidates]
        self._whole_prices = bool(np.all(prices == np.rint(prices)))

    def run(self) -> None:
        """Raise the bound and look for cheaper patterns, until they meet or time is over."""
        self._by_shares()
        share = ROUND_SHARE
        while not self._settled():
            cheapest = self._program.pattern(self._known(), self._some(share))
            self._raise(cheapest)
            if cheapest.shares is None or self._settled():
                return
            withheld = cheapest.shares > 0.5
            if self.best.proof is Proof.PROVED and np.array_equal(withheld, self.best.withheld):
                # The program needs more time than it was given to find a cheaper one, or that there is none.
                share = 1.0
                continue
            self._mend(withheld)
            cuts = [cut for one in self._attackers for cut in one.cuts(withheld, self.deadline)]
            if not cuts and not self.deadline.over:
                cuts = self._audited(withheld)
            if not cuts:
                return
            self._program.add(cuts)

    def _settled(self) -> bool:
        """Whether nothing is left to find out, or no time to do so."""
        proved = self.best.proof is Proof.PROVED
        return self.deadline.over or (proved and self.least >= self.best.price * (1 - EXACTNESS))

    def _by_shares(self) -> None:
        """Raise the bound by shares of withheld cells, as long as that is worth while."""
        bounds: list[float] = []
        deadline = self._some(ROUND_SHARE)
        while not self._settled() and not deadline.over:
            cheapest = self._program.relaxed(deadline)
            self._raise(cheapest)
            if cheapest.shares is None:
                return
            bounds.append(cheapest.least)
            if len(bounds) > STALE and bounds[-1] <= (1 + PROGRESS) * bounds[-1 - STALE]:
                return
            shares = cheapest.shares
            cuts = [cut for one in self._attackers for cut in one.fractional_cuts(shares, deadline)]
            if not cuts:
                return
            self._program.add(cuts)

    def _raise(self, cheapest: Cheapest) -> None:
        """Enter what all patterns cost at least."""
        least = cheapest.least
        if self._whole_prices and np.isfinite(least):
            least = float(np.ceil(least))
        self.least = max(self.least, least)

    def _audited(self, withheld: BoolArray) -> list[Cut]:
        """What the audit of a pattern says against it; nothing where it ends the search."""
        found = audit(self.problem, withheld, self.deadline.left())
        self._offer(protection(self.problem, self.unsafe, withheld, found))
        if found.proof is Proof.PROVED:
            return []
        return self._refutations(withheld, found)

    def _mend(self, withheld: BoolArray) -> None:
        """Withhold more than a pattern does until it is proved, if not too much time went there already."""
        left = self.deadline.left()
        if self._mending > MENDED_SHARE * (self._time - left):
            return
        self._offer(repaired(self.problem, self.unsafe, withheld, self._some(MENDING_SHARE)))
        self._mending += left - self.deadline.left()

    def _offer(self, found: Protection) -> None:
        """Take a pattern if it is proved and the cheapest so far."""
        if found.proof is Proof.PROVED and (
            self.best.proof is not Proof.PROVED or found.price < self.best.price
        ):
            self.best = found

    def _refutations(self, withheld: BoolArray, found: Audit) -> list[Cut]:
        """For each cell that is too narrow: it is published, or something else is withheld as well."""
        sizes = [np.abs(measure.sums) for measure in self.problem.facts.measures]
        widths = required(self.problem, withheld).widths
        cuts = []
        for leak in found.leaks:
            if leak.quantity >= SUMS:
                own = self.problem.sum_width * sizes[leak.quantity - SUMS][leak.cell]
                if widths[leak.quantity, leak.cell] > own:
                    # What is required here depends on what else is withheld.
                    continue
            wider = self._still_narrow(withheld, leak.quantity, leak.cell)
            cells = np.flatnonzero(self._candidates & ~wider)
            cuts.append(Cut(leak.cell, cells, np.ones(len(cells))))
        return cuts

    def _still_narrow(self, withheld: BoolArray, quantity: int, cell: int) -> BoolArray:
        """A pattern beyond this one, by cheap cells, in which a quantity of a cell still is too narrow."""
        prices = np.where(self._candidates & ~withheld, self.problem.prices, np.inf)
        others = np.argsort(prices, kind="stable")[: int(np.isfinite(prices).sum())]
        begun, more, deadline = 0, max(1, len(others) // 2), self._some(LIFTED_SHARE)
        wider = withheld.copy()
        while more and begun < len(others) and not deadline.over:
            tried = wider.copy()
            tried[others[begun : begun + more]] = True
            search = Search(self.problem, tried, no_tables(self.problem))
            search.settle(quantity, cell, deadline)
            if search.refuted[cell]:
                begun, wider = begun + more, tried
            elif more == 1:
                begun += 1
            else:
                more //= 2
        return wider

    def _known(self) -> FloatArray | None:
        """The cheapest pattern so far, for the solver to begin with."""
        if self.best.proof is not Proof.PROVED:
            return None
        return self.best.withheld.astype(np.float64)

    def _some(self, share: float) -> Deadline:
        """A deadline after a share of the time that is left."""
        return Deadline(share * self.deadline.left())
