from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.cells import MISSING, TOTAL, Axis
from sdcgate.methods.tables.group_disclosure import group_disclosing, group_widths

SITE = Axis("site", "site", ("1", "2", TOTAL), (2, 2, -1), identifying=True)
ILLNESS = Axis(
    "illness", "illness", ("none", "flu", "cancer", MISSING, TOTAL), (4, 4, 4, 4, -1), sensitive=True
)


def unsafe(axes: tuple[Axis, ...], units: list[int] | list[list[int]], share: float) -> list[list[bool]]:
    found = group_disclosing(axes, np.array(units).reshape(-1), share)
    return found.reshape(-1, len(axes[-1].codes)).tolist()


def test_where_everybody_has_the_same_the_whole_line_is_unsafe_zeros_too_but_not_its_total() -> None:
    units = [[0, 40, 0, 0, 40], [20, 10, 10, 0, 40], [20, 50, 10, 0, 80]]
    assert unsafe((SITE, ILLNESS), units, 1.0) == [[True] * 4 + [False], [False] * 5, [False] * 5]


def test_the_share_counts_from_the_bound_on() -> None:
    units = [[36, 3, 1, 0, 40], [35, 3, 2, 0, 40], [71, 6, 3, 0, 80]]
    assert [line[0] for line in unsafe((SITE, ILLNESS), units, 0.9)] == [True, False, False]


def test_margins_are_lines_as_well() -> None:
    units = [[0, 89, 5, 0, 94], [0, 95, 0, 0, 95], [0, 184, 5, 0, 189]]
    assert [line[0] for line in unsafe((SITE, ILLNESS), units, 0.97)] == [False, True, True]


def test_an_empty_line_and_a_line_of_missing_values_are_safe() -> None:
    units = [[0, 0, 0, 0, 0], [0, 0, 0, 40, 40], [0, 0, 0, 40, 40]]
    assert not np.array(unsafe((SITE, ILLNESS), units, 0.9)).any()


def test_nobody_is_judged_along_an_axis_that_is_not_sensitive() -> None:
    units = [[0, 40, 0, 0, 40], [0, 0, 0, 0, 0], [0, 40, 0, 0, 40]]
    axes = (SITE, Axis("plan", "plan", ILLNESS.codes, ILLNESS.parents))
    assert not np.array(unsafe(axes, units, 1.0)).any()


def test_lines_run_along_the_sensitive_axis_wherever_it_stands() -> None:
    units = np.array([[0, 40, 0, 0, 40], [20, 10, 10, 0, 40], [20, 50, 10, 0, 80]])
    turned = group_disclosing((ILLNESS, SITE), units.T.reshape(-1), 1.0).reshape(5, 3)
    assert turned.T.tolist() == unsafe((SITE, ILLNESS), units.tolist(), 1.0)


def test_a_group_of_codes_is_a_category_too() -> None:
    nested = Axis("illness", "x", ("lung", "skin", "cancer", "none", TOTAL), (2, 2, 4, 4, -1), sensitive=True)
    assert unsafe((nested,), [20, 20, 40, 0, 40], 1.0) == [[True, True, True, True, False]]


def test_without_a_total_the_codes_that_are_part_of_none_make_the_line() -> None:
    nested = Axis("illness", "x", ("lung", "skin", "cancer", "none"), (2, 2, -1, -1), sensitive=True)
    assert unsafe((nested,), [20, 16, 36, 4], 0.9) == [[True] * 4]
    assert unsafe((nested,), [20, 15, 35, 5], 0.9) == [[False] * 4]


def test_where_units_have_several_codes_the_total_counts_not_the_sum_of_the_parts() -> None:
    # All forty had flu in some year, twenty also something else.
    assert unsafe((ILLNESS,), [20, 40, 0, 0, 40], 0.9) == [[True] * 4 + [False]]


def test_units_that_do_not_fit_the_axes_are_rejected() -> None:
    with pytest.raises(ValueError, match="15 cells"):
        group_disclosing((SITE, ILLNESS), np.zeros(14, dtype=np.int64), 0.9)


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4), st.floats(0.05, 1))
def test_a_line_is_unsafe_exactly_if_a_category_has_the_share_of_who_answered(
    counts: list[int], share: float
) -> None:
    answered = sum(counts[:3])
    reached = answered > 0 and max(counts[:3]) >= share * answered * (1 - 1e-9)
    assert unsafe((ILLNESS,), [*counts, sum(counts)], share) == [[reached] * 4 + [False]]


def test_a_code_that_it_does_no_harm_to_have_discloses_nothing() -> None:
    total = (2, 2, -1)
    site = Axis("site", "site", ("1", "2", "_T"), total, identifying=True)
    ill = Axis("ill", "ill", ("no", "yes", "_T"), total, sensitive=True, harmless=("no",))
    units = np.array([99, 1, 100, 1, 99, 100, 100, 100, 200])
    unsafe = group_disclosing((site, ill), units, 0.9).reshape(3, 3)
    assert unsafe.tolist() == [[False, False, False], [True, True, False], [False, False, False]]


SICK = replace(ILLNESS, harmless=("none",))


def test_a_line_in_which_nobody_is_healthy_is_unsafe_whatever_they_have() -> None:
    units = [[0, 20, 20, 0, 40], [5, 20, 15, 0, 40], [5, 40, 35, 0, 80]]
    assert unsafe((SITE, SICK), units, 0.9) == [[True] * 4 + [False], [False] * 5, [True] * 4 + [False]]


def test_who_did_not_answer_makes_no_line_safe() -> None:
    units = [[0, 20, 0, 20, 40], [20, 20, 0, 0, 40], [20, 40, 0, 20, 80]]
    assert unsafe((SITE, SICK), units, 0.9) == [[True] * 4 + [False], [False] * 5, [False] * 5]


def test_an_illness_that_all_have_who_answered_is_told_without_any_harmless_code() -> None:
    assert unsafe((ILLNESS,), [0, 20, 0, 20, 40], 0.9) == [[True] * 4 + [False]]


def test_codes_that_all_do_harm_are_no_class_where_there_are_no_others() -> None:
    assert unsafe((ILLNESS,), [20, 20, 10, 0, 50], 0.9) == [[False] * 5]


def test_a_code_of_a_coarser_level_is_a_class_of_the_finer_one() -> None:
    parents = (4,) * 4 + (-1,)
    faith = Axis("faith", "church", ("roman", "old", "reformed", "sunni", TOTAL), parents, sensitive=True)
    units = [[20, 18, 1, 1, 40], [20, 1, 18, 1, 40], [40, 19, 19, 2, 80]]
    assert not np.array(unsafe((SITE, faith), units, 0.9)).any()
    catholic = replace(faith, classes=((0, 1),))
    assert unsafe((SITE, catholic), units, 0.9) == [[True] * 4 + [False], [False] * 5, [False] * 5]


def test_that_nobody_can_be_healthy_tells_nothing_but_one_illness_of_all_still_does() -> None:
    impossible = np.array([True, False, False, False, False])
    for counts, told in (([0, 20, 20, 0, 40], False), ([0, 39, 1, 0, 40], True)):
        found = group_disclosing((SICK,), np.array(counts), 0.9, impossible)
        assert found.tolist() == [told] * 4 + [False]


def test_where_people_fell_ill_and_got_well_the_union_is_who_was_never_well() -> None:
    # Thirty of forty were well in some year, all of them ill in another one: of these nothing is told.
    assert unsafe((SICK,), [30, 25, 25, 0, 40], 0.9) == [[False] * 5]
    assert unsafe((SICK,), [3, 25, 25, 0, 40], 0.9) == [[True] * 4 + [False]]


def test_a_line_asks_for_as_many_units_as_make_its_union_safe() -> None:
    assert group_widths((SICK,), np.array([0, 20, 20, 0, 40]), 0.9).tolist() == [5, 5, 5, 5, 0]


@given(st.lists(st.integers(0, 50), min_size=4, max_size=4), st.floats(0.05, 1))
def test_the_finer_level_is_as_unsafe_as_the_coarse_one(counts: list[int], share: float) -> None:
    status = Axis(
        "ill", "status", ("well", "ill", MISSING, TOTAL), (3, 3, 3, -1), sensitive=True, harmless=("well",)
    )
    well, flu, gout, missing = counts
    coarse = group_disclosing((status,), np.array([well, flu + gout, missing, sum(counts)]), share)
    assert unsafe((SICK,), [*counts, sum(counts)], share)[0][0] == coarse[0]
