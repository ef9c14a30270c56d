"""The cell-key method: noise that depends on who is in a cell, and on nothing else.

Every unit has a secret key. A cell's key is the sum of its units' keys, each once, modulo 2^64, and looks up
the noise in a perturbation table: the same contributors have the same noise under any description (Fraser and
Wooton 2005, A proposed method for confidentialising tabular output to protect against differencing; Marley
and Leaver 2011). Sums get noise in proportion to their largest contributors (Thompson, Broadfoot and Elazar
2013, Methodology for the Automatic Confidentialisation of Statistical Outputs from Remote Servers, UNECE).
"""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray, KeyArray
from sdcgate.methods.tables.entropy import maximum_entropy
from sdcgate.methods.tables.ptable import PTable
from sdcgate.methods.tables.splitmix import finalised

RECORD_KEY_BITS = 53
STEPS = 50
"""Steps a unit in which the distribution of a sum's noise is worked out."""
DEVIATIONS = 3
"""A sum's noise is at most so many of its standard deviations."""


def cell_keys(unit_keys: KeyArray, cells: IntArray, n_cells: int) -> KeyArray:
    """Keys of cells: the sum of the keys of their units modulo 2^64, shape (n_cells,).

    Position k says that a unit with key `unit_keys[k]` is in cell `cells[k]`. A unit that is named for a cell
    more than once counts once: it needs a key that no other unit has.
    """
    pairs = np.unique(np.column_stack([cells.astype(np.uint64), unit_keys]), axis=0)
    keys = np.zeros(n_cells, dtype=np.uint64)
    np.add.at(keys, pairs[:, 0].astype(np.int64), pairs[:, 1])
    return keys


def fractions_of_keys(keys: KeyArray) -> FloatArray:
    """Keys as fractions in [0, 1): the upper 53 bits, exact."""
    return (keys >> np.uint64(64 - RECORD_KEY_BITS)).astype(np.float64) * 2.0**-RECORD_KEY_BITS


def fractions_of_record_keys(record_keys: FloatArray, cells: IntArray, n_cells: int) -> FloatArray:
    """Keys of cells as the R package cellKey has them: the sum of record keys in [0, 1) modulo 1.

    Summed in whole multiples of 2^-53, so that the order of the records does not matter.
    """
    whole = (record_keys * 2.0**RECORD_KEY_BITS).astype(np.uint64)
    sums = np.zeros(n_cells, dtype=np.uint64)
    np.add.at(sums, cells, whole)
    rest = sums & np.uint64((1 << RECORD_KEY_BITS) - 1)
    return rest.astype(np.float64) * 2.0**-RECORD_KEY_BITS


def keys_for(keys: KeyArray, use: str) -> KeyArray:
    """Other keys for another use, made of these; whoever learns the noise of one use knows no other's.

    Each word is mixed with a hash of the use by the finaliser of SplitMix64.
    """
    salt = int.from_bytes(hashlib.blake2b(use.encode(), digest_size=8).digest(), "little")
    return finalised(keys + np.uint64(salt))


def noise_of_counts(counts: IntArray, fractions: FloatArray, table: PTable) -> IntArray:
    """The noise of each count: in the block of the count, the first row whose upper bound exceeds the key.

    Shapes (cells,). Raises ValueError where a count is negative or a fraction not in [0, 1).
    """
    if np.any(counts < 0) or not np.all((fractions >= 0) & (fractions < 1)):
        raise ValueError("counts must not be negative, fractions of keys from 0 to below 1")
    noise = np.zeros(len(counts), dtype=np.int64)
    blocks = np.minimum(counts, table.last_count)
    for count in np.unique(blocks).tolist():
        rows, cells = table.block(count), blocks == count
        place = np.searchsorted(table.upper[rows], fractions[cells], side="right")
        noise[cells] = table.noise[rows][place]
    return noise


def counts_behind_noise(true: IntArray, noisy: IntArray, table: PTable) -> tuple[IntArray, IntArray, bool]:
    """Least and greatest count that each noisy count can come from, for whoever knows the table.

    Of counts that are possible only a run without gaps around the true one is taken: a narrower interval is
    more than an intruder knows. Shapes (cells,); with them comes whether these are all that are possible.
    """
    most = table.maximum_noise
    lower, upper = true.copy(), true.copy()
    every = True
    for step, ends in ((-1, lower), (1, upper)):
        going = np.ones(len(true), dtype=np.bool_)
        for distance in range(1, 2 * most + 1):
            possible = may_become(true + step * distance, noisy, table)
            every &= not np.any(possible & ~going)
            going &= possible
            ends[going] = true[going] + step * distance
    return lower, upper, every


def may_become(counts: IntArray, noisy: IntArray, table: PTable) -> BoolArray:
    """Whether counts can get the noise that makes them others; nothing below 0 is a count."""
    most = table.maximum_noise
    possible = np.zeros((table.last_count + 1, 2 * most + 1), dtype=np.bool_)
    drawn = table.probabilities > 0
    possible[table.counts[drawn], table.noise[drawn] + most] = True
    noise = noisy - counts
    inside = (counts >= 0) & (np.abs(noise) <= most)
    rows = np.clip(counts, 0, table.last_count)
    found: BoolArray = inside & possible[rows, np.clip(noise, -most, most) + most]
    return found


def noisy_weight_sums(weight_sums: FloatArray, counts: IntArray, noise: IntArray) -> FloatArray:
    """Weighted counts with the noise of the counts, each step of it worth the cell's mean weight."""
    means = np.divide(weight_sums, counts, out=np.zeros(len(counts)), where=counts > 0)
    noisy: FloatArray = weight_sums + noise * means
    return noisy


@dataclass(frozen=True, slots=True)
class SumNoise:
    """What noise sums get: of the absolute contribution of rank k, a random share with deviation `shares[k]`.

    The shares' noise has mean 0, is at most three deviations, and independent between ranks and measures.
    To that of the largest contributor of an unsafe cell `unsafe_share` is added, away from 0, so that the
    noise of such a cell is never small.

    Raises ValueError where a sum of non-negative contributions could become negative, or shares do not fit.
    """

    shares: tuple[float, ...] = field(default=(0.1,))
    unsafe_share: float = 0.0

    def __post_init__(self) -> None:
        if not self.shares or any(not 0 < share <= 1 for share in self.shares):
            raise ValueError("shares must be greater than 0 and at most 1, at least one")
        if any(later > former for former, later in zip(self.shares, self.shares[1:], strict=False)):
            raise ValueError("shares must not grow from one contributor to the next")
        if not self.unsafe_share >= 0:
            raise ValueError("unsafe_share must not be negative")
        if self.most > 1:
            raise ValueError(
                f"{DEVIATIONS} times the sum of shares, plus unsafe_share, must be at most 1: "
                "else a sum could become negative"
            )

    @property
    def most(self) -> float:
        """The most by which a sum changes, as a share of its largest contributor."""
        return DEVIATIONS * sum(self.shares) + self.unsafe_share


def noisy_sums(
    sums: FloatArray, largest: FloatArray, keys: KeyArray, noise: SumNoise, unsafe: BoolArray, measure: str
) -> FloatArray:
    """Sums of a measure with noise in proportion to the cells' largest absolute contributions.

    `sums`, `keys`, `unsafe`: shape (cells,); `largest`: shape (cells, ranks), by unit, largest first, 0 where
    there are fewer. Who has no contribution leaves a cell as it is. Keys that add to the same differ by
    measure (`keys_for`).

    Raises ValueError if there are fewer ranks than shares, or a contribution is negative or not finite.
    """
    ranks = len(noise.shares)
    if largest.ndim != 2 or largest.shape[1] < ranks:
        raise ValueError(f"must have the {ranks} largest contributions of each cell")
    if not np.all((largest >= 0) & np.isfinite(largest)):
        raise ValueError("contributions must be finite and not negative")
    noisy = sums.astype(np.float64)
    for rank, share in enumerate(noise.shares):
        own = keys_for(keys, f"sums of {measure}, contributor {rank}")
        part = share * _standard_noise(fractions_of_keys(own))
        if rank == 0:
            sign = np.where(part == 0, np.where(own & np.uint64(1), 1.0, -1.0), np.sign(part))
            part = part + np.where(unsafe, sign * noise.unsafe_share, 0.0)
        noisy = noisy + part * largest[:, rank]
    return noisy


def _standard_noise(fractions: FloatArray) -> FloatArray:
    """Noise of mean 0 and variance 1 (to 1e-4), at most DEVIATIONS, by the key; any value can occur.

    Were it one of some multiples of the largest contribution, several sums that hold the same contribution
    could tell it exactly.
    """
    edges, upper = _standard_distribution()
    noise: FloatArray = np.interp(fractions, upper, edges)
    return noise


@lru_cache(maxsize=1)
def _standard_distribution() -> tuple[FloatArray, FloatArray]:
    """Edges of steps and the probabilities below them; of all distributions on steps that of most entropy."""
    values = np.arange(-DEVIATIONS * STEPS, DEVIATIONS * STEPS + 1) / STEPS
    moments = np.array([values, values**2])
    nothing = np.zeros((0, len(values)))
    found = maximum_entropy(moments, np.array([0.0, 1.0]), nothing, np.zeros(0))
    upper = np.concatenate([[0.0], np.cumsum(found)])
    upper[-1] = 1.0
    edges = np.append(values - 0.5 / STEPS, DEVIATIONS)
    return np.maximum(edges, -DEVIATIONS), upper
