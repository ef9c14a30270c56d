"""What an agency chooses where a file is assessed."""

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.proportional_fitting import MOST_VISITS
from sdcgate.methods.risk.risk_factors import Factors

if TYPE_CHECKING:
    from sdcgate.methods.risk.recoding_comparison import AccessBound
    from sdcgate.methods.risk.threshold import ClassMinimum

NO_WEIGHTS = (
    "nothing tells how many people stand for a unit: give a weight, a sampling fraction or a population"
)


@dataclass(frozen=True, slots=True)
class Options:
    """What an agency chooses."""

    missing: Missing = Missing.CATEGORY
    factors: Factors = field(default_factory=Factors)
    """Of the individual risk: each one number."""
    risk_threshold: float = 0.1
    """r*: units with a risk at it or above are unsafe."""
    target_rate: float | None = None
    """xi*: re-identification rate that the file is to keep; the threshold on r_k that does is told."""
    minimum: int = 3
    """Threshold rule: a value is safe if at least so many units of the file have it."""
    minimums: tuple[int, ...] = ()
    """Threshold rule: the minimum of one, two, ... key variables, in place of `minimum` and `dimensions`."""
    class_minimums: "tuple[ClassMinimum, ...]" = ()
    """Threshold rule: minimums of combinations by how identifying variables are, beside those by size."""
    dimensions: int = 3
    """Threshold rule: over all combinations of up to so many key variables."""
    suda_size: int | None = None
    """SUDA: most variables of a minimal sample unique; as many as are quickly searched where None."""
    largest_table: int = 64_000_000
    """Log-linear models are left out where more keys than this are possible."""
    accepted_share: float = 0.01
    """Recodings: tau_2 as a share of the file up to which one is acceptable; Israel CBS takes 1%."""
    access: "tuple[AccessBound, ...]" = ()
    """Recodings: up to what risk a file may have an access level, the widest first."""
    ordinal: tuple[str, ...] = ()
    """Key variables that are ordered, by name: the risk is smoothed along them."""
    models: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """Hierarchical log-linear models beside the usual ones, each by its interactions of key variables."""
    most_visits: float = MOST_VISITS
    """Cells that the fit of a log-linear model, or the search for one, may visit: a bound of its time."""
    neighbours: int = 3
    """Numbers: how many others a record must be confused with."""
    most_pairs: float = inf
    """Numbers: pairs of records with the same key that may be compared: a bound of its time."""
    riskiest: int = 0
    """So many of the riskiest records are named by their numbers in the file."""

    @property
    def by_size(self) -> tuple[int, ...]:
        """Threshold rule: the minimum of combinations of one, two, ... key variables."""
        return self.minimums or (self.minimum,) * self.dimensions

    def check(self) -> None:
        """Raises ValueError with all that is out of range."""
        problems = []
        if not 0 < self.risk_threshold <= 1:
            problems.append("risk_threshold must be above 0 and at most 1")
        if self.target_rate is not None and not 0 < self.target_rate < 1:
            problems.append("target_rate must be above 0 and below 1")
        if self.minimum < 1:
            problems.append("minimum must be at least 1")
        if any(one < 1 for one in self.minimums):
            problems.append("minimums must be at least 1")
        if any(one.minimum < 1 or not one.classes for one in self.class_minimums):
            problems.append("class_minimums must have a class, and be at least 1")
        if self.dimensions < 1:
            problems.append("dimensions must be at least 1")
        if self.suda_size is not None and self.suda_size < 1:
            problems.append("suda_size must be at least 1")
        if not 0 <= self.accepted_share <= 1:
            problems.append("accepted_share must be 0 to 1")
        if self.neighbours < 1:
            problems.append("neighbours must be at least 1")
        if self.riskiest < 0:
            problems.append("riskiest must not be negative")
        if problems:
            raise ValueError("; ".join(problems))
