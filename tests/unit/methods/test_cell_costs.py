"""Costs by name: one a cell, its records, a sum, or how far it is from what has to be withheld."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from made_tables import at, axis, counts, facts, flags, problem, with_margins
from sdcgate.methods.cells import TOTAL, Axis, cell_codes
from sdcgate.methods.tables.cell_costs import CostKind, cell_costs, code_distances, distances_to
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.suppression import protect

REGIONS = Axis("a", "a", (TOTAL, "n", "s", "n1", "n2", "n3", "s1", "s2"), (-1, 0, 0, 1, 1, 1, 2, 2))


def test_parts_lie_apart_as_they_stand_and_a_total_as_far_as_it_has_parts():
    apart = code_distances(REGIONS)
    place = {code: number for number, code in enumerate(REGIONS.codes)}

    def between(one, other):
        return apart[place[one], place[other]]

    assert between("n1", "n2") == 1
    assert between("n1", "n3") == 2
    assert between("n", "n2") == 3
    assert between("s", "s1") == 2
    assert between("n", "s") == 1
    assert between("n1", "s2") == 3 + 1 + 2
    assert between(TOTAL, "n") == 2
    assert between(TOTAL, "s1") == 4
    assert np.array_equal(apart, apart.T)


def test_the_nearest_of_some_cells_is_found_over_all_classifications():
    axes = (REGIONS, axis("b", ["1", "2", "3", "4"]))
    rng = np.random.default_rng(5)
    cells = rng.random(8 * 5) < 0.15
    apart, codes = [code_distances(one) for one in axes], cell_codes(axes)
    of_all = [
        min(
            sum(int(one[codes[place, cell], codes[place, other]]) for place, one in enumerate(apart))
            for other in np.flatnonzero(cells)
        )
        for cell in range(40)
    ]
    assert distances_to(axes, cells).tolist() == of_all
    assert not distances_to(axes, np.zeros(40, dtype=np.bool_)).any()


def test_each_kind_charges_what_it_says_to_the_power():
    axes = [axis("a", ["0", "1", "2"])]
    of = facts([4, 9, 0, 13], [4, 9, 0, 13], {"x": [-30.0, 10.0, 0.0, -20.0]})
    unsafe = np.array([True, False, False, False])

    def charged(kind, power=1.0):
        return cell_costs(kind, tuple(axes), of, unsafe, power=power).tolist()

    assert charged(CostKind.RECORDS) == [5, 10, 1, 14]
    assert charged(CostKind.UNIT) == [1, 1, 1, 1]
    assert charged(CostKind.DISTANCE) == [1, 2, 3, 4]
    assert charged(CostKind.DISTANCE, 2.0) == [1, 4, 9, 16]
    assert charged(CostKind.VALUE) == pytest.approx([2000, 2000 / 3, 1, 4000 / 3])
    with pytest.raises(ValueError, match="no such measure"):
        cell_costs(CostKind.VALUE, tuple(axes), of, unsafe, measure=1)


def test_by_distance_cells_near_the_unsafe_one_are_withheld_though_they_are_large():
    inner = np.full((6, 6), 200)
    inner[0, 0] = 2
    inner[4:, 4:], inner[0, 5], inner[5, 0] = 5, 5, 5
    of = counts(inner)
    unsafe = flags(of, at(of, 0, 0))

    def withheld(kind):
        told = replace(of, costs=cell_costs(kind, of.axes, of.facts, unsafe))
        found = protect(told, unsafe, 10)
        assert found.proof is Proof.PROVED
        return np.flatnonzero(found.withheld).tolist()

    assert withheld(CostKind.RECORDS) == [at(of, *cell) for cell in product((0, 5), (0, 5))]
    assert withheld(CostKind.DISTANCE) == [at(of, *cell) for cell in product((0, 1), (0, 1))]


def test_by_value_small_sums_are_withheld():
    units = with_margins(np.full((3, 3), 20))
    sums = with_margins(np.array([[5.0, 900.0, 7.0], [800.0, 900.0, 700.0], [6.0, 800.0, 8.0]]))
    axes = [axis(name, ["0", "1", "2"]) for name in "ab"]
    of = problem(axes, facts(units, units, {"x": sums}))
    unsafe = flags(of, at(of, 0, 0))
    told = replace(of, costs=cell_costs(CostKind.VALUE, of.axes, of.facts, unsafe))
    found = protect(told, unsafe, 10)
    assert np.flatnonzero(found.withheld).tolist() == [at(of, *cell) for cell in product((0, 2), (0, 2))]
