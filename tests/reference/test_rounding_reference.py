"""Controlled and small-count rounding against an independent integer program and SmallCountRounding.

Zero-restricted controlled rounding, sum of absolute changes over all cells: optima of a model solved by HiGHS
through another interface, of tables of sdcTable 0.34 (microdata1), SSBtools (z1), Langsrud and Heldal (2018,
Table 2: exPSD) and a generated one.
"""

import numpy as np
import pytest

from peers_tables import table
from sdcgate.methods.cells import leaf_cells
from sdcgate.methods.tables.controlled_rounding import Found, controlled_rounding
from sdcgate.methods.tables.small_counts import small_count_rounding
from sdcgate.methods.tables.utility import table_utility

OPTIMA = [
    ("microdata1", 3, 12),
    ("microdata1", 5, 14),
    ("microdata1", 10, 38),
    ("z1", 3, 34),
    ("z1", 5, 60),
    ("z1", 10, 132),
    ("exPSD", 3, 16),
    ("exPSD", 5, 32),
    ("exPSD", 10, 62),
    ("10x10", 3, 86),
    ("10x10", 5, 156),
    ("10x10", 10, 300),
]


@pytest.mark.parametrize(("name", "base", "optimum"), OPTIMA)
def test_the_optimum_of_controlled_rounding_is_reached_and_proved(name, base, optimum):
    axes, counts = table(name)
    found = controlled_rounding(axes, counts.astype(np.float64), base, 10)
    assert (found.found, found.steps, found.distance) == (Found.OPTIMAL, 1, optimum)
    assert table_utility(axes, counts.astype(np.float64), found.values).broken_relations == 0


def test_small_count_rounding_does_as_well_as_the_published_table_and_proves_it():
    # Langsrud and Heldal publish the margins only: changes of 9 in all, 2 at most, utility 0.9409510327335.
    axes, counts = table("exPSD")
    found = small_count_rounding(axes, counts, 5, 10, ~leaf_cells(axes))
    assert (found.found, found.distance) == (Found.OPTIMAL, 9)
    margins = table_utility(axes, counts.astype(np.float64), found.values).margins
    assert margins.largest_absolute == 2
    assert margins.hellinger_utility == pytest.approx(0.9409510327335, abs=1e-12)
    assert margins.root_mean_square == pytest.approx(1.201850425155, abs=1e-12)
