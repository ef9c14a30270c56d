"""Noise in all tables together: a claim that a figure stays possible is held against whole populations."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.cell_key import fractions_of_keys, may_become, noise_of_counts
from sdcgate.methods.tables.noisy_boxes import (
    Atoms,
    NoisyTable,
    Room,
    answers_of,
    movable,
    only_multiple,
    room_of_counts,
    room_of_sums,
    within_reach,
)
from sdcgate.methods.tables.ptable import NoiseParameters, ptable

CODES = {"a": 3, "b": 2, "c": 2}
FULL = {name: (1 << codes) - 1 for name, codes in CODES.items()}
NARROW = ptable(NoiseParameters(1, 0.5))
"""So little noise that counts are often at the end of what is possible."""
People = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Asked:
    """A table: its axes, and filters."""

    axes: tuple[str, ...]
    fixed: tuple[tuple[str, int], ...]


@st.composite
def questions(draw) -> Asked:
    axes = tuple(draw(st.lists(st.sampled_from(sorted(CODES)), unique=True, max_size=2)))
    rest = [name for name in CODES if name not in axes]
    fixed = {
        name: draw(st.integers(1, FULL[name])) for name in draw(st.lists(st.sampled_from(rest), unique=True))
    }
    return Asked(axes, tuple(sorted((name, mask) for name, mask in fixed.items() if mask != FULL[name])))


def members(people: People, asked: Asked) -> list[frozenset[int]]:
    """Who is in each cell of a table with its totals."""
    options = [[1 << code for code in range(CODES[name])] + [FULL[name]] for name in asked.axes]
    found = []
    for masks in product(*options):
        wanted = [*zip(asked.axes, masks, strict=True), *asked.fixed]
        inside = [
            number
            for number, person in enumerate(people)
            if person and all(mask >> person["abc".index(name)] & 1 for name, mask in wanted)
        ]
        found.append(frozenset(inside))
    return found


def box_table(people: People, asked: Asked, state: State) -> BoxTable:
    cells = members(people, asked)
    axes = tuple((name, (*(1 << c for c in range(CODES[name])), FULL[name])) for name in asked.axes)
    marks = [sum(1 << number for number in cell) for cell in cells]
    return BoxTable(
        axes=axes,
        fixed=asked.fixed,
        full={name: FULL[name] for name in (*asked.axes, *(name for name, _ in asked.fixed))},
        states=np.full(len(cells), state, dtype=np.int64),
        records=np.array([len(cell) for cell in cells]),
        marks=np.array(marks),
    )


def noisy_table(people: People, asked: Asked, keys: np.ndarray) -> NoisyTable:
    cells = members(people, asked)
    true = np.array([len(cell) for cell in cells])
    # A hash of who is there stands for the keyed hash of the sum of keys.
    drawn = [
        np.random.default_rng([int(keys[0]), *sorted(cell)]).integers(2**64, dtype=np.uint64)
        for cell in cells
    ]
    noisy = true + noise_of_counts(true, fractions_of_keys(np.array(drawn)), NARROW)
    unsafe = (true > 0) & (true < 3)
    return NoisyTable("counts", box_table(people, asked, State.PERTURBED), true * 1.0, noisy * 1.0, unsafe)


def atoms_of(people: People) -> Atoms:
    codes, records = np.unique(np.array(people), axis=0, return_counts=True)
    return Atoms(tuple("abc"), codes, records)


def explains(
    people: People, noisy: list[tuple[Asked, NoisyTable]], exact: list[tuple[Asked, BoxTable]]
) -> bool:
    """Whether all that left may have come of other people, whatever their keys."""
    said: dict[frozenset[int], float] = {}
    for asked, table in noisy:
        for cell, told in zip(members(people, asked), table.noisy.tolist(), strict=True):
            if said.setdefault(cell, told) != told:
                return False
            if not may_become(np.array([len(cell)]), np.array([int(told)]), NARROW)[0]:
                return False
    return all([len(cell) for cell in members(people, asked)] == t.records.tolist() for asked, t in exact)


people_of_few_kinds = st.lists(
    st.tuples(*(st.integers(0, codes - 1) for codes in CODES.values())), min_size=2, max_size=9
).map(tuple)


@settings(max_examples=150, deadline=None)
@given(
    people_of_few_kinds,
    st.lists(questions(), min_size=1, max_size=3),
    st.lists(questions(), max_size=2),
    st.integers(0, 2**32),
)
def test_behind_what_left_there_is_a_whole_population_with_one_person_more_or_less(
    people, asked, known, seed
):
    noisy = [(question, noisy_table(people, question, np.array([seed]))) for question in asked]
    exact = [(question, box_table(people, question, State.PUBLISHED)) for question in known]
    atoms = atoms_of(people)
    tables = [table for _, table in noisy]
    boxes = [box for _, table in exact for box in table.boxes()]
    may = movable(room_of_counts(tables, atoms, NARROW), atoms, boxes, alone=True, sums_left=False)
    for kind in map(tuple, atoms.codes[may].tolist()):
        mine = people.index(kind)
        gone = [(*people[:n], (), *people[n + 1 :]) for n in range(len(people))]
        worlds = [(*people, kind), gone[mine]]
        worlds += [(*world, kind) for n, world in enumerate(gone) if people[n] != kind]
        worlds += [(*gone[mine], other) for other in set(people) - {kind}]
        assert any(explains(world, noisy, exact) for world in worlds)


@settings(max_examples=150, deadline=None)
@given(
    people_of_few_kinds,
    questions(),
    st.lists(questions(), max_size=2),
    st.lists(questions(), min_size=1, max_size=2),
    st.integers(0, 2**32),
)
def test_beside_exact_counts_there_is_a_population_in_which_a_cell_counts_one_more_or_less(
    people, cell_of, asked, known, seed
):
    noisy = [(question, noisy_table(people, question, np.array([seed]))) for question in (cell_of, *asked)]
    exact = [(question, box_table(people, question, State.PUBLISHED)) for question in known]
    atoms = atoms_of(people)
    boxes = [box for _, table in exact for box in table.boxes()]
    room = room_of_counts([table for _, table in noisy], atoms, NARROW)
    cells = members(people, cell_of)
    gone = [(*people[:n], (), *people[n + 1 :]) for n in range(len(people))]
    worlds = [(*world, kind) for world in (people, *gone) for kind in set(people)] + gone
    explained = [members(world, cell_of) for world in worlds if explains(world, noisy, exact)]
    for place, inside in enumerate(cells):
        within = (atoms.cells_of(noisy[0][1].table) == place).any(axis=1)
        if movable(room, atoms, boxes, True, False, within).any():
            assert any(len(world[place]) != len(inside) for world in explained)


def test_who_moves_within_a_cell_leaves_its_count_as_it_is():
    people = ((0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 0), (2, 0, 0), (2, 0, 0))
    atoms = atoms_of(people)
    taker_and_giver = Room(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    assert movable(taker_and_giver, atoms, ((),), alone=True, sums_left=False).tolist() == [True, True, False]
    for inside, moves in (([True, True, False], False), ([True, False, False], True)):
        within = np.array(inside)
        assert movable(taker_and_giver, atoms, ((),), True, False, within).any() == moves
        assert movable(taker_and_giver, atoms, (), True, False, within).any()


def test_a_count_at_the_end_of_what_is_possible_has_no_room_beyond():
    people = ((0, 0, 0),) * 6
    table = box_table(people, Asked((), ()), State.PERTURBED)
    for told, more, less in ((5, 0, 1), (6, 1, 1), (7, 1, 0)):
        noisy = NoisyTable("counts", table, np.array([6.0]), np.array([float(told)]), np.array([True]))
        room = room_of_counts([noisy], atoms_of(people), NARROW)
        assert (room.more[0], room.less[0]) == (more, less)


def test_one_person_alone_in_his_combination_is_not_taken_away():
    people = ((0, 0, 0), (1, 0, 0), (1, 0, 0))
    table = box_table(people, Asked(("a",), ()), State.PERTURBED)
    noisy = NoisyTable(
        "counts", table, table.records * 1.0, np.array([3.0, 4.0, 0.0, 5.0]), np.ones(4, dtype=bool)
    )
    atoms = atoms_of(people)
    room = room_of_counts([noisy], atoms, NARROW)
    fixed = type(room)(np.zeros(2), np.ones(2))
    assert movable(fixed, atoms, (), alone=True, sums_left=False).tolist() == [False, True]
    assert not movable(fixed, atoms, (), alone=False, sums_left=False).any()
    assert not movable(fixed, atoms, (), alone=True, sums_left=True).any()


def test_an_exact_count_is_kept_by_a_swap_within_it_or_not_at_all():
    people = ((0, 0, 0), (0, 0, 0), (1, 0, 0), (1, 0, 0), (2, 0, 0))
    atoms = atoms_of(people)
    free = type(room_of_counts([], atoms, NARROW))(np.ones(3), np.ones(3))
    everybody, first_two, last = (), (("a", 0b011),), (("a", 0b100),)
    may = [movable(free, atoms, exact, alone=True, sums_left=False).tolist() for exact in ((), (everybody,))]
    assert may == [[True] * 3, [True] * 3]
    assert movable(free, atoms, (first_two, last), alone=True, sums_left=False).tolist() == [
        True,
        True,
        False,
    ]


def test_a_sum_may_be_as_much_more_as_the_noise_of_every_sum_with_it_leaves():
    people = ((0, 0, 0), (1, 0, 0))
    table = box_table(people, Asked(("a",), ()), State.PERTURBED)
    noisy = NoisyTable(
        "income",
        table,
        np.array([100.0, 50.0, 0.0, 150.0]),
        np.array([90.0, 60.0, 0.0, 150.0]),
        np.ones(4, dtype=bool),
        np.array([30.0, 15.0, 0.0, 30.0]),
        np.array([10.0, 5.0, 1.0, 10.0]),
    )
    room = room_of_sums([noisy], atoms_of(people), 0.3)
    assert room.more.tolist() == [20.0, 25.0]
    assert room.less == pytest.approx([30 / 1.3, 5 / 1.3])
    assert within_reach(noisy, atoms_of(people), room.more).tolist() == [20.0, 25.0, -np.inf, 25.0]
    assert within_reach(noisy, atoms_of(people), room.more, every=True).tolist() == [
        20.0,
        25.0,
        -np.inf,
        20.0,
    ]


def test_answers_are_counted_once_a_population_and_for_those_who_are_in_it():
    people = ((0, 0, 0), (0, 1, 0), (1, 0, 0))
    by_a, again = (box_table(people, Asked(("a",), fixed), State.PERTURBED) for fixed in ((), (("c", 1),)))
    assert answers_of([by_a], atoms_of(people)).tolist() == [2, 2, 2]
    assert answers_of([by_a, again], atoms_of(people)).tolist() == [2, 2, 2]
    other = box_table(people, Asked((), (("b", 1),)), State.PERTURBED)
    assert answers_of([by_a, other], atoms_of(people)).tolist() == [3, 2, 3]


@pytest.mark.parametrize(("unit", "share"), [(1.0, 0.6), (0.1, 0.3), (1.0, 1.0)])
def test_sums_of_which_only_one_is_possible_are_found(unit, share):
    noisy = np.arange(1, 120) * unit / 20
    sums = np.arange(200) * unit
    possible = np.abs(noisy[:, None] - sums) <= share * sums * (1 + 1e-9)
    found = only_multiple(noisy, unit, share)
    # Those that nothing can have come from do not occur.
    assert np.array_equal(found, possible.sum(axis=1) <= 1)
    assert found.any() == (share < 1)
