"""Controlled and small-count rounding against an independent integer program and SmallCountRounding.

Zero-restricted controlled rounding, sum of absolute changes over all cells: optima of a model solved by HiGHS
through another interface, of tables of sdcTable 0.34 (microdata1), SSBtools (z1), Langsrud and Heldal (2018,
Table 2: exPSD) and a generated one.
"""

import numpy as np
import pytest

from made_tables import axis, with_margins
from sdcgate.methods.cells import leaf_cells
from sdcgate.methods.tables.controlled_rounding import Found, controlled_rounding
from sdcgate.methods.tables.small_counts import small_count_rounding
from sdcgate.methods.tables.utility import table_utility


def numbers(text, *shape):
    return np.array([int(number) for number in text.split()]).reshape(shape)


INNER = {
    "microdata1": numbers("18 2 14 19 12 10 11 14", 4, 2),
    "z1": numbers(
        "11 11 55 36 7 1 29 18 5 8 35 25 13 2 17 13 9 14 63 52 12 9 24 22 6 4 22 8 9 3 38 15", 8, 4
    ),
    "exPSD": numbers("6 0 1 3 4 1 2 3 1 2 0 1 1 0 2", 3, 5),
    "10x10": numbers(
        """
        19 8 64 73 28 51 187 3 71 2 17 90 10 27 25 9 2 175 2 13 34 81 44 37 12 58 57 130 1 69 10 11
        15 48 1 126 46 51 74 50 12 388 147 155 19 9 11 15 0 85 146 286 59 0 27 27 14 3 49 26 18 56
        126 39 47 23 29 28 28 22 53 125 16 138 26 26 3 6 73 15 78 38 1 129 34 3 3 91 247 34 20 12 61
        9 0 41 40 29 99 13
        """,
        10,
        10,
    ),
}
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


def table(name):
    inner = INNER[name]
    axes = tuple(axis(f"d{place}", list(map(str, range(size)))) for place, size in enumerate(inner.shape))
    return axes, with_margins(inner).reshape(-1)


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
