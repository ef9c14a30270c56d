"""What units of single years tell of units in all of them."""

from sdcgate.methods.tables.boxes import make_box
from sdcgate.methods.tables.joint_boxes import RECORDS, SURELY, UNITS, Counts, JointBoxes
from sdcgate.methods.tables.joint_layers import told_by_layers
from sdcgate.methods.tables.panel_links import Panel

FULL = {"region": 0b11, "wave": 0b111}
PANEL = Panel(frozenset({"wave"}), 3, "wave")
ONLY_UNITS, ONLY_RECORDS = UNITS | UNITS << SURELY, RECORDS | RECORDS << SURELY


def box(wave: int, region: int = 1):
    return make_box([("region", region), ("wave", wave)], FULL)


def told(published, fresh=(), panel=PANEL):
    """Between what the units of the first region lie, by the box that tells it."""
    boxes = JointBoxes().grown(published, [])
    found = told_by_layers(boxes, panel, {"region"}, FULL, frozenset(fresh))
    assert all(one.parts == ((box(0b111), 1.0),) for one in found)
    return {one.told_by: one.between for one in found}


def test_there_are_as_many_units_as_in_any_wave_and_no_more_than_in_all_of_them():
    waves = [(box(1), Counts(7, 7)), (box(2), Counts(9, 9)), (box(4), Counts(4, 4))]
    ends = told(waves)
    assert [least for least, _ in ends.values()] == [9.0, 0.0]
    assert min(most for _, most in ends.values()) == 20.0


def test_records_tell_how_many_units_there_are_at_least_and_at_most():
    (ends,) = [*told([(box(0b111), Counts(10, 5, ONLY_RECORDS))]).values()]
    assert ends == (4.0, 10.0)
    # Without waves each unit has three records at most, wherever.
    (least, _), *_ = told([(box(1), Counts(7, 5, ONLY_RECORDS))], panel=Panel(PANEL.varying, 3)).values()
    assert least == 3.0
    (least, _), *_ = told([(box(1), Counts(7, 5, ONLY_RECORDS))]).values()
    assert least == 7.0


def test_where_no_most_is_known_none_is_said():
    """Twenty in hospital in one wave say nothing of how many thousands there are at most."""
    boxes = JointBoxes().grown([(make_box([("wave", 1)], FULL), Counts(20, 20, ONLY_UNITS))], [])
    (one,) = told_by_layers(boxes, PANEL, {"region"}, FULL, frozenset())
    assert one.between == (20.0, 1e6)


def test_nothing_is_said_of_units_that_left_themselves():
    waves = [(box(1), Counts(7, 7)), (box(0b111), Counts(12, 9, ONLY_UNITS))]
    assert told(waves) == {}


def test_what_fresh_boxes_tell_stands_beside_what_was_known():
    waves = [(box(1), Counts(7, 7)), (box(2), Counts(9, 9)), (box(4), Counts(8, 8))]
    least = {one: ends[0] for one, ends in told(waves, fresh=[box(2), box(4)]).items()}
    assert least[box(1)] == 7.0
    assert least[box(2)] == 9.0
    # Those of others tell no more; that no more are in all of them is told by fresh ones only.
    assert set(least) <= {box(1), box(2), box(4)}
    old = told(waves, fresh=[box(1)])
    assert old[box(2)][0] == 9.0
    assert old[box(1)][0] == 0.0


def test_other_variables_are_left_out():
    boxes = JointBoxes().grown([(box(1), Counts(7, 7))], [])
    assert told_by_layers(boxes, PANEL, set(), FULL, frozenset()) == []
