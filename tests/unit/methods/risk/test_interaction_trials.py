"""A trial of an interaction foretells the criterion that its fit would have."""

import numpy as np
import pytest

from sdcgate.methods.risk import interaction_trials
from sdcgate.methods.risk.interaction_trials import Trials
from sdcgate.methods.risk.loglinear import criteria, fit, key_table, main_effects

PAIRS = [(0, 1), (0, 3), (1, 2), (2, 3)]


def dependent(shape):
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 6, 4000)
    chances = [rng.dirichlet(np.full(size, 0.4), 6).cumsum(axis=1) for size in shape]
    return np.column_stack(
        [
            (rng.random(4000)[:, None] > own[hidden]).sum(axis=1).clip(max=size - 1)
            for own, size in zip(chances, shape, strict=True)
        ]
    )


@pytest.mark.parametrize("shape", [(4, 5, 6, 7), (9, 8, 20, 30)], ids=["by cell", "by class"])
@pytest.mark.parametrize("one", PAIRS)
def test_from_independence_a_trial_is_the_fit_itself(shape, one):
    table = key_table(dependent(shape), fraction=0.05)
    simple = fit(table, main_effects(4))
    whole = fit(table, [*main_effects(4), one], start=simple)
    wanted = criteria(table, whole).standardised_2
    assert Trials(table, simple).standardised(one) == pytest.approx(wanted, abs=0.05)


@pytest.mark.parametrize("one", PAIRS)
def test_trials_by_class_are_those_by_cell(one, monkeypatch):
    table = key_table(dependent((6, 7, 9, 11)), fraction=0.05)
    model = fit(table, [(0, 2), (1,), (3,)])
    by_cell = Trials(table, model).standardised(one)
    monkeypatch.setattr(Trials, "_by_cell", Trials._by_class)
    assert Trials(table, model).standardised(one) == pytest.approx(by_cell, abs=0.05)


def test_classes_are_made_once_for_all_trials():
    table = key_table(dependent((9, 8, 20, 30)), fraction=0.05)
    trials = Trials(table, fit(table, main_effects(4)))
    trials.standardised((0, 1))
    first = trials.visits
    trials.standardised((0, 1))
    cells = 9 * 8 * 20 * 30
    assert first - (trials.visits - first) == interaction_trials.CLASSING_VISITS * cells
