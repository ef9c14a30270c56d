"""Survival curves whose steps rest on enough units: coarsened before they are refused.

Kaplan and Meier (1958), Nonparametric estimation from incomplete observations, JASA 53, with the errors of
Greenwood (1926); Nelson (1972) and Aalen (1978) for the cumulative hazard. A step tells that an event
happened at a time, and the number at risk how many left in between. Times are therefore taken together
until each interval has enough units with an event, and none or enough who leave without one; half of these
count as at risk (the actuarial estimate: Cutler and Ederer 1958), so that the curve tells these counts alone.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.problems import ModelProblem, ModelProblemError


@dataclass(frozen=True, slots=True, eq=False)
class SurvivalCurve:
    """A curve by interval; all that happens in an interval is shown at its end. Hidden: may be withheld."""

    ends: FloatArray = field(repr=False)
    """The last time of each interval, shape (intervals,)."""
    at_risk: IntArray = field(repr=False)
    """Units observed when each interval begins."""
    events: IntArray = field(repr=False)
    left: IntArray = field(repr=False)
    """Units whose observation ends in the interval without the event."""
    survival: FloatArray = field(repr=False)
    """Estimate at the end of each interval."""
    survival_errors: FloatArray = field(repr=False)
    hazard: FloatArray = field(repr=False)
    """Estimate of the cumulative hazard at the end of each interval."""
    hazard_errors: FloatArray = field(repr=False)
    coarsened: bool
    """Whether times were taken together."""


def survival_curve(times: FloatArray, events: BoolArray, fewest: int = 1) -> SurvivalCurve:
    """The curve of units, each with the time until its event or the end of its observation.

    Each interval has at least `fewest` units with an event, and no units or at least `fewest` who leave
    without one. After the last, who are not shown, are none or at least `fewest` of either. With 1 it is the
    Kaplan-Meier curve.
    ModelProblemError where times are negative or no interval can be made.
    """
    if not np.all(np.isfinite(times)) or np.any(times < 0):
        raise ModelProblemError([ModelProblem("outcome", "has times that are negative or no numbers")])
    moments, at = np.unique(times, return_inverse=True)
    died = np.bincount(at, events, len(moments)).astype(np.int64)
    gone = np.bincount(at, ~events, len(moments)).astype(np.int64)
    risk = len(times) - np.concatenate([[0], np.cumsum(died + gone)[:-1]]).astype(np.int64)
    last = _interval_ends(died, gone, fewest)
    if not len(last):
        message = "there are too few units with the event for a single step of the curve"
        raise ModelProblemError([ModelProblem("outcome", message)])
    first = np.concatenate([[0], last[:-1] + 1])
    happened = np.add.reduceat(died[: last[-1] + 1], first)
    left = np.add.reduceat(gone[: last[-1] + 1], first)
    exposed = risk[last].astype(np.float64) if fewest <= 1 else risk[first] - left / 2.0
    share = happened / exposed
    survival = np.cumprod(1.0 - share)
    with np.errstate(divide="ignore"):
        greenwood = np.cumsum(np.where(share < 1.0, share / (exposed - happened), 0.0))
    return SurvivalCurve(
        ends=moments[last],
        at_risk=risk[first],
        events=happened,
        left=left,
        survival=survival,
        survival_errors=survival * np.sqrt(greenwood),
        hazard=np.cumsum(share),
        hazard_errors=np.sqrt(np.cumsum(share / exposed)),
        coarsened=bool(len(last) < np.count_nonzero(died)),
    )


def _interval_ends(died: IntArray, gone: IntArray, fewest: int) -> IntArray:
    """Positions of the times at which intervals end, each a time of an event."""
    found: list[int] = []
    events = left = 0
    remaining_events, remaining_left = int(died.sum()), int(gone.sum())
    for place in range(len(died)):
        events, left = events + int(died[place]), left + int(gone[place])
        remaining_events -= int(died[place])
        remaining_left -= int(gone[place])
        enough = events >= fewest and (left == 0 or left >= fewest)
        # How many have the event at all is no secret, so that the steps tell how many have it after the last.
        after = all(number == 0 or number >= fewest for number in (remaining_events, remaining_left))
        if enough and died[place] and after:
            found.append(place)
            events = left = 0
    return np.array(found, dtype=np.int64)
