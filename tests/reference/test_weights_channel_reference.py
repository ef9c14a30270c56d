"""Weights as a channel: mutual information by SciPy, and closed forms of risks with the weight as a key."""

from math import log

import numpy as np
import pytest

from reference_data import code_columns, read_columns
from sdcgate.methods.risk.weights_channel import channel, risk_by_weight, weight_classes


def test_information_is_that_of_scipys_entropies():
    from scipy.stats import entropy

    file = read_columns("testdata")
    roof, water = code_columns(file, ["roof", "water"]).T
    table = np.zeros((roof.max() + 1, water.max() + 1))
    np.add.at(table, (roof, water), 1)
    independent = np.outer(table.sum(axis=1), table.sum(axis=0))
    found = channel(roof, water, np.random.default_rng(1))
    assert found.information == pytest.approx(entropy(table.ravel(), independent.ravel(), base=2), rel=1e-10)
    assert found.entropy == pytest.approx(entropy(table.sum(axis=0), base=2), rel=1e-12)


def test_records_that_the_weight_makes_unique_have_the_risk_of_uniques():
    """Two alike but for their weights: f = 2 and p = 1/20 together, uniques of p = 1/10 and 1/30 apart."""
    weights = np.array([10.0, 30.0])
    found = risk_by_weight(np.zeros((2, 1), dtype=np.int64), weight_classes(weights), weights)
    apart = sum(p * log(1 / p) / (1 - p) for p in (1 / 10, 1 / 30))
    p = 1 / 20
    together = 2 * (p / (1 - p)) * (1 - p / (1 - p) * log(1 / p))
    assert found.with_label.expected_matches == pytest.approx(apart, rel=1e-12)
    assert found.without.expected_matches == pytest.approx(together, rel=1e-12)


def test_a_binary_symmetric_channel_has_its_capacity():
    """Labels that name one of two equal categories with 1 error in 10 tell 1 - H(0.1) = 0.531 bits."""
    category = np.repeat([0, 1], 5000)
    label = np.where(np.arange(10_000) % 10 == 0, 1 - category, category)
    found = channel(label, category, np.random.default_rng(2))
    assert found.information == pytest.approx(0.5310044064107188, rel=1e-12)
    assert found.guessed == pytest.approx(0.9)
    assert found.by_chance < 0.001
