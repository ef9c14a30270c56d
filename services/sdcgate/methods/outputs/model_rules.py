"""The rules that models are judged by; None is not judged."""

from dataclasses import dataclass

from sdcgate.methods.rules import Consequence


@dataclass(frozen=True, slots=True)
class MinimumResidualDegrees:
    """Fewer residual degrees of freedom than this are unsafe."""

    degrees: int
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class MinimumCategory:
    """Unsafe if a category, a combination of categories or the other values of a column have fewer units.

    Also if measures of few values make the model a table that its factors do not tell of.
    """

    units: int
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class MaximumInfluence:
    """Unsafe if the largest units hold more than a share of a coefficient's information."""

    largest: int
    share: float
    consequence: Consequence
    dfbetas: float = 0.0
    """Unsafe if one unit moves a coefficient by more than so many standard errors; 0: not judged."""


@dataclass(frozen=True, slots=True)
class MaximumLeverage:
    """Unsafe if the leverages of one unit's records sum to more than this."""

    leverage: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class MaximumFit:
    """Unsafe if more than these shares of the variance are explained or of the records fitted exactly.

    Also if one unit holds more than a share of the squared residuals: who knows that all others are fitted
    learns its residual from the unexplained rest.
    """

    r_squared: float
    exact_share: float
    consequence: Consequence
    residual_share: float = 0.0
    """0: not judged."""


@dataclass(frozen=True, slots=True)
class MinimumOutcomeClass:
    """Unsafe if a class of the outcome has fewer units, in all or in a category that it occurs in.

    Also where it is foretold completely, or everybody of a category has it.
    """

    units: int
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class MaximumParameters:
    """Unsafe if there are more parameters per unit than this."""

    per_unit: float
    consequence: Consequence


@dataclass(frozen=True, slots=True)
class NoImpliedTable:
    """Unsafe if the model is the table of its factors, cell for cell, and is not judged as one."""

    consequence: Consequence


@dataclass(frozen=True, slots=True)
class ModelRules:
    """The rules on models of an effective policy."""

    residual_degrees: MinimumResidualDegrees | None = None
    categories: MinimumCategory | None = None
    influence: MaximumInfluence | None = None
    leverage: MaximumLeverage | None = None
    fit: MaximumFit | None = None
    outcome_class: MinimumOutcomeClass | None = None
    parameters: MaximumParameters | None = None
    saturation: NoImpliedTable | None = None

    @property
    def largest(self) -> int:
        """How many of the largest units of a coefficient the rules look at; at least one."""
        return max(1, self.influence.largest if self.influence else 1)

    @property
    def enough_apart(self) -> int:
        """Units off a column's median that satisfy all rules; more of them make no difference."""
        return max(1, self.categories.units if self.categories else 1)
