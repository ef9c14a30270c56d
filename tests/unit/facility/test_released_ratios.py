"""Ratios that an answer told, as shares of boxes, and as the ledger keeps them."""

import numpy as np

from sdcgate.facility.released_ratios import NO_RATIOS, Ratios, one_each, together
from sdcgate.methods.tables.boxes import NOBODY

TOWN = (("town", 1),)
ILL, WELL = (("health", 1), *TOWN), (("health", 2), *TOWN)
BOXES = (ILL, WELL, NOBODY, TOWN)
RECORDS = np.array([5, 12, 0, 24])


def ratios(*cells, low=0.2, high=0.3):
    """The share of some cells in the last one."""
    return Ratios(
        np.array(cells), np.zeros(len(cells), dtype=int), np.array([3]), np.array([low]), np.array([high])
    )


def told(found):
    return [
        (one.part, one.whole, one.low, one.high, one.whole_records) for one in found.shares(BOXES, RECORDS)
    ]


def test_the_cells_of_a_ratio_are_one_box():
    assert told(ratios(0)) == [(ILL, TOWN, 0.2, 0.3, 24)]
    assert told(ratios(0, 1)) == [((("health", 3), *TOWN), TOWN, 0.2, 0.3, 24)]
    assert told(ratios(0, 3)) == [(TOWN, TOWN, 0.2, 0.3, 24)]


def test_a_code_that_nobody_has_adds_nobody():
    assert told(ratios(2, 0)) == told(ratios(0, 2)) == told(ratios(0))
    assert told(ratios(2)) == []


def test_several_are_kept_and_read_back_in_their_order():
    cells, ends = np.array([0, 1, 2]), np.array([0.25, 0.5, 0.0])
    chosen = one_each(cells, np.array([3, 3, 3]), ends, ends + 0.1, np.array([True, True, False]))
    both = together([chosen, NO_RATIOS, ratios(0, 1)])
    assert [one[0] for one in told(both)] == [ILL, WELL, (("health", 3), *TOWN)]
    assert told(Ratios.kept(both.message())) == told(both)
    assert NO_RATIOS.message() is None
    assert told(together([])) == []


def test_those_remain_of_which_every_cell_is_among_some():
    both = together([ratios(0, low=0.1), ratios(0, 1), ratios(1, low=0.2)])
    everything = np.ones(4, dtype=np.bool_)
    assert told(both.among(everything)) == told(both)
    without_ill, without_town = everything.copy(), everything.copy()
    without_ill[0], without_town[3] = False, False
    assert told(both.among(without_ill)) == [(WELL, TOWN, 0.2, 0.3, 24)]
    assert told(both.among(without_town)) == told(NO_RATIOS.among(everything)) == []
