"""The search for the least coarsening that passes: the same as trying everything, with less."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables.redesign import (
    DIGITS,
    CountEntropy,
    Ladder,
    code_entropy,
    collapsed,
    partition,
    refines,
    search_designs,
)

AGES = Ladder(((0, 1, 2, 3), (0, 0, 1, 1)))
SEXES = Ladder(((0, 1),))


def partitions(ladder):
    """All partitions that a ladder reaches."""
    reached, waiting = {ladder.levels[0]}, [ladder.levels[0]]
    while waiting:
        for step in ladder.coarser(waiting.pop()):
            if step not in reached:
                reached.add(step)
                waiting.append(step)
    return reached


def best_of_all(ladders, entropy, passes, wanted):
    """Tries every design."""
    every = product(*(partitions(ladder) for ladder in ladders))
    cells = {design: np.prod([max(one) + 1 for one in design]) for design in every}
    order = sorted(cells, key=lambda one: (-round(entropy(one), DIGITS), -cells[one], one))
    found = []
    for design in order:
        coarser = any(
            all(refines(one, other) for one, other in zip(better, design, strict=True)) for better in found
        )
        if not coarser and passes(design):
            found.append(design)
    return found[:wanted]


@st.composite
def ladders(draw):
    size = draw(st.integers(1, 5))
    levels = [tuple(range(size))]
    while len(levels) < 4 and draw(st.booleans()):
        join = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
        nested = draw(st.booleans())
        levels.append(partition([join[group] for group in levels[-1 if nested else 0]]))
    apart = frozenset({size - 1}) if draw(st.booleans()) else frozenset()
    return Ladder(tuple(levels), draw(st.booleans()), draw(st.booleans()), apart)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_the_search_finds_what_trying_everything_finds(data):
    chosen = data.draw(st.lists(ladders(), min_size=1, max_size=2))
    shape = [len(ladder.levels[0]) for ladder in chosen]
    drawn = st.lists(st.integers(0, 9), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
    counts = np.array(data.draw(drawn), dtype=np.float64).reshape(shape)
    least, share = data.draw(st.integers(1, 12)), data.draw(st.sampled_from([0.5, 0.8, 1.0]))

    def few(design):
        cells = collapsed(counts, design)
        return bool(((cells > 0) & (cells < least)).any())

    def passes(design):
        # The second rule is one that a coarsening of a safe design may break.
        cells = collapsed(counts, design)
        return not few(design) and bool(cells.max() <= share * cells.sum())

    entropy = CountEntropy(counts)
    expected = best_of_all(chosen, entropy, passes, 3)
    for hopeless in (None, few):
        found = search_designs(chosen, entropy, passes, hopeless=hopeless)
        assert [one.design for one in found.designs] == expected
        assert found.finished


def test_what_is_hopeless_is_never_judged():
    counts = np.array([[1, 30], [29, 40], [20, 20], [20, 20]], dtype=np.float64)
    asked = []

    def few(design):
        return bool((collapsed(counts, design) < 5).any())

    def passes(design):
        asked.append(design)
        return True

    found = search_designs([AGES, SEXES], CountEntropy(counts), passes, hopeless=few)
    assert asked == [one.design for one in found.designs]
    assert [one.design for one in found.designs] == [((0, 1, 2, 3), (0, 0)), ((0, 0, 1, 1), (0, 1))]


def test_the_loss_is_that_of_the_entropy_by_hand():
    (best,) = search_designs(
        [SEXES], CountEntropy(np.array([1.0, 3.0])), lambda one: one == ((0, 0),)
    ).designs
    assert (best.entropy, best.loss) == (0.0, 1.0)
    counts = np.array([2.0, 2.0, 2.0, 2.0])
    joined = search_designs([AGES], CountEntropy(counts), lambda one: max(one[0]) < 2).designs[0]
    assert (joined.entropy, joined.loss) == (1.0, 0.5)


def test_neighbours_are_joined_within_their_parent_only_and_the_missing_code_stays_apart():
    bands = Ladder(((0, 1, 2, 3, 4), (0, 0, 1, 1, 2)), mergeable=True, apart=frozenset({4}))
    assert set(bands.coarser((0, 1, 2, 3, 4))) == {
        (0, 0, 1, 1, 2),
        (0, 0, 1, 2, 3),
        (0, 1, 2, 2, 3),
        (0, 0, 0, 0, 0),
    }
    assert set(bands.coarser((0, 0, 1, 1, 2))) == {(0, 0, 0, 0, 1), (0, 0, 0, 0, 0)}


def test_a_dimension_that_must_stay_is_not_dropped():
    found = search_designs([Ladder(((0, 1),), droppable=False)], code_entropy, lambda _: False)
    assert (found.designs, found.judged, found.finished) == ((), 1, True)


def test_a_search_that_gives_up_says_so_and_keeps_what_it_found():
    entropy = CountEntropy(np.ones((4, 2)))
    found = search_designs([AGES, SEXES], entropy, lambda one: one[1] == (0, 0), most=3)
    assert not found.finished
    assert not search_designs([AGES, SEXES], entropy, lambda _: True, over=lambda: True).designs


def test_public_entropy_is_that_of_equal_counts():
    every = list(product(partitions(AGES), partitions(SEXES)))
    uniform = CountEntropy(np.ones((4, 2)))
    assert len(every) == 6
    for design in every:
        assert code_entropy(design) == pytest.approx(uniform(design), abs=1e-12)


def test_of_two_levels_that_do_not_nest_both_are_tried():
    ages = Ladder(((0, 1, 2, 3), (0, 0, 1, 1), (0, 1, 1, 1)), droppable=False)
    assert set(ages.coarser((0, 1, 2, 3))) == {(0, 0, 1, 1), (0, 1, 1, 1)}
    assert set(ages.coarser((0, 0, 1, 1))) == set()


def test_the_first_level_is_the_finest():
    with pytest.raises(ValueError, match="first"):
        Ladder(((0, 0, 1),))
