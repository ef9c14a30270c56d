"""Weights as a channel: what a label tells of a variable, and the risk with the label as a key."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.methods.risk.weights_channel import channel, risk_by_weight, weight_classes

pairs = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2)), min_size=1, max_size=30)


def found_in(label, category, seed=1):
    return channel(np.array(label), np.array(category), np.random.default_rng(seed), deals=3)


@given(pairs)
def test_guesses_and_what_is_told_are_those_of_leaving_each_record_out(file):
    labels, categories = zip(*file, strict=True)
    found = found_in(labels, categories)
    right = 0.0
    for record, (label, category) in enumerate(file):
        others = [c for at, (other, c) in enumerate(file) if other == label and at != record]
        assert found.alone[record] == (not others)
        assert found.told[record] == (bool(others) and set(others) == {category})
        counts = Counter(others)
        best = [c for c, n in counts.items() if n == max(counts.values())]
        right += 1 / len(best) if category in best else 0.0
    assert found.guessed == pytest.approx(right / len(file))
    assert 0.0 <= found.information <= found.entropy + 1e-12


def test_a_stratum_with_a_rate_of_its_own_is_told_by_its_weight():
    stratum = np.repeat([0, 1, 2], [50, 30, 20])
    weights = np.array([120.0, 60.0, 10.0])[stratum]
    found = found_in(weight_classes(weights), stratum)
    assert found.share_told == found.guessed == 1.0
    assert found.guessed_without == 0.5
    assert found.information == pytest.approx(found.entropy)
    assert found.by_chance < 0.2 * found.entropy


def test_a_label_dealt_out_at_random_tells_no_more_than_chance():
    rng = np.random.default_rng(3)
    found = found_in(rng.integers(0, 40, 2000), rng.integers(0, 3, 2000))
    assert found.information == pytest.approx(found.by_chance, rel=0.3)
    assert found.guessed < found.guessed_without + 0.05


def test_labels_of_one_record_each_tell_nothing_although_the_information_is_all():
    found = found_in(np.arange(30), np.arange(30) % 2)
    assert (found.share_told, found.guessed) == (0.0, 0.0)
    assert found.alone.all()
    assert found.information == found.by_chance == pytest.approx(1.0)


def test_calibrated_weights_become_classes_and_equal_ones_stay_together():
    weights = np.array([10.1, 10.2, 10.3, 55.0, 55.0, 55.0])
    assert weight_classes(weights, 2).tolist() == [0, 0, 0, 1, 1, 1]
    assert weight_classes(weights).tolist() == [0, 1, 2, 3, 3, 3]
    assert len(set(weight_classes(np.full(9, 5.0), 4).tolist())) == 1


@given(pairs)
def test_risk_with_the_label_as_a_key_is_no_lower(file):
    labels, key = (np.array(column) for column in zip(*file, strict=True))
    found = risk_by_weight(key[:, None], labels, np.full(len(file), 20.0))
    assert found.with_label.sample_uniques >= 0
    assert found.with_label.key_cells >= found.without.key_cells
    assert found.with_label.expected_matches >= found.without.expected_matches - 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: found_in([0], [0, 1]), "one code a record each"),
        (lambda: found_in([], []), "integer codes"),
        (lambda: found_in([0.5], [0]), "integer codes"),
        (lambda: found_in([-2], [0]), "-1"),
        (lambda: channel(np.array([0]), np.array([0]), np.random.default_rng(1), 0), "deals"),
        (lambda: weight_classes(np.array([1.0, np.nan])), "weights must be finite"),
        (lambda: weight_classes(np.array([1.0, 2.0]), 1), "classes"),
    ],
)
def test_what_is_no_label_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
