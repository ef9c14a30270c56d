"""What prices of known sums prove of a secret: bounds by weak duality, whatever program they were found by.

A secret is at most what its sums cost at prices that pay for each of its columns; what they do not pay of a
column can be had as often as the sums it is in leave room for. So prices of some sums alone prove what these
alone tell.
"""

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray
from sdcgate.methods.tables.joint_system import TOLERANCE, JointSystem

ROUNDING = 1e-12
"""The share of what sums cost by which computing in floating point may be off."""


def proved(
    system: JointSystem, secret: int, prices: FloatArray, most: FloatArray, by: BoolArray | None = None
) -> tuple[float, float]:
    """The least and the greatest value that a secret can have at all.

    Args:
        system: all that is known.
        secret: its position.
        prices: of the known sums, upwards and downwards, shape (2, known sums).
        most: what each column is at most where no sum bounds it, shape (columns,): of what is paid for but
            for rounding.
        by: known sums that may be used, shape (known sums,); all unless given.
    """
    known = system.known
    used = np.ones(known.shape[0], dtype=np.bool_) if by is None else by
    # What sums with factors leave room for is not asked: without it bounds are no closer.
    sums, inside = system.counts + system.rooms, used[known.rows] & (known.rows < system.plain)
    reach = np.full(known.shape[1], np.inf)
    np.minimum.at(reach, known.columns[inside], sums[known.rows[inside]])
    unbounded = np.isinf(reach)
    reach[unbounded] = most[unbounded]
    chosen = np.zeros(system.secret.shape[0])
    chosen[secret] = 1.0
    cost, ends = system.secret.spread(chosen), []
    for price, sign in zip(prices * used, (1.0, -1.0), strict=True):
        unpaid, size = np.maximum(sign * cost - known.spread(price), 0.0), np.abs(price)
        end = price @ system.counts + system.rooms @ size + unpaid @ reach + ROUNDING * (size @ sums)
        ends.append(sign * (np.inf if (unpaid[unbounded] > TOLERANCE).any() else float(end)))
    return ends[1], ends[0]
