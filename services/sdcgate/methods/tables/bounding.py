"""A bound of what all patterns of withheld cells cost, and cheaper patterns, until they meet.

Branch and cut as Fischetti and Salazar have it (Management Science 47, 2001), by rounds: the cheapest pattern
that obeys the inequalities found so far costs no more than the cheapest one that protects; where the intruder
can undo it, his program's duals are the next inequalities. They come from shares of withheld cells first and
then from whole patterns. What passes them is audited, integers and all. If it is proved, nothing cheaper can
be; if it is refuted, some other cell has to be withheld, which is an inequality as well.
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.audit import Audit, audited
from sdcgate.methods.tables.covering_program import Cheapest, CoveringProgram
from sdcgate.methods.tables.pattern import could_be_withheld
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.protection_cuts import Attacker, Cut, attackers
from sdcgate.methods.tables.proved_pattern import Protection, protection, repaired
from sdcgate.methods.tables.quantities import SUMS
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.settling import settle
from sdcgate.methods.tables.solver import INFINITY, Deadline
from sdcgate.methods.tables.witnesses import no_tables, required

STALE, PROGRESS = 4, 1e-3
"""Rounds of shares of withheld cells, and the share by which these must raise the bound together."""
FEW_CUTS = 3
"""So few inequalities of differences are not worth a round by themselves."""
NETWORK_SHARE, SHARES_SHARE, GUIDED_SHARE, ROUND_SHARE = 0.6, 0.4, 0.9, 0.25
"""Shares of what is left (time, or effort where that is limited) that shares of withheld cells may take, in
tables of two dimensions and in others, a pattern that follows them, and one program of whole patterns."""
LEAST_EFFORT = 40.0
"""With less effort left nothing is begun."""
UNDECIDED, UNDECIDED_DEEP = 120, 40
"""Where effort is limited, whole patterns are not sought from more shares that are none of 0 and 1, in two
dimensions and in more: a program of that many may take longer than all the rest."""
GUIDED_LEAST = 0.1
"""What a wholly withheld share leaves of a cell's price where a pattern follows the shares."""
MENDING_SHARE, MENDED_SHARE = 0.7, 0.5
"""Share of what is left that one pattern may take to be mended, and of what was spent all of them."""
NEARLY = 0.1
"""Where effort is limited, only patterns are mended that break few inequalities: a share of their cells."""
LIFTED_SHARE = 0.02
"""Share of what is left that is spent on making one refutation say more."""
EXACTNESS = 3e-6
"""Share of a price by which it may lie above the bound and is called the least one all the same."""
WHOLE = 1e-6


class Bounding:
    """A bound of all prices from below that rises, and the cheapest proved pattern, until they meet."""

    def __init__(self, problem: Problem, unsafe: BoolArray, found: Protection, deadline: Deadline) -> None:
        self.problem, self.unsafe = problem, unsafe
        self.best, self.deadline = found, deadline
        self.least = 0.0
        self._time, self._mending = deadline.left(), 0.0
        self._candidates = could_be_withheld(problem) & ~unsafe & ~problem.wholly_known
        self._attackers: list[Attacker] = attackers(problem, unsafe, self._candidates)
        self._networks = all(one.network for one in self._attackers)
        self._program = CoveringProgram(
            problem.prices, np.flatnonzero(self._candidates), unsafe.astype(np.float64)
        )
        prices = problem.prices[self._candidates]
        self._whole_prices = bool(np.all(prices == np.rint(prices)))

    def run(self) -> None:
        """Raise the bound and look for cheaper patterns, until they meet or time is over."""
        shares, settled = self._by_shares()
        while shares is not None and not self._settled() and self._worth_while():
            by_patterns = not self._limited or (settled and self._branches_soon(shares))
            # In two dimensions whole patterns are found soon; in more all effort may go there in vain.
            if not (by_patterns and settled and self._networks):
                self._follow(shares)
            if by_patterns:
                self._by_patterns()
            if by_patterns or settled:
                return
            shares, settled = self._by_shares()

    def _worth_while(self) -> bool:
        """Whether enough effort is left to find anything."""
        return self.deadline.most - self.deadline.effort > LEAST_EFFORT

    def _branches_soon(self, shares: FloatArray) -> bool:
        """Whether a program of whole patterns is expected to be solved in a moment."""
        undecided = int(((shares > WHOLE) & (shares < 1 - WHOLE)).sum())
        return undecided <= (UNDECIDED if self._networks else UNDECIDED_DEEP)

    def _by_patterns(self) -> None:
        """Raise the bound by whole patterns, each of which is mended or audited."""
        share = ROUND_SHARE
        while not self._settled():
            cheapest = self._program.pattern(self._known(), self.deadline.share(share))
            self._raise(cheapest)
            if cheapest.shares is None or self._settled():
                return
            withheld = cheapest.shares > 0.5
            if self.best.proof is Proof.PROVED and np.array_equal(withheld, self.best.withheld):
                if share == 1.0 and self._limited:
                    return
                # The program needs more time than it was given to find a cheaper one, or that there is none.
                share = 1.0
                continue
            cuts = [cut for one in self._attackers for cut in one.cuts(withheld, self.deadline)]
            if not self._limited or len(cuts) <= NEARLY * withheld.sum():
                self._mend(withheld)
            if not cuts and not self.deadline.over:
                cuts = self._audited(withheld)
            if not cuts:
                return
            self._program.add(cuts)

    def _follow(self, shares: FloatArray) -> None:
        """Grow a pattern by prices that are the lower the more of a cell is withheld."""
        prices = self.problem.prices * np.maximum(1 + GUIDED_LEAST - shares, GUIDED_LEAST)
        deadline = self.deadline.share(GUIDED_SHARE)
        self._offer(repaired(self.problem, self.unsafe, shares > 0.5, deadline, prices, thorough=True))

    def _settled(self) -> bool:
        """Whether nothing is left to find out, or no time to do so."""
        proved = self.best.proof is Proof.PROVED
        return self.deadline.over or (proved and self.least >= self.best.price * (1 - EXACTNESS))

    def _by_shares(self) -> tuple[FloatArray | None, bool]:
        """Raise the bound by shares of withheld cells, as long as that is worth while.

        Returns the last ones found, and whether there is little more to learn from them.
        """
        bounds: list[float] = []
        deadline = self.deadline.share(NETWORK_SHARE if self._networks else SHARES_SHARE)
        shares: FloatArray | None = None
        while not self._settled() and not deadline.over:
            cheapest = self._program.relaxed(deadline)
            self._raise(cheapest)
            if cheapest.shares is None:
                break
            shares = cheapest.shares
            cuts = [cut for one in self._attackers for cut in one.fractional_cuts(shares, deadline)]
            if len(cuts) <= FEW_CUTS:
                bounds.append(cheapest.least)
                if len(bounds) > STALE and bounds[-1] <= (1 + PROGRESS) * bounds[-1 - STALE]:
                    return shares, True
                cuts += [cut for one in self._attackers for cut in one.cuts_of_ends(shares, deadline)]
            if not cuts:
                return shares, not deadline.over
            self._program.add(cuts)
        return shares, False

    def _raise(self, cheapest: Cheapest) -> None:
        """Enter what all patterns cost at least."""
        least = cheapest.least
        if self._whole_prices and np.isfinite(least):
            least = float(np.ceil(least))
        self.least = max(self.least, least)

    def _audited(self, withheld: BoolArray) -> list[Cut]:
        """What the audit of a pattern says against it; nothing where it ends the search."""
        found = audited(self.problem, withheld, self.deadline)
        self._offer(protection(self.problem, self.unsafe, withheld, found))
        if found.proof is Proof.PROVED:
            return []
        return self._refutations(withheld, found)

    def _mend(self, withheld: BoolArray) -> None:
        """Withhold more than a pattern does until it is proved, if not too much was spent on that already."""
        before = self._spent()
        if self._mending > MENDED_SHARE * before:
            return
        self._offer(repaired(self.problem, self.unsafe, withheld, self.deadline.share(MENDING_SHARE)))
        self._mending += self._spent() - before

    @property
    def _limited(self) -> bool:
        """Whether effort is limited, and not time alone."""
        return self.deadline.most < INFINITY

    def _spent(self) -> float:
        """Effort so far where that is limited, else seconds."""
        return self.deadline.effort if self._limited else self._time - self.deadline.left()

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
        begun, more, deadline = 0, max(1, len(others) // 2), self.deadline.share(LIFTED_SHARE)
        wider = withheld.copy()
        while more and begun < len(others) and not deadline.over:
            tried = wider.copy()
            tried[others[begun : begun + more]] = True
            search = Search(self.problem, tried, no_tables(self.problem))
            settle(search, quantity, cell, deadline)
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
