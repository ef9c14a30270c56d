"""Sections of a file's assessment about what is done with it: tables built from it, its weights, its release.

The figures are those of `recoding.worst_table`, `weights_channel`, `researchers_rules` and `public_rules`.
"""

from dataclasses import dataclass, field
from math import comb

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.file_options import NO_WEIGHTS
from sdcgate.methods.risk.keys import group_keys
from sdcgate.methods.risk.microdata import UnitFile
from sdcgate.methods.risk.public_rules import public_rules
from sdcgate.methods.risk.recoding import Lattice, WorstTable, lattice, worst_table
from sdcgate.methods.risk.release_rules import ReleaseFile, RuleSetFindings
from sdcgate.methods.risk.researchers_rules import researchers_rules
from sdcgate.methods.risk.weights_channel import (
    Prediction,
    RiskByWeight,
    prediction,
    risk_by_weight,
    weight_classes,
)

CLASSES = 20
"""Classes of weights that are nearly all different, as calibration makes them."""
OWN_WEIGHTS = 0.5
"""Share of the units with a weight of their own from which on weights are put into classes."""
LARGEST_TABLES = 2e8
"""Keys times tables that are looked at for the worst one: some seconds."""


@dataclass(frozen=True, slots=True)
class WorstTablesSection:
    """The tables with the most expected matches that can be built from the file."""

    tables: tuple[WorstTable, ...]
    """The worst of exactly one, two, ... dimensions."""
    looked_at: int
    """Tables that there are with so many."""
    file_matches: float
    """tau_2 of the whole key, beside them."""


@dataclass(frozen=True, slots=True)
class ToldByWeight:
    """What the weight tells of one variable."""

    name: str
    prediction: Prediction


@dataclass(frozen=True, slots=True)
class WeightsSection:
    """Weights, or another label that the design gives, as a channel."""

    values: int
    """Different weights, strata or PSUs."""
    classes: int | None
    """Classes that they were put into, as nearly all differ; None where equal weights were compared."""
    variables: tuple[ToldByWeight, ...]
    risk: RiskByWeight


@dataclass(frozen=True, slots=True)
class RuleSet:
    """What a set of rules for the release of files finds."""

    name: str
    findings: RuleSetFindings = field(repr=False)


def worst_tables_section(units: UnitFile, dimensions: int) -> WorstTablesSection:
    """The worst table of each number of dimensions up to `dimensions`, beside the whole key.

    Raises ValueError without weights, and where too many tables would have to be looked at.
    """
    if units.weights is None:
        raise ValueError(NO_WEIGHTS)
    return worst_tables(lattice(units.codes, units.weights, [[] for _ in units.keys]), dimensions)


def worst_tables(file: Lattice, dimensions: int) -> WorstTablesSection:
    """The worst tables of counted keys, as `worst_tables_section`."""
    variables = len(file.levels)
    most = min(dimensions, variables)
    looked_at = sum(comb(variables, size) for size in range(1, most + 1))
    if looked_at * len(file.counts) > LARGEST_TABLES:
        raise ValueError(
            f"{looked_at} tables of {len(file.counts)} keys are too many to look at: "
            "take fewer key variables, coarser ones, or fewer dimensions"
        )
    return WorstTablesSection(
        tables=tuple(worst_table(file, size) for size in range(1, most + 1)),
        looked_at=looked_at,
        file_matches=worst_table(file, variables).expected_matches,
    )


def weights_section(units: UnitFile) -> WeightsSection | None:
    """What the weight tells of key and sensitive variables, and the risk with the weight as a key.

    None where the file has no weights of its own, or all are the same: then they tell nothing.
    """
    if not units.weighted or units.weights is None or not np.ptp(units.weights) > 0:
        return None
    values = weight_classes(units.weights)
    classes = CLASSES if _own(values) > OWN_WEIGHTS else None
    labels = values if classes is None else weight_classes(units.weights, classes)
    return _channel(units, units.weights, labels, len(np.unique(values)), classes)


def label_section(units: UnitFile, labels: IntArray | None) -> WeightsSection | None:
    """What the stratum or the PSU (units,) tells of key and sensitive variables; the risk with it as a key.

    None where the file has none. Raises ValueError where nothing tells how many people a unit stands for.
    """
    if labels is None:
        return None
    if units.weights is None:
        raise ValueError(NO_WEIGHTS)
    return _channel(units, units.weights, labels, len(np.unique(labels)), None)


def _channel(
    units: UnitFile, weights: FloatArray, labels: IntArray, values: int, classes: int | None
) -> WeightsSection:
    named = [(key.title, codes) for key, codes in zip(units.keys, units.codes.T, strict=True)]
    return WeightsSection(
        values=values,
        classes=classes,
        variables=tuple(
            ToldByWeight(name, prediction(labels, np.asarray(codes, dtype=np.int64)))
            for name, codes in (*named, *units.sensitive)
        ),
        risk=risk_by_weight(units.codes, labels, weights),
    )


def rule_sets(file: ReleaseFile) -> tuple[RuleSet, ...]:
    """Statistics Netherlands' rules for microdata for researchers and for the general public."""
    return (
        RuleSet("researchers", researchers_rules(file)),
        RuleSet("the general public", public_rules(file)),
    )


def _own(values: IntArray) -> float:
    """Share of the units whose weight nobody else has."""
    counts = group_keys(values[:, None]).counts
    return float((counts == 1).sum() / len(values))
