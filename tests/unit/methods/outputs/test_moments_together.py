"""What all moments of a group together tell of its outermost values: never less than an optimiser finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from sdcgate.methods.outputs.moments import TOGETHER, moment_bounds
from sdcgate.methods.outputs.moments_together import farthest, recurrence_of, recurrence_of_sums
from sdcgate.methods.outputs.sample import Sample

UNIT = 2**60


def sample_of(values) -> Sample:
    numbers = np.asarray(values, dtype=np.float64)
    return Sample(numbers, np.zeros(len(numbers), dtype=np.int64), np.arange(len(numbers)), 1)


def scaled(values) -> np.ndarray:
    """From -1 to 1 about their mean."""
    apart = np.asarray(values, dtype=np.float64)
    apart = apart - apart.mean()
    return apart / np.abs(apart).max()


def reach(values, degree: int = 2) -> float:
    numbers = scaled(values)
    found = recurrence_of(sample_of(numbers), np.ones(len(numbers)), degree)
    return float(farthest(found, np.array([numbers.max()]))[0])


def told_by_kurtosis(values, coalition: int = 1) -> float:
    bounds = {bound.name: bound.closeness[0] for bound in moment_bounds(sample_of(values), 4, coalition)}
    return float(bounds["kurtosis"])


def closeness_alone(values) -> float:
    return min(bound.closeness[0] for bound in moment_bounds(sample_of(values), 3, 0))


@pytest.mark.parametrize("seed", range(4))
def test_with_two_moments_it_is_the_bound_of_a_variance(seed) -> None:
    numbers = scaled(np.random.default_rng(seed).lognormal(size=15))

    assert reach(numbers, 1) == pytest.approx(np.sqrt(14 * np.mean(numbers**2)), rel=1e-9)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_no_distribution_with_the_same_moments_has_its_mass_farther_out(seed, degree) -> None:
    """A linear programme over masses at points of a grid has none beyond the bound, and some before it."""
    numbers = scaled(np.random.default_rng(seed).normal(size=12))
    bound, powers = reach(numbers, degree), np.arange(2 * degree + 1)
    moments = np.mean(numbers[:, None] ** powers, axis=0)

    def possible(at: float) -> bool:
        left = moments - at**powers / len(numbers)
        grid = np.union1d(np.linspace(-2.5, 2.5, 4_001), numbers)
        found = linprog(np.zeros(len(grid)), A_eq=(grid[:, None] ** powers).T, b_eq=left, method="highs")
        return bool(found.status == 0)

    assert not possible(bound + 0.01)
    assert possible(numbers.max() + 0.9 * (bound - numbers.max()))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 40), st.sampled_from([0.2, 1.0]))
def test_all_together_say_no_less_than_a_variance_and_never_exclude_the_truth(seed, count, spread) -> None:
    numbers = scaled(np.random.default_rng(seed).lognormal(0, spread, count))

    bounds = [reach(numbers, degree) for degree in (1, 2, 3)]

    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] >= numbers.max()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 400))
def test_sums_of_powers_say_what_values_say(seed, count) -> None:
    numbers = scaled(np.random.default_rng(seed).lognormal(0, 1, count))
    sums = [[int(sum(round(float(one) ** power * UNIT) for one in numbers))] for power in (2, 3, 4)]
    by_sums, by_values = (
        recurrence_of_sums([count], *sums, unit=UNIT),
        recurrence_of(sample_of(numbers), np.ones(count), 2),
    )

    for sign, own in ((1, numbers.max()), (-1, -numbers.min())):
        one, other = (found if sign > 0 else found.reflected for found in (by_sums, by_values))
        assert farthest(one, np.array([own])) == pytest.approx(farthest(other, np.array([own])), rel=1e-9)


@pytest.mark.parametrize("values", [[5.0] * 30, [0.0] * 12 + [1.0] * 18, [1.0] * 29 + [900.0]])
def test_one_value_or_two_are_told(values) -> None:
    assert told_by_kurtosis(values) == 0.0


def test_what_is_no_number_is_not_safe() -> None:
    nothing = recurrence_of_sums([3], [UNIT], [0], [UNIT], UNIT)
    broken = type(nothing)(nothing.records, nothing.centres * np.nan, nothing.steps)

    assert np.isnan(farthest(broken, np.array([1.0]))).all()


def test_a_group_of_twenty_is_told_where_no_moment_alone_tells() -> None:
    """The attack on figures that nobody protects: its greatest is bounded by all four within a tenth."""
    values = np.random.default_rng(7).uniform(20, 60, 20)
    apart = values - values.mean()
    alone = (apart**4).sum() ** 0.25 - apart.max()

    assert alone > 0.1 * values.max()
    assert closeness_alone(values) > 0.1
    assert told_by_kurtosis(values, 0) < 0.1


def test_amounts_do_not_matter() -> None:
    values = np.random.default_rng(3).lognormal(0, 0.5, 60)

    assert told_by_kurtosis(values * 1e12) == pytest.approx(told_by_kurtosis(values), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_of_hundreds_of_ordinary_people_kurtosis_leaves(seed) -> None:
    rng = np.random.default_rng(seed)

    assert told_by_kurtosis(rng.normal(50, 10, 400), 2) > 0.1
    assert told_by_kurtosis(rng.gamma(4, 10, 800), 2) > 0.1


def test_each_group_is_judged_by_its_own() -> None:
    rng = np.random.default_rng(1)
    parts = [rng.lognormal(0, 0.5, 30), rng.normal(9, 2, 200), np.array([1.0, 2.0])]
    groups = np.repeat([0, 1, 3], [len(part) for part in parts])
    together = Sample(np.concatenate(parts), groups, np.arange(len(groups)), 4)

    (found,) = (one.closeness for one in moment_bounds(together, TOGETHER, 1) if one.name == "kurtosis")

    assert found[[0, 1]] == pytest.approx([told_by_kurtosis(part) for part in parts[:2]])
    assert found[2] == found[3] == 0.0
