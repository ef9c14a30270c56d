"""Patterns that keep a withheld sum as uncertain above and below as its protection levels ask."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_tables import axis, facts, problem
from sdcgate.methods.positions import FactsError
from sdcgate.methods.tables.audit import audit
from sdcgate.methods.tables.problem import Problem, Proof
from sdcgate.methods.tables.suppression import protect
from sdcgate.methods.tables.witnesses import verify

AXES = (axis("row", "abc"), axis("column", "xyz"))
SUMS = np.array([[500.0, 40, 60, 600], [30, 200, 70, 300], [70, 60, 170, 300], [600, 300, 300, 1200]])
SECONDS = 10.0


def table(above: float, below: float, sums: np.ndarray = SUMS, highest: float | None = None) -> Problem:
    """Three by three with totals, twenty records a cell; levels are asked of the first cell."""
    records = np.full((3, 3), 20)
    records = np.hstack([records, records.sum(axis=1, keepdims=True)])
    records = np.vstack([records, records.sum(axis=0)]).reshape(-1)
    of = facts(records, records, {"value": sums.reshape(-1)}, bounds={"value": (0.0, highest)})
    levels = np.zeros((2, 1, 16))
    levels[:, 0, 0] = above, below
    return problem(AXES, of, sum_width=0.02, upper_levels=levels[0], lower_levels=levels[1])


def only(*cells: int) -> np.ndarray:
    return np.isin(np.arange(16), cells)


def bounds(asked: Problem, withheld: np.ndarray, cell: int) -> tuple[float, float]:
    """Least and greatest sum of a cell that agree with the rest, by a linear program of its own."""
    from scipy.optimize import linprog

    unknown = np.flatnonzero(withheld)
    rows, right = [], []
    sums, relations = asked.facts.measures[0].sums, asked.relations
    for relation in range(len(relations)):
        row = np.zeros(16)
        row[relations.parts(relation)] = 1.0
        row[relations.parents[relation]] = -1.0
        rows.append(row[unknown])
        right.append(-(row[~withheld] @ sums[~withheld]))
    ends = []
    for sign in (1.0, -1.0):
        cost = sign * (unknown == cell)
        found = linprog(cost, A_eq=np.array(rows), b_eq=right, bounds=(0, None))
        unlimited = found.status == 3
        ends.append(-sign * np.inf if unlimited else sign * found.fun)
    return ends[0], ends[1]


@pytest.mark.parametrize(
    ("above", "below"), [(0, 0), (50, 50), (120, 0), (0, 150), (160, 160), (0, 500), (200, 500)]
)
def test_a_pattern_is_proved_if_the_cell_can_be_so_much_more_and_so_much_less(above, below):
    asked = table(above, below)
    found = protect(asked, only(0), SECONDS)
    assert found.proof is Proof.PROVED
    least, greatest = bounds(asked, found.withheld, 0)
    assert greatest >= 500 + above - 1e-3
    assert least <= 500 - below + 1e-3


def test_more_is_withheld_where_the_other_cells_cannot_take_so_much():
    beside = [protect(table(level, level), only(0), SECONDS).withheld.sum() for level in (20, 200)]
    assert beside[0] < beside[1]


def test_a_level_that_no_pattern_reaches_is_not_proved():
    # Where everybody knows the counts, twenty records of at most 60 are 1200 at most.
    counted = {"known": np.ones(16, dtype=bool), "known_measures": np.zeros((1, 16), dtype=bool)}
    assert protect(replace(table(600, 0, highest=60), **counted), only(0), SECONDS).proof is Proof.PROVED
    found = protect(replace(table(800, 0, highest=60), **counted), only(0), SECONDS)
    assert found.proof is not Proof.PROVED
    assert found.unprotected[0]


def test_a_pattern_that_is_wide_enough_but_on_one_side_is_refuted():
    # Beside it are 40 and 30, and 200 in the corner across.
    square = only(0, 1, 4, 5)
    assert bounds(table(0, 0), square, 0) == pytest.approx((300, 530))
    assert audit(table(0, 0), square, SECONDS).proof is Proof.PROVED
    assert audit(table(29, 199), square, SECONDS).proof is Proof.PROVED
    for above, below in ((35, 0), (0, 205)):
        found = audit(table(above, below), square, SECONDS)
        assert found.proof is Proof.REFUTED
        assert found.unprotected.tolist() == only(0).tolist()
        (leak,) = found.leaks
        assert (leak.upper if above else leak.lower) == pytest.approx(530 if above else 300)


def test_witnesses_that_go_one_way_do_not_prove_a_level_the_other_way():
    square = only(0, 1, 4, 5)
    upwards = audit(table(29, 0), square, SECONDS)
    assert upwards.proof is Proof.PROVED
    assert not verify(table(29, 0), square, upwards.witnesses).any()
    strict = table(29, 190)
    assert verify(strict, square, upwards.witnesses)[0]


def test_levels_that_make_no_sense_are_named():
    good = table(1, 1)
    for levels in (np.zeros((1, 3)), np.full((1, 16), -1.0), np.full((1, 16), np.nan)):
        with pytest.raises(FactsError, match="upper_levels"):
            replace(good, upper_levels=levels)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=9, max_size=9), st.integers(0, 300), st.integers(0, 300))
def test_no_proved_cell_is_ever_bounded_more_closely_than_its_levels(values, above, below):
    inner = np.array(values, dtype=float).reshape(3, 3)
    sums = np.hstack([inner, inner.sum(axis=1, keepdims=True)])
    sums = np.vstack([sums, sums.sum(axis=0)])
    asked = table(above, min(below, sums[0, 0]), sums)
    found = protect(asked, only(0), SECONDS)
    if found.proof is Proof.PROVED:
        least, greatest = bounds(asked, found.withheld, 0)
        assert greatest >= sums[0, 0] + above - 1e-2
        assert least <= sums[0, 0] - asked.lower_levels[0, 0] + 1e-2
