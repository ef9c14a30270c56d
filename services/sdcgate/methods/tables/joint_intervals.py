"""How closely all that has left, taken together, tells each withheld amount: the joint audit of one system.

Linear programs over the amounts of atoms find the least and the greatest value of a secret sum, as Fischetti
and Salazar (Journal of the American Statistical Association 95, 2000) do for one table, in what is left of
the system where all is gone that tells nothing (`joint_reduction`). How is in `joint_search`.
"""

from dataclasses import replace

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.tables.joint_reduction import Question, everything_of, reduced, subtracted
from sdcgate.methods.tables.joint_search import Explained, JointIntervals, Search
from sdcgate.methods.tables.joint_system import TOLERANCE, JointSystem
from sdcgate.methods.tables.joint_whole import as_it_is, by_factors
from sdcgate.methods.tables.solver import Deadline


def joint_bounds(
    system: JointSystem,
    width: float | FloatArray,
    floor: int | FloatArray,
    deadline: Deadline,
    question: Question | None = None,
    parted: bool = True,
) -> JointIntervals:
    """As `joint_intervals`, and quicker, but not by which sums a secret is told.

    Args:
        system: everything that is known jointly.
        width: the least distance of two values that a secret must be able to have, of all or of each.
        floor: the least count that everybody knows a secret to have, of all or of each, shape (secrets,).
        deadline: what is not settled by then is unproved.
        question: what is asked of it; all secrets and all sums unless given. Secrets of which nothing fresh
            can tell anything are not looked at.
        parted: sums of whole numbers with factors tell how many have each factor, which is a little more than
            they do (`by_factors`); else they tell what linear programs see, which is a little less.
    """
    whole = everything_of(system) if question is None else question
    system, row = by_factors(system) if parted else as_it_is(system)
    asked = replace(whole, fresh=whole.fresh[row])
    left = reduced(system, asked, floors=bool(np.any(np.asarray(floor) > 0)))
    if not left.possible:
        return _nothing_told(system, asked.asked)
    searched = np.bincount(left.system.secret.rows, minlength=len(left.sure)) > 0
    least = np.where(searched, floor - left.sure, 0.0)
    counted = system.counted
    if counted is not None:
        counted = replace(counted, beside=counted.beside + left.sure)
    smaller = replace(left.system, counted=counted)
    found = _searched(
        smaller, width, least, deadline, left.touched, Explained.NONE, ~left.fresh, whole=parted
    )
    lowest, highest = found.lowest + left.sure, found.highest + left.sure
    before = found.told_before & ~left.fresh_secrets
    return replace(found, told_before=before, lowest=lowest, highest=highest, looked_at=left.touched, used={})


def joint_intervals(
    system: JointSystem,
    width: float | FloatArray,
    floor: int | FloatArray,
    deadline: Deadline,
    asked: BoolArray | None = None,
    explained: Explained = Explained.EACH,
    parted: bool = True,
) -> JointIntervals:
    """Which secrets are told more closely than to `width`, and by which sums.

    It suits secrets that are known to be, by `joint_bounds`: wide ones are found to be wide one by one.

    Args:
        system: everything that is known jointly.
        width: the least distance of two values that a secret must be able to have, of all or of each.
        floor: the least count that everybody knows a secret to have, of all or of each, shape (secrets,).
        deadline: what is not settled by then is unproved.
        asked: secrets that are looked at, shape (secrets,); all unless given. The others are only not empty.
        explained: of which narrow ones prices are wanted.
        parted: as for `joint_bounds`.
    """
    parts, row = by_factors(system) if parted else as_it_is(system)
    smaller = subtracted(parts)
    wanted = np.ones(system.secret.shape[0], dtype=np.bool_) if asked is None else asked
    found = _searched(smaller.system, width, floor, deadline, wanted, explained, whole=parted)
    used = {
        secret: np.array(
            [np.bincount(row, smaller.prices(prices), len(system.counts)) for prices in found.used[secret]]
        )
        for secret in found.used
    }
    return replace(found, used=used)


def _searched(
    system: JointSystem,
    width: float | FloatArray,
    floor: int | FloatArray,
    deadline: Deadline,
    asked: BoolArray,
    explained: Explained,
    old: BoolArray | None = None,
    whole: bool = True,
) -> JointIntervals:
    """`old` are known sums, shape (known sums,), of which it is seen whether they suffice.

    `whole`: what is not seen to be wide in whole numbers is narrow.
    """
    if not system.columns:
        return _of_nobody(system, floor, asked)
    search = Search(system, width, floor, deadline, asked, explained, old)
    search.begin()
    search.sweep_all()
    unproved = np.zeros(search.secrets, dtype=np.bool_)
    for secret in search.left():
        unproved[secret] = search.close[secret] and not search.settle(secret)
    if whole:
        search.keep_to_whole_numbers()
    return search.result(unproved)


def _nothing_told(system: JointSystem, asked: BoolArray) -> JointIntervals:
    """Nothing is proved of anything."""
    nothing = np.zeros(system.secret.shape[0])
    none = np.zeros_like(asked)
    return JointIntervals(none, asked.copy(), none, none, nothing, nothing, asked)


def _of_nobody(system: JointSystem, floor: int | FloatArray, asked: BoolArray) -> JointIntervals:
    """Everything is told, or published to be empty, so that every secret is."""
    secrets, known = system.secret.shape[0], system.known.shape[0]
    possible = bool(np.all(np.asarray(floor) <= TOLERANCE)) and bool(
        np.all(np.abs(system.counts) <= TOLERANCE + system.rooms)
    )
    narrow = asked & possible
    nothing = np.zeros(secrets)
    used = {int(secret): np.zeros((2, known)) for secret in np.flatnonzero(narrow)}
    none = np.zeros_like(asked)
    return JointIntervals(narrow, asked & ~narrow, none, none, nothing, nothing, asked, used)


def told_by(intervals: JointIntervals, secret: int) -> IntArray:
    """Positions of the known sums that bound a narrow secret."""
    prices = intervals.used[secret]
    return np.flatnonzero((np.abs(prices) > TOLERANCE).any(axis=0))
