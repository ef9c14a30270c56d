"""What exact linear algebra needs: a random prime below 2^31, and to be stopped in the middle."""

import numpy as np


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
