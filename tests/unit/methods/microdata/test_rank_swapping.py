"""Rank swapping: how far values go, who is left out, what it costs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.microdata.rank_swapping import rank_swap
from sdcgate.methods.microdata.rank_swapping_loss import rank_swapping_loss

NUMBERS = st.lists(st.one_of(st.integers(0, 6).map(float), st.just(np.nan)), min_size=1, max_size=60)


@given(NUMBERS, st.floats(0.02, 1.0), st.integers(0, 2**32))
@settings(deadline=None)
def test_values_change_places_in_pairs_no_farther_apart_than_the_share(numbers, share, seed):
    values = np.array(numbers)
    present = int((~np.isnan(values)).sum())
    if int(share * present + 1e-9) < 1:
        with pytest.raises(ValueError, match="less than one rank"):
            rank_swap(values, share, np.random.default_rng(seed))
        return
    found = rank_swap(values, share, np.random.default_rng(seed))
    everybody = np.arange(len(values))
    assert (found.sources[found.sources] == everybody).all()
    moved = found.sources != everybody
    assert not np.isnan(values[moved]).any()
    assert (found.ranks[np.isnan(values)] == -1).all()
    apart = np.abs(found.ranks[found.sources] - found.ranks)
    assert apart.max() <= found.window <= share * present + 1e-9
    after = values[found.sources]
    assert np.sort(after[~np.isnan(after)]).tolist() == np.sort(values[~np.isnan(values)]).tolist()
    # Two that stay are farther apart than the window: the lower one would have taken the other.
    stayed = np.sort(found.ranks[~moved & (found.ranks >= 0)])
    assert (np.diff(stayed) > found.window).all()


def test_a_partner_is_drawn_evenly_from_those_within_the_window():
    values = np.arange(200.0)
    chance = np.random.default_rng(3)
    partners = [int(rank_swap(values, 0.05, chance).sources[0]) for _ in range(5000)]
    drawn = np.bincount(partners, minlength=12)
    assert drawn[0] == drawn[11:].sum() == 0
    assert np.abs(drawn[1:11] - 500).max() < 5 * np.sqrt(500)


def test_equal_values_are_ranked_at_random():
    values = np.array([1.0, 1.0, 1.0, 2.0])
    chance = np.random.default_rng(4)
    got = {int(np.flatnonzero(values[rank_swap(values, 0.25, chance).sources] == 2.0)[0]) for _ in range(50)}
    assert got == {0, 1, 2}


def test_the_report_says_how_far_values_went_and_what_became_of_correlations():
    chance = np.random.default_rng(5)
    first = chance.normal(size=2000)
    second = first + chance.normal(size=2000)
    second[:100] = np.nan
    values = [first, second]
    near = rank_swapping_loss(values, [rank_swap(one, 0.02, chance) for one in values])
    far = rank_swapping_loss(values, [rank_swap(one, 0.5, chance) for one in values])
    assert [one.values for one in near.variables] == [2000, 1900]
    assert [one.window for one in near.variables] == [40, 38]
    assert near.variables[0].correlation > 0.99 > far.variables[0].correlation
    assert near.variables[0].mean_rank_difference < 0.02 < far.variables[0].mean_rank_difference
    own = np.corrcoef(first[100:], second[100:])[0, 1]
    assert near.largest_correlation_change < 0.05 < far.largest_correlation_change < own
    assert near.mean_correlation_change == near.largest_correlation_change


def test_what_cannot_be_told_is_no_number():
    found = rank_swapping_loss([np.ones(9)], [rank_swap(np.ones(9), 1.0, np.random.default_rng(1))])
    assert found.variables[0].changed == 0
    assert np.isnan(found.variables[0].correlation)
    assert np.isnan(found.mean_correlation_change)


@pytest.mark.parametrize("share", [0.0, -0.1, 5.0, float("nan")])
def test_a_share_is_no_percentage(share):
    with pytest.raises(ValueError, match=r"0\.05 for 5%"):
        rank_swap(np.arange(100.0), share, np.random.default_rng(1))
