"""How much of what measures leave unexplained of each other is one unit's.

A correlation tells what is left of a measure once another explains it as well as a line can. Where two
measures differ for one person only, that rest is hers: whoever knows one measure and the correlation has the
difference. So it is judged as the squared residuals of a linear model are (`influence`). A t test and an
analysis of variance leave unexplained how values lie about the means of their cells.

What a record holds is by how much less would be left without it, r^2 / (1 - h), h being its leverage
(Belsley, Kuh and Welsch 1980, section 2.1): of two measures that differ for one person only it is all,
however far out she lies. A unit holds the sum over its records.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.outputs.sample import Sample
from sdcgate.methods.outputs.statistic_facts import ResidualShare, largest_of_groups

NOTHING_LEFT = 1e-10
"""Of a measure's squares: with less of them unexplained, another determines it for everybody."""
ROUNDING = 1e-28
"""Of squares of doubles: what is left about a mean where all are equal."""
DETERMINED = 1e-9
"""A record whose leverage is nearer to 1 than this has no residual."""
INDEPENDENT = 1e-12
"""Of the largest eigenvalue: columns that follow from others have no direction of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What is left of measures in groups, as sums of their deviations from the means of these."""

    names: tuple[str, ...]
    """`a by b`; `a by the others`."""
    weights: FloatArray = field(repr=False)
    """Of each measure's deviation, so that squares of a group sum to 1; (groups, residuals, measures)."""
    levers: FloatArray = field(repr=False)
    """What the leverage is a sum of squares of, beside `base`; shape (groups, residuals, rows, measures)."""
    base: FloatArray = field(repr=False)
    """1 over the records, shape (groups,)."""
    nothing: BoolArray = field(repr=False)
    """Whether nothing is left of a measure that varies, shape (groups, residuals)."""

    @property
    def parts(self) -> tuple[tuple[IntArray, tuple[IntArray, ...]], ...]:
        """The measures in each residual, and in the rows of its leverage, in any group."""
        weighing, levering = (self.weights != 0).any(axis=0), (self.levers != 0).any(axis=0)
        return tuple(
            (np.flatnonzero(weights), tuple(np.flatnonzero(row) for row in rows if row.any()))
            for weights, rows in zip(weighing, levering, strict=True)
        )

    def between(self, start: int, end: int) -> "Residuals":
        """Those from one place on and before another."""
        cut = slice(start, end)
        weights, levers, nothing = self.weights[:, cut], self.levers[:, cut], self.nothing[:, cut]
        return Residuals(self.names[cut], weights, levers, self.base, nothing)


def residuals_of(names: Sequence[str], centred: FloatArray, records: IntArray) -> Residuals:
    """The residuals of each measure on each other one, and of several measures on all others.

    `centred` are cross-products of deviations from the means of groups, shape (groups, measures, measures),
    `records` those of the groups. What a measure that does not vary explains is nothing.
    """
    every = range(len(names))
    explaining = [(one, [other]) for one in every for other in every if one != other]
    labels = [f"{names[one]} by {names[other]}" for one, (other,) in explaining]
    if len(names) > 2:
        explaining += [(one, [at for at in every if at != one]) for one in every]
        labels += [f"{name} by the others" for name in names]
    shape = (len(centred), len(explaining))
    weights, nothing = np.zeros((*shape, len(names))), np.zeros(shape, dtype=np.bool_)
    levers = np.zeros((*shape, max(1, len(names) - 1), len(names)))
    for group, sums in enumerate(centred):
        for place, (one, others) in enumerate(explaining):
            if not sums[one, one] > 0:
                continue
            rows = _rows(sums[np.ix_(others, others)])
            slopes = rows.T @ (rows @ sums[one, others])
            left = sums[one, one] - sums[one, others] @ slopes
            nothing[group, place] = not left > NOTHING_LEFT * sums[one, one]
            if not nothing[group, place]:
                weights[group, place, one] = 1 / np.sqrt(left)
                weights[group, place, others] = -slopes / np.sqrt(left)
                levers[group, place, : len(others), others] = rows.T
    return Residuals(tuple(labels), weights, levers, 1.0 / np.maximum(records, 1), nothing)


def residuals_of_cells(
    squares: FloatArray, records: IntArray, sizes: FloatArray, wholes: IntArray
) -> Residuals:
    """How values lie about the means of cells, in cells that are taken together.

    Args:
        squares: about these means, shape (cells,).
        records: of the cells.
        sizes: squares of the values themselves: where no more is left of these than rounding leaves nothing
            varies, and the rule on equal values speaks. Shape (cells,).
        wholes: in which each cell is taken together with others, from 0 on.
    """
    left, size = (np.bincount(wholes, amounts) for amounts in (squares, sizes))
    scale = np.zeros(len(left))
    varies = left > ROUNDING * size
    scale[varies] = 1 / np.sqrt(left[varies])
    weights = scale[wholes][:, None, None]
    nothing = np.zeros((len(left), 1), dtype=np.bool_)
    return Residuals(
        ("cells",), weights, np.zeros((len(weights), 1, 1, 1)), 1.0 / np.maximum(records, 1), nothing
    )


def _rows(sums: FloatArray) -> FloatArray:
    """Rows whose squares sum to a square in the inverse of cross-products, shape (rows, columns)."""
    lengths = np.sqrt(np.diag(sums))
    over = np.divide(1.0, lengths, out=np.zeros(len(sums)), where=lengths > 0)
    values, vectors = np.linalg.eigh(sums * np.outer(over, over))
    kept = values > INDEPENDENT * max(float(values.max()), INDEPENDENT)
    rows: FloatArray = np.zeros(sums.shape)
    rows[kept] = (vectors[:, kept] / np.sqrt(values[kept])).T * over
    return rows


def largest_held(
    sample: Sample, values: FloatArray, residuals: Residuals, wholes: IntArray, ranks: int
) -> FloatArray:
    """What the largest units hold of each residual's squares, shape (wholes, residuals, ranks).

    `values` are the measures by record, shape (records, measures); groups with one number in `wholes`, shape
    (groups,), are taken together.
    """
    counts = np.maximum(sample.records_of_groups, 1)
    means = np.stack([sample.sums(column) / counts for column in values.T], axis=1)
    apart = values - means[sample.groups]
    number = int(wholes.max()) + 1
    together = Sample(sample.values, wholes[sample.groups], sample.units, number)
    found = np.empty((number, len(residuals.names), ranks))
    for place, (_, rows) in enumerate(residuals.parts):
        left = np.sum(apart * residuals.weights[sample.groups, place], axis=1)
        free = 1.0 - residuals.base[sample.groups]
        for row in range(residuals.levers.shape[2] if rows else 0):
            free -= np.sum(apart * residuals.levers[sample.groups, place, row], axis=1) ** 2
        held = np.divide(left**2, free, out=np.zeros(len(left)), where=free > DETERMINED)
        units, _, _ = together.unit_groups
        found[:, place] = largest_of_groups(units, together.unit_sums(held), number, ranks)
    return found


def shares_of(residuals: Residuals, top: FloatArray, groups: int) -> tuple[ResidualShare, ...]:
    """The largest unit's share of what is left without what a coalition, the next largest, knows as its own.

    `top` is what the largest units hold, shape (wholes, residuals, coalition + 1), as many wholes for each of
    the groups: of these the worst counts. Where nothing is left of a measure it is 1.
    """
    rest = 1.0 - top[:, :, 1:].sum(axis=2)
    shares = np.divide(top[:, :, 0], rest, out=np.ones(rest.shape), where=rest > 0)
    shares = np.where(residuals.nothing, 1.0, np.minimum(shares, 1.0))
    worst = shares.reshape(groups, -1, len(residuals.names)).max(axis=1)
    return tuple(ResidualShare(name, worst[:, place]) for place, name in enumerate(residuals.names))
