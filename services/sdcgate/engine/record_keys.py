"""Secret keys of units and secret marks of records: keyed BLAKE2b (RFC 7693), 64 and 62 bits.

Both depend on the engine's secret, the source and the contents only: never on the order of the file or on
the version, so the same unit and the same record are recognised in every version of a source.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sdcgate.methods.cells import Facts, IntArray, KeyArray

MARK_BITS = 62
_MARK_MASK = np.uint64((1 << MARK_BITS) - 1)


class KeyCollision(RuntimeError):
    """Two units have the same 64-bit key: the dataset needs an engine with another secret."""


def keyed_hash(secret: bytes, domain: str, content: bytes) -> int:
    """64 bits of BLAKE2b keyed by the secret, in a domain (what is hashed)."""
    person = hashlib.blake2b(domain.encode(), digest_size=16).digest()
    return int.from_bytes(
        hashlib.blake2b(content, key=secret, person=person, digest_size=8).digest(), "little"
    )


def unit_keys(ids: Sequence[str], source: str, secret: bytes) -> KeyArray:
    """A 64-bit key for each distinct unit id of a source. Raises KeyCollision."""
    person = hashlib.blake2b(f"unit of {source}".encode(), digest_size=16).digest()
    digests = b"".join(
        hashlib.blake2b(unit.encode(), key=secret, person=person, digest_size=8).digest() for unit in ids
    )
    keys = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    if len(np.unique(keys)) < len(ids):
        raise KeyCollision("two unit ids share a record key: start the engine with another secret")
    return keys


def content_words(
    secret: bytes, codes: Mapping[str, tuple[Sequence[str], IntArray]], numbers: Mapping[str, IntArray]
) -> list[KeyArray]:
    """A record's contents as 64-bit words, a column each, in the order of the names.

    `codes` are (code list, positions) by variable: the code itself counts, not where it stands in its list.
    """
    words: list[KeyArray] = []
    for name, (listed, positions) in sorted(codes.items()):
        hashed = [keyed_hash(secret, f"code of {name}", code.encode()) for code in listed]
        words.append(np.array(hashed, dtype=np.uint64)[positions])
    words += [values.astype(np.int64).view(np.uint64) for _, values in sorted(numbers.items())]
    return words


def record_marks(keys: KeyArray, words: Sequence[KeyArray], secret: bytes) -> IntArray:
    """A 62-bit mark for each record, of its unit's key and its contents.

    Records of a unit with the same contents are told apart by a running number, so that every record has
    a mark of its own and the set of marks does not depend on the order of the file.
    """
    matrix = np.ascontiguousarray(np.column_stack([keys, *words]))
    marks = _hash_rows(matrix, secret)
    order = np.lexsort((marks, keys))
    again = np.zeros(len(order), dtype=np.int64)
    same = (keys[order][1:] == keys[order][:-1]) & (marks[order][1:] == marks[order][:-1])
    for at in np.flatnonzero(same) + 1:
        again[at] = again[at - 1] + 1
    repeated = order[again > 0]
    if len(repeated):
        numbered = np.column_stack([matrix[repeated], again[again > 0].view(np.uint64)])
        marks[repeated] = _hash_rows(np.ascontiguousarray(numbered), secret)
    return (marks & _MARK_MASK).view(np.int64)


def with_cell_keys(facts: Facts, secret: bytes) -> Facts:
    """Facts with keyed hashes of the sums of their cells' unit keys in place of the sums.

    Sums of a table add up as its cells do, so that the noise of one cell would tell of that of others; hashes
    of them do not. Equal units have equal keys in either. Sums of a measure have keys by their records: were
    those of one person in two years changed alike, their ratio would leave as it is.
    """
    if facts.keys is None:
        return facts
    measures = tuple(
        replace(
            measure,
            keys=_cell_keys(measure.keys, secret),
            sum_keys=_cell_keys(measure.sum_keys, secret),
        )
        if measure.keys is not None and measure.sum_keys is not None
        else measure
        for measure in facts.measures
    )
    return replace(facts, keys=_cell_keys(facts.keys, secret), measures=measures)


def _cell_keys(sums: KeyArray, secret: bytes) -> KeyArray:
    return _hash_rows(np.ascontiguousarray(sums.reshape(-1, 1)), secret, b"key of a cell")


def _hash_rows(matrix: KeyArray, secret: bytes, domain: bytes = b"mark of a record") -> KeyArray:
    person = hashlib.blake2b(domain, digest_size=16).digest()
    width = matrix.shape[1] * 8
    rows = matrix.astype("<u8").tobytes()
    digests = b"".join(
        hashlib.blake2b(rows[start : start + width], key=secret, person=person, digest_size=8).digest()
        for start in range(0, len(rows), width)
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
