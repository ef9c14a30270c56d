import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.cells import MISSING, TOTAL, Axis
from sdcgate.methods.tables.group_disclosure import group_disclosing

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
    units = [[36, 2, 1, 1, 40], [35, 2, 2, 1, 40], [71, 4, 3, 2, 80]]
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
def test_a_line_is_unsafe_exactly_if_a_category_reaches_the_share(counts: list[int], share: float) -> None:
    total = sum(counts)
    reached = total > 0 and max(counts[:3]) >= share * total * (1 - 1e-9)
    assert unsafe((ILLNESS,), [*counts, total], share) == [[reached] * 4 + [False]]


def test_a_code_that_it_does_no_harm_to_have_discloses_nothing() -> None:
    total = (2, 2, -1)
    site = Axis("site", "site", ("1", "2", "_T"), total, identifying=True)
    ill = Axis("ill", "ill", ("no", "yes", "_T"), total, sensitive=True, harmless=("no",))
    units = np.array([99, 1, 100, 1, 99, 100, 100, 100, 200])
    unsafe = group_disclosing((site, ill), units, 0.9).reshape(3, 3)
    assert unsafe.tolist() == [[False, False, False], [True, True, False], [False, False, False]]
