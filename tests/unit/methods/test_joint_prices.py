"""What prices prove of a secret: bounds, whatever prices they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sdcgate.methods.tables.joint_prices import proved
from sdcgate.methods.tables.joint_system import joint_system
from three_variables import FULL, bounds, box, boxes, inside

PEOPLE = st.lists(st.integers(0, 6), min_size=18, max_size=18)
SHOWN = st.lists(boxes(), min_size=1, max_size=9, unique=True)
TWO_PRICES = st.lists(st.integers(-2, 2), min_size=20, max_size=20)


def system_of(people, shown, secret):
    """What is shown of people, and the counts."""
    counts = {cell: int(np.array(people) @ inside(cell)) for cell in shown}
    return joint_system(set(FULL), counts, [secret], FULL, told_apart=set(shown)), counts


@settings(max_examples=200, deadline=None)
@given(PEOPLE, SHOWN, boxes(), TWO_PRICES, st.data())
def test_what_any_prices_prove_another_program_bounds_no_less_closely(people, shown, secret, numbers, data):
    system, counts = system_of(people, shown, secret)
    prices = np.array(numbers[: 2 * len(shown)], dtype=np.float64).reshape(2, -1)
    by = np.array(data.draw(st.lists(st.booleans(), min_size=len(shown), max_size=len(shown))))
    by[0] = True
    least, greatest = proved(system, 0, prices, np.full(system.columns, 1e3), by)
    assert system.published == tuple(shown)
    low, high = bounds({cell: counts[cell] for cell, used in zip(shown, by, strict=True) if used}, secret)
    assert least <= low + 1e-6
    assert greatest >= high - 1e-6


def test_a_little_of_what_nothing_bounds_is_not_paid_for():
    """However little is not paid of it: there can be any number."""
    man, woman = box(sex=0b01), box(sex=0b10)
    system, _ = system_of([1] * 18, [man], woman)
    least, greatest = proved(system, 0, np.zeros((2, 1)), np.full(system.columns, 1e-3))
    assert (least, greatest) == (pytest.approx(0.0, abs=1e-9), np.inf)
