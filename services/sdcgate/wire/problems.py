"""What is wrong with a message: every problem with the path of its field."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One problem: the path of the field (`rows[0].variable`), what is wrong, what to send instead."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidMessageError(ValueError):
    """A message that cannot be read; `problems` holds all that was found, never the values of facts."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, self.problems)))


class Problems:
    """Collects what is wrong with a message while it is read, so that all of it is told at once."""

    def __init__(self, found: Iterable[FieldProblem] = ()) -> None:
        self.found = list(found)

    def of(self, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """What `read` returns; None, with its problems noted, where it cannot."""
        try:
            return read(*args, **kwargs)
        except InvalidMessageError as error:
            self.found.extend(error.problems)
            return None

    def check(self) -> None:
        """Raises InvalidMessageError where anything was noted."""
        if self.found:
            raise InvalidMessageError(self.found)


def join(path: str, name: str) -> str:
    """Path of a field within the message at `path`."""
    return f"{path}.{name}" if path else name


def together(own: Iterable[FieldProblem], of_envelope: Iterable[FieldProblem]) -> list[FieldProblem]:
    """Problems of one message, found by ourselves and by its envelope; of both about one place, our own."""
    listed = list(own)
    told = {problem.path for problem in listed}
    return [*listed, *(problem for problem in of_envelope if problem.path not in told)]
