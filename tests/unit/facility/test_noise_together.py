"""All figures with noise together: which unsafe sums may be others, and which may not."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sdcgate.facility.knowledge import COUNTS
from sdcgate.facility.noise import Noise
from sdcgate.facility.perturbing import NoisyTogether
from sdcgate.methods.cells import State
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.noisy_boxes import Atoms, NoisyTable
from sdcgate.policy.cell_keys import CellKeyNoise

NOISE = Noise.of(CellKeyNoise(15, 9.0, sum_shares=(0.2,)))
LARGEST = 100.0
REACH = 60.0
"""Three deviations of a fifth of the largest contribution."""


def sums(change: float, width: float = 10.0) -> NoisyTable:
    """One cell in which one person has 100 of 120, changed by its noise."""
    table = BoxTable(
        axes=(),
        fixed=(("region", 0b01),),
        full={"region": 0b11},
        states=np.array([State.PERTURBED]),
        records=np.array([12]),
        marks=np.array([7]),
    )
    values = (np.array([120.0]), np.array([120.0 + change]), np.array([True]), np.array([REACH]))
    return NoisyTable("income", table, *values, np.array([width]))


def together(*tables: NoisyTable, lower=None, upper=None, exact_sums=(), decimals=2) -> NoisyTogether:
    atoms = Atoms(("region",), np.array([[0], [1]]), np.array([12, 30]))
    measure = SimpleNamespace(lower_bound=lower, upper_bound=upper, decimals=decimals)
    dataset = SimpleNamespace(records_per_unit=1, measure=lambda name: measure)
    return NoisyTogether(tables, atoms, (), frozenset(exact_sums), dataset)


@pytest.mark.parametrize(
    ("change", "lower", "upper", "hidden"),
    [
        (0.0, 0.0, None, True),
        # No room above, but less is possible.
        (-55.0, 0.0, None, True),
        # No room below, but more is possible.
        (55.0, 0.0, None, True),
        # No room below, and nobody can have more.
        (55.0, 0.0, 100.0, False),
        # Nobody can have 10 more than the largest that there may be.
        (55.0, 0.0, 109.0, False),
        (55.0, 0.0, 111.0, True),
        # Where the least is not 0, it is not known who could have less.
        (-55.0, -5.0, None, False),
        (-55.0, None, None, True),
    ],
)
def test_a_sum_is_hidden_if_its_largest_contribution_may_be_another(change, lower, upper, hidden) -> None:
    unproved = together(sums(change), lower=lower, upper=upper).unproved(NOISE)
    assert bool(unproved) is not hidden


def test_two_sums_of_the_same_people_leave_what_both_leave() -> None:
    up, down = sums(-55.0), sums(55.0)
    assert not together(up, lower=0.0).unproved(NOISE)
    assert set(together(up, down, lower=0.0).unproved(NOISE)) == {0, 1}


@pytest.mark.parametrize(("lower", "hidden"), [(0.0, True), (None, False), (-500.0, False)])
def test_of_what_may_be_below_zero_more_is_nearer_to_zero_and_has_less_noise(lower, hidden) -> None:
    """A loss of 100, in two sums: one of 93.1 to 102.5 may have the noise of both, and no other."""
    both = sums(-49.0), sums(59.0)
    assert bool(together(*both, lower=lower).unproved(NOISE)) is not hidden


def visits(region: int, noisy: float, true: float = 1.0, largest: float = 1.0) -> NoisyTable:
    """One cell of some regions in which somebody has the most visits, all of it unsafe."""
    table = replace(sums(0.0).table, fixed=(("region", region),) if region != 0b11 else ())
    values = (np.array([true]), np.array([noisy]), np.array([True]), np.array([0.6 * largest]))
    return NoisyTable("visits", table, *values, np.array([0.1 * largest]))


def test_sums_of_whole_numbers_are_hidden_by_other_whole_numbers() -> None:
    """Of one visit in each of two regions, 0.95 and 0.93, two of one would be 1.8 of both: 1.7 is none."""
    both = visits(0b01, 0.95), visits(0b10, 0.93)
    assert not together(*both, lower=0.0, decimals=0).unproved(NOISE)
    of_all = visits(0b11, 1.7, true=2.0)
    assert set(together(*both, of_all, lower=0.0, decimals=0).unproved(NOISE)) == {0, 1, 2}
    assert not together(*both, visits(0b11, 1.9, true=2.0), lower=0.0, decimals=0).unproved(NOISE)
    # Where somebody else has two of three the noise of the sum does not grow with the other's one.
    with_two = visits(0b11, 2.85, true=3.0, largest=2.0)
    assert not together(both[0], with_two, lower=0.0, decimals=0).unproved(NOISE)
    assert 0 in together(both[0], visits(0b11, 2.7, 3.0, 2.0), lower=0.0, decimals=0).unproved(NOISE)
    # In tenths of visits 0.1 more is possible.
    assert not together(*both, of_all, lower=0.0, decimals=1).unproved(NOISE)


def test_a_sum_that_nobody_adds_to_is_not_hidden() -> None:
    nobody = sums(0.0)
    of_nothing = NoisyTable(
        "income", nobody.table, np.zeros(1), np.zeros(1), nobody.unsafe, np.zeros(1), np.full(1, 1e-9)
    )
    assert together(of_nothing, lower=0.0).unproved(NOISE)


def test_sums_of_which_some_are_known_exactly_are_not_proved() -> None:
    assert together(sums(0.0), lower=0.0, exact_sums=["income"]).unproved(NOISE)


def test_noise_by_records_is_told_from_noise_by_units() -> None:
    """What left with keys of units, of units with several records, is not averaged with what leaves now."""
    keys = CellKeyNoise(15, 9.0, sum_shares=(0.2,))
    assert Noise.of(keys, 1).digest == NOISE.digest
    assert Noise.of(keys, 5).digest == Noise.of(keys, 2).digest != NOISE.digest


def counts(column: str, code: int, true: int, noise: int) -> NoisyTable:
    """One unsafe cell of a code of two."""
    table = replace(sums(0.0).table, fixed=((column, 1 << code),), full={column: 0b11})
    values = (np.array([float(true)]), np.array([float(true + noise)]), np.array([True]))
    return NoisyTable(COUNTS, table, *values)


def test_whoever_only_moves_within_a_cell_hides_nothing_beside_an_exact_total() -> None:
    """One more woman and one man less are possible, in the region where there are both; all are known."""
    little = Noise.of(CellKeyNoise(1, 0.5))
    atoms = Atoms(("region", "sex"), np.array([[0, 0], [0, 1], [1, 0]]), np.array([8, 9, 20]))
    dataset = SimpleNamespace(records_per_unit=1)
    region, other = counts("region", 0, 17, 0), counts("region", 1, 20, -1)
    tables = (region, other, counts("sex", 0, 28, 1), counts("sex", 1, 9, -1))
    everybody = ()
    for exact, hidden in (((), True), ((everybody,), False)):
        found = NoisyTogether(tables, atoms, exact, frozenset(), dataset).unproved(little)
        assert (0 not in found) is hidden
