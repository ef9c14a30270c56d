"""The recommended estimate on populations that are known here."""

import numpy as np
import pytest

from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.loglinear import fit, key_table, main_effects, prior_share, refine
from sdcgate.methods.risk.recommendation import recommend

NAMES = ["design-based", "main effects", "all two-way", "all two-way, smoothed", "all three-way, smoothed"]


def classes(count, shape, number, rng):
    """People of latent classes, within which their values are independent."""
    of_class = rng.integers(0, number, count)
    columns = []
    for categories in shape:
        chances = rng.dirichlet(np.full(categories, 0.7), number).cumsum(axis=1)
        columns.append((rng.random(count)[:, None] > chances[of_class]).sum(axis=1).clip(max=categories - 1))
    return np.column_stack(columns)


def chain(count, shape, concentration, rng):
    """Each variable depends on the two before it together."""
    people = np.zeros((count, len(shape)), dtype=np.int64)
    for variable, categories in enumerate(shape):
        before = people[:, max(0, variable - 2) : variable]
        of_group = group_keys(before).group if variable else np.zeros(count, dtype=np.int64)
        base = rng.dirichlet(np.full(categories, 1.5)) * concentration * categories
        chances = rng.dirichlet(base + 0.02, of_group.max() + 1).cumsum(axis=1)
        people[:, variable] = (
            (rng.random(count)[:, None] > chances[of_group]).sum(axis=1).clip(max=categories - 1)
        )
    return people


def true_matches(people, chosen):
    keys = group_keys(people)
    own = group_keys(people[chosen])
    sizes = keys.counts[keys.group][chosen][own.first]
    return (1 / sizes[own.counts == 1]).sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_estimate_is_near_the_truth_where_the_design_based_one_is_far_off(seed):
    rng = np.random.default_rng(seed)
    people = classes(150_000, (3, 6, 9, 12, 8), 6, rng)
    chosen = rng.random(len(people)) < 0.03
    found = recommend(people[chosen], fraction=0.03)
    true = true_matches(people, chosen)
    assert found.tau_2 == pytest.approx(true, rel=0.2)
    assert found.interval[0] <= true <= found.interval[1]
    assert [candidate.name for candidate in found.candidates] == NAMES
    assert found.candidates[0].tau_2 < 0.85 * true
    assert f"About {found.tau_2:,.0f} of the {found.sample_uniques:,} sample uniques" in found.says


def test_risks_of_keys_add_up_to_the_estimate_and_are_no_larger_than_one_over_f():
    rng = np.random.default_rng(9)
    people = classes(60_000, (4, 6, 9, 8), 5, rng)
    chosen = rng.random(len(people)) < 0.05
    found = recommend(people[chosen], fraction=0.05)
    counts = group_keys(people[chosen]).counts
    assert found.risks[counts == 1].sum() == pytest.approx(found.tau_2, rel=1e-3)
    assert np.all(found.risks <= 1 / counts + 1e-15)


def test_unequal_inclusion_is_taken_from_the_weights():
    rng = np.random.default_rng(10)
    people = classes(150_000, (8, 6, 5, 12), 6, rng)
    inclusion = np.where(people[:, 0] < 4, 0.02, 0.2)
    chosen = rng.random(len(people)) < inclusion
    found = recommend(people[chosen], 1.0 / inclusion[chosen])
    assert found.tau_2 == pytest.approx(true_matches(people, chosen), rel=0.2)


def test_models_that_disagree_are_told_and_the_interval_spans_them():
    """Interactions of three variables in so many cells that the sample cannot show them."""
    rng = np.random.default_rng(11)
    people = np.column_stack([rng.integers(0, size, 300_000) for size in (10, 12, 15)])
    last = rng.dirichlet(np.full(20, 0.05), 1800).cumsum(axis=1)
    cell = np.ravel_multi_index(tuple(people.T), (10, 12, 15))
    fourth = (rng.random(300_000)[:, None] > last[cell]).sum(axis=1).clip(max=19)
    people = np.column_stack([people, fourth])
    chosen = rng.random(len(people)) < 0.01
    found = recommend(people[chosen], fraction=0.01)
    assert found.doubtful
    assert "treat the upper end as the estimate" in found.says
    assert found.interval[0] <= true_matches(people, chosen) <= found.interval[1]


def test_intervals_hold_where_more_records_share_a_key_than_the_model_expects():
    """With the variance that B_2 has under the model alone four of them miss the truth."""
    rng = np.random.default_rng(303)
    people = chain(200_000, (2, 4, 6, 7, 8, 9), 1.2, rng)
    for _ in range(24):
        chosen = rng.random(len(people)) < 0.03
        found = recommend(people[chosen], fraction=0.03)
        assert found.interval[0] <= true_matches(people, chosen) <= found.interval[1]


def test_of_a_census_the_matches_are_known_and_the_interval_has_no_width():
    found = recommend(classes(400, (4, 6, 9), 3, np.random.default_rng(13)), fraction=1.0)
    assert found.sample_uniques > 20
    assert found.tau_2 == found.interval[0] == found.interval[1] == found.sample_uniques


def test_margins_without_dependence_are_drawn_to_independence_and_clear_ones_are_kept():
    rng = np.random.default_rng(12)
    free = np.bincount(rng.integers(0, 40, 400) * 30 + rng.integers(0, 30, 400), minlength=1200).astype(float)
    expected = np.outer(free.reshape(40, 30).sum(1), free.reshape(40, 30).sum(0)).reshape(-1) / 400
    assert prior_share(free, expected) > 0.9
    clear = np.diag(np.full(10, 100.0)).reshape(-1)
    assert prior_share(clear, np.full(100, 10.0)) < 0.05


def test_refining_needs_a_fit_of_counts_and_an_order():
    table = key_table(np.array([[0, 1], [1, 0], [0, 0]]), fraction=0.5)
    simple = fit(table, main_effects(2))
    with pytest.raises(ValueError, match="order"):
        refine(table, simple, 1)
    with pytest.raises(ValueError, match="fit of the counts"):
        refine(table, fit(table, main_effects(2), pseudo=True), 2)
    assert refine(table, simple, 3).means == pytest.approx(simple.means)


@pytest.mark.parametrize("codes", [np.zeros((40, 3), dtype=np.int64), np.arange(30)[:, None]])
def test_files_of_one_key_and_of_uniques_alone_have_an_answer(codes):
    found = recommend(codes, fraction=0.1)
    assert 0.0 <= found.interval[0] <= found.tau_2 <= found.interval[1] <= len(codes)
    assert np.isfinite(found.risks).all()
