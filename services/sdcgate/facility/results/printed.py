"""Outputs of a job as they were read, and why one could not be."""

from dataclasses import dataclass, field, replace

from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb


class Unreadable(Exception):
    """A file that is not what it should be; `problems` tell a person why, without its figures."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__(" ".join(problems))


@dataclass(frozen=True, slots=True)
class Estimates:
    """What a job printed of a model's coefficients, by our names of them."""

    estimates: dict[str, float] = field(repr=False)
    errors: dict[str, float] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Printed:
    """One output. With nothing to decide about, it is a file that an output checker looks at."""

    name: str
    files: tuple[str, ...]
    part: str = ""
    """Which of several statistics that it shows."""
    output: pb.SubmitOutputRequest | None = field(default=None, repr=False)
    model: pb.QueryModelRequest | None = None
    estimates: Estimates | None = field(default=None, repr=False)
    """Where none are given, the model is a request."""
    table: pb.QueryTableRequest | None = None
    problems: tuple[str, ...] = ()

    def unread(self, problems: tuple[str, ...]) -> "Printed":
        """The same files, as nothing that can be computed again."""
        return replace(self, output=None, model=None, estimates=None, table=None, problems=problems)
