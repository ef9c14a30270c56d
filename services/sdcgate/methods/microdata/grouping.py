"""Records grouped by several columns of codes, and households by what their members are.

Sorting by numpy alone: the protection service, which protects files, loads no compiler.
"""

import numpy as np

from sdcgate.methods.cells import IntArray


def joint_codes(columns: IntArray) -> IntArray:
    """One code a record, the same for records that agree in all columns, counted from 0.

    `columns` has the shape (records, variables), codes from 0, -1 where missing; without variables all
    records have the code 0. Codes follow the order of the first column, then of the second, and so on.
    """
    records, variables = columns.shape
    found = np.zeros(records, dtype=np.int64)
    for place in range(variables):
        codes = columns[:, place] + 1
        found = dense(found * (int(codes.max(initial=0)) + 1) + codes)
    return found


def dense(numbers: IntArray) -> IntArray:
    """Positions of numbers among the distinct ones, in their order, shape as `numbers`."""
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def like_households(households: IntArray, columns: IntArray) -> IntArray:
    """One code a household, the same for households whose members can be paired so that each pair agrees.

    Two such households have equally many members, and as many of each kind: moved to another's place, one
    leaves every count of persons by these variables as it was. Without variables the size alone counts.

    `households` (records,) are 0 to H - 1, each with at least one record; `columns` as in `joint_codes`.
    Households are sequences of their members' codes in order; each round makes one code of two neighbours,
    so that it takes as many rounds as the binary logarithm of the largest household.
    """
    kinds = joint_codes(columns)
    order = np.lexsort((kinds, households))
    owner, code = households[order], kinds[order]
    sizes = np.bincount(households).astype(np.int64)
    while len(code) > len(sizes):
        first = np.concatenate([[True], owner[1:] != owner[:-1]])
        begin = np.flatnonzero(first)
        place = np.arange(len(owner)) - np.repeat(begin, np.diff(np.append(begin, len(owner))))
        left = np.flatnonzero(place % 2 == 0)
        follows = np.append(~first[1:], False)[left]
        right = np.where(follows, code[np.minimum(left + 1, len(code) - 1)], -1)
        code, owner = joint_codes(np.column_stack([code[left], right])), owner[left]
    return joint_codes(np.column_stack([sizes, code]))
