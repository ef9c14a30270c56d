"""What a house must have answered for an attack on it to count: nothing is learnt from a house that is dead.

An attack that heard errors, or too few tables to work with, has not been withstood. It has not been tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass

GIVEN = ("RELEASED", "RELEASED_PROTECTED")
VERDICTS = (*GIVEN, "REFUSED", "REFERRED")


class RegistrationRefusedError(RuntimeError):
    """A dataset could not be registered. No AssertionError, which would look like an attack that succeeds."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(f"{status}: {text}")


@dataclass(frozen=True)
class Answer:
    """What came of one request."""

    verdict: str
    status: int
    shown: bool
    """Whether there was a figure in it."""

    @property
    def given(self) -> bool:
        """A table or a model with something to work with."""
        return self.verdict in GIVEN and self.shown


@dataclass(frozen=True)
class Needs:
    """What a house has to answer: so many tables or models with figures in them, and no errors.

    `errors`: statuses of answers without a verdict that the attack asks for: it misspells, tries what is
    forbidden, or asks for a list.
    """

    answers: int = 1
    errors: tuple[int, ...] = ()

    def unmet(self, answers: Sequence[Answer]) -> str:
        """Why what was heard does not count; empty where it does."""
        wrong = [one.status for one in answers if not self._meant(one)]
        if wrong:
            return f"{len(wrong)} of {len(answers)} requests ended in an error, the first with {wrong[0]}"
        given = sum(one.given for one in answers)
        if given < self.answers:
            return (
                f"{given} of {len(answers)} requests were answered with figures, and it needs {self.answers}"
            )
        return ""

    def _meant(self, answer: Answer) -> bool:
        return answer.verdict in VERDICTS or answer.status in self.errors
