"""Linear sensitivity measures, the rules that are such, coalitions, and waivers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sdcgate.methods.tables.linear_sensitivity import (
    LinearMeasure,
    dominance_measure,
    linear_sensitivity,
    linearly_sensitive,
    prior_posterior_measure,
)
from sdcgate.methods.tables.sensitivity import dominated, estimable

RANKS = 5


def ranked(*cells: list[float]) -> tuple[np.ndarray, np.ndarray]:
    largest = [[*sorted(cell, reverse=True), *[0.0] * RANKS][:RANKS] for cell in cells]
    return np.array(largest), np.array([float(sum(cell)) for cell in cells])


def coalition_knows(values: list[float], p: float, q: float, coalition: int) -> bool:
    """The rule by its words: some coalition estimates somebody to within p, others known to within q."""
    ordered = sorted(values, reverse=True)
    for target in range(len(ordered)):
        others = ordered[:target] + ordered[target + 1 :]
        if q * sum(others[coalition:]) <= p * ordered[target]:
            return True
    return False


values = st.lists(st.integers(1, 1000).map(float), min_size=1, max_size=8)
shares = st.sampled_from([0.05, 0.1, 0.2, 0.35, 0.5, 0.8])


def test_the_measure_of_the_paper_has_the_sign_of_its_equation() -> None:
    # Skinner 2.2.1, eq. (1): (p/100) y_(N) - (q/100) (y_(1) + ... + y_(N-2)) > 0.
    measure = prior_posterior_measure(0.3, 0.6)
    assert (measure.weights, measure.rest) == ((0.3, 0.0), -0.6)
    found = linear_sensitivity(measure, *ranked([280, 11, 10, 9, 9, 9, 8, 8, 8, 7, 7]))
    assert found.tolist() == pytest.approx([0.3 * 280 - 0.6 * 75])


@given(values, shares, st.integers(1, 3))
def test_dominance_is_a_linear_measure(cell: list[float], share: float, n: int) -> None:
    cells, measure = ranked(cell), dominance_measure(n, share)
    assume(abs(linear_sensitivity(measure, *cells)[0]) > 1e-6 * sum(cell))
    assert linearly_sensitive(measure, *cells) == dominated(*cells, n, share)


@given(values, shares, shares, st.integers(1, 3))
def test_the_prior_posterior_rule_is_a_linear_measure_and_what_its_words_say(
    cell: list[float], p: float, q: float, coalition: int
) -> None:
    cells, measure = ranked(cell), prior_posterior_measure(p, q, coalition)
    found = estimable(*cells, p, prior=q, coalition=coalition)[0]
    assume(abs(linear_sensitivity(measure, *cells)[0]) > 1e-6 * sum(cell))
    assert linearly_sensitive(measure, *cells)[0] == found
    assert found == coalition_knows(cell, p, q, coalition)


@given(values, shares, shares)
def test_p_percent_is_the_prior_posterior_rule_with_nothing_known_beforehand(
    cell: list[float], p: float, q: float
) -> None:
    cells = ranked(cell)
    assert estimable(*cells, p) == estimable(*cells, p, prior=1.0)
    # Only the ratio of p and q matters.
    assume(abs(p / q * max(cell) - (sum(cell) - sum(sorted(cell)[-2:]))) > 1e-6)
    assert estimable(*cells, p, prior=q) == estimable(*cells, p / q)


@given(values, shares, shares, shares, st.integers(1, 3))
def test_knowing_more_never_makes_a_cell_safe(
    cell: list[float], p: float, q: float, other: float, coalition: int
) -> None:
    cells, low, high = ranked(cell), min(q, other), max(q, other)
    assert estimable(*cells, p, prior=low)[0] >= estimable(*cells, p, prior=high)[0]
    more = estimable(*cells, p, prior=q, coalition=coalition + 1)[0]
    assert more >= estimable(*cells, p, prior=q, coalition=coalition)[0]
    assert estimable(*cells, high, prior=0.5)[0] >= estimable(*cells, low, prior=0.5)[0]


falling = st.lists(st.floats(-1, 1), min_size=1, max_size=4).map(lambda w: sorted(w, reverse=True))


@given(values, values, falling)
def test_two_cells_that_are_safe_are_safe_together(
    one: list[float], other: list[float], weights: list[float]
) -> None:
    assume(weights[0] > 0)
    measure = LinearMeasure(tuple(weights), min(weights[-1], -0.01))
    apart = linear_sensitivity(measure, *ranked(one, other)).sum()
    together = linear_sensitivity(measure, *ranked(one + other))[0]
    assert together <= apart + 1e-9 * sum(one + other)


@given(st.lists(values, min_size=2, max_size=6), falling)
def test_units_that_are_one_respondent_never_make_a_cell_safe(
    holdings: list[list[float]], weights: list[float]
) -> None:
    assume(weights[0] > 0)
    measure = LinearMeasure(tuple(weights), min(weights[-1], -0.01))
    of_units = ranked([value for units in holdings for value in units])
    of_holdings = ranked([sum(units) for units in holdings])
    slack = 1e-9 * of_units[1][0]
    assert linear_sensitivity(measure, *of_holdings)[0] >= linear_sensitivity(measure, *of_units)[0] - slack


@given(values, falling, st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_unit_of_money_changes_nothing(cell: list[float], weights: list[float], scale: float) -> None:
    assume(weights[0] > 0)
    measure = LinearMeasure(tuple(weights), min(weights[-1], -0.01))
    scaled = [value * scale for value in cell]
    assert linearly_sensitive(measure, *ranked(cell)) == linearly_sensitive(measure, *ranked(scaled))
    found = linear_sensitivity(measure, *ranked(cell, scaled))
    assert found[1] == pytest.approx(scale * found[0])


def test_two_who_collude_estimate_what_one_alone_cannot() -> None:
    cell = ranked([100.0, 60, 50, 8])
    assert [bool(estimable(*cell, 0.1, coalition=m)[0]) for m in (1, 2, 3)] == [False, True, True]
    assert not estimable(*cell, 0.07, coalition=2)[0]


def test_a_coalition_of_all_others_knows_everything_and_asks_for_its_ranks() -> None:
    assert estimable(*ranked([10.0, 10, 10, 10]), 0.01, coalition=3).tolist() == [True]
    with pytest.raises(ValueError, match="at least 6 ranks"):
        estimable(*ranked([1.0]), 0.1, coalition=5)
    with pytest.raises(ValueError, match="at least 2 ranks"):
        linear_sensitivity(prior_posterior_measure(0.1), np.ones((1, 1)), np.ones(1))


def test_who_gave_a_waiver_makes_no_cell_sensitive_but_may_collude() -> None:
    # 900 waived: without him 40 is the largest to be protected, and 900 knows of it 20 + 10 only.
    largest, totals = ranked([900.0, 40, 20, 10], [900.0, 40, 1, 0.5], [900.0, 900, 1])
    unwaived = np.array([[40.0, 20, 10, 0, 0], [40.0, 1, 0.5, 0, 0], [0.0] * 5])
    assert estimable(largest, totals, 0.1).tolist() == [True, True, True]
    assert estimable(largest, totals, 0.1, unwaived=unwaived).tolist() == [False, True, False]


@given(st.lists(st.tuples(st.integers(1, 50), st.booleans()), min_size=2, max_size=7), shares)
def test_a_waiver_protects_only_who_gave_none(units: list[tuple[int, bool]], p: float) -> None:
    values = [float(value) for value, _ in units]
    largest, totals = ranked(values)
    unwaived, _ = ranked([float(value) for value, waived in units if not waived])
    found = estimable(largest, totals, p, unwaived=unwaived)[0]
    expected = False
    for place, (value, waived) in enumerate(units):
        others = sorted(values[:place] + values[place + 1 :], reverse=True)
        expected |= not waived and sum(others[1:]) <= p * value * (1 + 1e-12)
    assert found == expected
    assert found <= estimable(largest, totals, p)[0]


def test_zeros_and_nobody_are_not_sensitive_and_nan_is() -> None:
    measure = dominance_measure(1, 0.5)
    assert linearly_sensitive(measure, *ranked([0.0, 0.0], [])).tolist() == [False, False]
    assert linearly_sensitive(measure, np.array([[np.nan, 1.0]]), np.array([3.0])).tolist() == [True]


@pytest.mark.parametrize(
    ("weights", "rest", "message"),
    [
        ((), -1.0, "at least one weight"),
        ((1.0, np.nan), -1.0, "finite"),
        ((1.0,), 0.0, "rest must be negative"),
        ((0.0,), -1.0, "largest contributor must be positive"),
        ((0.5, 0.7), -1.0, "must not rise"),
        ((0.5, -2.0), -1.0, "must not rise"),
    ],
)
def test_weights_under_which_safe_cells_add_up_to_an_unsafe_one_are_no_measure(
    weights: tuple[float, ...], rest: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        LinearMeasure(weights, rest)
