"""Why a model cannot be computed, told without anything that only the records know."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdcgate.methods.cells import IntArray
from sdcgate.methods.outputs.formula import Factor, Predictor, Term

if TYPE_CHECKING:
    from sdcgate.methods.outputs.design import Design


@dataclass(frozen=True, slots=True)
class ModelProblem:
    """What is wrong, where (`formula`, `outcome`, `weights`, ...), and with which variable or measure."""

    path: str
    message: str
    variable: str = ""


class ModelProblemError(ValueError):
    """A model that cannot be computed; `problems` has all that was found, and no code of a category."""

    def __init__(self, problems: list[ModelProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.path}: {problem.message}" for problem in problems))


class NotConverged(ModelProblemError):
    """A search that did not arrive, maybe as there is no maximum."""


def not_converged() -> NotConverged:
    """The problem that a search for estimates did not arrive."""
    message = "the fit did not converge in this population"
    return NotConverged([ModelProblem("formula", message)])


def columns_problem(design: "Design", places: IntArray) -> list[ModelProblem]:
    """Columns that are constant or follow from others, told by term: a column may name a rare class."""
    terms = dict.fromkeys(design.columns[place].term for place in places.tolist())
    found = []
    for number in terms:
        term = design.terms[number]
        if not term:
            found.append(ModelProblem("formula", "the constant follows from the other terms; write `- 1`"))
            continue
        message = f"columns of {named(term)} do not vary or follow from the other terms in this population"
        found.append(ModelProblem("formula", message, variable=variable_of(term[0])))
    return found


def named(term: Term) -> str:
    """A term by the names of its variables and measures, without codes."""
    return ":".join(variable_of(part) for part in term)


def variable_of(part: Predictor) -> str:
    """The variable or the measure of a predictor."""
    return part.variable if isinstance(part, Factor) else part.measure
