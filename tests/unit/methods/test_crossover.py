"""Corners near solutions are found without holding up whatever else the process does."""

import os
import subprocess
import sys
import threading

import highspy
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables import crossover
from sdcgate.methods.tables.crossover import Corner, Matrix, corner
from sdcgate.methods.tables.solver import Deadline, Program, Rows

BASIC = int(highspy.HighsBasisStatus.kBasic)
LOWER, UPPER = int(highspy.HighsBasisStatus.kLower), int(highspy.HighsBasisStatus.kUpper)


def of(dense: np.ndarray) -> Matrix:
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(len(dense) + 1))
    return Matrix(starts.astype(np.int32), columns.astype(np.int32), dense[rows, columns].astype(np.float64))


def values_at(found: Corner, dense: np.ndarray, sums: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """What columns are in a corner: those that are not basic are at a bound, rows at theirs."""
    values = np.where(found.columns == UPPER, bounds[1], bounds[0])
    basic = found.columns == BASIC
    held = found.rows != BASIC
    values[basic] = np.linalg.lstsq(
        dense[held][:, basic], sums[held] - dense[held][:, ~basic] @ values[~basic], rcond=None
    )[0]
    return values


@st.composite
def programs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Sums of some columns, and a solution that is no corner as a rule."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(2, 12))
    flags = st.lists(st.sampled_from([0.0, 1.0]), min_size=rows * columns, max_size=rows * columns)
    dense = np.array(draw(flags)).reshape(rows, columns)
    assume(dense.any())
    solution = draw(st.lists(st.integers(0, 20), min_size=columns, max_size=columns))
    return dense, np.array(solution, dtype=np.float64)


@settings(deadline=None, max_examples=150)
@given(programs())
def test_a_corner_keeps_to_all_sums_and_bounds(program):
    dense, solution = program
    sums, bounds = dense @ solution, np.array([np.zeros(len(solution)), np.full(len(solution), 25.0)])

    found = corner(of(dense), (sums, sums), (bounds[0], bounds[1]), solution, 10.0)

    assert found is not None
    assert np.count_nonzero(found.columns == BASIC) + np.count_nonzero(found.rows == BASIC) == len(sums)
    values = values_at(found, dense, sums, bounds)
    np.testing.assert_allclose(dense @ values, sums, atol=1e-7)
    assert (values >= -1e-7).all()
    assert (values <= 25.0 + 1e-7).all()


def test_a_sum_with_one_end_may_lie_beyond_it():
    dense = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    least, most = np.array([10.0, 4.0]), np.array([10.0, np.inf])
    bounds = np.zeros(3), np.full(3, 7.0)
    found = corner(of(dense), (least, most), bounds, np.array([2.0, 3.0, 5.0]), 10.0)
    assert found is not None
    values = values_at(found, dense, least, np.array(bounds))
    assert values.sum() == pytest.approx(10.0)
    assert values[1:].sum() >= 4.0 - 1e-9


def test_rows_with_two_ends_are_refused_as_highs_writes_beyond_its_columns_there():
    with pytest.raises(ValueError, match="each row has one end, or twice the same"):
        corner(
            of(np.ones((1, 3))),
            (np.array([9.0]), np.array([11.0])),
            (np.zeros(3), np.full(3, 7.0)),
            np.array([2.0, 3.0, 5.0]),
            10.0,
        )


def test_arrays_that_highs_would_read_wrongly_are_refused():
    one, zeros, sevens = np.array([10.0]), np.zeros(3), np.full(3, 7.0)
    with pytest.raises(TypeError, match="doubles"):
        corner(of(np.ones((1, 3))), (one, one), (zeros, sevens), np.array([2, 3, 5]), 10.0)  # type: ignore[arg-type]
    wide = Matrix(np.array([0, 3]), np.arange(3), np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="integers of 32 bits"):
        corner(wide, (one, one), (zeros, sevens), np.array([2.0, 3.0, 5.0]), 10.0)


AGAIN_AND_AGAIN = """
import threading
import numpy as np
from sdcgate.methods.tables.crossover import Matrix, corner
wholes = lambda *numbers: np.array(numbers, dtype=np.int32)
sums, bounds = np.array([3.0, 5.0]), (np.zeros(3), np.full(3, 10.0))
def found():
    one = Matrix(wholes(0, 2, 4), wholes(0, 1, 1, 2), np.ones(4))
    return corner(one, (sums, sums), bounds, np.array([1.0, 2.0, 3.0]), 10.0).columns.tolist()
answers = [found() for _ in range(3)]
for _ in range(2):
    thread = threading.Thread(target=lambda: answers.extend(found() for _ in range(3)))
    thread.start()
    thread.join()
answers.append(found())
assert answers == [answers[0]] * 10
print("ten times the same")
"""


def test_nothing_that_was_given_back_is_read_from_one_corner_to_the_next():
    """Memory that is given back is filled with rubbish here: to read it ends the process."""
    filled = os.environ | {"MALLOC_PERTURB_": "165"}
    done = subprocess.run(
        [sys.executable, "-c", AGAIN_AND_AGAIN], env=filled, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip()) == (0, "ten times the same"), done.stderr


def test_a_thread_that_began_with_a_corner_solves_as_others_do():
    """HiGHS refuses a program of one thread where the first was of more."""
    rows, cells, sums = table(4)
    bounds, found = (np.zeros(16), np.full(16, 1e3)), list[np.ndarray | None]()

    def begin() -> None:
        program = Program(rows, 16, primal=True)
        program.begin_at(cells, sums, *bounds, Deadline(10))
        found.append(program.maximise(np.ones(16), *bounds, Deadline(10)))

    one = threading.Thread(target=begin)
    one.start()
    one.join()
    assert found[0] is not None
    assert found[0].sum() == pytest.approx(cells.sum())


def table(size: int) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Rows and columns of a table with random cells: a program that takes a while."""
    cells = np.random.default_rng(7).integers(1, 50, (size, size)).astype(np.float64)
    sums = np.concatenate([cells.sum(axis=1), cells.sum(axis=0)])
    rows = Rows()
    first = rows.start(sums, sums)
    place = np.arange(size * size)
    rows.put(first + place // size, place, 1.0)
    rows.put(first + size + place % size, place, 1.0)
    return rows, cells.ravel(), sums


def test_other_threads_go_on_meanwhile(monkeypatch):
    """By highspy the same takes Python's lock: nothing else would be done."""
    rows, cells, sums = table(300)
    program = Program(rows, len(cells), primal=True)
    over, done, inside = threading.Event(), [], []

    def noted(*arguments):
        inside.append("began")
        found = corner(*arguments)
        over.set()
        return found

    monkeypatch.setattr("sdcgate.methods.tables.solver.corner", noted)

    def begin() -> None:
        done.append(
            program.begin_at(cells, sums, np.zeros(len(cells)), np.full(len(cells), 1e4), Deadline(60))
        )

    one = threading.Thread(target=begin)
    one.start()
    turns = 0
    while not over.wait(0.001):
        turns += bool(inside)
    one.join()
    assert done == [True]
    assert turns >= 5


def test_a_library_that_lacks_any_call_is_left_alone(monkeypatch):
    monkeypatch.setattr(crossover, "CALLED", (*crossover.CALLED, "doesNothingLikeThat"))
    assert crossover._library.__wrapped__() is None


def test_without_the_c_interface_a_program_begins_from_nothing_and_finds_the_same(monkeypatch):
    assert crossover._library() is not None
    rows, cells, sums = table(8)
    lower, upper, cost = np.zeros(64), np.full(64, 1e3), np.arange(64.0) % 7
    found = []
    for there in (True, False):
        if not there:
            monkeypatch.setattr(crossover, "_library", lambda: None)
        program = Program(rows, 64, primal=True)
        begun = program.begin_at(cells, sums, lower, upper, Deadline(10))
        best = program.maximise(cost, lower, upper, Deadline(10))
        assert best is not None
        found.append((begun, float(cost @ best)))
    assert [begun for begun, _ in found] == [True, False]
    assert found[0][1] == pytest.approx(found[1][1])
