"""Sweeps: tables that move many withheld counts at once, with sums that fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made_tables import axis, problem, table
from sdcgate.methods.tables.intruder import Possibilities
from sdcgate.methods.tables.quantities import RECORDS, SUMS
from sdcgate.methods.tables.search import Search
from sdcgate.methods.tables.solver import Deadline
from sdcgate.methods.tables.sweeping import sweep
from sdcgate.methods.tables.witnesses import no_tables

BOUNDS = [(0.0, None), (None, None), (0.0, 200.0), (5.0, None), (-90.0, 400.0), (None, -1.0)]


def made(rng, size, low=0.0, high=None, missing=0.0):
    """Incomes of some five persons a cell in a table of which everything but the totals is withheld."""
    axes = [axis(name, [str(code) for code in range(size)]) for name in "ab"]
    people = 5 * size * size
    values = rng.lognormal(3.0, 1.0, people).round(2)
    values = -values if high is not None and high < 0 else values
    values = np.clip(values, -np.inf if low is None else low, np.inf if high is None else high)
    values[rng.random(people) < missing] = np.nan
    positions = rng.integers(0, size, (people, 2))
    facts = table(axes, positions, np.arange(people), {"x": values}, {"x": (low, high)})
    of = problem(axes, facts, units_additive=True, records_per_unit=1, count_width=10, zeros_withheld=True)
    inner = np.zeros((size + 1, size + 1), dtype=np.bool_)
    inner[:size, :size] = True
    return of, inner.reshape(-1) & (facts.records > 0)


@pytest.mark.parametrize("seed", range(6))
def test_counts_with_sums_beside_them_are_nearly_all_moved_by_few_tables(seed):
    of, withheld = made(np.random.default_rng(seed), 6)
    search = Search(of, withheld, no_tables(of))
    sweep(search, Deadline(60), sums=False)
    # Cells that had nobody at once left sums for no others: 5 to 29 of 36 stayed narrow.
    assert search.narrow()[RECORDS].sum() <= 4
    assert len(search.tables) >= 5


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1_000_000))
def test_beside_counts_within_their_bounds_every_true_sum_is_possible(seed):
    rng = np.random.default_rng(seed)
    low, high = BOUNDS[rng.integers(0, len(BOUNDS))]
    of, withheld = made(rng, 4, low, high, missing=float(rng.choice([0.0, 0.2])))
    counts, sums = (Possibilities(of, withheld, (quantity,)) for quantity in (RECORDS, SUMS))
    lower, upper = counts.beside_true_sums()
    least, most = counts.bounds()
    assert np.all((least <= lower) & (lower <= 0.0) & (upper >= 0.0) & (upper <= most))
    farthest = np.minimum(upper, 1_000.0)
    for moved in (lower, farthest, rng.integers(lower, farthest + 1)):
        beneath, above = sums.bounds(moved.astype(np.int64))
        assert np.all((beneath <= 1e-9) & (above >= -1e-9))
