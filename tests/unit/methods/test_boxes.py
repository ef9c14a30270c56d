"""A cell is the same set whatever table, level or filter it was asked by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import (
    EVERYBODY,
    NOBODY,
    BoxTable,
    codes_within,
    digest,
    intersection,
    is_inside,
    make_box,
)

FULL = {"age": 0b11111, "site": 0b1111, "sex": 0b111}


def table(axes, fixed=(), full=FULL, states=None, records=None, marks=None):
    cells = int(np.prod([len(masks) for _, masks in axes]))
    return BoxTable(
        axes=axes,
        fixed=fixed,
        full=full,
        states=np.full(cells, State.PUBLISHED) if states is None else np.array(states),
        records=np.zeros(cells, dtype=np.int64) if records is None else np.array(records),
        marks=np.zeros(cells, dtype=np.int64) if marks is None else np.array(marks),
    )


def test_a_total_does_not_restrict_and_missing_is_a_code_like_others():
    of_site = table((("site", (0b1, 0b10, 0b100, 0b1000, 0b1111)),))
    assert of_site.boxes() == [
        (("site", 0b1),),
        (("site", 0b10),),
        (("site", 0b100),),
        (("site", 0b1000),),
        EVERYBODY,
    ]


def test_no_filter_and_all_valid_codes_are_different_boxes():
    assert make_box([("age", 0b11111)], FULL) == EVERYBODY
    assert make_box([("age", 0b01111)], FULL) == (("age", 0b01111),)


def test_cells_run_row_major_and_variables_stand_in_alphabetical_order():
    crossed = table((("site", (0b1, 0b1111)), ("age", (0b11, 0b100, 0b11111))), fixed=(("sex", 0b1),))
    assert crossed.boxes() == [
        (("age", 0b11), ("sex", 1), ("site", 1)),
        (("age", 0b100), ("sex", 1), ("site", 1)),
        (("sex", 1), ("site", 1)),
        (("age", 0b11), ("sex", 1)),
        (("age", 0b100), ("sex", 1)),
        (("sex", 1),),
    ]
    assert [crossed.box(cell) for cell in range(len(crossed))] == crossed.boxes()


def test_a_table_without_axes_is_one_cell():
    assert table((), fixed=(("sex", 0b10),)).boxes() == [(("sex", 0b10),)]
    assert table(()).boxes() == [EVERYBODY] == [table(()).box(0)]


def test_a_filter_and_a_code_give_the_same_box_and_digest():
    by_filter = table((("age", (0b1, 0b11111)),), fixed=(("sex", 0b1),)).box(1)
    by_code = table((("sex", (0b1, 0b111)),)).box(0)
    assert by_filter == by_code
    assert digest(by_filter, b"key") == digest(by_code, b"key")
    assert len(digest(by_code, b"key")) == 16
    assert digest(by_code, b"key") != digest(by_code, b"other key")
    assert digest(EVERYBODY, b"key") != digest(NOBODY, b"key") != digest(by_code, b"key")


def test_a_digest_needs_a_key():
    with pytest.raises(ValueError, match="1 to 64 bytes"):
        digest(EVERYBODY, b"")


def test_every_impossible_restriction_is_the_same_empty_box():
    assert make_box([("age", 0b1), ("age", 0b10)], FULL) == NOBODY
    assert intersection((("age", 1), ("sex", 1)), (("age", 2),)) == NOBODY
    assert table((("age", (0b0, 0b11)),), fixed=(("sex", 0b1),)).boxes()[0] == NOBODY
    assert is_inside(NOBODY, (("age", 1),))


def test_all_that_is_wrong_with_a_table_is_said_at_once():
    with pytest.raises(ValueError, match="variable age stands more than once") as error:
        table((("age", (1, 31)), ("age", (1, 31))), fixed=(("sex", 8), ("race", 1)), states=[1])
    text = str(error.value)
    assert "variable sex: a mask has bits that are none of its codes" in text
    assert "variable race: its full mask must be given" in text
    assert "states: 4 cells, but an array of shape (1,)" in text


def test_what_is_confidential_is_not_in_the_repr():
    shown = repr(table((("sex", (1, 7)),), records=[4711, 4712], marks=[815, 816]))
    assert "4711" not in shown
    assert "815" not in shown


masks = st.lists(st.integers(0, 31), min_size=1, max_size=4).map(tuple)


@given(masks, masks, st.integers(1, 7), st.integers(0, (1 << 62) - 1))
def test_a_blob_gives_the_table_back(age, site, sex, mark):
    axes = (("age", age), ("site", tuple(mask & 15 for mask in site)))
    cells = len(age) * len(site)
    before = table(axes, (("sex", sex),), records=np.arange(cells), marks=np.full(cells, mark))
    after = BoxTable.from_bytes(before.to_bytes())
    assert after.axes == before.axes
    assert after.fixed == before.fixed
    assert after.full == FULL
    assert after.boxes() == before.boxes()
    for name in ("states", "records", "marks"):
        assert np.array_equal(getattr(after, name), getattr(before, name))


def test_masks_of_more_than_64_codes_survive_the_blob():
    full = {"age": (1 << 120) - 1}
    old = table((("age", (1 << 118, full["age"])),), full=full, records=[1, 2])
    assert BoxTable.from_bytes(old.to_bytes()).box(0) == (("age", 1 << 118),)


@pytest.mark.parametrize("broken", [b"", b"nothing of ours, whatever it is", None, "cut", "version"])
def test_a_blob_that_is_not_ours_is_refused(broken):
    blob = table((("sex", (1, 7)),)).to_bytes()
    if broken is None:
        broken = blob[:16] + b"x" + blob[17:]
    elif broken == "cut":
        broken = blob[:-1]
    elif broken == "version":
        broken = blob[:6] + b"\x09" + blob[7:]
    with pytest.raises(ValueError, match="boxes of a table"):
        BoxTable.from_bytes(broken)


@given(st.integers(0, 2**130), st.lists(st.integers(0, 200), max_size=20))
def test_a_mask_takes_in_the_codes_whose_bits_it_has(mask, codes):
    assert codes_within(mask, np.array(codes, dtype=np.int64)).tolist() == [
        bool(mask >> code & 1) for code in codes
    ]
