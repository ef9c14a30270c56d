"""A lower bound of the expected correct matches where all possible keys are too many for a log-linear model.

The key of a panel's unit has a column for each variable and wave. Some of them, and the number of waves that
a unit is in, are then fitted: the most detailed ones that span few enough keys. Who knows the whole key knows
these. A unit that is unique by them is unique by the whole key, which no more people share with it: the true
sum of 1/F_k by some columns is at most the one by all. An estimate of it is too low for the file, whose
sample uniques are the most that there can be.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from sdcgate.methods.cells import IntArray
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.loglinear import all_two_way, fit, key_table, main_effects
from sdcgate.methods.risk.microdata import UnitFile
from sdcgate.methods.risk.proportional_fitting import MOST_VISITS
from sdcgate.methods.risk.recommendation import Recommendation, recommend_from

MOST_POSSIBLE = 4_000_000
"""Possible keys that the columns may span: more would make the fits slow, and the sample bears no more."""
LEAST_GAIN = 1e-9
"""Entropy below which a column tells nothing that the others do not tell."""


@dataclass(frozen=True, slots=True, eq=False)
class FewerKeys:
    """The columns of a file's key that were chosen."""

    codes: IntArray = field(repr=False)
    """Shape (units, columns)."""
    columns: tuple[int, ...]
    """Positions among the key's columns, in order."""
    waves: bool
    """Whether the number of waves that a unit is in is a further column, the last one."""


def recommend_by_fewer(units: UnitFile, most_keys: int, most_visits: float = MOST_VISITS) -> Recommendation:
    """The recommended estimate by the most detailed columns of the key that span at most `most_keys` keys.

    Its `tau_2` is that of these columns, too low for the whole key; the interval goes up to the sample
    uniques of the whole key, and it is doubtful; `fewer` says so in words. Raises ValueError where
    nothing tells how many people stand for a unit, and where no column spans so few.
    """
    if units.weights is None:
        raise ValueError("weights are needed")
    chosen = fewer_keys(units, min(most_keys, MOST_POSSIBLE))
    table = key_table(chosen.codes, units.weights)
    variables = len(table.shape)
    simple = fit(table, main_effects(variables), most_visits=most_visits)
    rich = fit(table, all_two_way(variables), start=simple, most_visits=most_visits)
    found = recommend_from(table, units.weights, simple, rich, most_visits)
    uniques = int((group_keys(units.codes).counts == 1).sum())
    return replace(
        found,
        interval=(found.interval[0], float(uniques)),
        doubtful=True,
        sample_uniques=uniques,
        fewer=_in_words(units, chosen, found, uniques),
    )


def fewer_keys(units: UnitFile, most: int) -> FewerKeys:
    """Columns that tell most of the key for the possible keys that they span, one after the other.

    The next one is that which adds most entropy for the logarithm of its categories, as long as one fits.
    Raises ValueError where none does.
    """
    columns = list(units.codes.T)
    if any(key.wave is not None for key in units.keys):
        columns.append(_waves(units))
    sizes = [len(np.unique(own)) for own in columns]
    packed = [np.unique(own, return_inverse=True)[1] for own in columns]
    group, entropy, possible = np.zeros(len(units), dtype=np.int64), 0.0, 1
    chosen: list[int] = []
    while True:
        gains = []
        for column, own in enumerate(packed):
            if column not in chosen and 1 < sizes[column] <= most // possible:
                more = _entropy(group, own) - entropy
                gains.append((more / np.log(sizes[column]), more, -column))
        if not gains or max(gains)[1] < LEAST_GAIN:
            break
        column = -max(gains)[2]
        chosen.append(column)
        group = group_keys(np.column_stack([group, packed[column]])).group
        entropy, possible = entropy + max(gains)[1], possible * sizes[column]
    if not chosen:
        raise ValueError(f"no key variable has at most {most} categories: take coarser ones")
    chosen.sort()
    waves = chosen[-1] == len(units.keys)
    codes = np.column_stack([packed[column] for column in chosen])
    return FewerKeys(codes, tuple(chosen[: len(chosen) - waves]), waves)


def _waves(units: UnitFile) -> IntArray:
    """In how many waves each unit tells something."""
    found = np.zeros(len(units), dtype=np.int64)
    for wave in sorted({key.wave for key in units.keys if key.wave is not None}):
        own = [place for place, key in enumerate(units.keys) if key.wave == wave]
        found += (units.codes[:, own] >= 0).any(axis=1)
    return found


def _entropy(group: IntArray, own: IntArray) -> float:
    shares = group_keys(np.column_stack([group, own])).counts / len(group)
    return float(-(shares @ np.log(shares)))


def _in_words(units: UnitFile, chosen: FewerKeys, found: Recommendation, uniques: int) -> str:
    names = [units.keys[column].title for column in chosen.columns]
    if chosen.waves:
        names.append("the number of waves")
    low, high = found.interval
    doubt = ", and the models disagree" if found.doubtful else ""
    return (
        f"At least about {found.tau_2:,.0f} of the {uniques:,} sample uniques would be matched correctly. "
        f"All key variables span too many possible keys for a model: this is by {len(names)} columns of "
        f"{len(units.keys)} alone: {', '.join(names)} (95% for these: {low:,.0f} to {high:,.0f}{doubt}). "
        f"Fewer keys make the estimate too low: who knows them all finds more, at most {uniques:,}."
    )
