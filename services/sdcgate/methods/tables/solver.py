"""Linear and integer programs by HiGHS, from arrays, solved again and again with other costs and bounds."""

import time
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray

INFINITY = float("inf")
FEASIBILITY = 1e-9


class Deadline:
    """The moment after which no solver is started; what it stops is unproved, never proved."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left() <= 0


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


class Program:
    """Maximise a cost over columns under rows. Anything but an optimal solution is None."""

    def __init__(self, rows: Rows, columns: int, integer: BoolArray | None = None) -> None:
        import highspy

        self._optimal = highspy.HighsModelStatus.kOptimal
        self._solver = highspy.Highs()
        for option, value in {
            "output_flag": False,
            "threads": 1,
            "primal_feasibility_tolerance": FEASIBILITY,
            "mip_feasibility_tolerance": 1e-7,
        }.items():
            self._solver.setOptionValue(option, value)
        self._columns = np.arange(columns, dtype=np.int32)
        whole = np.zeros(columns, dtype=np.int32) if integer is None else integer.astype(np.int32)
        number = _joined(rows.rows, np.int64)
        order = np.argsort(number, kind="stable")
        starts = np.searchsorted(number[order], np.arange(rows.count + 1)).astype(np.int32)
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
            _joined(rows.lower, np.float64),
            _joined(rows.upper, np.float64),
            starts,
            _joined(rows.columns, np.int64)[order].astype(np.int32),
            _joined(rows.values, np.float64)[order],
            whole,
        )

    def maximise(
        self, cost: FloatArray, lower: FloatArray, upper: FloatArray, deadline: Deadline
    ) -> FloatArray | None:
        """An optimal solution, shape (columns,), or None: infeasible, unbounded, out of time, anything."""
        seconds = deadline.left()
        if seconds <= 0 or np.any(lower > upper):
            return None
        size = len(self._columns)
        self._solver.changeColsCost(size, self._columns, cost)
        self._solver.changeColsBounds(size, self._columns, lower, upper)
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + seconds)
        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            return None
        values = np.asarray(self._solver.getSolution().col_value, dtype=np.float64)
        return values if np.all(np.isfinite(values)) else None


def _joined(parts: list[IntArray] | list[FloatArray], kind: type) -> np.ndarray:
    """Arrays one after the other, also where there are none."""
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind)
