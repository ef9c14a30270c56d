"""Standard errors of percentiles by Woodruff's interval, from the percentiles that leave and nothing else.

The interval of the share p of those up to a percentile, p -+ z se(p), is carried over to values by the
distribution function, and its width over 2 z is the error. Its ends would be single records' values. So the
distribution function is the monotone cubic through the percentiles that leave: what an error tells beside
them is se(p), which is one of counts. Where the interval reaches beyond the outermost of them there is none.

Source: Woodruff, Confidence intervals for medians and other position measures (1952), Journal of the American
Statistical Association 47; Lohr, Sampling: Design and Analysis (2010), 9.5; Fritsch and Carlson, Monotone
piecewise cubic interpolation (1980), SIAM Journal on Numerical Analysis 17.
"""

from statistics import NormalDist

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.percentiles import Percentiles

REACH = NormalDist().inv_cdf(0.975)
"""z of an interval of 95%."""


def percentile_errors(released: Percentiles) -> FloatArray:
    """Errors of percentiles as they leave, shape (groups, points); NaN where there is none.

    `released` has NaN for what does not leave, and share errors.
    """
    from scipy.interpolate import PchipInterpolator

    found = np.full(released.values.shape, np.nan)
    if released.share_errors is None:
        return found
    points = np.array(released.points)
    for group, values in enumerate(released.values):
        there = np.isfinite(values) & np.isfinite(released.share_errors[group])
        if np.count_nonzero(there) < 2:
            continue
        known, reach = points[there], REACH * released.share_errors[group]
        lower, upper = points - reach, points + reach
        inside = there & (lower >= known[0]) & (upper <= known[-1])
        value_at = PchipInterpolator(known, values[there])
        found[group, inside] = (value_at(upper[inside]) - value_at(lower[inside])) / (2 * REACH)
    return found
