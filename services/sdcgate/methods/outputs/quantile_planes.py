"""Exact planes of quantile regression at several quantiles, each solved from the one before.

A plane b at quantile q minimises the sum of |r| times q above it and 1 - q below it, r = y - X b (Koenker and
Bassett 1978). Its dual is a linear program of as many rows as b has parameters: the largest y'a with
X'a = (1 - q) X'1 and each a in [0, 1], of which b are the prices (Koenker and d'Orey 1987, Applied
Statistics 36, algorithm AS 229). Only the right side has q, so from a quantile to the next the dual simplex
method needs a few steps. Records far above or below all planes count by their sum alone (Portnoy and Koenker
1997, Statistical Science 12, section 5), and are looked at again once the plane is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.problems import not_converged

CLOSE = 1e-10
"""By how much constraints of the program may be broken, in units of the outcome's spread."""
NEAR_SHARE = 0.1
"""Share of the records, those nearest to the outer planes, from which planes between are solved first."""
NEAR_RECORDS = 50
"""As many of them for each parameter at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """The plane at a quantile."""

    coefficients: FloatArray = field(repr=False)
    """Shape (columns,)."""
    through: IntArray = field(repr=False)
    """The records that it is solved from, shape (columns,); -1 where that is not known."""


def quantile_planes(values: FloatArray, outcome: FloatArray, quantiles: Sequence[float]) -> list[Plane]:
    """The plane at each quantile.

    `values` has a column a parameter and full rank; quantiles ascend. Each plane goes through as many records
    as it has parameters; where several are as good, it is one of them.

    Raises ModelProblemError where one is not found.
    """
    outer = _Program(values, outcome)
    if len(quantiles) < 3:
        return [_of_all(outer, quantile) for quantile in quantiles]
    lowest, highest = _of_all(outer, quantiles[0]), _of_all(outer, quantiles[-1])
    ends = outcome - values @ lowest.coefficients, outcome - values @ highest.coefficients
    near = _near(*ends, values.shape[1])
    above = ~near & (ends[0] > 0)
    inner = _Program(values[near], outcome[near], values[above].sum(axis=0), outer.ones)
    places = np.flatnonzero(near)
    found = [lowest]
    for quantile in quantiles[1:-1]:
        plane = inner.plane(quantile)
        # Optimal of all records if those that were taken for far lie on the side that they were taken for.
        if plane is None or not np.all(near | ((outcome - values @ plane.coefficients > 0) == above)):
            found.append(_of_all(outer, quantile))
        else:
            found.append(Plane(plane.coefficients, np.where(plane.through < 0, -1, places[plane.through])))
    return [*found, highest]


def _of_all(program: "_Program", quantile: float) -> Plane:
    plane = program.plane(quantile)
    if plane is None:
        raise not_converged()
    return plane


def _near(first: FloatArray, last: FloatArray, columns: int) -> BoolArray:
    """Records between the outer planes, and those nearest to them."""
    distance = np.minimum(np.abs(first), np.abs(last))
    distance[(first > 0) != (last > 0)] = 0.0
    wanted = min(max(int(NEAR_SHARE * len(first)), NEAR_RECORDS * columns), len(first) - 1)
    return np.asarray(distance <= np.partition(distance, wanted)[wanted], dtype=np.bool_)


class _Program:
    """The dual program of some records, beside others that lie above all planes (their sum) or below."""

    def __init__(
        self,
        values: FloatArray,
        outcome: FloatArray,
        above: FloatArray | None = None,
        ones: FloatArray | None = None,
    ) -> None:
        import highspy

        self.ones = values.sum(axis=0) if ones is None else ones
        """Sums of the columns over all records."""
        self._values, self._outcome = values, outcome
        self._above = np.zeros(values.shape[1]) if above is None else above
        self._scale = float(np.std(outcome)) or 1.0
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._solver = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),
            ("threads", 1),
            ("primal_feasibility_tolerance", CLOSE),
            ("dual_feasibility_tolerance", CLOSE),
        ):
            self._solver.setOptionValue(option, value)
        records, columns = values.shape
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = records, columns
        program.col_cost_ = -outcome / self._scale
        program.col_lower_, program.col_upper_ = np.zeros(records), np.ones(records)
        program.row_lower_ = program.row_upper_ = np.zeros(columns)
        rows, places = np.nonzero(values)
        matrix = program.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kColwise
        matrix.start_ = np.searchsorted(rows, np.arange(records + 1)).astype(np.int32)
        matrix.index_ = places.astype(np.int32)
        matrix.value_ = values[rows, places]
        self._solver.passModel(program)

    def plane(self, quantile: float) -> Plane | None:
        """The plane at a quantile; None where it is not found."""
        for row, total in enumerate(((1.0 - quantile) * self.ones - self._above).tolist()):
            self._solver.changeRowBounds(row, total, total)
        self._solver.run()
        if self._solver.getModelStatus() != self._optimal:
            return None
        # The records of the optimal basis have the prices to their last digit.
        _, basis = self._solver.getBasicVariables()
        through = np.asarray(basis, dtype=np.int64)
        if through.min() >= 0:
            try:
                found = np.linalg.solve(self._values[through], self._outcome[through])
                return Plane(np.asarray(found, dtype=np.float64), through)
            except np.linalg.LinAlgError:
                pass
        prices = -np.array(self._solver.getSolution().row_dual) * self._scale
        return Plane(prices, np.full(len(prices), -1))
