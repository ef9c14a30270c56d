"""Outputs of a job as they were read, and why one could not be."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

STANDARD_ERROR = "standard_error"
"""Our name of a deviation divided by the root of the number of records."""
CATEGORIES = "categories"
"""Our name of how many codes of a variable a cell has."""


class Unreadable(Exception):
    """A file that is not what it should be; `problems` tell a person why, without its figures."""

    def __init__(self, *problems: str, never: bool = False) -> None:
        """`never`: it has what leaves in no form, whoever looks at it."""
        self.problems = problems
        self.never = never
        super().__init__(" ".join(problems))


@dataclass(frozen=True, slots=True)
class Estimates:
    """What a job printed of a model."""

    columns: Mapping[str, Mapping[str, float]] = field(repr=False)
    """`estimate`, `standard_error` and others of each coefficient, by our names of them."""
    fit: Mapping[str, float] = field(default_factory=dict, repr=False)
    """Figures of the fit, by the names of `FitStatistic`."""
    counts: Mapping[str, int] = field(default_factory=dict, repr=False)
    every_digit: bool = False
    """Whether figures are as exact as they were written; else as statsmodels writes summaries."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a job printed of a statistic's groups or of a table's cells: one figure of each."""

    name: str
    """Our name of the figure."""
    cells: tuple[tuple[tuple[str, ...], float | str], ...] = field(repr=False)
    """The codes of a group or cell, and the figure; of a mode it is a code."""
    compared: bool = True
    """Whether the figures must be those of the dataset; else ours leave in their place."""


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
    statistic: pb.QueryStatisticRequest | None = None
    figures: Figures | None = field(default=None, repr=False)
    """Those of the table or the statistic; where none are given, the table is a request."""
    problems: tuple[str, ...] = ()
    never: bool = False
    """Whether it is refused for them; else an output checker looks at it."""

    def unread(self, problems: tuple[str, ...], never: bool = False) -> "Printed":
        """The same files, as nothing that can be computed again."""
        return Printed(self.name, self.files, self.part, problems=problems, never=never)
