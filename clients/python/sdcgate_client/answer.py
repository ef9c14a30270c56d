"""The answer to a query: verdict, reasons, table and certificate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sdcgate_client.errors import UnexpectedAnswer
from sdcgate_client.models import Model
from sdcgate_client.statistics import Statistic

if TYPE_CHECKING:
    import pandas

PUBLISHED = "PUBLISHED"
WITHHELD = "WITHHELD"
ABSENT = "ABSENT"
PERTURBED = "PERTURBED"
SHOWN = (PUBLISHED, PERTURBED)
"""Statuses of cells that have figures, as they are or with noise."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of a decision."""

    code: str
    message: str
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """What an output checker wrote of a query."""

    text: str
    written: str
    author: str = ""
    """Empty for the researcher."""
    to_researcher: bool = False

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Comment":
        """Reads `{"author": ..., "written": ..., "text": ..., "to_researcher": ...}`."""
        return cls(
            str(content.get("text", "")),
            str(content.get("written", "")),
            str(content.get("author") or ""),
            bool(content.get("to_researcher")),
        )


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of a table: its code list and, for each cell, the position of its code."""

    variable: str
    level: str
    column: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    cells: tuple[int, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a table: a value a cell, None where it is not published or not defined."""

    column: str
    values: tuple[float | None, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Table:
    """A table by column, as it left the facility."""

    dimensions: tuple[Dimension, ...]
    figures: tuple[Figure, ...]
    statuses: tuple[str, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.statuses)

    @property
    def withheld(self) -> int:
        """Number of withheld cells."""
        return self.statuses.count(WITHHELD)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Table":
        """Reads `{"dimensions": [...], "columns": {...}}`.

        Raises:
            UnexpectedAnswer: columns are missing, of unequal length or point outside their code lists.
        """
        try:
            return cls._read(content)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UnexpectedAnswer(f"the table cannot be read: {type(error).__name__} {error}") from error

    @classmethod
    def _read(cls, content: Mapping[str, Any]) -> "Table":
        columns: Mapping[str, Sequence[Any]] = content["columns"]
        statuses = tuple(columns["status"])
        dimensions = tuple(
            Dimension(
                item["variable"],
                item.get("level", ""),
                item.get("column") or item["variable"],
                tuple(item["codes"]),
                tuple(item.get("labels") or ()),
                tuple(columns[item.get("column") or item["variable"]]),
            )
            for item in content["dimensions"]
        )
        taken = {"status", *(dimension.column for dimension in dimensions)}
        figures = tuple(Figure(name, tuple(values)) for name, values in columns.items() if name not in taken)
        for dimension in dimensions:
            if len(dimension.labels) not in (0, len(dimension.codes)):
                raise ValueError(f"dimension {dimension.variable} has another number of labels than codes")
            if len(dimension.cells) != len(statuses):
                raise ValueError(f"dimension {dimension.variable} has another length than the table")
            if any(not 0 <= cell < len(dimension.codes) for cell in dimension.cells):
                raise ValueError(f"dimension {dimension.variable} points outside its code list")
        for figure in figures:
            if len(figure.values) != len(statuses):
                raise ValueError(f"figure {figure.column} has another length than the table")
        return cls(dimensions, figures, statuses)

    def to_pandas(self, labels: bool = False) -> "pandas.DataFrame":
        """A row a cell: the dimensions' codes (or labels), the figures, and `status`.

        Figures are missing where `status` is WITHHELD. Cells that were not asked for are left out.

        Raises:
            ImportError: pandas is not installed.
        """
        import pandas

        data: dict[str, Any] = {}
        for dimension in self.dimensions:
            texts = dimension.labels if labels and dimension.labels else dimension.codes
            data[dimension.column] = pandas.Series([texts[cell] for cell in dimension.cells], dtype="str")
        for figure in self.figures:
            whole = all(value is None or isinstance(value, int) for value in figure.values)
            data[figure.column] = pandas.Series(list(figure.values), dtype="Int64" if whole else "Float64")
        data["status"] = pandas.Series(list(self.statuses), dtype="str")
        frame = pandas.DataFrame(data)
        return frame[frame["status"] != ABSENT].reset_index(drop=True)


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision on a query as its researcher sees it."""

    query: str
    dataset: str
    version: int
    policy: Mapping[str, str]
    verdict: str
    reasons: tuple[Reason, ...]
    table: Table | None
    alternatives: tuple[Mapping[str, Any], ...]
    certificate: Mapping[str, Any]
    decided: str
    request: Mapping[str, Any]
    """What was asked, where it is known; rows, columns and layers are printed accordingly."""
    repeated: bool
    """Whether the same query was asked before and this is the answer it got."""
    content: Mapping[str, Any] = field(repr=False)
    """The decision as it came, for keeping and for `sdcgate ledger verify-certificate`."""
    checker: Mapping[str, Any] | None = field(default=None, repr=False)
    """What only output checkers get to see."""
    model: Model | None = None
    """The model, where one was asked."""
    statistic: Statistic | None = None
    """The statistic, where one was asked."""
    comments: tuple[Comment, ...] = ()
    """What output checkers wrote of it, the oldest first; to its researcher only what is for him."""

    @property
    def released(self) -> bool:
        """Whether there is a table, a model or a statistic: released as asked or with protection."""
        return self.verdict in ("RELEASED", "RELEASED_PROTECTED")

    @classmethod
    def from_json(
        cls, content: Any, request: Mapping[str, Any] | None = None, *, repeated: bool = False
    ) -> "Answer":
        """Reads a decision, bare or within `{"decision": ..., "request": ..., "checker": ...}`.

        Raises:
            UnexpectedAnswer: it is none.
        """
        if not isinstance(content, Mapping):
            raise UnexpectedAnswer("the answer is not a JSON object")
        decision = content.get("decision", content)
        if not isinstance(decision, Mapping) or not decision.get("query") or not decision.get("verdict"):
            raise UnexpectedAnswer("the answer has no query id or no verdict")
        table = decision.get("table")
        answer = cls(
            query=str(decision["query"]),
            dataset=str(decision.get("dataset", "")),
            version=int(decision.get("version", 0)),
            policy=decision.get("policy") or {},
            verdict=str(decision["verdict"]),
            reasons=tuple(
                Reason(
                    str(reason.get("code", "")),
                    str(reason.get("message", "")),
                    str(reason.get("suggestion") or ""),
                )
                for reason in decision.get("reasons") or ()
            ),
            table=Table.from_json(table) if table else None,
            alternatives=tuple(decision.get("alternatives") or ()),
            certificate=decision.get("certificate") or {},
            decided=str(decision.get("decided") or ""),
            request=_asked(content) or request or {},
            repeated=repeated,
            content=decision,
            checker=content.get("checker"),
            model=Model.from_json(decision["model"]) if decision.get("model") else None,
            statistic=Statistic.from_json(decision["statistic"]) if decision.get("statistic") else None,
            comments=tuple(Comment.from_json(comment) for comment in content.get("comments") or ()),
        )
        given = (answer.table, answer.model, answer.statistic, decision.get("files") or None)
        if answer.released and all(one is None for one in given):
            raise UnexpectedAnswer(f"query {answer.query} is {answer.verdict} but has no table and no model")
        return answer

    def to_pandas(self, labels: bool = False) -> "pandas.DataFrame":
        """The table, the model's coefficients or the statistic's groups, with a `status` column.

        Raises:
            ValueError: nothing was released; the message says why.
            ImportError: pandas is not installed.
        """
        if self.model is not None:
            return self.model.to_pandas()
        if self.statistic is not None:
            return self.statistic.to_pandas()
        if self.table is None:
            reasons = " ".join(reason.message for reason in self.reasons) or "No reason was given."
            raise ValueError(f"query {self.query} is {self.verdict} and has no table. {reasons}")
        return self.table.to_pandas(labels)

    def __str__(self) -> str:
        from sdcgate_client.printing import format_answer

        return format_answer(self)


def _asked(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What was asked or submitted, where the answer says it."""
    names = ("request", "output", "model_request", "statistic_request", "files")
    return next((content[name] for name in names if content.get(name)), None)
