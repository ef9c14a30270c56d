"""What can go wrong on the way of a query. None of these is a verdict, and none of them releases."""

from sdcgate.wire.problems import FieldProblem


class FacilityError(Exception):
    """An error that is told to the caller."""


class InvalidRequest(FacilityError):
    """The request cannot be understood; all its problems at once."""

    def __init__(self, problems: list[FieldProblem]) -> None:
        super().__init__("; ".join(f"{problem.path}: {problem.message}" for problem in problems))
        self.problems = tuple(problems)


class NotFound(FacilityError):
    """There is no such dataset or query, or the caller may not know of it."""


class Forbidden(FacilityError):
    """The caller's role does not allow this."""


class Conflict(FacilityError):
    """The state of the query does not allow this."""


class Unavailable(FacilityError):
    """Something on the way failed; trying again may help. Never a verdict."""


class TimeOver(Unavailable):
    """The caller's time, or what a question may take, ended before anything was decided."""

    def __init__(
        self, message: str = "The time for this query is over; nothing was decided. Try again with more."
    ) -> None:
        super().__init__(message)
