"""Linear and integer programs by HiGHS, from arrays, solved again and again with other costs and bounds."""

import time
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.crossover import Corner, Matrix, corner

INFINITY = float("inf")
FEASIBILITY = 1e-9
INTERIOR = 1e-10
"""How near the best an interior point must be: its secrets are to be as far apart as they can."""
DUAL, PRIMAL = 1, 4
LINEAR_EFFORT, INTEGER_EFFORT = 0.6, 7.0
PIVOT_EFFORT_BY_ROW, PIVOT_EFFORT_BY_COLUMN = 25e-6, 4e-6
"""Measured: milliseconds to begin, and for each pivot by the program's size."""
ROUGH_GAP = 0.3
"""How far a rough solution may be from the best, as a share."""
PIVOTS = 20
"""Pivots a row or column after which a linear program is taken to go round in circles."""


class Deadline:
    """The moment after which no solver is started; what it stops is unproved, never proved.

    `effort` is what the solvers did so far: about milliseconds, and the same on every machine. `missed` is
    whether anything was stopped, or not begun, as the time was over: what was found then depends on the
    machine. What can be left out is begun up to an effort of `spare` only, so that it depends on work alone.
    With `most` effort it is over as well, on every machine at the same place.
    """

    def __init__(self, seconds: float, spare: float = INFINITY, most: float = INFINITY) -> None:
        self._end = time.monotonic() + seconds
        self.effort = 0.0
        self.spare = spare
        self.most = most
        self.missed = False
        self._whole: Deadline | None = None

    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether no time is left, which is noted as who asks does less then, or no effort."""
        if not self.missed and self.left() <= 0:
            self.miss()
        return self.missed or self.effort >= self.most

    def spend(self, effort: float) -> None:
        """Count effort."""
        self.effort += effort
        if self._whole is not None:
            self._whole.spend(effort)

    def miss(self) -> None:
        """Note that something was stopped by the clock."""
        self.missed = True
        if self._whole is not None:
            self._whole.miss()

    def within(self, effort: float) -> "Deadline":
        """The same moment, but for no more than so much effort; what is spent and missed counts here too."""
        part = Deadline(0.0, most=min(effort, self.most - self.effort))
        part._end, part._whole = self._end, self
        return part

    def share(self, share: float) -> "Deadline":
        """A share of what is left: of the effort where that is limited, else of the time by itself."""
        if self.most < INFINITY:
            return self.within(share * max(0.0, self.most - self.effort))
        return Deadline(share * self.left())


@dataclass(slots=True)
class Rows:
    """Constraints under way: lower <= sum of values[k] * column[columns[k]] <= upper, a row each."""

    rows: list[IntArray] = field(default_factory=list)
    columns: list[IntArray] = field(default_factory=list)
    values: list[FloatArray] = field(default_factory=list)
    lower: list[FloatArray] = field(default_factory=list)
    upper: list[FloatArray] = field(default_factory=list)
    count: int = 0

    def start(self, lower: FloatArray, upper: FloatArray) -> int:
        """Open as many rows as there are bounds; returns the number of the first."""
        first, self.count = self.count, self.count + len(lower)
        self.lower.append(np.asarray(lower, dtype=np.float64))
        self.upper.append(np.asarray(upper, dtype=np.float64))
        return first

    def put(self, rows: IntArray, columns: IntArray, values: FloatArray | IntArray | float) -> None:
        """Enter coefficients."""
        self.rows.append(rows)
        self.columns.append(columns)
        self.values.append(np.broadcast_to(np.asarray(values, dtype=np.float64), rows.shape))

    def reduce(self, least: FloatArray, most: FloatArray, implied_too: bool) -> tuple[FloatArray, FloatArray]:
        """Turn rows of one free column into bounds of it, and drop them, and rows that bounds imply if told.

        `least` and `most` hold whatever is asked of the program later; returns them with what rows add.
        """
        number, columns = _joined(self.rows, np.int64), _joined(self.columns, np.int64)
        values = _joined(self.values, np.float64)
        number, columns, values = number[values != 0], columns[values != 0], values[values != 0]
        lower, upper = _joined(self.lower, np.float64), _joined(self.upper, np.float64)
        least, most = least.copy(), most.copy()
        kept = np.ones(self.count, dtype=np.bool_)
        while True:
            free = kept[number] & ~((least == 0) & (most == 0))[columns]
            entries = np.bincount(number[free], minlength=self.count)
            kept &= entries > 0
            alone = free & (kept & (entries == 1))[number]
            if not alone.any():
                break
            with np.errstate(over="ignore"):
                # An end that no float holds is infinite: no end.
                ends = lower[number[alone]] / values[alone], upper[number[alone]] / values[alone]
            np.maximum.at(least, columns[alone], np.minimum(*ends))
            np.minimum.at(most, columns[alone], np.maximum(*ends))
            kept[number[alone]] = False
        if implied_too:
            lows, highs = values * least[columns], values * most[columns]
            lows, highs = np.minimum(lows, highs), np.maximum(lows, highs)
            smallest = np.bincount(number, weights=lows, minlength=self.count)
            greatest = np.bincount(number, weights=highs, minlength=self.count)
            kept &= (smallest < lower) | (greatest > upper)
        place = np.cumsum(kept) - 1
        inside = kept[number]
        self.rows, self.columns = [place[number[inside]]], [columns[inside]]
        self.values, self.lower, self.upper = [values[inside]], [lower[kept]], [upper[kept]]
        self.count = int(kept.sum())
        return least, most


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """What became of an integer program within its time."""

    values: FloatArray | None = field(repr=False)
    """The best solution found, shape (columns,); None where none was."""
    bound: float
    """No solution has a greater value; infinite where nothing is known."""
    infeasible: bool
    """Whether it is shown that there is no solution."""


class Program:
    """Maximise a cost over columns under rows. Anything but an optimal solution is None.

    Linear programs are small, degenerate and solved again and again: they start from the last basis, without
    presolve, and without perturbing costs or bounds unless the solver then fails. `rough` integer programs
    end with any good solution, and are not branched. `primal` linear programs are quick where only costs
    change.
    """

    def __init__(
        self,
        rows: Rows,
        columns: int,
        integer: BoolArray | None = None,
        rough: bool = False,
        primal: bool = False,
        begun_dual: bool = False,
        presolve: bool = True,
        most_nodes: int = 0,
    ) -> None:
        """`primal` suits costs that change, `begun_dual` finds the first feasible corner the other way.

        Integer programs may do without `presolve`; linear ones do. They may have no more than `most_nodes`.
        """
        import highspy

        self._enough = {highspy.HighsModelStatus.kOptimal}
        if rough:
            self._enough.add(highspy.HighsModelStatus.kSolutionLimit)
        self._feasible = highspy.SolutionStatus.kSolutionStatusFeasible
        self._late = highspy.HighsModelStatus.kTimeLimit
        self._failed = {
            highspy.HighsModelStatus.kIterationLimit,
            highspy.HighsModelStatus.kUnknown,
            highspy.HighsModelStatus.kSolveError,
        }
        self._solver = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "primal_feasibility_tolerance": FEASIBILITY,
            "ipm_optimality_tolerance": INTERIOR,
            "mip_feasibility_tolerance": 1e-7,
        }.items():
            self._solver.setOptionValue(option, value)
        if not presolve:
            self._solver.setOptionValue("presolve", "off")
        if rough:
            self._solver.setOptionValue("mip_rel_gap", ROUGH_GAP)
            self._solver.setOptionValue("mip_max_nodes", 1)
        if most_nodes:
            self._solver.setOptionValue("mip_max_nodes", most_nodes)
        self._linear = integer is None
        if self._linear:
            self._solver.setOptionValue("presolve", "off")
            self._strategy = PRIMAL if primal else DUAL
            self._solver.setOptionValue("simplex_strategy", DUAL if begun_dual else self._strategy)
            self._pivots = PIVOTS * (rows.count + columns + 10)
            self._solver.setOptionValue("simplex_iteration_limit", self._pivots)
            self._perturb(False)
        self._start_effort = LINEAR_EFFORT if self._linear else INTEGER_EFFORT
        self._pivot_effort = PIVOT_EFFORT_BY_ROW * rows.count + PIVOT_EFFORT_BY_COLUMN * columns
        self._cost, self._lower, self._upper = np.zeros((3, columns))
        self._sums = _joined(rows.lower, np.float64), _joined(rows.upper, np.float64)
        whole = np.zeros(columns, dtype=np.int32) if integer is None else integer.astype(np.int32)
        number = _joined(rows.rows, np.int64)
        order = np.argsort(number, kind="stable")
        self._matrix = Matrix(
            np.searchsorted(number[order], np.arange(rows.count + 1)).astype(np.int32),
            _joined(rows.columns, np.int64)[order].astype(np.int32),
            _joined(rows.values, np.float64)[order],
        )
        self._solver.passModel(
            columns,
            rows.count,
            len(order),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMaximize),
            0.0,
            np.zeros(columns),
            np.zeros(columns),
            np.zeros(columns),
            *self._sums,
            self._matrix.starts,
            self._matrix.columns,
            self._matrix.values,
            whole,
        )

    def maximise(
        self,
        cost: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        deadline: Deadline,
        afresh: bool = False,
    ) -> FloatArray | None:
        """An optimal solution, shape (columns,), or None: infeasible, unbounded, out of time, anything.

        `afresh` starts from the basis of all rows: better where that one is dual feasible, as it is when no
        cost pays.
        """
        if deadline.over or np.any(lower > upper):
            return None
        self._change(cost, lower, upper)
        if afresh:
            self._solver.setBasis()
        status = self._run(deadline)
        off = self._linear and status in self._enough and not self._is_feasible
        if off:
            # By rounding as a rule: from the same corner, factorised anew, it is mended by a few pivots.
            self._solver.setBasis(self._solver.getBasis())
            self._solver.setOptionValue("simplex_strategy", DUAL)
            status = self._run(deadline)
            off = status != self._late and not self._is_feasible
        if self._linear and (status in self._failed or off):
            self._solver.setBasis()
            self._solver.setOptionValue("simplex_strategy", DUAL)
            self._perturb(True)
            status = self._run(deadline)
            self._perturb(False)
        if self._linear:
            self._solver.setOptionValue("simplex_strategy", self._strategy)
        if status not in self._enough or not self._is_feasible:
            return None
        return self._values()

    def climb(
        self, cost: FloatArray, lower: FloatArray, upper: FloatArray, deadline: Deadline, pivots: int
    ) -> tuple[FloatArray | None, bool]:
        """As `maximise`, from the last corner, for no more than so many pivots; whether it came to the end.

        A solution that is not the best keeps to rows and bounds as far as rounding lets it.
        """
        import highspy

        if deadline.over or np.any(lower > upper):
            return None, True
        self._change(cost, lower, upper)
        self._solver.setOptionValue("simplex_iteration_limit", pivots)
        status = self._run(deadline)
        self._solver.setOptionValue("simplex_iteration_limit", self._pivots)
        if status == highspy.HighsModelStatus.kIterationLimit:
            return self._values(), False
        if status in self._enough and self._is_feasible:
            return self._values(), True
        return self.maximise(cost, lower, upper, deadline), True

    def from_inside(
        self, cost: FloatArray, lower: FloatArray, upper: FloatArray, deadline: Deadline, corner: bool
    ) -> FloatArray | None:
        """As `maximise`, by the interior-point method: quicker for large programs of which no basis is known.

        If a `corner` is asked for, `maximise` starts from there. Else the solution is none, and its caller
        must see how well it keeps to the rows.
        """
        if deadline.over or np.any(lower > upper):
            return None
        self._change(cost, lower, upper)
        self._solver.setOptionValue("solver", "ipm")
        self._solver.setOptionValue("run_crossover", "on" if corner else "off")
        status = self._run(deadline)
        self._solver.setOptionValue("solver", "choose")
        if status not in self._enough or (corner and not self._is_feasible):
            return None
        return self._values()

    def begin_at(
        self,
        values: FloatArray,
        sums: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        deadline: Deadline,
        off: float = FEASIBILITY,
        free: bool = False,
    ) -> bool:
        """Let `maximise` start from a corner near a solution: `values` of columns, `sums` of rows.

        The corner is found by crossover (Megiddo, ORSA Journal on Computing 3, 1991), which takes a fifth of
        what it takes to find one from nothing. Tells whether one was found; else it starts from nothing.

        Rows that are bounded on both sides keep to `sums`, but for `off`, until `loosen` gives them back
        their room: a tenth of the pivots lead to what is wanted so. Where they are `free` they keep to the
        nearer end instead, as rows that have wide room would all have to be led back to an end.
        """
        if deadline.over:
            return False
        self._change(np.zeros_like(lower), lower, upper)
        (least, most), room = (ends.copy() for ends in self._sums), self._room
        if free:
            near_least = sums - least <= most - sums
            most[room[near_least[room]]] = INFINITY
            least[room[~near_least[room]]] = -INFINITY
        else:
            least[room] = most[room] = sums[room]
        found = corner(self._matrix, (least, most), (lower, upper), values, deadline.left())
        deadline.spend(self._start_effort)
        if found is None:
            return False
        if not free:
            self._solver.changeRowsBounds(len(room), room, sums[room], sums[room])
        self._stand_at(found)
        self._solver.setOptionValue("simplex_strategy", self._strategy)
        self._solver.setOptionValue("primal_feasibility_tolerance", off)
        return True

    def _stand_at(self, found: Corner) -> None:
        """Let the simplex method start from a corner."""
        import highspy

        kinds = [
            highspy.HighsBasisStatus(number) for number in range(len(highspy.HighsBasisStatus.__members__))
        ]
        basis = highspy.HighsBasis()
        basis.col_status = [kinds[number] for number in found.columns.tolist()]
        basis.row_status = [kinds[number] for number in found.rows.tolist()]
        basis.valid, basis.alien = True, False
        self._solver.setBasis(basis)

    def loosen(self) -> None:
        """Give the rows that `begin_at` holds to its sums their room back."""
        least, most = self._sums
        room = self._room
        self._solver.changeRowsBounds(len(room), room, least[room], most[room])
        self._solver.setOptionValue("primal_feasibility_tolerance", FEASIBILITY)

    @property
    def _room(self) -> IntArray:
        """Rows that are bounded on both sides, and not to one number."""
        least, most = self._sums
        return np.flatnonzero((least < most) & (least > -INFINITY) & (most < INFINITY)).astype(np.int32)

    def _values(self) -> FloatArray | None:
        values = np.asarray(self._solver.getSolution().col_value, dtype=np.float64)
        return values if np.all(np.isfinite(values)) else None

    @property
    def _is_feasible(self) -> bool:
        """Whether the solver's solution keeps to the rows; it may not, though it is called optimal."""
        return bool(self._solver.getInfo().primal_solution_status == self._feasible)

    @property
    def prices(self) -> FloatArray:
        """What one more on the right of each row would have added to the last optimum, shape (rows,)."""
        return np.asarray(self._solver.getSolution().row_dual, dtype=np.float64)

    def best(self, cost: FloatArray, lower: FloatArray, upper: FloatArray, deadline: Deadline) -> Best:
        """The best solution of an integer program that is found in time, and what is known of better ones."""
        import highspy

        if np.any(lower > upper):
            return Best(None, -INFINITY, infeasible=True)
        if deadline.over:
            return Best(None, INFINITY, infeasible=False)
        self._solver.setOptionValue("mip_rel_gap", 0.0)
        self._change(cost, lower, upper)
        status = self._run(deadline)
        info = self._solver.getInfo()
        if status == highspy.HighsModelStatus.kInfeasible:
            return Best(None, -INFINITY, infeasible=True)
        if info.primal_solution_status != self._feasible:
            return Best(None, INFINITY, infeasible=False)
        values = np.asarray(self._solver.getSolution().col_value, dtype=np.float64)
        return Best(values, float(info.mip_dual_bound), infeasible=False)

    def _change(self, cost: FloatArray, lower: FloatArray, upper: FloatArray) -> None:
        """Tell the solver what is not as it was."""
        which = np.flatnonzero(cost != self._cost).astype(np.int32)
        if len(which):
            self._solver.changeColsCost(len(which), which, cost[which])
        which = np.flatnonzero((lower != self._lower) | (upper != self._upper)).astype(np.int32)
        if len(which):
            self._solver.changeColsBounds(len(which), which, lower[which], upper[which])
        self._cost, self._lower, self._upper = cost.copy(), lower.copy(), upper.copy()

    def _run(self, deadline: Deadline) -> object:
        """Solve within the time left; returns the model's status."""
        # The clock of linear programs runs on from call to call, that of integer programs starts anew.
        spent = self._solver.getRunTime() if self._linear else 0.0
        self._solver.setOptionValue("time_limit", spent + deadline.left())
        self._solver.run()
        pivots = max(0, int(self._solver.getInfo().simplex_iteration_count))
        deadline.spend(self._start_effort + pivots * self._pivot_effort)
        status = self._solver.getModelStatus()
        if status == self._late:
            deadline.miss()
        return status

    def _perturb(self, perturbed: bool) -> None:
        self._solver.setOptionValue("dual_simplex_cost_perturbation_multiplier", float(perturbed))
        self._solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", float(perturbed))


def _joined(parts: list[IntArray] | list[FloatArray], kind: type) -> np.ndarray:
    """Arrays one after the other, also where there are none."""
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind)
