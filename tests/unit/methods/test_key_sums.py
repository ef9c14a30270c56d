"""Keys that add up: what they tell of noisy counts beside what each noisy count tells by itself."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from made_tables import counts, with_margins
from sdcgate.methods.tables.perturbation import CellKeys, with_cell_keys
from sdcgate.methods.tables.problem import Proof
from sdcgate.methods.tables.ptable import NoiseParameters, ptable

ONE = ptable(NoiseParameters(1, 0.5))
"""A count from 1 on loses one with a key below 1/4, gains one from 3/4 on, and stays between."""


def keyed(*fractions):
    """Keys of inner cells and of their total."""
    keys = np.array([int(one * 2**64) for one in fractions], dtype=np.uint64)
    return np.append(keys, keys.sum())


def test_the_key_of_a_total_tells_parts_that_their_noisy_counts_leave_open():
    # 1 and 10 stay, and so does the known 11. Were they 2 and 9, one key would be below 1/4, one from 3/4 on:
    # their sum, modulo one, is no key that leaves the total as it is.
    total = np.array([False, False, True])
    of = counts([1, 10], known=total)
    found = with_cell_keys(of, ~total & (of.facts.units == 1), CellKeys(keyed(0.3, 0.3), ONE), 10)
    assert found.facts[0].values.tolist() == [1, 10, 11]
    assert found.proof is Proof.REFUTED
    assert found.unprotected.tolist() == [True, False, False]


def test_keys_that_leave_room_for_other_counts_prove_them():
    # 1 may be 2, beside 9: keys of 0.1 and 0.8 sum up to what makes the known total one more.
    total = np.array([False, False, True])
    of = counts([1, 10], known=total)
    found = with_cell_keys(of, ~total & (of.facts.units == 1), CellKeys(keyed(0.3, 0.6), ONE), 10)
    assert found.facts[0].values.tolist() == [1, 10, 12]
    assert found.proof is Proof.PROVED


def explained(noisy, table, known_total=None):
    """All inner counts of a row that explain its noisy counts and total, by keys on a grid of 1/64."""
    grid = (np.arange(64) + 0.5) / 64
    found = set()
    ranges = [range(max(0, one - table.maximum_noise), one + table.maximum_noise + 1) for one in noisy[:-1]]
    for inner in product(*ranges):
        if known_total is not None and sum(inner) != known_total:
            continue
        keys = np.zeros(1)
        for count, shown in zip(inner, noisy[:-1], strict=True):
            own = np.zeros(1) if count == 0 else grid
            own = own[np.array([becomes(table, count, key) == shown for key in own], dtype=bool)]
            keys = np.unique((keys[:, None] + own[None]).reshape(-1) % 1)
        if any(becomes(table, sum(inner), key) == noisy[-1] for key in keys):
            found.add(inner)
    return found


def becomes(table, count, key):
    rows = table.block(count)
    return count + table.noise[rows][np.searchsorted(table.upper[rows], key, side="right")]


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(np.int64, st.integers(1, 3), elements=st.integers(0, 4)),
    st.booleans(),
    st.integers(0, 9999),
)
def test_a_row_is_proved_only_where_other_counts_and_keys_explain_it(inner, known, seed):
    keys = np.random.default_rng(seed).integers(0, 2**64, len(inner), dtype=np.uint64)
    keys[inner == 0] = 0
    total = np.arange(len(inner) + 1) == len(inner)
    of = counts(inner, known=total & known)
    unsafe = (of.facts.units > 0) & (of.facts.units < 3) & ~of.known
    found = with_cell_keys(of, unsafe, CellKeys(np.append(keys, keys.sum()), ONE), 10)
    noisy = found.facts[0].values.astype(int).tolist()
    possible = explained(noisy, ONE, int(inner.sum()) if known else None)
    assert tuple(inner.tolist()) in possible
    for cell in np.flatnonzero(unsafe).tolist():
        values = {sum(one) if cell == len(inner) else one[cell] for one in possible}
        assert found.unprotected[cell] == (len(values) < 2)


INNER = st.sampled_from([(2, 3), (3, 3), (2, 2, 2)]).flatmap(
    lambda shape: arrays.arrays(np.int64, shape, elements=st.integers(0, 8))
)


@settings(max_examples=15, deadline=None)
@given(INNER, st.integers(1, 4), st.integers(0, 999))
def test_cell_keys_that_add_up_settle_every_unsafe_count(inner, most, seed):
    drawn = np.random.default_rng(seed).integers(0, 2**64, inner.shape, dtype=np.uint64)
    drawn[inner == 0] = 0
    of, keys = counts(inner, count_width=1), with_margins(drawn).reshape(-1)
    unsafe = (of.facts.records > 0) & (of.facts.records < 3)
    found = with_cell_keys(of, unsafe, CellKeys(keys, ptable(NoiseParameters(most, most / 2))), 10)
    assert found.proof in (Proof.PROVED, Proof.REFUTED)
    assert (found.proof is Proof.PROVED) == (not found.unprotected.any())
    assert not np.any(found.unprotected & ~unsafe)


def test_without_time_nothing_is_proved_by_keys():
    of = counts([1, 10])
    found = with_cell_keys(of, of.facts.units == 1, CellKeys(keyed(0.3, 0.3), ONE), 0.0)
    assert (found.proof, found.unprotected.tolist()) == (Proof.UNPROVED, [True, False, False])
