"""Linkage to the population: keys that are looked up, and persons known by numbers that carry error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdcgate.methods.risk.population_linkage import link_to_population, measurement_error_risk

files = arrays(np.int64, st.tuples(st.integers(1, 15), st.just(2)), elements=st.integers(-1, 2))


@given(files, files)
def test_keys_are_looked_up_as_by_a_comparison_with_everybody(sample, population):
    found = link_to_population(sample, population)
    rows, people = [tuple(row) for row in sample], [tuple(row) for row in population]
    assert found.population_counts.tolist() == [people.count(row) for row in rows]
    uniques = [people.count(row) for row in rows if rows.count(row) == 1]
    assert found.sample_uniques == len(uniques) == found.matched + found.unmatched
    assert found.expected_matches == pytest.approx(sum(1 / F for F in uniques if F))
    assert (found.one_to_one, found.unmatched) == (uniques.count(1), uniques.count(0))
    assert (found.sample_keys, found.population_keys) == (len(set(rows)), len(set(people)))
    assert found.population_uniques == sum(people.count(row) == 1 for row in people)


@given(files, files)
def test_people_and_their_counts_are_the_same_population(sample, population):
    keys, counts = np.unique(population, axis=0, return_counts=True)
    by_people, by_counts = link_to_population(sample, population), link_to_population(sample, keys, counts)
    assert by_people.expected_matches == pytest.approx(by_counts.expected_matches)
    assert by_people.population_uniques == by_counts.population_uniques


def test_a_sample_that_nobody_of_the_population_is_in_is_unmatched():
    found = link_to_population(np.array([[0], [1]]), np.array([[2]]))
    assert (found.matched, found.unmatched, found.expected_matches) == (0, 2, 0.0)
    assert found.expected_matches_with_unmatched == 0.0


def made_pair(records, deviation, seed=1):
    rng = np.random.default_rng(seed)
    original = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], records)
    return original, original + rng.normal(0, deviation, (records, 2)), np.eye(2) * deviation**2


def test_intruders_are_right_as_often_as_they_believe():
    original, masked, error = made_pair(3000, 0.1)
    found = measurement_error_risk(original, masked, error)
    right = (found.best == np.arange(3000)).mean()
    assert found.best_probability.mean() == pytest.approx(right, abs=0.02)
    assert found.correct[found.best == np.arange(3000)].mean() > found.correct.mean()


@given(st.floats(0.05, 0.5), st.integers(1, 1000))
def test_people_who_are_not_in_the_file_protect_those_who_are(deviation, outside):
    original, masked, error = made_pair(40, deviation)
    inside = measurement_error_risk(original, masked, error)
    with_others = measurement_error_risk(original, masked, error, outside)
    assert (with_others.correct < inside.correct).all()
    assert (inside.correct <= inside.best_probability + 1e-12).all()
    assert (with_others.correct >= 0).all()


def test_small_errors_identify_and_large_ones_leave_a_guess():
    original, masked, error = made_pair(50, 1e-6)
    assert measurement_error_risk(original, masked, error).correct.min() > 0.999
    original, masked, error = made_pair(50, 1e3)
    assert measurement_error_risk(original, masked, error).correct.mean() == pytest.approx(1 / 50, rel=0.5)


def test_a_person_far_from_all_records_is_identified_without_a_nan():
    original = np.array([[0.0], [1e6]])
    found = measurement_error_risk(original, original + 1, np.eye(1) * 1e-4, outside=10)
    assert np.isfinite(found.correct).all()
    assert found.best.tolist() == [0, 1]


def test_an_error_that_was_stated_too_small_yields_probabilities_all_the_same():
    found = measurement_error_risk(np.array([[0.0], [1.0]]), np.array([[50.0], [60.0]]), np.eye(1) * 1e-4)
    assert found.correct.tolist() == pytest.approx([1.0, 0.0])
    assert found.best.tolist() == [0, 0]


def test_one_person_unlike_thousands_is_identified():
    rng = np.random.default_rng(6)
    original = np.append(rng.normal(0, 1, 3000), 1e6)[:, None]
    found = measurement_error_risk(original, original, np.eye(1) * 0.01, outside=1000)
    assert found.correct[-1] == pytest.approx(1.0)
    assert np.isfinite(found.correct).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: link_to_population(np.array([[0]]), np.array([[0, 1]])), "same keys"),
        (
            lambda: link_to_population(np.array([[0]]), np.array([[0]]), np.array([0])),
            "counts must be at least",
        ),
        (lambda: link_to_population(np.array([[0]]), np.array([[0]]), np.array([1.5])), "one integer"),
        (lambda: link_to_population(np.zeros((0, 1), dtype=int), np.array([[0]])), "at least one record"),
        (
            lambda: measurement_error_risk(np.array([[np.nan]]), np.ones((1, 1)), np.eye(1)),
            "original must be fin",
        ),
        (lambda: measurement_error_risk(np.ones((1, 1)), np.ones((2, 1)), np.eye(1)), "same shape"),
        (lambda: measurement_error_risk(np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1))), "covariance"),
        (lambda: measurement_error_risk(np.ones((1, 1)), np.ones((1, 1)), np.eye(2)), "covariance"),
        (lambda: measurement_error_risk(np.ones((1, 1)), np.ones((1, 1)), np.eye(1), -1), "outside"),
        (lambda: measurement_error_risk(np.array([[1e200]]), np.ones((1, 1)), np.eye(1)), "within"),
        (lambda: measurement_error_risk(np.ones((60_000, 1)), np.ones((60_000, 1)), np.eye(1)), "at most"),
    ],
)
def test_what_cannot_be_linked_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
