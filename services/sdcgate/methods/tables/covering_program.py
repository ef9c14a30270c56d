"""The cheapest pattern of withheld cells that obeys inequalities, which are added as they are found."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.tables.protection_cuts import Cut
from sdcgate.methods.tables.solver import INFINITY, Deadline

ROUNDING = 1e-6
"""Share of a bound that the solver's tolerances may have added to it."""
SHARES_EFFORT, PATTERN_EFFORT, BRANCH_EFFORT = 0.5, 6.0, 0.3
"""Measured: milliseconds for shares, to begin with whole patterns, and for each pivot on the way to one."""
FEW_NODES, MOST_NODES = 50, 2**31 - 1
"""Nodes after which a search for whole patterns ends, where effort is limited and where it is not."""
DEAREST = 2.0**60
"""No price is larger than that to the solver, which takes 1e20 for infinite."""


@dataclass(frozen=True, slots=True, eq=False)
class Cheapest:
    """What the solver found in time."""

    shares: FloatArray | None = field(repr=False)
    """Share of each cell that is withheld, shape (cells,); None where nothing was found."""
    least: float
    """No pattern that obeys the inequalities costs less; 0 where nothing is known."""
    impossible: bool = False
    """Whether no pattern obeys them."""


class CoveringProgram:
    """Minimise the prices of the candidates that are withheld; all other cells are as they are told.

    `prices` and `held` have shape (cells,); `held` are 1 for cells that are withheld whatever happens.
    """

    def __init__(self, prices: FloatArray, candidates: IntArray, held: FloatArray) -> None:
        import highspy

        self._highs = highspy
        # No price below 1, as tolerances of the objective are absolute, unless it is nothing beside others.
        smallest = min(1.0, float(prices[candidates].min(initial=1.0)))
        smallest = max(smallest, float(prices[candidates].max(initial=1.0)) / DEAREST)
        self._scale = 2.0 ** min(0.0, np.floor(np.log2(smallest)))
        self._held, self._candidates = held, candidates
        self._place = np.full(len(held), -1, dtype=np.int64)
        self._place[candidates] = np.arange(len(candidates))
        self._solver = highspy.Highs()
        for option, value in {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0}.items():
            self._solver.setOptionValue(option, value)
        count, none = len(candidates), np.zeros(0, dtype=np.int32)
        costs, zeros = prices[candidates] / self._scale, np.zeros(count)
        self._solver.addCols(count, costs, zeros, np.ones(count), 0, none, none, np.zeros(0))
        self._whole = False

    def add(self, cuts: Iterable[Cut]) -> None:
        """Enter cuts."""
        for cut in cuts:
            columns, values = self._place[cut.cells], cut.values
            own = self._place[cut.cell]
            if own >= 0:
                columns, values = np.append(columns, own), np.append(values, -1.0)
            least = 0.0 if own >= 0 else 1.0
            self._solver.addRow(least, INFINITY, len(columns), columns.astype(np.int32), values)

    def relaxed(self, deadline: Deadline) -> Cheapest:
        """The cheapest shares of withheld cells."""
        return self._solved(False, None, deadline)

    def pattern(self, known: FloatArray | None, deadline: Deadline) -> Cheapest:
        """The cheapest pattern; `known` is one that obeys the inequalities, shape (cells,)."""
        return self._solved(True, known, deadline)

    def _solved(self, whole: bool, known: FloatArray | None, deadline: Deadline) -> Cheapest:
        if deadline.over:
            return Cheapest(None, 0.0)
        if whole != self._whole:
            count, kinds = len(self._candidates), self._highs.HighsVarType
            kind = kinds.kInteger if whole else kinds.kContinuous
            self._solver.changeColsIntegrality(
                count, np.arange(count, dtype=np.int32), np.full(count, int(kind), dtype=np.uint8)
            )
            self._whole = whole
        if known is not None:
            solution = self._highs.HighsSolution()
            solution.col_value = known[self._candidates].tolist()
            self._solver.setSolution(solution)
        self._solver.setOptionValue(
            "time_limit", deadline.left() + (0.0 if whole else self._solver.getRunTime())
        )
        nodes = FEW_NODES if deadline.most < INFINITY else MOST_NODES
        self._solver.setOptionValue("mip_max_nodes", nodes)
        self._solver.run()
        pivots = max(0, int(self._solver.getInfo().simplex_iteration_count))
        deadline.spend(PATTERN_EFFORT + pivots * BRANCH_EFFORT if whole else SHARES_EFFORT)
        if self._solver.getModelStatus() == self._highs.HighsModelStatus.kTimeLimit:
            deadline.miss()
        return self._found(whole)

    def _found(self, whole: bool) -> Cheapest:
        """What the solver says."""
        status, info = self._solver.getModelStatus(), self._solver.getInfo()
        if status == self._highs.HighsModelStatus.kInfeasible:
            return Cheapest(None, INFINITY, impossible=True)
        optimal = status == self._highs.HighsModelStatus.kOptimal
        if not whole and not optimal:
            return Cheapest(None, 0.0)
        least = float(info.mip_dual_bound if whole else info.objective_function_value)
        feasible = info.primal_solution_status == self._highs.SolutionStatus.kSolutionStatusFeasible
        shares = None
        if feasible:
            shares = self._held.copy()
            values = np.asarray(self._solver.getSolution().col_value, dtype=np.float64)
            shares[self._candidates] = np.rint(values) if whole else np.clip(values, 0.0, 1.0)
        least = least - ROUNDING * max(1.0, least) if np.isfinite(least) else 0.0
        return Cheapest(shares, max(least, 0.0) * self._scale)
