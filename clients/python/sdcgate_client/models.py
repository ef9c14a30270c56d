"""A fitted model as it left the facility."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sdcgate_client.errors import UnexpectedAnswer

if TYPE_CHECKING:
    import pandas

FIGURES = ("estimate", "standard_error", "statistic", "p_value", "lower", "upper")


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient; its figures are None where it is withheld."""

    name: str
    status: str
    outcome: str = ""
    """Of an outcome with several categories the one that it is about."""
    estimate: float | None = None
    standard_error: float | None = None
    statistic: float | None = None
    p_value: float | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A model: coefficients and figures of fit with limited digits, counts rounded."""

    kind: str
    formula: str
    coefficients: tuple[Coefficient, ...]
    units: int
    records: int
    residual_degrees: int
    fit: Mapping[str, float] = field(repr=False)

    @property
    def withheld(self) -> int:
        """Number of withheld coefficients."""
        return sum(coefficient.status == "WITHHELD" for coefficient in self.coefficients)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Model":
        """Reads `{"kind": ..., "coefficients": [...], "fit": [...]}`.

        Raises:
            UnexpectedAnswer: something is missing.
        """
        try:
            return cls(
                kind=str(content["kind"]),
                formula=str(content["formula"]),
                coefficients=tuple(
                    Coefficient(
                        str(one["name"]),
                        str(one["status"]),
                        str(one.get("outcome") or ""),
                        **{name: one.get(name) for name in FIGURES},
                    )
                    for one in content["coefficients"]
                ),
                units=int(content["units"]),
                records=int(content["records"]),
                residual_degrees=int(content["residual_degrees"]),
                fit={str(one["statistic"]): float(one["value"]) for one in content.get("fit") or ()},
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UnexpectedAnswer(f"the model cannot be read: {type(error).__name__} {error}") from error

    def to_pandas(self) -> "pandas.DataFrame":
        """A row a coefficient.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        rows = [
            {"name": one.name, "outcome": one.outcome, "status": one.status}
            | {name: getattr(one, name) for name in FIGURES}
            for one in self.coefficients
        ]
        return pandas.DataFrame(rows).astype(dict.fromkeys(FIGURES, "Float64"))
