"""The search goes from independence to a model that the criterion has nothing against, and says why."""

import numpy as np
import pytest

from sdcgate.methods.risk import forward_search as module
from sdcgate.methods.risk.forward_search import Ended, forward_search
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.loglinear import criteria, fit, key_table, main_effects, risk


def sample(population, fraction, rng):
    chosen = rng.random(len(population)) < fraction
    keys = group_keys(population)
    table = key_table(population[chosen], fraction=fraction)
    sizes = keys.counts[keys.group][chosen][table.keys.first]
    return table, (1 / sizes[table.keys.counts == 1]).sum()


def following(of, categories, rng):
    """A variable whose chances hang on another one."""
    chances = rng.dirichlet(np.full(categories, 0.3), int(of.max()) + 1).cumsum(axis=1)
    return (rng.random(len(of))[:, None] > chances[of]).sum(axis=1).clip(max=categories - 1)


def test_independent_variables_end_the_search_before_its_first_step():
    rng = np.random.default_rng(1)
    people = np.column_stack([rng.choice(n, 100_000, p=rng.dirichlet(np.ones(n))) for n in (4, 8, 10, 12)])
    table, true = sample(people, 0.03, rng)
    found = forward_search(table)
    assert found.ended is Ended.FITS
    assert found.interactions == ()
    assert [step.added for step in found.steps] == [()]
    assert risk(table, found.model).tau_2 == pytest.approx(true, rel=0.15)


def test_the_two_pairs_that_hang_together_are_found_and_nothing_else():
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 12, 200_000), rng.integers(0, 10, 200_000)
    people = np.column_stack([first, second, following(first, 9, rng), following(second, 8, rng)])
    table, true = sample(people, 0.04, rng)
    found = forward_search(table)
    assert found.ended is Ended.FITS
    assert found.interactions == ((0, 2), (1, 3))
    assert abs(found.steps[-1].criterion) <= 1.96 < abs(found.steps[-2].criterion)
    assert found.criteria.fits
    assert risk(table, found.model).tau_2 == pytest.approx(true, rel=0.1)


def test_each_step_brings_the_criterion_nearer_to_nothing():
    rng = np.random.default_rng(3)
    hidden = rng.integers(0, 5, 150_000)
    people = np.column_stack([following(hidden, n, rng) for n in (4, 5, 6, 8, 9)])
    table, true = sample(people, 0.04, rng)
    found = forward_search(table)
    distances = [abs(step.criterion) for step in found.steps]
    assert distances == sorted(distances, reverse=True)
    assert len(found.steps) > 2
    simple = fit(table, main_effects(5))
    assert abs(risk(table, found.model).tau_2 - true) < abs(risk(table, simple).tau_2 - true)
    assert found.criteria.standardised_2 == criteria(table, found.model).standardised_2


def test_interactions_of_three_come_where_pairs_are_not_enough():
    rng = np.random.default_rng(3)
    hidden = rng.integers(0, 10, 150_000)
    people = np.column_stack([following(hidden, n, rng) for n in (2, 3, 4, 5, 7, 8, 10)])
    table, true = sample(people, 0.03, rng)
    pairs, triples = forward_search(table, order=2), forward_search(table, order=3)
    assert max(map(len, pairs.interactions)) == 2
    assert max(map(len, triples.interactions)) == 3
    assert [len(step.added) for step in triples.steps] == sorted(len(step.added) for step in triples.steps)
    assert abs(triples.criteria.standardised_2) < abs(pairs.criteria.standardised_2)
    assert abs(risk(table, triples.model).tau_2 - true) < abs(risk(table, pairs.model).tau_2 - true)


def test_margins_with_few_records_are_not_fitted():
    rng = np.random.default_rng(5)
    first = rng.integers(0, 40, 2000)
    table = key_table(np.column_stack([first, (first + rng.integers(0, 3, 2000)) % 40]), fraction=0.1)
    found = forward_search(table)
    assert found.ended is Ended.NO_BETTER
    assert found.interactions == ()


def test_a_search_whose_work_is_bounded_says_that_it_has_not_ended():
    rng = np.random.default_rng(6)
    hidden = rng.integers(0, 4, 100_000)
    table, _ = sample(np.column_stack([following(hidden, n, rng) for n in (4, 5, 6, 8)]), 0.05, rng)
    whole = forward_search(table)
    short = forward_search(table, most_visits=whole.visits / 3)
    assert short.ended is Ended.WORK
    assert 1 <= len(short.steps) < len(whole.steps)
    assert short.model.converged
    assert [step.added for step in short.steps] == [step.added for step in whole.steps[: len(short.steps)]]


def test_all_interactions_may_be_in():
    codes = np.repeat([[0, 0], [1, 1], [0, 1], [1, 0]], [40, 40, 1, 1], axis=0)
    found = forward_search(key_table(codes, fraction=0.5))
    assert found.ended in (Ended.ALL_IN, Ended.FITS)


def test_in_a_large_table_only_what_a_trial_promises_is_fitted(monkeypatch):
    rng = np.random.default_rng(7)
    hidden = rng.integers(0, 5, 100_000)
    table, _ = sample(np.column_stack([following(hidden, n, rng) for n in (4, 5, 6, 8, 9)]), 0.04, rng)
    fitted = []

    def counted(*given, **options):
        fitted.append(given[1])
        return fit(*given, **options)

    monkeypatch.setattr(module, "fit", counted)
    every = forward_search(table)
    tried = len(fitted)
    monkeypatch.setattr(module, "LARGE", 1)
    quick = forward_search(table)
    assert len(fitted) - tried < tried / 2
    assert quick.visits < every.visits
    assert quick.ended is every.ended is Ended.FITS
    assert quick.steps[1] == every.steps[1]
    assert risk(table, quick.model).tau_2 == pytest.approx(risk(table, every.model).tau_2, rel=0.1)


def test_a_wrong_start_is_refused():
    table = key_table(np.array([[0, 1], [1, 0], [1, 1]]), fraction=0.1)
    with pytest.raises(ValueError, match="at least 2"):
        forward_search(table, order=1)
    with pytest.raises(ValueError, match="fit of independence"):
        forward_search(table, start=fit(table, [(0, 1)]))
