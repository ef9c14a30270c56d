"""Regions of many boxes: what they have in common is looked up once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.engine import regions
from sdcgate.engine.regions import MANY_BOXES, _Boxes, _joined

SIZES = {"age": 5, "plan": 3, "sex": 2}


@st.composite
def boxes(draw: st.DrawFn) -> tuple[tuple[str, int], ...]:
    """A box: masks of some variables."""
    names = draw(st.sets(st.sampled_from(sorted(SIZES))))
    return tuple((name, draw(st.integers(0, 2 ** SIZES[name] - 1))) for name in sorted(names))


def every_combination() -> dict[str, np.ndarray]:
    grid = np.indices(tuple(SIZES.values())).reshape(len(SIZES), -1)
    return dict(zip(SIZES, grid, strict=True))


@given(st.lists(boxes(), max_size=60))
def test_many_boxes_hold_whom_any_of_them_holds(drawn):
    codes = every_combination()
    atoms = len(codes["age"])
    held = [
        any(all(mask >> int(codes[name][atom]) & 1 for name, mask in box) for box in drawn)
        for atom in range(atoms)
    ]
    assert _Boxes(codes, atoms).union(tuple(drawn)).tolist() == held
    assert _Boxes(codes, atoms).union(tuple(_joined(drawn))).tolist() == held


def test_codes_that_are_withheld_one_by_one_are_looked_up_together(monkeypatch):
    codes = np.arange(1000).repeat(3)
    looked_up = []

    def within(mask, own):
        looked_up.append(mask)
        return np.array([mask >> int(code) & 1 for code in own], dtype=np.bool_)

    monkeypatch.setattr(regions, "codes_within", within)
    withheld = tuple((("class", 1), ("job", 1 << code)) for code in range(0, 1000, 2))
    assert len(withheld) > MANY_BOXES
    found = _Boxes({"job": codes, "class": np.zeros(3000, dtype=np.int64)}, 3000).union(withheld)
    assert found.tolist() == (codes % 2 == 0).tolist()
    assert len(looked_up) == 2
