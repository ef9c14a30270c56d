"""Cell keys in a policy: the noise that counts and sums get where cells are not withheld."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from sdcgate.methods.rules import Consequence, Rules
from sdcgate.policy.rule_set import Model

if TYPE_CHECKING:
    from sdcgate.methods.tables.ptable import PTable

CELL_KEY = "cell_key"
SUPPRESSION = "suppression"
MOST_RANKS = 4


class NoiseTableSetting(Model):
    """A perturbation table that was made elsewhere, a value a row, the rows of a count together."""

    counts: tuple[int, ...] = Field(min_length=1, max_length=10_000)
    """The count (i of the R package ptable), from 0 without a gap; the last is for all greater ones."""
    noise: tuple[int, ...]
    """By what it changes (v)."""
    probabilities: tuple[float, ...]
    """With what probability (p)."""


class CellKeysSetting(Model):
    """The noise by cell keys: parameters of a perturbation table, or one that was made elsewhere."""

    maximum_noise: int | None = None
    """D: the most by which a count changes."""
    variance: float | None = None
    """V: the variance of the change."""
    largest_blocked_count: int = 0
    """js: no count is published as 1 to this."""
    stay_probabilities: tuple[float, ...] = ()
    """p_stay: the least probability that a count stays as it is; one for all, or one a count from 1 on."""
    table: NoiseTableSetting | None = None
    """A table in place of the parameters."""
    sum_shares: tuple[Annotated[float, Field(gt=0, le=1 / 3)], ...] = Field(default=(), max_length=MOST_RANKS)
    """Standard deviation of the noise of sums, as shares of the largest contributions; empty: no sums."""
    maximum_answers: int | None = Field(default=None, ge=1, le=1_000_000)
    """How many noisy figures of a kind may leave that any one record is in; null: any number."""

    @model_validator(mode="after")
    def _makes_a_table(self) -> Self:
        parameters = (self.maximum_noise, self.variance)
        if (self.table is None) == (None in parameters):
            raise PydanticCustomError(
                "cell_keys", "name maximum_noise and variance, or a table, and not both or neither"
            )
        if self.table is not None and not (parameters == (None, None) and self == self._without_parameters()):
            raise PydanticCustomError("cell_keys", "a table has no parameters beside it")
        try:
            found = self.effective()
            found.ptable()
            found.sum_noise()
        except ValueError as error:
            raise PydanticCustomError("cell_keys", "{what}", {"what": str(error)}) from None
        return self

    def _without_parameters(self) -> Self:
        return self.model_copy(update={"largest_blocked_count": 0, "stay_probabilities": ()})

    def effective(self) -> "CellKeyNoise":
        """The same as an effective policy has it."""
        table = self.table
        return CellKeyNoise(
            self.maximum_noise or 0,
            self.variance or 0.0,
            self.largest_blocked_count,
            self.stay_probabilities,
            () if table is None else (table.counts, table.noise, table.probabilities),
            self.sum_shares,
            self.maximum_answers,
        )


@dataclass(frozen=True, slots=True)
class CellKeyNoise:
    """The noise by cell keys: parameters as in `NoiseParameters`, or the columns of a `table`."""

    maximum_noise: int
    variance: float
    largest_blocked_count: int = 0
    stay_probabilities: tuple[float, ...] = ()
    table: tuple[tuple[Any, ...], ...] = ()
    """Counts, noise and probabilities of a table made elsewhere; empty where the parameters make it."""
    sum_shares: tuple[float, ...] = ()
    """Standard deviation of the noise of sums, as shares of the largest contributions; empty: no sums."""
    maximum_answers: int | None = None
    """How many noisy figures of a kind may leave that any one record is in; None: any number."""

    def ptable(self) -> "PTable":
        """The perturbation table. Raises PTableError where there is none such."""
        import numpy as np

        from sdcgate.methods.tables.ptable import NoiseParameters, ptable
        from sdcgate.methods.tables.ptable_checks import checked_ptable

        if self.table:
            counts, noise, probabilities = self.table
            whole = (np.array(counts, dtype=np.int64), np.array(noise, dtype=np.int64))
            return checked_ptable(*whole, np.array(probabilities, dtype=np.float64))
        parameters = NoiseParameters(
            self.maximum_noise, self.variance, self.largest_blocked_count, self.stay_probabilities
        )
        return ptable(parameters)

    def sum_noise(self) -> Any:
        """The noise of sums (`SumNoise`); None where there is none. Raises ValueError for unfit shares."""
        from sdcgate.methods.tables.cell_key import SumNoise

        return SumNoise(self.sum_shares) if self.sum_shares else None

    def as_file(self) -> dict[str, Any]:
        """As a policy file has it."""
        written = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}
        if not self.table:
            return {**written, "table": None}
        columns = zip(("counts", "noise", "probabilities"), self.table, strict=True)
        table = {name: list(values) for name, values in columns}
        return {**written, "maximum_noise": None, "variance": None, "table": table}

    def words(self) -> str:
        """What is done, in a sentence or two."""
        if self.table:
            noise = "Counts get noise by cell keys from a given perturbation table."
        else:
            noise = (
                f"Counts get noise by cell keys, of mean 0, variance {self.variance:g} and at most "
                f"{self.maximum_noise}."
            )
        blocked = self.largest_blocked_count
        noise += f" None leaves as 1 to {blocked}." if blocked else ""
        shares = ", ".join(f"{share:g}" for share in self.sum_shares)
        noise += (
            f" Sums get noise whose deviation is {shares} times the largest contributions."
            if shares
            else " Sums are not shown."
        )
        most = self.maximum_answers
        return noise + (
            f" At most {most} noisy counts leave that any one record is in, and as many sums." if most else ""
        )


def unfit_for_noise(rules: Rules) -> str:
    """What of the rules does not go with cell keys; empty where all do.

    A rule that refuses or refers by the true figures would tell them, where noise is to hide them.
    """
    of_cells = [
        *((name, getattr(rules, name)) for name in ("minimum_units", "minimum_households", "p_percent")),
        *((name, getattr(rules, name)) for name in ("prior_posterior", "equal_values")),
        *(("dominance", rule) for rule in rules.dominance),
        *(("linear_sensitivity", rule) for rule in rules.linear_sensitivity),
    ]
    refusing = [name for name, rule in of_cells if rule and rule.consequence is not Consequence.PROTECT]
    absent = [name for name in ("group_disclosure", "individual_risk") if getattr(rules, name) is not None]
    said = [f"rules.{name}: its consequence must be protect" for name in dict.fromkeys(refusing)]
    said += [f"rules.{name} must be null: noise does not answer it" for name in absent]
    return "; ".join(said)
