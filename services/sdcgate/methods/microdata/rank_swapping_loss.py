"""What rank swapping changed: how far values travelled, and what became of correlations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sdcgate.methods.cells import FloatArray
from sdcgate.methods.microdata.rank_swapping import RankSwapping


@dataclass(frozen=True, slots=True)
class VariableChange:
    """What became of one variable. Its distribution is what it was: values change places, nothing else."""

    values: int
    """Values that are not missing."""
    window: int
    """The most by which ranks may differ."""
    changed: int
    """Records that have another value."""
    mean_rank_difference: float
    """Mean difference of the ranks of a record's new value and its own, as a share of the values."""
    correlation: float
    """Of the record's new value with its own; NaN where a variable has one value."""


@dataclass(frozen=True, slots=True)
class RankSwappingLoss:
    """The report on a file whose values changed places."""

    records: int
    variables: tuple[VariableChange, ...]
    mean_correlation_change: float
    """Mean absolute change of the correlations of all pairs of variables; NaN where there is no pair."""
    largest_correlation_change: float


def rank_swapping_loss(values: Sequence[FloatArray], swappings: Sequence[RankSwapping]) -> RankSwappingLoss:
    """Compare variables, each of shape (records,), with themselves after their swaps."""
    after = [one[swapping.sources] for one, swapping in zip(values, swappings, strict=True)]
    changes = [
        abs(_correlation(after[i], after[j]) - _correlation(values[i], values[j]))
        for i in range(len(values))
        for j in range(i)
    ]
    known = [change for change in changes if not np.isnan(change)]
    return RankSwappingLoss(
        records=len(values[0]),
        variables=tuple(map(_change, values, after, swappings)),
        mean_correlation_change=float(np.mean(known)) if known else np.nan,
        largest_correlation_change=max(known, default=np.nan),
    )


def _change(own: FloatArray, new: FloatArray, swapping: RankSwapping) -> VariableChange:
    present = swapping.ranks >= 0
    steps = np.abs(swapping.ranks[swapping.sources] - swapping.ranks)[present]
    return VariableChange(
        values=int(present.sum()),
        window=swapping.window,
        changed=int((own != new)[present].sum()),
        mean_rank_difference=float(steps.mean() / present.sum()),
        correlation=_correlation(own, new),
    )


def _correlation(one: FloatArray, other: FloatArray) -> float:
    """Pearson's correlation of the records that have both; NaN where one of them does not vary."""
    both = ~(np.isnan(one) | np.isnan(other))
    if both.sum() < 2:
        return float("nan")
    first, second = (column[both] - column[both].mean() for column in (one, other))
    size = float(np.sqrt((first**2).sum() * (second**2).sum()))
    return float((first * second).sum()) / size if size > 0 else float("nan")
