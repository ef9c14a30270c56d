"""Cells that anybody can compute from released cells by adding and subtracting, and cells that nobody can."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import EVERYBODY, NOBODY, BoxTable, make_box
from sdcgate.methods.tables.span import Span, SpanBudget, SpanBudgetExceeded

FULL = {"site": 0b1111111, "plan": 0b111111, "sex": 0b111, "age": (1 << 67) - 1, "educ": 0b11111}


def span(full=FULL, **budget):
    return Span(full, rng=np.random.default_rng(7), budget=SpanBudget(**budget))


def box(full=FULL, **masks):
    return make_box(masks.items(), full)


def only(boxes, target):
    """Whether the target can be computed from the boxes."""
    released = span()
    released.add(boxes)
    return bool(released.contains([target])[0])


def table(axes, fixed=(), full=FULL, withheld=()):
    cells = int(np.prod([len(masks) for _, masks in axes]))
    states = np.full(cells, State.PUBLISHED)
    states[list(withheld)] = State.WITHHELD
    nothing = np.zeros(cells, dtype=np.int64)
    return BoxTable(axes, fixed, full, states, nothing, nothing)


def single_codes(name, full=FULL):
    return (name, (*(1 << code for code in range(full[name].bit_length())), full[name]))


# Attacks


def test_three_overlapping_groupings_give_one_category():
    groups = [box(site=0b011), box(site=0b110), box(site=0b101)]
    assert only(groups, box(site=0b001))
    assert not only(groups[:2], box(site=0b001))


def test_four_groupings_in_a_ring_give_no_category():
    # a+b, b+c, c+d, d+a: an even ring leaves one degree of freedom.
    ring = [box(site=0b0011), box(site=0b0110), box(site=0b1100), box(site=0b1001)]
    assert not only(ring, box(site=0b0001))


def test_nested_filters_give_what_lies_between():
    outer, inner = box(age=(1 << 40) - 1, sex=1), box(age=(1 << 39) - 1, sex=1)
    assert only([outer, inner], box(age=1 << 39, sex=1))
    assert not only([outer, inner], box(age=1 << 39))


def test_an_individual_tracker_pads_a_small_set():
    # C = A and not B is released as A and as A with B; padding hides it in larger counts (Denning 1979).
    a, a_and_b, b = box(sex=1), box(sex=1, site=0b1111110), box(site=0b1111110)
    assert only([a, a_and_b], box(sex=1, site=1))
    assert only([EVERYBODY, a, b, a_and_b], box(sex=0b110, site=1))
    assert not only([EVERYBODY, a, b], box(sex=1, site=1))


def test_all_groups_but_one_give_the_one():
    others = [box(plan=1 << code) for code in range(1, 6)]
    assert only([EVERYBODY, *others], box(plan=1))
    assert not only(others, box(plan=1))


def test_all_against_all_valid_codes_gives_the_missing():
    assert only([box(site=4), box(site=4, educ=0b01111)], box(site=4, educ=0b10000))
    assert not only([box(site=4), box(site=4, educ=0b01111)], box(educ=0b10000))


def test_ages_in_overlapping_bands_give_two_years():
    upto_nine, upto_seventeen, ten_to_nineteen = (1 << 10) - 1, (1 << 18) - 1, ((1 << 10) - 1) << 10
    bands = [box(age=upto_nine), box(age=upto_seventeen), box(age=ten_to_nineteen)]
    assert only(bands, box(age=0b11 << 18))
    assert only(bands, box(age=0xFF << 10))
    assert not only(bands, box(age=1 << 18))


def test_margins_and_all_inner_cells_but_one_give_it_across_tables():
    released = span()
    released.add_table(table((single_codes("site"), single_codes("plan")), withheld=(8, 9, 15, 16)))
    target = box(site=0b10, plan=0b10)
    assert not released.contains([target])[0]
    # A later one-dimensional table with a filter shows one of the four: the block falls.
    released.add_table(table((single_codes("site"),), fixed=(("plan", 0b10),), withheld=(1, 2)))
    assert not released.contains([target])[0]
    released.add([box(site=0b100, plan=0b100)])
    assert released.contains([target])[0]


def test_a_block_of_four_withheld_cells_is_bounded_but_not_in_the_span():
    released = span()
    shown = table((single_codes("site"), single_codes("plan")), withheld=(8, 9, 15, 16))
    released.add_table(shown)
    boxes = shown.boxes()
    assert released.contains([boxes[cell] for cell in (8, 9, 15, 16)]).tolist() == [False] * 4
    assert released.contains([box for cell, box in enumerate(boxes) if cell not in (8, 9, 15, 16)]).all()
    # Two of them in one line are: their line's total minus the rest.
    assert released.contains([box(site=0b10, plan=0b110)])[0]


def test_one_withheld_cell_of_a_table_with_margins_is_in_the_span():
    released = span()
    released.add_table(table((single_codes("sex"), single_codes("educ")), withheld=(7,)))
    assert released.contains([box(sex=0b10, educ=0b10)])[0]


def test_three_two_way_margins_do_not_give_the_three_way_cells():
    released = span()
    for pair in (("site", "plan"), ("plan", "sex"), ("site", "sex")):
        released.add_table(table(tuple(single_codes(name) for name in pair)))
    assert not released.contains([box(site=1, plan=1, sex=1)])[0]
    released.add_table(table(tuple(map(single_codes, ("site", "plan"))), fixed=(("sex", 1),)))
    released.add_table(table(tuple(map(single_codes, ("site", "plan"))), fixed=(("sex", 2),)))
    assert released.contains([box(site=1, plan=1, sex=4)])[0]


def test_nobody_can_always_be_computed_and_nothing_can_from_nothing():
    assert span().contains([NOBODY, EVERYBODY, box(sex=1)]).tolist() == [True, False, False]
    assert span().contains([]).tolist() == []


# Exactness


def dense(one, full):
    """The indicator of a box over the whole joint domain."""
    masks = dict(one)
    lines = [
        [masks.get(name, whole) >> code & 1 for code in range(whole.bit_length())]
        for name, whole in full.items()
    ]
    return [int(all(cell)) for cell in product(*lines)]


def rational_rank(rows):
    rows = [[Fraction(value) for value in row] for row in rows]
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            if rows[i][column]:
                factor = rows[i][column] / rows[rank][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


@st.composite
def small_worlds(draw):
    full = {name: (1 << draw(st.integers(1, 3))) - 1 for name in "abc"}
    boxes = st.builds(
        lambda *masks: make_box(zip("abc", masks, strict=True), full),
        *(st.integers(1, full[name]) for name in "abc"),
    )
    return full, draw(st.lists(boxes, min_size=1, max_size=10)), draw(st.lists(boxes, min_size=1, max_size=6))


@settings(max_examples=150, deadline=None)
@given(small_worlds(), st.integers(0, 10), st.integers(0, 1000))
def test_the_span_is_that_of_dense_rational_elimination(world, cut, seed):
    full, released, targets = world
    incremental = Span(full, rng=np.random.default_rng(seed))
    incremental.add(released[:cut])
    incremental.contains(targets)
    incremental.copy().add(targets)
    incremental.add(released[cut:])
    rows = [dense(one, full) for one in released]
    rank = rational_rank(rows)
    assert incremental.rank == rank
    expected = [rational_rank([*rows, dense(target, full)]) == rank for target in targets]
    assert incremental.contains(targets).tolist() == expected


@settings(max_examples=200, deadline=None)
@given(small_worlds(), st.lists(st.integers(0, 10), min_size=2, max_size=4), st.integers(0, 1000))
def test_a_watched_box_is_caught_when_it_comes_into_the_span_and_not_before(world, cuts, seed):
    full, released, targets = world
    cuts = sorted(cuts)
    incremental = Span(full, rng=np.random.default_rng(seed))
    # Watched cells stand in a table of their own, as withheld ones do.
    target = targets[0]
    axes = tuple((name, (mask,)) for name, mask in target)
    nothing = np.zeros(1, dtype=np.int64)
    alone = BoxTable(axes, (), full, np.full(1, State.WITHHELD), nothing, nothing)
    for start, end in zip([0, *cuts], [*cuts, None], strict=True):
        incremental.add(released[start:end])
        if start == 0:
            incremental.add_table(alone, watched=np.ones(1, dtype=np.bool_))
        rows = [dense(one, full) for one in released[:end]]
        assert incremental.caught == (rational_rank([*rows, dense(target, full)]) == rational_rank(rows))
        assert incremental.contains([target])[0] == incremental.caught
        assert incremental.rank == rational_rank(rows)


def test_every_combination_that_needs_a_large_denominator_is_found():
    # Complements of single codes: code i is (sum of all) / (n - 1) minus its complement, for n codes.
    n = 40
    full = {"v": (1 << n) - 1}
    released = Span(full, rng=np.random.default_rng(3))
    released.add([(("v", full["v"] & ~(1 << code)),) for code in range(n)])
    assert released.rank == n
    assert released.contains([(("v", 1 << code),) for code in range(n)]).all()


def test_more_terms_than_the_first_points_keep_their_coordinates():
    full = {"u": (1 << 41) - 1, "v": (1 << 41) - 1}
    released = Span(full, rng=np.random.default_rng(3))
    for code in range(40):
        released.add([(("u", 1 << code), ("v", 1 << other)) for other in range(0, 40, 5)])
    assert released.rank == 320
    every_fifth = sum(1 << other for other in range(0, 40, 5))
    valid = (1 << 40) - 1
    assert released.contains([(("u", valid), ("v", every_fifth))])[0]
    assert not released.contains([(("u", valid), ("v", every_fifth | 2))])[0]


def test_wide_masks_of_many_codes_cost_no_more_than_narrow_ones():
    full = dict.fromkeys(("age", "income", "wage"), (1 << 67) - 1)
    released = Span(full, rng=np.random.default_rng(3))
    for name in full:
        released.add_table(table((single_codes(name, full),), full=full))
    sixty = (1 << 60) - 1
    wide = tuple((name, sixty) for name in full)
    released.add([wide, tuple((name, full[name] & ~(0b111111 << 10)) for name in full)])
    assert released.rank == 3 * 66 + 1 + 2
    assert released.contains([wide])[0]
    assert not released.contains([tuple((name, sixty >> 1) for name in full)])[0]
    assert released.numbers < 100_000


# Use


def test_a_trial_on_a_copy_leaves_the_span_alone():
    released = span()
    released.add([EVERYBODY, box(sex=1), box(sex=1, site=1)])
    trial = released.copy()
    trial.add([box(sex=2), box(sex=0b10, site=1), box(site=1)])
    assert trial.contains([box(sex=4), box(sex=4, site=1)]).tolist() == [True, True]
    assert released.contains([box(sex=4), box(sex=4, site=1)]).tolist() == [False, False]
    assert (released.rank, trial.rank) == (3, 6)
    released.add([box(sex=2)])
    assert released.contains([box(sex=4), box(sex=4, site=1)]).tolist() == [True, False]


def test_the_order_of_releases_does_not_matter():
    tables = [
        table((single_codes("site"), single_codes("sex")), withheld=(0, 1, 3, 4)),
        table((single_codes("sex"), single_codes("educ")), fixed=(("site", 0b11),)),
        table((single_codes("educ"), single_codes("plan"))),
    ]
    forward, backward = span(), span()
    for one in tables:
        forward.add_table(one)
    for one in reversed(tables):
        backward.add_table(one)
    targets = [one for released in tables for one in released.boxes()]
    assert forward.rank == backward.rank
    assert forward.contains(targets).tolist() == backward.contains(targets).tolist()


def test_variables_may_come_later_but_not_change():
    released = span({"sex": 0b111})
    released.add_table(table((single_codes("sex"),)))
    released.add_table(table((single_codes("educ"),), withheld=(1, 2)))
    assert released.contains([box(educ=0b110), box(educ=0b10)]).tolist() == [True, False]
    with pytest.raises(ValueError, match="variable sex"):
        released.know({"sex": 0b1111})


def test_over_budget_the_span_says_so_and_never_answers_again():
    released = span(operations=4)
    released.add([box(sex=1)])
    trial = released.copy()
    with pytest.raises(SpanBudgetExceeded):
        trial.add_table(table((single_codes("site"), single_codes("plan"))))
    with pytest.raises(SpanBudgetExceeded):
        trial.contains([box(sex=1)])
    with pytest.raises(SpanBudgetExceeded):
        trial.add([box(sex=2)])
    assert released.contains([box(sex=1)])[0]


def test_memory_and_terms_of_one_box_are_capped():
    released = span(numbers=3)
    with pytest.raises(SpanBudgetExceeded, match="memory"):
        released.add_table(table((single_codes("site"), single_codes("plan"))))
    names = [f"v{number:02}" for number in range(13)]
    many = Span(dict.fromkeys(names, 0b111), rng=np.random.default_rng(1))
    with pytest.raises(SpanBudgetExceeded, match="13 restricted variables"):
        many.add([tuple((name, 0b101) for name in names)])
    few = Span(dict.fromkeys(names, 0b111), rng=np.random.default_rng(1))
    few.add([tuple((name, 0b001) for name in names)])
    assert few.rank == 1


@pytest.mark.parametrize(
    "wrong", [(("sex", 0b111),), (("sex", 0),), (("race", 1),), (("site", 1), ("sex", 1))]
)
def test_a_box_in_another_form_is_an_error_and_is_not_silently_left_out(wrong):
    released = span()
    with pytest.raises(ValueError, match=r"variable|once"):
        released.add([wrong])
    with pytest.raises(SpanBudgetExceeded):
        released.contains([EVERYBODY])


def test_a_sum_with_factors_and_the_people_of_one_of_three_sites_tell_the_others():
    one, two, three = (box(site=1 << place) for place in range(3))
    known = span()
    known.add([box(site=0b111)])
    known.add_sums([[(one, 2), (two, 5), (three, 20)]])
    assert known.rank == 2
    assert known.contains([one, two, three]).tolist() == [False] * 3
    known.watch([three])
    assert not known.caught
    known.add([one])
    assert known.caught
    assert known.contains([one, two, three]).tolist() == [True] * 3


def test_sums_of_the_same_with_factors_in_the_same_ratio_are_one():
    known = span()
    one, two = box(site=1), box(site=2)
    known.add_sums([[(one, 2), (two, 5)], [(one, 4), (two, 10)], [(one, 3), (one, -3)]])
    assert known.rank == 1
