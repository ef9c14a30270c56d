"""Exact linear algebra modulo a prime below 2^31, on int64 arrays with entries 0..prime-1."""

from collections.abc import Callable

import numpy as np

from sdcgate.methods.cells import IntArray

_LIMB = 16
_ROWS_AT_ONCE = 32


def unhurried() -> None:
    """The pulse of work that nobody stops."""


def random_prime(rng: np.random.Generator) -> int:
    """A random prime between 2^30 and 2^31 (there are 50,697,537)."""
    while True:
        candidate = int(rng.integers(1 << 30, 1 << 31)) | 1
        if _is_prime(candidate):
            return candidate


def _is_prime(number: int) -> bool:
    """Miller-Rabin; with bases 2, 3, 5 and 7 it is exact below 3,215,031,751 (Jaeschke 1993)."""
    odd = number - 1
    twos = (odd & -odd).bit_length() - 1
    odd >>= twos
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def matmul(left: IntArray, right: IntArray, prime: int) -> IntArray:
    """Product of two matrices modulo the prime, by four floating products of 16-bit halves.

    Exact while the inner dimension is below 2^20: no sum of products reaches 2^53.
    """
    if left.shape[1] >= 1 << 20:
        raise ValueError(f"inner dimension {left.shape[1]} is too large for an exact product")
    high_left, low_left = (left >> _LIMB).astype(np.float64), (left & 0xFFFF).astype(np.float64)
    high_right, low_right = (right >> _LIMB).astype(np.float64), (right & 0xFFFF).astype(np.float64)
    high = (high_left @ high_right).astype(np.int64) % prime
    middle = (high_left @ low_right + low_left @ high_right).astype(np.int64) % prime
    low = (low_left @ low_right).astype(np.int64)
    return np.asarray((((high << _LIMB) + middle) % prime << _LIMB) + low, dtype=np.int64) % prime


def gauss_jordan(
    matrix: IntArray, prime: int, pulse: Callable[[], None] = unhurried
) -> tuple[IntArray, IntArray, IntArray]:
    """Full reduction of a matrix (m, w): transform (m, m), pivot rows and pivot columns, in order.

    `transform @ matrix` has an identity where pivot rows meet pivot columns and zeros in all other rows.
    `pulse` is called every few rows; what it raises ends the work.
    """
    rows_in, width = matrix.shape
    work = np.concatenate([matrix, np.eye(rows_in, dtype=np.int64)], axis=1)
    rows: list[int] = []
    columns: list[int] = []
    for row in range(rows_in):
        if row % _ROWS_AT_ONCE == 0:
            pulse()
        filled = work[row, :width].nonzero()[0]
        if not len(filled):
            continue
        column = int(filled[0])
        leading = int(work[row, column])
        if leading != 1:
            work[row] = work[row] * pow(leading, -1, prime) % prime
        factors = work[:, column].copy()
        factors[row] = 0
        others = factors.nonzero()[0]
        if len(others):
            work[others] = (work[others] - factors[others, None] * work[row]) % prime
        rows.append(row)
        columns.append(column)
    return work[:, width:], np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
