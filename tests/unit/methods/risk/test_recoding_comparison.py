"""Recodings side by side: rows, the frontier, access levels, worst tables, and the best among them."""

import numpy as np
import pytest

from sdcgate.methods.risk import recoding_comparison
from sdcgate.methods.risk.microdata import KeyVariable, Microdata, by_units
from sdcgate.methods.risk.recoding import best_recoding, lattice, measure, worst_table
from sdcgate.methods.risk.recoding_comparison import AccessBound, ComparisonOptions, compare_recodings

PAIRS, HALVES, ALL = np.arange(12) // 2, np.arange(12) // 6, np.zeros(12, dtype=np.int64)
COARSER = (("pairs", PAIRS), ("halves", HALVES), ("all", ALL))
RECORDS = 90


def units(seed=3, variables=3, coarser=COARSER, **more):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 12, (RECORDS, variables))
    keys = tuple(KeyVariable(f"v{place}", coarser=coarser) for place in range(variables))
    given = {"weights": rng.uniform(5, 50, RECORDS), **more}
    return by_units(Microdata(keys, codes, **given))


def file_of(made):
    coarser = [[codes for _, codes in key.coarser] for key in made.keys]
    return lattice(made.codes, made.weights, coarser, made.interest)


def test_every_recoding_of_a_small_lattice_is_a_row():
    made = units()
    found = compare_recodings(made, ComparisonOptions(maximum_share=0.02))
    assert found.possible == len(found.rows) == 64
    assert found.levels[0] == ("v0", "pairs", "halves", "all")
    file = file_of(made)
    assert found.measured == tuple(measure(file, one.recoding) for one in found.measured)
    assert found.best == best_recoding(file, 0.02)
    assert 1 < found.evaluated < 64
    assert found.finished


def test_the_frontier_is_what_no_other_beats():
    found = compare_recodings(units(), ComparisonOptions())
    for row in found.rows:
        beaten = any(
            (other.expected_matches <= row.measured.expected_matches and other.entropy > row.measured.entropy)
            or (
                other.expected_matches < row.measured.expected_matches
                and other.entropy >= row.measured.entropy
            )
            for other in found.measured
        )
        assert row.frontier is not beaten
    assert found.rows[0].frontier


def test_the_widest_access_level_whose_bounds_hold_is_named():
    bounds = (AccessBound("public", 0.0), AccessBound("licensed", 0.05, 0.1), AccessBound("remote", 0.2))
    found = compare_recodings(units(), ComparisonOptions(access=bounds))
    for row in found.rows:
        share, maximum = row.measured.share, row.measured.maximum
        expected = (
            "public"
            if share == 0
            else "licensed"
            if share <= 0.05 and maximum <= 0.1
            else "remote"
            if share <= 0.2
            else ""
        )
        assert row.access == expected
    assert {row.access for row in found.rows} >= {"public", "licensed", "remote"}


def test_each_recoding_has_its_worst_table():
    made = units()
    found = compare_recodings(made, ComparisonOptions(table_dimensions=2))
    for row in found.rows[::9]:
        assert row.worst_table == worst_table(file_of(made), 2, row.measured.recoding)


def test_of_a_large_lattice_only_so_many_are_measured():
    found = compare_recodings(units(variables=4), ComparisonOptions(maximum_share=0.3, maximum_recodings=40))
    assert found.possible == 256
    assert len(found.rows) == 40
    assert found.rows[0].measured.recoding == (0, 0, 0, 0)
    assert found.best is not None
    given_up = compare_recodings(
        units(variables=4), ComparisonOptions(maximum_share=0.0, maximum_recodings=5)
    )
    assert (given_up.best, given_up.finished, given_up.evaluated) == (None, False, 5)


def test_of_a_large_file_fewer_recodings_are_measured_where_nobody_says_how_many(monkeypatch):
    monkeypatch.setattr(recoding_comparison, "LARGEST_COMPARISON", 5 * RECORDS)
    assert len(compare_recodings(units(), ComparisonOptions()).rows) == 5
    with pytest.raises(ValueError, match="at most 5 can be measured"):
        compare_recodings(units(), ComparisonOptions(maximum_recodings=6))


def test_population_uniques_are_those_that_the_design_lets_expect():
    made = units(weights=np.full(RECORDS, 4.0))
    row = compare_recodings(made, ComparisonOptions()).rows[0].measured
    assert row.population_uniques == pytest.approx(row.sample_uniques / 4)
    census = units(weights=None, fraction=1.0)
    row = compare_recodings(census, ComparisonOptions()).rows[0].measured
    assert row.population_uniques == row.sample_uniques


def test_the_variance_that_is_left_needs_no_scale():
    interest = np.random.default_rng(1).normal(size=RECORDS)
    plain, huge = (
        compare_recodings(units(interest=interest * scale + shift), ComparisonOptions()).measured[1]
        for scale, shift in ((1.0, 0.0), (1e300, 1e300))
    )
    assert 0 < plain.between_share < 1
    assert huge.between_share == pytest.approx(plain.between_share, rel=1e-9)


def test_the_units_variable_of_interest_is_the_mean_of_their_records():
    ids = np.arange(RECORDS) // 2
    codes = np.repeat(np.random.default_rng(2).integers(0, 12, (RECORDS // 2, 1)), 2, axis=0)
    made = by_units(
        Microdata((KeyVariable("v"),), codes, fraction=0.5, units=ids, interest=np.arange(RECORDS) * 1.0)
    )
    assert made.interest.tolist() == (np.arange(RECORDS // 2) * 2 + 0.5).tolist()


def test_whoever_asks_may_stop_it():
    class Enough(Exception):
        pass

    asked = []

    def heed():
        asked.append(1)
        if len(asked) == 7:
            raise Enough

    with pytest.raises(Enough):
        compare_recodings(units(), ComparisonOptions(maximum_share=0.0), heed)


@pytest.mark.parametrize(
    ("made", "options", "message"),
    [
        (units(weights=None), {}, "give a weight"),
        (units(), {"maximum_share": float("nan")}, "maximum_share must be 0 to 1"),
        (units(), {"maximum_recodings": 0, "table_dimensions": 4}, "recodings.*; table_dimensions must be 1"),
        (units(variables=60, coarser=()), {"table_dimensions": 20}, "there are .* tables"),
        (units(variables=8), {"maximum_recodings": 20_000, "table_dimensions": 1}, "at most 12500 can be"),
    ],
)
def test_what_cannot_be_compared_is_refused(made, options, message):
    with pytest.raises(ValueError, match=message):
        compare_recodings(made, ComparisonOptions(**options))


def test_waves_that_differ_are_refused():
    ids, waves = np.arange(RECORDS) // 2, np.tile([1, 2], RECORDS // 2)
    with pytest.raises(ValueError, match="vary between waves"):
        compare_recodings(units(units=ids, waves=waves), ComparisonOptions())
