"""Filters divide a variable into atoms."""

from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.tables.boxes import divided


@given(st.lists(st.integers(0, 2**12 - 1), max_size=6))
def test_atoms_are_disjoint_cover_everything_and_make_up_every_filter(masks):
    parts = divided(2**12 - 1, masks)
    assert sum(parts) == 2**12 - 1
    assert all(a & b == 0 for i, a in enumerate(parts) for b in parts[:i])
    for mask in masks:
        assert sum(part for part in parts if part & mask) == mask


def test_two_halves_of_education_leave_those_whose_education_is_missing():
    assert sorted(divided(0b111111, [0b000111, 0b011000])) == [0b000111, 0b011000, 0b100000]
