"""Filters divide a variable into atoms."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from people_by_region import MEN, NORTH, SOUTH, WEST, WOMEN, knowing, released
from sdcgate.facility import atoms
from sdcgate.facility.atoms import unsafe_atoms_told
from sdcgate.facility.inspector import Inspector
from sdcgate.methods.rules import Rules
from sdcgate.methods.tables.boxes import divided
from sdcgate.methods.tables.modular import unhurried


@given(st.lists(st.integers(0, 2**12 - 1), max_size=6))
def test_atoms_are_disjoint_cover_everything_and_make_up_every_filter(masks):
    parts = divided(2**12 - 1, masks)
    assert sum(parts) == 2**12 - 1
    assert all(a & b == 0 for i, a in enumerate(parts) for b in parts[:i])
    for mask in masks:
        assert sum(part for part in parts if part & mask) == mask


def test_two_halves_of_education_leave_those_whose_education_is_missing():
    assert sorted(divided(0b111111, [0b000111, 0b011000])) == [0b000111, 0b011000, 0b100000]


BY_SEX = {"sex": (WOMEN, MEN, 0b100, 0b111)}


def looked_at(monkeypatch, known, new):
    """The parts of a filter whose cells are looked up."""
    found = []
    real = atoms._divided_table

    def noting(table, variable, whole, parts):
        found.append((variable, parts))
        return real(table, variable, whole, parts)

    monkeypatch.setattr(atoms, "_divided_table", noting)
    inspector = Inspector(Rules(), 1, count=lambda *_: None, judge=lambda _: [])
    monkeypatch.setattr(Inspector, "unsafe", lambda self, regions, _: np.array([bool(regions)]))
    span, somebody = known.with_tables([new], unhurried), new.table.records > 0
    told = unsafe_atoms_told(new, known, span, inspector, somebody)
    return found, told


def test_of_filters_that_were_tables_before_only_what_they_leave_is_looked_up(monkeypatch):
    known = knowing(released(BY_SEX, region=NORTH), released(BY_SEX, region=SOUTH))
    found, told = looked_at(monkeypatch, known, released(BY_SEX, region=WEST))
    assert found == [("region", [WEST, 0b1000])]
    assert not told


def test_a_part_that_only_coarser_tables_had_is_looked_up(monkeypatch):
    known = knowing(
        released({"sex": (WOMEN | MEN, 0b111)}, region=NORTH), released(BY_SEX, region=SOUTH | WEST)
    )
    found, told = looked_at(monkeypatch, known, released(BY_SEX, region=SOUTH | NORTH | WEST))
    assert found == [("region", [NORTH, 0b1000])]
    assert told


def counted(monkeypatch, enough):
    """Groups of regions that are counted for a table by region, some cells of which have enough people."""
    known = knowing(released(BY_SEX))
    new = released({"region": (NORTH, SOUTH, WEST, 0b1000, 0b1111)})
    found = []

    def unsafe(_, regions, measures):
        found.extend(box for region in regions for box in region.inside)
        return np.zeros(len(regions), dtype=np.bool_)

    monkeypatch.setattr(Inspector, "unsafe", unsafe)
    inspector = Inspector(Rules(), 1, count=lambda *_: None, judge=lambda _: [])
    assert not unsafe_atoms_told(new, known, known.with_tables([new], unhurried), inspector, enough)
    return {mask for ((variable, mask),) in found if variable == "region"}


def test_groups_around_a_cell_with_enough_people_are_safe_without_being_counted(monkeypatch):
    rest = {0b1111 & ~NORTH, 0b1111 & ~SOUTH, 0b1111 & ~WEST}
    assert rest <= counted(monkeypatch, None)
    assert rest <= counted(monkeypatch, np.zeros(5, dtype=np.bool_))
    only_the_south = np.arange(5) == 1
    assert rest & counted(monkeypatch, only_the_south) == {0b1111 & ~SOUTH}
