"""How single records bear on coefficients, as functions of their cell and numbers: what a database evaluates.

With d a record's columns less their means (less 0 without a constant) and A the inverse of their centred
cross-products, x'a_j is a row of d'A and leverage w (1/W + d'Ad): as `influence` has them, without the digits
that raw columns far from 0 would lose. In a cell d is linear in the numbers z, so these are, too, and
leverage is a square in them; their coefficients differ by cell only where a column's indicator does.
"""

from collections.abc import Sequence

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.outputs.cell_sums import CellColumns, CellSums, Scaling
from sdcgate.methods.outputs.design import Design
from sdcgate.methods.outputs.ols import LinearSolution

EXACT = 1e-9
"""Of the largest outcome: residuals below it are none, as `fits.exact_share` has it."""


def projection_coefficients(
    sums: CellSums,
    design: Design,
    columns: CellColumns,
    solution: LinearSolution,
    scalings: Sequence[Scaling],
    largest_outcome: float,
    weight_unit: float = 1.0,
) -> dict[str, FloatArray]:
    """Coefficients by name, of each cell, or one where they are the same in all.

    `p<j>_<a>` times z_a, and `p<j>_0` alone, sum to x'a_j over the root of a_jj; `h<a>_<b>` to the leverage
    over the weight; `e<a>` to the fitted value and `outcome` times z of the outcome to the outcome itself,
    both less the mean and over the root of the residual sum of squares.
    """
    constant, products = design.constant, sums.products
    means = products.means[:-1]
    every = np.arange(len(means))
    slopes = every if constant is None else np.delete(every, constant)
    if constant is None:
        # Nothing is about a mean: columns are what they are at the centre.
        centres = np.array([1.0, *(one.centre for one in scalings)])
        base = columns.on * centres[columns.numbers]
        outcome = scalings[-1].centre
    else:
        base, outcome = sums.at_centre[:, :-1], float(sums.at_centre[0, -1])
    inverse = solution.inverse[np.ix_(slopes, slopes)]
    scale = np.sqrt(np.diag(solution.inverse))
    to_columns = np.zeros((len(slopes), len(means)))
    to_columns[:, slopes] = inverse
    alone = 0.0
    if constant is not None:
        alone = 1.0 / products.weight
        to_columns[:, constant] = -inverse @ means[slopes]
    to_columns /= scale
    rest = np.sqrt(solution.residual_sum)
    slope = solution.coefficients[slopes] / rest
    steps = [base[:, slopes], *_steps(columns, scalings, slopes)]
    found: dict[str, FloatArray] = {}
    for a, step in enumerate(steps):
        projected = step @ to_columns
        if a == 0 and constant is not None:
            projected[:, constant] += alone / scale[constant]
        found |= {f"p{j}_{a}": projected[:, j] for j in range(len(means))}
        found[f"e{a}"] = step @ slope - (outcome / rest if a == 0 else 0.0)
        for b, other in enumerate(steps[a:], start=a):
            twice = 1.0 if a == b else 2.0
            square = np.sum((step @ inverse) * other, axis=1)
            found[f"h{a}_{b}"] = twice * square + (alone if a == b == 0 else 0.0)
    freedom = max(products.records - len(means) - 1, 1)
    return found | {
        "outcome": np.array([scalings[-1].reach / rest]),
        "exact": np.array([EXACT * largest_outcome / rest]),
        "freedom": np.array([np.sqrt(freedom)]),
        "weight_unit": np.array([weight_unit]),
    }


def _steps(columns: CellColumns, scalings: Sequence[Scaling], slopes: np.ndarray) -> list[FloatArray]:
    """For each number of the predictors what z of 1 adds to the columns."""
    return [
        columns.on[:, slopes] * np.where(columns.numbers[slopes] == a + 1, one.reach, 0.0)
        for a, one in enumerate(scalings[:-1])
    ]
