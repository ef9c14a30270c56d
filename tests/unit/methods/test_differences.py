"""What a table gives away by subtracting its own cells."""

import numpy as np
import pytest

from sdcgate.methods.cells import Axis
from sdcgate.methods.tables.differences import line_residuals

SITE = Axis("site", "site", ("1", "2", "3", "_T"), (3, 3, 3, -1))
SEX = Axis("sex", "sex", ("f", "m", "_T"), (2, 2, -1))
# 1 and 2 are together "12", which with 3 is the total.
NESTED = Axis("site", "site", ("1", "2", "3", "12", "_T"), (3, 3, 4, 4, -1))


def residuals(axes, unknown, cells):
    mask = np.zeros(cells, dtype=np.bool_)
    mask[list(unknown)] = True
    return [(parent, parts.tolist()) for parent, parts in line_residuals(axes, mask)]


def test_a_table_that_shows_everything_has_no_residual():
    assert residuals((SITE, SEX), (), 12) == []


def test_one_withheld_cell_is_known_from_its_row_and_once_only():
    assert [parts for _, parts in residuals((SITE, SEX), (0,), 12)] == [[0]]


def test_a_block_of_four_gives_two_rows_and_two_columns():
    found = residuals((SITE, SEX), (0, 1, 3, 4), 12)
    assert found == [(9, [0, 3]), (10, [1, 4]), (2, [0, 1]), (5, [3, 4])]


def test_a_sum_whose_total_does_not_leave_gives_nothing():
    # With the row's total withheld as well, row 1 says nothing; its column of totals does.
    assert residuals((SITE, SEX), (0, 1, 2), 12) == [(9, [0]), (10, [1]), (11, [2])]


def test_nested_levels_are_sums_of_their_own():
    assert residuals((NESTED,), (0, 1), 5) == [(3, [0, 1])]
    assert residuals((NESTED,), (0, 1, 3), 5) == [(4, [3])]


def test_no_axis_has_no_sums_and_a_wrong_shape_is_an_error():
    assert residuals((), (0,), 1) == []
    with pytest.raises(ValueError, match="12 cells"):
        line_residuals((SITE, SEX), np.zeros(5, dtype=np.bool_))
