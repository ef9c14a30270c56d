"""Weights as a channel: does the weight, the stratum or the PSU tell what the file does not show?

Where categories were sampled at different rates, the weight tells the category, and the design variable
becomes a key variable though it was left out. Sources: Skinner, *Statistical Disclosure Control for Survey
Data*, 3.5; de Waal and Willenborg (1997); Willenborg and de Waal (2001), 5.7.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, FloatArray, IntArray
from sdcgate.methods.risk.individual import TableRisk, table_risk
from sdcgate.methods.risk.keys import checked_weights, group_keys, weight_sums


@dataclass(frozen=True, slots=True, eq=False)
class Channel:
    """What a label (weight, stratum, PSU) tells of a variable; information in bits."""

    told: BoolArray = field(repr=False)
    """Records whose category all records with their label have, at least two, shape (records,)."""
    alone: BoolArray = field(repr=False)
    """Records that nobody shares the label with: it tells only who knows the design, shape (records,)."""
    guessed: float
    """Share of records whose category is guessed right from the others with their label."""
    guessed_without: float
    """The same without the label: from all others."""
    information: float
    """Mutual information of label and variable."""
    entropy: float
    """Entropy of the variable: all there is to tell."""
    by_chance: float
    """Mean mutual information where the labels are dealt out at random: what is no sign of a channel."""

    @property
    def share_told(self) -> float:
        """Share of the records whose category is told."""
        return float(self.told.mean())


@dataclass(frozen=True, slots=True)
class Prediction:
    """How well a label predicts a variable; nothing of it rests on chance."""

    share_told: float
    """Share of records whose category all records with their label have, at least two."""
    share_alone: float
    """Share of records that nobody shares the label with."""
    guessed: float
    """Share of records whose category is guessed right from the others with their label."""
    guessed_without: float
    """The same without the label: from all others."""


@dataclass(frozen=True, slots=True)
class RiskByWeight:
    """Individual risk of a file without and with the label as a key."""

    without: TableRisk
    with_label: TableRisk


def weight_classes(weights: FloatArray, classes: int | None = None) -> IntArray:
    """Weights as labels, shape (records,): equal weights alike, or `classes` classes with as many records.

    Calibrated weights differ between any two records and need classes; equal weights are never parted.
    Raises ValueError for wrong weights and fewer than 2 classes.
    """
    values = checked_weights(weights, len(np.asarray(weights)))
    if classes is None:
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    if classes < 2:
        raise ValueError("classes must be at least 2")
    bounds = np.quantile(values, np.arange(1, classes) / classes) if len(values) else values
    return np.searchsorted(bounds, values, "left").astype(np.int64)


def channel(labels: IntArray, variable: IntArray, rng: np.random.Generator, deals: int = 20) -> Channel:
    """What a label tells of a variable that is not, or not so finely, in the file.

    `labels` and `variable` are codes (records,), -1 missing and a category: of weights by `weight_classes`,
    of strata and PSUs numbered. Predictions leave the record itself out, so that a label of one record tells
    nothing. Mutual information needs no such care if it is held against `by_chance`.

    Raises ValueError for codes that are wrong or do not fit, no records, and fewer than one deal.
    """
    label, category = _checked(labels), _checked(variable)
    if len(label) != len(category):
        raise ValueError("labels and variable must have one code a record each")
    if deals < 1:
        raise ValueError("deals must be at least 1")
    told, alone = _told(label, category)
    chance = np.mean([_information(rng.permutation(label), category) for _ in range(deals)])
    return Channel(
        told=told,
        alone=alone,
        guessed=_guessed(label, category),
        guessed_without=_guessed(np.zeros_like(label), category),
        information=_information(label, category),
        entropy=_entropy(np.bincount(category)),
        by_chance=float(chance),
    )


def prediction(labels: IntArray, variable: IntArray) -> Prediction:
    """How well a label predicts a variable; codes as in `channel`.

    Raises ValueError for codes that are wrong or do not fit, and no records.
    """
    label, category = _checked(labels), _checked(variable)
    if len(label) != len(category):
        raise ValueError("labels and variable must have one code a record each")
    told, alone = _told(label, category)
    return Prediction(
        share_told=float(told.mean()),
        share_alone=float(alone.mean()),
        guessed=_guessed(label, category),
        guessed_without=_guessed(np.zeros_like(label), category),
    )


def risk_by_weight(codes: IntArray, labels: IntArray, weights: FloatArray) -> RiskByWeight:
    """Individual risk of the keys `codes` (records, keys), without and with the label among them.

    As if the intruder knew everybody's label: the worst case, and the right one where the label is a design
    variable under another name. Raises ValueError where keys, labels or weights are wrong.
    """
    label = _checked(labels)
    return RiskByWeight(_risk(codes, weights), _risk(np.column_stack([codes, label]), weights))


def _told(label: IntArray, category: IntArray) -> tuple[BoolArray, BoolArray]:
    """Records whose category all others with their label have, and records that are alone with theirs."""
    sizes = np.bincount(label)
    pair = group_keys(np.column_stack([label, category]))
    alone = sizes[label] == 1
    return (pair.counts[pair.group] == sizes[label]) & ~alone, alone


def _risk(codes: IntArray, weights: FloatArray) -> TableRisk:
    """Individual risk of a file by its keys."""
    keys = group_keys(codes)
    return table_risk(keys.counts, weight_sums(keys, weights), len(keys.group))


def _guessed(label: IntArray, category: IntArray) -> float:
    """Share that is guessed by the most frequent category among the others with the label.

    Of several that are as frequent one is taken at random. Who has no others counts as guessed wrongly.
    """
    pair = group_keys(np.column_stack([label, category]))
    of_pair = label[pair.first]
    first = np.zeros(label.max() + 1, dtype=np.int64)
    np.maximum.at(first, of_pair, pair.counts)
    top = first[of_pair] == pair.counts
    tops = np.bincount(of_pair, top, len(first))[of_pair]
    below = (pair.counts == first[of_pair] - 1) | top
    # Without the record its own category has one fewer: it ties with those one below the largest.
    ties = np.bincount(of_pair, below, len(first))[of_pair]
    chance = np.where(top & (tops == 1) & (pair.counts > 1), 1.0 / ties, 0.0)
    return float((chance * pair.counts).sum() / len(label))


def _information(label: IntArray, category: IntArray) -> float:
    """Mutual information of two codes in bits, never below 0."""
    pairs = group_keys(np.column_stack([label, category])).counts
    parts = _entropy(np.bincount(label)) + _entropy(np.bincount(category))
    return max(parts - _entropy(pairs), 0.0)


def _entropy(counts: IntArray) -> float:
    """Entropy of counts in bits."""
    shares = counts[counts > 0] / counts.sum()
    return max(float(-(shares * np.log2(shares)).sum()), 0.0)


def _checked(codes: IntArray) -> IntArray:
    """Codes numbered from 0 without gaps, missing among them. Raises ValueError where they are none."""
    values = np.asarray(codes)
    if values.ndim != 1 or values.dtype.kind != "i" or not len(values):
        raise ValueError("labels and variable must be integer codes, one a record, of at least one record")
    if values.min() < -1:
        raise ValueError("labels and variable must be -1 (missing) or codes from 0 upwards")
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
