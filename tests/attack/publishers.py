"""Whom an intruder asks. `Careless` withholds small cells and looks no further: every attack works on it."""

import hashlib
import itertools
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from attack.hearing import Answer
from attack.world import MISSING, Box, World

TOTAL = "_T"
VARYING = re.compile(
    r"[qr]-[0-9A-Z]{26}|\d{4}-\d\d-\d\dT[\d:.]+Z|\b[0-9a-f]{16,64}\b|[A-Za-z0-9+/]{86}==|\"sequence\": ?\d+"
)
"""Ids, times, digests, signatures and where a decision stands in the ledger."""
Cells = dict[tuple[str, ...], dict[str, float | None]]


@dataclass(frozen=True)
class Question:
    """A table as it is asked for; dimensions and filters as `age` or `age:halves`."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    figures: tuple[str, ...] = ("UNITS",)
    margins: bool = True
    filter: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """All dimensions, in the order of a cell's codes."""
        return (*self.rows, *self.columns, *self.layers)


@dataclass(frozen=True)
class Heard:
    """An answer: what is shown, None for what is withheld, and all else that can be seen of it."""

    question: Question
    cells: Cells
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 0
    seconds: float = 0.0
    content: Mapping[str, Any] = field(default_factory=dict)

    def shown(self, *codes: str, figure: str = "") -> float | None:
        """A figure, None where it is not shown."""
        figures = self.cells.get(codes, {})
        return figures.get(figure or self.question.figures[0])

    @property
    def answer(self) -> Answer:
        """What it comes to."""
        figures = (value for one in self.cells.values() for value in one.values())
        return Answer(self.verdict, self.status, any(value is not None for value in figures))

    @property
    def codes(self) -> list[str]:
        """The codes of its reasons."""
        return re.findall(r'"code": "(\w+)"', " ".join(self.reasons))

    def visible(self) -> str:
        """All that a researcher sees of it but ids, times and digests."""
        headers = {k: v for k, v in self.headers.items() if k not in ("date", "x-request-id")}
        text = VARYING.sub("", f"{self.text} {headers}")
        return repr((self.verdict, self.status, self.reasons, self.cells, text))

    def boxes(self, world: World, shown: bool) -> list[Box]:
        """Whom cells count that are shown, or that are not."""
        chosen = [codes for codes, figures in self.cells.items() if (None not in figures.values()) == shown]
        return [self.box(world, codes) for codes in chosen]

    def box(self, world: World, codes: tuple[str, ...]) -> Box:
        """Whom a cell counts, by the public code lists."""
        box = {}
        for name, chosen in self.question.filter.items():
            variable, _, level = name.partition(":")
            box[variable] = tuple(part for code in chosen for part in world.parts(variable, level, code))
        for name, code in zip(self.question.dimensions, codes, strict=True):
            variable, _, level = name.partition(":")
            if code != TOTAL:
                parts = world.parts(variable, level, code)
                box[variable] = tuple(part for part in parts if part in box.get(variable, parts))
        return box

    def base(self, world: World, codes: tuple[str, ...], statistic: str) -> Box:
        """Whom a percentage is of."""
        first = len(self.question.rows)
        last = first + len(self.question.columns)
        kept = {
            "ROW_PERCENT": lambda place: not first <= place < last,
            "COLUMN_PERCENT": lambda place: place >= first,
            "TOTAL_PERCENT": lambda place: False,
        }[statistic]
        base = tuple(code if kept(place) else TOTAL for place, code in enumerate(codes))
        return self.box(world, base)


@dataclass(frozen=True)
class Regression:
    """Least squares as it is asked for: an outcome, and factors or measures that explain it."""

    outcome: str
    terms: tuple[str, ...] = ()
    filter: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimated:
    """What is shown of a regression: coefficients as `town[t2]`, `hours` and `1`, and the records in it."""

    coefficients: Mapping[str, float] = field(default_factory=dict)
    records: float | None = None
    verdict: str = ""
    status: int = 201

    @property
    def answer(self) -> Answer:
        """What it comes to."""
        return Answer(self.verdict, self.status, bool(self.coefficients))


class Api(ABC):
    """What a researcher can ask; counts the requests."""

    digits: int | None = None

    def __init__(self, world: World) -> None:
        self._world = world
        self.public = replace(world, records=world.records.iloc[:0])
        """What everybody knows: code lists and bounds."""
        self.requests = 0
        self.answers: list[Answer] = []
        """What came of them, and of those of its laboratories."""
        self.later = world
        """The file a year later."""

    def ask(
        self,
        rows: tuple[str, ...] | list[str] = (),
        columns: tuple[str, ...] | list[str] = (),
        layers: tuple[str, ...] | list[str] = (),
        *,
        figures: tuple[str, ...] | list[str] = ("UNITS",),
        margins: bool = True,
        filter: Mapping[str, Any] | None = None,
        **how: Any,
    ) -> Heard:
        """Asks for a table. `how`: who asks, for which project, of which dataset, where it has these."""
        kept = {name: tuple(codes) for name, codes in (filter or {}).items()}
        question = Question(tuple(rows), tuple(columns), tuple(layers), tuple(figures), margins, kept)
        self.requests += 1
        return self._noted(self._answer(question, **how))

    def fit(
        self, outcome: str, *terms: str, filter: Mapping[str, Any] | None = None, **how: Any
    ) -> Estimated:
        """Asks for a regression."""
        kept = {name: tuple(codes) for name, codes in (filter or {}).items()}
        self.requests += 1
        estimated = self._estimate(Regression(outcome, terms, kept), **how)
        self.answers.append(estimated.answer)
        return estimated

    def _noted(self, heard: Heard) -> Heard:
        self.answers.append(heard.answer)
        return heard

    @abstractmethod
    def _answer(self, question: Question, **how: Any) -> Heard: ...

    @abstractmethod
    def _estimate(self, asked: Regression, **how: Any) -> Estimated: ...

    @abstractmethod
    def change(self) -> str:
        """The steward registers the file as it is a year later: a new version. Returns its dataset."""

    @abstractmethod
    def rename(self, declared: bool = True) -> str | None:
        """The steward registers the same people under another name. Returns it, None where that is refused.

        `declared`: he says that they are the same.
        """

    def laboratory(self, world: World) -> "Api":
        """The same software in the intruder's own hands, on data that he makes up."""
        return self._listening(type(self)(world))

    def _listening(self, other: "Api") -> "Api":
        """Notes what comes of another's requests as well."""
        other.answers = self.answers
        return other

    def anew(self) -> "Api":
        """The same population before anybody has asked of it."""
        return self.laboratory(self._world)

    def at_once(self, *questions: dict[str, Any]) -> list[Heard]:
        """Asks all at the same instant, of as many replicas as there are."""
        return [self.ask(**question) for question in questions]

    def submit(self, question: Question, units: Mapping[tuple[str, ...], float]) -> Heard:
        """Hands in a table that he says he has computed, for a verdict."""
        return Heard(question, {}, "NOT_SERVED")

    def peek(self, asked: Heard) -> list[Heard]:
        """Tries to get at more of a query than its answer: as somebody else, as a checker, by its address."""
        return []


class Careless(Api):
    """Withholds cells of fewer than ten records, and gives away all that the attacks look for."""

    def __init__(self, world: World, noise: float = 0.0, work: float = 0.0) -> None:
        super().__init__(world)
        self._worlds = {"": world}
        self._noise = noise
        self._work = work
        """Seconds that each person in a withheld cell costs."""
        self._rng = np.random.default_rng(5)

    def change(self) -> str:
        self._worlds["changed"] = self.later
        return "changed"

    def laboratory(self, world: World) -> Api:
        return self._listening(Careless(world, self._noise))

    def rename(self, declared: bool = True) -> str | None:
        return ""

    def submit(self, question: Question, units: Mapping[tuple[str, ...], float]) -> Heard:
        self.requests += 1
        true = table(_filtered(self._world, question), self._world, question)
        agrees = all(true[codes]["RECORDS"] == value for codes, value in units.items())
        shown: Cells = {codes: {"UNITS": value} for codes, value in units.items()} if agrees else {}
        return self._noted(Heard(question, shown, "RELEASED" if agrees else "REFERRED", status=201))

    def peek(self, asked: Heard) -> list[Heard]:
        self.requests += 1
        question = asked.question
        cells = table(_filtered(self._world, question), self._world, question)
        return [self._noted(Heard(question, cells, "RELEASED", status=200))]

    def _estimate(self, asked: Regression, **how: Any) -> Estimated:
        """As rules of thumb have it: ten residual degrees of freedom are enough."""
        import statsmodels.formula.api as smf

        question = Question(filter=asked.filter)
        base = _filtered(self._world, question).rename(columns=lambda name: name.replace(":", "_"))
        result = smf.ols(formula_of(self._world, asked), base).fit()
        if result.df_resid < 10:
            return Estimated(verdict="REFUSED")
        return Estimated(plain_names(dict(result.params)), float(result.nobs), "RELEASED")

    def _answer(self, question: Question, dataset: str = "", **how: Any) -> Heard:
        began = time.perf_counter()
        world = self._worlds[dataset]
        try:
            base = _filtered(world, question)
        except KeyError as error:
            found = sorted(set(world.records.select_dtypes("str").to_numpy().ravel()))
            return Heard(question, {}, "ERROR", text=f"{error}: the data have {found}", status=400)
        if len(base) < 50:
            return Heard(question, {}, "REFUSED", (f"only {len(base)} units",), status=201)
        cells = table(base, world, question)
        digest = hashlib.sha256(repr(list(cells.values())).encode()).hexdigest()
        true = [dict(figures) for figures in cells.values()]
        for figures in cells.values():
            self._protect(figures)
        shown = {codes: {f: figures[f] for f in question.figures} for codes, figures in cells.items()}
        if not question.margins:
            shown = {codes: figures for codes, figures in shown.items() if TOTAL not in codes}
        time.sleep(self._work * sum(figures["RECORDS"] for figures in true if 0 < figures["RECORDS"] < 10))
        took = time.perf_counter() - began
        return Heard(question, shown, "RELEASED", headers={"etag": digest}, status=201, seconds=took)

    def _protect(self, figures: dict[str, float | None]) -> None:
        records = figures["RECORDS"] or 0
        for name, value in figures.items():
            if self._noise and value is not None:
                figures[name] = value + self._rng.normal(0, self._noise)
            elif 0 < records < 10:
                figures[name] = None


def formula_of(world: World, asked: Regression) -> str:
    """The regression in the notation of statsmodels, where missing codes are a category."""
    parts = [f"C({term})" if term not in world.measures else term for term in asked.terms]
    return f"{asked.outcome} ~ {' + '.join(parts) or '1'}"


def plain_names(shown: Mapping[str, float]) -> dict[str, float]:
    """Coefficients by the names of this suite."""
    found = {}
    for name, value in shown.items():
        plain = re.sub(r"C\((\w+)\)", r"\1", name).replace("[T.", "[")
        found["1" if plain == "Intercept" else plain] = float(value)
    return found


def _filtered(world: World, question: Question) -> pd.DataFrame:
    base = world.with_levels
    for name, codes in question.filter.items():
        known = {*base[name].unique()}
        for code in codes:
            variable, _, level = name.partition(":")
            listed = world.variable(variable)
            if code not in (known | {*listed.codes, MISSING} | {*listed.levels.get(level, ())}):
                raise KeyError(code)
        base = base[base[name].isin(codes)]
    return base


def table(base: pd.DataFrame, world: World, question: Question) -> Cells:
    """All figures of all cells, totals among them, with nothing withheld."""
    cells: Cells = {}
    dimensions = question.dimensions
    for kept in itertools.product((True, False), repeat=len(dimensions)):
        by = [name for name, keeps in zip(dimensions, kept, strict=True) if keeps]
        groups = base.groupby(by) if by else [((), base)]
        for key, members in groups:
            found = iter(key if isinstance(key, tuple) else (key,))
            codes = tuple(next(found) if keeps else TOTAL for keeps in kept)
            cells[codes] = {"RECORDS": float(len(members))} | {
                figure: _figure(members, figure) for figure in question.figures
            }
    for codes in itertools.product(*(codes_of(world, name) for name in dimensions)):
        cells.setdefault(codes, dict.fromkeys(("RECORDS", *question.figures), 0.0))
    _percentages(cells, question)
    return cells


def codes_of(world: World, name: str) -> tuple[str, ...]:
    """The codes of a variable or a level, missing values apart."""
    variable, _, level = name.partition(":")
    known = world.variable(variable)
    return tuple(known.levels[level]) if level else known.codes


def _figure(members: pd.DataFrame, figure: str) -> float | None:
    statistic, _, measure = figure.partition(":")
    if statistic in ("UNITS", "RECORDS"):
        return float(members["id"].nunique() if statistic == "UNITS" else len(members))
    if statistic == "WEIGHTED_UNITS":
        return float(members["weight"].sum())
    if statistic == "WEIGHTED_SUM":
        return float((members["weight"] * members[measure]).sum())
    if measure:
        found = {"SUM": "sum", "MEAN": "mean", "MAX": "max"}[statistic]
        return float(getattr(members[measure].dropna(), found)())
    return None


def _percentages(cells: Cells, question: Question) -> None:
    first, last = len(question.rows), len(question.rows) + len(question.columns)
    every = len(question.dimensions)
    totals = {"ROW_PERCENT": (first, last), "COLUMN_PERCENT": (0, first), "TOTAL_PERCENT": (0, every)}
    for codes, figures in cells.items():
        for name in {*figures} & {*totals}:
            begin, end = totals[name]
            base = tuple(TOTAL if begin <= p < end else code for p, code in enumerate(codes))
            whole = cells.get(base, {}).get("RECORDS")
            figures[name] = 100 * (figures["RECORDS"] or 0.0) / whole if whole else None
