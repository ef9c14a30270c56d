"""The arithmetic of leaks: added up again by hand it gives the bound, and another program finds no other."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from made_tables import at, axis, facts, flags, problem, with_margins
from sdcgate.methods.tables.audit import Leak, audit
from sdcgate.methods.tables.leak_arithmetic import Kind, Sense, arithmetic_of, whole
from sdcgate.methods.tables.leak_sentences import cell_name, sentence
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.quantities import RECORDS, SUMS
from sdcgate.methods.tables.solver import Deadline

AXES = (axis("a", "12"), axis("b", "12"))
MANUAL = with_margins(np.array([[4, 3], [2, 1]]))
INNER = (0, 1, 3, 4)


def manual(**more):
    """X11 + X12 = 7, X21 + X22 = 3, X11 + X21 = 6, X12 + X22 = 4 (tau-ARGUS manual 4.1, section 2.15)."""
    return problem(AXES, facts(MANUAL, MANUAL), zeros_withheld=True, count_width=4, **more)


def added_up(found, leak, direction):
    """Checks a proof as a person would, from what it says alone; returns what it comes to."""
    hidden, total = {}, 0.0
    for step in found.steps:
        side = step.constant + sum(term.coefficient * term.value for term in step.published)
        assert side == pytest.approx(step.value, abs=1e-6)
        total += step.factor * side
        if step.sense is not Sense.EQUAL:
            assert step.factor * direction * (1 if step.sense is Sense.AT_MOST else -1) > 0
        for term in step.hidden:
            place = (term.quantity, term.cell)
            hidden[place] = hidden.get(place, 0.0) + step.factor * term.coefficient
    assert hidden.pop((leak.quantity, leak.cell)) == pytest.approx(1.0, abs=1e-6)
    assert all(abs(rest) < 1e-6 for rest in hidden.values())
    return total


def true_statements(found, of):
    truths = [of.facts.records, of.facts.units, *(measure.sums for measure in of.facts.measures)]
    for step in found.steps:
        side = sum(term.coefficient * truths[term.quantity][term.cell] for term in step.hidden)
        for term in step.published:
            assert term.value == truths[term.quantity][term.cell]
        assert step.sense is not Sense.EQUAL or side == pytest.approx(step.value, abs=1e-6)
        assert step.sense is not Sense.AT_LEAST or side >= step.value - 1e-6
        assert step.sense is not Sense.AT_MOST or side <= step.value + 1e-6


def test_the_tau_argus_manual_bounds_its_cell_by_3_and_6_and_we_say_how():
    of, withheld = manual(), flags(manual(), *INNER)
    found = audit(of, withheld, 5)
    assert found.proof is Proof.REFUTED
    (leak,) = (one for one in found.leaks if one.cell == 0)
    assert (leak.lower, leak.upper) == (3.0, 6.0)
    lower, upper = arithmetic_of(of, withheld, leak, Deadline(5))
    assert (lower.bound, upper.bound) == (3.0, 6.0)
    assert added_up(lower, leak, -1) == 3.0
    assert added_up(upper, leak, 1) == 6.0
    names = ("units", "units")
    assert (
        sentence(upper, 1, partial(cell_name, of.axes), names)
        == "6 [_T, 1] = at most 6, as [2, 1 is not below 0]"
    )
    said = sentence(lower, -1, partial(cell_name, of.axes), names)
    assert said.endswith("= at least 3, as [2, 2 is not below 0]")
    assert said in (
        "7 [1, _T] - 4 [_T, 2] = at least 3, as [2, 2 is not below 0]",
        "6 [_T, 1] - 3 [2, _T] = at least 3, as [2, 2 is not below 0]",
    )


def test_a_cell_alone_in_its_row_is_its_total_less_the_others():
    axes = (axis("a", "12"), axis("b", "xyz"))
    records = with_margins(np.array([[9, 12, 9], [20, 20, 20]]))
    of = problem(axes, facts(records, records))
    withheld = flags(of, 0)
    (leak,) = audit(of, withheld, 5).leaks
    for found, direction, word in zip(
        arithmetic_of(of, withheld, leak, Deadline(5)), (-1, 1), ("least", "most"), strict=True
    ):
        assert added_up(found, leak, direction) == 9.0
        (step,) = found.steps
        assert step.kind is Kind.ADDS_UP
        assert sentence(found, direction, partial(cell_name, of.axes), ("units",)) in (
            f"30 [1, _T] - 12 [1, y] - 9 [1, z] = at {word} 9",
            f"29 [_T, x] - 20 [2, x] = at {word} 9",
        )


def test_that_a_withheld_cell_is_not_empty_is_named():
    of = problem(AXES, facts(MANUAL, MANUAL), count_width=9)
    withheld = flags(of, *INNER)
    leak = next(one for one in audit(of, withheld, 5).leaks if one.cell == at(of, 0, 0))
    _, upper = arithmetic_of(of, withheld, leak, Deadline(5))
    assert (leak.upper, added_up(upper, leak, 1)) == (5.0, 5.0)
    assert {step.kind for step in upper.steps} == {Kind.ADDS_UP, Kind.NOT_EMPTY}
    assert (
        sentence(upper, 1, partial(cell_name, of.axes), ("units",))
        == "6 [_T, 1] - 1 [2, 1 is not empty] = at most 5"
    )


def test_a_known_cell_and_a_known_sum_are_named():
    of = manual(known=flags(manual(), 0))
    withheld = flags(of, *INNER)
    leak = next(one for one in audit(of, withheld, 5).leaks if one.cell == 0)
    for found in arithmetic_of(of, withheld, leak, Deadline(5)):
        assert [step.kind for step in found.steps] == [Kind.KNOWN_CELL]
        assert found.bound == 4.0
    of = manual(known_sums=(np.array([0, 4]),))
    leak = next(one for one in audit(of, withheld, 5).leaks if one.cell == 0)
    _, upper = arithmetic_of(of, withheld, leak, Deadline(5))
    assert added_up(upper, leak, 1) == pytest.approx(4.0)
    assert Kind.KNOWN_SUM in {step.kind for step in upper.steps}
    assert "0.5 x 5 [a known sum]" in sentence(upper, 1, partial(cell_name, of.axes), ("units",))


def test_without_time_there_is_no_arithmetic():
    of, withheld = manual(), flags(manual(), *INNER)
    leak = Leak(0, RECORDS, 3.0, 6.0)
    assert arithmetic_of(of, withheld, leak, Deadline(0)) == (None, None)


tables = st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=2, max_size=3)


@given(
    tables,
    st.sets(st.integers(0, 15), min_size=1, max_size=8),
    st.booleans(),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_arithmetic_of_every_leak_adds_up_to_the_bound_of_another_program(
    inner, chosen, zeros, each, known, lacking
):
    """Values are 0 to 10; some records may lack one, and counts may be known."""
    records = np.array(inner)
    valid = records - (records > 2) * lacking
    grid, having = with_margins(records), with_margins(valid)
    axes = (axis("a", "123"[: len(inner)]), axis("b", "123"))
    measured = ({"x": having * each}, {"x": having}, {"x": (0.0, 10.0)}) if each else ()
    of = problem(axes, facts(grid, grid, *measured), zeros_withheld=zeros, count_width=4, sum_width=0.5)
    if known and each:
        of = replace(
            of, known=np.ones(len(grid), dtype=bool), known_measures=np.zeros((1, len(grid)), dtype=bool)
        )
    withheld = flags(of, *(cell for cell in chosen if cell < len(grid) and (zeros or grid[cell] > 0)))
    if not withheld.any():
        return
    found = audit(of, withheld, 10)
    for leak in found.leaks:
        both = arithmetic_of(of, withheld, leak, Deadline(10))
        for told, direction, stated in zip(both, (-1, 1), (leak.lower, leak.upper), strict=True):
            assert told is not None
            true_statements(told, of)
            total = added_up(told, leak, direction)
            assert total == pytest.approx(told.bound, abs=1e-6)
            expected = by_another_program(of, withheld, leak, direction)
            assert total == pytest.approx(expected, abs=1e-5)
            # Whole numbers may exclude more than real ones, and never less.
            assert direction * whole(total, direction, leak) >= direction * stated - 1e-5


def by_another_program(of, withheld, leak, direction):
    """The bound by scipy, over counts and, where there is one, the measure of every cell."""
    cells, measures = len(of.facts), len(of.facts.measures)
    truths = [of.facts.records.astype(float), *(measure.sums for measure in of.facts.measures)]
    equal, sides = [], []
    for block, truth in enumerate(truths):
        for parent, start, end in zip(
            of.relations.parents, of.relations.offsets, of.relations.offsets[1:], strict=False
        ):
            row = np.zeros(cells * (1 + measures))
            row[block * cells + of.relations.children[start:end]] = 1
            row[block * cells + parent] = -1
            equal.append(row)
            sides.append(0.0)
        unknown = of.unknown_quantities(withheld)[block and block + 1]
        for cell in np.flatnonzero(~unknown):
            row = np.zeros(cells * (1 + measures))
            row[block * cells + cell] = 1
            equal.append(row)
            sides.append(truth[cell])
    lacking = of.missing(0) if measures else np.zeros(cells)
    floors = np.maximum(of.floors(withheld), lacking)
    least = [(float(floor), None) for floor in floors] + [(0.0, None)] * cells * measures
    below = []
    for block in range(1, 1 + measures):
        for cell in range(cells):
            row = np.zeros(cells * (1 + measures))
            row[block * cells + cell], row[cell] = 1, -10.0
            below.append(row)
    cost = np.zeros(cells * (1 + measures))
    cost[(0 if leak.quantity < SUMS else leak.quantity - SUMS + 1) * cells + leak.cell] = -direction
    solved = linprog(
        cost,
        A_ub=below or None,
        b_ub=[-10.0 * one for one in lacking[: len(below)]] or None,
        A_eq=equal,
        b_eq=sides,
        bounds=least,
    )
    return -direction * solved.fun
