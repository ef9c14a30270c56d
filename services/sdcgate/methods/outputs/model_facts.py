"""What is true of a model that its checks need: how many units stand behind each figure, and how evenly.

Figures are by coefficient and by term, none by record. Hidden from repr: they may be withheld.
"""

from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.outputs.design import VariableLevel

NOT_GIVEN = -1
"""A number of units that nobody told."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFacts:
    """How each coefficient rests on units, arrays of shape (coefficients,)."""

    names: tuple[str, ...]
    terms: tuple[int, ...]
    """Position of each coefficient's term in `ModelFacts.terms`."""
    units_apart: IntArray = field(repr=False)
    """Units with a record off the column's median, which is the most frequent value where one prevails.

    Or some of them, where these are enough for the rules (`ModelRules.enough_apart`); `NOT_GIVEN` where
    it is not known.
    """
    largest_shares: FloatArray = field(repr=False)
    """Share of the information on it that its k largest units hold, k from 1; shape (coefficients, n)."""
    dfbetas: FloatArray = field(repr=False)
    """By how many standard errors leaving out one unit moves the coefficient, at most (one-step)."""


@dataclass(frozen=True, slots=True, eq=False)
class TermFacts:
    """The table that a term implies: combinations that occur of its factors and of measures of few values."""

    text: str
    factors: tuple[VariableLevel, ...] = ()
    units: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    """Units of each combination that occurs; empty where there are none."""
    class_units: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64), repr=False)
    """Units of each combination and class of the outcome; empty where the outcome has no classes."""
    saturated: bool = False
    """Whether the terms of these factors alone have a parameter for each combination."""
    of_values: bool = False
    """Whether a measure of few values is combined as a factor would be."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelFacts:
    """True facts of a fitted model."""

    family: str
    units: int
    records: int
    parameters: int
    residual_degrees: int
    columns: ColumnFacts
    terms: tuple[TermFacts, ...]
    maximum_leverage: float = field(repr=False)
    """Largest sum of leverages of one unit's records: how near a unit is to a parameter of its own."""
    r_squared: float | None = field(default=None, repr=False)
    """None where the family has none."""
    exact_share: float = field(default=0.0, repr=False)
    """Share of records whose outcome is fitted exactly but for rounding."""
    outcome_units: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    """Units of each class of the outcome, of its values where these are few, or of each side of a quantile;
    empty where it has none of these."""
    separated: bool = field(default=False, repr=False)
    """Whether the columns foretell a class of the outcome for some records completely."""
    condition: float = field(default=0.0, repr=False)
    """Condition number of the columns scaled to unit length."""
    implied_table: tuple[VariableLevel, ...] | None = None
    """The factors whose table of cells the model is, cell for cell: () is one cell; None where it is none."""
    pattern_units: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    """Units of each distinct row of the columns where there are no more rows than columns; else empty."""
    residual_share: float | None = field(default=None, repr=False)
    """The largest unit's share of the squared residuals; None where no variance of theirs is estimated."""
