"""What is wrong with a message: every problem with the path of its field."""

from collections.abc import Iterable
from dataclasses import dataclass


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


def join(path: str, name: str) -> str:
    """Path of a field within the message at `path`."""
    return f"{path}.{name}" if path else name
