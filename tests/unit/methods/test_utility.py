"""What a changed table has lost."""

import numpy as np
import pytest

from made_tables import axis, with_margins
from sdcgate.methods.tables.utility import distances, table_utility

TRUE = with_margins(np.array([[4, 0], [1, 9]])).reshape(-1).astype(np.float64)
AXES = (axis("a", "12"), axis("b", "12"))


def test_an_untouched_table_has_lost_nothing():
    found = table_utility(AXES, TRUE, TRUE)
    assert (found.relations, found.broken_relations, found.largest_gap) == (6, 0, 0.0)
    assert found.all_cells.changed == 0
    assert found.all_cells.hellinger_utility == 1.0
    assert not found.moved_margins.any()


def test_a_cell_that_moved_alone_breaks_its_row_and_its_column():
    published = TRUE.copy()
    published[0] = 9
    found = table_utility(AXES, TRUE, published)
    assert (found.broken_relations, found.largest_gap, found.mean_gap) == (2, 5.0, 10 / 6)
    assert found.inner_cells.bias == 5 / 4
    assert found.inner_cells.mean_relative == pytest.approx((5 / 4) / 3)
    assert found.inner_cells.hellinger == pytest.approx(np.sqrt((3 - 2) ** 2 / 2))
    assert found.margins.changed == 0


def test_a_margin_that_moved_is_named():
    published = TRUE.copy()
    published[[0, -1]] = 15
    assert np.flatnonzero(table_utility(AXES, TRUE, published).moved_margins).tolist() == [8]


def test_zeros_that_are_false_and_cells_that_are_made_up_are_counted():
    found = distances(np.array([1.0, 0.0, 5.0]), np.array([0.0, 3.0, 5.0]))
    assert (found.false_zeros, found.false_positives, found.changed) == (1, 1, 2)


def test_what_has_no_meaning_is_no_number():
    found = distances(np.array([0.0, 0.0]), np.array([0.0, -1.0]))
    assert np.isnan([found.mean_relative, found.hellinger, found.hellinger_utility]).all()


def test_values_that_are_none_are_an_error():
    with pytest.raises(ValueError, match="finite"):
        table_utility(AXES, TRUE, np.full(9, np.nan))
    with pytest.raises(ValueError, match="9 cells"):
        table_utility(AXES, TRUE, TRUE[:4])
