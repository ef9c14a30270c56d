"""Step 2 of the way: a request becomes a plan, or all its problems at once. No microdata are touched."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from sdcgate.engine.code_lists import LevelCodes
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.queries import CellQuery, Condition
from sdcgate.facility.errors import InvalidRequest
from sdcgate.methods.known_names import near_names, some_of
from sdcgate.methods.rules import Contributions
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

MEASURED = frozenset(
    {
        table_pb2.STATISTIC_SUM,
        table_pb2.STATISTIC_WEIGHTED_SUM,
        table_pb2.STATISTIC_MEAN,
        table_pb2.STATISTIC_WEIGHTED_MEAN,
    }
)
PERCENTAGES = frozenset(
    {
        table_pb2.STATISTIC_ROW_PERCENT,
        table_pb2.STATISTIC_COLUMN_PERCENT,
        table_pb2.STATISTIC_TOTAL_PERCENT,
    }
)
WEIGHTED = frozenset(
    {
        table_pb2.STATISTIC_WEIGHTED_UNITS,
        table_pb2.STATISTIC_WEIGHTED_SUM,
        table_pb2.STATISTIC_WEIGHTED_MEAN,
    }
)
MOST_TOLD = 100
"""Unknown codes of one condition that are told one by one."""


@dataclass(frozen=True, slots=True)
class FigureAsked:
    """A statistic, with its measure where it has one."""

    statistic: table_pb2.Statistic
    measure: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which figures a table shows: which of its dimensions are rows and columns, and decimal places."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    figures: tuple[FigureAsked, ...]
    digits: int

    def asked(self, dimensions: int) -> tuple[int, ...]:
        """So many dimensions as they were asked for: rows, columns, layers."""
        layers = (at for at in range(dimensions) if at not in self.rows + self.columns)
        return (*self.rows, *self.columns, *layers)

    def with_records(self) -> "Layout":
        """The same with records in place of percentages."""
        records = FigureAsked(table_pb2.STATISTIC_RECORDS)
        figures = [records if figure.statistic in PERCENTAGES else figure for figure in self.figures]
        return replace(self, figures=tuple(dict.fromkeys(figures)))


@dataclass(frozen=True, slots=True)
class Plan:
    """A table query with every name resolved against the dataset's descriptor and its effective policy."""

    dataset: Dataset
    policy: EffectivePolicy
    dimensions: tuple[tuple[str, str], ...]
    """Variables and levels; those that one variable decides stand side by side (`boxes`)."""
    rows: tuple[int, ...]
    """Which of them are asked as rows."""
    columns: tuple[int, ...]
    filters: tuple[Condition, ...]
    figures: tuple[FigureAsked, ...]
    margins: bool
    project: str
    valid: tuple[str, ...] = ()
    """Measures without which a record does not count."""
    beneath: bool = False
    """Whether it lies beneath a model or a statistic: of it no figure leaves."""
    total_digits: int = 0
    """The significant digits of the sums of its inner cells that a statistic tells; 0 where it tells none."""

    @property
    def layout(self) -> Layout:
        """Which figures are shown."""
        return Layout(self.rows, self.columns, self.figures, self.policy.digits)

    @property
    def measures(self) -> tuple[str, ...]:
        """Measures that occur in the figures, each once, in order."""
        return tuple(dict.fromkeys(figure.measure for figure in self.figures if figure.measure))

    @property
    def with_percentages(self) -> bool:
        """Whether a figure is a percentage: its denominators then count as released."""
        return any(figure.statistic in PERCENTAGES for figure in self.figures)

    @property
    def with_weights(self) -> bool:
        """Whether a figure shows weights."""
        return any(figure.statistic in WEIGHTED for figure in self.figures)

    @property
    def only_weighted(self) -> bool:
        """Whether all figures of measures are weighted, and weights differ: no contribution shows without."""
        lowest, highest = self.dataset.weight_bounds
        return lowest < highest and all(
            figure.statistic in WEIGHTED for figure in self.figures if figure.measure
        )

    def cells(self, ranks: int, contributions: Contributions) -> CellQuery:
        """What the engine computes."""
        return CellQuery(self.dimensions, self.filters, self.measures, ranks, contributions, self.valid)

    def number_of_cells(self) -> int:
        """Cells of the table with margins, before anything is computed."""
        product = 1
        for variable, level in self.dimensions:
            product *= len(self.dataset.level(variable, level).codes) + 1
        return product

    def codes_shown(self, variable: str, level: str) -> int:
        """How many codes of a dimension the filter leaves, before anything is computed."""
        listed = self.dataset.level(variable, level)
        masks = [
            self.dataset.mask(variable, condition.level, condition.codes)
            for condition in self.filters
            if condition.variable == variable
        ]
        return len(listed.reached(reduce(and_, masks))) if masks else len(listed.codes)

    def canonical(self) -> bytes:
        """The query in one spelling: what is answered once is answered the same for ever."""
        return json.dumps(
            {
                "dataset": self.dataset.name,
                "dimensions": [self.dimensions[place] for place in self.layout.asked(len(self.dimensions))],
                "rows": len(self.rows),
                "columns": len(self.columns),
                "filters": sorted((c.variable, c.level, sorted(c.codes)) for c in self.filters),
                "figures": [(figure.statistic, figure.measure) for figure in self.figures],
                "margins": self.margins,
                # What was recorded before populations could rest on measures keeps its hash.
                **({"valid": self.valid} if self.valid else {}),
            },
            separators=(",", ":"),
            ensure_ascii=False,
            sort_keys=True,
        ).encode()

    def canonical_hash(self) -> str:
        """SHA-256 of the canonical query; it holds nothing but public names."""
        return hashlib.sha256(self.canonical()).hexdigest()


def make_plan(dataset: Dataset, policy: EffectivePolicy, request: pb.QueryTableRequest) -> Plan:
    """Resolve a request against descriptor and policy.

    Raises:
        InvalidRequest: with every unknown, repeated or contradictory name in it.
    """
    problems: list[FieldProblem] = []
    dimensions: list[tuple[str, str]] = []
    for group in ("rows", "columns", "layers"):
        for position, asked in enumerate(getattr(request, group)):
            path = f"{group}[{position}]"
            level = level_asked(dataset, asked.variable, asked.level, path, problems)
            if asked.variable in {variable for variable, _ in dimensions}:
                problems.append(
                    FieldProblem(
                        f"{path}.variable", f"{asked.variable} is a dimension already; name it once."
                    )
                )
            elif level is not None:
                dimensions.append((asked.variable, level))
    filters = conditions_asked(dataset, request.filter, problems)
    figures = _figures(dataset, request, problems)
    if problems:
        raise InvalidRequest(problems)
    order = side_by_side(dataset, [variable for variable, _ in dimensions])
    rows = range(len(request.rows))
    columns = range(len(rows), len(rows) + len(request.columns))
    return Plan(
        dataset=dataset,
        policy=policy,
        dimensions=tuple(dimensions[place] for place in order),
        rows=tuple(order.index(place) for place in rows),
        columns=tuple(order.index(place) for place in columns),
        filters=filters,
        figures=figures,
        margins=request.margins,
        project=request.project,
    )


def side_by_side(dataset: Dataset, variables: Sequence[str]) -> list[int]:
    """The places of variables, in their order but for those that the same variable decides: these follow
    the first of them.
    """
    deciding = [dataset.variation[name].determined_by or name for name in variables]
    return sorted(range(len(deciding)), key=lambda place: (deciding.index(deciding[place]), place))


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """Say that a name is unknown, with the nearest public names, or some of those that there are."""
    if near := near_names(name, known):
        return f"There is no {kind} of this name. Did you mean {', '.join(near)}?"
    listed = some_of(name, known)
    return f"There is no {kind} of this name." + (f" There are {listed}." if listed else "")


def level_asked(
    dataset: Dataset, variable: str, level: str, path: str, problems: list[FieldProblem]
) -> str | None:
    """The level that is meant, the finest where none is named; None, with a problem noted, where none is."""
    names = list(dataset.code_lists)
    if variable not in names:
        problems.append(FieldProblem(f"{path}.variable", unknown("variable", variable, names)))
        return None
    levels = [known.name for known in dataset.levels(variable)]
    if level and level not in levels:
        problems.append(FieldProblem(f"{path}.level", unknown("level", level, levels)))
        return None
    return level or levels[0]


def conditions_asked(
    dataset: Dataset, asked: Sequence[pb.FilterRequest], problems: list[FieldProblem]
) -> tuple[Condition, ...]:
    """Conditions in one spelling; what is wrong with them is added to the problems."""
    conditions: list[Condition] = []
    named: set[str] = set()
    for position, condition in enumerate(asked):
        path = f"filter[{position}]"
        level = level_asked(dataset, condition.variable, condition.level, path, problems)
        if level is None:
            continue
        if condition.variable in named:
            message = f"{condition.variable} is filtered already; put all its codes into one condition."
            problems.append(FieldProblem(f"{path}.variable", message))
        named.add(condition.variable)
        listed = dataset.level(condition.variable, level)
        problems.extend(_code_problems(condition.codes, f"{path}.codes", listed))
        wanted = set(condition.codes)
        if not wanted or not wanted <= listed.positions.keys():
            continue
        if wanted != set(listed.codes):
            # All codes of a level, `_U` among them, is no condition: the same box, so the same query.
            ordered = tuple(code for code in listed.codes if code in wanted)
            conditions.append(Condition(condition.variable, level, ordered))
    return tuple(sorted(conditions, key=lambda known: known.variable))


def _code_problems(codes: Sequence[str], path: str, listed: LevelCodes) -> Iterator[FieldProblem]:
    """What is wrong with the codes of a condition."""
    wrong = [place for place, code in enumerate(codes) if code not in listed.positions]
    for place in wrong[:MOST_TOLD]:
        yield FieldProblem(f"{path}[{place}]", unknown("code", codes[place], listed.codes))
    if len(wrong) > MOST_TOLD:
        yield FieldProblem(path, f"{len(wrong) - MOST_TOLD} more codes are unknown.")
    if len(set(codes)) < len(codes):
        yield FieldProblem(path, "A code is repeated; name each once.")
    if not codes:
        yield FieldProblem(path, "Name at least one code, or leave the condition out.")


def figures_asked(asked: Iterable[pb.FigureRequest]) -> tuple[FigureAsked, ...]:
    """The figures of a request; units where none is named."""
    figures = tuple(FigureAsked(figure.statistic, figure.measure) for figure in asked)
    return figures or (FigureAsked(table_pb2.STATISTIC_UNITS),)


def _figures(
    dataset: Dataset, request: pb.QueryTableRequest, problems: list[FieldProblem]
) -> tuple[FigureAsked, ...]:
    measures = [measure.name for measure in dataset.descriptor.measures]
    figures: list[FigureAsked] = []
    for position, asked in enumerate(request.figures):
        path = f"figures[{position}]"
        figure = FigureAsked(asked.statistic, asked.measure)
        if asked.statistic in MEASURED:
            if asked.measure not in measures:
                message = unknown("measure", asked.measure, measures) if asked.measure else "Name a measure."
                problems.append(FieldProblem(f"{path}.measure", message))
        elif asked.measure:
            message = "This statistic counts records or units; leave the measure out."
            problems.append(FieldProblem(f"{path}.measure", message))
        if asked.statistic == table_pb2.STATISTIC_COLUMN_PERCENT and not request.rows:
            problems.append(FieldProblem(f"{path}.statistic", "A column percentage needs rows."))
        if asked.statistic == table_pb2.STATISTIC_ROW_PERCENT and not request.columns:
            problems.append(FieldProblem(f"{path}.statistic", "A row percentage needs columns."))
        if figure in figures:
            problems.append(FieldProblem(path, "This figure is asked twice."))
        figures.append(figure)
    return figures_asked(request.figures)
