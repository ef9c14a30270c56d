"""What published percentages tell, by a theorem and a table that nobody here made.

Slavkovic, Zhu and Petrovic (Fibers of multi-way contingency tables given conditionals, 2014): the tables with
given exact row percentages and a given number in all are those whose row totals are multiples of the least
common denominators of the rows, so that the totals solve a linear Diophantine equation. The table is that of
delinquent children by county and education of the head of household in Statistical Policy Working Paper 22
(Federal Committee on Statistical Methodology, 1994), which names four counties.
"""

from itertools import product
from math import gcd

import numpy as np
import pytest

from made_tables import axis, facts, problem, with_margins
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.intervals import withheld_intervals
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.published_figures import FactOfCells, PublishedRatios
from sdcgate.methods.tables.solver import Deadline

CHILDREN = np.array([[15, 1, 3, 1], [20, 10, 10, 15], [3, 10, 10, 2], [12, 14, 7, 2]])


def of_rows(rows, half=0.0, digits=None):
    """The rows as a table in which all is withheld but the number in all, with its row percentages."""
    rows = np.asarray(rows)
    size = rows.shape[1] + 1
    grid = with_margins(rows)
    cells = np.array([size * row + column for row in range(len(rows)) for column in range(size - 1)])
    totals = size * (cells // size) + size - 1
    shares = 100.0 * grid[cells] / grid[totals]
    if digits is not None:
        shares = np.round(shares, digits)
    ratios = PublishedRatios(
        FactOfCells(0, cells), FactOfCells(0, totals), shares, np.full(len(cells), half), 100.0
    )
    axes = [axis("county", "abcd"[: len(rows)]), axis("education", "1234"[: size - 1])]
    of = problem(axes, facts(grid, grid), zeros_withheld=True, published=(ratios,))
    withheld = np.ones(len(grid), dtype=np.bool_)
    withheld[-1] = False
    return of, withheld, grid


def by_the_theorem(rows):
    """Least and greatest count of each inner cell: rows are multiples of their smallest ones."""
    rows = np.asarray(rows)
    smallest = np.array([row // gcd(*row.tolist()) for row in rows])
    units, number = smallest.sum(axis=1), int(rows.sum())
    ways = product(*(range(1, number // unit + 1) for unit in units.tolist()))
    fitting = np.array([way for way in ways if np.dot(way, units) == number])
    return smallest * fitting.min(axis=0)[:, None], smallest * fitting.max(axis=0)[:, None]


def test_exact_percentages_and_the_number_in_all_tell_every_count_of_the_delinquent_children():
    """20 a + 11 b + 25 c + 35 d = 135 has one solution in whole numbers, and endlessly many in others."""
    least, most = by_the_theorem(CHILDREN)
    assert np.array_equal(least, CHILDREN)
    assert np.array_equal(most, CHILDREN)
    of, withheld, grid = of_rows(CHILDREN)
    found = withheld_intervals(of, withheld, Deadline(60), integral=True)
    assert all(one.exact and one.lower == one.upper == grid[one.cell] for one in found)
    real = withheld_intervals(of, withheld, Deadline(60))
    assert all(one.upper - one.lower > 0 for one in real)
    told = audit(of, withheld, 60)
    assert told.proof is Proof.REFUTED
    assert np.array_equal(told.unprotected, withheld)


@pytest.mark.parametrize(
    "rows", [[[2, 4], [9, 3]], [[1, 2, 3], [4, 4, 4]], [[6, 2], [5, 5], [1, 3]], [[10, 20], [7, 7]]]
)
def test_bounds_are_those_of_the_diophantine_equation(rows):
    least, most = by_the_theorem(rows)
    of, withheld, _ = of_rows(rows)
    size = len(rows[0]) + 1
    found = {one.cell: one for one in withheld_intervals(of, withheld, Deadline(60), integral=True)}
    for row in range(len(rows)):
        for column in range(size - 1):
            one = found[size * row + column]
            assert (one.lower, one.upper, one.exact) == (least[row, column], most[row, column], True)


def test_whole_percentages_leave_more_than_exact_ones():
    of, withheld, grid = of_rows(CHILDREN, half=0.5, digits=0)
    found = withheld_intervals(of, withheld, Deadline(60))
    assert all(one.lower <= grid[one.cell] <= one.upper for one in found)
    assert max(one.upper - one.lower for one in found) >= 10
