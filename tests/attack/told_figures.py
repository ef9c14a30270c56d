"""A house in this process that is asked one random request after the other, and all that it told of whom."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from attack.publishers import TOTAL
from attack.random_requests import MEASURE, Asked
from attack.world import MISSING, World
from house import SHOWN, House, build, person, table_request, verdict
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.pace import Pace
from sdcgate.policy.loading import parse_policy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import statistic_pb2, table_pb2

MINIMUM = 3
SUM_WIDTH = 0.1
DIGITS = 7
POLICY = f"""
name: tiny
version: "1"
description: Rules of small numbers for small populations, and figures that are hardly rounded
defaults:
  rules:
    minimum_units: {{units: {MINIMUM}, consequence: protect}}
    dominance:
      - {{largest: 1, share: 0.6, consequence: protect}}
    p_percent: {{share: 0.1, consequence: protect}}
  dimensions: {{maximum: 3, maximum_filters: 2, filters_count: false, consequence: refuse}}
  protection: {{method: suppression, sum_width: {SUM_WIDTH}, time_limit_ms: 30000, unproved: refer}}
  output: {{digits: 6, maximum_cells: 100000}}
  differencing: {{consequence: refuse}}
  statistics: {{kinds: [MEAN, TOTAL, PROPORTION], significant_digits: {DIGITS}}}
access_levels: {{public: {{}}, licensed: {{}}, remote: {{}}, on-site: {{}}}}
"""
RECORDS, UNITS, SUM = "records", "units", "sum"
QUANTITIES = {"UNITS": UNITS, "RECORDS": RECORDS, "TOTAL_PERCENT": RECORDS, "WEIGHTED_UNITS": RECORDS}
"""Worlds have no weights: of everybody it is 1."""
SUMS = ("SUM", "WEIGHTED_SUM")
BEFORE = -1
"""The query before all others."""
HALF = 0.5e-6
"""By how much rounding may have changed a figure."""
Box = tuple[frozenset[str], ...]
"""The finest codes of each variable of the world, missing among them."""
Whole = tuple[Box, str]


@dataclass(frozen=True)
class Told:
    """That a quantity of a box lies between two numbers, of another box's quantity where one is named."""

    query: int
    box: Box
    quantity: str
    low: float
    high: float
    times: Whole | None = None


@dataclass(frozen=True)
class Withheld:
    """That a cell was withheld of which a quantity was asked."""

    query: int
    box: Box
    quantity: str


@dataclass
class Heard:
    """All that was answered."""

    world: World
    told: list[Told] = field(default_factory=list)
    withheld: list[Withheld] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)

    @property
    def _names(self) -> list[str]:
        return [one.name for one in self.world.variables]

    def _codes(self, name: str) -> list[str]:
        variable, _, level = name.partition(":")
        of = self.world.variable(variable)
        return [*(of.levels[level] if level else of.codes), MISSING]

    def box(self, given: Iterable[tuple[str, Iterable[str]]]) -> Box:
        """Whom conditions leave, by the public code lists."""
        sides = {one.name: frozenset([*one.codes, MISSING]) for one in self.world.variables}
        for name, codes in given:
            variable, _, level = name.partition(":")
            sides[variable] &= {part for code in codes for part in self.world.parts(variable, level, code)}
        return tuple(sides.values())

    def know(self, known: Asked) -> None:
        """Takes in a table that was published elsewhere, all of it true."""
        sides = [[(name, (code,)) for code in self._codes(name)] + [None] for name in known.dimensions]
        for cell in itertools.product(*sides):
            box = self.box([*known.filter.items(), *(side for side in cell if side)])
            records = self.world.where(dict(zip(self._names, map(tuple, box), strict=True)))
            for name in (one for one in known.figures if one != "TOTAL_PERCENT"):
                figure = {"UNITS": records["id"].nunique(), "RECORDS": len(records)}.get(name)
                total = float(records[MEASURE].sum() if figure is None else figure)
                self.tell(BEFORE, box, QUANTITIES.get(name, SUM), total, 0.0)

    def know_unused_codes(self) -> None:
        """Takes in which codes nobody has: that counts as known, as docs/limits.md says."""
        for variable in self.world.variables:
            for code in [*variable.codes, MISSING]:
                if not (self.world.records[variable.name] == code).any():
                    for quantity in (UNITS, RECORDS, SUM):
                        self.tell(BEFORE, self.box([(variable.name, (code,))]), quantity, 0.0, 0.0)

    def varies(self, box: Box) -> bool:
        """Whether a box takes some of a person's records only."""
        return any(
            one.varies and len(side) <= len(one.codes)
            for one, side in zip(self.world.variables, box, strict=True)
        )

    def hear_table(self, query: int, asked: Asked, table: table_pb2.Table) -> None:
        """Takes in every cell that is there."""
        names = [table_pb2.Statistic.Name(one.statistic).removeprefix("STATISTIC_") for one in table.figures]
        # A cell may be marked as its percentage would be of a withheld whole: it counts as told then.
        marks = () if "TOTAL_PERCENT" in names else (table_pb2.CELL_STATUS_WITHHELD,)
        for place, (status, box) in enumerate(zip(table.statuses, self._boxes(asked, table), strict=True)):
            for name, figure in zip(names, table.figures, strict=True):
                if status in SHOWN:
                    self._hear(query, box, name, figure.values[place], asked)
                elif status in marks:
                    self.withheld.append(Withheld(query, box, QUANTITIES.get(name, SUM)))

    def hear_statistic(self, query: int, asked: Asked, told: statistic_pb2.GroupedStatistic) -> None:
        """Takes in the figure of every group that shows it."""
        boxes, (figure,) = list(self._boxes(asked, told)), told.figures
        for group, value in zip(figure.groups, figure.values, strict=True):
            box, room = boxes[group], abs(value) * 10.0 ** (1 - DIGITS)
            if asked.having is None:
                self.tell(query, box, SUM, value, room, (box, RECORDS) if asked.kind == "MEAN" else None)
            else:
                name, codes = asked.having
                variable = self.world.variable(name.partition(":")[0])
                having = both(box, self.box([(name, codes)]))
                answering = both(box, self.box([(variable.name, variable.codes)]))
                self.tell(query, having, RECORDS, value, room, (answering, RECORDS))

    def tell(
        self, query: int, box: Box, quantity: str, figure: float, room: float, times: Whole | None = None
    ) -> None:
        """Takes in a figure."""
        self.told.append(Told(query, box, quantity, figure - room, figure + room, times))

    def _hear(self, query: int, box: Box, name: str, figure: float, asked: Asked) -> None:
        if name in ("MEAN", "WEIGHTED_MEAN"):
            self.tell(query, box, SUM, figure, HALF, (box, RECORDS))
        elif name == "TOTAL_PERCENT":
            whole = self.box(asked.filter.items())
            self.tell(query, box, RECORDS, figure / 100, HALF / 100, (whole, RECORDS))
        else:
            self.tell(query, box, QUANTITIES.get(name, SUM), figure, HALF if name in SUMS else 0.0)

    def _boxes(self, asked: Asked, told: table_pb2.Table | statistic_pb2.GroupedStatistic) -> Iterator[Box]:
        axes = [[one.codes[cell] for cell in one.cells] for one in told.dimensions]
        for codes in zip(*axes, strict=True):
            named = zip(asked.dimensions, codes, strict=True)
            given = [(name, (code,)) for name, code in named if code != TOTAL]
            yield self.box([*asked.filter.items(), *given])


class History:
    """A house of its own with a world, and what it told an intruder of each version of that."""

    def __init__(self, world: World, folder: Path, policy: str = POLICY) -> None:
        self._folder, self._queries = folder, itertools.count()
        self._house: House = build(folder, policies={"tiny": parse_policy(policy)}, policy="tiny")
        self.heard: dict[int, Heard] = {}
        self.change(world)

    def change(self, world: World) -> None:
        """Registers a version."""
        (self._folder / "people.csv").write_text(world.to_csv("people"), encoding="utf-8")
        registered = self._house.engine.register(parse_descriptor(world.descriptor("people")))
        self.heard[registered.dataset.version] = Heard(world)

    def ask(self, asked: Iterable[Asked]) -> None:
        """Asks, and keeps what is told."""
        facility, caller = self._house.facility, self._house.researcher
        for one, query in zip(asked, self._queries, strict=False):
            if one.kind:
                request = _statistic_request(one)
                decision = facility.query_statistic(caller, request, Pace(120.0)).decision
            else:
                decision = facility.query_table(caller, _table_request(one), Pace(120.0)).decision
            heard = self.heard[decision.version]
            heard.verdicts[verdict(decision)] += 1
            if decision.HasField("table"):
                heard.hear_table(query, one, decision.table)
            elif decision.HasField("statistic"):
                heard.hear_statistic(query, one, decision.statistic)

    def enter(self, known: Asked) -> None:
        """A steward enters a table as published elsewhere, and everybody knows it from the beginning."""
        request = _table_request(known)
        entered = pb.EnterKnowledgeRequest(
            dataset="people",
            rows=request.rows,
            filter=request.filter,
            figures=request.figures,
            published="A book",
        )
        self._house.facility.enter_knowledge(person("steward", "stefan"), entered, Pace(120.0))
        for heard in self.heard.values():
            heard.know(known)

    def close(self) -> None:
        """Ends the house."""
        self._house.facility.close()


def both(one: Box, other: Box) -> Box:
    """Whom two boxes have in common."""
    return tuple(side & more for side, more in zip(one, other, strict=True))


def _table_request(asked: Asked) -> pb.QueryTableRequest:
    filters = {name.replace(":", "__"): codes for name, codes in asked.filter.items()}
    asked_for = {"rows": asked.dimensions, "figures": asked.figures, "margins": asked.margins}
    made: pb.QueryTableRequest = table_request("people", **asked_for, **filters)
    return made


def _statistic_request(asked: Asked) -> pb.QueryStatisticRequest:
    kind = statistic_pb2.StatisticKind.Value(f"STATISTIC_KIND_{asked.kind}")
    made = pb.QueryStatisticRequest(dataset="people", kind=kind)
    if asked.having:
        made.having.CopyFrom(_condition(*asked.having))
    else:
        made.measure = MEASURE
    for name in asked.dimensions:
        variable, _, level = name.partition(":")
        made.groups.add(variable=variable, level=level)
    made.filter.extend(_condition(*one) for one in asked.filter.items())
    return made


def _condition(name: str, codes: Iterable[str]) -> pb.FilterRequest:
    variable, _, level = name.partition(":")
    return pb.FilterRequest(variable=variable, level=level, codes=codes)
