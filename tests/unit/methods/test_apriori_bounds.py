"""Between what a cell's records and units lie, as boxes around it and within it have left."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.tables.apriori_bounds import apriori_bounds
from sdcgate.methods.tables.boxes import NOBODY, is_inside, make_box
from sdcgate.methods.tables.joint_boxes import RECORDS, SURELY, UNITS, Counts, JointBoxes
from sdcgate.methods.tables.panel_links import Panel

FULL = {"sex": 0b11, "region": 0b111, "wave": 0b11}
PANEL = Panel(frozenset({"wave"}), 2, "wave")
ONLY_RECORDS, ONLY_UNITS = RECORDS | RECORDS << SURELY, UNITS | UNITS << SURELY


def box(**masks):
    return make_box(masks.items(), FULL)


def bounds(cell, filters, *left, panel=PANEL):
    """The least and the most records and units of a cell."""
    found = apriori_bounds([cell], filters, JointBoxes().grown(left, []), panel, FULL)
    return [(float(low), float(high)) for low, high in zip(found.lower[:, 0], found.upper[:, 0], strict=True)]


def test_a_wave_has_no_more_records_nor_units_than_people_in_all_waves():
    everybody = (box(sex=1), Counts(28, 15, ONLY_UNITS))
    assert bounds(box(sex=1, wave=1), {"wave": 1}, everybody) == [(0, 15), (0, 15)]


def test_two_waves_have_twice_as_many_records_at_most():
    everybody = (box(sex=1, region=1), Counts(28, 15, ONLY_UNITS))
    cell = box(sex=1, region=1)
    assert bounds(cell, {"region": 1}, (box(sex=1), Counts(28, 15, ONLY_UNITS))) == [(0, 30), (0, 15)]
    assert bounds(cell, {"region": 1}, everybody) == [(15, 30), (15, 15)]


def test_where_units_are_records_they_bound_both():
    assert bounds(box(sex=1, region=1), {"region": 1}, (box(sex=1), Counts(9, 9)), panel=None) == [
        (0, 9),
        (0, 9),
    ]


def test_records_alone_bound_units_too():
    within = (box(sex=1, wave=2), Counts(7, 7, ONLY_RECORDS))
    assert bounds(box(sex=1), {}, within) == [(7, np.inf), (7, np.inf)]
    both = (box(sex=1, region=1), Counts(7, 4, ONLY_RECORDS))
    assert bounds(box(sex=1), {}, both) == [(7, np.inf), (4, np.inf)]


def test_a_wider_filter_on_the_same_variable_bounds_as_well_and_another_cell_does_not():
    left = [(box(sex=1, region=0b11), Counts(12, 12)), (box(sex=2, region=1), Counts(1, 1))]
    assert bounds(box(sex=1, region=1), {"region": 1}, *left) == [(0, 12), (0, 12)]
    assert bounds(box(sex=1, region=0b100), {"region": 0b100}, *left) == [(0, np.inf), (0, np.inf)]


def test_only_bounds_that_are_close_and_leave_room_are_told_apart():
    left = JointBoxes().grown([(box(sex=1), Counts(28, 15)), (box(sex=2), Counts(90, 50))], [])
    cells = [box(sex=1, wave=1), box(sex=2, wave=1)]
    found = apriori_bounds(cells, {"wave": 1}, left, PANEL, FULL)
    below, above = found.closer_than(10, np.array([[13.0, 20.0], [13.0, 20.0]]))
    assert above.tolist() == [[True, False]] * 2
    assert not below.any()
    # Fifteen people have some number from 0 to 15: what must vary by more was told before.
    assert not np.any(found.closer_than(16, np.array([[13.0, 20.0], [13.0, 20.0]]))[1][:, 0])


masks = {"sex": st.integers(1, 3), "region": st.integers(1, 7), "wave": st.integers(1, 3)}
boxes = st.fixed_dictionaries(masks).map(lambda own: box(**own))
people = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.sampled_from([1, 2, 4]), st.integers(1, 3)), max_size=12
)


@given(people, st.lists(st.tuples(boxes, st.sampled_from([ONLY_RECORDS, ONLY_UNITS])), max_size=8), boxes)
def test_the_truth_lies_between_the_bounds_whatever_has_left(persons, left, cell):
    """Each person has a sex, a region and the waves they took part in."""

    def true(of):
        inside = [
            sum(is_inside(box(sex=sex, region=region, wave=wave), of) for wave in (1, 2) if waves & wave)
            for sex, region, waves in persons
        ]
        return Counts(sum(inside), sum(many > 0 for many in inside))

    shown = [(of, true(of)._replace(told=told)) for of, told in left]
    filters = {name: mask for name, mask in cell if name != "sex"}
    truth = true(cell)
    for (low, high), value in zip(bounds(cell, filters, *shown), (truth.records, truth.units), strict=True):
        assert low <= value <= high


def test_of_a_cell_that_nobody_can_be_in_nothing_is_known():
    assert bounds(NOBODY, {"region": 1}, (box(sex=1), Counts(5, 5))) == [(0, np.inf)] * 2
