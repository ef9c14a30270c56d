"""Controlled tabular adjustment against optima of an independent program, and the example of tau-ARGUS.

Minimum distance, levels of 1 on both sides, zeros fixed: optima of a model solved by HiGHS through another
interface, of the tables of `peers_tables`. The example is of the tau-ARGUS manual 4.1, 2.13.
"""

import numpy as np
import pytest

from made_tables import axis, with_margins
from peers_tables import table
from sdcgate.methods.tables.adjustment import Demands, Weighting, controlled_adjustment
from sdcgate.methods.tables.controlled_rounding import Found
from sdcgate.methods.tables.protection_levels import Levels
from sdcgate.methods.tables.utility import table_utility

OPTIMA = [
    ("microdata1", 2, Weighting.UNIT, 4),
    ("microdata1", 2, Weighting.RELATIVE, 0.5822222222222222),
    ("z1", 3, Weighting.UNIT, 8),
    ("z1", 3, Weighting.RELATIVE, 1.9100306107017517),
    ("exPSD", 1, Weighting.UNIT, 8),
    ("exPSD", 1, Weighting.RELATIVE, 5.75),
    ("10x10", 3, Weighting.UNIT, 16),
    ("10x10", 3, Weighting.RELATIVE, 6.19093422741223),
]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("name", "largest", "weighting", "optimum"), OPTIMA)
def test_the_distance_is_the_optimum_of_an_independent_program(name, largest, weighting, optimum, whole):
    axes, values = table(name)
    values = values.astype(np.float64)
    unsafe = (values > 0) & (values <= largest)
    one = np.ones(len(values))
    found = controlled_adjustment(axes, values, Levels(one, one), unsafe, 20, weighting, whole=whole)
    assert found.found is Found.OPTIMAL
    assert found.distance == pytest.approx(optimum, rel=1e-9)
    assert found.least_distance == pytest.approx(optimum, rel=1e-6)
    assert np.all(np.abs(found.values - values)[unsafe] >= 1 - 1e-9)


@pytest.mark.parametrize("margin_share", [0.0, None])
def test_the_example_of_tau_argus_moves_four_cells_by_five(margin_share):
    inner = np.array([[20, 24, 28], [38, 38, 40], [40, 39, 42]])
    values = with_margins(inner).reshape(-1).astype(np.float64)
    axes = (axis("region", ["M1", "M2", "M3"]), axis("product", ["P1", "P2", "P3"]))
    unsafe = np.zeros(16, dtype=np.bool_)
    unsafe[6] = True
    five = np.full(16, 5.0)
    demands = Demands(margin_share=margin_share)
    found = controlled_adjustment(axes, values, Levels(five, five), unsafe, 10, demands=demands)
    assert (found.found, found.distance) == (Found.OPTIMAL, pytest.approx(20))
    assert np.abs(found.values[6] - 40) == pytest.approx(5)
    lost = table_utility(axes, values, found.values)
    assert lost.broken_relations == 0
    if margin_share == 0:
        assert (lost.moved_margins.any(), lost.inner_cells.changed) == (False, 4)
