import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.outputs.problems import ModelProblemError
from sdcgate.methods.outputs.survival import survival_curve


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=120), st.integers(2, 12))
def test_no_interval_tells_of_fewer_units_than_asked(people: list[tuple[int, bool]], fewest: int) -> None:
    times, events = np.array([t for t, _ in people], dtype=float), np.array([e for _, e in people])
    try:
        curve = survival_curve(times, events, fewest)
    except ModelProblemError:
        return
    assert np.all(curve.events >= fewest)
    assert np.all((curve.left == 0) | (curve.left >= fewest))
    for after in (events.sum() - curve.events.sum(), (~events).sum() - curve.left.sum()):
        assert after == 0 or after >= fewest
    np.testing.assert_array_equal(curve.at_risk[1:], (curve.at_risk - curve.events - curve.left)[:-1])
    assert curve.at_risk[0] == len(people)
    assert np.all((curve.survival >= 0) & (curve.survival < 1))
    assert np.all(np.isfinite(curve.survival_errors) & np.isfinite(curve.hazard_errors))


def test_taking_times_together_changes_the_curve_little() -> None:
    rng = np.random.default_rng(6)
    times, ends = np.ceil(rng.exponential(20, 4000)), np.ceil(rng.exponential(30, 4000))
    observed, events = np.minimum(times, ends), times <= ends
    fine, coarse = survival_curve(observed, events), survival_curve(observed, events, 200)
    assert coarse.coarsened
    assert len(coarse.ends) < len(fine.ends) / 2
    at = np.searchsorted(fine.ends, coarse.ends)
    np.testing.assert_allclose(coarse.survival, fine.survival[at], atol=0.02)


def test_the_last_with_the_event_are_taken_into_a_step_where_they_are_few() -> None:
    """Sixty are observed longer, which hides no one: how many of all have the event is no secret."""
    times = np.repeat([1.0, 2.0, 3.0, 9.0], [12, 12, 3, 60])
    curve = survival_curve(times, times < 9, 10)
    assert curve.ends.tolist() == [1, 3]
    assert curve.events.tolist() == [12, 15]


def test_the_last_who_leave_are_taken_into_a_step_where_they_are_few() -> None:
    """Eight of eleven leave before the third step, and three after it."""
    times = np.repeat([1.0, 2.0, 2.5, 3.0, 4.0, 5.0], [20, 20, 8, 20, 3, 20])
    curve = survival_curve(times, ~np.isin(times, (2.5, 4.0)), 5)
    assert curve.ends.tolist() == [1, 2, 5]
    assert curve.left.tolist() == [0, 0, 11]


def test_too_few_events_make_no_curve() -> None:
    with pytest.raises(ModelProblemError, match="too few units with the event"):
        survival_curve(np.arange(50.0), np.arange(50) < 9, 10)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_times_are_numbers_from_0(wrong: float) -> None:
    with pytest.raises(ModelProblemError, match="negative or no numbers"):
        survival_curve(np.array([1.0, wrong]), np.array([True, False]))
