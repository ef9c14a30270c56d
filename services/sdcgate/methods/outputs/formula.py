"""Model formulas in the notation of Wilkinson and Rogers (1973), as users of statsmodels write them.

A formula is data, parsed by `formula_parser` and never evaluated. Two spellings of one formula are equal here
and have one canonical text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")


@dataclass(frozen=True, slots=True)
class Factor:
    """A categorical variable at one of its levels; without a reference the first code that occurs is it."""

    variable: str
    level: str
    reference: str = ""
    plain: bool = True
    """Whether the level is the one meant where none is named, and no measure has the variable's name."""

    @property
    def name(self) -> str:
        """How its columns call it: as it is spelled without a reference."""
        return Factor(self.variable, self.level, "", self.plain).text

    @property
    def text(self) -> str:
        """Canonical spelling."""
        options = [] if self.plain else [f"level={quoted(self.level)}"]
        options += [f"reference={quoted(self.reference)}"] if self.reference else []
        name = spelled(self.variable)
        return f"C({', '.join([name, *options])})" if options else name


@dataclass(frozen=True, slots=True)
class Numeric:
    """A measure, transformed or as it is (`transformation` empty)."""

    measure: str
    transformation: str = ""
    ambiguous: bool = False
    """Whether a variable has the same name: then it is spelled `numeric(...)`."""

    @property
    def text(self) -> str:
        """Canonical spelling."""
        function = self.transformation or ("numeric" if self.ambiguous else "")
        return f"{function}({spelled(self.measure)})" if function else spelled(self.measure)


Predictor = Factor | Numeric
Term = tuple[Predictor, ...]
"""Product of its predictors, each once; () is the constant. Two with the same predictors are one term."""


@dataclass(frozen=True, slots=True)
class Classes:
    """An outcome of classes: one code against all others (`event`), or the classes of a factor."""

    factor: Factor
    event: str = ""

    @property
    def text(self) -> str:
        """Canonical spelling."""
        if not self.event:
            return self.factor.text
        level = "" if self.factor.plain else f", level={quoted(self.factor.level)}"
        return f"C({spelled(self.factor.variable)}{level}, event={quoted(self.event)})"


@dataclass(frozen=True, slots=True)
class Survival:
    """A time until an event or until observation ended, which `status` tells by its event."""

    time: Numeric
    status: Classes

    @property
    def text(self) -> str:
        """Canonical spelling."""
        return f"surv({self.time.text}, {self.status.text})"


Outcome = Numeric | Classes | Survival


@dataclass(frozen=True, slots=True)
class Formula:
    """Outcome and terms, in the order of `contrasts.ordered_terms`."""

    outcome: Outcome | None
    intercept: bool
    terms: tuple[Term, ...]

    def canonical(self) -> str:
        """The one spelling of all formulas that mean the same."""
        right = " + ".join(["1" if self.intercept else "0", *map(term_text, self.terms)])
        return f"{self.outcome.text} ~ {right}" if self.outcome else f"~ {right}"

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Each factor among the predictors once."""
        found = [part for term in self.terms for part in term if isinstance(part, Factor)]
        return tuple(dict.fromkeys(found))

    @property
    def variables(self) -> tuple[str, ...]:
        """Categorical variables of outcome and predictors, each once."""
        found = [factor.variable for factor in self.factors]
        if isinstance(self.outcome, Classes):
            found.append(self.outcome.factor.variable)
        elif isinstance(self.outcome, Survival):
            found.append(self.outcome.status.factor.variable)
        return tuple(dict.fromkeys(found))

    @property
    def numerics(self) -> tuple[Numeric, ...]:
        """Each measure of outcome and predictors as it is transformed, each once."""
        found = [part for term in self.terms for part in term if isinstance(part, Numeric)]
        if isinstance(self.outcome, Numeric):
            found.append(self.outcome)
        elif isinstance(self.outcome, Survival):
            found.append(self.outcome.time)
        return tuple(dict.fromkeys(found))


def term_text(term: Term) -> str:
    """Canonical spelling of a term."""
    return ":".join(part.text for part in term) or "1"


def each_once(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Terms in the order they stand, each as it was written first."""
    first: dict[frozenset[Predictor], Term] = {}
    for term in terms:
        first.setdefault(frozenset(term), term)
    return tuple(first.values())


def in_order(terms: Iterable[Term]) -> tuple[Term, ...]:
    """Terms in canonical order, each once: by their number of predictors, then by text, and so within."""
    inner = (tuple(sorted(term, key=lambda part: part.text)) for term in terms)
    return tuple(sorted(dict.fromkeys(inner), key=lambda term: (len(term), term_text(term))))


def quoted(text: str) -> str:
    """A code as a string of the formula language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def spelled(name: str) -> str:
    """A name as a formula has it: `Q("...")` where it is not made of letters, digits, `_` and `.` alone."""
    return name if PLAIN_NAME.fullmatch(name) else f"Q({quoted(name)})"
