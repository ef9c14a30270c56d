"""What a model shows beside withheld cells: functions of published ones, whatever pattern and coding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.facility.model_fitting import with_references
from sdcgate.facility.model_plan import ImpliedTable
from sdcgate.facility.model_tables import JudgedTable, choose_references, codes_told, withheld_columns
from sdcgate.methods.cells import TOTAL, Axis, State, cell_codes, leaf_cells, number_of_cells
from sdcgate.methods.outputs.design import Records, build_design, matrix
from sdcgate.methods.outputs.formula_parser import parse_formula
from sdcgate.methods.outputs.vocabulary import Categorical, Level, Measured, Vocabulary

NAMES = ("a", "b", "c")


def axis(name: str, size: int) -> Axis:
    return Axis(name, name, (*(f"{name}{code}" for code in range(size)), TOTAL), (*[size] * size, -1))


def vocabulary(sizes) -> Vocabulary:
    variables = tuple(
        Categorical(name, (Level(name, tuple(f"{name}{code}" for code in range(size))),))
        for name, size in zip(NAMES, sizes, strict=False)
    )
    return Vocabulary(variables, (Measured("y"),))


def judged(sizes, withheld) -> JudgedTable:
    """A table of all factors; `withheld` are positions among its inner cells."""
    axes = tuple(axis(name, size) for name, size in zip(NAMES, sizes, strict=False))
    states = np.full(number_of_cells(axes), State.PUBLISHED, dtype=np.int64)
    inner = np.flatnonzero(leaf_cells(axes))
    states[inner[list(withheld)]] = State.WITHHELD
    factors = tuple((one.variable, one.level) for one in axes)
    units = np.full(number_of_cells(axes), 20, dtype=np.int64)
    return JudgedTable(ImpliedTable(None, factors), axes, states, units)


def shown_as_functions_of_cells(formula: str, table: JudgedTable, sizes):
    """Rows: shown coefficients of a model of the table, as functions of its inner cells' means."""
    words = vocabulary(sizes)
    references = choose_references([table], {})
    parsed = with_references(parse_formula(formula, words), references)
    design = build_design(parsed, words, codes_told([table]))
    inner = np.flatnonzero(leaf_cells(table.axes))
    codes = cell_codes(table.axes)[:, inner]
    records = Records(
        {(one.variable, one.level): codes[place] for place, one in enumerate(table.axes)}, {}, len(inner)
    )
    cells = matrix(design, words, records)
    coefficients = np.linalg.inv(cells)
    hidden = withheld_columns(design.columns, [table], references)
    return coefficients[~hidden], hidden, inner


@pytest.mark.parametrize("formula", ["y ~ a * b", "y ~ 0 + a:b", "y ~ a + a:b", "y ~ 0 + a * b"])
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_shown_coefficients_are_functions_of_published_cells(formula: str, data) -> None:
    sizes = data.draw(st.tuples(st.integers(2, 4), st.integers(2, 4)))
    cells = sizes[0] * sizes[1]
    withheld = data.draw(st.sets(st.integers(0, cells - 1), max_size=cells))
    table = judged(sizes, withheld)

    rows, _, inner = shown_as_functions_of_cells(formula, table, sizes)

    secret = table.states[inner] == State.WITHHELD
    assert np.abs(rows[:, secret]).max(initial=0.0) < 1e-9


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_with_three_factors_too(data) -> None:
    sizes = data.draw(st.tuples(*[st.integers(2, 3)] * 3))
    withheld = data.draw(st.sets(st.integers(0, int(np.prod(sizes)) - 1), max_size=5))
    table = judged(sizes, withheld)

    rows, _, inner = shown_as_functions_of_cells("y ~ a * b * c", table, sizes)

    secret = table.states[inner] == State.WITHHELD
    assert np.abs(rows[:, secret]).max(initial=0.0) < 1e-9


def test_where_nothing_is_withheld_everything_is_shown() -> None:
    table = judged((3, 4), ())
    _, hidden, _ = shown_as_functions_of_cells("y ~ a * b", table, (3, 4))
    assert not hidden.any()


def test_a_reference_that_is_withheld_is_not_chosen() -> None:
    table = judged((3, 2), (0, 1))
    states = table.states.reshape(4, 3)
    states[0, 2] = State.WITHHELD

    assert choose_references([table], {})["a", "a"] == "a1"
    assert choose_references([table], {("a", "a"): "a0"})["a", "a"] == "a0"
