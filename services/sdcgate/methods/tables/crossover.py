"""A corner of a linear program near a solution: crossover (Megiddo, ORSA Journal on Computing 3, 1991).

HiGHS is called by its C interface. By highspy (1.15) crossover holds Python's lock all the while, for tenths
of a second as a rule, in which everything else in the process stands still.
"""

import ctypes
import threading
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt

from sdcgate.methods.cells import FloatArray

Whole = npt.NDArray[np.int32]
_own = threading.local()
"""A thread's program of HiGHS, for all that is asked in it."""
CALLED = (
    *("create", "passLp", "crossover", "getBasis", "clearModel"),
    *("setBoolOptionValue", "setIntOptionValue", "setDoubleOptionValue"),
)
"""What a library must have of HiGHS's C interface."""
FOUND, BY_ROW, MAXIMISE = 0, 2, -1
"""HiGHS's names for: all went well; a matrix by rows; what is best is greatest."""


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Coefficients of rows, one row after the other."""

    starts: Whole = field(repr=False)
    """Where each row begins, and the last ends; shape (rows + 1,)."""
    columns: Whole = field(repr=False)
    """Shape (coefficients,)."""
    values: FloatArray = field(repr=False)
    """Shape (coefficients,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Corner:
    """Which columns and rows are basic in it, or at which bound, as HiGHS numbers that."""

    columns: Whole = field(repr=False)
    rows: Whole = field(repr=False)


def corner(
    matrix: Matrix,
    sums: tuple[FloatArray, FloatArray],
    bounds: tuple[FloatArray, FloatArray],
    values: FloatArray,
    seconds: float,
) -> Corner | None:
    """A feasible corner near a solution that need be none; None where none is found.

    Args:
        matrix: the rows.
        sums: what each is at least and at most, shape (rows,) each. With rows that have two different ends
            crossover writes where it must not (HiGHS 1.15).
        bounds: what each column is at least and at most, shape (columns,) each.
        values: the solution, shape (columns,).
        seconds: when to give up. HiGHS 1.15 does not look at the clock within crossover.

    Raises ValueError for a row with two different ends.
    """
    least, most = sums
    if np.any((least < most) & np.isfinite(least) & np.isfinite(most)):
        raise ValueError("sums: each row has one end, or twice the same")
    library = _library()
    if library is None:
        return None
    found = Corner(np.zeros(len(values), dtype=np.int32), np.zeros(len(least), dtype=np.int32))
    program = _program(library)
    library.Highs_setDoubleOptionValue(program, b"time_limit", ctypes.c_double(seconds))
    size, rows, cost = len(values), len(least), np.zeros(len(values))
    try:
        passed = library.Highs_passLp(
            program,
            size,
            rows,
            len(matrix.columns),
            BY_ROW,
            MAXIMISE,
            ctypes.c_double(0.0),
            *map(_doubles, (cost, *bounds, *sums)),
            *map(_wholes, (matrix.starts, matrix.columns)),
            _doubles(matrix.values),
        )
        if passed != FOUND:
            return None
        nothing, nothing_of_rows = np.zeros(size), np.zeros(rows)
        duals = _doubles(nothing), _doubles(nothing_of_rows)
        if library.Highs_crossover(program, size, rows, _doubles(values), *duals) != FOUND:
            return None
        if library.Highs_getBasis(program, _wholes(found.columns), _wholes(found.rows)) != FOUND:
            return None
        return found
    finally:
        library.Highs_clearModel(program)


def _doubles(array: FloatArray) -> ctypes.c_void_p:
    if array.dtype != np.float64 or not array.flags.c_contiguous:
        raise TypeError("HiGHS reads doubles that lie one after the other")
    return ctypes.c_void_p(array.ctypes.data)


def _wholes(array: Whole) -> ctypes.c_void_p:
    if array.dtype != np.int32 or not array.flags.c_contiguous:
        raise TypeError("HiGHS reads integers of 32 bits that lie one after the other")
    return ctypes.c_void_p(array.ctypes.data)


@cache
def _library() -> ctypes.CDLL | None:
    """The very library that highspy solves by; None where it does not tell its C interface."""
    from highspy import _core

    try:
        library = ctypes.CDLL(_core.__file__)
        library.Highs_create.restype = ctypes.c_void_p
        known = all(hasattr(library, f"Highs_{name}") for name in CALLED)
        # Other builds may have integers of 64 bits.
        same = known and library.Highs_getSizeofHighsInt(ctypes.c_void_p(None)) == np.dtype(np.int32).itemsize
    except (OSError, AttributeError):
        return None
    return library if same else None


def _program(library: ctypes.CDLL) -> ctypes.c_void_p:
    """The thread's own program.

    It is kept: with the first that is destroyed a thread loses what crossover reads in the next (HiGHS 1.15),
    which then ends the process, or does not.
    """
    if not hasattr(_own, "program"):
        _wake()
        program = ctypes.c_void_p(library.Highs_create())
        library.Highs_setBoolOptionValue(program, b"output_flag", 0)
        library.Highs_setIntOptionValue(program, b"threads", 1)
        _own.program = program
    found: ctypes.c_void_p = _own.program
    return found


def _wake() -> None:
    """Solve something: crossover in a thread that has solved nothing ends the process (HiGHS 1.15).

    By one thread, as all other programs: a thread keeps to the number that it began with.
    """
    import highspy

    program = highspy.Highs()
    program.silent()
    program.setOptionValue("threads", 1)
    program.addVar(0.0, 1.0)
    program.run()
