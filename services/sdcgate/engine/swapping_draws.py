"""Draws of swapping: a generator that a secret makes of a file's contents and of what is asked of it.

Who knows the seed of a swap can undo it. The seed is keyed BLAKE2b (RFC 7693) of everything that the draws
are applied to, so that nobody without the secret can work it out, nobody can choose it, and nobody learns
more by asking twice: the same file by the same options has the same draws.
"""

import hashlib
from collections.abc import Iterable

import numpy as np

from sdcgate.methods.cells import IntArray

_PERSON = b"swapping"


def swapping_generator(
    secret: bytes, options: bytes, columns: Iterable[tuple[str, Iterable[str], IntArray]]
) -> np.random.Generator:
    """The generator of a file's swaps.

    `options` are what is asked, in one form of bytes; `columns` the name of each column that counts, its
    distinct values and the position of each record's own. `secret` has at most 64 bytes.
    """
    digest = hashlib.blake2b(key=secret, person=_PERSON, digest_size=32)

    def add(content: bytes) -> None:
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)

    add(options)
    for name, values, positions in columns:
        add(name.encode())
        add("\0".join(values).encode())
        add(positions.astype("<i8").tobytes())
    return np.random.default_rng(int.from_bytes(digest.digest(), "little"))
