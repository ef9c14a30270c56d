"""What a formula may name: variables with their codes, measures with what may be done to them."""

from collections.abc import Iterable
from dataclasses import dataclass

from sdcgate.methods.known_names import near_names, some_of
from sdcgate.methods.outputs.splines import Spline


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a variable with its declared codes, in their order."""

    name: str
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Categorical:
    """A variable, always a factor; the first level is the one meant where a formula names none."""

    name: str
    levels: tuple[Level, ...]

    def level(self, name: str) -> Level:
        """The level of a name; KeyError where there is none."""
        for level in self.levels:
            if level.name == name:
                return level
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure, always numeric, with the transformations registered for it and its spline."""

    name: str
    transformations: tuple[str, ...] = ()
    spline: Spline | None = None
    of_codes: bool = False
    """Whether it is a variable of the same name whose codes are numbers: then `numeric(...)` means it."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All that formulas about a dataset may name."""

    variables: tuple[Categorical, ...]
    measures: tuple[Measured, ...]

    def variable(self, name: str) -> Categorical | None:
        """The variable of a name, None where there is none."""
        return next((known for known in self.variables if known.name == name), None)

    def measure(self, name: str) -> Measured | None:
        """The measure of a name, None where there is none."""
        return next((known for known in self.measures if known.name == name), None)

    def ambiguous(self, name: str) -> bool:
        """Whether a bare name could mean a variable or a measure."""
        measure = self.measure(name)
        return measure is not None and not measure.of_codes and self.variable(name) is not None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all variables and measures."""
        return (*(known.name for known in self.variables), *(known.name for known in self.measures))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean a, b?)` with public names near to one that is unknown, or `; there are a, b, c`."""
    candidates = list(dict.fromkeys(known))
    if near := near_names(name, candidates):
        return f" (did you mean {', '.join(near)}?)"
    listed = some_of(name, candidates)
    return f"; there are {listed}" if listed else ""
