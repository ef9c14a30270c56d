"""How closely a contribution to an estimated total can be predicted where sampling blurs the total.

Source: Skinner, Statistical Disclosure Control for Survey Data, 2.2.2: the reported estimate is taken as
normal about the total, with its reported variance, by an intruder who does not know who else is in the
sample. Where every unit is enumerated the variance is 0, and what is left is the deterministic rule.
"""

import numpy as np

from sdcgate.methods.cells import FloatArray


def chance_of_closeness(within: FloatArray, missed: FloatArray, variances: FloatArray) -> FloatArray:
    """How likely an estimate is off by less than `within`, shape (cells,).

    The estimate is the published total less what the intruder knows: it is off by `missed`, what he does not
    know of the others, and by a normal error of the total's variance. All arguments have shape (cells,), the
    first two the unit of the contributions. With a variance of 0 the chance is 1 or 0.
    """
    from scipy.special import ndtr

    errors = np.sqrt(variances)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = ndtr((within - missed) / errors) - ndtr((-within - missed) / errors)
    exact = np.where(np.abs(missed) <= within, 1.0, 0.0)
    likely: FloatArray = np.where(variances == 0, exact, chance)
    return likely
