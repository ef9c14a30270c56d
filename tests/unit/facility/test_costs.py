"""Withholding a cell costs its records and those of its shares."""

import numpy as np

from sdcgate.facility.costs import costs


def test_a_cell_costs_its_records_and_one_where_no_percentage_is_asked():
    none = np.zeros((0, 3), dtype=np.int64)
    assert costs(np.array([1.0, 8.0, 8.0]), none).tolist() == [1, 8, 8]


def test_a_denominator_costs_what_falls_with_it():
    # All are shares of the last cell in one percentage, the first one is a share of the second in another.
    shares = np.array([[2, 2, 2], [1, 1, 2]])
    assert costs(np.array([4.0, 5.0, 8.0]), shares).tolist() == [4, 5 + 4, 8 + 4 + 5]
