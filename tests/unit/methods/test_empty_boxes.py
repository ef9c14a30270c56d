"""Where a box was published to be empty, nobody is in any cell within it, and in no other for that reason."""

import pytest

from people_by_region import BY_REGION, FULL, MEN, NORTH, SOUTH, WEST, WOMEN, knowing, released
from sdcgate.methods.tables.boxes import make_box
from sdcgate.methods.tables.empty_boxes import within_empty
from sdcgate.methods.tables.modular import unhurried

BY_BOTH = {**BY_REGION, "sex": (WOMEN, MEN, 0b100, 0b111)}


def empty(**masks):
    return make_box(tuple(masks.items()), FULL)


@pytest.mark.parametrize(
    ("box", "cells"),
    [
        (empty(region=SOUTH), [4, 5, 6, 7]),
        (empty(region=SOUTH | WEST, sex=MEN), [5, 9]),
        (empty(sex=WOMEN | MEN), [0, 1, 4, 5, 8, 9, 12, 13, 16, 17]),
    ],
)
def test_cells_within_an_empty_box_are_found(box, cells):
    table = released(BY_BOTH).table
    assert [cell for cell, inside in enumerate(within_empty(table, [box])) if inside] == cells


def test_a_filter_must_lie_within_the_box_as_well():
    women = released(BY_REGION, sex=WOMEN).table
    assert within_empty(women, [empty(region=NORTH, sex=WOMEN)]).tolist() == [True, *[False] * 4]
    assert not within_empty(women, [empty(region=NORTH, sex=MEN)]).any()
    everybody = released(BY_REGION).table
    assert not within_empty(everybody, [empty(region=NORTH, sex=WOMEN)]).any()


def test_what_follows_from_an_empty_cell_is_known_too():
    known = knowing(released(BY_REGION))
    new = released(BY_BOTH)
    nowhere = known.derivable(new, unhurried)
    assert nowhere.reshape(5, 4)[:, 3].all()
    assert not nowhere.reshape(5, 4)[:, :3].any()
    # Were no women and none of unknown sex in the south, its men would be all of its people.
    cells = within_empty(new.table, [empty(region=SOUTH, sex=WOMEN | 0b100)])
    follows = known.derivable(new, unhurried, cells).reshape(5, 4)
    assert follows[1].all()
    assert not follows[0, :3].any()


def test_only_boxes_that_were_published_to_be_empty_count():
    nobody = {"region": (NORTH, SOUTH), "sex": (WOMEN,)}
    assert not knowing(released(nobody)).empty_cells(released(BY_BOTH).table).any()
