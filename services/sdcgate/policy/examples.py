"""Golden examples of a policy: queries in order, and what has to come of each; a YAML file beside it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, WithJsonSchema, model_validator

from sdcgate.methods.rules import ReasonCode
from sdcgate.policy.files import EXAMPLES, read_file, text_of
from sdcgate.policy.model import AccessLevel, Name
from sdcgate.policy.rule_set import Model
from sdcgate.policy.validation import errors_of, read_plain, require_none

REASONS = tuple(code.name for code in ReasonCode if code is not ReasonCode.UNSPECIFIED)


def _known(name: str) -> str:
    if name not in REASONS:
        raise ValueError(f"must be one of {', '.join(REASONS)}")
    return name


ReasonName = Annotated[str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": list(REASONS)})]
Verdict = Literal["RELEASED", "RELEASED_PROTECTED", "REFERRED", "REFUSED"]
Status = Literal["PUBLISHED", "WITHHELD", "PERTURBED"]
Dimension = Annotated[str, Field(pattern=r"^[^:]{1,128}(:[^:]{1,128})?$")]
FigureText = Annotated[str, Field(pattern=r"^[A-Z_]+(:.{1,128})?$")]
Codes = Annotated[tuple[Name, ...], Field(min_length=1)]


class Range(Model):
    """A number that may vary within bounds, as where another search finds another pattern as good."""

    at_least: int = Field(default=0, ge=0)
    """The smallest number."""
    at_most: int | None = Field(default=None, ge=0)
    """The largest number; null: any."""


class ExpectedCell(Model):
    """What has to become of one cell."""

    codes: dict[Name, Name] = Field(min_length=1)
    """The cell's code of each dimension; `_T` is the total, `_U` is missing."""
    status: Status
    """Whether it is shown as it is, withheld, or shown with noise."""


class Expectation(Model):
    """What has to come of a query."""

    verdict: Verdict
    """The verdict."""
    reasons: tuple[ReasonName, ...] | None = None
    """The codes of all reasons, in any order; null: any."""
    withheld: int | Range | None = None
    """How many cells are withheld; null: any number."""
    cells: tuple[ExpectedCell, ...] = ()
    """What becomes of single cells."""

    @model_validator(mode="after")
    def _of_a_table(self) -> Self:
        if not self.verdict.startswith("RELEASED") and (self.cells or self.withheld is not None):
            raise ValueError(f"a query that is {self.verdict} has no table: leave withheld and cells out")
        return self


class ExampleQuery(Model):
    """A query, and what has to come of it."""

    rows: tuple[Dimension, ...] = ()
    """Variables down, as `site` or `age:ten_years`."""
    columns: tuple[Dimension, ...] = ()
    """Variables across."""
    layers: tuple[Dimension, ...] = ()
    """Variables that make a table each."""
    figures: tuple[FigureText, ...] = ("UNITS",)
    """Such as `UNITS` or `MEAN:meddol`."""
    filter: dict[Dimension, Codes] = Field(default_factory=dict)
    """Conditions, all of which hold, such as `age:broad: [18-39]`."""
    margins: bool = True
    """Whether totals are shown."""
    expect: Expectation
    """What has to come of it."""


class Example(Model):
    """Queries on one dataset, from a ledger in which nothing has left yet."""

    name: str = Field(min_length=1, max_length=200)
    """What the example shows."""
    dataset: str = Field(min_length=1, max_length=4096)
    """A dataset that comes with sdcgate (`randhie`), or a descriptor's path from this file on."""
    access_level: AccessLevel = "remote"
    """The access level at which it is asked."""
    queries: tuple[ExampleQuery, ...] = Field(min_length=1)
    """Queries in the order in which they are asked."""


class ExamplesFile(Model):
    """Examples of one policy, in a file `<policy>.examples.yaml` beside it."""

    policy: str = Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")
    """Name of the policy."""
    examples: tuple[Example, ...] = Field(min_length=1)
    """Examples; each begins with nothing that has left."""


@dataclass(frozen=True, slots=True)
class Examples:
    """The examples of a file."""

    path: Path
    policy: str
    examples: tuple[Example, ...]


def examples_beside(policy: Path) -> Examples | None:
    """The examples of a policy file: `<policy>.examples.yaml` in the same folder; None where there are none.

    Raises:
        PolicyInvalid: they have problems, or are of another policy.
    """
    path = policy.with_name(policy.stem + EXAMPLES)
    return load_examples(path) if path.is_file() else None


def load_examples(path: Path) -> Examples:
    """Loads a file of examples.

    Raises:
        PolicyInvalid: with all problems, their paths and lines.
    """
    source = str(path)
    document = read_plain(text_of(read_file(path), source), source)
    try:
        file = ExamplesFile.model_validate_json(json.dumps(document.value))
    except ValidationError as error:
        require_none(list(errors_of(error)), document, source)
        raise
    return Examples(path, file.policy, file.examples)
